"""The builder: what it writes is read back by the parsers and means what it says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from keyplan.expressions.build import Condition, F, Update, projection
from keyplan.expressions.compiled import compile_condition, compile_projection, compile_update
from keyplan.expressions.placeholders import Placeholders, attribute_value


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (F("a").exists(), "attribute_exists(#n0)"),
        (F("a").not_exists() & (F("b") >= 3), "attribute_not_exists(#n0) AND #n1 >= :v0"),
        (F("a") == F("b"), "#n0 = #n1"),
        (F("a", "b", 0)["c"] != 1, "#n0.#n1[0].#n2 <> :v0"),
        ((F("a") < 1) | (F("a") > 2) | (F("a") <= 0), "#n0 < :v0 OR #n0 > :v1 OR #n0 <= :v2"),
        (~(F("a").exists() | F("b").exists()), "NOT (attribute_exists(#n0) OR attribute_exists(#n1))"),
        (F("a").between(1, F("b")), "#n0 BETWEEN :v0 AND #n1"),
        (F("a").is_in("x", "y"), "#n0 IN (:v0, :v1)"),
        (F("a").size() > 3, "size(#n0) > :v0"),
        (F("a").begins_with("x") & F("b").contains("y"), "begins_with(#n0, :v0) AND contains(#n1, :v1)"),
        (F("a").has_type("SS"), "attribute_type(#n0, :v0)"),
    ],
)
def test_conditions_are_written_and_compile(condition: Condition, text: str) -> None:
    built = condition.build()
    assert built.expression == text
    compiled = compile_condition(built.expression, built.names, "FilterExpression")
    compiled.check(built.values)
    assert compiled.names_used == frozenset(built.names)
    assert compiled.values_used == frozenset(built.values)


def test_updates_are_written_and_applied() -> None:
    update = (
        Update()
        .set(F("n"), F("n").if_not_exists(0) + 2)
        .remove(F("gone"))
        .set(F("l"), F("l").append(["x"]))
        .set(F("m")["x"], F("n") - 1)
        .add(F("s"), {"b"})
        .delete(F("t"), {"a"})
    )
    built = update.build()
    expected = (
        "SET #n0 = if_not_exists(#n0, :v0) + :v1, #n2 = list_append(#n2, :v2), #n3.#n4 = #n0 - :v3 "
        "REMOVE #n1 ADD #n5 :v4 DELETE #n6 :v5"
    )
    assert built.expression == expected
    compiled = compile_update(built.expression, built.names)
    compiled.check(built.values)
    item: dict[str, Any] = {"n": {"N": "5"}, "gone": {"S": ""}, "l": {"L": []}, "m": {"M": {}}, "t": {"SS": ["a"]}}
    assert compiled.apply(item, built.values) == {
        "n": {"N": "7"},
        "l": {"L": [{"S": "x"}]},
        "m": {"M": {"x": {"N": "4"}}},
        "s": {"SS": ["b"]},
    }


def test_expressions_of_one_request_share_placeholders() -> None:
    shared = Placeholders()
    condition = (F("status") == "open").build(shared)
    update = Update().set(F("status"), "closed").build(shared)
    assert (condition.expression, update.expression) == ("#n0 = :v0", "SET #n0 = :v1")
    assert shared.names == {"#n0": "status"}
    assert shared.values == {":v0": {"S": "open"}, ":v1": {"S": "closed"}}


def test_projections_are_written() -> None:
    built = projection(F("a.b"), F("c", 0))
    assert (built.expression, built.values) == ("#n0, #n1[0]", {})
    compiled = compile_projection(built.expression, built.names)
    assert compiled.apply({"a.b": {"N": "1"}, "c": {"L": []}}) == {"a.b": {"N": "1"}}


def test_python_values_become_attribute_values() -> None:
    assert attribute_value({"a": [1, Decimal("1.5"), True, None, b"x"]}) == {
        "M": {"a": {"L": [{"N": "1"}, {"N": "1.5"}, {"BOOL": True}, {"NULL": True}, {"B": b"x"}]}}
    }
    assert attribute_value({"b", "a"}) == {"SS": ["a", "b"]}
    assert attribute_value(frozenset({2})) == {"NS": ["2"]}


@pytest.mark.parametrize("value", [1.5, set(), {1, "a"}, {None}, object()])
def test_what_no_attribute_value_can_hold_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        attribute_value(value)


def test_a_condition_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="join with &"):
        bool(F("a") == 1)


def test_empty_updates_projections_and_nameless_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one action"):
        Update().build()
    with pytest.raises(ValueError, match="at least one field"):
        projection()
    with pytest.raises(TypeError, match="name of an attribute"):
        F(0)
    with pytest.raises(TypeError, match="not a field"):
        Update().add(F("a"), F("b")).build()  # type: ignore[arg-type]
