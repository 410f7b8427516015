"""Tables: entities, patterns and consumers are declared on them."""

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
    """A table of a design: its keys, its indexes, and everything declared on it."""

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

        `ttl`: the attribute that holds the expiry in epoch seconds. `discriminator`: an attribute that
        names each item's entity, if keys alone do not identify it.

        `literal`: send exactly the stated requests, for example to test a design as it was published. Left out are:

        - the prefix `begins_with(SK, "TASK#")` of queries that name no sort key: all entities of the partition are
          read, charged, and counted;
        - the check of the expiry: reads return expired items as with `expired=True`, conditions of writes do not
          mention the expiry, and an upsert changes an expired item instead of deleting it first;
        - the discriminator in filters of counts.

        Kept are the existence condition that a create, replace, update or check states by its kind, versions, unique
        values, and index keys.
        """
        listed = as_tuple("indexes", indexes, Index, "write indexes=[GSI(...), LSI(...)]")
        ttls = () if ttl is None else as_tuple("ttl", ttl, (str, TTL), 'write ttl="expires_at", the attribute\'s name')
        self.schema = Schema(
            name=name,
            partition=pk,
            sort=sk,
            indexes=tuple(replace(index, partition=index.partition or (pk,)) for index in listed),
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
        """The table's name."""
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
        """Declare an entity: a class of items of this table.

        `key`: how its primary key is made; not needed if fields are the key attributes themselves. `indexes`: its key
        in each index; not needed for an index whose attributes are fields. `version`: the int field that counts
        changes. `unique`: fields whose values no two items share. `found_by`: fields by which the design must be able
        to find it. `volume`: the number and sizes of its items. `store_key_fields`: False if fields in templates of the
        primary key are not stored as separate attributes, or the names of those that are.
        """
        place = calling_place()
        if not (indexes is None or isinstance(indexes, Mapping)):
            raise invalid_option("indexes", indexes, "not a mapping", 'write indexes={"by_owner": key(...)}')
        check_text("version", version, may_be_none=True)
        check_text("name", name, may_be_none=True)
        stored = (
            store_key_fields
            if isinstance(store_key_fields, bool)
            else as_tuple("store_key_fields", store_key_fields, str, 'write True, False or store_key_fields=["field"]')
        )
        uniques = as_tuple("unique", unique, (str, Unique), 'write unique=["field"], or unique("field", "other")')
        several = list(found_by) if isinstance(found_by, tuple) else found_by  # a tuple within is fields taken together
        lookups = as_tuple("found_by", several, (str, tuple), 'write found_by=["field", ("one", "other")]')

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
                store_key_fields=stored,
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
        """Declare a read of one item by its primary key, as its entity or a view: the body returns item(...)."""
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
        """Declare a read of a range of one partition, of one view or of entities: the body returns pk(...).sk..."""
        return self._declare("query", entities, options)

    def count(
        self, *entities: type[Entity], **options: Unpack[CountOptions]
    ) -> Callable[[Callable[P, KeyCondition]], Read[P, int]]:
        """Declare a count of a range. All counted items are read, and charged."""
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
        """Declare a read of the whole table, or of a whole index: the body returns everything(), with .filter(...)."""
        return self._declare("scan", entities, options)

    @checked_call
    def batch_get(
        self, entity: type[R], /, **options: Unpack[ReadOptions]
    ) -> Callable[[Callable[P, ItemKey]], Read[P, list[R | None]]]:
        """Declare a read of several items by key: the body returns item(...) with one field as each(...).

        The result has one entry for each value, None for a missing item.
        """
        return self._declare("batch_get", (entity,), options)

    # Writes.

    @checked_call
    def create(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E]]:
        """Declare the creation of an item, which fails if the item exists: the body returns item(new)."""
        return self._declare("create", (entity,), options)

    @checked_call
    def put(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E]]:
        """Declare a write of a whole item, whether or not it exists: the body returns item(new)."""
        return self._declare("put", (entity,), options)

    @checked_call
    def replace(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E]]:
        """Declare the replacement of an existing item: the body returns item(new).

        The item's own version must be the stored one, if the entity has a version.
        """
        return self._declare("replace", (entity,), options)

    @checked_call
    def update(
        self, entity: type[E], /, **options: Unpack[UpdateOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E]]:
        """Declare a partial update: the body returns item(...).set(...) or other changes.

        It fails if the item does not exist, unless `upsert`; returns the item after the update.
        """
        return self._declare("update", (entity,), options)

    @checked_call
    def delete(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, E | None]]:
        """Declare the deletion of an item: the body returns item(...). Returns the deleted item."""
        return self._declare("delete", (entity,), options)

    @checked_call
    def check(
        self, entity: type[Entity], /, **options: Unpack[CheckOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Write[P, None]]:
        """Declare a condition on an item, as part of transactions: the body returns item(...).condition(...)."""
        return self._declare("check", (entity,), options)

    @checked_call
    def batch_put(
        self, entity: type[Entity], /, **options: Unpack[BatchOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Batch[P, None]]:
        """Declare a write of many items, one by one, without conditions: the body returns item(items)."""
        return self._declare("batch_put", (entity,), options)

    @checked_call
    def batch_delete(
        self, entity: type[Entity], /, **options: Unpack[BatchOptions]
    ) -> Callable[[Callable[P, ItemWrite]], Batch[P, None]]:
        """Declare a deletion of many items, one by one, without conditions: item(...) with one each(...)."""
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
        """Declare a consumer of the table's stream; its parameter's annotation states which changes it accepts."""
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

        # What it makes is typed by the signature of the method that calls it.
        def declare_pattern(function: Callable[..., Any]) -> Pattern[..., Any]:
            pattern = build_pattern(
                kind, function, entities, options, facts=facts, schema=self.schema, siblings=self.entities
            )
            self.patterns.append(pattern)
            return pattern

        return declare_pattern
