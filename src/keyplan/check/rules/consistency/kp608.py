"""A state that is set without looking at the one before

A program reads a booking, sees that it is pending, and approves it. Another one has rejected it in between. If
the write does not say which state it expects, the later one wins, and both callers believe that they decided.
The same is true of a whole item that is read, changed and put back.

State the expected state in the write: `when(F.status == "pending")`; the refusal is the answer "already decided".
Or give the entity a version and pass it with `at_version(...)`, or pass what is known with `known(status=...)`.
Where the latest news wins, compare its moment in the same write: `set_(seen_at=at) & when(F.seen_at < at)`.

Found are updates that set a field with a few declared values from a parameter, or one that another pattern adds to,
without a condition on that field, a version or a comparison with what takes the place of a field, replacements of
whole items of entities without a version, and updates that set a state and give the item a worker, a holder or the
like, without a condition on either: two workers then have one job.

Source: developer guide, "Condition expressions" and "Optimistic locking with version number".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from keyplan.check.finding import Finding
from keyplan.check.key_shares import is_constant
from keyplan.check.names import is_taker
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import choices_of
from keyplan.design.conditions import All, Any_, Compare, Condition, Function, Path, paths_of
from keyplan.design.field_types import plain
from keyplan.design.patterns import Pattern
from keyplan.design.plan import Plan
from keyplan.design.symbols import Param

RULE = Rule("KP608", "lost-update", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """State changes and replacements that do not look at what was there."""
    adding = {
        (plan.entity.name, action.path.field): pattern.name
        for _, pattern, plan in subject.patterns
        for action in plan.actions
        if action.name == "add" and len(action.path.parts) == 1
    }
    for _, pattern, plan in subject.patterns:
        if plan.version is not None:
            continue
        if pattern.kind == "replace" and plan.condition is None:
            yield _replaced(pattern, plan)
        elif plan.operation == "UpdateItem":
            yield from _set(pattern, plan, adding)


def _replaced(pattern: Pattern[..., Any], plan: Plan) -> Finding:
    name = plan.entity.name
    return Finding(
        RULE.code,
        "warning",
        pattern.name,
        f"{pattern.name} replaces a whole {name} that was read before, and nothing tells whether it changed since:"
        " the change of another caller is lost",
        f'give {name} a version (version="version"), or update only the fields that change',
        pattern.place,
        plan.entity.place,
    )


def _set(pattern: Pattern[..., Any], plan: Plan, adding: Mapping[tuple[str, str], str]) -> Iterator[Finding]:
    looked_at = {path.field for path in paths_of(plan.condition)} | set(plan.known)
    counted = [action.path.field for action in plan.actions if action.name == "add"]
    for action in plan.actions:
        name = action.path.field
        if action.name != "set" or len(action.path.parts) > 1 or action.source is None or name in looked_at:
            continue
        if is_constant(action.source):
            taker = _taker(plan, looked_at)
            if taker is not None and choices_of(plan.entity.fields[name]) and not _is_ordered(plan):
                yield _taken(pattern, plan, name, action.source, taker)
                return
            continue
        if (plan.entity.name, name) in adding:
            yield _counted_elsewhere(pattern, plan, name, adding[plan.entity.name, name])
            return
        choices = choices_of(plan.entity.fields[name])
        if choices is None or plan.entity.fields[name].type_code == "BOOL" or _is_ordered(plan):
            continue
        beside = f", which may depend on {', '.join(counted)} that it counts in the same write" if counted else ""
        yield Finding(
            RULE.code,
            "warning",
            pattern.name,
            f"{pattern.name} sets {plan.entity.name}.{name} to one of {choices} states{beside}, whatever it was"
            " before: of two callers that decided on the same old state both succeed, and the later one wins",
            f"add when(F.{name} == ...) with the expected state, or a version and at_version(...)",
            pattern.place,
            plan.entity.place,
        )
        return


def _taker(plan: Plan, looked_at: Set[str]) -> str | None:
    """An optional id that a write gives an item, whether or not it has one: that of who has it from now on."""
    for action in plan.actions:
        stored = plan.entity.fields[action.path.field]
        given = action.name == "set" and isinstance(action.source, Param) and len(action.path.parts) == 1
        if given and stored.optional and stored.name not in looked_at and is_taker(stored.name):
            return stored.name
    return None


def _taken(pattern: Pattern[..., Any], plan: Plan, name: str, state: object, taker: str) -> Finding:
    return Finding(
        RULE.code,
        "warning",
        pattern.name,
        f"{pattern.name} sets {plan.entity.name}.{name} to {plain(state)!r} and {taker} to who calls, whatever they"
        " were before: of two callers both succeed, and each believes that it is its own",
        f"add when(F.{name} == ...) with the state before, when(F.{taker}.missing()), or at_version(...)",
        pattern.place,
        plan.entity.place,
    )


def _is_ordered(plan: Plan) -> bool:
    """Whether a write that is not the latest is refused: a field is below, or above, what it then becomes."""
    parts = plan.condition.parts if isinstance(plan.condition, All) else (plan.condition,)
    given = {action.path.field: action.source for action in plan.actions if action.name == "set"}
    return any(all(_is_passed(one, given) for one in _alternatives(part)) for part in parts)


def _alternatives(part: Condition | None) -> tuple[Condition | None, ...]:
    return part.parts if isinstance(part, Any_) else (part,)


def _is_passed(part: Condition | None, given: Mapping[str, Any]) -> bool:
    if isinstance(part, Function):
        return part.name == "attribute_not_exists" and part.path.field in given
    if not isinstance(part, Compare) or part.op not in {"<", ">"} or not isinstance(part.left, Path):
        return False
    return repr(part.right) == repr(given.get(part.left.field))


def _counted_elsewhere(pattern: Pattern[..., Any], plan: Plan, name: str, other: str) -> Finding:
    return Finding(
        RULE.code,
        "warning",
        pattern.name,
        f"{pattern.name} sets {plan.entity.name}.{name}, which {other} adds to, whatever it was before: what was added"
        " since it was read is lost",
        f"add the difference, or when(F.{name} == ...) with what was read, or a version and at_version(...)",
        pattern.place,
        plan.entity.place,
    )
