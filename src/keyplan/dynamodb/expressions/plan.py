"""The order of checks: what is known when an expression is compiled, and what waits for its values.

The service checks names, values and operand types of one condition before it looks at the next one.
Names are known when an expression is compiled, values only with each request. So the checker writes
down a list of steps: a value that must be defined, a type that it must have. A problem found while
compiling is raised at once if no step stands before it, and becomes the last step otherwise. The
compiled expression runs the steps for each request, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn, TypeAlias

from keyplan import limits
from keyplan.dynamodb.expressions.nodes import Operand, Path, Value
from keyplan.dynamodb.expressions.resolve import Names, ResolvedPath
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values.types import Values
from keyplan.errors import ValidationError

Step: TypeAlias = Callable[[Values], None]


class AlwaysRefusedError(Exception):
    """Checking stopped: the last step of the plan raises for every request. Never leaves this package."""


class Plan:
    """The checks of one expression, written down in the service's order."""

    __slots__ = ("names", "parameter", "paths", "steps", "values_used")

    def __init__(self, names: Mapping[str, str] | None, parameter: str) -> None:
        self.parameter = parameter
        self.names = Names(names)
        self.steps: list[Step] = []
        self.values_used: set[str] = set()
        self.paths: list[ResolvedPath] = []

    def fail(self, problem: str) -> NoReturn:
        """A problem for every request, behind the steps written so far."""
        text = messages.invalid(self.parameter, problem)
        if not self.steps:
            raise ValidationError(text)

        def step(_values: Values) -> None:
            raise ValidationError(text)

        self.steps.append(step)
        raise AlwaysRefusedError

    def name(self, path: Path) -> None:
        """The placeholders of a path must be defined."""
        undefined = self.names.undefined(path)
        if undefined is not None:
            self.fail(messages.name_undefined(undefined))

    def path(self, path: Path) -> ResolvedPath:
        """A path that is read: its placeholders are defined and it is at most 32 elements long."""
        self.name(path)
        if len(path.parts) > limits.NESTING_LEVELS:
            self.fail(messages.too_many_levels(len(path.parts)))
        resolved = self.names.resolve(path)
        self.paths.append(resolved)
        return resolved

    def value(self, value: Value) -> None:
        """A value that must be defined."""
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
        """An operand of these types, where its type does not depend on the item.

        `problem` makes the message from the type code found.
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
