"""Refused operations: by name where the service has them, without a message where it does not."""

from __future__ import annotations

import pytest
from tests.engine.table_making import failure

from keyplan.engine.commands import OPERATIONS, UNSUPPORTED
from keyplan.engine.engine import Engine


@pytest.mark.parametrize("operation", UNSUPPORTED)
def test_an_unsupported_operation_is_rejected_by_name(engine: Engine, operation: str) -> None:
    code, message = failure(engine, operation, {})
    assert code == "UnknownOperationException"
    assert message.startswith(f"keyplan does not support the operation {operation}: it has no ")


def test_an_unknown_operation_is_rejected_without_a_message(engine: Engine) -> None:
    assert failure(engine, "MakeCoffee", {}) == ("UnknownOperationException", "")


def test_unsupported_operations_are_not_implemented() -> None:
    assert not UNSUPPORTED.keys() & OPERATIONS.keys()
