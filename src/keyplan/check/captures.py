"""Which keys of other entities a key condition takes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keyplan.check.keyspace import as_template, begins, constant, in_range, is_far_fetched, overlap
from keyplan.design.algebra import Overlap
from keyplan.design.encodings_chars import CharSet
from keyplan.design.keys import KeyAttribute
from keyplan.design.plan import KeyValue, SortCondition
from keyplan.design.symbols import CALLED
from keyplan.design.template_errors import KeyValueError, MissingField
from keyplan.design.templates import BoundTemplate


@dataclass(frozen=True)
class Capture:
    """A key that a condition takes in."""

    text: str
    exact: bool
    """Whether it is certain; otherwise only the first characters were compared."""


def template_of(value: KeyValue) -> BoundTemplate | None:
    """The texts that a value of a condition can be; one text where only constants make it. None: no String."""
    template = as_template(KeyAttribute(value.attribute, value.template, value.field))
    if template is None or not template.fields:
        return template
    fixed = all(name in value.sources and not isinstance(value.sources[name], CALLED) for name in template.fields)
    if not fixed:
        return template
    try:
        return constant(template.render(value.sources))
    except (KeyValueError, MissingField):
        return template


def partition_shared(values: Sequence[KeyValue], parts: Sequence[KeyAttribute]) -> bool:
    """Whether a partition that a query asks for can hold items whose partition key is made of these parts."""
    for value, part in zip(values, parts, strict=False):
        if value.type_code != part.type_code:
            return False
        asked, theirs = template_of(value), as_template(part)
        if asked is None or theirs is None:
            continue
        found = overlap((asked,), (theirs,))
        if found is None or not found.plain:
            return False
    return True


def captured_by(conditions: Sequence[SortCondition], parts: Sequence[KeyAttribute]) -> Capture | None:
    """A key made of these parts that fulfils all conditions; None where one of them keeps all out."""
    found = Capture("any", exact=False)
    for condition, part in zip(conditions, parts, strict=False):
        one = _captured(condition, part)
        if one is None:
            return None
        found = one
    return found


def _captured(condition: SortCondition, part: KeyAttribute) -> Capture | None:
    if condition.low.type_code != part.type_code:
        return None
    asked, theirs = template_of(condition.low), as_template(part)
    if asked is None or theirs is None:
        return Capture(f"a {'Number' if part.type_code == 'N' else 'value'} of {part.attribute}", exact=False)
    if condition.op == "=":
        return _told(overlap((asked,), (theirs,)))
    if condition.op == "begins_with":
        return _told(begins(asked, theirs, _known(condition.low, asked)))
    if condition.op == "BETWEEN":
        return _between(condition, asked, theirs)
    return _open(condition.op, asked, theirs)


def _told(found: Overlap | None) -> Capture | None:
    if found is None or not found.plain or is_far_fetched(found):
        return None
    return Capture(found.text, exact=found.certain)


def _known(value: KeyValue, template: BoundTemplate) -> frozenset[str]:
    """The fields that a prefix holds in full."""
    names = [name for name in dict.fromkeys(template.fields) if name in value.sources]
    return frozenset(names[:-1] if value.part == "begins" else names)


def _between(condition: SortCondition, asked: BoundTemplate, theirs: BoundTemplate) -> Capture | None:
    low, high = condition.low, condition.high
    assert high is not None, "BETWEEN has two ends"
    if low.part == "whole":
        return _between_texts(asked, template_of(high), theirs)
    names = [name for name in dict.fromkeys(asked.fields) if name in low.sources and name in high.sources]
    one_sided = set(low.sources) != set(high.sources)
    text = in_range(asked, theirs, frozenset(names if one_sided else names[:-1]))
    return None if text is None else Capture(text, exact=True)


def _between_texts(low: BoundTemplate, high: BoundTemplate | None, theirs: BoundTemplate) -> Capture | None:
    """Of bounds that are written out: what begins as both do, or by first characters."""
    if high is None:
        return None
    same = _common(low.literal_prefix, high.literal_prefix)
    if same:
        return _told(begins(constant(same), theirs, frozenset()))
    first = _first(theirs)
    inside = first.highest >= _first(low).lowest and first.lowest <= _first(high).highest
    return Capture(theirs.text, exact=False) if inside else None


def _common(one: str, other: str) -> str:
    size = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:size]


def _open(op: str, asked: BoundTemplate, theirs: BoundTemplate) -> Capture | None:
    bound, first = _first(asked), _first(theirs)
    inside = first.lowest <= bound.highest if op in {"<", "<="} else first.highest >= bound.lowest
    return Capture(theirs.text, exact=False) if inside else None


def _first(template: BoundTemplate) -> CharSet:
    """The characters that the texts of a template can begin with."""
    if template.literal_prefix:
        return CharSet.of(template.literal_prefix[0])
    return template.holes[0].encoding.first
