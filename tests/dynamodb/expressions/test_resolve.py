"""Placeholder maps: their own rules, and what is left unused."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.expressions.resolve import check_names, check_placeholders, check_values, path_text
from keyplan.errors import ValidationError


def refused(check: object, *arguments: object) -> str:
    with pytest.raises(ValidationError) as caught:
        check(*arguments)  # type: ignore[operator]
    return caught.value.message


def test_absent_maps_and_good_ones_pass() -> None:
    check_names(None)
    check_values(None)
    check_names({"#a": "a", "#1_": "any thing: at.all"})
    check_values({":a": {"S": ""}, ":" + "x" * 254: {"S": ""}})


@pytest.mark.parametrize("key", ["a", ":a", "#", "#a-b", "#a b", "#ä", "##"])
def test_a_name_placeholder_is_a_hash_and_a_word(key: str) -> None:
    expected = f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{key}"'
    assert refused(check_names, {key: "x"}) == expected


@pytest.mark.parametrize("key", ["a", "#a", ":", ":a.b", ":a\n"])
def test_a_value_placeholder_is_a_colon_and_a_word(key: str) -> None:
    expected = f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{key}"'
    assert refused(check_values, {key: {"S": ""}}) == expected


def test_empty_maps_empty_names_and_long_placeholders_are_refused() -> None:
    assert refused(check_names, {}) == "ExpressionAttributeNames must not be empty"
    assert refused(check_values, {}) == "ExpressionAttributeValues must not be empty"
    assert refused(check_names, {"#a": ""}).endswith("Empty attribute name for key #a")
    assert refused(check_names, {"#" + "a" * 255: "a"}).endswith("size of key: 256")


def test_unused_placeholders_are_listed_names_before_values() -> None:
    names, values = {"#a": "a", "#b": "b"}, {":v": {"S": ""}}
    check_placeholders(names, values, {"#a", "#b", "#c"}, {":v"})
    expected = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"
    assert refused(check_placeholders, names, values, {"#a"}, set()) == expected
    expected = "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"
    assert refused(check_placeholders, names, values, {"#a", "#b"}, set()) == expected


def test_several_unused_placeholders_come_in_the_services_hash_order() -> None:
    # Java's String.hashCode gives 1183, 1182 and 37539; the last four bits are the slot.
    names = {"#b": "b", "#a": "a", "#zz": "z"}
    assert refused(check_placeholders, names, None, set(), set()).endswith("keys: {#zz, #a, #b}")


def test_paths_are_shown_with_their_indexes_in_brackets() -> None:
    assert path_text(("a", 3, "b.c", 0)) == "[a, [3], b.c, [0]]"
