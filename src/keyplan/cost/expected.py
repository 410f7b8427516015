"""Estimates the capacity units of one call to a pattern from the declared item counts and sizes.

Estimates are computed from the plan of a pattern, which describes the requests that the pattern sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, inf, log2
from typing import Any

from pydantic_core import PydanticUndefined

from keyplan import limits
from keyplan.cost.selectivity import matching_count, matching_share, share_in_index
from keyplan.cost.sizes import entry_size, item_size, read_size
from keyplan.cost.units import Units, sum_of
from keyplan.design.conditions.conditions import UNKNOWN, paths_of
from keyplan.design.conditions.evaluation import holds, stated_values
from keyplan.design.declaring.patterns import Facts, Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys.entity_keys import BoundIndexKey, BoundKey
from keyplan.design.keys.placeholders import BoundPlaceholder
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import WRITE_TIME, Each, EveryShard, Param, annotation_of, is_never_none
from keyplan.design.planning.indexes import fetched_attributes
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index
from keyplan.dynamodb.values.units import TRANSACTIONAL, read_units, write_units


@dataclass(frozen=True)
class Expected:
    """The estimated capacity units of one call, with the assumptions of the estimate."""

    units: Units
    evaluated: float
    """The number of items that the call reads or writes. A filter does not reduce it."""
    returned: float
    guesses: tuple[str, ...]
    """The assumptions of the estimate about item counts, sizes and shares that the design does not declare."""
    hydrated: float = 0.0
    """The read units for whole items that are read from the table after a query on an index (`hydrate=True`)."""

    def read_from(self, plan: Plan, index: Index | None) -> float:
        """Return the part of a call's read units that is used on an index, or on the table if `index` is None."""
        read = self.units.read - self.hydrated if plan.index is index else 0.0
        return read + self.hydrated if index is None else read

    @property
    def is_counted(self) -> bool:
        """Return True if the design declares how many items a call reads.

        Otherwise, the number is an assumption, and rules do not report findings based on it.
        """
        return not any("not declared" in guess for guess in self.guesses)


def expected(pattern: Pattern[..., Any]) -> Expected:
    """Estimate the capacity units of one call to a pattern, for items of average size.

    If the plan has faults, the estimate covers the parts that can be computed.
    """
    return expected_for_plan(pattern.plan, pattern.facts)


def expected_for_plan(plan: Plan, facts: Facts) -> Expected:
    """Estimate the capacity units of one call with this plan. The plan must not be a step of a transaction.

    `facts` are the pattern's declarations, such as the expected number of items.
    """
    if plan.operation == "TransactWriteItems":
        return _transaction_estimate(plan, facts)
    if plan.operation in {"Query", "Scan"}:
        return _range_read(plan, facts)
    guesses = _size_guesses(plan)
    times = 1.0
    if plan.operation in {"BatchGetItem", "BatchWriteItem"}:
        times, assumed = _batch_items(plan, facts)
        guesses += assumed
    if plan.operation in {"GetItem", "BatchGetItem"}:
        units = read_units(item_size(plan.entity).average, consistent=plan.consistent)
        if plan.operation == "GetItem" and facts.expected_items is not None:  # a missing item is billed as a small one
            missing_share = 1 - facts.expected_items
            units = facts.expected_items * units + missing_share * read_units(0, consistent=plan.consistent)
        return Expected(Units(read=units * times), times, times, guesses)
    return Expected(_write(plan) * times, times, times, guesses + _write_guesses(plan))


def _size_guesses(plan: Plan) -> tuple[str, ...]:
    return tuple(
        f"sizes of {spec.name} are estimated from its fields" for spec in plan.entities if not item_size(spec).declared
    )


# Range reads.


def pages(pattern: Pattern[..., Any]) -> float:
    """Estimate the number of 1 MB pages that a query or scan reads, or return 0 for other patterns."""
    if pattern.plan.operation not in {"Query", "Scan"}:
        return 0.0
    blocks = expected(pattern).units.read * (1 if pattern.plan.consistent else 2)
    return blocks * limits.READ_UNIT_BYTES / limits.PAGE_BYTES


