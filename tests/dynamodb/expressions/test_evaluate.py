"""The conditions that every accepted item fulfils."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.expressions import nodes
from keyplan.dynamodb.expressions.compiled import compile_condition
from keyplan.dynamodb.expressions.nodes import render_condition

NAMES = {"#a": "a", "#dotted": "a.b", "#status": "status"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = :v", [("a", ":v", False)]),
        (":v = a", [("a", ":v", False)]),
        ("#status = :v", [("status", ":v", False)]),
        ("#dotted = :v", [("a.b", ":v", False)]),
        ("begins_with(#a, :v)", [("a", ":v", True)]),
        ("a = :v AND b < :w AND c = :x", [("a", ":v", False), ("c", ":x", False)]),
        ("(a = :v AND (b = :w)) AND (c = :x OR d = :v)", [("a", ":v", False), ("b", ":w", False)]),
        ("a = :v AND a = :w", [("a", ":v", False), ("a", ":w", False)]),
        ("a = :v OR b = :w", []),
        ("NOT a = :v", []),
        ("NOT (a = :v AND b = :w)", []),
        ("NOT NOT a = :v", []),
        ("a <> :v", []),
        ("a.b = :v", []),
        ("a[0] = :v", []),
        ("begins_with(a.b, :v)", []),
        ("begins_with(:v, a)", []),
        ("begins_with(a, b)", []),
        ("a = b", []),
        (":v = :w", []),
        ("size(a) = :v", []),
        ("a IN (:v)", []),
        ("a BETWEEN :v AND :w", []),
        ("contains(a, :v)", []),
        ("attribute_exists(a)", []),
    ],
)
def test_only_conditions_joined_by_and_are_required(text: str, expected: list[Any]) -> None:
    used = {name: NAMES[name] for name in NAMES if name in text}
    assert list(compile_condition(text, used, "FilterExpression").required) == expected


def test_conditions_that_always_fail_require_nothing() -> None:
    assert compile_condition("a = :v AND a = a", None, "FilterExpression").required == ()


texts = st.sampled_from(["", "x", "xy", "y"])
numbers = st.sampled_from(["0", "1"])
contents = st.one_of(
    texts.map(lambda text: {"S": text}),
    numbers.map(lambda number: {"N": number}),
    st.lists(texts, min_size=1, max_size=2, unique=True).map(lambda members: {"SS": members}),
)
values = st.fixed_dictionaries({":v": contents, ":w": contents, ":t": texts.map(lambda text: {"S": text})})
items = st.dictionaries(
    st.sampled_from("abc"), contents | contents.map(lambda inner: {"M": {"a": inner, "b": inner}}), max_size=3
)
paths = st.sampled_from([("a",), ("b",), ("c",), ("a", "a")]).map(nodes.Path)
placeholders = st.sampled_from([":v", ":w"]).map(nodes.Value)
terms: st.SearchStrategy[nodes.Condition] = st.one_of(
    st.builds(nodes.Compare, st.sampled_from(["=", "=", "<>"]), paths, placeholders),
    st.builds(nodes.Compare, st.just("="), placeholders, paths),
    paths.map(lambda path: nodes.Call("begins_with", (path, nodes.Value(":t")))),
    paths.map(lambda path: nodes.Call("attribute_exists", (path,))),
)


def joined(inner: st.SearchStrategy[nodes.Condition]) -> st.SearchStrategy[nodes.Condition]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(nodes.And, several), st.builds(nodes.Or, several), st.builds(nodes.Not, inner))


@given(node=st.recursive(terms, joined, max_leaves=5), item=items, bound=values)
def test_accepted_items_fulfil_the_required_conditions(node: nodes.Condition, item: Any, bound: Any) -> None:
    condition = compile_condition(render_condition(node), None, "FilterExpression")
    if condition.test(item, bound):
        for attribute, placeholder, is_prefix in condition.required:
            same = compile_condition(
                "begins_with(#n, :v)" if is_prefix else "#n = :v", {"#n": attribute}, "FilterExpression"
            )
            assert same.test(item, {":v": bound[placeholder]})
