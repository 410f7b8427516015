"""Decide whether two key templates can make one key for any values, and which other keys a prefix or range returns.

Each template is a regular language: literal text, and the texts of each field by its encoding, lengths, choices and
pattern. None is a proof that no valid values make a shared key. Two things are regular only in part, a field that is
used twice and a hash: there the languages are wider than the templates, so None is still a proof, and a shared text
is verified by rendering it (`Overlap.certain`). Texts that a template refuses to render do not count: a value that
holds the delimiter after it, and an empty value (unless the field has min_length=0).
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

_BETWEEN = "\ud800"  # separates the attributes of a key: no text holds a surrogate
_CANDIDATES = 300
_NOTHING = CharSet(())

Prefix = BoundTemplate | str


@dataclass(frozen=True)
class Overlap:
    """A key that two sides share: a text for each key attribute, and values that make it on either side.

    `plain`: no value holds punctuation; otherwise values without the other side's delimiters rule it out.
    `certain`: the values do render to the texts.
    """

    texts: tuple[str, ...]
    left: Mapping[str, Any] = field(default_factory=dict)
    right: Mapping[str, Any] = field(default_factory=dict)
    plain: bool = True
    certain: bool = True

    @property
    def text(self) -> str:
        """The first text."""
        return self.texts[0]


def can_equal(left: BoundTemplate, right: BoundTemplate) -> str | None:
    """Return a key text that both templates can make, or None if there is none."""
    overlap = keys_overlap((left,), (right,))
    return overlap.text if overlap is not None else None


def keys_overlap(left: Sequence[BoundTemplate], right: Sequence[BoundTemplate]) -> Overlap | None:
    """Return a key that both sides can make, each attribute by its template, or None if there is none.

    A field that occurs in several attributes of a side has one value in all of them.
    """
    punctuation = _punctuation(chain.from_iterable(template.parts for template in (*left, *right)))
    for barred in (punctuation, _NOTHING):
        overlap = _first_shared(
            _key_machine(left, barred), _key_machine(right, barred), lambda texts: _shared_values(left, right, texts)
        )
        if overlap is not None:
            return replace(overlap, plain=barred is punctuation)
    return None


def captures(prefix: Prefix, other: BoundTemplate, known: Collection[str] = ()) -> str | None:
    """Return a key of `other` that starts with the text that `prefix` makes of the known fields, or None.

    begins_with returns such a key, though another template made it. If possible, the key is one that `prefix` cannot
    make itself. The prefix of a template is that of `BoundTemplate.prefix`.
    """
    overlap = captured(prefix, other, known)
    return overlap.text if overlap is not None else None


def captured(prefix: Prefix, other: BoundTemplate, known: Collection[str] = ()) -> Overlap | None:
    """Return the overlap of which `captures` returns the text, with the values of `other` on the right."""
    parts = _known_parts(prefix, known)
    return _first_captured(parts, lambda _: None, prefix, other)


def range_captures(template: BoundTemplate, other: BoundTemplate, known: Collection[str]) -> str | None:
    """Return a key of `other` between the bounds of some range over the placeholder after the known fields, or None.

    The range may be open at one end (lower and after, before and upper of `BoundTemplate`).
    """
    parts = _known_parts(template, known)
    next_placeholder = next((part for part in template.parts[len(parts) :] if isinstance(part, BoundPlaceholder)), None)
    if next_placeholder is None or next_placeholder.encoding.may_be_empty:
        return captures(template, other, known)
    first = next_placeholder.encoding.first
    between = CharSet.between(chr(first.lowest), chr(first.highest))
    overlap = _first_captured(parts, lambda builder: builder.add(Run(between, 1, 1)), template, other)
    return overlap.text if overlap is not None else None


def extends_template(short: BoundTemplate, long: BoundTemplate) -> bool:
    """Return True if `long` continues `short`: same texts, fields and specs, so that it serves the same prefixes."""
    ours, theirs = [_part_text(part) for part in short.parts], [_part_text(part) for part in long.parts]
    if not isinstance(short.parts[-1], Text) or len(ours) > len(theirs):
        return ours == theirs[: len(ours)]
    return ours[:-1] == theirs[: len(ours) - 1] and theirs[len(ours) - 1][:2] == ("", "") and (
        theirs[len(ours) - 1][2].startswith(ours[-1][2])
    )  # fmt: skip


def _part_text(part: BoundPart) -> tuple[str, str, str]:
    return ("", "", part.text) if isinstance(part, Text) else (part.name, part.spec, "")


def _first_captured(
    parts: tuple[BoundPart, ...], then: Callable[[AutomatonBuilder], None], wanted: Prefix, other: BoundTemplate
) -> Overlap | None:
    """Return a key of `other` that continues with anything after the parts and the part that `then` adds."""
    punctuation = _punctuation((*parts, *other.parts))
    asked = BoundTemplate(other.template, parts)

    def made(texts: tuple[str, ...]) -> Overlap | None:
        right = _values((other,), texts)
        left = _values_of_prefix(asked, texts[0])
        return Overlap(texts, left, right) if left is not None and right is not None else None

    def foreign(texts: tuple[str, ...]) -> Overlap | None:
        own = isinstance(wanted, BoundTemplate) and _values((wanted,), texts) is not None
        return None if own else made(texts)

    for barred in (punctuation, _NOTHING):
        builder = AutomatonBuilder()
        _add_parts(builder, parts, barred)
        then(builder)
        builder.add_anything()
        machine, of_other = builder.machine(), _key_machine((other,), barred)
        overlap = _first_shared(machine, of_other, foreign)
        if overlap is not None and not overlap.certain:
            overlap = _first_shared(machine, of_other, made)
        if overlap is not None:
            return replace(overlap, plain=barred is punctuation)
    return None


def _values_of_prefix(asked: BoundTemplate, text: str) -> Mapping[str, Any] | None:
    """Return values of which the parts make a prefix of a text."""
    if not asked.placeholders:
        return {}
    candidates = (_values((asked,), (text[:end],)) for end in range(len(text) + 1))
    return next((values for values in candidates if values is not None), None)


def _first_shared(
    left: Automaton, right: Automaton, made: Callable[[tuple[str, ...]], Overlap | None]
) -> Overlap | None:
    """Return the first shared key that values make; an uncertain one if none of the candidates is made by values."""
    first = None
    few = shared_words(left, right)
    more = shared_words(left, right, visits=12, variety=3)
    for word in chain(islice(few, 3), islice(more, _CANDIDATES)):
        texts = tuple(word.split(_BETWEEN))
        overlap = made(texts)
        if overlap is not None:
            return overlap
        first = first or texts
    return Overlap(first, certain=False) if first is not None else None


def _shared_values(
    left: Sequence[BoundTemplate], right: Sequence[BoundTemplate], texts: tuple[str, ...]
) -> Overlap | None:
    """Return the overlap at these texts, or at the texts that the values of one side make."""
    for side in (left, right):
        for values in _possible_values(side, texts):
            made = _rendered(side, values)
            if made is not None:
                ours, theirs = _values(left, made), _values(right, made)
                if ours is not None and theirs is not None:
                    return Overlap(made, ours, theirs)
    return None


def _values(templates: Sequence[BoundTemplate], texts: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Return valid values, one for each field, that make these texts, or None."""
    return next(
        (values for values in _possible_values(templates, texts) if _rendered(templates, values) == texts), None
    )


