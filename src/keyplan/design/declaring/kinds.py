"""Kinds of patterns, such as get, query and update, with their operations, options and planners.

A planner compiles the declaration of a pattern to a plan, which describes the requests that the pattern sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, Literal, TypedDict

from keyplan.design.arguments import as_tuple, check_flags, check_text, unknown_option
from keyplan.design.conditions.builders import ItemWrite, KeyCondition
from keyplan.design.conditions.conditions import FieldPath, paths_of, sources_of
from keyplan.design.declaring.patterns import Batch, Facts, Kind, Pattern, Read, Write, as_claims, params_in
from keyplan.design.entities import EntitySpec, ReadModel, spec_in_schema, view_of, viewed_entity
from keyplan.design.errors import DesignError, refuse
from keyplan.design.parameters import Each, EveryShard, Source, may_be_unset
from keyplan.design.planning.indexes import missing_in_index
from keyplan.design.planning.plan import Operation, PatternDeclaration, Plan
from keyplan.design.planning.queries import plan_query, plan_scan, read_notes
from keyplan.design.planning.sort_keys import name_range
from keyplan.design.planning.writes import plan_batch, plan_check, plan_delete, plan_get, plan_put, plan_update
from keyplan.design.requests.build import check_expression_limits
from keyplan.design.schema import Schema, check_choice
from keyplan.design.workload import Claim, Rate

Claims = Claim | Sequence[Claim]


class ReadOptions(TypedDict, total=False):
    """Options common to all reads."""

    consistent: bool
    """Whether the read is strongly consistent. Such a read costs twice as much as an eventually consistent read."""
    expired: bool
    """Whether the read also returns items whose expiry time has passed."""
    rate: Rate
    claims: Claims
    decides: Literal["uniqueness", "quota", "state"]
    """What the application decides with the items that the read returns: whether a value is unique, a quota allows
    another item, or an item has the required state. Requires `guards`.
    """
    guards: str | Sequence[str]
    """Names of the write patterns that the application calls only if the decision in `decides` allows it."""
    after: str | Sequence[str]
    """Names of write patterns whose writes must be visible to this read immediately."""
    expected_items: float
    """The expected number of items that a call returns."""


class CountOptions(ReadOptions, total=False):
    """Options of a pattern that counts items."""

    index: str
    expected_scanned: float
    """The expected number of items that a call reads before filtering."""


class ScanOptions(CountOptions, total=False):
    """Options of a pattern that scans a table or index."""

    limit: int
    """The maximum number of items that a call returns."""
    page_size: int
    """The maximum number of items that one request reads before filtering."""
    ordered_by: str
    """The field that results are expected to be sorted by, or "-field" for descending order."""
    hydrate: bool
    """Whether to read the full items from the table, in batches, after reading an index that does not project every
    field.
    """


class QueryOptions(ScanOptions, total=False):
    """Options of a pattern that queries a partition."""

    descending: bool
    """Whether results are sorted by sort key in descending order."""


class WriteOptions(TypedDict, total=False):
    """Options of a pattern that writes items."""

    rate: Rate
    claims: Claims
    retried: bool
    """Whether callers repeat the write after a timeout."""


class BatchOptions(WriteOptions, total=False):
    """Options of a pattern that writes items in batches."""

    expected_items: float
    """The expected number of items that a call writes."""


class UpdateOptions(WriteOptions, total=False):
    """Options of a pattern that updates an item."""

    upsert: bool
    """Whether the update creates the item if it does not exist."""


class CheckOptions(TypedDict, total=False):
    """Options of a pattern that checks a condition on an item."""

    exists: Literal["must", "must_not", "may"]
    """Whether the item must exist, must not exist, or may exist."""


def check_options(options: Mapping[str, Any], known_options: frozenset[str]) -> None:
    """Raise DesignError for options that are not in `known_options`, and for options with invalid values."""
    for name in options:
        if name not in known_options:
            raise unknown_option(name, known_options)
    for name in ("limit", "page_size"):
        value = options.get(name)
        if value is not None and not (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
            refuse(f"{name}={value!r} is not a number of items", "pass an int of at least 1")
    check_flags(
        **{
            name: options[name]
            for name in ("consistent", "expired", "descending", "upsert", "hydrate")
            if name in options
        }
    )
    check_text("index", options.get("index"), may_be_none=True)
    check_choice("exists", options.get("exists"), Literal["must", "must_not", "may"])


def facts_from_options(options: Mapping[str, Any]) -> Facts:
    """Convert the declared properties in a pattern's options, such as its rate and claims, to a Facts object."""
    after = as_tuple("after", options.get("after", ()), str, 'write after="save", the name of a pattern, or several')
    guards = as_tuple(
        "guards", options.get("guards", ()), str, 'write guards="save", the name of a pattern, or several'
    )
    return Facts(
        rate=options.get("rate"),
        claims=as_claims(options.get("claims", ())),
        expected_items=options.get("expected_items"),
        expected_scanned=options.get("expected_scanned"),
        decides=options.get("decides", ""),
        guards=guards,
        after=after,
        ordered_by=options.get("ordered_by"),
        retried=options.get("retried", False),
    )


