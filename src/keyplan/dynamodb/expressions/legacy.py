"""Legacy parameters, compiled to the same classes as expressions.

Expected, QueryFilter and ScanFilter become a `CompiledCondition`, KeyConditions a `LegacyKeyCondition`,
AttributeUpdates a `CompiledUpdate`, and AttributesToGet a `CompiledProjection`. The parameters contain their values, so
no further check is needed, and the `values` passed to `test`, `apply` and `bind` are ignored. Attribute names are
top-level names, so "a.b" is a single attribute.

All values must be in canonical form. Sources: API reference, data types Condition, ExpectedAttributeValue and
AttributeValueUpdate; developer guide, "Legacy conditional parameters".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from keyplan.dynamodb.expressions.compiled import CompiledCondition, CompiledProjection, CompiledUpdate
from keyplan.dynamodb.expressions.evaluate import Test, begins_with, contains
from keyplan.dynamodb.expressions.key_condition import KeyRange, SortOperator, bind
from keyplan.dynamodb.expressions.read import compile_paths
from keyplan.dynamodb.expressions.updates import Branch, Effect, add, delete
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values.types import (
    ORDERED_TYPES,
    SET_TYPES,
    AttributeValue,
    Item,
    Values,
    compare,
    equal_values,
    type_of,
)
from keyplan.errors import ValidationError

Parameters: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Maps attribute names to the structures of a legacy parameter: conditions, expected values or updates."""

_Match: TypeAlias = Callable[[AttributeValue | None], bool]

