"""Checks of whether two key templates can produce the same key, and whether a query for the keys of one template also
returns keys of the other.

Each template is a regular language of its literal text and the strings of each field, given by the field's encoding,
lengths, choices and pattern. A result of None proves that no valid values produce a shared key. A template that uses a
field twice or contains a hash is not regular. For such templates, the languages contain more strings than the templates
produce, so None is still a proof. A shared string is verified by rendering it (`Overlap.certain`). Values that a
template refuses to render are ignored. Examples are values that contain the following delimiter, and empty values of
fields without min_length=0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys.automata import Automaton, AutomatonBuilder, shared_words, without_empty
from keyplan.design.keys.languages import CharSet, Run, Word
from keyplan.design.keys.placeholders import BoundPart, BoundPlaceholder, Text
from keyplan.design.keys.templates import BoundTemplate

_BETWEEN = "\ud800"  # separates key attributes; no key string contains a surrogate
_CANDIDATES = 300
_NOTHING = CharSet(())

Prefix = BoundTemplate | str


@dataclass(frozen=True)
class Overlap:
    """A key that two templates can both produce, with the values from which each template produces it.

    `plain` is True if no value contains punctuation of the templates. Otherwise, the overlap cannot occur if values do
    not contain the other template's delimiters. `certain` is True if the values were verified to render to the key.
    """

    texts: tuple[str, ...]
    left: Mapping[str, Any] = field(default_factory=dict)
    right: Mapping[str, Any] = field(default_factory=dict)
    plain: bool = True
    certain: bool = True

    @property
    def text(self) -> str:
        """The value of the first key attribute in the shared key."""
        return self.texts[0]


def can_equal(left: BoundTemplate, right: BoundTemplate) -> str | None:
    """Return a key string that both templates can produce, or None if such a string does not exist."""
    overlap = keys_overlap((left,), (right,))
    return overlap.text if overlap is not None else None


def keys_overlap(left: Sequence[BoundTemplate], right: Sequence[BoundTemplate]) -> Overlap | None:
    """Return a key that the templates of two entities can both produce, or None if such a key does not exist.

    `left` and `right` contain one template per key attribute. A field that occurs in several attributes of a key has
    the same value in all of them.
    """
    punctuation = _punctuation(chain.from_iterable(template.parts for template in (*left, *right)))
    for excluded in (punctuation, _NOTHING):
        overlap = _first_shared(
            _key_machine(left, excluded),
            _key_machine(right, excluded),
            lambda texts: _shared_values(left, right, texts),
        )
        if overlap is not None:
            return replace(overlap, plain=excluded is punctuation)
    return None


def captures(prefix: Prefix, other: BoundTemplate, known_fields: Collection[str] = ()) -> str | None:
    """Return a key of the template `other` that a query for the keys of `prefix` would also return. Return None if no
    such key exists.

    The query uses begins_with and the longest prefix that the known fields determine (see `BoundTemplate.prefix`). If
    possible, the result is a key that `prefix` itself cannot produce.
    """
    overlap = captured_overlap(prefix, other, known_fields)
    return overlap.text if overlap is not None else None


def captured_overlap(prefix: Prefix, other: BoundTemplate, known_fields: Collection[str] = ()) -> Overlap | None:
    """Return the key that `captures` returns, as an Overlap, or None if no such key exists.

    The right side of the overlap contains the values from which `other` produces the key.
    """
    parts = _known_parts(prefix, known_fields)
    return _first_captured(parts, lambda _: None, prefix, other)


def range_captures(template: BoundTemplate, other: BoundTemplate, known_fields: Collection[str]) -> str | None:
    """Return a key of the template `other` that a range query for the keys of `template` would also return. Return None
    if no such key exists.

    The query compares the field that follows the known fields with a range, which can be open at one end. See the
    methods `lower`, `upper`, `before` and `after` of `BoundTemplate` for the keys at the ends of the range.
    """
    parts = _known_parts(template, known_fields)
    next_placeholder = next((part for part in template.parts[len(parts) :] if isinstance(part, BoundPlaceholder)), None)
    if next_placeholder is None or next_placeholder.encoding.may_be_empty:
        return captures(template, other, known_fields)
    first = next_placeholder.encoding.first
    first_chars = CharSet.between(chr(first.lowest), chr(first.highest))
    overlap = _first_captured(parts, lambda builder: builder.add(Run(first_chars, 1, 1)), template, other)
    return overlap.text if overlap is not None else None


def extends_template(short: BoundTemplate, long: BoundTemplate) -> bool:
    """Return True if the template `long` starts with all literal texts, fields and specs of the template `short`."""
    short_parts, long_parts = [_part_text(part) for part in short.parts], [_part_text(part) for part in long.parts]
    if not isinstance(short.parts[-1], Text) or len(short_parts) > len(long_parts):
        return short_parts == long_parts[: len(short_parts)]
    counterpart = long_parts[len(short_parts) - 1]
    return (
        short_parts[:-1] == long_parts[: len(short_parts) - 1]
        and counterpart[:2] == ("", "")
        and counterpart[2].startswith(short_parts[-1][2])
    )


def _part_text(part: BoundPart) -> tuple[str, str, str]:
    return ("", "", part.text) if isinstance(part, Text) else (part.name, part.spec, "")


def _first_captured(
    parts: tuple[BoundPart, ...],
    append_language: Callable[[AutomatonBuilder], None],
    known_prefix: Prefix,
    other: BoundTemplate,
) -> Overlap | None:
    """Return a key of the template `other` that starts with a string of `parts`, followed by a string of the language
    that `append_language` appends to the automaton. Return None if no such key exists.

    If possible, the result is a key that the template `known_prefix` cannot produce.
    """
    punctuation = _punctuation((*parts, *other.parts))
    parts_template = BoundTemplate(other.template, parts)

    def overlap_of(texts: tuple[str, ...]) -> Overlap | None:
        right = _values((other,), texts)
        left = _values_of_prefix(parts_template, texts[0])
        return Overlap(texts, left, right) if left is not None and right is not None else None

    def overlap_outside_prefix(texts: tuple[str, ...]) -> Overlap | None:
        is_own_key = isinstance(known_prefix, BoundTemplate) and _values((known_prefix,), texts) is not None
        return None if is_own_key else overlap_of(texts)

    for excluded in (punctuation, _NOTHING):
        builder = AutomatonBuilder()
        _add_parts(builder, parts, excluded)
        append_language(builder)
        builder.add_anything()
        machine, other_machine = builder.build(), _key_machine((other,), excluded)
        overlap = _first_shared(machine, other_machine, overlap_outside_prefix)
        if overlap is not None and not overlap.certain:
            overlap = _first_shared(machine, other_machine, overlap_of)
        if overlap is not None:
            return replace(overlap, plain=excluded is punctuation)
    return None


def _values_of_prefix(parts_template: BoundTemplate, text: str) -> Mapping[str, Any] | None:
    """Return field values from which the template produces the first characters of `text`, or None if such values do
    not exist.
    """
    if not parts_template.placeholders:
        return {}
    candidates = (_values((parts_template,), (text[:end],)) for end in range(len(text) + 1))
    return next((values for values in candidates if values is not None), None)


def _first_shared(
    left: Automaton, right: Automaton, find_overlap: Callable[[tuple[str, ...]], Overlap | None]
) -> Overlap | None:
    """Return the first shared key that can be verified. If the automata share keys but none of them can be verified,
    return an unverified one.

    Return None if the automata do not share a key. `find_overlap` returns the overlap for the strings of a key, or None
    if the key cannot be verified.
    """
    first = None
    shortest_words = shared_words(left, right)
    varied_words = shared_words(left, right, visits=12, variety=3)
    for word in chain(islice(shortest_words, 3), islice(varied_words, _CANDIDATES)):
        texts = tuple(word.split(_BETWEEN))
        overlap = find_overlap(texts)
        if overlap is not None:
            return overlap
        first = first or texts
    return Overlap(first, certain=False) if first is not None else None


def _shared_values(
    left: Sequence[BoundTemplate], right: Sequence[BoundTemplate], texts: tuple[str, ...]
) -> Overlap | None:
    """Verify that two keys share these strings, and return the overlap. Return None if this cannot be verified.

    `left` and `right` are the templates of both keys, and `texts` contains one string per key attribute. The strings
    are decoded to the values of one list of templates, and rendered again. If both lists can produce the rendered
    strings, the overlap contains these strings, which may differ from `texts`.
    """
    for templates in (left, right):
        for values in _possible_values(templates, texts):
            rendered_texts = _render(templates, values)
            if rendered_texts is not None:
                left_values, right_values = _values(left, rendered_texts), _values(right, rendered_texts)
                if left_values is not None and right_values is not None:
                    return Overlap(rendered_texts, left_values, right_values)
    return None


def _values(templates: Sequence[BoundTemplate], texts: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Return valid values, one for each field, from which the templates produce exactly these strings. Return None if
    such values do not exist.
    """
    return next((values for values in _possible_values(templates, texts) if _render(templates, values) == texts), None)


