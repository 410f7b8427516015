"""Refused operations: by name where the service has them, without a message where it does not."""

from __future__ import annotations

import pytest
from tests.engine.table_making import failure

from keyplan.engine.commands import OPERATIONS, UNSUPPORTED
from keyplan.engine.engine import Engine


@pytest.mark.parametrize("operation", UNSUPPORTED)
def test_an_operation_of_the_service_is_refused_by_name(engine: Engine, operation: str) -> None:
    code, message = failure(engine, operation, {})
    assert code == "UnknownOperationException"
    assert message.startswith(f"keyplan does not support the operation {operation}: it has no ")


def test_an_operation_of_nobody_is_refused_without_a_word(engine: Engine) -> None:
    assert failure(engine, "MakeCoffee", {}) == ("UnknownOperationException", "")


def test_nothing_of_the_list_is_there() -> None:
    assert not UNSUPPORTED.keys() & OPERATIONS.keys()