Planner = Callable[[PatternDeclaration, Any, Plan], Plan]


@dataclass(frozen=True)
class KindSpec:
    """The properties of one kind of pattern, such as get or query."""

    pattern_class: type[Pattern[..., Any]]
    operation: Operation
    terms: type[KeyCondition | ItemWrite]
    """The class of the builder object that the pattern's body returns."""
    plan: Planner
    """The function that plans patterns of this kind. It receives the pattern's declaration, the builder object, and a
    draft plan that contains only the options that need no planning. It returns the complete plan.
    """
    options: type
    """The TypedDict that lists the options of this kind."""
    exists: Literal["must", "must_not", "may"] = "may"
    returns: Literal["new", "old", "nothing"] = "nothing"
    select: Literal["all", "count"] = "all"


def check_facts(kind: Kind, entities: Sequence[object], options: Mapping[str, Any]) -> Facts:
    """Check the options and entities of a pattern, and return its declared properties.

    Raises DesignError for invalid options or entities.
    """
    for entity in entities:
        if isinstance(entity, FunctionType):
            refuse(
                f"{entity.__name__} is declared as a {kind} without an entity",
                f"name the entity, in parentheses: @table.{kind}(Entity)",
            )
    if not entities:
        refuse(f"a {kind} does not name an entity", f"name it: @table.{kind}(Entity)")
    check_options(options, frozenset(_KINDS[kind].options.__annotations__))
    return facts_from_options(options)


def build_pattern(
    kind: Kind,
    function: Callable[..., Any],
    entities: Sequence[type[ReadModel]],
    options: Mapping[str, Any],
    *,
    facts: Facts,
    schema: Schema,
    siblings: Sequence[EntitySpec],
) -> Pattern[..., Any]:
    """Build the pattern that a function declares.

    `siblings` are all entities of the table, including those that are declared later. Raises DesignError for an invalid
    declaration. If the declaration is valid but DynamoDB cannot run the pattern, the pattern's plan lists the faults.
    """
    make = plan_maker(kind, entities, options, schema=schema, siblings=siblings)
    kind_spec = _KINDS[kind]
    pattern: Pattern[..., Any] = kind_spec.pattern_class(function, kind, facts, make)
    if not isinstance(pattern._terms, kind_spec.terms):
        raise DesignError(
            f"{pattern.name} returns {pattern._terms!r}", place=pattern.place, fix=_RETURN_FIXES[kind_spec.terms]
        )
    _check_single_values(pattern)
    _check_unset(pattern)
    pattern.plan  # noqa: B018 - planning raises DesignError at the declaration
    _check_expected_items(pattern)
    return pattern


