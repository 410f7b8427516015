"""The entry point for expressions, which are compiled once, and then checked and applied for each request.

`compile_condition`, `compile_update`, `compile_projection` and `compile_key_condition` parse an expression and its
names, and perform all checks that do not depend on values. Results are cached by text and names. `check` then checks
the values of one request. After this, `test`, `apply` and `bind` only raise errors that depend on the content of an
item. `check_names` and `check_values` check the placeholder maps before any expression is parsed, and
`check_placeholders` reports unused placeholders after all expressions have been compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from keyplan.dynamodb.expressions.check import (
    AlwaysRefusedError,
    CheckPlan,
    Step,
    actions_of,
    check_condition,
    check_path_text,
    check_update,
)
from keyplan.dynamodb.expressions.evaluate import Required, Test, compile_test, required
from keyplan.dynamodb.expressions.key_condition import KeyRange, KeyTerm, bind, key_terms
from keyplan.dynamodb.expressions.names import ResolvedPath, check_names, check_placeholders, check_values, clash
from keyplan.dynamodb.expressions.parser import parse_condition, parse_projection, parse_update
from keyplan.dynamodb.expressions.read import Apply, compile_paths
from keyplan.dynamodb.expressions.updates import Branch, Charge, apply_branches, charge_of, compile_branches, sources_of
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values.types import Item, Values
from keyplan.errors import ValidationError

__all__ = [
    "CompiledCondition",
    "CompiledProjection",
    "CompiledUpdate",
    "KeyCondition",
    "KeyRange",
    "check_names",
    "check_placeholders",
    "check_values",
    "compile_condition",
    "compile_key_condition",
    "compile_projection",
    "compile_update",
]

_CACHED_EXPRESSIONS = 1024
_NO_VALUES: Values = {}
_NO_CHARGE = Charge()
_NamesKey: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _CheckedExpression:
    """A compiled expression whose values are checked for each request."""

    attributes: frozenset[str]
    names_used: frozenset[str]
    values_used: frozenset[str]
    steps: tuple[Step, ...]

    def check(self, values: Values | None) -> None:
        """Raise ValidationError for undefined values and invalid operand types.

        Call this method before applying the expression.
        """
        _run(self.steps, values)


@dataclass(frozen=True, slots=True)
class CompiledCondition(_CheckedExpression):
    """A compiled condition or filter. `test(item, values)` returns True if an item satisfies it. Pass {} for an item
    that does not exist.

    Every item that satisfies the condition also satisfies all conditions in `required`.
    """

    paths: tuple[ResolvedPath, ...]
    test: Test
    required: tuple[Required, ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledProjection:
    """A compiled projection. `apply(item)` returns the parts of an item at the paths, without copying values."""

    attributes: frozenset[str]
    names_used: frozenset[str]
    paths: tuple[ResolvedPath, ...]
    apply: Apply


@dataclass(frozen=True, slots=True)
class CompiledUpdate(_CheckedExpression):
    """A compiled update.

    The update changes the document paths in `paths`, which belong to the top-level attributes in `attributes`.
    `paths_read` contains these paths and the paths that the update only reads. `updated(item)` returns the part of an
    item that responses contain for the ReturnValues UPDATED_OLD and UPDATED_NEW.
    """

    paths: tuple[ResolvedPath, ...]
    paths_read: tuple[ResolvedPath, ...]
    updated: Apply
    branches: dict[str, Branch]
    charge: Charge = _NO_CHARGE
    sources: tuple[tuple[str, str], ...] = ()
    """Pairs `(name, type)` for the top-level attributes that the update assigns. `type` is the type of the new value
    or, if it depends on a value in the request, the placeholder of that value.

    Attributes whose new type depends on the item are omitted.
    """

    def assigned(self, values: Values | None) -> list[tuple[str, str]]:
        """Return pairs `(name, type)` for the top-level attributes that the update assigns. `type` is the type of the
        new value.

        Attributes whose new type depends on the item are omitted.
        """
        values_given = _NO_VALUES if values is None else values
        return [
            (name, next(iter(values_given[source])) if source.startswith(":") else source)
            for name, source in self.sources
        ]

    def apply(self, item: Item, values: Values | None, *, exists: bool = True) -> Item:
        """Return the updated item as a new dict, which shares unchanged values with the old item.

        `exists` is False for a new item that has only its key. Raises ValidationError if an attribute that the update
        reads is missing or has the wrong type.
        """
        values_given = _NO_VALUES if values is None else values
        return apply_branches(self.branches, item, item, values_given, exists=exists)


@dataclass(frozen=True, slots=True)
class KeyCondition(_CheckedExpression):
    """A compiled key condition. If the condition does not have the form of a key condition, `problem` is the error
    message. Otherwise, `problem` is None.
    """

    terms: dict[str, KeyTerm]
    problem: str | None

    def check_form(self) -> None:
        """Raise ValidationError if the condition does not have the form of a key condition, for example because it
        contains OR.

        DynamoDB performs this check after it checks for unused placeholders and before it looks up the table.
        """
        if self.problem is not None:
            raise ValidationError(self.problem)

    def bind(self, values: Values | None, partition: tuple[str, ...], sort: tuple[str, ...]) -> KeyRange:
        """Return the key range that the condition selects in a table or index.

        `partition` and `sort` are the names of the key attributes of the table or index. Raises ValidationError if the
        condition does not match them.
        """
        self.check_form()
        values_given = _NO_VALUES if values is None else values
        key_attributes = len(partition) + len(sort)
        if len(self.terms) > key_attributes:
            raise ValidationError(messages.too_many_conditions(len(self.terms), key_attributes))
        terms = {
            name: (term.operator, tuple(values_given[value] for value in term.values))
            for name, term in self.terms.items()
        }
        return bind(terms, partition, sort)


def compile_condition(text: str, names: Mapping[str, str] | None, parameter: str) -> CompiledCondition:
    """Compile a condition or filter.

    `parameter` is the name of the request parameter for error messages: ConditionExpression or FilterExpression.
    """
    return _compile_condition(text, _names_key(names), parameter)


def compile_projection(text: str, names: Mapping[str, str] | None) -> CompiledProjection:
    """Compile a projection. Raises ValidationError for invalid syntax, undefined names and overlapping paths."""
    return _compile_projection(text, _names_key(names))


def compile_update(text: str, names: Mapping[str, str] | None, parameter: str = "UpdateExpression") -> CompiledUpdate:
    """Compile an update. Raises ValidationError if it is invalid."""
    return _compile_update(text, _names_key(names), parameter)


def compile_key_condition(text: str, names: Mapping[str, str] | None) -> KeyCondition:
    """Compile a key condition. The rules for key conditions are checked later, by `check_form` and `bind`."""
    return _compile_key_condition(text, _names_key(names))


def _names_key(names: Mapping[str, str] | None) -> _NamesKey:
    return tuple(names.items()) if names else ()


def _run(steps: tuple[Step, ...], values: Values | None) -> None:
    values_given = _NO_VALUES if values is None else values
    for step in steps:
        step(values_given)


@lru_cache(maxsize=_CACHED_EXPRESSIONS)
def _compile_condition(text: str, names: _NamesKey, parameter: str) -> CompiledCondition:
    node = parse_condition(text, parameter)
    plan = CheckPlan(dict(names), parameter)
    paths = plan.paths
    try:
        check_condition(node, plan)
    except AlwaysRefusedError:
        return CompiledCondition(*_checked_fields(plan, paths), tuple(paths), _failing_test(plan))
    test = compile_test(node, plan.names)
    return CompiledCondition(*_checked_fields(plan, paths), tuple(paths), test, required(node, plan.names))


def _failing_test(plan: CheckPlan) -> Test:
    """Return a test for a condition that fails a check in every request. Each call of the test raises the error of that
    check.
    """
    steps = tuple(plan.steps)

    def test(_item: Item, values: Values) -> bool:
        _run(steps, values)
        return False

    return test


@lru_cache(maxsize=_CACHED_EXPRESSIONS)
def _compile_projection(text: str, names: _NamesKey) -> CompiledProjection:
    parameter = "ProjectionExpression"
    nodes = parse_projection(text, parameter)
    plan = CheckPlan(dict(names), parameter)
    for path in nodes:
        check_path_text(path, plan)
    paths = tuple(plan.path(path) for path in nodes)
    problem = clash(paths)
    if problem is not None:
        plan.fail(problem)
    return CompiledProjection(_attributes(paths), frozenset(plan.names.used), paths, compile_paths(paths))


@lru_cache(maxsize=_CACHED_EXPRESSIONS)
def _compile_update(text: str, names: _NamesKey, parameter: str) -> CompiledUpdate:
    node = parse_update(text, parameter)
    plan = CheckPlan(dict(names), parameter)
    branches: dict[str, Branch] = {}
    charge = _NO_CHARGE
    sources: tuple[tuple[str, str], ...] = ()
    paths: tuple[ResolvedPath, ...] = ()
    try:
        check_update(node, plan)
    except AlwaysRefusedError:
        pass  # the last step of the plan raises for every request
    else:
        branches = compile_branches(node, plan.names)
        charge = charge_of(actions_of(node), plan.names)
        sources = sources_of(actions_of(node), plan.names)
        paths = tuple(plan.names.resolve(action.path) for action in actions_of(node))
    paths_read = tuple(plan.paths)
    return CompiledUpdate(
        *_checked_fields(plan, paths), paths, paths_read, compile_paths(paths), branches, charge, sources
    )


@lru_cache(maxsize=_CACHED_EXPRESSIONS)
def _compile_key_condition(text: str, names: _NamesKey) -> KeyCondition:
    parameter = "KeyConditionExpression"
    node = parse_condition(text, parameter)
    plan = CheckPlan(dict(names), parameter)
    terms: dict[str, KeyTerm] = {}
    problem: str | None = None
    try:
        check_condition(node, plan)
    except AlwaysRefusedError:
        pass  # the last step of the plan raises for every request
    else:
        try:
            terms = key_terms(node, plan.names)
        except ValidationError as error:
            problem = error.message
    return KeyCondition(*_checked_fields(plan, plan.paths), terms, problem)


def _checked_fields(
    plan: CheckPlan, paths: Sequence[ResolvedPath]
) -> tuple[frozenset[str], frozenset[str], frozenset[str], tuple[Step, ...]]:
    """Return the arguments for a `_CheckedExpression` object: the attributes, names and values that an expression uses,
    and the steps of its checks.
    """
    return _attributes(paths), frozenset(plan.names.used), frozenset(plan.values_used), tuple(plan.steps)


def _attributes(paths: Sequence[ResolvedPath]) -> frozenset[str]:
    return frozenset(str(path[0]) for path in paths)