def _possible_values(templates: Sequence[BoundTemplate], texts: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """Yield values that may have made these texts, trying the first and the last placeholder of a repeated field.

    Reversible placeholders take precedence over others.
    """
    said: list[tuple[BoundPlaceholder, Any]] = []
    for template, text in zip(templates, texts, strict=True):
        pieces = template.pieces(text)
        if pieces is None:
            return
        try:
            said += [(placeholder, placeholder.encoding.decode(piece)) for placeholder, piece in pieces]
        except (ValueError, OverflowError):
            return
    for order in (said, said[::-1]):
        by_trust = sorted(order, key=lambda pair: pair[0].encoding.reversible)
        yield {placeholder.name: value for placeholder, value in by_trust}


def _rendered(templates: Sequence[BoundTemplate], values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the texts of these values, or None if they are invalid or cannot be part of a key."""
    fields = {placeholder.name: placeholder.field for template in templates for placeholder in template.placeholders}
    if not all(_valid(fields[name], value) for name, value in values.items()):
        return None
    try:
        return tuple(template.render(values) for template in templates)
    except ValueError:
        return None


def _valid(declared: DeclaredField, value: Any) -> bool:
    """Return True if the field's declaration allows the value."""
    if isinstance(value, str) and declared.choices is None:
        low, high = declared.min_length or 0, declared.max_length
        if len(value) < low or (high is not None and len(value) > high):
            return False
        return declared.pattern is None or _found(declared.pattern, value)
    if isinstance(value, int) and declared.choices is None:
        low_end, high_end = declared.minimum, declared.maximum
        return (low_end is None or value >= low_end) and (high_end is None or value <= high_end)
    return True


def _found(pattern: str, value: str) -> bool:
    """Return True if the pattern occurs in the value; False for a pattern that Python cannot compile."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return False


def _key_machine(templates: Sequence[BoundTemplate], barred: CharSet) -> Automaton:
    """Return the automaton of keys of these attributes without barred punctuation in values. No attribute is empty."""
    keys = AutomatonBuilder()
    for index, template in enumerate(templates):
        if index:
            keys.add(Word(_BETWEEN))
        attribute = AutomatonBuilder()
        _add_parts(attribute, template.parts, barred)
        keys.add_machine(without_empty(attribute.machine()))
    return keys.machine()


def _add_parts(builder: AutomatonBuilder, parts: Iterable[BoundPart], barred: CharSet) -> None:
    for part in parts:
        if isinstance(part, Text):
            builder.add(Word(part.text))
        elif part.encoding.choices is None and part.encoding.width is None:
            builder.add_without(part.language, part.delimiter if part.guarded else "", barred)
        else:
            builder.add(part.language)


def _known_parts(prefix: Prefix, known: Collection[str]) -> tuple[BoundPart, ...]:
    """Return the parts that `BoundTemplate.prefix` makes of the known fields."""
    if isinstance(prefix, str):
        return (Text(prefix),) if prefix else ()
    for index, part in enumerate(prefix.parts):
        if isinstance(part, BoundPlaceholder) and part.name not in known:
            return prefix.parts[:index]
    return prefix.parts


def _punctuation(parts: Iterable[BoundPart]) -> CharSet:
    """Return the characters of literal texts other than letters and digits."""
    literal = "".join(part.text for part in parts if isinstance(part, Text))
    return CharSet.of("".join(character for character in literal if not character.isalnum()))