_ONE_VALUE = frozenset({"EQ", "NE", "LE", "LT", "GE", "GT", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH"})
_NO_VALUE = frozenset({"NULL", "NOT_NULL"})
_TYPES = {
    **dict.fromkeys(("LE", "LT", "GE", "GT", "IN", "BETWEEN"), ORDERED_TYPES),
    **dict.fromkeys(("CONTAINS", "NOT_CONTAINS"), ORDERED_TYPES | {"BOOL", "NULL"}),
    "BEGINS_WITH": frozenset("SB"),
}
_KEY_OPERATORS: dict[str, SortOperator] = {
    "EQ": "=",
    "LT": "<",
    "LE": "<=",
    "GT": ">",
    "GE": ">=",
    "BETWEEN": "BETWEEN",
    "BEGINS_WITH": "begins_with",
}
_ADDABLE_TYPES = SET_TYPES | {"N", "L"}


def compile_expected(expected: Parameters, conditional_operator: str | None) -> CompiledCondition:
    """Compile the parameter Expected of a write. Raises ValidationError if it is invalid."""
    matches = {name: _expectation(name, condition) for name, condition in expected.items()}
    return _condition(matches, conditional_operator)


def compile_filter(conditions: Parameters, conditional_operator: str | None) -> CompiledCondition:
    """Compile the parameter QueryFilter or ScanFilter. Raises ValidationError if it is invalid."""
    matches = {name: _filter_match(condition) for name, condition in conditions.items()}
    return _condition(matches, conditional_operator)


def _condition(matches: dict[str, _Match], conditional_operator: str | None) -> CompiledCondition:
    attributes = frozenset(matches)
    no_placeholders: frozenset[str] = frozenset()
    paths = tuple((name,) for name in matches)
    test = _test(matches, any_of=conditional_operator == "OR")
    return CompiledCondition(attributes, no_placeholders, no_placeholders, (), paths, test)


def _test(matches: dict[str, _Match], *, any_of: bool) -> Test:
    pairs = list(matches.items())

    def all_match(item: Item, _values: Values) -> bool:
        return all(match(item.get(name)) for name, match in pairs)

    def any_matches(item: Item, _values: Values) -> bool:
        return any(match(item.get(name)) for name, match in pairs)

    return any_matches if any_of and pairs else all_match


def _expectation(attribute: str, expectation: Mapping[str, Any]) -> _Match:
    operator, value_list = expectation.get("ComparisonOperator"), expectation.get("AttributeValueList")
    value, exists = expectation.get("Value"), expectation.get("Exists")
    if value_list is not None and value is not None:
        raise ValidationError(messages.expected_value_and_list(attribute))
    if operator is not None:
        if exists is not None:
            raise ValidationError(messages.expected_exists_and_operator(attribute))
        if operator not in _NO_VALUE and value_list is None and value is None:
            raise ValidationError(messages.expected_operator_alone(operator, attribute))
        arguments = value_list if value_list is not None else [] if value is None else [value]
        check_arguments(operator, arguments)
        return _match(operator, arguments)
    if value_list is not None:
        raise ValidationError(messages.expected_list_alone(attribute))
    return _existence(attribute, value, exists)


def _existence(attribute: str, value: AttributeValue | None, exists: bool | None) -> _Match:
    if exists is False:
        if value is not None:
            raise ValidationError(messages.expected_value_present(attribute))
        return _match("NULL", [])
    if value is None:
        value_text = "null" if exists is None else "true"
        raise ValidationError(messages.expected_value_missing(value_text, attribute))
    return _match("EQ", [value])


def _filter_match(condition: Mapping[str, Any]) -> _Match:
    operator, arguments = condition["ComparisonOperator"], condition.get("AttributeValueList") or []
    check_arguments(operator, arguments)
    return _match(operator, arguments)


def check_arguments(operator: str, arguments: Sequence[AttributeValue]) -> None:
    """Raise ValidationError if the number, types or order of the arguments of a comparison operator are not valid."""
    if not _is_valid_count(operator, len(arguments)):
        raise ValidationError(messages.argument_count(operator))
    if len({type_of(argument) for argument in arguments}) > 1:
        raise ValidationError(messages.VALUE_LIST_TYPES)
    allowed = _TYPES.get(operator)
    if allowed is not None and type_of(arguments[0]) not in allowed:
        raise ValidationError(messages.argument_type(operator, type_of(arguments[0])))
    if operator == "BETWEEN" and compare(arguments[0], arguments[1]) > 0:
        raise ValidationError(messages.BETWEEN_BOUNDS)


def _is_valid_count(operator: str, count: int) -> bool:
    if operator in _ONE_VALUE:
        return count == 1
    if operator in _NO_VALUE:
        return count == 0
    return count == 2 if operator == "BETWEEN" else count > 0


def _match(operator: str, arguments: Sequence[AttributeValue]) -> _Match:
    """Return a function that tests whether an attribute value satisfies a comparison with `operator` and `arguments`.

    For a missing attribute, the function is called with None. Only NULL and NE match a missing attribute.
    """
    first = arguments[0] if arguments else None
    match operator:
        case "NULL":
            return lambda value: value is None
        case "NOT_NULL":
            return lambda value: value is not None
        case "CONTAINS":
            return lambda value: contains(value, first)
        case "NOT_CONTAINS":
            return lambda value: value is not None and not contains(value, first)
        case "BEGINS_WITH":
            return lambda value: begins_with(value, first)
        case "NE":
            return lambda value: not _equals_any(value, arguments)
        case "EQ" | "IN":
            return lambda value: _equals_any(value, arguments)
    return _order_match(operator, arguments)


def _equals_any(value: AttributeValue | None, choices: Iterable[AttributeValue]) -> bool:
    return value is not None and any(equal_values(value, choice) for choice in choices)


def _order_match(operator: str, arguments: Sequence[AttributeValue]) -> _Match:
    accepted_results = {"LT": (-1,), "LE": (-1, 0), "GT": (1,), "GE": (1, 0), "BETWEEN": (1, 0)}[operator]
    bound, upper = arguments[0], arguments[-1]
    type_code = type_of(bound)

    def match(value: AttributeValue | None) -> bool:
        if value is None or type_code not in value or compare(value, bound) not in accepted_results:
            return False
        return operator != "BETWEEN" or compare(value, upper) <= 0

    return match


@dataclass(frozen=True, slots=True)
class LegacyKeyCondition:
    """The compiled parameter KeyConditions of a Query. It has the same interface as a `KeyCondition`."""

    attributes: frozenset[str]
    operators: dict[str, str]
    arguments: dict[str, tuple[AttributeValue, ...]]

    def indexable_arguments(self, name: str) -> tuple[AttributeValue, ...]:
        """Return the values in the condition on the attribute `name`.

        Return an empty tuple if the attribute has no condition, or if key conditions do not support the comparison
        operator.
        """
        return self.arguments[name] if self.operators.get(name) in _KEY_OPERATORS else ()

    def bind(
        self,
        values: Values | None,  # noqa: ARG002 - the interface of KeyCondition
        partition: tuple[str, ...],
        sort: tuple[str, ...],
    ) -> KeyRange:
        """Return the key range that the condition selects in a table or index.

        `partition` and `sort` are the names of the key attributes of the table or index. Raises ValidationError if the
        condition does not match them.
        """
        for attribute in partition:
            if attribute not in self.operators:
                raise ValidationError(messages.key_missing(attribute))
        non_key_attributes = self.attributes - {*partition, *sort}
        if not non_key_attributes and not _KEY_OPERATORS.keys() >= set(self.operators.values()):
            raise ValidationError(messages.NOT_INDEXABLE)
        terms = {
            name: (_KEY_OPERATORS.get(operator, "="), self.arguments[name]) for name, operator in self.operators.items()
        }
        return bind(terms, partition, sort)


def compile_key_conditions(conditions: Parameters) -> LegacyKeyCondition:
    """Compile the parameter KeyConditions of a Query. Raises ValidationError if it is invalid."""
    operators: dict[str, str] = {}
    arguments: dict[str, tuple[AttributeValue, ...]] = {}
    for name, condition in conditions.items():
        operators[name] = condition["ComparisonOperator"]
        arguments[name] = tuple(condition.get("AttributeValueList") or ())
        check_arguments(operators[name], arguments[name])
    if not operators:
        raise ValidationError(messages.KEY_CONDITION_COUNT)
    return LegacyKeyCondition(frozenset(operators), operators, arguments)


def compile_attributes_to_get(names: Sequence[str]) -> CompiledProjection:
    """Compile the parameter AttributesToGet of a read. Raises ValidationError if a name is repeated."""
    paths = tuple((name,) for name in names)
    return CompiledProjection(frozenset(names), frozenset(), paths, compile_paths(paths))


def compile_attribute_updates(updates: Parameters) -> CompiledUpdate:
    """Compile the parameter AttributeUpdates of UpdateItem. Raises ValidationError if it is invalid."""
    branches = {name: Branch(_update_effect(update)) for name, update in updates.items()}
    attributes = frozenset(branches)
    no_placeholders: frozenset[str] = frozenset()
    paths = tuple((name,) for name in branches)
    updated = compile_paths(paths)
    sources = tuple(
        (name, type_of(update["Value"])) for name, update in updates.items() if update.get("Value") is not None
    )
    return CompiledUpdate(
        attributes, no_placeholders, no_placeholders, (), paths, paths, updated, branches, sources=sources
    )


def _update_effect(update: Mapping[str, Any]) -> Effect:
    action, value = update.get("Action") or "PUT", update.get("Value")
    if value is None:
        if action != "DELETE":
            raise ValidationError(messages.UPDATE_WITHOUT_VALUE)
        return lambda _current, _item, _values: None
    type_code = type_of(value)
    if action == "DELETE":
        if type_code not in SET_TYPES:
            raise ValidationError(messages.update_delete_type(type_code))
        return lambda current, _item, _values: delete(current, value, messages.UPDATE_TYPE_MISMATCH)
    if action == "ADD":
        if type_code not in _ADDABLE_TYPES:
            raise ValidationError(messages.update_add_type(type_code))
        return lambda current, _item, _values: add(current, value, messages.UPDATE_TYPE_MISMATCH)
    return lambda _current, _item, _values: value
