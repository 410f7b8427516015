"""Rules for sparse indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticUndefined

from keyplan.check.finding import Finding
from keyplan.check.load import PlannedRequest
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import choices_of
from keyplan.design.conditions.conditions import (
    UNKNOWN,
    AndCondition,
    CompareCondition,
    Condition,
    FieldPath,
    InCondition,
    paths_of,
)
from keyplan.design.conditions.evaluation import MISSING, holds
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import plain_value
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.design.parameters import CALL_SOURCES, Param
from keyplan.design.planning.plan import Plan


@design_rule("KP408", "warning")
def accidental_sparse_index(subject: Subject) -> Iterator[Finding]:
    """Index omits items without a value

    Finds queries on an index whose key contains an optional field, unless the query specifies a value or a lower bound
    for the field. Queries are not reported if the design declares that the index is sparse: with
    `only_if=F.due_date.exists()` on the key, or with the share of items that have the field,
    `Volume(present={"due_date": 0.3})`.

    Why is this bad? An item that does not have all key attributes of an index is not in the index. For example, a new
    subscription has no `last_notified_at`, so a query for the subscriptions to notify never returns it.

    Fix: if queries should return all items, make the field required and set it when an item is created, for example to
    the current time. Otherwise declare that the index is sparse.

    Source: developer guide, "Take advantage of sparse indexes".
    """
    for table, entity in subject.entities:
        for bound in entity.indexes:
            if bound.only_if is not None:
                continue
            for name in _unexplained_optional(entity, bound):
                for pattern in subject.readers_of(table, bound.index):
                    if entity in pattern.plan.entities and name not in _required_values(pattern.plan):
                        yield accidental_sparse_index.finding(
                            pattern.name,
                            f"{pattern.name} never returns {entity.name} items without {name}: they are not in index"
                            f" {bound.index.name}",
                            f"set {name} from the start and make it required, or declare that the index is sparse:"
                            f" {_declaration_fix(bound, name)}",
                            pattern.place,
                            bound.place,
                        )
                        break


def _unexplained_optional(entity: EntitySpec, bound: BoundKey) -> list[str]:
    """Return the optional fields of an index key for which the design does not declare how many items have them."""
    declared = entity.volume.present if entity.volume is not None else {}
    return [name for name in bound.fields if entity.fields[name].optional and name not in declared]


def _declaration_fix(bound: BoundKey, name: str) -> str:
    """Return an instruction for declaring that an index contains only items with the field `name`.

    The instruction depends on the key, because only a key with templates can have a condition (`only_if`).
    """
    share = f"volume=Volume(..., present={{{name!r}: 0.5}}), with the share of items that have it"
    has_template = any(part.template is not None for part in bound.attributes)
    return f"only_if=F.{name}.exists(), or {share}" if has_template else share


def _required_values(plan: Plan) -> set[str]:
    """Return the fields for which the key condition of a pattern requires a value or a lower bound."""
    if plan.key is None:
        return set()
    names = {name for value in plan.key.partition for name in value.sources}
    return names | {
        name for condition in plan.key.sort if condition.op not in {"<", "<="} for name in condition.low.sources
    }


@design_rule("KP409", "warning", of_absence=True)
def sparse_index_never_shrinks(subject: Subject) -> Iterator[Finding]:
    """Items never leave a sparse index

    Finds conditions on index keys (`only_if=`) that cannot become false: no pattern sets the fields of the condition to
    other values, replaces the item or deletes it, and the item does not expire.

    Why is this bad? The index grows with the table, and queries on it read more and more items.

    Fix: declare the pattern that makes the condition false (`.set(status="done")`), or give the items an expiry.
    Suppress the finding for a permanent class of items, such as premium accounts.

    Source: developer guide, "Take advantage of sparse indexes".
    """
    for _, entity in subject.entities:
        writes = subject.writes_of(entity)
        expires = entity.expiry_attribute is not None
        for bound in entity.indexes:
            if bound.only_if is None or not writes or expires:
                continue
            names = {path.field for path in paths_of(bound.only_if)}
            varies = any(choices_of(entity.fields[name]) != 1 for name in names)
            if varies and not any(_removes_from_index(write, names, bound, entity) for write in writes):
                yield sparse_index_never_shrinks.finding(
                    entity.name,
                    f"index {bound.index.name} grows without limit: no pattern changes {', '.join(sorted(names))} of"
                    f" {entity.name}, or replaces or deletes the item",
                    f"declare the update that changes {', '.join(sorted(names))}",
                    bound.place,
                    bound.index.place,
                )


def _removes_from_index(write: PlannedRequest, names: set[str], bound: BoundKey, entity: EntitySpec) -> bool:
    plan = write.plan
    if plan.operation in {"DeleteItem", "BatchWriteItem"}:
        return True
    if plan.operation == "PutItem":
        return plan.exists != "must_not"
    changed = {action.path.field for action in plan.actions}
    optional = {name for name in bound.fields if entity.fields[name].optional}
    if changed & optional - names:
        return True
    return bool(changed & names) and holds(bound.only_if, _values_after(plan)) is not True


def _values_after(plan: Plan) -> dict[str, object]:
    """Return the values that an update sets, by field. The value of a removed field is MISSING."""
    return {
        action.path.field: (action.source if action.name == "set" else MISSING)
        for action in plan.actions
        if action.name in {"set", "remove"} and len(action.path.parts) == 1
    }


@design_rule("KP415", "warning", of_absence=True)
def sparse_index_never_filled(subject: Subject) -> Iterator[Finding]:
    """Nothing enters a sparse index

    Finds index keys with a condition that no write satisfies, or with an optional field that no write sets. An index
    key is reported only if no pattern puts whole items and no update sets the fields to the required values.

    Why is this bad? Queries on the index return nothing. For example, if no pattern marks a subscription as due, no
    reminder is sent.

    Fix: declare the update that adds items to the index, such as `.set(status="open")`, or remove the index.

    Source: developer guide, "Take advantage of sparse indexes".
    """
    for table, entity in subject.entities:
        writes = [write.plan for write in subject.writes_of(entity) if write.plan.operation != "DeleteItem"]
        if not writes or any(plan.item is not None for plan in writes):
            continue
        for bound in entity.indexes:
            readers = [reader for reader in subject.readers_of(table, bound.index) if entity in reader.plan.entities]
            names = {path.field for path in paths_of(bound.only_if)}
            names |= {name for name in bound.fields if entity.fields[name].optional}
            if readers and names and not any(_can_enter(plan, bound, names) for plan in writes):
                yield sparse_index_never_filled.finding(
                    bound.index.name,
                    f"{readers[0].name} returns nothing: no pattern lets a {entity.name} enter index"
                    f" {bound.index.name}, which depends on {', '.join(sorted(names))}",
                    f"declare the update that sets {', '.join(sorted(names))}, or remove the index",
                    bound.place,
                    readers[0].place,
                )


def _can_enter(plan: Plan, bound: BoundKey, names: set[str]) -> bool:
    """Return True if an update can add an item to an index. `names` are the fields that determine whether an item is in
    the index.

    Default values are considered only if the update can create the item.
    """
    entity = plan.entity
    values = _values_after(plan)
    values |= {action.path.field: UNKNOWN for action in plan.actions if action.path.field not in values}
    changes = bool(values.keys() & names)
    if plan.exists == "may":
        defaults = {name: entity.fields[name].info.get_default(call_default_factory=False) for name in names}
        known_defaults = {name: value for name, value in defaults.items() if value is not PydanticUndefined}
        values = {name: MISSING if value is None else value for name, value in known_defaults.items()} | values
    elif not changes:
        return False
    has_key = all(values.get(name) is not MISSING for name in bound.fields if name in values)
    return has_key and holds(bound.only_if, values) is not False


_LARGEST_SHARE = 0.5


@design_rule("KP413", "advice", of_absence=True)
def sparse_index_opportunity(subject: Subject) -> Iterator[Finding]:
    """Index could be sparse

    Finds indexes whose queries all request the same values of a field that has a fixed set of values, such as open
    tasks or active subscriptions. An index is not reported if more than half of the items have these values.

    Why is this bad? Copies of all other items are written to the index, stored, and updated with each change, but never
    read.

    Fix: give the key a condition: `key("OPEN#{user_id}", "{due_at:utc_ms}", only_if=F.status == "open")`. When an item
    no longer satisfies the condition, it is deleted from the index.

    Source: developer guide, "Take advantage of sparse indexes".
    """
    for table, index in subject.indexes:
        for entity in table.entities:
            bound = entity.key_in(index)
            readers = [reader for reader in subject.readers_of(table, index) if entity in reader.plan.entities]
            if bound is None or bound.only_if is not None or not readers:
                continue
            for name, choices in _fields_with_choices(entity):
                requested = _requested_by_all(readers, name)
                if (
                    requested is None
                    or len(requested) >= len(choices)
                    or any(value not in choices for value in requested)
                ):
                    continue
                share = _share_of_items(entity, name, requested)
                if share is not None and share > _LARGEST_SHARE:
                    continue
                share_text = "" if share is None else f", {share:.0%} of all"
                values = " or ".join(repr(value) for value in requested)
                choices_text = ", ".join(repr(value) for value in requested)
                condition = (
                    f"F.{name} == {requested[0]!r}" if len(requested) == 1 else f"F.{name}.is_in({choices_text})"
                )
                yield sparse_index_opportunity.finding(
                    index.name,
                    f"writes pay for every {entity.name} in index {index.name}, but all its readers request {name}"
                    f" {values}{share_text}",
                    f"add a key attribute for these items only: key(..., only_if={condition})",
                    bound.place,
                    index.place,
                )


def _fields_with_choices(entity: EntitySpec) -> Iterator[tuple[str, tuple[object, ...]]]:
    for name, field in entity.fields.items():
        if field.declared.choices is not None:
            yield name, field.declared.stored_choices
        elif field.annotation is bool:
            yield name, (True, False)


def _requested_by_all(readers: list[Pattern[..., Any]], name: str) -> list[object] | None:
    """Return the values of a field that the patterns `readers` request, without duplicates, or None if one of them
    accepts any value.
    """
    requested: list[object] = []
    for pattern in readers:
        values = _requested_values(pattern.plan, name)
        if values is None:
            return None
        requested += [value for value in values if value not in requested]
    return requested


def _requested_values(plan: Plan, name: str) -> list[object] | None:
    for value in plan.key.values if plan.key is not None else ():
        source = value.sources.get(name)
        if source is not None:
            return None if isinstance(source, CALL_SOURCES) else [plain_value(source)]
    return _filtered_values(plan.filter, name)


def _filtered_values(condition: Condition | None, name: str) -> list[object] | None:
    for part in condition.parts if isinstance(condition, AndCondition) else (condition,):
        values: tuple[object, ...] = ()
        if isinstance(part, CompareCondition) and part.op == "=" and _is_field(part.left, name):
            values = (part.right,)
        elif isinstance(part, InCondition) and _is_field(part.operand, name):
            values = part.choices
        if values and not any(isinstance(value, Param) for value in values):
            return [plain_value(value) for value in values]
    return None


def _is_field(operand: object, name: str) -> bool:
    return isinstance(operand, FieldPath) and operand.parts == (name,)


def _share_of_items(entity: EntitySpec, name: str, requested: list[object]) -> float | None:
    if entity.volume is None or name not in entity.volume.distinct:
        return None
    shares = [entity.volume.share_of(name, value) for value in requested]
    return sum(share for share in shares if share is not None)
