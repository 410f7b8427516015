"""Every recorded request gets the recorded answer: shapes first, then the rules between members.

The cases are data, one file an operation: the request in wire form, the error's code and message or `accepted`, and the
source. "captured" means an answer of the service that was recorded and published; "documented" one that follows from
the service's guide and model; "inferred" one whose exact text is unknown.
"""

from __future__ import annotations

import copy
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from keyplan.dynamodb import shapes
from keyplan.dynamodb.shapes.model import Layer
from keyplan.dynamodb.values.encoding import WIRE
from keyplan.engine.operations.answers import prefix_errors
from keyplan.errors import ServiceError

CASES = Path(__file__).parent / "cases"
OPERATIONS = sorted(path.stem for path in CASES.glob("*.json"))


def module(operation: str) -> ModuleType:
    return importlib.import_module(f"keyplan.engine.operations.{operation}")


def all_cases() -> list[Any]:
    return [
        pytest.param(operation, case, id=f"{operation}: {case['name']}")
        for operation in OPERATIONS
        for case in json.loads((CASES / f"{operation}.json").read_text())
    ]


def examine(operation: str, request: dict[str, Any], *, wire: bool = True) -> None:
    """Check everything of a request except its values, expressions and table."""
    rules = module(operation)
    shapes.compile(rules.SHAPE)(request, wire)
    if rules.SHAPE.layer is Layer.ENVELOPED:
        prefix_errors(lambda values, _: examine_rules(operation, values))(request, WIRE)
    else:
        examine_rules(operation, request)


def examine_rules(operation: str, request: dict[str, Any]) -> None:
    """Check the rules between members, in their order."""
    rules = module(operation)
    if hasattr(rules, "check"):
        rules.check(request)
    if operation == "transact_get_items":
        for element in request["TransactItems"]:
            rules.check_action(element["Get"])
    if operation == "transact_write_items":
        for _, action in rules.actions_of(request):
            rules.check_action(action)
    if hasattr(rules, "check_late"):
        rules.check_late(request)


@pytest.mark.parametrize(("operation", "case"), all_cases())
def test_responses_match_the_service(operation: str, case: dict[str, Any]) -> None:
    request = copy.deepcopy(case["request"])
    if case.get("accepted"):
        examine(operation, request)
        return
    with pytest.raises(ServiceError) as caught:
        examine(operation, request)
    assert (caught.value.code, caught.value.message) == (case["code"], case["message"])


@pytest.mark.parametrize(("operation", "case"), all_cases())
def test_a_case_names_its_source(operation: str, case: dict[str, Any]) -> None:
    assert case["source"] in {"captured", "documented", "inferred"}


def test_every_operation_has_cases() -> None:
    package = Path(importlib.import_module("keyplan.engine.operations").__file__ or "").parent
    with_shapes = {path.stem for path in package.glob("*.py") if "\nSHAPE = " in path.read_text()}
    assert with_shapes == set(OPERATIONS)
