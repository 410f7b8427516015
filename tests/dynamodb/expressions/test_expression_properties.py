"""Properties over generated trees, items and texts."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.laws import examples

from keyplan.dynamodb.expressions import nodes, parser
from keyplan.dynamodb.expressions.compiled import (
    compile_condition,
    compile_key_condition,
    compile_projection,
    compile_update,
)
from keyplan.dynamodb.expressions.nodes import render_condition, render_projection, render_update
from keyplan.errors import ValidationError

# Trees as the parsers build them.

names = st.sampled_from(["a", "b", "c", "#n", "long_Name9", "#1"])
steps = st.one_of(names, st.integers(0, 3))
paths = st.builds(lambda first, rest: nodes.Path((first, *rest)), names, st.lists(steps, max_size=2))
values = st.sampled_from([nodes.Value(":v"), nodes.Value(":w1"), nodes.Value(":_")])
functions = st.sampled_from(["size", "f", "attribute_exists", "if_not_exists"])


def calls(inner: st.SearchStrategy[nodes.Operand]) -> st.SearchStrategy[nodes.Operand]:
    arguments = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.builds(nodes.Call, functions, arguments)


operands: st.SearchStrategy[nodes.Operand] = st.recursive(paths | values, calls, max_leaves=4)
choices = st.lists(operands, min_size=1, max_size=3).map(tuple)
terms: st.SearchStrategy[nodes.Condition] = st.one_of(
    st.builds(nodes.Compare, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), operands, operands),
    st.builds(nodes.Between, operands, operands, operands),
    st.builds(nodes.In, operands, choices),
    st.builds(nodes.Call, functions, choices),
)


def joined(inner: st.SearchStrategy[nodes.Condition]) -> st.SearchStrategy[nodes.Condition]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(nodes.And, several), st.builds(nodes.Or, several), st.builds(nodes.Not, inner))


conditions = st.recursive(terms, joined, max_leaves=6)
set_values = operands | st.builds(nodes.Arithmetic, st.sampled_from("+-"), operands, operands)
actions: dict[str, st.SearchStrategy[nodes.Action]] = {
    "SET": st.builds(nodes.SetAction, paths, set_values),
    "REMOVE": st.builds(nodes.RemoveAction, paths),
    "ADD": st.builds(nodes.AddAction, paths, values),
    "DELETE": st.builds(nodes.DeleteAction, paths, values),
}
clauses = st.sampled_from(list(actions)).flatmap(
    lambda keyword: st.builds(
        nodes.Clause,
        st.just(keyword),
        st.lists(actions[keyword], min_size=1, max_size=3).map(tuple),
    )
)
updates = st.builds(nodes.Update, st.lists(clauses, min_size=1, max_size=3).map(tuple))
projections: st.SearchStrategy[tuple[nodes.Path, ...]] = st.lists(paths, min_size=1, max_size=4).map(tuple)


@given(conditions)
def test_rendered_conditions_parse_to_the_same_tree(tree: nodes.Condition) -> None:
    assert parser.parse_condition(render_condition(tree), "FilterExpression") == tree


@given(updates)
def test_rendered_updates_parse_to_the_same_tree(tree: nodes.Update) -> None:
    assert parser.parse_update(render_update(tree), "UpdateExpression") == tree


@given(projections)
def test_rendered_projections_parse_to_the_same_paths(tree: tuple[nodes.Path, ...]) -> None:
    assert parser.parse_projection(render_projection(tree), "ProjectionExpression") == tree


# Any text in every entry point.

WORDS = """
a b #n :v SET REMOVE ADD DELETE AND OR NOT BETWEEN IN size contains begins_with status
attribute_exists attribute_not_exists attribute_type if_not_exists list_append
( ) [ ] . , = <> < <= > >= + - 0 7 99999999999 " é * _
"""
words = st.sampled_from([*WORDS.split(), " ", "\t"])
texts = st.one_of(
    st.text(max_size=60),
    st.lists(words, max_size=25).map(" ".join),
    st.lists(words, max_size=25).map("".join),
    st.builds(
        lambda unit, count: unit * count,
        st.sampled_from(["(", "NOT ", "NOT(", "size(", "a.", "a[0]", "a=b AND ", "((a)=b OR "]),
        st.integers(0, 700),
    ),
)
PLACEHOLDER_VALUES: dict[str, Any] = {":v": {"N": "1"}}


def use_condition(text: str) -> None:
    condition = compile_condition(text, {"#n": "n"}, "FilterExpression")
    condition.check(PLACEHOLDER_VALUES)
    condition.test({"a": {"L": [{"S": "s"}]}}, PLACEHOLDER_VALUES)


def use_update(text: str) -> None:
    update = compile_update(text, {"#n": "n"})
    update.check(PLACEHOLDER_VALUES)
    update.updated(update.apply({"a": {"L": [{"N": "1"}]}}, PLACEHOLDER_VALUES))


def use_projection(text: str) -> None:
    compile_projection(text, {"#n": "n"}).apply({"a": {"M": {}}})


def use_key_condition(text: str) -> None:
    key = compile_key_condition(text, {"#n": "n"})
    key.check(PLACEHOLDER_VALUES)
    key.bind(PLACEHOLDER_VALUES, ("a",), ("b",))


@pytest.mark.parametrize("use", [use_condition, use_update, use_projection, use_key_condition])
@given(text=texts)
@example(text="a = :v AND begins_with(b, :v) OR NOT size(a) > :v")
@example(text="SET a[0] = list_append(a, if_not_exists(b, :v)) ADD b :v")
@settings(max_examples=examples(150))
def test_any_text_compiles_or_raises_a_validation_error(use: Callable[[str], None], text: str) -> None:
    with contextlib.suppress(ValidationError):
        use(text)


# Properties over items.

scalars: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from(["", "a", "b", "é"]).map(lambda text: {"S": text}),
    st.integers(-3, 12).map(lambda number: {"N": str(number)}),
    st.booleans().map(lambda truth: {"BOOL": truth}),
    st.sampled_from(["", "YQ==", "Yg=="]).map(lambda text: {"B": text}),
    st.just({"NULL": True}),
    st.sets(st.sampled_from("abc"), min_size=1).map(lambda members: {"SS": sorted(members)}),
)


def documents(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    maps = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda elements: {"L": elements}),
        maps.map(lambda members: {"M": members}),
    )


anything = st.recursive(scalars, documents, max_leaves=5)
items = st.dictionaries(st.sampled_from("abc"), anything, max_size=3)
plain_paths = st.sampled_from(["a", "b", "a.b", "a[0]", "a.c[1]", "b.a", "c[1].a", "b[2]", "a.a.a"])


def holds(text: str, item: dict[str, Any], **given_values: Any) -> bool:
    placeholders = {f":{name}": value for name, value in given_values.items()}
    return compile_condition(text, None, "FilterExpression").test(item, placeholders)


@given(items, plain_paths, anything)
def test_a_value_is_equal_unequal_or_missing(item: dict[str, Any], path: str, value: dict[str, Any]) -> None:
    equal = holds(f"{path} = :v", item, v=value)
    assert holds(f"{path} <> :v", item, v=value) is not equal
    assert holds(f"{path} IN (:v)", item, v=value) is equal
    assert holds(f"NOT {path} = :v", item, v=value) is not equal
    assert holds(f"attribute_exists({path})", item) is not holds(f"attribute_not_exists({path})", item)
    if equal:
        assert holds(f"attribute_exists({path})", item)


@given(items, plain_paths, scalars, scalars)
def test_the_order_operators_agree(
    item: dict[str, Any], path: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    less, equal = holds(f"{path} < :v", item, v=first), holds(f"{path} = :v", item, v=first)
    at_most, at_least = holds(f"{path} <= :v", item, v=first), holds(f"{path} >= :v", item, v=first)
    ordered = next(iter(first)) in ("S", "N", "B")
    assert at_most is (less or (equal and ordered))
    assert (at_most and at_least) is (equal and ordered)
    assert holds(f"{path} > :v", item, v=first) is (at_least and not equal)
    assert holds(f"{path} BETWEEN :v AND :w", item, v=first, w=second) is (
        at_least and holds(f"{path} <= :w", item, w=second)
    )
    assert holds(f":v > {path}", item, v=first) is less


@given(items, plain_paths, plain_paths)
def test_de_morgan(item: dict[str, Any], left: str, right: str) -> None:
    first, second = f"attribute_exists({left})", f"attribute_exists({right})"
    assert holds(f"NOT ({first} AND {second})", item) is holds(f"NOT {first} OR NOT {second}", item)
    assert holds(f"NOT ({first} OR {second})", item) is holds(f"NOT {first} AND NOT {second}", item)


@given(items, plain_paths)
def test_projections_contain_exactly_the_value_at_the_path(item: dict[str, Any], path: str) -> None:
    projected = compile_projection(path, None).apply(item)
    assert bool(projected) is holds(f"attribute_exists({path})", item)
    closed_up = path.replace("[1]", "[0]").replace("[2]", "[0]")
    assert holds(f"attribute_exists({closed_up})", projected) is bool(projected)
    assert compile_projection(closed_up, None).apply(projected) == projected


@given(items, plain_paths, anything)
def test_set_values_are_read_back_and_removed_values_are_gone(
    item: dict[str, Any], path: str, value: dict[str, Any]
) -> None:
    present = holds(f"attribute_exists({path})", item)
    try:
        new = compile_update(f"SET {path} = :v", None).apply(item, {":v": value})
    except ValidationError:
        assert not present
        return
    if present:
        assert holds(f"{path} = :v", new, v=value)
    removed = compile_update(f"REMOVE {path}", None).apply(new, None)
    if not path.endswith("]"):
        assert not holds(f"attribute_exists({path})", removed)
    elif not present:
        # The element was appended: removing the requested index removes it, or nothing.
        assert removed in (new, item)


NAMES = {"#n": "b", "#1": "a"}
SAMPLE: dict[str, Any] = {
    ":v": {"N": "2"},
    ":w1": {"SS": ["a", "z"]},
    ":_": {"L": [{"N": "1"}]},
}


@given(updates, items)
def test_updates_do_not_change_the_old_item(tree: nodes.Update, item: dict[str, Any]) -> None:
    before = copy.deepcopy(item)
    with contextlib.suppress(ValidationError):
        update = compile_update(render_update(tree), NAMES)
        update.check(SAMPLE)
        new = update.apply(item, SAMPLE)
        changed = {name for name in {*item, *new} if item.get(name) != new.get(name)}
        assert changed <= update.attributes
        for name in item.keys() - update.attributes:
            assert new[name] is item[name]
        assert update.updated(new).keys() <= update.attributes
    assert item == before


@given(conditions, items)
def test_conditions_read_only_their_attributes(tree: nodes.Condition, item: dict[str, Any]) -> None:
    with contextlib.suppress(ValidationError):
        condition = compile_condition(render_condition(tree), NAMES, "FilterExpression")
        condition.check(SAMPLE)
        only = {name: value for name, value in item.items() if name in condition.attributes}
        assert condition.test(item, SAMPLE) is condition.test(only, SAMPLE)