def _possible_values(templates: Sequence[BoundTemplate], texts: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """Yield mappings of field names to values from which the templates may have produced these strings.

    A field can occur in several placeholders. The value decoded from the last placeholder is tried before the value
    decoded from the first one, but a reversible placeholder always takes precedence.
    """
    decoded: list[tuple[BoundPlaceholder, Any]] = []
    for template, text in zip(templates, texts, strict=True):
        pieces = template.pieces(text)
        if pieces is None:
            return
        try:
            decoded += [(placeholder, placeholder.encoding.decode(piece)) for placeholder, piece in pieces]
        except (ValueError, OverflowError):
            return
    for order in (decoded, decoded[::-1]):
        by_reversibility = sorted(order, key=lambda pair: pair[0].encoding.reversible)
        yield {placeholder.name: value for placeholder, value in by_reversibility}


def _render(templates: Sequence[BoundTemplate], values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the strings that the templates produce, or None if a value is invalid or cannot be used in a key."""
    fields = {placeholder.name: placeholder.field for template in templates for placeholder in template.placeholders}
    if not all(_valid(fields[name], value) for name, value in values.items()):
        return None
    try:
        return tuple(template.render(values) for template in templates)
    except ValueError:
        return None


def _valid(field: DeclaredField, value: Any) -> bool:
    if isinstance(value, str) and field.choices is None:
        low, high = field.min_length or 0, field.max_length
        if len(value) < low or (high is not None and len(value) > high):
            return False
        return field.pattern is None or _matches_anywhere(field.pattern, value)
    if isinstance(value, int) and field.choices is None:
        low_end, high_end = field.minimum, field.maximum
        return (low_end is None or value >= low_end) and (high_end is None or value <= high_end)
    return True


def _matches_anywhere(pattern: str, value: str) -> bool:
    """Return True if a pattern matches anywhere in a value. Return False if Python cannot compile the pattern."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return False


def _key_machine(templates: Sequence[BoundTemplate], excluded: CharSet) -> Automaton:
    """Return the automaton that accepts the keys that the templates produce.

    Keys with an empty attribute, and keys whose values contain characters in `excluded`, are excluded.
    """
    keys = AutomatonBuilder()
    for index, template in enumerate(templates):
        if index:
            keys.add(Word(_BETWEEN))
        attribute = AutomatonBuilder()
        _add_parts(attribute, template.parts, excluded)
        keys.add_machine(without_empty(attribute.build()))
    return keys.build()


def _add_parts(builder: AutomatonBuilder, parts: Iterable[BoundPart], excluded: CharSet) -> None:
    for part in parts:
        if isinstance(part, Text):
            builder.add(Word(part.text))
        elif part.encoding.choices is None and part.encoding.width is None:
            builder.add_delimited(part.language, part.delimiter if part.guarded else "", excluded)
        else:
            builder.add(part.language)


def _known_parts(prefix: Prefix, known_fields: Collection[str]) -> tuple[BoundPart, ...]:
    """Return the parts of a template that precede its first unknown field. If `prefix` is a string, return one part
    that consists of this string.
    """
    if isinstance(prefix, str):
        return (Text(prefix),) if prefix else ()
    for index, part in enumerate(prefix.parts):
        if isinstance(part, BoundPlaceholder) and part.name not in known_fields:
            return prefix.parts[:index]
    return prefix.parts


def _punctuation(parts: Iterable[BoundPart]) -> CharSet:
    """Return the characters in the literal texts of a template that are neither letters nor digits."""
    literal = "".join(part.text for part in parts if isinstance(part, Text))
    return CharSet.from_text("".join(character for character in literal if not character.isalnum()))
