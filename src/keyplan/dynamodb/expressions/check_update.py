"""The checks of update expressions, in the service's order.

The text from left to right, section by section; then the names of the paths that change, and that
those do not overlap; then every other name, and last values and operand types. The last two go from
the last action back to the first.
"""

from __future__ import annotations

from functools import partial

from keyplan.dynamodb.expressions.check import check_operand, check_path_text
from keyplan.dynamodb.expressions.functions import OPERAND_COUNTS, UPDATE_FUNCTIONS
from keyplan.dynamodb.expressions.nodes import (
    Action,
    AddAction,
    Arithmetic,
    Call,
    DeleteAction,
    Operand,
    Path,
    RemoveAction,
    SetAction,
    SetValue,
    Update,
    Value,
)
from keyplan.dynamodb.expressions.overlap import clash
from keyplan.dynamodb.expressions.plan import Plan
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values.types import SET_TYPES

_ADDABLE_TYPES = SET_TYPES | {"N"}


def actions_of(update: Update) -> list[Action]:
    """All actions as written."""
    return [action for clause in update.clauses for action in clause.actions]


def check_update(update: Update, plan: Plan) -> None:
    """Writes every check of an update into the plan."""
    _check_sections(update, plan)
    actions = actions_of(update)
    for action in actions:
        plan.name(action.path)
    problem = clash([plan.names.resolve(action.path) for action in actions])
    if problem is not None:
        plan.fail(problem)
    for action in reversed(actions):
        for operand in _operands(action):
            _check_names(operand, plan)
    for action in reversed(actions):
        _check_action(action, plan)


def _check_sections(update: Update, plan: Plan) -> None:
    keywords = list(dict.fromkeys(clause.keyword for clause in update.clauses))
    for keyword in keywords:
        clauses = [clause for clause in update.clauses if clause.keyword == keyword]
        for clause in clauses:
            for action in clause.actions:
                check_path_text(action.path, plan)
                for operand in _operands(action):
                    _check_text(operand, plan, nested=_is_arithmetic(action))
        if len(clauses) > 1:
            plan.fail(messages.section_repeated(keyword))


def _is_arithmetic(action: Action) -> bool:
    return isinstance(action, SetAction) and isinstance(action.value, Arithmetic)


def _operands(action: Action) -> tuple[Operand, ...]:
    match action:
        case SetAction(value=Arithmetic() as value):
            return (value.left, value.right)
        case SetAction(value=Path() | Value() | Call() as operand):
            return (operand,)
        case AddAction() | DeleteAction():
            return (action.value,)
    return ()


def _check_text(operand: Operand, plan: Plan, *, nested: bool) -> None:
    pending = [(operand, nested)]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, Path):
            check_path_text(node, plan)
        elif isinstance(node, Call):
            _check_function(node.function, plan, nested=inside)
            pending.extend((inner, True) for inner in reversed(node.operands))


def _check_function(name: str, plan: Plan, *, nested: bool) -> None:
    if name not in OPERAND_COUNTS:
        plan.fail(messages.function_unknown(name))
    if name not in UPDATE_FUNCTIONS:
        plan.fail(messages.function_not_in_update(name))
    if nested and name == "list_append":
        plan.fail(messages.function_misused(name))


def _check_names(operand: Operand, plan: Plan) -> None:
    pending = [operand]
    while pending:
        node = pending.pop()
        if isinstance(node, Path):
            plan.name(node)
        elif isinstance(node, Call):
            pending.extend(reversed(node.operands))


def _check_action(action: Action, plan: Plan) -> None:
    plan.path(action.path)
    match action:
        case SetAction():
            _check_set_value(action.value, plan)
        case AddAction():
            plan.value(action.value)
            problem = partial(messages.clause_operand_type, "ADD")
            plan.require(action.value, _ADDABLE_TYPES, problem)
        case DeleteAction():
            plan.value(action.value)
            plan.require(action.value, SET_TYPES, partial(messages.clause_operand_type, "DELETE"))
        case RemoveAction():
            pass


def _check_set_value(value: SetValue, plan: Plan) -> None:
    if not isinstance(value, Arithmetic):
        check_operand(value, plan)
        return
    for operand in (value.left, value.right):
        check_operand(operand, plan)
    for operand in (value.left, value.right):
        plan.require(operand, frozenset("N"), partial(messages.operand_type, value.operator))
