"""Evaluator for CloudFormation's intrinsic functions whose results depend only on a template and its parameters.

Source: CloudFormation User Guide, "Intrinsic function reference", "Pseudo parameters reference" and "Parameters";
template reference, "Fn::FindInMap enhancements" (DefaultValue).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keyplan.importers.nodes import UnresolvedAttribute, UnresolvedValue

NO_VALUE = UnresolvedValue("it is AWS::NoValue")
"""The result for the pseudo parameter AWS::NoValue. A property with this value is removed."""
_PSEUDO = {"AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com"}
_PLACEHOLDER = re.compile(r"\$\{(!?)([^}]*)\}")
_DYNAMIC = "{{resolve:"


class Resolver:
    """Evaluator for the intrinsic functions in a template.

    If the template does not determine a result, the result is an UnresolvedValue object.
    """

    def __init__(self, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        """Create an evaluator. `parameters` contains the values of parameters and pseudo parameters by name."""
        self._parameters = _mapping(template.get("Parameters"))
        self._mappings = _mapping(template.get("Mappings"))
        self._conditions = _mapping(template.get("Conditions"))
        self._resources = _mapping(template.get("Resources"))
        self._parameter_values = parameters
        self._evaluating: set[str] = set()
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Condition": self.condition,
            "Fn::And": lambda argument: self._evaluate_operands(argument, stops=False),
            "Fn::Equals": self._equals,
            "Fn::FindInMap": self._find_in_map,
            "Fn::GetAtt": _attribute_of,
            "Fn::If": self._if,
            "Fn::Join": self._join,
            "Fn::Not": self._not,
            "Fn::Or": lambda argument: self._evaluate_operands(argument, stops=True),
            "Fn::Select": self._select,
            "Fn::Split": self._split,
            "Fn::Sub": self._sub,
        }

    def resolve(self, value: Any) -> Any:
        """Evaluate the functions in a value, including nested values. Members whose result is NO_VALUE are removed from
        mappings and lists.
        """
        if isinstance(value, Mapping):
            if len(value) == 1:
                ((name, argument),) = value.items()
                if name in self._functions:
                    return self._functions[name](argument)
                if isinstance(name, str) and name.startswith("Fn::"):
                    return UnresolvedValue(f"{name} cannot be determined from the template alone")
            resolved = {name: self.resolve(member) for name, member in value.items()}
            return {name: member for name, member in resolved.items() if member is not NO_VALUE}
        if isinstance(value, list):
            return [resolved for element in value if (resolved := self.resolve(element)) is not NO_VALUE]
        if isinstance(value, str) and _DYNAMIC in value:
            return UnresolvedValue(f"{value} is resolved when the stack is created")
        return value

    def condition(self, name: Any) -> Any:
        """Evaluate the template's condition with the given name. The result is a boolean or an UnresolvedValue."""
        if not isinstance(name, str) or name not in self._conditions:
            return UnresolvedValue(f"the template has no condition {name!r}")
        if name in self._evaluating:
            return UnresolvedValue(f"the condition {name!r} depends on itself")
        self._evaluating.add(name)
        try:
            holds = self.resolve(self._conditions[name])
        finally:
            self._evaluating.discard(name)
        if isinstance(holds, UnresolvedValue):
            return UnresolvedValue(f"the condition {name} cannot be evaluated: {holds.reason}")
        return _truth(holds)

    # References.

    def _ref(self, name: Any) -> Any:
        if not isinstance(name, str):
            return UnresolvedValue(f"Ref expects a name, got {name!r}")
        if name == "AWS::NoValue":
            return NO_VALUE
        if name in self._parameter_values:
            return self._convert_parameter(name, self._parameter_values[name])
        if name in _PSEUDO:
            return _PSEUDO[name]
        if name in self._parameters:
            return self._default(name)
        if name in self._resources:
            return UnresolvedAttribute(
                f"{name} is a resource, and its name is known only after it is created", name, ""
            )
        if name.startswith("AWS::"):
            return UnresolvedValue(f"{name} has no value: pass --parameter {name}=VALUE")
        return UnresolvedValue(f"the template does not declare {name!r}")

    def _default(self, name: str) -> Any:
        declared = _mapping(self._parameters[name])
        default, parameter_type = declared.get("Default"), str(declared.get("Type", "String"))
        if default is None:
            return UnresolvedValue(f"parameter {name} has no default: pass --parameter {name}=VALUE")
        if parameter_type.startswith("AWS::SSM::Parameter::Value"):
            return UnresolvedValue(f"parameter {name} is resolved in Parameter Store: pass --parameter {name}=VALUE")
        return self._convert_parameter(name, default)

    def _convert_parameter(self, name: str, value: Any) -> Any:
        """Return the value of a parameter. If the parameter's type is a list, split the comma-separated
        string `value`.
        """
        parameter_type = str(_mapping(self._parameters.get(name)).get("Type", "String"))
        parameter_type = parameter_type.removeprefix("AWS::SSM::Parameter::Value<")
        if isinstance(value, str) and parameter_type.startswith(("CommaDelimitedList", "List<")):
            return [part.strip() for part in value.split(",")]
        return value

    def _sub(self, argument: Any) -> Any:
        text, variables = (
            (argument[0], _mapping(argument[1]))
            if isinstance(argument, list) and len(argument) == 2
            else (argument, {})
        )
        if not isinstance(text, str):
            return UnresolvedValue("Fn::Sub has no text")
        unresolved: list[UnresolvedValue] = []

        def substitute(placeholder: re.Match[str]) -> str:
            literal, name = placeholder.groups()
            if literal:
                return f"${{{name}}}"
            value = (
                self.resolve(variables[name])
                if name in variables
                else self._ref(name)
                if "." not in name
                else _attribute(name)
            )
            if isinstance(value, UnresolvedValue):
                unresolved.append(value)
            return _text(value)

        result = _PLACEHOLDER.sub(substitute, text)
        return unresolved[0] if unresolved else self.resolve(result)

    # Texts and lists.

    def _join(self, argument: Any) -> Any:
        if not (isinstance(argument, list) and len(argument) == 2 and isinstance(argument[0], str)):
            return UnresolvedValue("Fn::Join expects a separator and a list")
        parts = self.resolve(argument[1])
        unresolved = next(_unresolved_values(parts), None)
        if unresolved is not None or not isinstance(parts, list):
            return unresolved or UnresolvedValue("Fn::Join expects a list")
        return argument[0].join(map(_text, parts))

    def _split(self, argument: Any) -> Any:
        parts = self._resolve_pair(argument)
        if isinstance(parts, UnresolvedValue):
            return parts
        separator, text = parts
        if not (isinstance(separator, str) and separator and isinstance(text, str)):
            return UnresolvedValue("Fn::Split expects a separator and a text")
        return text.split(separator)

    def _select(self, argument: Any) -> Any:
        if not (isinstance(argument, list) and len(argument) == 2):
            return UnresolvedValue("Fn::Select expects a number and a list")
        index, values = self.resolve(argument[0]), self.resolve(argument[1])
        if isinstance(values, UnresolvedValue):
            return values
        index = int(index) if isinstance(index, str) and index.isdecimal() and index.isascii() else index
        if not (isinstance(index, int) and isinstance(values, list) and 0 <= index < len(values)):
            return UnresolvedValue(f"Fn::Select: no value at {index!r}")
        return values[index]

    def _find_in_map(self, argument: Any) -> Any:
        """Evaluate Fn::FindInMap. If the map does not contain the keys, return the DefaultValue in the
        fourth argument.
        """
        default = _mapping(argument[3]) if isinstance(argument, list) and len(argument) == 4 else {}
        path = self.resolve(argument[:3] if default else argument)
        unresolved = next(_unresolved_values(path), None)
        if unresolved is not None:
            return unresolved
        value: Any = self._mappings
        for name in path if isinstance(path, list) and len(path) == 3 else ("",):
            value = _mapping(value).get(_text(name))
        if value is None and "DefaultValue" in default:
            return self.resolve(default["DefaultValue"])
        return UnresolvedValue(f"Fn::FindInMap: no value at {path!r}") if value is None else value

    # Conditions.

    def _if(self, argument: Any) -> Any:
        if not (isinstance(argument, list) and len(argument) == 3):
            return UnresolvedValue("Fn::If expects a condition and two values")
        holds = self.condition(argument[0])
        if isinstance(holds, UnresolvedValue):
            return holds
        return self.resolve(argument[1] if holds else argument[2])

    def _equals(self, argument: Any) -> Any:
        pair = self._resolve_pair(argument)
        return pair if isinstance(pair, UnresolvedValue) else _text(pair[0]) == _text(pair[1])

    def _not(self, argument: Any) -> Any:
        if not (isinstance(argument, list) and len(argument) == 1):
            return UnresolvedValue("Fn::Not expects one condition")
        holds = self.resolve(argument[0])
        return holds if isinstance(holds, UnresolvedValue) else not _truth(holds)

    def _evaluate_operands(self, argument: Any, *, stops: bool) -> Any:
        """Evaluate Fn::Or if `stops` is True, or Fn::And if it is False.

        A condition that cannot be evaluated is ignored if the other conditions determine the result.
        """
        if not (isinstance(argument, list) and argument):
            return UnresolvedValue(f"Fn::{'Or' if stops else 'And'} expects conditions")
        values = [self.resolve(element) for element in argument]
        truths = [_truth(element) for element in values if not isinstance(element, UnresolvedValue)]
        if stops in truths:
            return stops
        return next(_unresolved_values(values), not stops)

    def _resolve_pair(self, argument: Any) -> Any:
        """Evaluate a list of two values. Return the list, or the first UnresolvedValue in it."""
        pair = self.resolve(argument)
        if not (isinstance(pair, list) and len(pair) == 2):
            return (
                pair if isinstance(pair, UnresolvedValue) else UnresolvedValue(f"expected two values, got {argument!r}")
            )
        return next(_unresolved_values(pair), pair)


def _attribute(name: str) -> UnresolvedValue:
    logical_id, _, attribute = name.partition(".")
    return UnresolvedAttribute(f"{name} is known only after the resource is created", logical_id, attribute)


def _attribute_of(argument: Any) -> UnresolvedValue:
    """Return an unresolved value for the attribute that Fn::GetAtt refers to. `argument` is a list or a string."""
    parts = argument.split(".", 1) if isinstance(argument, str) else argument
    problem = "Fn::GetAtt cannot be determined from the template alone"
    if not (isinstance(parts, list) and len(parts) == 2 and all(isinstance(part, str) for part in parts)):
        return UnresolvedValue(problem)
    return UnresolvedAttribute(problem, *parts)


def _unresolved_values(value: Any) -> Iterator[UnresolvedValue]:
    """Yield the UnresolvedValue objects among a value and, if it is a list, its elements."""
    return (
        element for element in (value if isinstance(value, list) else [value]) if isinstance(element, UnresolvedValue)
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    """Convert a value to a string in the same way as CloudFormation."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _truth(value: Any) -> bool:
    return _text(value).lower() == "true"