def _range_read(plan: Plan, facts: Facts) -> Expected:
    guesses = list(_size_guesses(plan))
    declared = facts.expected_scanned or facts.expected_items
    match_guesses: list[str] = guesses if declared is None else []  # declared results need no assumption
    matches = {entity: matching_count(plan, entity, match_guesses) for entity in plan.entities}
    incidental = {entity: matching_count(plan, entity, guesses) for entity in _incidental_reads(plan)}
    evaluated = declared if declared is not None else sum(matches.values())
    if declared is not None and facts.expected_scanned is None and not match_guesses and _filters_everything(plan):
        evaluated = max(evaluated, sum(matches.values()))
    returned = facts.expected_items if facts.expected_items is not None else evaluated
    limit = plan.limit or plan.page_size
    if limit is not None and plan.filter is None:
        evaluated, returned = min(evaluated, limit), min(returned, limit)
    elif plan.filter is not None and declared is None:
        evaluated, returned = _filtered_counts(plan, evaluated)
    requests = _requests(plan, evaluated, sum(matches.values()))
    if incidental and facts.expected_scanned is None:
        incidental_items = sum(incidental.values()) * (requests if _caller_lists_partitions(plan) else 1)
        evaluated += incidental_items * (evaluated / max(evaluated, sum(matches.values())) if limit is not None else 1)
    page_items = _page_limit(plan, facts)
    evaluated, returned = min(evaluated, page_items), min(returned, page_items)
    if limit is not None and (plan.filter is None or plan.limit) and declared is None:
        evaluated = max(evaluated, requests * min(limit, _items_per_partition(plan, sum(matches.values()), requests)))
    total_bytes = evaluated * _average_bytes(plan, {**matches, **incidental})
    read = requests * read_units(int(total_bytes / requests), consistent=plan.consistent) + fetch_read_units(
        plan, evaluated
    )
    hydrated = returned * _whole_item_units(plan) if plan.hydrated else 0.0
    return Expected(Units(read=read + hydrated), evaluated, returned, tuple(dict.fromkeys(guesses)), hydrated)


def _filtered_counts(plan: Plan, matching_items: float) -> tuple[float, float]:
    """Return the number of items that a query with a filter reads, and the number of items that pass the filter.

    `matching_items` is the number of items that match the key condition.
    """
    assert plan.filter is not None, "the caller looked"
    share = matching_share(plan.filter, plan.entity) if len(plan.entities) == 1 else None
    returned = matching_items if share is None else matching_items * share
    if plan.limit is None:
        return matching_items, returned
    return min(matching_items, items_read_for(plan.limit, share) if share else matching_items), min(
        returned, plan.limit
    )


def items_read_for(limit: int, share: float) -> float:
    """Return how many items must be read until `limit` of them pass a filter. `share` is the share of items that pass
    it.

    Each request is assumed to read twice as many items as the previous request.
    """
    return float(limit * (2 ** ceil(log2(1 / share + 1)) - 1))


def _page_limit(plan: Plan, facts: Facts) -> float:
    """Return the maximum number of items that one call reads, or infinity if it can read several pages."""
    if plan.page_size is None or plan.limit is not None or plan.walk is not None or facts.expected_scanned is not None:
        return inf
    return plan.page_size


def _filters_everything(plan: Plan) -> bool:
    """Return True if a query or scan filters a whole partition or table and has neither a limit nor a page size.

    The expected number of results then does not determine how many items are read.
    """
    in_range = plan.key is not None and any(condition.op not in {"=", "begins_with"} for condition in plan.key.sort)
    return plan.filter is not None and plan.limit is None and plan.page_size is None and not in_range


def fetch_read_units(plan: Plan, evaluated: float) -> float:
    """Return the read units for fetching items from the table in a query on a local index.

    DynamoDB fetches items if the query needs attributes that the index does not project. `evaluated` is the number of
    items that the query reads.
    """
    return evaluated * _whole_item_units(plan) if fetched_attributes(plan) else 0.0


def _whole_item_units(plan: Plan) -> float:
    """Return the read units for reading one whole item of average size from the table."""
    sizes = [item_size(entity).average for entity in plan.entities]
    return read_units(int(sum(sizes) / len(sizes)), consistent=plan.consistent)


