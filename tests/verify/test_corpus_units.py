"""Every design of the corpus is verified: each call costs what is predicted, and those of the systems hold."""

from __future__ import annotations

from functools import cache

import pytest
from tests.check.corpus.test_corpus import DESIGNS, SYSTEMS

from keyplan.design.declaring.design import Design
from keyplan.verify import verify
from keyplan.verify.report import VerificationReport


@cache
def report_of(name: str) -> VerificationReport:
    return verify(Design.load(DESIGNS[name]), items=1_000)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_call_costs_what_is_predicted(name: str) -> None:
    report = report_of(name)
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


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_pattern_of_a_system_runs_and_is_verified(system: str) -> None:
    report = report_of(f"system_{system}")
    assert list(report.problems) == []
    assert not report.failed
    assert len(report.patterns) == len(list(Design.load(DESIGNS[f"system_{system}"]).patterns))
    for pattern in report.patterns:
        assert pattern.calls > 0, pattern.name
        assert pattern.predicted == pattern.measured, pattern.name
        if pattern.operation not in {"Query", "Scan"}:
            assert pattern.evaluated > 0, pattern.name
