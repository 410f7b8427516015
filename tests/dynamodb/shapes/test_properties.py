"""Every request is accepted or gets an error of the service."""

from __future__ import annotations

import copy
import importlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.dynamodb.shapes.requests_of import JSON, ODD, damaged, good
from tests.laws import examples

from keyplan.dynamodb import shapes
from keyplan.dynamodb.shapes.checker import acceptor
from keyplan.dynamodb.shapes.constraints import check_constraints
from keyplan.dynamodb.shapes.wire import check_types
from keyplan.errors import ServiceError

CASES = Path(__file__).parents[2] / "engine" / "operations" / "cases"
MODULES = {
    path.stem: importlib.import_module(f"keyplan.engine.operations.{path.stem}")
    for path in sorted(CASES.glob("*.json"))
}
CHECKS = {name: shapes.compile(module.SHAPE) for name, module in MODULES.items()}
ACCEPTORS = {(name, wire): acceptor(module.SHAPE, wire) for name, module in MODULES.items() for wire in (True, False)}
# Built once: building a strategy takes longer than drawing from it.
GOOD = {(name, wire): good(module.SHAPE, wire) for name, module in MODULES.items() for wire in (True, False)}
DAMAGED = {(name, wire): damaged(strategy, wire) for (name, wire), strategy in GOOD.items()}
RELAXED = settings(deadline=None, max_examples=examples(25), suppress_health_check=list(HealthCheck))

operations = pytest.mark.parametrize("operation", sorted(MODULES))
forms = pytest.mark.parametrize("wire", [True, False], ids=["wire", "python"])


def passes(operation: str, request: dict[str, Any], wire: bool) -> bool:
    """Return True if shape and rules accept the request; assert that every refusal is a ServiceError."""
    try:
        CHECKS[operation](request, wire)
        if hasattr(MODULES[operation], "check"):  # some operations have no rules
            MODULES[operation].check(request)
    except ServiceError:
        return False
    return True


@operations
@forms
@RELAXED
@given(data=st.data())
def test_valid_requests_pass_and_python_requests_are_not_changed(
    operation: str, wire: bool, data: st.DataObject
) -> None:
    request = data.draw(GOOD[operation, wire])
    before = None if wire else copy.deepcopy(request)
    CHECKS[operation](request, wire)
    passes(operation, request, wire)
    assert before is None or before == request


@operations
@RELAXED
@given(data=st.data())
def test_members_accept_any_content_without_an_internal_error(operation: str, data: st.DataObject) -> None:
    names = st.sampled_from([*MODULES[operation].SHAPE.members, "Unknown"])
    passes(operation, data.draw(st.dictionaries(names, JSON, max_size=4)), True)
    passes(operation, data.draw(st.dictionaries(names, JSON | ODD, max_size=4)), False)


@operations
@forms
@RELAXED
@given(data=st.data())
def test_acceptors_never_accept_requests_that_the_phases_reject(
    operation: str, wire: bool, data: st.DataObject
) -> None:
    shape = MODULES[operation].SHAPE
    request = data.draw(DAMAGED[operation, wire] | GOOD[operation, wire])
    if isinstance(request, dict) and ACCEPTORS[operation, wire](request):
        before = copy.deepcopy(request) if wire else None
        check_types(shape, request, wire)
        check_constraints(shape, request)
        assert before is None or before == request
    passes(operation, request, wire)
