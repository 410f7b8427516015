"""Compilation of checked conditions into closures that test an item.

Each node becomes one closure. Everything that does not depend on the item is computed at compile time. If an attribute
is missing or the types differ, every comparison is false except <>, which is true.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from keyplan.dynamodb.expressions.names import Names
from keyplan.dynamodb.expressions.nodes import And, Between, Call, Compare, Condition, In, Not, Or, Path, Value
from keyplan.dynamodb.expressions.read import compile_operand
from keyplan.dynamodb.values.types import (
    ORDERED_TYPES,
    AttributeValue,
    Item,
    Values,
    comparable_number,
    equal_values,
    order_key,
)

Test: TypeAlias = Callable[[Item, Values], bool]

_MEMBER_TYPES = {"SS": "S", "NS": "N", "BS": "B"}


def compile_test(condition: Condition, names: Names) -> Test:
    """Return a closure that tests an item against a condition. Its arguments are the item and the values of the
    request's placeholders.
    """
    negated = False
    while isinstance(condition, Not):
        condition = condition.condition
        negated = not negated
    match condition:
        case And():
            # map() instead of a comprehension: one stack frame less per level of nesting.
            test = _all_tests(list(map(partial(compile_test, names=names), condition.conditions)))
        case Or():
            test = _any_test(list(map(partial(compile_test, names=names), condition.conditions)))
        case _:
            test = _compile_term(condition, names)
    return _negation(test) if negated else test


def _negation(test: Test) -> Test:
    return lambda item, values: not test(item, values)


def _compile_term(condition: Compare | Between | In | Call, names: Names) -> Test:
    match condition:
        case Compare():
            return _compile_comparison(condition, names)
        case Between():
            return _compile_between(condition, names)
        case In():
            return _compile_in(condition, names)
        case Call():
            return _FUNCTIONS[condition.function](condition, names)


def _all_tests(tests: list[Test]) -> Test:
    if len(tests) == 2:
        first, second = tests

        def both_pass(item: Item, values: Values) -> bool:
            return first(item, values) and second(item, values)

        return both_pass

    # A loop: all() over a generator costs a stack frame and twice the time.
    def all_pass(item: Item, values: Values) -> bool:
        for test in tests:  # noqa: SIM110
            if not test(item, values):
                return False
        return True

    return all_pass


def _any_test(tests: list[Test]) -> Test:
    def any_passes(item: Item, values: Values) -> bool:
        for test in tests:  # noqa: SIM110 - as above
            if test(item, values):
                return True
        return False

    return any_passes


def _compile_comparison(node: Compare, names: Names) -> Test:
    left = compile_operand(node.left, names)
    right = compile_operand(node.right, names)
    if isinstance(node.left, Path) and len(node.left.parts) == 1 and isinstance(node.right, Value):
        attribute = names.resolve(node.left)[0]
        assert isinstance(attribute, str)
        return _FAST_COMPARISONS[node.operator](attribute, node.right.name)
    if node.operator == "=":
        return lambda item, values: _equal(left(item, values), right(item, values))
    if node.operator == "<>":
        return lambda item, values: not _equal(left(item, values), right(item, values))
    accepts = _ORDERS[node.operator]
    return lambda item, values: _ordered(left(item, values), right(item, values), accepts)


def _equal(left: AttributeValue | None, right: AttributeValue | None) -> bool:
    return left is not None and right is not None and (left == right or equal_values(left, right))


def _ordered(
    left: AttributeValue | None,
    right: AttributeValue | None,
    accepts: Callable[[Any, Any], bool],
) -> bool:
    if left is None or right is None:
        return False
    for type_code, content in left.items():
        if type_code in ORDERED_TYPES and type_code in right:
            return accepts(order_key(type_code, content), order_key(type_code, right[type_code]))
    return False


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def _fast_equal(attribute: str, name: str) -> Test:
    def equal(item: Item, values: Values) -> bool:
        value = item.get(attribute)
        return value is not None and (value == values[name] or equal_values(value, values[name]))

    return equal


def _fast_unequal(attribute: str, name: str) -> Test:
    def unequal(item: Item, values: Values) -> bool:
        value = item.get(attribute)
        return value is None or not (value == values[name] or equal_values(value, values[name]))

    return unequal


def _fast_order(accepts: Callable[[Any, Any], bool]) -> Callable[[str, str], Test]:
    """Return a function that creates a test for an attribute name and a value placeholder.

    The test compares a top-level attribute of the item with the value of the placeholder. If both values have the same
    ordered type (S, N or B), it returns the result of `accepts` for their contents. Otherwise, it returns False. The
    test is optimized for numbers and strings.
    """

    def make_test(attribute: str, name: str) -> Test:
        def ordered(item: Item, values: Values) -> bool:
            left = item.get(attribute)
            if left is None:
                return False
            right = values[name]
            if "N" in left and "N" in right:
                return accepts(comparable_number(left["N"]), comparable_number(right["N"]))
            if "S" in left and "S" in right:
                return accepts(left["S"], right["S"])
            return _ordered(left, right, accepts)

        return ordered

    return make_test


_FAST_COMPARISONS: dict[str, Callable[[str, str], Test]] = {
    "=": _fast_equal,
    "<>": _fast_unequal,
} | {operator: _fast_order(accepts) for operator, accepts in _ORDERS.items()}


def _compile_between(node: Between, names: Names) -> Test:
    operand = compile_operand(node.operand, names)
    lower = compile_operand(node.lower, names)
    upper = compile_operand(node.upper, names)
    is_not_below, is_not_above = _ORDERS[">="], _ORDERS["<="]

    def is_between(item: Item, values: Values) -> bool:
        value = operand(item, values)
        return _ordered(value, lower(item, values), is_not_below) and _ordered(value, upper(item, values), is_not_above)

    return is_between


def _compile_in(node: In, names: Names) -> Test:
    operand = compile_operand(node.operand, names)
    choices = [compile_operand(choice, names) for choice in node.choices]

    def is_choice(item: Item, values: Values) -> bool:
        value = operand(item, values)
        if value is None:
            return False
        return any(_equal(value, choice(item, values)) for choice in choices)

    return is_choice


def _compile_exists(call: Call, names: Names) -> Test:
    path = call.operands[0]
    get = compile_operand(path, names)
    exists = call.function == "attribute_exists"
    if isinstance(path, Path) and len(path.parts) == 1:
        attribute = names.resolve(path)[0]
        if exists:
            return lambda item, _values: attribute in item
        return lambda item, _values: attribute not in item
    if exists:
        return lambda item, values: get(item, values) is not None
    return lambda item, values: get(item, values) is None


def _compile_attribute_type(call: Call, names: Names) -> Test:
    get = compile_operand(call.operands[0], names)
    get_type = compile_operand(call.operands[1], names)

    def has_type(item: Item, values: Values) -> bool:
        value, type_name = get(item, values), get_type(item, values)
        return value is not None and type_name is not None and type_name["S"] in value

    return has_type


def _compile_pair(
    test: Callable[[AttributeValue | None, AttributeValue | None], bool], call: Call, names: Names
) -> Test:
    first, second = (compile_operand(operand, names) for operand in call.operands)
    return lambda item, values: test(first(item, values), second(item, values))


def begins_with(value: AttributeValue | None, prefix: AttributeValue | None) -> bool:
    """Return True if a string or binary value starts with a prefix of the same type."""
    if value is None or prefix is None:
        return False
    if "S" in value and "S" in prefix:
        return bool(value["S"].startswith(prefix["S"]))
    if "B" in value and "B" in prefix:
        return b64decode(value["B"]).startswith(b64decode(prefix["B"]))
    return False


def contains(value: AttributeValue | None, part: AttributeValue | None) -> bool:
    """Return True if a string or binary value contains `part`, or if a set or list has the element `part`."""
    if value is None or part is None:
        return False
    ((type_code, content),) = value.items()
    if type_code == "L":
        return any(equal_values(element, part) for element in content)
    if type_code in _MEMBER_TYPES:
        return part.get(_MEMBER_TYPES[type_code]) in content
    if type_code == "S":
        return "S" in part and part["S"] in content
    if type_code == "B":
        return "B" in part and b64decode(part["B"]) in b64decode(content)
    return False


_FUNCTIONS: dict[str, Callable[[Call, Names], Test]] = {
    "attribute_exists": _compile_exists,
    "attribute_not_exists": _compile_exists,
    "attribute_type": _compile_attribute_type,
    "begins_with": partial(_compile_pair, begins_with),
    "contains": partial(_compile_pair, contains),
}


class Required(NamedTuple):
    """A condition that every matching item satisfies: an attribute equals the value of a placeholder, or starts with
    it.
    """

    attribute: str
    placeholder: str
    is_prefix: bool


def required(condition: Condition, names: Names) -> tuple[Required, ...]:
    """Return conditions on top-level attributes that every matching item satisfies, so that callers can skip other
    items without decoding them.

    Only conditions joined by AND are returned. An operand of OR or NOT may be false even if the whole condition is
    true.
    """
    requirements: list[Required] = []
    pending = [condition]
    while pending:
        match pending.pop():
            case And(conditions):
                pending.extend(reversed(conditions))
            case Compare("=", Path() as path, Value(placeholder)) | Compare("=", Value(placeholder), Path() as path):
                _add(requirements, path, placeholder, names, is_prefix=False)
            case Call("begins_with", (Path() as path, Value(placeholder))):
                _add(requirements, path, placeholder, names, is_prefix=True)
    return tuple(requirements)


def _add(requirements: list[Required], path: Path, placeholder: str, names: Names, *, is_prefix: bool) -> None:
    if len(path.parts) == 1:
        requirements.append(Required(str(names.resolve(path)[0]), placeholder, is_prefix))
