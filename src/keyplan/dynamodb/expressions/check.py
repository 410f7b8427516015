"""The checks of condition expressions, in the service's order.

First the whole text from left to right: reserved words, function names and where they stand. Then
condition by condition: names and values defined, operands counted, distinct and of the right type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from keyplan import limits
from keyplan.dynamodb.expressions.functions import CONDITION_FUNCTIONS, OPERAND_COUNTS, UPDATE_FUNCTIONS
from keyplan.dynamodb.expressions.nodes import And, Between, Call, Compare, Condition, In, Not, Operand, Or, Path, Value
from keyplan.dynamodb.expressions.ordering import compare
from keyplan.dynamodb.expressions.plan import Plan
from keyplan.dynamodb.expressions.reserved import is_reserved
from keyplan.dynamodb.expressions.resolve import path_text
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values import sizes
from keyplan.dynamodb.values.types import ORDERED_TYPES, TYPES, AttributeValue, Values, type_of
from keyplan.errors import ValidationError

_SIZED_TYPES = TYPES - {"N", "BOOL", "NULL"}
_TEXT_TYPES = frozenset("SB")
_ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"
_INDEX_MAX = 2**32 - 2


def check_path_text(path: Path, plan: Plan) -> None:
    """Reserved words and list indexes of a path."""
    for part in path.parts:
        if isinstance(part, int):
            if part > _INDEX_MAX:
                plan.fail(messages.index_range(str(part)))
        elif not part.startswith("#") and is_reserved(part):
            plan.fail(messages.reserved(part))


def check_condition(condition: Condition, plan: Plan) -> None:
    """Writes every check of a condition into the plan."""
    _check_text(condition, plan)
    _check_meaning(condition, plan)


def _check_text(condition: Condition, plan: Plan) -> None:
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


def _check_function(call: Call, is_condition: bool, plan: Plan) -> None:
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


def _check_meaning(condition: Condition, plan: Plan) -> None:
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


def _check_operands(node: Compare | Between | In, plan: Plan) -> None:
    for operand in _operands(node):
        check_operand(operand, plan)


def check_operand(operand: Operand, plan: Plan) -> None:
    """Names, values and function operands inside an operand of a condition or an update."""
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


def _check_distinct(operator: str, first: Operand, rest: tuple[Operand, ...], plan: Plan) -> None:
    """The first operand, if a path, is none of the others."""
    if not isinstance(first, Path):
        return
    resolved = plan.names.resolve(first)
    for other in rest:
        if isinstance(other, Path) and plan.names.resolve(other) == resolved:
            plan.fail(messages.operands_not_distinct(operator, path_text(resolved)))


def _require_ordered(operator: str, operands: tuple[Operand, ...], plan: Plan) -> None:
    for operand in operands:
        plan.require(operand, ORDERED_TYPES, partial(messages.operand_type, operator))


def _check_exists(call: Call, plan: Plan) -> None:
    if not isinstance(call.operands[0], Path):
        plan.fail(messages.path_required(call.function))


def _check_size(call: Call, plan: Plan) -> None:
    plan.require(call.operands[0], _SIZED_TYPES, partial(messages.operand_type, "size"))


def _check_begins_with(call: Call, plan: Plan) -> None:
    _check_operands_distinct(call, plan)
    for operand in call.operands:
        plan.require(operand, _TEXT_TYPES, partial(messages.operand_type, "begins_with"))


def _check_operands_distinct(call: Call, plan: Plan) -> None:
    _check_distinct(call.function, call.operands[0], call.operands[1:], plan)


def _check_attribute_type(call: Call, plan: Plan) -> None:
    _check_operands_distinct(call, plan)
    wanted = call.operands[1]
    wrong_type = partial(messages.operand_type, "attribute_type")
    if isinstance(wanted, Path):
        plan.fail(wrong_type(_ANY_TYPE))
    plan.require(wanted, frozenset("S"), wrong_type)
    if isinstance(wanted, Value):
        name, parameter = wanted.name, plan.parameter

        def step(values: Values) -> None:
            type_name = values[name]["S"]
            if type_name not in TYPES:
                problem = messages.type_name_invalid(parameter, type_name)
                raise ValidationError(messages.invalid(parameter, problem))

        plan.steps.append(step)


def _check_if_not_exists(call: Call, plan: Plan) -> None:
    _check_exists(call, plan)
    _check_operands_distinct(call, plan)


def _check_list_append(call: Call, plan: Plan) -> None:
    for operand in call.operands:
        plan.require(operand, frozenset("L"), partial(messages.operand_type, call.function))


def _check_between(between: Between, plan: Plan) -> None:
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
        size_bytes = sizes.binary_bytes(content)
        content = f"java.nio.HeapByteBuffer[pos=0 lim={size_bytes} cap={size_bytes}]"
    return f"{{{type_code}:{content}}}"


_FUNCTION_CHECKS: dict[str, Callable[[Call, Plan], None]] = {
    "attribute_exists": _check_exists,
    "attribute_not_exists": _check_exists,
    "attribute_type": _check_attribute_type,
    "begins_with": _check_begins_with,
    "contains": _check_operands_distinct,
    "if_not_exists": _check_if_not_exists,
    "list_append": _check_list_append,
    "size": _check_size,
}
