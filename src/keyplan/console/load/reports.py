"""Receives meter counts from connected programs, and adds them to the recorder.

A report contains the totals since the start of the program, and only the difference from the previous report is
counted. If a report is lost, the next one therefore includes its counts.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from keyplan.client.requests import UNDECLARED
from keyplan.console.load.recorder import TOTAL, LoadCounts, LoadRecorder, Name

REPORT_BYTES: Final = 1024 * 1024
_RUNS: Final = 64
"""The maximum number of program runs whose latest report is stored.

If more programs send reports, the run with the oldest report is removed.
"""
_Text = Field(min_length=1, max_length=400)


class InvalidReportError(ValueError):
    """Raised if a report from a program does not have the expected format."""


class _PatternUsage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    requests: int = Field(ge=0, le=10**15)
    throttled: int = Field(default=0, ge=0, le=10**15)
    failed: int = Field(default=0, ge=0, le=10**15)
    elapsed_s: float = Field(default=0.0, ge=0, le=1e15)
    read: dict[str, float] = Field(default_factory=dict, max_length=100)
    write: dict[str, float] = Field(default_factory=dict, max_length=100)


class _Report(BaseModel):
    program: str = _Text
    run: str = _Text
    usage: dict[str, _PatternUsage] = Field(max_length=1000)


@dataclass
class Program:
    """A run of a program that sends its meter counts to the console."""

    name: str
    run: str
    last_s: float
    """The time of the latest report from the program, in seconds since 1970."""
    requests: int = 0
    usage: dict[str, _PatternUsage] = field(default_factory=dict, repr=False)


class MeterReports:
    """The latest reports of all program runs that send their meter counts."""

    def __init__(self, recorder: LoadRecorder) -> None:
        self._recorder = recorder
        self._lock = threading.Lock()
        self._programs: OrderedDict[tuple[str, str], Program] = OrderedDict()

    def add(self, document: Any) -> None:
        """Add the difference between a report and the previous report from the same run to the recorder.

        Raises InvalidReportError if the report is malformed.
        """
        try:
            report = _Report.model_validate(document)
        except ValidationError as error:
            first_error = error.errors()[0]
            location = ".".join(map(str, first_error["loc"])) or "the report"
            raise InvalidReportError(f"{location}: {first_error['msg']}") from None
        with self._lock:
            now = self._recorder.clock.now()
            key = (report.program, report.run)
            program = self._programs.pop(key, None) or Program(report.program, report.run, now)
            self._programs[key] = program
            while len(self._programs) > _RUNS:
                self._programs.popitem(last=False)
            for name, usage in report.usage.items():
                self._count(name, program.usage.get(name, _PatternUsage(requests=0)), usage)
            program.usage, program.last_s = report.usage, now
            program.requests = sum(usage.requests for usage in report.usage.values())

    def programs(self) -> list[Program]:
        """Return the program runs that have sent reports, starting with the one that sent the latest report."""
        with self._lock:
            return sorted(self._programs.values(), key=lambda program: -program.last_s)

    def _count(self, name: str, previous: _PatternUsage, current: _PatternUsage) -> None:
        counts = LoadCounts()
        counts.requests = max(0, current.requests - previous.requests)
        counts.throttled = max(0, current.throttled - previous.throttled)
        counts.errors = max(0, current.failed - previous.failed)
        counts.seconds = max(0.0, current.elapsed_s - previous.elapsed_s)
        if not counts.requests:
            return
        is_undeclared = name.startswith(UNDECLARED)
        kind: Name = ("undeclared", name) if is_undeclared else ("pattern", name)
        entries = {kind: counts, TOTAL: counts}
        for resource in dict.fromkeys((*current.read, *current.write)):
            part = LoadCounts()
            part.requests, part.throttled, part.errors = counts.requests, counts.throttled, counts.errors
            part.seconds = counts.seconds
            part.read = max(0.0, current.read.get(resource, 0.0) - previous.read.get(resource, 0.0))
            part.write = max(0.0, current.write.get(resource, 0.0) - previous.write.get(resource, 0.0))
            counts.read += part.read
            counts.write += part.write
            entries["resource", resource] = part
        self._recorder.add_counts(entries)
        if is_undeclared:
            self._recorder.add_undeclared_counts(name, counts)
