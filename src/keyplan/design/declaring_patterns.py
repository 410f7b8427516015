"""Patterns declared: of each kind, which operation it is, what its body returns, and what plans it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, Literal

from keyplan.design.asked import Asked
from keyplan.design.entities import Entity, EntitySpec, spec_on, whole_of
from keyplan.design.options import (
    BatchOptions,
    CheckOptions,
    CountOptions,
    QueryOptions,
    ReadOptions,
    ScanOptions,
    UpdateOptions,
    WriteOptions,
    check_options,
    facts_of,
)
from keyplan.design.patterns import Batch, Facts, Kind, Pattern, Read, Write
from keyplan.design.places import DesignError, caller
from keyplan.design.plan import Operation, Plan
from keyplan.design.planning_lengths import check_lengths
from keyplan.design.planning_reads import plan_query, plan_scan, read_notes
from keyplan.design.planning_updates import plan_update
from keyplan.design.planning_writes import (
    plan_batch,
    plan_check,
    plan_delete,
    plan_get,
    plan_put,
)
from keyplan.design.schema import Schema
from keyplan.design.symbols import Each, EveryShard
from keyplan.design.terms_reads import Cond
from keyplan.design.terms_sources import single_sources
from keyplan.design.terms_writes import Change

Planner = Callable[[Asked, Any, Plan], Plan]


@dataclass(frozen=True)
class Form:
    """What the patterns of one kind have in common."""

    made: type[Pattern[..., Any]]
    operation: Operation
    terms: type[Cond | Change]
    """What the body returns."""
    plan: Planner
    """Makes the plan of a draft, which has the options that need no planning."""
    options: type
    """What may be said of it."""
    exists: Literal["must", "must_not", "may"] = "may"
    returns: Literal["new", "old", "nothing"] = "nothing"
    select: Literal["all", "count"] = "all"


def checked_facts(kind: Kind, entities: Sequence[object], options: Mapping[str, Any]) -> Facts:
    """What the options say of a pattern. Raises DesignError where they, or the entities, have no meaning."""
    for entity in entities:
        if isinstance(entity, FunctionType):
            raise DesignError(
                f"{entity.__name__} is declared as a {kind} of no entity",
                place=caller(),
                fix=f"name the entity, in parentheses: @table.{kind}(Entity)",
            )
    if not entities:
        raise DesignError(f"a {kind} names no entity", place=caller(), fix=f"name it: @table.{kind}(Entity)")
    check_options(options, frozenset(_FORMS[kind].options.__annotations__))
    return facts_of(options)


def declared_pattern(
    kind: Kind,
    function: Callable[..., Any],
    entities: Sequence[type[Entity]],
    options: Mapping[str, Any],
    *,
    facts: Facts,
    schema: Schema,
    siblings: Sequence[EntitySpec],
) -> Pattern[..., Any]:
    """The pattern that a function declares; `siblings` are all entities of the table, also of later declarations.

    Raises DesignError for what has no meaning; what cannot work is a fault of its plan.
    """
    form = _FORMS[kind]
    view = next((entity for entity in entities if whole_of(entity) is not entity), None)

    def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
        specs = tuple(spec_on(schema, whole_of(entity), pattern.place) for entity in entities)
        asked = Asked(pattern.name, schema, specs, options.get("index"), pattern.parameters, pattern.place)
        if view is not None and (kind not in {"query", "scan"} or len(entities) > 1):
            raise DesignError(
                f"{pattern.name} is a {kind} of view {view.__name__}: only a query or a scan reads a single view",
                place=pattern.place,
                fix=f"name the entity, {specs[0].name}",
            )
        plan = form.plan(asked, terms, replace(_draft(form, asked, siblings, options), view=view))
        check_lengths(asked, plan)
        return plan

    pattern: Pattern[..., Any] = form.made(function, kind, facts, make)
    if not isinstance(pattern._terms, form.terms):
        raise DesignError(f"{pattern.name} returns {pattern._terms!r}", place=pattern.place, fix=_RETURN[form.terms])
    _check_several(pattern)
    pattern.plan  # noqa: B018 - what has no meaning is refused where it is declared
    _check_returns(pattern)
    return pattern


def _check_returns(pattern: Pattern[..., Any]) -> None:
    """Refuse more results than a call can give."""
    plan, returns = pattern.plan, pattern.facts.returns
    pages = plan.page_size if plan.limit is None and plan.walk is None else None
    for most, bound, fix in (
        (
            1 if plan.operation == "GetItem" else None,
            "the one that a read by key finds",
            "say which share of calls find one",
        ),
        (plan.limit, f"limit={plan.limit}", "say how many one call gives, or raise the limit"),
        (pages, f"page_size={pages}", "say how many one page holds: the next one is another call of the rate"),
        (pattern.facts.evaluates, f"evaluates={pattern.facts.evaluates}", "say how many it reads to find them"),
    ):
        if returns is not None and most is not None and returns > most:
            raise DesignError(
                f"{pattern.name} returns {returns:g} items a call, more than {bound}",
                place=pattern.place.at("returns="),
                fix=fix,
            )


def _check_several(pattern: Pattern[..., Any]) -> None:
    """Refuse several values where one is taken: keys are asked for once for each of them, and `is_in` takes a list."""
    for source in single_sources(pattern._terms):
        if isinstance(source, (Each, EveryShard)):
            raise DesignError(
                f"{pattern.name} gives {source!r} where one value is taken",
                place=pattern.place.at("each(" if isinstance(source, Each) else "every_shard("),
                fix="several values are for fields of a key, and for F.x.is_in(each(values))",
            )


def _draft(form: Form, asked: Asked, siblings: Sequence[EntitySpec], options: Mapping[str, Any]) -> Plan:
    return Plan(
        pattern=asked.name,
        operation=form.operation,
        schema=asked.schema,
        entities=asked.entities,
        siblings=siblings,
        exists="may" if options.get("upsert") else options.get("exists", form.exists),
        descending=options.get("descending", False),
        consistent=options.get("consistent", False),
        select=form.select,
        expired="keep" if options.get("expired") else "drop",
        limit=options.get("limit"),
        page_size=options.get("page_size"),
        returns=form.returns,
    )


def _plan_get(asked: Asked, change: Change, draft: Plan) -> Plan:
    planned = plan_get(asked, change, draft)
    return replace(planned, notes=read_notes(planned, None))


def _plan_batch_get(asked: Asked, change: Change, draft: Plan) -> Plan:
    planned = _plan_get(asked, change, draft)
    if planned.walk is None:
        raise DesignError(
            f"{asked.name} names one item", place=asked.place, fix="give one field of the key as each(...)"
        )
    return planned


def _plan_batch_put(asked: Asked, change: Change, draft: Plan) -> Plan:
    planned = plan_batch(asked, change, draft)
    if planned.item is None:
        raise DesignError(
            f"{asked.name} puts items, and returns a key",
            place=asked.place,
            fix="return put(items), or use @table.batch_delete",
        )
    return planned


def _plan_batch_delete(asked: Asked, change: Change, draft: Plan) -> Plan:
    planned = plan_batch(asked, change, draft)
    if planned.item is not None:
        raise DesignError(
            f"{asked.name} deletes items, and returns put(...)",
            place=asked.place,
            fix="return key_of(...) with one each(...), or use @table.batch_put",
        )
    return planned


_FORMS: dict[Kind, Form] = {
    "get": Form(Read, "GetItem", Change, _plan_get, ReadOptions),
    "batch_get": Form(Read, "BatchGetItem", Change, _plan_batch_get, ReadOptions),
    "query": Form(Read, "Query", Cond, plan_query, QueryOptions),
    "count": Form(Read, "Query", Cond, plan_query, CountOptions, select="count"),
    "scan": Form(Read, "Scan", Cond, plan_scan, ScanOptions),
    "create": Form(Write, "PutItem", Change, plan_put, WriteOptions, exists="must_not"),
    "put": Form(Write, "PutItem", Change, plan_put, WriteOptions),
    "replace": Form(Write, "PutItem", Change, plan_put, WriteOptions, exists="must"),
    "update": Form(Write, "UpdateItem", Change, plan_update, UpdateOptions, exists="must", returns="new"),
    "delete": Form(Write, "DeleteItem", Change, plan_delete, WriteOptions, returns="old"),
    "check": Form(Write, "ConditionCheck", Change, plan_check, CheckOptions, exists="must"),
    "batch_put": Form(Batch, "BatchWriteItem", Change, _plan_batch_put, BatchOptions),
    "batch_delete": Form(Batch, "BatchWriteItem", Change, _plan_batch_delete, BatchOptions),
}

_RETURN: dict[type[Cond | Change], str] = {
    Cond: "return pk(...), sk(...) or where(...), joined by &",
    Change: "return key_of(...), put(...) or changes such as set_(...), joined by &",
}
