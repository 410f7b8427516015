"""The example of views and hydrated reads: it runs, checks clean of errors, and holds what it prints."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from keyplan.check.checking import check
from keyplan.design.declaring.design import Design
from keyplan.verify.run import verify

FILE = Path(__file__).parents[2] / "examples" / "views.py"


def test_the_example_prints_the_units_of_each_read(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FILE), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "20 titles, the first: TicketTitle(customer_id='c0', ticket_id='0', subject='Question 0')",
        "20 whole tickets, 45,000 characters",
        "inbox: 1 requests, 0.5 RCU (support/open_of_agent 0.5)",
        "export_inbox: 2 requests, 10.5 RCU (support 10, support/open_of_agent 0.5)",
    ]


def test_the_example_has_no_errors_and_is_verified() -> None:
    design = Design.load(str(FILE))
    assert not [finding for finding in check(design).findings if finding.severity == "error"]
    assert [problem for pattern in verify(design, items=200).patterns for problem in pattern.problems] == []
