"""Sizes of items and values."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.values import attribute

VALUES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda text: {"S": text}, st.text(max_size=3)),
    st.builds(lambda number: {"N": str(number)}, st.integers(-1000, 1000)),
    st.builds(lambda text: {"L": [{"S": text}]}, st.text(max_size=3)),
)
ITEMS = st.dictionaries(st.text("abcdé", min_size=1, max_size=2), VALUES, max_size=5)


@given(old=ITEMS, changed=ITEMS, removed=st.sets(st.text("abcdé", min_size=1, max_size=2)))
def test_changed_item_bytes_equals_measuring_the_new_item(
    old: dict[str, Any], changed: dict[str, Any], removed: set[str]
) -> None:
    new = {name: value for name, value in {**old, **changed}.items() if name not in removed}
    names = changed.keys() | removed
    assert attribute.changed_item_bytes(old, attribute.item_bytes(old), new, names) == attribute.item_bytes(new)


@given(st.binary(max_size=40))
def test_binary_has_the_size_of_its_decoded_bytes(content: bytes) -> None:
    assert attribute.value_bytes({"B": base64.b64encode(content).decode()}) == len(content)
