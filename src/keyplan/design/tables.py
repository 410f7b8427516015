"""Tables: where entities, patterns and consumers are declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, ParamSpec, TypeVar, Unpack, overload

from keyplan.design import planning_reads, planning_writes
from keyplan.design.asked import Asked
from keyplan.design.consumers import Consumer, When, consumer
from keyplan.design.entities import Entity, EntitySpec, Unique, declare
from keyplan.design.keys import KeySpec
from keyplan.design.options import QueryOptions, ReadOptions, UpdateOptions, WriteOptions, facts_of
from keyplan.design.patterns import Batch, Facts, Kind, Page, Pattern, Read, Write
from keyplan.design.places import DesignError, Place, caller, of_function
from keyplan.design.plan import Operation, Plan
from keyplan.design.schema import (
    TTL,
    Index,
    KeyNames,
    Projection,
    Schema,
    StreamView,
    TableClass,
    names_of,
)
from keyplan.design.terms import Change, Cond, Key
from keyplan.design.workload import Billing, Items, OnDemand, Provisioned

P = ParamSpec("P")
E = TypeVar("E", bound=Entity)
E2 = TypeVar("E2", bound=Entity)
E3 = TypeVar("E3", bound=Entity)
M = TypeVar("M", bound=type[Entity])
C = TypeVar("C")


def GSI(  # noqa: N802 - the field's own name for it
    name: str,
    *,
    pk: KeyNames,
    sk: KeyNames | None = None,
    project: Projection | Sequence[str] | None = "all",
    billing: Provisioned | None = None,
) -> Index:
    """A global secondary index: its own partition key, and perhaps a sort key, each of up to four attributes.

    `project`: "all", "keys", or the attributes it also holds; None where a design does not say.
    `billing`: its own capacity, on a table whose capacity is provisioned.
    """
    return Index(name, "GSI", names_of(pk), names_of(sk), _projection(project), billing, caller())


def LSI(name: str, *, sk: str, project: Projection | Sequence[str] | None = "all") -> Index:  # noqa: N802
    """A local secondary index: the table's partition key with another sort key; only at a table's creation."""
    return Index(name, "LSI", (), (sk,), _projection(project), None, caller())


def _projection(project: Projection | Sequence[str] | None) -> Projection | tuple[str, ...] | None:
    if project is None:
        return None
    if isinstance(project, str):
        if project not in {"all", "keys"}:
            raise DesignError(
                f"project={project!r} says nothing of what an index holds",
                place=caller(),
                fix=f'write project="all", project="keys", or a list: project=["{project}"]',
            )
        return "keys" if project == "keys" else "all"
    return tuple(project)


class Table:
    """A table of a design: its keys, its indexes, and everything that is declared on it."""

    def __init__(
        self,
        name: str,
        *,
        pk: str,
        sk: str | None = None,
        indexes: Sequence[Index] = (),
        ttl: str | TTL | Sequence[str | TTL] | None = None,
        stream: StreamView | None = None,
        billing: Billing | None = None,
        table_class: TableClass = "STANDARD",
        point_in_time_recovery: bool = False,
        deletion_protection: bool = False,
        discriminator: str | None = None,
    ) -> None:
        """Declare a table.

        `ttl`: the attribute that holds the expiry in epoch seconds. `discriminator`: an attribute that
        names each item's entity, where keys alone do not tell.
        """
        told = [] if ttl is None else [ttl] if isinstance(ttl, (str, TTL)) else list(ttl)
        self.schema = Schema(
            name=name,
            partition=pk,
            sort=sk,
            indexes=tuple(replace(index, partition=index.partition or (pk,)) for index in indexes),
            ttls=tuple(TTL(one) if isinstance(one, str) else one for one in told),
            stream=stream,
            billing=billing or OnDemand(),
            table_class=table_class,
            point_in_time_recovery=point_in_time_recovery,
            deletion_protection=deletion_protection,
            discriminator=discriminator,
            place=caller(),
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

    def entity(
        self,
        *,
        key: KeySpec | None = None,
        indexes: Mapping[str, KeySpec] | None = None,
        version: str | None = None,
        unique: Sequence[str | Unique] = (),
        found_by: Sequence[str | tuple[str, ...]] = (),
        items: Items | None = None,
        name: str | None = None,
        store_key_fields: bool = True,
    ) -> Callable[[M], M]:
        """Declare an entity: a class of items of this table.

        `key`: how its primary key is made; not needed where fields are the key attributes themselves.
        `indexes`: its key in each index; an index whose attributes are fields needs none. `version`: the int
        field that counts changes. `unique`: fields whose values no two items share. `found_by`: fields the
        design must be able to find it by. `items`: its numbers and sizes. `store_key_fields`: False to
        keep fields that key templates hold out of the item's other attributes.
        """
        place = caller()

        def declare_entity(model: M) -> M:
            spec = declare(
                model,
                self.schema,
                key=key,
                indexes=indexes or {},
                version=version,
                uniques=unique,
                found_by=found_by,
                items=items,
                name=name,
                store_key_fields=store_key_fields,
                place=place,
            )
            model.__keyplan__ = spec
            self.entities.append(spec)
            return model

        return declare_entity

    # Reads.

    def get(
        self, entity: type[E], /, **options: Unpack[ReadOptions]
    ) -> Callable[[Callable[P, Key]], Read[P, E | None]]:
        """Declare a read of one item by its primary key: the body returns key_of(...)."""

        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = self._draft(pattern, "GetItem", (entity,), options)
            planned = planning_writes.plan_get(self._asked(pattern, (entity,)), terms, draft)
            return replace(planned, notes=planning_reads.read_notes(planned, None))

        return self._declare(Read, "get", facts_of(options), make, Change)

    @overload
    def query(
        self, first: type[E], /, **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, Cond]], Read[P, Page[E]]]: ...
    @overload
    def query(
        self, first: type[E], second: type[E2], /, **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, Cond]], Read[P, Page[E | E2]]]: ...
    @overload
    def query(
        self, first: type[E], second: type[E2], third: type[E3], /, **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, Cond]], Read[P, Page[E | E2 | E3]]]: ...
    @overload
    def query(
        self, first: type[Entity], /, *more: type[Entity], **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, Cond]], Read[P, Page[Any]]]: ...
    def query(self, *entities: type[Entity], **options: Unpack[QueryOptions]) -> Any:
        """Declare a read of a range of one partition, of one or several entities: the body returns pk(...) & sk..."""

        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = self._draft(pattern, "Query", entities, options)
            return planning_reads.plan_query(self._asked(pattern, entities), terms, options.get("index"), draft)

        return self._declare(Read, "query", facts_of(options), make, Cond)

    def count(
        self, *entities: type[Entity], **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, Cond]], Read[P, int]]:
        """Declare a count of a range. Everything counted is read, and paid for."""

        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = replace(self._draft(pattern, "Query", entities, options), select="count")
            return planning_reads.plan_query(self._asked(pattern, entities), terms, options.get("index"), draft)

        return self._declare(Read, "count", facts_of(options), make, Cond)

    @overload
    def scan(
        self, first: type[E], /, **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, Cond]], Read[P, Page[E]]]: ...
    @overload
    def scan(
        self, first: type[E], second: type[E2], /, **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, Cond]], Read[P, Page[E | E2]]]: ...
    @overload
    def scan(
        self, first: type[Entity], /, *more: type[Entity], **options: Unpack[QueryOptions]
    ) -> Callable[[Callable[P, Cond]], Read[P, Page[Any]]]: ...
    def scan(self, *entities: type[Entity], **options: Unpack[QueryOptions]) -> Any:
        """Declare a read of the whole table, or of a whole index: the body returns everything() or where(...)."""

        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = self._draft(pattern, "Scan", entities, options)
            return planning_reads.plan_scan(self._asked(pattern, entities), terms, options.get("index"), draft)

        return self._declare(Read, "scan", facts_of(options), make, Cond)

    def batch_get(
        self, entity: type[E], /, **options: Unpack[ReadOptions]
    ) -> Callable[[Callable[P, Key]], Read[P, list[E | None]]]:
        """Declare a read of several items by key: the body returns key_of(...) with one field as each(...).

        The result has one place for each value, None where no item is.
        """

        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = self._draft(pattern, "BatchGetItem", (entity,), options)
            planned = planning_writes.plan_get(self._asked(pattern, (entity,)), terms, draft)
            if planned.walk is None:
                raise DesignError(
                    f"{pattern.name} names one item", place=pattern.place, fix="give one field of the key as each(...)"
                )
            return replace(planned, notes=planning_reads.read_notes(planned, None))

        return self._declare(Read, "batch_get", facts_of(options), make, Change)

    # Writes.

    def create(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, Change]], Write[P, E]]:
        """Declare the creation of an item, refused where one is: the body returns put(item)."""
        return self._declare(Write, "create", facts_of(options), self._putting(entity, "must_not", options), Change)

    def put(self, entity: type[E], /, **options: Unpack[WriteOptions]) -> Callable[[Callable[P, Change]], Write[P, E]]:
        """Declare a write of a whole item, whether or not one is there: the body returns put(item)."""
        return self._declare(Write, "put", facts_of(options), self._putting(entity, "may", options), Change)

    def replace(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, Change]], Write[P, E]]:
        """Declare the replacement of an item that is there: the body returns put(item).

        The item's own version must be the stored one, where the entity has a version.
        """
        return self._declare(Write, "replace", facts_of(options), self._putting(entity, "must", options), Change)

    def _putting(
        self, entity: type[Entity], exists: Literal["must", "must_not", "may"], options: WriteOptions
    ) -> Callable[[Pattern[Any, Any], Any], Plan]:
        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = replace(self._draft(pattern, "PutItem", (entity,), options), exists=exists)
            return planning_writes.plan_put(self._asked(pattern, (entity,)), terms, draft)

        return make

    def update(
        self, entity: type[E], /, **options: Unpack[UpdateOptions]
    ) -> Callable[[Callable[P, Change]], Write[P, E]]:
        """Declare a partial update: the body returns key_of(...) & set_(...) and other changes.

        Refused where no item is, unless `upsert`; gives the item as it is afterwards.
        """

        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = self._draft(pattern, "UpdateItem", (entity,), options)
            draft = replace(draft, exists="may" if options.get("upsert") else "must", returns="new")
            return planning_writes.plan_update(self._asked(pattern, (entity,)), terms, draft)

        return self._declare(Write, "update", facts_of(options), make, Change)

    def delete(
        self, entity: type[E], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, Change]], Write[P, E | None]]:
        """Declare the deletion of an item: the body returns key_of(...). Gives the item that was there."""

        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = replace(self._draft(pattern, "DeleteItem", (entity,), options), returns="old")
            return planning_writes.plan_delete(self._asked(pattern, (entity,)), terms, draft)

        return self._declare(Write, "delete", facts_of(options), make, Change)

    def check(
        self, entity: type[Entity], /, *, exists: Literal["must", "must_not", "may"] = "must"
    ) -> Callable[[Callable[P, Change]], Write[P, None]]:
        """Declare a condition on an item, as part of transactions: the body returns key_of(...) & when(...)."""

        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = replace(self._draft(pattern, "ConditionCheck", (entity,), {}), exists=exists)
            return planning_writes.plan_check(self._asked(pattern, (entity,)), terms, draft)

        return self._declare(Write, "check", Facts(), make, Change)

    def batch_put(
        self, entity: type[Entity], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, Change]], Batch[P, None]]:
        """Declare a write of many items, one by one, without conditions: the body returns put(items)."""
        return self._declare(Batch, "batch_put", facts_of(options), self._batch(entity, options), Change)

    def batch_delete(
        self, entity: type[Entity], /, **options: Unpack[WriteOptions]
    ) -> Callable[[Callable[P, Change]], Batch[P, None]]:
        """Declare a deletion of many items, one by one, without conditions: key_of(...) with one each(...)."""
        return self._declare(Batch, "batch_delete", facts_of(options), self._batch(entity, options), Change)

    def _batch(self, entity: type[Entity], options: WriteOptions) -> Callable[[Pattern[Any, Any], Any], Plan]:
        def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
            draft = self._draft(pattern, "BatchWriteItem", (entity,), options)
            return planning_writes.plan_batch(self._asked(pattern, (entity,)), terms, draft)

        return make

    # Changes.

    def on_change(
        self,
        *entities: type[Entity],
        when: When | None = None,
        batch: int = 100,
        retries: int | None = None,
        on_failure: str | None = None,
        bisect: bool = True,
        idempotent: bool = False,
    ) -> Callable[[Callable[[C], None]], Callable[[C], None]]:
        """Declare a consumer of the table's stream; its parameter's annotation says which changes it takes."""

        def declare_consumer(function: Callable[[C], None]) -> Callable[[C], None]:
            specs = tuple(self._spec(entity, of_function(function)) for entity in entities)
            made = consumer(
                function,
                specs,
                when=when,
                batch=batch,
                retries=retries,
                on_failure=on_failure,
                bisect=bisect,
                idempotent=idempotent,
            )
            self.consumers.append(made)
            return function

        return declare_consumer

    # Within.

    def _spec(self, entity: type[Entity], place: Place) -> EntitySpec:
        spec = vars(entity).get("__keyplan__") if isinstance(entity, type) else None
        if not isinstance(spec, EntitySpec) or spec.schema is not self.schema:
            raise DesignError(
                f"{getattr(entity, '__name__', repr(entity))} is not an entity of table {self.name}",
                place=place,
                other=spec.place if isinstance(spec, EntitySpec) else self.schema.place,
                fix=f"declare it with @{self.name}.entity(...), or use the table that it belongs to",
            )
        return spec

    def _asked(self, pattern: Pattern[Any, Any], entities: Sequence[type[Entity]]) -> Asked:
        specs = tuple(self._spec(entity, pattern.place) for entity in entities)
        return Asked(pattern.name, self.schema, specs, pattern.parameters, pattern.place)

    def _draft(
        self,
        pattern: Pattern[Any, Any],
        operation: Operation,
        entities: Sequence[type[Entity]],
        options: Mapping[str, Any],
    ) -> Plan:
        return Plan(
            pattern=pattern.name,
            operation=operation,
            schema=self.schema,
            entities=tuple(self._spec(entity, pattern.place) for entity in entities),
            siblings=self.entities,
            descending=options.get("descending", False),
            consistent=options.get("consistent", False),
            limit=options.get("limit"),
            page_size=options.get("page_size"),
            expired="keep" if options.get("expired") else "drop",
        )

    def _declare(
        self,
        kind_of_pattern: type[Any],
        kind: Kind,
        facts: Facts,
        make: Callable[[Pattern[Any, Any], Any], Plan],
        terms: type[Cond | Change],
    ) -> Callable[[Callable[..., Any]], Any]:
        # What it makes is typed by the signature of the method that calls it.
        def declare_pattern(function: Callable[..., Any]) -> Pattern[..., Any]:
            pattern: Pattern[..., Any] = kind_of_pattern(function, kind, facts, make)
            if not isinstance(pattern._terms, terms):
                raise DesignError(
                    f"{pattern.name} returns {pattern._terms!r}",
                    place=pattern.place,
                    fix=_RETURN[terms],
                )
            pattern.plan  # noqa: B018 - what has no meaning is refused where it is declared
            self.patterns.append(pattern)
            return pattern

        return declare_pattern


_RETURN: dict[type[Cond | Change], str] = {
    Cond: "return pk(...), sk(...) or where(...), joined by &",
    Change: "return key_of(...), put(...) or changes such as set_(...), joined by &",
}
