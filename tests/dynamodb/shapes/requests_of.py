"""Hypothesis strategies for requests: valid ones generated from a shape, and ones with any value in any place."""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from keyplan.dynamodb.shapes.model import (
    AttributeValue,
    Blob,
    Boolean,
    Integer,
    List,
    Long,
    Map,
    Shape,
    String,
    Structure,
    Timestamp,
)

TEXT = st.text(max_size=8)
NAMES = st.from_regex("[a-zA-Z0-9_.-]{3,20}", fullmatch=True)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
# Generated again each time: a damaged request may be damaged again inside.
ODD = st.one_of(
    st.builds(lambda: b"x"),
    st.builds(lambda: bytearray(b"y")),
    st.builds(lambda: memoryview(b"z")),
    st.builds(lambda: Decimal(1)),
    st.builds(lambda: (1, 2)),
    st.builds(lambda: {1, 2}),
    st.builds(lambda: {1: 2}),
    st.builds(lambda: "\ud800"),
    st.builds(lambda: float("nan")),
    st.builds(object),
)


def values(wire: bool) -> st.SearchStrategy[Any]:
    """Return attribute values whose types are right, well formed or not."""
    blob = st.binary(max_size=6).map(lambda content: b64encode(content).decode() if wire else content)
    scalar = st.one_of(
        st.fixed_dictionaries({"S": TEXT}),
        st.fixed_dictionaries({"N": TEXT}),
        st.fixed_dictionaries({"B": blob}),
        st.fixed_dictionaries({"BOOL": st.booleans()}),
        st.fixed_dictionaries({"NULL": st.booleans()}),
        st.fixed_dictionaries({"SS": st.lists(TEXT, max_size=3)}),
        st.fixed_dictionaries({"BS": st.lists(blob, max_size=3)}),
    )
    return st.recursive(
        scalar,
        lambda inner: (
            st.fixed_dictionaries({"L": st.lists(inner, max_size=3)})
            | st.fixed_dictionaries({"M": st.dictionaries(TEXT, inner, max_size=3)})
        ),
        max_leaves=5,
    )


def good(shape: Shape, wire: bool) -> st.SearchStrategy[Any]:
    """Return valid content of the shape."""
    match shape:
        case Structure():
            needed = {*shape.required, *(() if shape.leading_member is None else (shape.leading_member.name,))}
            members = {name: good(member, wire) for name, member in shape.members.items()}
            return st.fixed_dictionaries(
                {name: member for name, member in members.items() if name in needed},
                optional={name: member for name, member in members.items() if name not in needed},
            )
        case Map():
            keys = NAMES if shape.keys is not None else TEXT
            return st.dictionaries(keys, good(shape.value, wire), min_size=shape.min or 0, max_size=3)
        case List():
            return st.lists(good(shape.element, wire), min_size=shape.min or 0, max_size=min(shape.max or 3, 3))
        case AttributeValue():
            return values(wire)
        case _:
            return _good_scalar(shape, wire)


def _good_scalar(shape: Shape, wire: bool) -> st.SearchStrategy[Any]:
    match shape:
        case String() if shape.enum is not None:
            return st.sampled_from(shape.enum)
        case String() if shape.pattern is not None and "a-zA-Z0-9_.-" in shape.pattern:
            return NAMES
        case String() if shape.pattern is not None:
            return _matching(shape.pattern, shape.min or 1, shape.max or 255)
        case String():
            low = shape.min or 0
            return st.text("abc", min_size=low, max_size=max(low, min(shape.max or 8, 40)))
        case Integer() | Long():
            return st.integers(shape.min or 0, min(shape.max or 1000, 1000))
        case Blob():
            return st.binary(max_size=6).map(lambda content: b64encode(content).decode() if wire else content)
        case Timestamp():
            return st.integers(0, 2**31)
        case Boolean():
            return st.booleans()
        case _:
            raise AssertionError(shape)


def _matching(pattern: str, low: int, high: int) -> st.SearchStrategy[str]:
    """Return text of this length; shorter text is repeated, which patterns of repeated parts accept."""
    texts = st.from_regex(pattern, fullmatch=True).filter(bool)
    return texts.map(lambda text: text * -(-low // len(text))).filter(lambda text: low <= len(text) <= high)


def damaged(requests: st.SearchStrategy[Any], wire: bool) -> st.SearchStrategy[Any]:
    """Return a valid request with one or two members replaced or removed."""
    anything = JSON if wire else JSON | ODD

    @st.composite
    def build(draw: st.DrawFn) -> Any:
        request = draw(requests)
        for _ in range(draw(st.integers(1, 2))):
            _damage(draw, request, anything)
        return request

    return build()


def _damage(draw: st.DrawFn, holder: Any, anything: st.SearchStrategy[Any]) -> None:
    while True:
        places: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not places:
            return
        place = draw(st.sampled_from(places))
        inner = holder[place]
        if isinstance(inner, dict | list) and inner and draw(st.booleans()):
            holder = inner
            continue
        if isinstance(holder, dict) and draw(st.booleans()):
            del holder[place]
        else:
            holder[place] = draw(anything)
        return