def plan_maker(
    kind: Kind,
    entities: Sequence[type[ReadModel]],
    options: Mapping[str, Any],
    *,
    schema: Schema,
    siblings: Sequence[EntitySpec],
    undeclared: str = "",
) -> Callable[[Pattern[..., Any], Any], Plan]:
    """Return a function that plans patterns of one kind.

    `siblings` are all entities of the table. For a pattern that is generated for ad-hoc calls, `undeclared` is the
    label under which capacity meters count the calls.
    """
    kind_spec = _KINDS[kind]
    view = next((view for entity in entities if (view := view_of(entity)) is not None), None)

    def make(pattern: Pattern[Any, Any], terms: Any) -> Plan:
        specs = tuple(spec_in_schema(schema, viewed_entity(entity), pattern.place) for entity in entities)
        declaration = PatternDeclaration(
            pattern.name, schema, specs, options.get("index"), pattern.parameters, pattern.place
        )
        if isinstance(terms, KeyCondition):
            terms = pattern._terms = name_range(declaration, terms)
        if view is not None and (
            kind_spec.pattern_class is not Read or kind_spec.select == "count" or len(entities) > 1
        ):
            names = " and ".join(entity.__name__ for entity in entities)
            raise DesignError(
                f"{pattern.name} is a {kind} of {names}: a view must be the only result, and cannot be counted or"
                " written",
                place=pattern.place,
                fix=f"name entities only: {', '.join(spec.name for spec in specs)}",
            )
        draft = replace(_draft(kind_spec, declaration, siblings, options), view=view, undeclared=undeclared)
        plan = kind_spec.plan(declaration, terms, draft)
        if pattern.declared is not pattern:  # a variant has the faults of the declared pattern too
            plan = replace(plan, faults=tuple(dict.fromkeys((*pattern.declared.plan.faults, *plan.faults))))
        _check_hydration(declaration, plan)
        check_expression_limits(declaration, plan)
        return plan

    return make


def _check_hydration(pattern: PatternDeclaration, plan: Plan) -> None:
    """Raise DesignError if hydrate=True is set but the results already contain every field."""
    if not plan.hydrated or plan.faults:
        return
    if plan.index is None:
        problem = f"{pattern.name} hydrates items of table {plan.schema.name}, which are already complete"
    elif plan.index.project is not None and not any(_unprojected_fields(plan, spec) for spec in plan.entities):
        problem = f"{pattern.name} hydrates entries of index {plan.index.name}, which contain every requested field"
    else:
        return
    raise DesignError(problem, place=pattern.place.at("hydrate="), fix="leave hydrate out: no further read is needed")


def _unprojected_fields(plan: Plan, spec: EntitySpec) -> set[str]:
    assert plan.index is not None, "the caller looked"
    return set(missing_in_index(plan.index, spec)).intersection(plan.fields_read(spec))


def _check_expected_items(pattern: Pattern[..., Any]) -> None:
    plan, expected_items = pattern.plan, pattern.facts.expected_items
    pages = plan.page_size if plan.limit is None and plan.walk is None else None
    for maximum, limit_text, fix in (
        (
            1 if plan.operation == "GetItem" else None,
            "the one item that a read by key can find",
            "state the share of calls that find an item",
        ),
        (plan.limit, f"limit={plan.limit}", "state how many items one call returns, or raise the limit"),
        (pages, f"page_size={pages}", "state how many items one page holds: each page counts as a call of the rate"),
        (
            pattern.facts.expected_scanned,
            f"expected_scanned={pattern.facts.expected_scanned}",
            "raise expected_scanned to the number of items that a call reads",
        ),
    ):
        if expected_items is not None and maximum is not None and expected_items > maximum:
            raise DesignError(
                f"{pattern.name} expects {expected_items:g} items per call, more than {limit_text}",
                place=pattern.place.at("expected_items="),
                fix=fix,
            )


def _check_single_values(pattern: Pattern[..., Any]) -> None:
    """Raise DesignError if each(...) is used anywhere other than in a key or in `is_in`."""
    for source in _single_sources(pattern._terms):
        if isinstance(source, (Each, EveryShard)):
            raise DesignError(
                f"{pattern.name} passes {source!r} in place of a single value",
                place=pattern.place.at("each(" if isinstance(source, Each) else "every_shard("),
                fix="pass several values only to fields of a key, and to F.x.is_in(each(values))",
            )


def _check_unset(pattern: Pattern[..., Any]) -> None:
    terms = pattern._terms
    if isinstance(terms, ItemWrite):
        actions = tuple(replace(action, source=None) if action.optional else action for action in terms.actions)
        terms = replace(terms, actions=actions)
    unset_parameter = next((param for param in params_in(terms) if may_be_unset(param)), None)
    if unset_parameter is not None:
        raise DesignError(
            f"{pattern.name} uses {unset_parameter!r}, which may be UNSET, outside of patch",
            place=pattern.place.at(unset_parameter._name),
            fix="pass it to .patch(...), or remove Unset from its annotation",
        )


