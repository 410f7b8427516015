"""Conversion of literals and parameters to canonical attribute values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import items as item_messages
from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql.nodes import CallTerm, Constant, Infix, Parameter, PathTerm, SequenceTerm, Struct, Term
from keyplan.dynamodb.partiql.tokens import INT_LIMIT, scale_of
from keyplan.dynamodb.values import numbers
from keyplan.dynamodb.values.attribute import normalise
from keyplan.dynamodb.values.types import AttributeValue, InvalidValueError
from keyplan.errors import ValidationError


class StatementValues:
    """Converts the terms of a statement to attribute values."""

    def __init__(self, parameters: Sequence[AttributeValue], expected: int) -> None:
        """Store the parameters of the request, which must be canonical attribute values.

        Raises ValidationError if the number of parameters is not `expected`.
        """
        if len(parameters) != expected:
            raise ValidationError(messages.PARAMETER_COUNT)
        self._parameters = parameters

    def evaluate(self, term: Term) -> AttributeValue:
        """Return the attribute value of a term. Raises ValidationError if the term is not a value."""
        value = self._value(term, "root")
        try:
            return normalise(value, wire=True)[0]
        except InvalidValueError as error:
            raise ValidationError(error.older) from error

    def _value(self, term: Term, path: str, level: int = 0) -> AttributeValue:
        if level >= limits.NESTING_LEVELS:
            raise ValidationError(messages.too_deep(path))
        match term:
            case Parameter() if path == "root":
                return self._parameters[term.number]
            case Parameter():
                raise ValidationError(messages.unsupported_value("Parameter", term.place, path))
            case Constant():
                return _constant(term, path)
            case Struct():
                return {"M": self._members(term, lambda name: f"{path}.{name}", path, level + 1)}
            case SequenceTerm(kind="list"):
                return {
                    "L": [
                        self._value(member, f"{path}[{position}]", level + 1)
                        for position, member in enumerate(term.members)
                    ]
                }
            case SequenceTerm():
                return self._set(term, path)
            case CallTerm():
                raise ValidationError(messages.unsupported_value(term.function, term.place))
            case PathTerm():
                raise ValidationError(messages.unsupported_value(str(term.parts[0]), term.place))
            case _:
                operation = term.operator if isinstance(term, Infix) else type(term).__name__
                raise ValidationError(messages.unsupported_operation(operation))

    def _members(
        self, struct: Struct, path_of: Callable[[str], str], path: str, level: int
    ) -> dict[str, AttributeValue]:
        members: dict[str, AttributeValue] = {}
        for name, term in struct.members:
            if name in members:
                raise ValidationError(messages.duplicate_member(name, path))
            members[name] = self._value(term, path_of(name), level)
        return members

    def item(self, struct: Struct) -> dict[str, AttributeValue]:
        """Return the item that a map literal represents. Error messages show `root` as the path of each of its
        attribute values.
        """
        return self._members(struct, lambda _name: "root", "root", 0)

    def _set(self, bag: SequenceTerm, path: str) -> AttributeValue:
        if any(isinstance(member, Parameter) for member in bag.members):
            raise ValidationError(messages.SET_MEMBERS)
        members = [self._value(member, f"{path}[{position}]") for position, member in enumerate(bag.members)]
        if not members:
            raise ValidationError(messages.EMPTY_BAG)
        kinds = {kind for member in members for kind in member}
        if len(kinds) > 1 or not kinds <= {"S", "N", "B"}:
            raise ValidationError(messages.SET_MEMBERS)
        (kind,) = kinds
        contents = [member[kind] for member in members]
        if len(set(contents)) < len(contents):
            texts = [member.text for member in bag.members if isinstance(member, Constant)]
            if len(set(texts)) == len(texts):
                raise ValidationError(messages.equal_numbers(texts, path))
            raise ValidationError(item_messages.string_set_duplicates_older(contents))
        return {f"{kind}S": contents}


def _constant(constant: Constant, path: str) -> AttributeValue:
    match constant.kind:
        case "S":
            return {"S": constant.text}
        case "N":
            try:
                return {"N": numbers.canonical(constant.text)}
            except ValidationError as error:
                raise ValidationError(messages.under(error.message, path)) from error
        case "BOOL":
            return {"BOOL": constant.text == "true"}
        case "NULL":
            return {"NULL": True}
        case "MISSING":
            raise ValidationError(messages.MISSING_COMPARED)
        case _:
            raise ValidationError(messages.ion_literal(constant.text, path))


def parameters(values: Sequence[dict[str, Any]], *, wire: bool) -> list[AttributeValue]:
    """Return the parameters of a statement as canonical attribute values. Raises ValidationError if a parameter is
    invalid.

    If `wire` is True, binary values are base64 text. Otherwise, they are bytes or str.
    """
    canonical: list[AttributeValue] = []
    for value in values:
        try:
            canonical.append(normalise(value, wire=wire)[0])
        except InvalidValueError as error:
            raise ValidationError(_number_problem(value, 0) or error.older) from error
    return canonical


def _number_problem(value: dict[str, Any] | None, level: int) -> str | None:
    """Return the error message for the first number in a value that DynamoDB cannot parse. Return None if DynamoDB can
    parse all numbers in the value.
    """
    if value is None or level > limits.NESTING_LEVELS:
        return None  # no value, or nested too deeply, which is reported earlier
    for kind, content in value.items():
        if content is None:
            continue
        texts = [content] if kind == "N" else content if kind == "NS" else ()
        inner = content if kind == "L" else content.values() if kind == "M" else ()
        problems = [_text_problem(text) for text in texts] + [_number_problem(member, level + 1) for member in inner]
        for problem in problems:
            if problem is not None:
                return problem
    return None


def _text_problem(text: str) -> str | None:
    """Return an error message if DynamoDB cannot parse a number in a parameter. Otherwise, return None.

    DynamoDB parses numbers in parameters into decimals with a 32-bit scale, and also compares magnitudes in 32 bits.
    Therefore, the largest exponents overflow and become the smallest ones.
    """
    if not numbers.is_number(text):
        return item_messages.not_a_number_older(text)
    scale = scale_of(text)
    if scale is None:
        return item_messages.not_a_number_older(text)
    digits = text.lower().partition("e")[0]
    precision = len(digits.lstrip("+-").replace(".", "").lstrip("0")) or 1
    if precision - scale >= INT_LIMIT:
        return item_messages.NUMBER_UNDERFLOW
    return None
