"""Templates: what their text means, the keys they make, and the laws that keep one key from being read as another."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Optional
from uuid import UUID

import pydantic
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.laws import examples

from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys.encodings import KeyPartError, MissingField, TemplateError
from keyplan.design.keys.placeholders import Placeholder, Text
from keyplan.design.keys.templates import BoundTemplate, parse

UserId = NewType("UserId", str)
Code = NewType("Code", Annotated[str, pydantic.Field(min_length=2, max_length=4)])


class Priority(Enum):
    LOW = "low"
    HIGH = "high"


FIELDS = {
    field.name: field
    for field in (
        DeclaredField("user", str),
        DeclaredField("task", str, max_length=10),
        DeclaredField("may", str, min_length=0),
        DeclaredField("slug", str, pattern=r"^[a-z0-9]+$"),
        DeclaredField("number", int),
        DeclaredField("id", UUID),
        DeclaredField("at", datetime),
        DeclaredField("day", date),
        DeclaredField("status", str, choices=("done", "open")),
        DeclaredField("path", str, choices=("x", "x#y", "z")),
        DeclaredField("priority", Priority, choices=tuple(Priority)),
        DeclaredField("amount", float),
        DeclaredField("total", Decimal),
        DeclaredField("tags", list[str]),
    )
}
AT = datetime(2025, 1, 2, 3, 4, 5, 678_000, UTC)
texts = st.text(st.sampled_from("ab#:|$\x00é\U0010ffff"), min_size=1, max_size=4)
STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "user": texts,
    "task": texts,
    "may": st.just("") | texts,
    "slug": st.text(st.sampled_from("a0z"), min_size=1, max_size=4),
    "number": st.integers(0, 9999),
    "id": st.uuids(),
    "at": st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1)),
    "day": st.dates(),
    "status": st.sampled_from(["done", "open"]),
    "path": st.sampled_from(["x", "x#y", "z"]),
    "priority": st.sampled_from(Priority),
}
TEMPLATES = (
    "TASK#{user}#{at:utc_ms}",
    "{user}#{task}",
    "{user}##{task}",
    "{user}#:#{task}|{may}",
    "{may}#",
    "{user}T{number:04d}",
    "{number:04d}{user}",
    "{status}#{priority:rank(low,high)}#{id}",
    "{path}#{user}",
    "{day}-{user}",
    "{id}{day}{user}",
    "A{{{user:quote}}}{task}",
    "{user:quote}-{number}",
    "{user:quote}:{task}",
    "{at:date}#{at:utc_us}",
    "{user:shard(3)}#{user}",
    "{at:epoch_s}#{id}",
    "{slug}#{at:epoch_ms}",
    "{number}#{priority}",
)
templates = st.sampled_from(TEMPLATES)


def bound(text: str) -> BoundTemplate:
    return parse(text).bind(FIELDS)


def drawn(data: st.DataObject, template: BoundTemplate) -> dict[str, Any]:
    """Values that the template takes, at the precision of its specs."""
    values = {name: data.draw(STRATEGIES[name], label=name) for name in dict.fromkeys(template.fields)}
    if "at" in values and "utc_us" not in template.text:
        values["at"] = values["at"].replace(microsecond=0)
    try:
        template.render(values)
    except KeyPartError:
        assume(False)
    return values


@settings(deadline=None)
@given(st.data(), templates)
def test_a_key_is_parsed_to_its_values(data: st.DataObject, text: str) -> None:
    template = bound(text)
    assert template.reversible
    values = drawn(data, template)
    key = template.render(values)
    assert template.match(key) == values
    assert template.min_bytes <= len(key.encode())
    if all(len(str(value)) <= (FIELDS[name].max_length or 99) for name, value in values.items()):
        assert template.max_bytes is None or len(key.encode()) <= template.max_bytes
    assert key.startswith(template.literal_prefix)


@settings(deadline=None)
@given(st.data(), templates)
def test_different_values_never_render_the_same_key(data: st.DataObject, text: str) -> None:
    template = bound(text)
    first, second = drawn(data, template), drawn(data, template)
    assert (template.render(first) == template.render(second)) == (first == second)


@settings(deadline=None)
@given(st.data(), templates, st.integers(0, 3))
def test_every_key_starts_with_the_prefix_of_its_values(data: st.DataObject, text: str, count: int) -> None:
    template = bound(text)
    values = drawn(data, template)
    known_values = {name: values[name] for name in list(dict.fromkeys(template.fields))[:count]}
    prefix, used = template.prefix(known_values)
    assert set(used) <= set(known_values)
    assert template.render(values).startswith(prefix)


@settings(deadline=None)
@given(st.data(), templates)
def test_a_prefix_that_ends_in_a_literal_matches_no_other_value(data: st.DataObject, text: str) -> None:
    template = bound(text)
    first, second = drawn(data, template), drawn(data, template)
    field = template.fields[0]
    prefix, used = template.prefix({field: first[field]})
    if used == (field,) and prefix.endswith(("#", ":", "|", "T")) and not isinstance(template.parts[-1], Text):
        assert template.render(second).startswith(prefix) == (second[field] == first[field])


ORDERED = (
    ("TASK#{user}#{at:utc_ms}", "at"),
    ("TASK#{user}#{at:utc_ms}#{task}", "at"),
    ("{user}#{task}", "task"),
    ("{number:04d}{user}", "number"),
    ("{status}#{number:04d}", "status"),
    ("{priority:rank(low,high)}#{user}", "priority"),
    ("{day}-{user}", "day"),
    ("{id}{day}{user}", "id"),
    ("{id}{day}{user}", "day"),
    ("{id}{day}{user}", "user"),
    ("A#{day}#{may}", "day"),
    ("A#{day}#{may}", "may"),
    ("{at:date}#{at:utc_us}", "at"),
    ("{at:epoch_s}#{id}", "at"),
    ("{slug}#{at:epoch_ms}", "slug"),
    ("{slug}##{user}", "slug"),
    ("S{user}", "user"),
    ("{id}#END", "id"),
    ("{slug}#END", "slug"),
)


def place(name: str, value: Any) -> Any:
    """Return the comparison key of a value: of a declared alternative, its position."""
    choices = FIELDS[name].choices
    return choices.index(value) if choices else value


def with_same_head(data: st.DataObject, template: BoundTemplate, field: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two sets of values that are alike before the field."""
    first, second = drawn(data, template), drawn(data, template)
    head = template.fields[: template.fields.index(field)]
    return first, second | {name: first[name] for name in head}


