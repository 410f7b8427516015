"""Converts partition keys to values for IAM conditions: literal text, with an asterisk for each value that a call
passes.

`USER#{user_id}` becomes `USER#*`, or `USER#${aws:PrincipalTag/user_id}` if user_id is bound to a value of the
principal.

Sources: IAM user guide, "IAM policy elements: Variables and tags" (${*}, ${?} and ${$} escape these characters) and
"String condition operators" (StringLike); DynamoDB developer guide, "Using IAM policy conditions for fine-grained
access control" (characters of a policy: U+0020 to U+00FF).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyplan.design.keys.encodings import KeyPartError
from keyplan.design.keys.entity_keys import BoundKeyAttribute
from keyplan.design.keys.placeholders import BoundPlaceholder
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import Each, EveryShard, Param, Source
from keyplan.design.planning.plan import KeyValue

ANY = "*"
_ESCAPES = {"*": "${*}", "?": "${?}", "$": "${$}"}
_VARIABLE = re.compile(r"\$\{[^{}]+\}")
_LAST_CHARACTER = "\u00ff"


class BindError(Exception):
    """Raised if an IAM condition cannot express the binding of a field to a value of the principal."""


def literal(text: str) -> str:
    """Return a literal text with escaped wildcards. Characters that are not allowed in a policy are replaced with an
    asterisk.
    """
    escaped = "".join(
        _ESCAPES.get(character, character if " " <= character <= _LAST_CHARACTER else ANY) for character in text
    )
    return re.sub(r"\*{2,}", ANY, escaped)


def principal_value(text: str) -> str:
    """Return the value of a binding. Policy variables remain unchanged, and other text is escaped."""
    result, position = "", 0
    for variable in _VARIABLE.finditer(text):
        result += literal(text[position : variable.start()]) + variable[0]
        position = variable.end()
    return result + literal(text[position:])


@dataclass(frozen=True)
class Leading:
    """The partition key values that a request is allowed to access."""

    texts: tuple[str, ...] = ()
    """The allowed partition key values, as one text for each key attribute. An asterisk is a wildcard. Empty if the
    request does not access a partition.
    """
    bound: frozenset[str] = frozenset()
    """The names of the parameters and fields that the texts bind to a value of the principal."""
    notes: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Return True if the request is allowed to access all partitions."""
        return all(text == ANY for text in self.texts)


NOWHERE = Leading()
"""The allowed partition key values of a request without a partition key, such as a scan or a read of a stream."""


@dataclass(frozen=True)
class Bindings:
    """The values of the IAM principal that parameters and fields must equal, such as {"user_id":
    "${aws:PrincipalTag/user_id}"}.
    """

    values: Mapping[str, str]

    def for_call(self, partition: Sequence[KeyValue]) -> Leading:
        """Return the partition key values that a pattern must be allowed to access. `partition` is the pattern's
        partition key.
        """
        return _combine([_Text(self, _sources(part)).convert(part) for part in partition])

    def for_item(self, partition: Sequence[BoundKeyAttribute], item: Source) -> Leading:
        """Return the partition key values that an item can have.

        A binding refers to a field by its name, or by the names of the item's parameter and of the field, such as
        task.owner.
        """
        source = item.values if isinstance(item, Each) else item
        owner = f"{source!r}." if isinstance(source, Param) else ""
        text = _Text(self, lambda name: (name, owner + name) if owner else (name,))
        return _combine([text.convert(part) for part in partition])


@dataclass(frozen=True)
class _Constant:
    value: Any


Origin = tuple[str, ...] | _Constant
"""The origin of a key field's value: a constant, or the names that a binding to a value of the principal can use."""


def _sources(part: KeyValue) -> Callable[[str], Origin]:
    return lambda name: _of_source(part.sources.get(name))


def _of_source(source: Source) -> Origin:
    if isinstance(source, Each):
        source = source.values
        if isinstance(source, tuple):
            return ()
    if isinstance(source, EveryShard) or source is None:
        return ()
    return (repr(source),) if isinstance(source, Param) else _Constant(source)


@dataclass
class _Text:
    """Converts one partition key attribute to text for an IAM condition."""

    bindings: Bindings
    origin: Callable[[str], Origin]
    """A function that returns the origin of a field's value by the name of the field."""

    def convert(self, part: KeyValue | BoundKeyAttribute) -> Leading:
        """Return the allowed values of one partition key attribute."""
        if part.template is not None:
            return self._of_template(part.template)
        assert part.field is not None, "a key attribute has a template or a field"
        origin = self.origin(part.field.name)
        if isinstance(origin, _Constant):
            encoded = part.field.encode(origin.value)
            return Leading((literal(encoded["S"]) if "S" in encoded else ANY,))
        name = self._binding(origin)
        if name is None:
            return Leading((ANY,))
        if part.type_code != "S":
            raise BindError(
                f"{name} is part of {part.attribute}, which is of type {part.type_code}: AWS does not document its"
                " form in dynamodb:LeadingKeys; only a String can be bound"
            )
        return Leading((self.bindings.values[name],), frozenset({name}))

    def _of_template(self, template: BoundTemplate) -> Leading:
        texts: list[str] = []
        bound: set[str] = set()
        notes: list[str] = []
        for part in template.parts:
            if not isinstance(part, BoundPlaceholder):
                texts.append(literal(part.text))
                continue
            text, name = self._of_placeholder(part)
            if name is not None:
                bound.add(name)
                notes += _warnings(template, part, name, texts)
            if not (text == ANY and texts and texts[-1].endswith(ANY)):
                texts.append(text)
        return Leading(("".join(texts),), frozenset(bound), tuple(notes))

    def _of_placeholder(self, placeholder: BoundPlaceholder) -> tuple[str, str | None]:
        """Return the text for a placeholder, and the name of the binding that the text contains. The name is None if
        the text contains no binding.
        """
        origin = self.origin(placeholder.name)
        if isinstance(origin, _Constant):
            try:
                return literal(placeholder.encode(origin.value)), None
            except KeyPartError:
                return ANY, None
        name = None if placeholder.shards else self._binding(origin)
        if name is not None:
            return self.bindings.values[name], name
        choices = placeholder.encoding.choices or ()
        return (literal(choices[0]) if len(choices) == 1 else ANY), None

    def _binding(self, names: tuple[str, ...]) -> str | None:
        return next((name for name in names if name in self.bindings.values), None)


def _warnings(template: BoundTemplate, placeholder: BoundPlaceholder, name: str, preceding: Sequence[str]) -> list[str]:
    warnings = []
    if placeholder.spec:
        warnings.append(
            f"{template.text} contains {name} encoded as {placeholder.spec}: the principal's value must be encoded too"
        )
    if any(text == ANY for text in preceding):
        warnings.append(f"{name} follows other fields in {template.text}: other keys with the same ending also match")
    return warnings


def _combine(parts: Sequence[Leading]) -> Leading:
    return Leading(
        tuple(text for part in parts for text in part.texts),
        frozenset(name for part in parts for name in part.bound),
        tuple(note for part in parts for note in part.notes),
    )
