"""Tables, on which entities, patterns and consumers are declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from keyplan.design.arguments import as_tuple, check_text, checked_call, invalid_option
from keyplan.design.conditions.builders import ItemKey, ItemWrite, KeyCondition
from keyplan.design.declaring.consumers import ChangeFilter, Consumer, build_consumer
from keyplan.design.declaring.kinds import (
    BatchOptions,
    CheckOptions,
    CountOptions,
    QueryOptions,
    ReadOptions,
    ScanOptions,
    UpdateOptions,
    WriteOptions,
    build_pattern,
    check_facts,
)
from keyplan.design.declaring.patterns import Batch, Kind, Page, Pattern, Read, Write, check_function
from keyplan.design.entities import Entity, EntitySpec, ReadModel, Unique, bind_entity, spec_in_schema
from keyplan.design.errors import calling_place, function_place, refuse
from keyplan.design.keys.entity_keys import KeySpec
from keyplan.design.schema import TTL, Index, Schema, StreamView, TableClass
from keyplan.design.workload import Billing, OnDemand, Volume

P = ParamSpec("P")
E = TypeVar("E", bound=Entity)
E2 = TypeVar("E2", bound=Entity)
E3 = TypeVar("E3", bound=Entity)
E4 = TypeVar("E4", bound=Entity)
E5 = TypeVar("E5", bound=Entity)
E6 = TypeVar("E6", bound=Entity)
R = TypeVar("R", bound=ReadModel)
M = TypeVar("M", bound=type[Entity])
C = TypeVar("C")


class Table:
    """A table of a design, with its keys, its indexes, and everything that is declared on it."""

    @checked_call
    def __init__(
        self,
        name: str,
        *,
        pk: str,
        sk: str | None = None,
        indexes: Index | Sequence[Index] = (),
        ttl: str | TTL | Sequence[str | TTL] | None = None,
        stream: StreamView | None = None,
        billing: Billing | None = None,
        table_class: TableClass = "STANDARD",
        point_in_time_recovery: bool = False,
        deletion_protection: bool = False,
        discriminator: str | None = None,
        literal: bool = False,
    ) -> None:
        """Declare a table.

        `ttl` is the attribute that contains the expiry time in epoch seconds. `discriminator` is an attribute that
        names the entity of each item, for tables in which keys do not identify the entity.

        With `literal`, requests contain only what each pattern declares. Use this option to test a published design,
        for example. The requests omit:

        - the prefix `begins_with(SK, "TASK#")` in queries without a sort key condition: all entities of the partition
          are read and counted;
        - expiry checks: reads return expired items as with `expired=True`, write conditions ignore the expiry time, and
          an upsert changes an expired item instead of deleting it first;
        - the discriminator in the filters of `count` patterns.

        Requests still contain existence conditions (for `create`, `replace`, `update` and `check` patterns), version
        conditions, the guard items that reserve unique values, and index keys.
        """
        index_tuple = as_tuple("indexes", indexes, Index, "write indexes=[GSI(...), LSI(...)]")
        ttls = () if ttl is None else as_tuple("ttl", ttl, (str, TTL), 'write ttl="expires_at", the attribute\'s name')
        self.schema = Schema(
            name=name,
            partition=pk,
            sort=sk,
            indexes=tuple(replace(index, partition=index.partition or (pk,)) for index in index_tuple),
            ttls=tuple(TTL(attribute) if isinstance(attribute, str) else attribute for attribute in ttls),
            stream=stream,
            billing=OnDemand() if billing is None else billing,
            table_class=table_class,
            point_in_time_recovery=point_in_time_recovery,
            deletion_protection=deletion_protection,
            discriminator=discriminator,
            literal=literal,
            place=calling_place(),
        )
        self.entities: list[EntitySpec] = []
        self.patterns: list[Pattern[..., Any]] = []
        self.consumers: list[Consumer] = []

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.schema.name

    def __repr__(self) -> str:
        return f"<Table {self.name}>"

    @checked_call
    def entity(
        self,
        *,
        key: KeySpec | None = None,
        indexes: Mapping[str, KeySpec] | None = None,
        version: str | None = None,
        unique: str | Unique | Sequence[str | Unique] = (),
        found_by: str | Sequence[str | tuple[str, ...]] = (),
        volume: Volume | None = None,
        name: str | None = None,
        store_key_fields: bool | str | Sequence[str] = True,
    ) -> Callable[[M], M]:
        """Declare an entity, a class of items in this table.

        `key` is the template of the primary key. It can be omitted if the key attributes are fields of the entity.
        `indexes` maps each index to its key template. An index can be omitted if its key attributes are fields.
        `version` names the int field that counts the changes to an item. `unique` lists fields whose values must be
        unique among all items. `found_by` lists fields by which the design must be able to find items. `volume` is the
        expected number and size of the items. By default, the fields of the primary key template are also stored as
        separate attributes. If `store_key_fields` is False, none of them are; if it is a list of field names, only
        these are.
        """
        place = calling_place()
        if not (indexes is None or isinstance(indexes, Mapping)):
            raise invalid_option("indexes", indexes, "not a mapping", 'write indexes={"by_owner": key(...)}')
        check_text("version", version, may_be_none=True)
        check_text("name", name, may_be_none=True)
        stored_key_fields = (
            store_key_fields
            if isinstance(store_key_fields, bool)
            else as_tuple("store_key_fields", store_key_fields, str, 'write True, False or store_key_fields=["field"]')
        )
        uniques = as_tuple("unique", unique, (str, Unique), 'write unique=["field"], or unique("field", "other")')
        found_by_list = (
            list(found_by) if isinstance(found_by, tuple) else found_by
        )  # a nested tuple names a combination
        lookups = as_tuple("found_by", found_by_list, (str, tuple), 'write found_by=["field", ("one", "other")]')

        def declare_entity(model: M) -> M:
            spec = bind_entity(
                model,
                self.schema,
                key=key,
                indexes=indexes or {},
                version=version,
                uniques=uniques,
                found_by=lookups,
                volume=volume,
                name=name,
                store_key_fields=stored_key_fields,
                place=place,
                siblings=self.entities,
            )
            model.__keyplan__ = spec
            self.entities.append(spec)
            return model

        return declare_entity

    # Reads.

    @checked_call
    def get(
        self, entity: type[R], /, **options: Unpack[ReadOptions]
    ) -> Callable[[Callable[P, ItemKey]], Read[P, R | None]]:
        """Declare a read of one item by its primary key.

        The decorated function returns item(...). A call returns an instance of the entity or view, or None if the item
        does not exist.
        """
        return self._declare("get", (entity,), options)

    @overload
    def query(
        self, first: type[R], /, **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[R]]]: ...
    @overload
    def query(
        self, first: type[E], second: type[E2], /, **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2]]]: ...
    @overload
    def query(
        self, first: type[E], second: type[E2], third: type[E3], /, **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2 | E3]]]: ...
    @overload
    def query(
        self, first: type[E], second: type[E2], third: type[E3], fourth: type[E4], /, **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2 | E3 | E4]]]: ...
    @overload
    def query(
        self,
        first: type[E],
        second: type[E2],
        third: type[E3],
        fourth: type[E4],
        fifth: type[E5],
        /,
        **options: Unpack[QueryOptions],
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2 | E3 | E4 | E5]]]: ...
    @overload
    def query(
        self,
        first: type[E],
        second: type[E2],
        third: type[E3],
        fourth: type[E4],
        fifth: type[E5],
        sixth: type[E6],
        /,
        **options: Unpack[QueryOptions],
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2 | E3 | E4 | E5 | E6]]]: ...
    @overload
    def query(
        self, first: type[E], /, *more: type[E], **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E]]]: ...
    def query(self, *entities: type[ReadModel], **options: Unpack[QueryOptions]) -> Any:
        """Declare a query on one partition. A call returns items of one or more entities, or instances of a view.

        The decorated function returns `pk(...)`.
        """
        return self._declare("query", entities, options)

    def count(
        self, *entities: type[Entity], **options: Unpack[CountOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, int]]:
        """Declare a count of the items in a key range. DynamoDB reads all counted items and charges for them."""
        return self._declare("count", entities, options)

    @overload
    def scan(
        self, first: type[R], /, **options: Unpack[ScanOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[R]]]: ...
    @overload
    def scan(
        self, first: type[E], second: type[E2], /, **options: Unpack[ScanOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2]]]: ...
    @overload
    def scan(
        self, first: type[E], second: type[E2], third: type[E3], /, **options: Unpack[ScanOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2 | E3]]]: ...
    @overload
    def scan(
        self, first: type[E], second: type[E2], third: type[E3], fourth: type[E4], /, **options: Unpack[ScanOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2 | E3 | E4]]]: ...
    @overload
    def scan(
        self,
        first: type[E],
        second: type[E2],
        third: type[E3],
        fourth: type[E4],
        fifth: type[E5],
        /,
        **options: Unpack[ScanOptions],
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2 | E3 | E4 | E5]]]: ...
    @overload
    def scan(
        self,
        first: type[E],
        second: type[E2],
        third: type[E3],
        fourth: type[E4],
        fifth: type[E5],
        sixth: type[E6],
        /,
        **options: Unpack[ScanOptions],
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E | E2 | E3 | E4 | E5 | E6]]]: ...
    @overload
    def scan(
        self, first: type[E], /, *more: type[E], **options: Unpack[ScanOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, Page[E]]]: ...
    def scan(self, *entities: type[ReadModel], **options: Unpack[ScanOptions]) -> Any:
        """Declare a scan of the whole table or index. The decorated function returns everything(), or
        everything().filter(...).
        """
        return self._declare("scan", entities, options)

    @checked_call
    def batch_get(
        self, entity: type[R], /, **options: Unpack[ReadOptions]
    ) -> Callable[[Callable[P, ItemKey]], Read[P, list[R | None]]]:
        """Declare a batch read of items by key. The decorated function returns item(...) with each(...) as the value of
        one field.

        A call returns a list with one element for each value: the item, or None if it does not exist.
        """
        return self._declare("batch_get", (entity,), options)

    # Writes.

    @checked_call
    def create(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E]]:
        """Declare the creation of an item. A call fails if the item exists. The decorated function has a parameter for
        the new item, such as `task`, and returns `item(task)`.
        """
        return self._declare("create", (entity,), options)

    @checked_call
    def put(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E]]:
        """Declare a write that creates an item or, if the item exists, replaces it. The decorated function has a
        parameter for the new item, such as `task`, and returns `item(task)`.
        """
        return self._declare("put", (entity,), options)

    @checked_call
    def replace(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E]]:
        """Declare the replacement of an existing item.

        The decorated function has a parameter for the new item, such as `task`, and returns `item(task)`. If the entity
        has a version field, the version of the new item must equal the stored version.
        """
        return self._declare("replace", (entity,), options)

    @checked_call
    def update(
        self, entity: type[E], /, **options: Unpack[UpdateOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E]]:
        """Declare a partial update. The decorated function returns item(...).set(...) or other changes.

        A call fails if the item does not exist, unless `upsert` is set. The call returns the updated item.
        """
        return self._declare("update", (entity,), options)

    @checked_call
    def delete(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E | None]]:
        """Declare the deletion of an item. The decorated function returns item(...). A call returns the deleted item,
        or None if it did not exist.
        """
        return self._declare("delete", (entity,), options)

    @checked_call
    def check(
        self, entity: type[Entity], /, **options: Unpack[CheckOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, None]]:
        """Declare a condition check on an item for use in transactions. The decorated function returns
        item(...).condition(...).
        """
        return self._declare("check", (entity,), options)

    @checked_call
    def batch_put(
        self, entity: type[Entity], /, **options: Unpack[BatchOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Batch[P, None]]:
        """Declare an unconditional batch write of many items, without a transaction. The decorated function has a
        parameter for the list of items, such as `tasks`, and returns `item(tasks)`.
        """
        return self._declare("batch_put", (entity,), options)

    @checked_call
    def batch_delete(
        self, entity: type[Entity], /, **options: Unpack[BatchOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Batch[P, None]]:
        """Declare a batch deletion of many items.

        The decorated function returns item(...) with each(...) as the value of one field.
        """
        return self._declare("batch_delete", (entity,), options)

    # Changes.

    @checked_call
    def on_change(
        self,
        *entities: type[Entity],
        filter: ChangeFilter | None = None,
        batch: int = 100,
        retries: int | None = None,
        on_failure: str | None = None,
        bisect: bool = True,
        idempotent: bool = False,
    ) -> Callable[[Callable[[C], None]], Callable[[C], None]]:
        """Declare a consumer of the table's stream.

        The annotation of the function's parameter determines which changes the consumer receives. `filter` selects some
        of these changes. `batch` is the maximum number of stream records that the consumer reads at a time.

        A failing batch is retried up to `retries` times or, if `retries` is None, until its records expire. Records
        that still fail are sent to the destination `on_failure`. With `bisect`, a failing batch is split in half to
        isolate the failing record. `idempotent` states that repeated deliveries are harmless.
        """
        if any(isinstance(entity, FunctionType) for entity in entities):
            refuse(
                "a consumer is declared without an entity", "name the entity, in parentheses: @table.on_change(Entity)"
            )

        def declare_consumer(function: Callable[[C], None]) -> Callable[[C], None]:
            check_function(function, "a consumer")
            specs = tuple(spec_in_schema(self.schema, entity, function_place(function)) for entity in entities)
            consumer = build_consumer(
                function,
                specs,
                filter=filter,
                batch=batch,
                retries=retries,
                on_failure=on_failure,
                bisect=bisect,
                idempotent=idempotent,
            )
            self.consumers.append(consumer)
            return function

        return declare_consumer

    def _declare(
        self, kind: Kind, entities: Sequence[type[ReadModel]], options: Mapping[str, Any]
    ) -> Callable[[Callable[..., Any]], Any]:
        facts = check_facts(kind, entities, options)

        # The signature of the calling method declares the type of the result.
        def declare_pattern(function: Callable[..., Any]) -> Pattern[..., Any]:
            pattern = build_pattern(
                kind, function, entities, options, facts=facts, schema=self.schema, siblings=self.entities
            )
            self.patterns.append(pattern)
            return pattern

        return declare_pattern