@settings(deadline=None)
@given(st.data(), st.sampled_from(ORDERED))
def test_keys_sort_by_a_field_in_utf8_bytes_if_the_template_keeps_order(
    data: st.DataObject, case: tuple[str, str]
) -> None:
    text, field = case
    template = bound(text)
    assert template.keeps_order_from(field)
    first, second = with_same_head(data, template, field)
    assume(first[field] != second[field])
    by_key = template.render(first).encode() < template.render(second).encode()
    assert by_key == (place(field, first[field]) < place(field, second[field]))


@settings(deadline=None, max_examples=examples(300))
@given(st.data(), st.sampled_from(ORDERED))
def test_bounds_contain_exactly_the_keys_of_the_range(data: st.DataObject, case: tuple[str, str]) -> None:
    text, field = case
    template = bound(text)
    request, stored = with_same_head(data, template, field)
    names = dict.fromkeys(template.fields[: template.fields.index(field) + 1])
    given_values = {name: request[name] for name in names}
    head = {name: request[name] for name in names if name != field}
    key = template.render(stored).encode()
    start, end = place(field, stored[field]), place(field, request[field])
    low, high = template.lower(head).encode(), template.upper(head).encode()
    assert low <= key <= high
    assert (template.lower(given_values).encode() <= key) == (start >= end)
    assert (key <= template.upper(given_values).encode()) == (start <= end)
    assert (template.after(given_values).encode() <= key) == (start > end)
    assert (key <= template.before(given_values).encode()) == (start < end)


def test_bounds_are_short_texts_around_the_delimiter() -> None:
    template = bound("TASK#{user}#{at:utc_ms}#{task}")
    values = {"user": "bob", "at": AT}
    timestamp = "TASK#bob#2025-01-02T03:04:05.678Z"
    assert template.lower(values) == timestamp + "#"
    assert template.upper(values) == timestamp + "$"
    assert template.after(values) == timestamp + "$"
    assert template.before(values) == timestamp
    assert template.lower({"user": "bob"}) == "TASK#bob#0"
    assert template.upper({"user": "bob"}) == "TASK#bob#:"
    assert template.lower({}) == "TASK#"
    assert template.upper({}) == "TASK$"


def test_bounds_of_a_template_that_starts_with_a_placeholder_are_never_empty() -> None:
    assert (bound("{at:utc_s}").lower({}), bound("{at:utc_s}").upper({})) == ("0", ":")
    assert bound("{user}").lower({}) == "\0"
    assert len(bound("{user}").upper({}).encode()) == 1024