def _incidental_reads(plan: Plan) -> list[EntitySpec]:
    """Return the other entities whose items are also read by a scan, or by a query that reads a whole partition.

    Entities without a declared number of items are omitted.
    """
    candidates = [sibling for sibling in plan.siblings if sibling not in plan.entities and sibling.volume is not None]
    if plan.operation == "Scan":
        return candidates
    reads_partition = plan.key is not None and not plan.key.sort and not plan.faults
    return [spec for spec in candidates if reads_partition and _shares_partition(plan, spec)]


def _shares_partition(plan: Plan, other: EntitySpec) -> bool:
    """Return True if an entity's partition keys have the same template as the keys of a query, ignoring the names of
    the fields.
    """
    bound = other.key_in(plan.index)
    if bound is None or plan.key is None:
        return False
    shapes = [(value.type_code, _shape(value.template)) for value in plan.key.partition]
    return shapes == [(part.type_code, _shape(part.template)) for part in bound.partition]


def _shape(template: BoundTemplate | None) -> tuple[object, ...] | None:
    """Return the literal texts of a template and the types of its placeholders, in order. The results for templates
    that differ only in field names are equal.
    """
    if template is None:
        return None
    return tuple(part.field.type if isinstance(part, BoundPlaceholder) else part for part in template.parts)


def _average_bytes(plan: Plan, counts: Mapping[EntitySpec, float]) -> float:
    """Return the average size in bytes of the items that a plan reads. `counts` maps each entity to the number of its
    items that the plan reads.
    """
    sizes = {}
    for entity in counts:
        sizes[entity] = read_size(entity, plan.index).average
    total = sum(counts.values())
    if not total:
        return sum(sizes.values()) / len(sizes)
    return sum(sizes[entity] * number for entity, number in counts.items()) / total


def _requests(plan: Plan, evaluated: float, matching_items: float) -> float:
    """Return the number of partitions that a query reads, each with a separate request.

    If the pattern determines the partitions, this is the number of shards or constants in the pattern. If the caller
    passes a list of partitions, this is the maximum length of the list. For a list without a maximum length, the number
    is estimated from the declared number of results. It is 1 if that number is not declared.
    """
    if plan.walk is None:
        return 1.0
    name, source = plan.walk
    if isinstance(source, EveryShard):
        templates = [value.template for value in plan.key.partition] if plan.key else []
        placeholders = [
            placeholder
            for template in templates
            if template is not None
            for placeholder in template.placeholders
            if placeholder.name == name
        ]
        return float(len(placeholders[0].encoding.choices or ("",))) if placeholders else 1.0
    if isinstance(source.values, tuple):
        return float(len(source.values))
    if evaluated == matching_items:
        return 1.0
    max_length = DeclaredField.from_annotation(name, annotation_of(source.values)).max_length
    return max(
        1.0, float(max_length) if max_length is not None else evaluated / matching_items if matching_items else 1.0
    )


def _items_per_partition(plan: Plan, matching_items: float, requests: float) -> float:
    """Return the number of items that a query on several partitions reads in each of them.

    `matching_items` is the number of items that match the key condition. If the caller passes the partitions, it is the
    number in each partition. Otherwise, it is the total of all partitions.
    """
    return matching_items if _caller_lists_partitions(plan) else matching_items / requests


def _caller_lists_partitions(plan: Plan) -> bool:
    source = None if plan.walk is None else plan.walk[1]
    return isinstance(source, Each) and not isinstance(source.values, tuple)


def _batch_items(plan: Plan, facts: Facts) -> tuple[float, tuple[str, ...]]:
    """Return the number of items in a batch, and the assumptions about this number."""
    values = None if plan.walk is None else plan.walk[1].values
    if isinstance(values, tuple):
        return float(len(values)), ()
    assumed = () if facts.expected_items is not None else (f"each call of {plan.pattern} handles one item",)
    return facts.expected_items or 1.0, assumed


# Writes.


