"""A short run of damaged requests; `python -m tests.conformance.damaged` is a long one."""

from __future__ import annotations

import pytest
from tests.conformance import damaged


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("ask", [damaged.ask_in_wire_form, damaged.ask_in_python])
def test_a_damaged_request_gets_the_services_error(ask: damaged.Ask, seed: int) -> None:
    codes = damaged.run(count=3_000, seed=seed, ask=ask)
    assert {"", "ValidationException", "SerializationException"} <= set(codes)
    assert "InternalServerError" not in codes