def test_a_bound_finer_than_its_format_includes_the_keys_of_its_unit() -> None:
    template = bound("{at:utc_s}")
    key = template.render({"at": AT})
    assert template.after({"at": AT}) <= key <= template.before({"at": AT})
    by_day = bound("{at:date}#{user}")
    noon, start = AT.replace(hour=12), AT.replace(hour=0, minute=0, second=0, microsecond=0)
    key = by_day.render({"at": AT, "user": "a"})
    assert by_day.after({"at": noon}) <= key <= by_day.before({"at": noon})
    assert not key <= by_day.before({"at": start})
    assert by_day.after({"at": start}) <= key


def test_an_enum_member_given_by_value_has_strict_bounds() -> None:
    template = bound("{priority:rank(low,high)}#{user}")
    assert template.before({"priority": "high"}) == template.before({"priority": Priority.HIGH}) == "2"


def test_an_optional_next_placeholder_keeps_the_following_text_inside_the_bounds() -> None:
    template = bound("A#{may:quote}é{user}")
    assert template.lower({}) <= template.render({"may": "", "user": "x"}) <= template.upper({})
    with pytest.raises(ValueError, match="may be empty"):
        bound("{day}{may}").upper({"day": date(2025, 1, 1)})


def test_a_strict_bound_over_an_unordered_placeholder_is_rejected() -> None:
    for text, values in (("{number}", {"number": 3}), ("{user}#{task}", {"user": "a"})):
        with pytest.raises(ValueError, match="do not sort"):
            bound(text).after(values)
        with pytest.raises(ValueError, match="do not sort"):
            bound(text).before(values)
    with pytest.raises(MissingField):
        bound("A{at:utc_s}").after({})


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{user}#{task}", "user"),  # "a!#" sorts before "a#"
        ("{number}", "number"),
        ("{at:date}#{user}", "at"),
        ("{at:date}#{user}#{at:utc_s}", "at"),
        ("{user:upper}", "user"),
        ("{user:shard(4)}", "user"),
        ("{user}{task}", "user"),
        ("{priority}", "priority"),
        ("{path}#{user}", "nobody"),
    ],
)
def test_keys_that_do_not_sort_by_a_field_are_recognized(text: str, field: str) -> None:
    assert not bound(text).keeps_order_from(field)


def test_a_template_consists_of_texts_and_placeholders() -> None:
    template = parse("A{{b}}#{user}{at:utc_ms}")
    assert template.parts == (Text("A{b}#"), Placeholder("user", "", 7), Placeholder("at", "utc_ms", 13))
    assert template.fields == ("user", "at")
    assert template.text == "A{{b}}#{user}{at:utc_ms}"
    assert bound("META").render({}) == "META"


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 0, "empty"),
        ("a}b", 1, "no opening brace"),
        ("ab{user", 2, "never closed"),
        ("{user{task}", 0, "never closed"),
        ("A{}", 1, "placeholder is empty"),
        ("A{user.name}", 2, "is not a field name"),
        ("A{user!r}", 2, "is not a field name"),
        ("A{ user}", 2, "is not a field name"),
        ("A{user:}", 7, "spec after the colon is missing"),
        ("A\ud800", 1, "surrogate"),
        ("A{usr}", 2, "unknown field 'usr'"),
        ("A{amount}", 2, "float"),
        ("A{amount:010d}", 9, "float"),
        ("A{total}", 2, "Decimal"),
        ("A{tags}", 2, "list[str]"),
        ("A{at}", 2, "precision"),
        ("A{user:utc_ms}", 7, "datetime"),
        ("A{user:wrong}", 7, "unknown spec"),
    ],
)
def test_an_invalid_template_is_rejected_at_its_position(text: str, position: int, problem: str) -> None:
    with pytest.raises(TemplateError) as caught:
        bound(text)
    error = caught.value
    assert (error.text, error.position) == (text, position)
    assert problem in error.problem
    assert error.fix
    assert error.fix in str(error)


def test_an_unknown_field_is_reported_with_the_closest_names() -> None:
    with pytest.raises(TemplateError) as caught:
        bound("{usre}")
    assert "user" in caught.value.fix


def test_a_value_with_the_following_delimiter_is_rejected_with_its_field() -> None:
    with pytest.raises(KeyPartError) as caught:
        bound("{user}#{task}").render({"user": "a#b", "task": "c"})
    assert (caught.value.field, caught.value.value, caught.value.delimiter) == ("user", "a#b", "#")
    assert bound("{user}#{task}").render({"user": "a", "task": "b#c"}) == "a#b#c"


