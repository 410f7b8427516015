"""Traces: bytes that show without decoding that an item does not have a value."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyplan.dynamodb.values import encoding

names = st.text(min_size=1, max_size=6) | st.sampled_from(["S", "B", "M", 'a"b', "\\", "\x00", "é", "\U0001f600"])
texts = st.text(max_size=12) | st.sampled_from(['"', "\\", "\x7f", "\n", "/", "\u2028", 'x"},"y":{"S":"z'])
scalars = st.one_of(
    texts.map(lambda text: {"S": text}),
    st.sampled_from(["0", "-1", "1.5", "1000"]).map(lambda number: {"N": number}),
    st.sampled_from(["", "AA==", "YWJj"]).map(lambda base64: {"B": base64}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
)
items = st.dictionaries(names, scalars | st.lists(scalars, max_size=2).map(lambda listed: {"L": listed}), max_size=4)


@given(item=items, name=names, value=scalars)
def test_items_with_a_value_contain_its_trace(item: Any, name: str, value: Any) -> None:
    trace = encoding.trace(name, value)
    assert trace is not None
    assert trace in encoding.encode({**item, name: value})


@given(item=items, name=names, text=texts, rest=texts)
@example(item={}, name="a", text='x"', rest='"')
@example(item={}, name="a", text="\U0001f600e", rest="\u0301")
def test_items_whose_string_has_a_prefix_contain_its_trace(item: Any, name: str, text: str, rest: str) -> None:
    trace = encoding.trace(name, {"S": text}, is_prefix=True)
    assert trace is not None
    assert trace in encoding.encode({**item, name: {"S": text + rest}})


@given(name=names, value=scalars, other=scalars)
def test_items_with_another_value_do_not_contain_the_trace(name: str, value: Any, other: Any) -> None:
    trace = encoding.trace(name, value)
    assert trace is not None
    assert (trace in encoding.encode({name: other})) == (value == other)


class Folded(str):
    """A text that is equal to other texts."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.casefold() == other.casefold()


@pytest.mark.parametrize(
    "value", [{"SS": ["a", "b"]}, {"NS": ["1"]}, {"L": []}, {"M": {"a": {"SS": ["b", "a"]}}}, {"S": Folded("a")}]
)
def test_values_with_several_encodings_have_no_trace(value: Any) -> None:
    assert encoding.trace("a", value) is None
    assert encoding.trace("a", value, is_prefix=True) is None


def test_binary_has_no_prefix_trace() -> None:
    """Return no trace: the base64 text of a prefix is not the prefix of the text."""
    assert encoding.trace("a", {"B": "YWI="}, is_prefix=True) is None


@pytest.mark.parametrize("decoded", [False, True])
def test_a_page_accepts_decoded_items(decoded: bool) -> None:
    items: list[Any] = [{"a": {"B": "YWI="}}, {"a": {"S": "x"}}, {"B": {"N": "1"}}]
    bodies = [encoding.encode(item) for item in items]
    decoded_items = items if decoded else []
    assert orjson.loads(orjson.dumps(encoding.WIRE.page(bodies, decoded_items))) == items
    assert encoding.PYTHON.page(bodies, decoded_items) == [{"a": {"B": b"ab"}}, *items[1:]]
    assert encoding.PYTHON.page([], []) == []
