"""Key templates such as "TASK#{user_id}#{due_at:utc_ms}", which produce a String key attribute from fields.

`parse` parses the text of a template, and `Template.bind` binds it to the fields of an entity. The bound template
renders keys, parses them, and computes the bounds of queries. Two different sets of values never produce the same key,
unless a spec is lossy or `delimiter_risks` returns a field with an empty delimiter.

Bounds are strings that enclose all keys of a range and no key of another value. DynamoDB compares Strings by their
UTF-8 bytes, and BETWEEN includes both ends, so a bound must not be a key itself unless that key belongs to the range. P
is the string up to the last given field, and L is the literal text after it:

* lower is P + L: every key of the value starts with it.
* upper is P + L with its last character replaced by the next one ("#" becomes "$"). All strings that start with P + L
  sort before it. A key that continues with a greater character belongs to a greater value and sorts after it. If the
  next field produces only certain characters, upper is P + L and the character after the greatest of them (":" after
  digits), and lower is P + L and the least of them. This excludes other keys of the partition.
* after is upper (all keys of the value sort before it, and keys of greater values sort after it).
* before is P without L: keys of smaller values sort before it, and keys of the value sort after it.

If only literal text follows the last given field, the only key of the value is P + L itself: lower and upper are that
key, and after is that key and U+0000. If no literal text follows either, before is the string just below P. A value
that is more precise than the unit of its spec has the same string as smaller and greater values. The bounds include the
keys of these values too, so a query may return a few more keys than requested, but never fewer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise, product
from typing import Any

from keyplan import limits
from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys.encodings import EncodingError, KeyPartError, MissingField, TemplateError
from keyplan.design.keys.languages import HIGHEST, CharSet, next_character, previous_character
from keyplan.design.keys.placeholders import (
    BoundPart,
    BoundPlaceholder,
    Part,
    Placeholder,
    Text,
    bind_placeholder,
    delimiter_of,
    encoding_for,
    parse_parts,
)

# The greatest character with 0 to 3 UTF-8 bytes, by the number of bytes.
_GREATEST_OF_BYTES = ("", "\x7f", "\u07ff", "\uffff")


def _compile(
    template: BoundTemplate, fallback: Callable[[Mapping[str, Any]], str]
) -> Callable[[Mapping[str, Any]], str]:
    """Return a generated function that renders keys quickly. It passes values that it cannot render to `fallback`."""
    function: Callable[[Mapping[str, Any]], str] = _generate([template], "text0", fallback)
    return function


def compile_key(
    parts: Sequence[tuple[str, BoundTemplate]], fallback: Callable[[Mapping[str, Any]], dict[str, dict[str, str]]]
) -> Callable[[Mapping[str, Any]], dict[str, dict[str, str]]]:
    """Return a function that renders several String attributes of a key.

    Each element of `parts` is the name of an attribute and its template. The function passes values that the generated
    code cannot render to `fallback`.
    """
    members = ", ".join(f"{attribute!r}: {{'S': text{number}}}" for number, (attribute, _) in enumerate(parts))
    function: Callable[[Mapping[str, Any]], dict[str, dict[str, str]]] = _generate(
        [template for _, template in parts], f"{{{members}}}", fallback
    )
    return function


def _generate(templates: Sequence[BoundTemplate], result: str, fallback: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Return a generated function that renders the templates and returns the value of the expression `result`.

    The expression refers to the rendered strings as text0, text1 and so on. The function passes values that it cannot
    render to `fallback`.
    """
    scope: dict[str, Any] = {"otherwise": fallback}
    variables: dict[str, str] = {}
    tests, texts, storable = [], [], []
    for number, template in enumerate(templates):
        pieces = []
        is_ascii, is_empty = True, True
        for part_number, part in enumerate(template.parts):
            if isinstance(part, Text):
                pieces.append("f" + repr(part.text.replace("{", "{{").replace("}", "}}")))
                is_ascii, is_empty = is_ascii and part.text.isascii(), is_empty and not part.text
                continue
            value, inline = variables.setdefault(part.name, f"v{len(variables)}"), part.encoding.inline
            if inline is None or (part.guarded and (part.field.type is not str or len(part.delimiter) > 1)):
                scope[f"encode{number}_{part_number}"] = part.encode
                pieces.append(f"f'{{encode{number}_{part_number}({value})}}'")
                is_ascii = False
                continue
            is_ascii, is_empty = is_ascii and inline.is_number, is_empty and not inline.is_number
            test = f"{inline.condition} and {part.delimiter!r} not in v" if part.guarded else inline.condition
            tests.append(_VALUE.sub(value, test))
            pieces.append(f"f'{_VALUE.sub(value, inline.text)}'")
        texts.append(f"        text{number} = {' '.join(pieces)}")
        storable += [f"text{number}"] if is_empty else []
        storable += [] if is_ascii else [f"text{number}.isascii()"]
    lines = [
        "def render(values):",
        "    try:",
        *(f"        {variable} = values[{name!r}]" for name, variable in variables.items()),
        "        pass",
        "    except KeyError:",
        "        return otherwise(values)",
        f"    if {' and '.join(dict.fromkeys(tests)) or 'True'}:",
        *texts,
        f"        if {' and '.join(storable) or 'True'}:",
        f"            return {result}",
        "    return otherwise(values)",
    ]
    exec("\n".join(lines), scope)  # noqa: S102 - the source contains only field names, and literals formatted by repr
    return scope["render"]