@pytest.mark.parametrize("value", ["a##", "a#", "##", "b##c"])
def test_a_value_may_not_end_in_half_of_a_longer_delimiter(value: str) -> None:
    with pytest.raises(KeyPartError):
        bound("{user}##{task}").render({"user": value, "task": "c"})
    assert bound("{user}##{task}").render({"user": "#a", "task": "c"}) == "#a##c"


def test_the_punctuation_of_the_next_text_is_the_delimiter() -> None:
    assert bound("{user}#TASK#{task}").delimiter_risks() == [("user", "#")]
    assert bound("{user}TASK#{task}").delimiter_risks() == [("user", "TASK#")]
    assert bound("{user}TASK{task}").render({"user": "TAS", "task": "x"}) == "TASTASKx"


def test_the_delimiter_is_checked_even_with_a_declared_width() -> None:
    for field in (
        DeclaredField("code", str, min_length=3, max_length=3),
        DeclaredField("code", str, pattern="^[a-z]{3}$"),
    ):
        template = parse("{code}#{user}").bind({"code": field, "user": FIELDS["user"]})
        with pytest.raises(KeyPartError):
            template.render({"code": "a#b", "user": "c"})
    negative = parse("{n}-{user}").bind({"n": DeclaredField("n", int, minimum=10, maximum=99), "user": FIELDS["user"]})
    assert negative.delimiter_risks() == []
    with pytest.raises(KeyPartError):
        negative.render({"n": -5, "user": "c"})


def test_a_declared_width_keeps_order_before_a_delimiter() -> None:
    fields = {"code": DeclaredField("code", str, min_length=3, max_length=3), "user": FIELDS["user"]}
    assert parse("{code}#{user}").bind(fields).keeps_order_from("code")


def test_a_choice_is_rejected_only_if_it_reads_as_another() -> None:
    template = bound("{path}#{user}")
    assert template.render({"path": "x", "user": "y#u"}) == "x#y#u"
    with pytest.raises(KeyPartError):
        template.render({"path": "x#y", "user": "u"})
    assert template.delimiter_risks() == [("path", "#")]


@pytest.mark.parametrize(
    ("text", "risks"),
    [
        ("{user}#{task}", [("user", "#")]),
        ("{user}", []),
        ("{slug}#{task}", []),
        ("{user:quote}#{task}", []),
        ("{user:quote}-{task}", []),
        ("{number:04d}#{task}", []),
        ("{id}-{task}", []),
        ("{at:utc_ms}:{task}", []),
        ("{status}#{task}", []),
        ("{number}-{task}", [("number", "-")]),
        ("{user}{task}", [("user", "")]),
        ("{number:04d}{task}", []),
    ],
)
def test_delimiter_risks_name_fields_and_delimiters(text: str, risks: list[tuple[str, str]]) -> None:
    assert bound(text).delimiter_risks() == risks
    assert bound(text).reversible == (("user", "") not in risks)


def test_a_missing_or_empty_value_is_rejected() -> None:
    template = bound("TASK#{user}#{task}")
    for values in ({"user": "a"}, {"user": "a", "task": None}):
        with pytest.raises(MissingField) as caught:
            template.render(values)
        assert caught.value.field == "task"
        assert template.text in str(caught.value)
    with pytest.raises(KeyPartError, match="empty"):
        template.render({"user": "", "task": "b"})
    assert bound("A{may}").render({"may": ""}) == "A"
    with pytest.raises(KeyPartError, match="empty"):
        bound("{may}").render({"may": ""})
    assert bound("{may}").match("") is None


def test_a_lone_surrogate_is_not_allowed_in_a_key() -> None:
    with pytest.raises(KeyPartError, match="surrogate") as caught:
        bound("{user}#{task}").render({"user": "é", "task": "\ud800"})
    assert caught.value.field == "task"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("TASK#{user}", "USER#a"),
        ("TASK#{user}", "TASK#"),
        ("{user}#{task}", "ab"),
        ("{user}#{number}", "a#x"),
        ("{user}#{number}", "a#007"),
        ("{number:04d}", "12345"),
        ("{status}", "closed"),
        ("{day}", "2025-02-30"),
        ("{at:utc_ms}", "2025-01-01T00:00:00Z"),
        ("{id}", "0F8FAD5B-D9CB-469F-A165-70867728950E"),
        ("{user}#{user}", "a#b"),
        ("{user:shard(3)}#{user}", "9#a"),
        ("{user:upper}", "a"),
        ("{at:date}#{at:utc_s}", "2025-01-02#2025-01-01T00:00:00Z"),
        ("{path}#{user}", "w#u"),
    ],
)
def test_a_key_of_another_kind_does_not_match(text: str, key: str) -> None:
    assert bound(text).match(key) is None


