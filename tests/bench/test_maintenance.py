"""Maintenance jobs under writes: each is measured to its end, or up to a limit, and leaves nothing over."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.measure import Span
from bench.targets.model import Settings
from bench.workload import Workload

from bench import http, maintenance


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.setattr(maintenance, "IDLE_S", 0.01)
    monkeypatch.setattr(maintenance, "WARM_UP_S", 0.01)
    monkeypatch.setattr(maintenance, "PUTS", 50)
    workload = Workload(1000)
    with http.RequestFiles(workload) as files:
        yield Settings(workload, Span(), tmp_path, files)


def measured(settings: Settings, limit_s: float) -> list[maintenance.JobResult]:
    return maintenance.measure(
        settings, limit_s, lambda part, count: contextlib.nullcontext(lambda items: None), lambda setting: None
    )


def test_each_job_is_measured_during_writes(settings: Settings) -> None:
    jobs = {job.name: job for job in measured(settings, 240)}
    names = ["no job", "keyplan fsck", "export", "index backfill", "time to live backfill", "time to live sweep"]
    assert list(jobs) == names
    assert all(job.put.calls and job.put.max_us >= job.put.p99_us for job in jobs.values())
    assert 0 < jobs.pop("time to live sweep").items < 1000
    assert {job.items for name, job in jobs.items() if name != "no job"} == {1000}
    assert [path.name for path in settings.folder.glob("*.db")] == ["engine.db"]


def test_a_job_stops_at_the_limit(settings: Settings) -> None:
    jobs = {job.name: job for job in measured(settings, 0)}
    assert jobs["keyplan fsck"].items == jobs["time to live sweep"].items == 0
