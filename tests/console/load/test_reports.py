"""Reports of connected programs."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.clock import ManualClock
from keyplan.console.load.recorder import LoadRecorder
from keyplan.console.load.reports import InvalidReportError, MeterReports


@pytest.fixture
def recorder() -> LoadRecorder:
    return LoadRecorder(ManualClock())


@pytest.fixture
def reports(recorder: LoadRecorder) -> MeterReports:
    return MeterReports(recorder)


def report(requests: int, *, run: str = "1", name: str = "tasks", **usage: Any) -> dict[str, Any]:
    used = {"requests": requests, "read": {"app": requests * 0.5}, **usage}
    return {"program": "orders", "run": run, "usage": {name: used}}


def test_only_the_difference_to_the_report_before_counts(recorder: LoadRecorder, reports: MeterReports) -> None:
    reports.add(report(4))
    reports.add(report(10, throttled=2, failed=1))
    tasks = recorder.window().totals("pattern")["tasks"]
    assert (tasks.requests, tasks.read, tasks.throttled, tasks.errors) == (10, 5.0, 2, 1)
    assert recorder.window().totals("resource")["app"].read == 5.0
    assert [(program.name, program.requests) for program in reports.programs()] == [("orders", 10)]


def test_two_runs_of_a_program_add_up(recorder: LoadRecorder, reports: MeterReports) -> None:
    reports.add(report(4))
    reports.add(report(4, run="2"))
    assert recorder.window().total.requests == 8


def test_ad_hoc_calls_are_undeclared(recorder: LoadRecorder, reports: MeterReports) -> None:
    reports.add(report(3, name="undeclared get Task"))
    assert [(use.summary, use.counts.requests) for use in recorder.undeclared()] == [("undeclared get Task", 3)]


def test_a_report_with_smaller_figures_counts_nothing(recorder: LoadRecorder, reports: MeterReports) -> None:
    reports.add(report(4))
    reports.add(report(1))
    assert recorder.window().total.requests == 4


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "the report"),
        ({"program": "", "run": "1", "usage": {}}, "program"),
        ({"program": "orders", "run": "1", "usage": {"tasks": {"requests": -1}}}, "usage.tasks.requests"),
        (report(1, read={"app": "many"}), "usage.tasks.read.app"),
    ],
)
def test_another_form_is_refused_with_its_place(reports: MeterReports, document: Any, message: str) -> None:
    with pytest.raises(InvalidReportError, match=message):
        reports.add(document)


def test_the_number_of_remembered_programs_is_bounded(reports: MeterReports) -> None:
    for number in range(100):
        reports.add(report(1, run=str(number)))
    assert len(reports.programs()) == 64
