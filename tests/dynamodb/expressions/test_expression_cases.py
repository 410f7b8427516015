"""Conformance cases as data: the service's answers and their sources.

`source` of a case is "captured" (an answer of the service), "documented" (in its guide) or "inferred" (from its
downloadable version, or from similar cases).
"""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from keyplan.dynamodb.expressions.compiled import (
    compile_condition,
    compile_key_condition,
    compile_projection,
    compile_update,
)
from keyplan.errors import ValidationError

CASES = Path(__file__).parent / "cases"
SOURCES = {"captured", "documented", "inferred"}


def load(name: str) -> list[Any]:
    cases = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["expression"][:60] or "empty") for case in cases]


def condition_error(case: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        compile_condition(case["expression"], case.get("names"), "FilterExpression").check(case.get("values"))
    return caught.value.message


def run_update(case: dict[str, Any]) -> dict[str, Any]:
    update = compile_update(case["expression"], case.get("names"))
    update.check(case.get("values"))
    return update.apply(case["item"], case.get("values"), exists=case.get("exists", True))


@pytest.mark.parametrize("case", load("condition_errors"))
def test_invalid_conditions_get_the_services_message(case: dict[str, Any]) -> None:
    assert condition_error(case) == case["error"]


@pytest.mark.parametrize("case", load("conditions"))
def test_conditions_match_items_as_on_the_service(case: dict[str, Any]) -> None:
    condition = compile_condition(case["expression"], case.get("names"), "ConditionExpression")
    condition.check(case.get("values"))
    assert condition.test(case["item"], case.get("values") or {}) is case["expect"]


@pytest.mark.parametrize("case", load("update_errors"))
def test_invalid_updates_get_the_services_message(case: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        run_update(case | {"item": {}})
    assert caught.value.message == case["error"]


@pytest.mark.parametrize("case", load("updates"))
def test_updates_change_items_as_the_service_does(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["item"])
    if "error" in case:
        with pytest.raises(ValidationError) as caught:
            run_update(case)
        assert caught.value.message == case["error"]
    else:
        assert run_update(case) == case["expect"]
    assert case["item"] == before, "the item given must stay as it was"


@pytest.mark.parametrize("case", load("projections"))
def test_projections_return_the_attributes_that_the_service_returns(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(ValidationError) as caught:
            compile_projection(case["expression"], case.get("names"))
        assert caught.value.message == case["error"]
    else:
        projection = compile_projection(case["expression"], case.get("names"))
        assert projection.apply(case["item"]) == case["expect"]


@pytest.mark.parametrize("case", load("key_conditions"))
def test_key_conditions_select_the_items_that_the_service_reads(case: dict[str, Any]) -> None:
    def bind() -> dict[str, Any]:
        condition = compile_key_condition(case["expression"], case.get("names"))
        condition.check(case["values"])
        partition, sort = tuple(case["partition"]), tuple(case["sort"])
        return dataclasses.asdict(condition.bind(case["values"], partition, sort))

    if "error" in case:
        with pytest.raises(ValidationError) as caught:
            bind()
        assert caught.value.message == case["error"]
    else:
        expected = {
            name: tuple(content) if isinstance(content, list) else content for name, content in case["expect"].items()
        }
        assert bind() == expected


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_every_case_has_a_source(path: Path) -> None:
    for case in json.loads(path.read_text(encoding="utf-8")):
        assert case["source"] in SOURCES, case
        assert ("error" in case) != ("expect" in case), case
