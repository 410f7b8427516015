"""Which writes come to another end when they happen twice, and which refuse to."""

from __future__ import annotations

from keyplan.design.conditions import All, Any_, Between, Compare, Condition, paths_of
from keyplan.design.plan import Plan


def counted_in(plan: Plan) -> list[str]:
    """The fields that a write adds or appends to, with their entity."""
    return [f"{plan.entity.name}.{name}" for name in _counted(plan)]


def happens_once(plan: Plan) -> bool:
    """Whether a step refuses to happen a second time."""
    if plan.exists == "must_not" or plan.version is not None:
        return True
    if plan.operation not in {"UpdateItem", "ConditionCheck"}:
        return plan.condition is not None
    changed = {action.path.field for action in plan.actions}
    return not changed.isdisjoint(plan.known) or _met_once(plan.condition, changed, set(_counted(plan)))


def _counted(plan: Plan) -> list[str]:
    return [action.path.field for action in plan.actions if action.name in {"add", "append"}]


def _met_once(condition: Condition | None, changed: set[str], counted: set[str]) -> bool:
    """Whether a write that changes these fields can no longer meet its own condition."""
    if isinstance(condition, All):
        return any(_met_once(part, changed, counted) for part in condition.parts)
    if isinstance(condition, Any_):
        return all(_met_once(part, changed, counted) for part in condition.parts)
    looked_at = {path.field for path in paths_of(condition)} & changed
    return bool(looked_at - counted if _is_bound(condition) else looked_at)


def _is_bound(condition: Condition | None) -> bool:
    return isinstance(condition, Between) or (isinstance(condition, Compare) and condition.op not in {"=", "<>"})
