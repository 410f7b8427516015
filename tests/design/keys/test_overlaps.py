"""Questions about templates, each answered for all values at once and checked against the values themselves."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import examples

from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys.encodings import KeyPartError
from keyplan.design.keys.overlaps import (
    can_equal,
    captured_overlap,
    captures,
    extends_template,
    keys_overlap,
    range_captures,
)
from keyplan.design.keys.templates import BoundTemplate, parse

FIELDS = {
    field.name: field
    for field in (
        DeclaredField("a", str),
        DeclaredField("b", str),
        DeclaredField("c", str),
        DeclaredField("may", str, min_length=0),
        DeclaredField("long", str, min_length=30),
        DeclaredField("short", str, max_length=3),
        DeclaredField("status", str, choices=("open", "opening", "done")),
        DeclaredField("path", str, choices=("x", "x#y")),
        DeclaredField("number", int),
        DeclaredField("positive", int, minimum=1),
        DeclaredField("id", UUID),
        DeclaredField("at", datetime),
        DeclaredField("day", date),
    )
}


def bound(text: str) -> BoundTemplate:
    return parse(text).bind(FIELDS)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("USER#{a}", "TASK#{a}"),
        ("TASK#{a}#", "TASK#{a}#NOTE#{b}"),
        ("{number:010d}", "{number:011d}"),
        ("{at:utc_ms}", "{id}"),
        ("{at:utc_ms}", "{at:utc_s}"),
        ("X{a:quote}", "X{b}#"),
        ("{status}", "close{a}"),
        ("{positive}", "-{a}"),
        ("{a:upper}", "b{b}"),
        ("{a}::{b}::end", "{c}"),
        ("{long}", "{short}"),
        ("{id}", "{short}"),
        ("{day}", "{at:hour}"),
        ("{at:minute}", "{at:hour}"),
        ("{may}", "{may}"),
        ("META", "META#{a}"),
        ("{path}#{a}", "x#z"),
    ],
)
def test_templates_share_a_key_with_a_witness_or_are_proved_disjoint(left: str, right: str) -> None:
    first, second = bound(left), bound(right)
    impossible = {
        ("USER#{a}", "TASK#{a}"), ("TASK#{a}#", "TASK#{a}#NOTE#{b}"), ("{number:010d}", "{number:011d}"),
        ("{at:utc_ms}", "{id}"), ("{at:utc_ms}", "{at:utc_s}"), ("X{a:quote}", "X{b}#"), ("{status}", "close{a}"),
        ("{positive}", "-{a}"), ("{a:upper}", "b{b}"), ("{long}", "{short}"), ("{id}", "{short}"),
        ("{day}", "{at:hour}"), ("{at:minute}", "{at:hour}"), ("META", "META#{a}"),
    }  # fmt: skip
    witness = can_equal(first, second)
    assert witness == can_equal(second, first)
    if (left, right) in impossible:
        assert witness is None
        return
    overlap = keys_overlap([first], [second])
    assert overlap is not None
    assert overlap.certain
    assert first.render(overlap.left) == second.render(overlap.right) == witness


def test_a_key_forged_with_a_separator_is_distinguished_from_a_plain_overlap() -> None:
    forged = keys_overlap([bound("TASK#{a}")], [bound("TASK#{a}#NOTE#{b}")])
    assert forged is not None
    assert (forged.text, forged.plain, forged.certain) == ("TASK#a#NOTE#a", False, True)
    assert (forged.left, forged.right) == ({"a": "a#NOTE#a"}, {"a": "a", "b": "a"})
    plain = keys_overlap([bound("TASK#{a}")], [bound("TASK#{b}")])
    assert plain is not None
    assert plain.plain


def test_quoting_the_last_placeholder_prevents_the_overlap() -> None:
    assert can_equal(bound("TASK#{a:quote}"), bound("TASK#{a:quote}#NOTE#{b}")) is None
    assert can_equal(bound("TASK#{id}"), bound("TASK#{id}#NOTE#{b}")) is None


def test_a_key_of_two_attributes_is_shared_only_if_both_are() -> None:
    left = [bound("USER#{a}"), bound("TASK#{b}")]
    assert keys_overlap(left, [bound("USER#{a}"), bound("NOTE#{b}")]) is None
    overlap = keys_overlap(left, [bound("USER#{a}"), bound("TASK#{b}#{c}")])
    assert overlap is not None
    assert overlap.texts == ("USER#a", "TASK#a#a")
    assert overlap.certain


def test_a_field_used_twice_has_one_value_in_a_certain_witness() -> None:
    overlap = keys_overlap([bound("{a}#{a}")], [bound("x#{b}")])
    assert overlap is not None
    assert overlap.certain
    assert overlap.text == "x#x"
    doubtful = keys_overlap([bound("{a}#{a}")], [bound("x#y")])
    assert doubtful is not None
    assert not doubtful.certain


def test_a_shard_of_a_field_agrees_with_the_field_in_a_certain_witness() -> None:
    overlap = keys_overlap([bound("{a:shard(8)}#{a}")], [bound("5#{b}")])
    assert overlap is not None
    assert overlap.certain
    assert bound("{a:shard(8)}#{a}").render(overlap.left) == overlap.text


def test_a_prefix_without_its_delimiter_captures_and_a_prefix_with_it_does_not() -> None:
    assert captures("STATUS#open", bound("STATUS#opening#{a}")) == "STATUS#opening#a"
    assert captures("STATUS#open#", bound("STATUS#opening#{a}")) is None


def test_a_literal_prefix_captures_longer_templates() -> None:
    template = bound("TASK#{id}")
    assert captures(template, bound("TASK#{id}#NOTE#{a}")) is not None
    assert captures(template, bound("TASKS#{a}")) is None
    assert captures(template, bound("USER#{a}")) is None


def test_known_fields_narrow_what_a_prefix_captures() -> None:
    template, other = bound("S#{a}#T#{b}"), bound("S#{a}#U#{b}")
    assert captures(template, other) is not None
    assert captures(template, other, ["a"]) is None
    assert captures(bound("S#{status}#{a}"), bound("S#done#{a}#{b}"), ["status"]) is not None


def test_a_captured_key_belongs_to_the_other_entity_if_possible() -> None:
    template = bound("TASK#{at:utc_s}")
    capture = captured_overlap(template, bound("TASK#{a}"))
    assert capture is not None
    assert template.match(capture.text) is None
    assert bound("TASK#{a}").render(capture.right) == capture.text


def test_a_range_over_timestamps_excludes_words_and_includes_numbers() -> None:
    template = bound("A#{at:utc_ms}")
    assert range_captures(template, bound("A#META"), []) is None
    capture = range_captures(template, bound("A#{a}"), [])
    assert capture is not None
    assert template.lower({}) <= capture <= template.upper({})


def test_a_longer_template_with_the_same_placeholders_extends_a_template() -> None:
    assert extends_template(bound("{status}"), bound("{status}#{a}"))
    assert extends_template(bound("S#{status}#"), bound("S#{status}#T{a}"))
    assert not extends_template(bound("{status}"), bound("{a}#{status}"))
    assert not extends_template(bound("{at:date}"), bound("{at:utc_s}#{a}"))
    assert not extends_template(bound("{status}#{a}"), bound("{status}"))


ALPHABET = "a#"
TEXTS = ["".join(letters) for size in (1, 2, 3) for letters in product(ALPHABET, repeat=size)]
SMALL = {name: DeclaredField(name, str, max_length=3, pattern=None) for name in ("a", "b", "c")} | {
    "s": DeclaredField("s", str, choices=("a", "aa", "#a"))
}
shapes = st.lists(
    st.sampled_from(["a", "#", "##", "{%}", "{%}", "{s}"]), min_size=1, max_size=4
).map(lambda parts: "".join(part.replace("%", "abc"[index % 3]) for index, part in enumerate(parts)))  # fmt: skip


def keys_of(template: BoundTemplate) -> set[str]:
    """All keys that the template makes of short texts over two letters."""
    created = set()
    names = list(dict.fromkeys(template.fields))
    for values in product(*(["a", "aa", "#a"] if name == "s" else TEXTS for name in names)):
        try:
            created.add(template.render(dict(zip(names, values, strict=True))))
        except KeyPartError:
            continue
    return created


@settings(max_examples=examples(150), deadline=None)
@given(shapes, shapes)
def test_overlaps_agree_with_trying_every_short_value(left: str, right: str) -> None:
    first, second = parse(left).bind(SMALL), parse(right).bind(SMALL)
    shared = keys_of(first) & keys_of(second)
    overlap = keys_overlap([first], [second])
    if shared:
        assert overlap is not None, f"both make {min(shared)!r}"
    if overlap is not None and overlap.certain:
        assert first.render(overlap.left) == second.render(overlap.right) == overlap.text


@settings(deadline=None)
@given(shapes, shapes, st.booleans())
def test_captured_keys_agree_with_trying_every_short_value(left: str, right: str, first: bool) -> None:
    one, second = parse(left).bind(SMALL), parse(right).bind(SMALL)
    known_fields = one.fields[:1] if first else ()
    prefixes = tuple(keys_of_prefix(one, known_fields))
    matching = [key for key in keys_of(second) if key.startswith(prefixes)]
    capture = captured_overlap(one, second, known_fields)
    if matching:
        assert capture is not None, f"{min(matching)!r} is captured"
    if capture is not None and capture.certain:
        assert second.render(capture.right) == capture.text
        assert capture.text.startswith(one.prefix(capture.left)[0])


def keys_of_prefix(template: BoundTemplate, known_fields: tuple[str, ...]) -> set[str]:
    created = set()
    for values in product(*(["a", "aa", "#a"] if name == "s" else TEXTS for name in known_fields)):
        try:
            created.add(template.prefix(dict(zip(known_fields, values, strict=True)))[0])
        except KeyPartError:
            continue
    return created


KINDS = {
    "a": st.text(st.sampled_from("aB#-%é"), min_size=1, max_size=3),
    "may": st.text(st.sampled_from("a#"), max_size=2),
    "short": st.text(st.sampled_from("a#"), min_size=1, max_size=3),
    "slug": st.from_regex(r"\A[a-z]+-[0-9]{2}\Z"),
    "status": st.sampled_from(["open", "opening", "done"]),
    "path": st.sampled_from(["x", "x#y"]),
    "number": st.integers(),
    "positive": st.integers(min_value=1),
    "id": st.uuids(),
    "at": st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1), max_value=datetime(2286, 1, 1)),
    "day": st.dates(),
}
HOLES = (
    "{a}", "{a:upper}", "{a:lower}", "{a:quote}", "{a:shard(12)}", "{may}", "{may:quote}", "{short}", "{slug}",
    "{slug:upper}", "{slug:quote}", "{status}", "{status:rank(done,open,opening)}", "{path}", "{number}", "{positive}",
    "{positive:040d}".replace("040", "038"), "{positive:shard(3)}", "{id}", "{id:shard(100)}", "{at:utc_s}",
    "{at:utc_ms}", "{at:utc_us}", "{at:epoch_s}", "{at:epoch_ms}", "{at:date}", "{at:month}", "{at:year}", "{at:hour}",
    "{at:minute}", "{day}", "{day:month}",
)  # fmt: skip
any_template = st.lists(
    st.sampled_from(HOLES) | st.sampled_from(["#", "##", "-", "a", "#-#"]), min_size=1, max_size=5
).map("".join)  # fmt: skip
ALL_FIELDS = FIELDS | {"slug": DeclaredField("slug", str, pattern=r"^[a-z]+-[0-9]{2}$")}


def literal(text: str) -> BoundTemplate:
    return parse(text.replace("{", "{{").replace("}", "}}")).bind({})


@settings(max_examples=examples(120), deadline=None)
@given(st.data(), any_template)
def test_every_rendered_key_is_accepted_by_the_algebra(data: st.DataObject, text: str) -> None:
    template = parse(text).bind(ALL_FIELDS)
    values = {name: data.draw(KINDS[name], label=name) for name in dict.fromkeys(template.fields)}
    try:
        key = template.render(values)
    except KeyPartError:
        return
    assert can_equal(template, literal(key)) == key
    size = data.draw(st.integers(1, len(key)))
    actual_captures = captures(key[:size], template)
    assert actual_captures is not None
    assert actual_captures.startswith(key[:size])


@pytest.mark.slow
def test_thousands_of_shards_are_as_fast_as_a_few() -> None:
    overlap = keys_overlap([bound("{a:shard(9999)}#{a}")], [bound("{a:shard(9999)}#{b}")])
    assert overlap is not None
    assert overlap.certain
    assert can_equal(bound("{a:shard(9999)}#"), bound("{b:shard(1000)}#")) is None