def _write(plan: Plan, *, is_step: bool = False) -> Units:
    """Return the capacity units of a single write. `is_step` is True if it is a step of a transaction."""
    entity = plan.entity
    size = item_size(entity).average
    if plan.operation in {"PutItem", "BatchWriteItem", "DeleteItem"}:
        entries = [(bound, _entry_units(entity, bound) * _share_written(plan, bound)) for bound in entity.indexes]
        replaces = plan.operation == "PutItem" and plan.exists == "must"
        indexes = {
            bound.index.name: units * (1 + (replaces and _may_move(bound, entity))) for bound, units in entries if units
        }
    elif plan.operation == "UpdateItem":
        written_entries = [(bound, _entry_units(entity, bound) * entries) for bound, entries in entries_written(plan)]
        indexes = {bound.index.name: units for bound, units in written_entries if units}
    else:
        indexes = {}
    is_transactional = is_step or plan.keeps_unique or plan.operation == "ConditionCheck"
    write = (write_units(size) + sentinel_writes(plan)) * (TRANSACTIONAL if is_transactional else 1)
    return Units(_reads(plan, is_step=is_step) * read_units(size, consistent=True), write, indexes)


def _reads(plan: Plan, *, is_step: bool) -> int:
    """Return how many additional requests a write sends to read its item: 0, 1 or 2.

    The item is read before the write if the items that reserve its unique values might have to change. Such an item is
    also read after the write if the pattern returns it. A step of a transaction (`is_step`) does not return an item.
    """
    if not plan.reads_first:
        return 0
    return 1 if is_step or plan.returns == "nothing" else 2


def sentinel_writes(plan: Plan) -> int:
    """Return the number of additional actions that put or delete the items that reserve a write's unique values.

    Each unique constraint adds one action, or two actions if the write can change the unique value.
    """
    if not plan.keeps_unique:
        return 0
    changed = {action.path.field for action in plan.actions if action.name not in {"set_if_missing", "remove"}}
    before = {**stated_values(plan.condition, plan.entity.fields), **plan.assumed}
    writes = 0
    for rule in plan.entity.sentinels:
        had_none = any(before.get(name, UNKNOWN) is None for name in rule.fields)
        writes += 2 if changed.intersection(rule.fields) and not had_none else 1
    return writes


def _may_move(bound: BoundKey, entity: EntitySpec) -> bool:
    """Return True if replacing an item can change the item's key in an index, although its primary key does
    not change.
    """
    return not set(bound.depends_on) <= set(entity.key.fields)


def _share_written(plan: Plan, bound: BoundKey) -> float:
    """Return the share of the items written or deleted by a plan that are in an index.

    A new item is in the index if the default values of its fields satisfy `only_if`. For example, few orders are open,
    but every order is open when it is created. For other items, the declared share of stored items applies.
    """
    return share_in_index(plan.entity, replace(bound, only_if=None) if index_defaults(plan, bound) else bound)


def index_defaults(plan: Plan, bound: BoundKey) -> dict[str, Any]:
    """Return the default field values that put a new item into an index.

    The result is empty if the call does not create items, or if items with default values are not in the index.
    """
    if plan.exists != "must_not":
        return {}
    fields = {path.field: plan.entity.fields[path.field].info for path in paths_of(bound.only_if)}
    defaults = {name: info.default for name, info in fields.items() if info.default is not PydanticUndefined}
    return defaults if holds(bound.only_if, defaults) is True else {}


def _write_guesses(plan: Plan) -> tuple[str, ...]:
    """Return the assumptions about new items, and about the fields that callers of patterns with
    `.patch(...)` provide.
    """
    default_keys = [
        bound
        for bound in plan.entity.indexes
        if index_defaults(plan, bound) and share_in_index(plan.entity, bound) < _share_written(plan, bound)
    ]
    guesses = tuple(
        f"every new {plan.entity.name} is in index {bound.index.name} because of its defaults" for bound in default_keys
    )
    has_patch = any(action.optional for action in plan.actions)
    return (*guesses, f"every call of {plan.pattern} sets all fields of its patch") if has_patch else guesses


def _entry_units(entity: EntitySpec, bound: BoundKey) -> float:
    return write_units(entry_size(entity, bound).average)


