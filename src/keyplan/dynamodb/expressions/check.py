"""Checks of conditions and updates, in the same order as in DynamoDB.

DynamoDB checks the names, values and operand types of one condition before it processes the next condition. Names are
known when an expression is compiled, but values are known only when a request supplies them. Therefore, checks of
values are added to a `CheckPlan` as steps, such as a check that a value is defined or that it has an allowed type. A
problem that is found at compile time is raised immediately if the plan has no steps yet. Otherwise, the last step of
the plan raises it. The steps run in order for each request.

For a condition or filter, the whole text is checked first, from left to right, for reserved words and for functions
that are unknown or not allowed at their position. Then each condition in it is checked: whether names and values are
defined, and whether operands have the right number and types and are distinct.

For an update, the text is checked first, from left to right and section by section. Next, the names in the changed
paths and overlaps between these paths are checked, then all other names, then values, and finally operand types. Values
and operand types are checked from the last action to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NoReturn, TypeAlias

from keyplan import limits
from keyplan.dynamodb.expressions.names import Names, ResolvedPath, clash, is_reserved, path_text
from keyplan.dynamodb.expressions.nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    Condition,
    DeleteAction,
    In,
    Not,
    Operand,
    Or,
    Path,
    RemoveAction,
    SetAction,
    SetValue,
    Update,
    Value,
    nested_operands,
)
from keyplan.dynamodb.expressions.tokens import CONDITION_FUNCTIONS, OPERAND_COUNTS, UPDATE_FUNCTIONS
from keyplan.dynamodb.java import byte_buffer
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values import attribute
from keyplan.dynamodb.values.types import ORDERED_TYPES, SET_TYPES, TYPES, AttributeValue, Values, compare, type_of
from keyplan.errors import ValidationError

Step: TypeAlias = Callable[[Values], None]


class AlwaysRefusedError(Exception):
    """Raised internally by `CheckPlan.fail`. Compilation stops, because the last step of the plan rejects every
    request.
    """


class CheckPlan:
    """The checks of one expression, in the order in which DynamoDB runs them."""

    __slots__ = ("names", "parameter", "paths", "steps", "values_used")

    def __init__(self, names: Mapping[str, str] | None, parameter: str) -> None:
        self.parameter = parameter
        self.names = Names(names)
        self.steps: list[Step] = []
        self.values_used: set[str] = set()
        self.paths: list[ResolvedPath] = []

    def fail(self, problem: str) -> NoReturn:
        """Add a step that fails for every request, and raise AlwaysRefusedError to skip the remaining checks.

        If the plan has no other step, raise ValidationError instead.
        """
        text = messages.invalid(self.parameter, problem)
        if not self.steps:
            raise ValidationError(text)

        def step(_values: Values) -> None:
            raise ValidationError(text)

        self.steps.append(step)
        raise AlwaysRefusedError

    def name(self, path: Path) -> None:
        """Check that all name placeholders in a path are defined. If a placeholder is undefined, call `fail`."""
        undefined = self.names.undefined(path)
        if undefined is not None:
            self.fail(messages.name_undefined(undefined))

    def path(self, path: Path) -> ResolvedPath:
        """Return a path with its placeholders replaced by names. If a placeholder is undefined or the path has more
        than 32 elements, call `fail`.
        """
        self.name(path)
        if len(path.parts) > limits.NESTING_LEVELS:
            self.fail(messages.too_many_levels(len(path.parts)))
        resolved = self.names.resolve(path)
        self.paths.append(resolved)
        return resolved

    def value(self, value: Value) -> None:
        """Add a step that checks that a value placeholder is defined."""
        name = value.name
        if name in self.values_used:
            return
        self.values_used.add(name)
        text = messages.invalid(self.parameter, messages.value_undefined(name))

        def step(values: Values) -> None:
            if name not in values:
                raise ValidationError(text)

        self.steps.append(step)

    def require(self, operand: Operand, allowed: frozenset[str], problem: Callable[[str], str]) -> None:
        """Check that an operand has one of the allowed types, unless its type depends on the item.

        For a value placeholder, the check is a step of the plan. `problem` returns the error message for a type code
        that is not allowed.
        """
        if isinstance(operand, Value):
            self.steps.append(_type_step(operand.name, allowed, self.parameter, problem))
        elif not isinstance(operand, Path) and operand.function == "size" and "N" not in allowed:
            self.fail(problem("N"))


def _type_step(name: str, allowed: frozenset[str], parameter: str, problem: Callable[[str], str]) -> Step:
    def step(values: Values) -> None:
        for type_code in values[name]:
            if type_code not in allowed:
                raise ValidationError(messages.invalid(parameter, problem(type_code)))

    return step


_SIZED_TYPES = TYPES - {"N", "BOOL", "NULL"}
_TEXT_TYPES = frozenset("SB")
_ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
_INDEX_MAX = 2**32 - 2


def check_path_text(path: Path, plan: CheckPlan) -> None:
    """Check that a path contains no reserved words and no list indexes that are out of range."""
    for part in path.parts:
        if isinstance(part, int):
            if part > _INDEX_MAX:
                plan.fail(messages.index_range(str(part)))
        elif not part.startswith("#") and is_reserved(part):
            plan.fail(messages.reserved(part))


def check_condition(condition: Condition, plan: CheckPlan) -> None:
    """Add all checks of a condition to the plan."""
    _check_text(condition, plan)
    _check_meaning(condition, plan)


def _check_text(condition: Condition, plan: CheckPlan) -> None:
    pending: list[tuple[Condition | Operand, bool]] = [(condition, True)]
    while pending:
        node, is_condition = pending.pop()
        match node:
            case Path():
                check_path_text(node, plan)
            case Value():
                pass
            case Call():
                _check_function(node, is_condition, plan)
                pending.extend((operand, False) for operand in reversed(node.operands))
            case And() | Or():
                pending.extend((part, True) for part in reversed(node.conditions))
            case Not():
                pending.append((node.condition, True))
            case _:
                pending.extend((operand, False) for operand in reversed(_operands(node)))


def _check_function(call: Call, is_condition: bool, plan: CheckPlan) -> None:
    name = call.function
    if name not in OPERAND_COUNTS:
        plan.fail(messages.function_unknown(name))
    if name in UPDATE_FUNCTIONS:
        plan.fail(messages.function_not_in_condition(name))
    if is_condition != (name in CONDITION_FUNCTIONS):
        plan.fail(messages.function_misused(name))


def _operands(node: Compare | Between | In) -> tuple[Operand, ...]:
    match node:
        case Compare():
            return (node.left, node.right)
        case Between():
            return (node.operand, node.lower, node.upper)
        case In():
            return (node.operand, *node.choices)


def _check_meaning(condition: Condition, plan: CheckPlan) -> None:
    while isinstance(condition, Not):
        condition = condition.condition
    match condition:
        case And() | Or():
            for part in condition.conditions:
                _check_meaning(part, plan)
        case Call():
            check_operand(condition, plan)
        case Compare():
            _check_operands(condition, plan)
            _check_distinct(condition.operator, condition.left, (condition.right,), plan)
            if condition.operator not in ("=", "<>"):
                _require_ordered(condition.operator, (condition.left, condition.right), plan)
        case Between():
            _check_between(condition, plan)
        case In():
            _check_operands(condition, plan)
            if len(condition.choices) > limits.EXPRESSION_IN_OPERANDS:
                plan.fail(messages.in_operands(len(condition.choices)))
            _check_distinct("IN", condition.operand, condition.choices, plan)


def _check_operands(node: Compare | Between | In, plan: CheckPlan) -> None:
    for operand in _operands(node):
        check_operand(operand, plan)


def check_operand(operand: Operand, plan: CheckPlan) -> None:
    """Check the names, values and functions in an operand of a condition or update."""
    match operand:
        case Path():
            plan.path(operand)
        case Value():
            plan.value(operand)
        case Call():
            for inner in operand.operands:
                check_operand(inner, plan)
            if len(operand.operands) != OPERAND_COUNTS[operand.function]:
                plan.fail(messages.operand_count(operand.function, len(operand.operands)))
            _FUNCTION_CHECKS[operand.function](operand, plan)


def _check_distinct(operator: str, first: Operand, others: tuple[Operand, ...], plan: CheckPlan) -> None:
    """Check that a path operand differs from all other operands of the same operator or function.

    Operands that are not paths are not checked.
    """
    if not isinstance(first, Path):
        return
    resolved = plan.names.resolve(first)
    for other in others:
        if isinstance(other, Path) and plan.names.resolve(other) == resolved:
            plan.fail(messages.operands_not_distinct(operator, path_text(resolved)))


def _require_ordered(operator: str, operands: tuple[Operand, ...], plan: CheckPlan) -> None:
    for operand in operands:
        plan.require(operand, ORDERED_TYPES, partial(messages.operand_type, operator))


def _check_exists(call: Call, plan: CheckPlan) -> None:
    if not isinstance(call.operands[0], Path):
        plan.fail(messages.path_required(call.function))


def _check_size(call: Call, plan: CheckPlan) -> None:
    plan.require(call.operands[0], _SIZED_TYPES, partial(messages.operand_type, "size"))


def _check_begins_with(call: Call, plan: CheckPlan) -> None:
    _check_operands_distinct(call, plan)
    for operand in call.operands:
        plan.require(operand, _TEXT_TYPES, partial(messages.operand_type, "begins_with"))


def _check_operands_distinct(call: Call, plan: CheckPlan) -> None:
    _check_distinct(call.function, call.operands[0], call.operands[1:], plan)


def _check_attribute_type(call: Call, plan: CheckPlan) -> None:
    _check_operands_distinct(call, plan)
    type_operand = call.operands[1]
    wrong_type = partial(messages.operand_type, "attribute_type")
    if isinstance(type_operand, Path):
        plan.fail(wrong_type(_ANY_TYPE))
    plan.require(type_operand, frozenset("S"), wrong_type)
    if isinstance(type_operand, Value):
        name, parameter = type_operand.name, plan.parameter

        def step(values: Values) -> None:
            type_name = values[name]["S"]
            if type_name not in TYPES:
                problem = messages.type_name_invalid(parameter, type_name)
                raise ValidationError(messages.invalid(parameter, problem))

        plan.steps.append(step)


def _check_if_not_exists(call: Call, plan: CheckPlan) -> None:
    _check_exists(call, plan)
    _check_operands_distinct(call, plan)


def _check_list_append(call: Call, plan: CheckPlan) -> None:
    for operand in call.operands:
        plan.require(operand, frozenset("L"), partial(messages.operand_type, call.function))


def _check_between(between: Between, plan: CheckPlan) -> None:
    _check_operands(between, plan)
    _check_distinct("BETWEEN", between.operand, (between.lower, between.upper), plan)
    _require_ordered("BETWEEN", (between.operand, between.lower, between.upper), plan)
    if not isinstance(between.lower, Value) or not isinstance(between.upper, Value):
        return
    lower_name, upper_name, parameter = between.lower.name, between.upper.name, plan.parameter

    def step(values: Values) -> None:
        lower, upper = values[lower_name], values[upper_name]
        problem = None
        if type_of(lower) != type_of(upper):
            problem = messages.between_types(_bound_text(lower), _bound_text(upper))
        elif compare(lower, upper) > 0:
            problem = messages.between_order(_bound_text(lower), _bound_text(upper))
        if problem is not None:
            raise ValidationError(messages.invalid(parameter, problem))

    plan.steps.append(step)


def _bound_text(value: AttributeValue) -> str:
    ((type_code, content),) = value.items()
    if type_code == "B":
        content = byte_buffer(attribute.binary_bytes(content))
    return f"{{{type_code}:{content}}}"


_FUNCTION_CHECKS: dict[str, Callable[[Call, CheckPlan], None]] = {
    "attribute_exists": _check_exists,
    "attribute_not_exists": _check_exists,
    "attribute_type": _check_attribute_type,
    "begins_with": _check_begins_with,
    "contains": _check_operands_distinct,
    "if_not_exists": _check_if_not_exists,
    "list_append": _check_list_append,
    "size": _check_size,
}


_ADDABLE_TYPES = SET_TYPES | {"N"}


def actions_of(update: Update) -> list[Action]:
    """Return all actions of an update, in the order of the expression."""
    return [action for clause in update.clauses for action in clause.actions]


def check_update(update: Update, plan: CheckPlan) -> None:
    """Add all checks of an update to the plan."""
    _check_sections(update, plan)
    actions = actions_of(update)
    for action in actions:
        plan.name(action.path)
    problem = clash([plan.names.resolve(action.path) for action in actions])
    if problem is not None:
        plan.fail(problem)
    for action in reversed(actions):
        for operand in _action_operands(action):
            for node in nested_operands(operand):
                if isinstance(node, Path):
                    plan.name(node)
    for action in reversed(actions):
        _check_action(action, plan)


def _check_sections(update: Update, plan: CheckPlan) -> None:
    keywords = list(dict.fromkeys(clause.keyword for clause in update.clauses))
    for keyword in keywords:
        clauses = [clause for clause in update.clauses if clause.keyword == keyword]
        for clause in clauses:
            for action in clause.actions:
                check_path_text(action.path, plan)
                for operand in _action_operands(action):
                    _check_update_text(operand, plan, nested=_is_arithmetic(action))
        if len(clauses) > 1:
            plan.fail(messages.section_repeated(keyword))


def _is_arithmetic(action: Action) -> bool:
    return isinstance(action, SetAction) and isinstance(action.value, Arithmetic)


def _action_operands(action: Action) -> tuple[Operand, ...]:
    match action:
        case SetAction(value=Arithmetic() as value):
            return (value.left, value.right)
        case SetAction(value=Path() | Value() | Call() as operand):
            return (operand,)
        case AddAction() | DeleteAction():
            return (action.value,)
    return ()


def _check_update_text(operand: Operand, plan: CheckPlan, *, nested: bool) -> None:
    for node in nested_operands(operand):
        if isinstance(node, Path):
            check_path_text(node, plan)
        elif isinstance(node, Call):
            _check_update_function(node.function, plan, nested=nested or node is not operand)


def _check_update_function(name: str, plan: CheckPlan, *, nested: bool) -> None:
    if name not in OPERAND_COUNTS:
        plan.fail(messages.function_unknown(name))
    if name not in UPDATE_FUNCTIONS:
        plan.fail(messages.function_not_in_update(name))
    if nested and name == "list_append":
        plan.fail(messages.function_misused(name))


def _check_action(action: Action, plan: CheckPlan) -> None:
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


def _check_set_value(value: SetValue, plan: CheckPlan) -> None:
    if not isinstance(value, Arithmetic):
        check_operand(value, plan)
        return
    for operand in (value.left, value.right):
        check_operand(operand, plan)
    for operand in (value.left, value.right):
        plan.require(operand, frozenset("N"), partial(messages.operand_type, value.operator))