def _single_sources(terms: KeyCondition | ItemWrite) -> Iterator[Source]:
    """Yield every value for which each(...) is not allowed: values in ranges, conditions, changes, whole items and
    versions.
    """
    if isinstance(terms, KeyCondition):
        if terms.range is not None:
            yield from (terms.range.low, terms.range.high)
        conditions = [terms.filter_condition]
    else:
        conditions = [terms.required, terms.replaceable]
        yield from (action.source for action in terms.actions)
        yield from (terms.item, terms.version, *terms.assumed.values())
    paths: list[FieldPath] = [path for condition in conditions for path in paths_of(condition)]
    yield from (source for condition in conditions for source in sources_of(condition))
    yield from (part for path in paths for part in path.parts)


def _draft(
    kind_spec: KindSpec, declaration: PatternDeclaration, siblings: Sequence[EntitySpec], options: Mapping[str, Any]
) -> Plan:
    return Plan(
        pattern=declaration.name,
        operation=kind_spec.operation,
        schema=declaration.schema,
        entities=declaration.entities,
        siblings=siblings,
        exists="may" if options.get("upsert") else options.get("exists", kind_spec.exists),
        descending=options.get("descending", False),
        consistent=options.get("consistent", False),
        select=kind_spec.select,
        expired="keep" if options.get("expired") or declaration.schema.literal else "drop",
        hydrated=options.get("hydrate", False),
        limit=options.get("limit"),
        page_size=options.get("page_size"),
        returns=kind_spec.returns,
    )


def _plan_get(declaration: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    planned = plan_get(declaration, write, draft)
    return replace(planned, notes=read_notes(planned, None))


def _plan_batch_get(declaration: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    planned = _plan_get(declaration, write, draft)
    if planned.walk is None:
        raise DesignError(
            f"{declaration.name} is a batch, but names one item",
            place=declaration.place,
            fix="pass one field of the key as each(...)",
        )
    return planned


def _plan_batch_put(declaration: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    planned = plan_batch(declaration, write, draft)
    if planned.item is None:
        raise DesignError(
            f"{declaration.name} puts items, but returns a key",
            place=declaration.place,
            fix="return item(items), or use @table.batch_delete",
        )
    return planned


def _plan_batch_delete(declaration: PatternDeclaration, write: ItemWrite, draft: Plan) -> Plan:
    planned = plan_batch(declaration, write, draft)
    if planned.item is not None:
        raise DesignError(
            f"{declaration.name} deletes items, but returns whole items",
            place=declaration.place,
            fix="return item(...) with one each(...), or use @table.batch_put",
        )
    return planned


_KINDS: dict[Kind, KindSpec] = {
    "get": KindSpec(Read, "GetItem", ItemWrite, _plan_get, ReadOptions),
    "batch_get": KindSpec(Read, "BatchGetItem", ItemWrite, _plan_batch_get, ReadOptions),
    "query": KindSpec(Read, "Query", KeyCondition, plan_query, QueryOptions),
    "count": KindSpec(Read, "Query", KeyCondition, plan_query, CountOptions, select="count"),
    "scan": KindSpec(Read, "Scan", KeyCondition, plan_scan, ScanOptions),
    "create": KindSpec(Write, "PutItem", ItemWrite, plan_put, WriteOptions, exists="must_not"),
    "put": KindSpec(Write, "PutItem", ItemWrite, plan_put, WriteOptions),
    "replace": KindSpec(Write, "PutItem", ItemWrite, plan_put, WriteOptions, exists="must"),
    "update": KindSpec(Write, "UpdateItem", ItemWrite, plan_update, UpdateOptions, exists="must", returns="new"),
    "delete": KindSpec(Write, "DeleteItem", ItemWrite, plan_delete, WriteOptions, returns="old"),
    "check": KindSpec(Write, "ConditionCheck", ItemWrite, plan_check, CheckOptions, exists="must"),
    "batch_put": KindSpec(Batch, "BatchWriteItem", ItemWrite, _plan_batch_put, BatchOptions),
    "batch_delete": KindSpec(Batch, "BatchWriteItem", ItemWrite, _plan_batch_delete, BatchOptions),
}

_RETURN_FIXES: dict[type[KeyCondition | ItemWrite], str] = {
    KeyCondition: "return pk(...) or everything(), with .sk... and .filter(...)",
    ItemWrite: "return item(...), with methods such as .set(...) and .condition(...)",
}