def steps_of(plan: Plan, facts: Facts) -> list[tuple[Plan, float, Units]]:
    """Return, for each step of a transaction, its plan, the number of times it is repeated, and the total capacity
    units of the repetitions.
    """
    steps = []
    for step, repeated in zip(plan.steps, plan.repeats, strict=True):
        times = 1.0
        if repeated is not None:
            times = float(len(repeated.values)) if isinstance(repeated.values, tuple) else facts.expected_items or 1.0
        steps.append((step, times, _write(step, is_step=True) * times))
    return steps


def _transaction_estimate(plan: Plan, facts: Facts) -> Expected:
    steps = steps_of(plan, facts)
    writes = sum(times for _, times, _ in steps)
    guesses = tuple(
        dict.fromkeys(guess for step in plan.steps for guess in (*_size_guesses(step), *_write_guesses(step)))
    )
    if facts.expected_items is None:
        guesses += tuple(
            f"{plan.pattern} repeats {step.pattern} once"
            for step, repeated in zip(plan.steps, plan.repeats, strict=True)
            if repeated is not None and not isinstance(repeated.values, tuple)
        )
    return Expected(sum_of(units for _, _, units in steps), writes, writes, guesses)


def entries_written(plan: Plan) -> Iterator[tuple[BoundIndexKey, float]]:
    """Yield each index key of the updated entity, with the expected number of writes to the index per update, which can
    be 0.
    """
    entity = plan.entity
    changed = {
        action.path.field
        for action in plan.actions
        if not (action.name == "set_if_missing" and action.source is WRITE_TIME)  # only in a new item
    } | ({entity.version} if entity.version else set())
    before = {**stated_values(plan.condition, entity.fields), **plan.assumed}
    after = {name: value for name, value in before.items() if name not in changed}
    for action in plan.actions:
        if len(action.path.parts) == 1 and action.name in {"set", "remove"}:
            after[action.path.field] = action.source if action.name == "set" else None
        if action.optional:
            after.pop(action.path.field, None)
    for bound in entity.indexes:
        inside_before, inside_after = _is_inside(entity, bound, before), _is_inside(entity, bound, after)
        yield bound, _entries(entity, bound, changed, inside_before, inside_after)


def _entries(
    entity: EntitySpec, bound: BoundIndexKey, changed: set[str], inside_before: bool | None, inside_after: bool | None
) -> float:
    """Return the expected number of writes to an index for one update that changes the fields `changed`.

    `inside_before` states whether the item is in the index before the write, and `inside_after` whether it is in the
    index after the write. Each is None if the pattern does not determine this.
    """
    if inside_before is False or inside_after is False:
        return 0.0 if inside_before is inside_after else 1.0
    moves = bool(changed & set(bound.fields))
    in_place = 2.0 if moves else float(_projects_changed(entity, bound, changed))
    share = 1.0 if inside_before else share_in_index(entity, bound)
    if not changed & _membership_fields(entity, bound):
        return in_place if moves else share * in_place
    if inside_after and share < 1:
        return share * in_place + (1 - share)
    return max(1.0, in_place)  # the item may enter, leave or stay, with unknown probability


def _membership_fields(entity: EntitySpec, bound: BoundKey) -> set[str]:
    """Return the fields whose values determine whether an item is in an index: those in the condition `only_if`, and
    optional key fields.
    """
    return {path.field for path in paths_of(bound.only_if)} | {
        name for name in bound.fields if entity.fields[name].optional
    }


def _projects_changed(entity: EntitySpec, bound: BoundIndexKey, changed: set[str]) -> bool:
    """Return True if an index projects the attribute of a field in `changed`."""
    return any(bound.index.projects(entity.fields[name].attribute, entity.schema.key) for name in changed)


def _is_inside(entity: EntitySpec, bound: BoundKey, values: Mapping[str, Any]) -> bool | None:
    """Return True if an item with these values is in the index, and False if it is not. Return None if the values do
    not determine whether the item is in the index.
    """
    inside = holds(bound.only_if, values)
    if inside is False or any(values.get(name, UNKNOWN) is None for name in bound.fields):
        return False
    complete = all(not entity.fields[name].optional or _is_value(values.get(name, UNKNOWN)) for name in bound.fields)
    return True if inside and complete else None


def _is_value(source: object) -> bool:
    """Return True if a field's source is a parameter or constant that is never None."""
    return is_never_none(source) if isinstance(source, Param) else source is not UNKNOWN