_VALUE = re.compile(r"\bv\b")
"""Matches the name of the value in the source code of an inline encoding."""


def parse(text: str) -> Template:
    """Parse a template. Raises TemplateError, with the offset of the error, for invalid syntax."""
    return Template(text, parse_parts(text))


@dataclass(frozen=True)
class Template:
    """A parsed template that is not yet bound to fields."""

    text: str
    parts: tuple[Part, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """The field names in the order of the placeholders. A field that occurs several times is repeated."""
        return tuple(part.field for part in self.parts if isinstance(part, Placeholder))

    def bind(self, fields: Mapping[str, DeclaredField]) -> BoundTemplate:
        """Bind the template to fields. Raises TemplateError, with the offset of the error, for an invalid
        placeholder.
        """
        parts: list[BoundPart] = []
        for part, following in zip(self.parts, (*self.parts[1:], None), strict=True):
            parts.append(part if isinstance(part, Text) else self._bound(part, fields, following))
        return BoundTemplate(self, tuple(parts))

    def _bound(
        self, part: Placeholder, fields: Mapping[str, DeclaredField], following: Part | None
    ) -> BoundPlaceholder:
        field = fields.get(part.field)
        if field is None:
            similar_names = get_close_matches(part.field, fields, n=3) or list(fields)
            fix = f"use {' or '.join(similar_names)}" if similar_names else "declare the field first"
            raise TemplateError(self.text, part.position + 1, f"unknown field {part.field!r}", fix)
        try:
            encoding = encoding_for(field, part.spec, delimiter_of(following))
        except EncodingError as error:
            position = part.position + 1 + (len(part.field) + 1 if part.spec else 0)
            raise TemplateError(self.text, position, error.problem, error.fix) from error
        return bind_placeholder(part, field, encoding, following)


@dataclass(frozen=True)
class _KnownStart:
    """The part of a template that a query can use: its start, up to the last field whose value is given."""

    text: str
    """The key string up to the last given field."""
    literal: str
    """The literal text that follows the last given field."""
    next: BoundPlaceholder | None
    """The first placeholder whose field is not given, or None if all are given."""
    last_index: int | None
    """The index of the last given placeholder in the template's parts, or None if no field is given."""
    last_name: str


@dataclass(frozen=True, repr=False)
class BoundTemplate:
    """A template bound to fields, which renders and parses keys.

    Two templates are equal if their texts and bound fields are equal.
    """

    template: Template
    parts: tuple[BoundPart, ...]

    def __repr__(self) -> str:
        return f"BoundTemplate({self.text!r})"

    @property
    def text(self) -> str:
        """The source text of the template."""
        return self.template.text

    @property
    def fields(self) -> tuple[str, ...]:
        """The field names in the order of the placeholders. A field that occurs several times is repeated."""
        return self.template.fields

    @cached_property
    def placeholders(self) -> tuple[BoundPlaceholder, ...]:
        """The placeholders of the template, in order."""
        return tuple(part for part in self.parts if isinstance(part, BoundPlaceholder))

    # Keys from values.

    @cached_property
    def render(self) -> Callable[[Mapping[str, Any]], str]:
        """The function that renders a key from a mapping of field values, which may contain other fields.

        The function raises MissingField if a field is absent or None, and KeyPartError if a value is empty, does not
        fit its spec, or contains the delimiter that follows it.
        """
        return _compile(self, self._render_parts)

    def _render_parts(self, values: Mapping[str, Any]) -> str:
        """Render a key part by part. Unlike the generated code, this method supports all values."""
        try:
            text = "".join(
                part.text if isinstance(part, Text) else part.encode(values[part.name]) for part in self.parts
            )
        except KeyError as error:
            raise MissingField(str(error.args[0]), self.text) from None
        if not text or not text.isascii():
            self._check_storable(text, values)
        return text

    def _check_storable(self, text: str, values: Mapping[str, Any]) -> None:
        """Raise KeyPartError if the key is empty, or if it contains a lone surrogate, which is not valid in
        a String.
        """
        for part in self.placeholders:
            try:
                part.encode(values[part.name]).encode()
            except UnicodeEncodeError as error:
                problem = "it contains a lone surrogate, which UTF-8 cannot encode"
                raise KeyPartError(part.name, values[part.name], problem) from error
        if not text:
            raise KeyPartError(self.placeholders[0].name, "", "the key would be empty, and DynamoDB rejects empty keys")

    def prefix(self, values: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
        """Return the longest key prefix that these field values determine, and the names of the fields in it.

        The prefix includes the literal text after the last known field ("STATUS#open#" instead of "STATUS#open"), so
        that begins_with does not match "STATUS#opening#". If nothing follows the last placeholder and every field is
        known, the prefix is the complete key, and callers must compare keys for equality.
        """
        pieces, names = [], []
        for part in self.parts:
            if isinstance(part, Text):
                pieces.append(part.text)
            elif values.get(part.name) is None:
                break
            else:
                pieces.append(part.encode(values[part.name]))
                names.append(part.name)
        return "".join(pieces), tuple(dict.fromkeys(names))

    def variants(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return every key that the template can produce with these values.

        Every other field must have a placeholder with a limited set of strings, such as shards or choices. If the field
        of a lossy placeholder such as {id:shard(8)} is not given, the keys contain each of the placeholder's strings.
        Raises MissingField for a missing field that can have any value.
        """
        options: list[tuple[str, ...]] = []
        for part in self.parts:
            if isinstance(part, Text):
                options.append((part.text,))
            elif values.get(part.name) is not None:
                options.append((part.encode(values[part.name]),))
            elif part.encoding.choices is not None:
                options.append(part.encoding.choices)
            else:
                raise MissingField(part.name, self.text)
        return tuple("".join(pieces) for pieces in product(*options))

    # Values from keys.

    def match(self, text: str) -> dict[str, Any] | None:
        """Return the field values in a key, or None if the key does not match this template.

        Fields of lossy placeholders are omitted, unless another placeholder restores them.
        """
        match = self._matcher.fullmatch(text)
        if match is None or not text:
            return None
        values: dict[str, Any] = {}
        try:
            for part, piece in zip(self.placeholders, match.groups(), strict=True):
                value = part.encoding.decode(piece)
                if part.encode(value) != piece:
                    return None
                if part.encoding.reversible:
                    values.setdefault(part.name, value)
            return values if self._values_match(values, match.groups()) else None
        except (ValueError, OverflowError):
            return None

    def pieces(self, text: str) -> tuple[tuple[BoundPlaceholder, str], ...] | None:
        """Split a key into the strings of its placeholders, without decoding them. Return a (placeholder, string) pair
        for each placeholder.

        Return None if the key does not match this template.
        """
        match = self._matcher.fullmatch(text)
        return None if match is None else tuple(zip(self.placeholders, match.groups(), strict=True))

    def fits(self, text: str, values: Mapping[str, Any]) -> bool:
        """Return True if these field values could have produced the key. A missing field can have any value."""
        match = self._matcher.fullmatch(text)
        try:
            return match is not None and self._values_match(values, match.groups())
        except (ValueError, OverflowError):
            return False

    def _values_match(self, values: Mapping[str, Any], pieces: tuple[str, ...]) -> bool:
        """Return True if each given value, encoded by its placeholder, equals the corresponding part of the key in
        `pieces`.
        """
        return all(
            part.name not in values or part.encode(values[part.name]) == piece
            for part, piece in zip(self.placeholders, pieces, strict=True)
        )

    @cached_property
    def _matcher(self) -> re.Pattern[str]:
        pieces = [re.escape(part.text) if isinstance(part, Text) else f"({part.pattern})" for part in self.parts]
        return re.compile("".join(pieces))

    # Bounds of ranges.

    def lower(self, values: Mapping[str, Any]) -> str:
        """Return a lower bound for keys whose last given field is greater than or equal to the given value, for use in
        BETWEEN or >=.
        """
        start = self._known_start(values)
        text = start.text + start.literal
        if start.next is None:
            return text
        lowest = chr(start.next.encoding.first.lowest)
        if text and (lowest == "\0" or start.next.encoding.may_be_empty):
            return text
        return text + lowest

    def upper(self, values: Mapping[str, Any]) -> str:
        """Return an upper bound for keys whose last given field is less than or equal to the given value, for use in
        BETWEEN or <=.
        """
        start = self._known_start(values)
        return start.text + start.literal if start.next is None else self._bound_after(start, start.next)

    def after(self, values: Mapping[str, Any]) -> str:
        """Return an inclusive lower bound for keys whose last given field is greater than the given value."""
        start = self._known_start(values)
        encoding = self._last_ordered(start).encoding
        if not (encoding.reversible and encoding.is_exact(values[start.last_name])):
            return self.lower(values)
        return start.text + start.literal + "\0" if start.next is None else self._bound_after(start, start.next)

    def before(self, values: Mapping[str, Any]) -> str:
        """Return an inclusive upper bound for keys whose last given field is less than the given value."""
        start = self._known_start(values)
        encoding = self._last_ordered(start).encoding
        if not encoding.is_exact(values[start.last_name]):
            return self.upper(values)
        if start.literal or start.next is not None:
            if not start.literal:
                self._check_not_empty(start.next)
            return start.text
        return _string_before(start.text, keeps_length=encoding.width is not None)

    def _known_start(self, values: Mapping[str, Any]) -> _KnownStart:
        prefix, literal, last, name = "", "", None, ""
        for index, part in enumerate(self.parts):
            if isinstance(part, Text):
                literal = part.text
            elif values.get(part.name) is None:
                return _KnownStart(prefix, literal, part, last, name)
            else:
                prefix, literal = prefix + literal + part.encode(values[part.name]), ""
                last, name = index, part.name
        return _KnownStart(prefix, literal, None, last, name)

    def _last_ordered(self, start: _KnownStart) -> BoundPlaceholder:
        """Return the last placeholder whose field is given.

        Raises ValueError if keys do not sort by this placeholder, and MissingField if no field is given.
        """
        if start.last_index is None:
            missing = start.next.name if start.next is not None else ""
            raise MissingField(missing, self.text)
        part = self.parts[start.last_index]
        assert isinstance(part, BoundPlaceholder)
        if not (part.encoding.keeps_order and self._ends_in_order(start.last_index)):
            raise ValueError(f"keys of {self.text!r} do not sort by {part.name}")
        return part

    def _bound_after(self, start: _KnownStart, following: BoundPlaceholder) -> str:
        """Return a string that sorts just after all keys with the given fields. `following` is the placeholder after
        the last given field.
        """
        text = start.text + start.literal
        first = following.encoding.first
        if first.highest < HIGHEST and not following.encoding.may_be_empty:
            character = next_character(chr(first.highest))
            assert character is not None, "only the last character has no next one"
            return text + character
        if not start.literal:
            self._check_not_empty(following)
        return _string_after(text)

    def _check_not_empty(self, following: BoundPlaceholder | None) -> None:
        if following is not None and following.encoding.may_be_empty:
            raise ValueError(f"{following.name} of {self.text!r} may be empty and has no literal text before it")

    # Properties.

    def keeps_order_from(self, field: str) -> bool:
        """Return True if keys that are equal up to `field` sort by this field, with the precision of its spec.

        A period such as {day:month} sorts correctly only if a more precise placeholder of the same field comes next.
        """
        for index, part in enumerate(self.parts):
            if isinstance(part, BoundPlaceholder) and part.name == field:
                return self._sorts(index, part)
        return False

    def _sorts(self, index: int, part: BoundPlaceholder) -> bool:
        """Return True if the rest of the key, starting at the part with the given index, sorts by the field of the
        placeholder `part`.
        """
        if not (part.encoding.keeps_order and self._ends_in_order(index)):
            return False
        if part.encoding.reversible:
            return True
        for following in range(index + 1, len(self.parts)):
            other = self.parts[following]
            if isinstance(other, BoundPlaceholder):
                return other.name == part.name and self._sorts(following, other)
        return False

    def _ends_in_order(self, index: int) -> bool:
        """Return True if the text after the placeholder at `index` does not change the sort order of the placeholder's
        values.

        If one value is a prefix of another, the literal text follows the shorter value, and must sort before every
        continuation of the longer value.
        """
        part = self.parts[index]
        assert isinstance(part, BoundPlaceholder)
        encoding = part.encoding
        if encoding.valid_width is not None or index + 1 == len(self.parts):
            return True
        following = self.parts[index + 1]
        literal = following.text if isinstance(following, Text) else ""
        if encoding.choices is not None:
            texts = [text + literal for text in encoding.choices]
            return all(a < b and not b.startswith(a) for a, b in pairwise(texts))
        chars = encoding.chars
        if part.guarded and len(part.delimiter) == 1:
            chars = chars.difference(CharSet.from_text(part.delimiter))
        return bool(literal) and bool(chars) and chars.lowest > ord(literal[0])

    def ends_in_period(self, field: str) -> bool:
        """Return True if the template ends in a period of this timestamp field, such as {at:minute}.

        If a primary key ends in a period, each period can have only one item, and keys still sort by the field.
        """
        last = self.placeholders[-1] if self.placeholders else None
        if last is None or last.name != field:
            return False
        encoding = last.encoding
        return encoding.keeps_order and encoding.rounds_to is not None and not encoding.reversible

    @cached_property
    def reversible(self) -> bool:
        """Whether the values of all fields can be restored from a key, with the precision of the placeholder specs."""
        restored = {part.name for part in self.placeholders if part.encoding.reversible}
        return restored.issuperset(self.fields) and all(part.is_delimited for part in self.placeholders)

    @cached_property
    def min_bytes(self) -> int:
        """The length in UTF-8 bytes of the shortest key that the template can produce."""
        literal = sum(len(part.text.encode()) for part in self.parts if isinstance(part, Text))
        return max(1, literal + sum(part.encoding.min_bytes for part in self.placeholders))

    @cached_property
    def max_bytes(self) -> int | None:
        """The length in UTF-8 bytes of the longest key that the template can produce, or None if it is unlimited."""
        total = sum(len(part.text.encode()) for part in self.parts if isinstance(part, Text))
        for part in self.placeholders:
            if part.encoding.max_bytes is None:
                return None
            total += part.encoding.max_bytes
        return total

    @property
    def literal_prefix(self) -> str:
        """The literal text at the start of every key of the template. It can be empty."""
        first = self.parts[0]
        return first.text if isinstance(first, Text) else ""

    def delimiter_risks(self) -> list[tuple[str, str]]:
        """Return a (field, delimiter) pair for each field whose values can contain the delimiter that follows the
        field.

        Rendering rejects such values. If a placeholder of variable width directly precedes another placeholder, the
        delimiter is "". Rendering then cannot reject any value, and two different sets of values can produce the same
        key.
        """
        risks = [(part.name, part.delimiter) for part in self.placeholders if part.can_contain_delimiter]
        return risks + [(part.name, "") for part in self.placeholders if not part.is_delimited]


def _string_after(text: str) -> str:
    """Return a string that sorts just after all strings that start with `text`."""
    for end in range(len(text), 0, -1):
        character = next_character(text[end - 1])
        if character is not None:
            return text[: end - 1] + character
    return _padded("")


def _string_before(text: str, *, keeps_length: bool) -> str:
    """Return the greatest string that sorts before a key. With `keeps_length`, the string has the same length as the
    key.
    """
    character = previous_character(text[-1])
    if character is None:
        return text[:-1]
    return text[:-1] + character if keeps_length else _padded(text[:-1] + character)


def _padded(text: str) -> str:
    """Return the greatest string that starts with `text` and is not too long for a sort key."""
    free_bytes = limits.SORT_KEY_BYTES - len(text.encode())
    return text + chr(HIGHEST) * (free_bytes // 4) + _GREATEST_OF_BYTES[free_bytes % 4]