def test_lossy_placeholders_are_left_out_of_parsed_values() -> None:
    assert bound("{user:upper}#{task}").match("A#b") == {"task": "b"}
    assert not bound("{user:upper}#{task}").reversible
    assert bound("{user:upper}#{user}").match("A#a") == {"user": "a"}
    assert bound("{user:upper}#{user}").reversible


def test_variants_are_all_possible_keys() -> None:
    template = bound("{at:date}#{user:shard(3)}")
    assert template.variants({"at": AT}) == ("2025-01-02#0", "2025-01-02#1", "2025-01-02#2")
    assert template.variants({"at": AT, "user": "a"}) == (template.render({"at": AT, "user": "a"}),)
    with pytest.raises(MissingField):
        template.variants({"user": "a"})


def test_sizes_count_utf8_bytes() -> None:
    assert (bound("é{task}").min_bytes, bound("é{task}").max_bytes) == (3, 42)
    assert bound("{at:utc_ms}#{id}").max_bytes == 24 + 1 + 36
    assert bound("{user}").max_bytes is None


def test_templates_with_equal_text_and_fields_are_equal() -> None:
    assert bound("{user}#") == bound("{user}#")
    assert hash(bound("{user}#")) == hash(bound("{user}#"))
    assert bound("{user}#") != parse("{user}#").bind({"user": DeclaredField("user", int)})


class Model(pydantic.BaseModel):
    user: UserId
    code: Code
    nick: Code | None = None
    title: Annotated[str, pydantic.Field(min_length=1, max_length=200)]
    slug: Annotated[str, pydantic.StringConstraints(pattern=r"^[a-z]+$", max_length=9)]
    old: Optional[int] = None  # noqa: UP045  the older spelling is what is tested
    count: Annotated[int, pydantic.Field(ge=1, lt=100)] = 1
    status: Literal["open", "done"] = "open"
    maybe: Literal["a", None] = None
    priority: Priority | None = None
    at: datetime | None = None
    raw: bytes = b""
    amount: float = 0
    mixed: int | str = 0
    long: str = pydantic.Field(max_length=7)


MODEL = {name: DeclaredField.from_annotation(name, info.annotation, info) for name, info in Model.model_fields.items()}


@pytest.mark.parametrize(
    "expected",
    [
        DeclaredField("user", str),
        DeclaredField("code", str, min_length=2, max_length=4),
        DeclaredField("nick", str, optional=True, min_length=2, max_length=4),
        DeclaredField("title", str, min_length=1, max_length=200),
        DeclaredField("slug", str, max_length=9, pattern=r"^[a-z]+$"),
        DeclaredField("old", int, optional=True),
        DeclaredField("count", int, minimum=1, maximum=99),
        DeclaredField("status", str, choices=("open", "done")),
        DeclaredField("maybe", str, optional=True, choices=("a",)),
        DeclaredField("priority", Priority, optional=True, choices=tuple(Priority)),
        DeclaredField("at", datetime, optional=True),
        DeclaredField("raw", bytes),
        DeclaredField("amount", float),
        DeclaredField("mixed", int | str),
        DeclaredField("long", str, max_length=7),
    ],
    ids=lambda field: field.name,
)
def test_a_field_is_declared_by_its_annotation(expected: DeclaredField) -> None:
    assert MODEL[expected.name] == expected


def test_a_field_can_be_declared_without_a_model() -> None:
    assert DeclaredField.from_annotation("u", UserId | None) == DeclaredField("u", str, optional=True)
    assert DeclaredField.from_annotation("c", Annotated[str, pydantic.Field(max_length=3)]) == DeclaredField(
        "c", str, max_length=3
    )


def test_a_union_of_types_has_no_text() -> None:
    with pytest.raises(TemplateError, match="mixed is int"):
        parse("{mixed}").bind(MODEL)


def test_timestamps_are_rounded_down_and_match_at_the_precision_of_the_key() -> None:
    template = bound("{at:utc_ms}")
    late = AT + timedelta(microseconds=999)
    assert template.match(template.render({"at": late})) == {"at": AT}
