"""Predicted units equal the measured ones in every call of every pattern of the corpus."""

from __future__ import annotations

import pytest
from tests.check.corpus.test_corpus import DESIGNS

from keyplan.design.declaring.design import Design
from keyplan.verify import verify

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", DESIGNS)
def test_every_call_costs_what_is_predicted(name: str) -> None:
    report = verify(Design.load(DESIGNS[name]), items=1_000)
    called = [pattern for pattern in report.patterns if pattern.calls]
    assert called
    assert {pattern.name: pattern.measured for pattern in called} == {
        pattern.name: pattern.predicted for pattern in called
    }
    assert not [problem for _, problem in report.problems if problem.kind == "defect"]
    absent = [pattern for pattern in report.patterns if not pattern.calls]
    assert all({problem.kind for problem in pattern.problems} == {"not run"} for pattern in absent)
    if not name.startswith("as_written"):  # those have faults, which verify names
        assert not absent
        assert not report.failed, list(report.problems)
