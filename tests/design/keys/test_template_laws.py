"""Laws of random templates: what a reversible one renders is read back exactly, and nothing else is read at all."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.laws import examples

from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys.encodings import KeyPartError
from keyplan.design.keys.templates import BoundTemplate, parse

# Letters, digits and punctuation that literals, escapes and choices consist of: most splits are wrong ones.
ADVERSE = st.text(st.sampled_from("abTx#:%-|{140é\x00\U0010ffff"), max_size=6)
FILLED = ADVERSE.filter(bool)
TIMESTAMPS = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))

FIELDS: dict[str, tuple[DeclaredField, st.SearchStrategy[Any], tuple[str, ...]]] = {
    "text": (DeclaredField("text", str), FILLED, ("", "quote")),
    "more": (DeclaredField("more", str), FILLED, ("", "quote")),
    "may": (DeclaredField("may", str, min_length=0), ADVERSE, ("", "quote")),
    "slug": (
        DeclaredField("slug", str, pattern=r"^[abx10]+$"),
        st.text(st.sampled_from("abx10"), min_size=1, max_size=4),
        ("",),
    ),
    "number": (DeclaredField("number", int), st.integers(0, 9999), ("", "04d")),
    "id": (DeclaredField("id", UUID), st.uuids(), ("",)),
    "day": (DeclaredField("day", date), st.dates(date(1, 1, 1)), ("",)),
    "at": (DeclaredField("at", datetime), TIMESTAMPS, ("utc_us",)),
    "path": (
        DeclaredField("path", str, choices=("x", "x#a", "a", "x:", "T")),
        st.sampled_from(("x", "x#a", "a", "x:", "T")),
        ("", "quote", "rank(x,x#a,a,x:,T)"),
    ),
    "word": (DeclaredField("word", str, choices=("open", "done")), st.sampled_from(("open", "done")), ("", "quote")),
}
LITERALS = st.sampled_from(("", "", "#", ":", "%", "%4", "T", "##", "#:", "-", "#a#", "x", "1", "open", "é", "{{"))


@st.composite
def templates(draw: st.DrawFn) -> BoundTemplate:
    """Draw a template of up to four different fields, with any text between them or none."""
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=4, unique=True))
    text = draw(LITERALS)
    for name in names:
        spec = draw(st.sampled_from(FIELDS[name][2]))
        text += f"{{{name}{':' if spec else ''}{spec}}}" + draw(LITERALS)
    return bound(text)


def bound(text: str) -> BoundTemplate:
    return parse(text).bind({name: field for name, (field, _, _) in FIELDS.items()})


@settings(deadline=None, max_examples=examples(400))
@given(st.data(), templates())
def test_a_reversible_template_returns_exactly_its_values(data: st.DataObject, template: BoundTemplate) -> None:
    assume(template.reversible)
    values = {name: data.draw(FIELDS[name][1], label=name) for name in template.fields}
    try:
        key = template.render(values)
    except KeyPartError:
        assume(False)
    assert template.match(key) == values


@settings(deadline=None, max_examples=examples(300))
@given(templates(), st.text(st.sampled_from("abTx#:%-|{140é"), max_size=12))
@example(bound("{text:quote}%{more}"), "a%41%x")
def test_a_template_matches_only_texts_that_it_would_render(template: BoundTemplate, text: str) -> None:
    assume(template.reversible)
    values = template.match(text)
    assert values is None or template.render(values) == text


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{text:quote}:{more}", {"text": "x", "more": "y:z"}),
        ("{text:quote}:{more:quote}", {"text": "x:y", "more": "y:z"}),
        ("{text:quote}%{more}", {"text": "a", "more": "41%z"}),
        ("{text:quote}T{more}", {"text": "a", "more": "bTc"}),
        ("{path}#{more}", {"path": "x", "more": "a#b"}),
    ],
)
def test_text_after_a_delimiter_may_contain_it_again(text: str, values: dict[str, str]) -> None:
    template = bound(text)
    assert template.match(template.render(values)) == values
