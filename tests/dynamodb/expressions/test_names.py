"""Names: placeholder maps, reserved words, overlapping paths."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.expressions.names import (
    RESERVED_WORDS,
    ResolvedPath,
    check_names,
    check_placeholders,
    check_values,
    clash,
    is_reserved,
    path_text,
)
from keyplan.errors import ValidationError


def refused(check: object, *arguments: object) -> str:
    with pytest.raises(ValidationError) as caught:
        check(*arguments)  # type: ignore[operator]
    return caught.value.message


def test_missing_and_valid_maps_pass() -> None:
    check_names(None)
    check_values(None)
    check_names({"#a": "a", "#1_": "any thing: at.all"})
    check_values({":a": {"S": ""}, ":" + "x" * 254: {"S": ""}})


@pytest.mark.parametrize("key", ["a", ":a", "#", "#a-b", "#a b", "#ä", "##"])
def test_name_placeholders_are_a_hash_sign_and_a_word(key: str) -> None:
    expected = f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{key}"'
    assert refused(check_names, {key: "x"}) == expected


@pytest.mark.parametrize("key", ["a", "#a", ":", ":a.b", ":a\n"])
def test_value_placeholders_are_a_colon_and_a_word(key: str) -> None:
    expected = f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{key}"'
    assert refused(check_values, {key: {"S": ""}}) == expected


def test_empty_maps_empty_names_and_long_placeholders_are_rejected() -> None:
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


def test_unused_placeholders_are_listed_in_java_hash_order() -> None:
    # Java's String.hashCode gives 1183, 1182 and 37539; the last four bits are the slot.
    names = {"#b": "b", "#a": "a", "#zz": "z"}
    assert refused(check_placeholders, names, None, set(), set()).endswith("keys: {#zz, #a, #b}")


def test_paths_are_shown_with_their_indexes_in_brackets() -> None:
    assert path_text(("a", 3, "b.c", 0)) == "[a, [3], b.c, [0]]"


def test_the_573_reserved_words_are_in_capitals() -> None:
    assert len(RESERVED_WORDS) == 573
    assert all(word.isascii() and word.isupper() for word in RESERVED_WORDS)


@pytest.mark.parametrize("name", ["status", "NAME", "Data", "ttl", "items", "year"])
def test_reserved_words_match_in_any_case(name: str) -> None:
    assert is_reserved(name)


@pytest.mark.parametrize("name", ["pk", "sk", "statuses", "id", "email", "remove"])
def test_other_names_are_not_reserved(name: str) -> None:
    assert not is_reserved(name)


steps = st.one_of(st.sampled_from("ab"), st.integers(0, 1))
paths = st.builds(lambda first, rest: (first, *rest), st.sampled_from("ab"), st.lists(steps, max_size=3))


def overlap(first: ResolvedPath, second: ResolvedPath) -> bool:
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]


def conflict(first: ResolvedPath, second: ResolvedPath) -> bool:
    for left, right in zip(first, second, strict=False):
        if isinstance(left, int) != isinstance(right, int):
            return True
        if left != right:
            return False
    return False


@given(st.lists(paths, max_size=6))
def test_overlaps_are_found_as_by_comparing_every_pair(given_paths: list[ResolvedPath]) -> None:
    pairs = list(combinations(given_paths, 2))
    problem = clash(given_paths)
    if any(overlap(*pair) for pair in pairs):
        assert problem is not None
        assert "overlap" in problem
    elif any(conflict(*pair) for pair in pairs):
        assert problem is not None
        assert "conflict" in problem
    else:
        assert problem is None


def test_long_lists_of_paths_take_linear_time() -> None:
    assert clash([(f"a{index}", "b") for index in range(20_000)]) is None
