"""The interface of targets. A target contains the workload's table and is measured with one or several clients."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench import http
from bench.measure import Figure, Runs, Span, measure_single, measure_threads
from bench.peers import Server
from bench.wire import AnswerError
from bench.workload import Call, Operation, Request, Workload, check_answer

Progress = Callable[[int], None]

CallPreparer = Callable[[Call], Callable[[], Request]]
"""Function that prepares a call outside of the measured time."""

# Number of different calls that all clients repeat: many keys, but not more than about 100 MB of memory.
PREPARED = {Operation.TRANSACT: 2_000, Operation.BATCH: 400}
PREPARED_DEFAULT = 10_000
MIN_PREPARED = 50


class TargetError(Exception):
    """Raised if a target is not available, because a package is missing or a server did not start."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of all targets: the workload, the durations, a folder for files, and prepared requests for wrk."""

    workload: Workload
    span: Span
    folder: Path
    files: http.RequestFiles


class Target(Protocol):
    """A target to measure."""

    @property
    def name(self) -> str:
        """The name that is given on the command line."""

    @property
    def note(self) -> str:
        """The target's interface and where its items are stored, in a few words."""

    def set_up(self, progress: Progress) -> None:
        """Create the table and fill it. `progress` is called with the number of items of each batch."""

    def measure(self, operation: Operation, clients: int) -> Figure:
        """Measure one operation. Raises AnswerError if a response shows that the target did not run the requested
        operation.
        """


@dataclass(frozen=True, slots=True)
class InProcess:
    """A target that is called from Python in this process."""

    name: str
    note: str
    settings: Settings
    prepare: CallPreparer

    def set_up(self, progress: Progress) -> None:
        workload = self.settings.workload
        self.prepare(workload.create_table())()
        for call in workload.load():
            self._run_checked(Operation.BATCH, call)
            progress(len(call.request["RequestItems"][workload.table]))

    def measure(self, operation: Operation, clients: int) -> Figure:
        self._run_checked(operation, self.settings.workload.calls(operation, 1, stream=-1)[0])
        if clients == 1:
            return measure_single(prepared_calls(self.prepare, self.settings.workload, operation), self.settings.span)
        runs = [
            prepared_calls(self.prepare, self.settings.workload, operation, stream, clients)
            for stream in range(clients)
        ]
        return measure_threads(runs, self.settings.span)

    def _run_checked(self, operation: Operation, call: Call) -> None:
        if reason := check_answer(operation, self.prepare(call)()):
            raise AnswerError(f"{self.name}: {reason}")


@dataclass(frozen=True, slots=True)
class OverHttp:
    """An endpoint that wrk measures, with one connection per client. It is warm after the first round."""

    name: str
    note: str
    settings: Settings
    server: Server
    warmed_up: set[tuple[Operation, int]] = field(default_factory=set)

    def set_up(self, progress: Progress) -> None:
        http.set_up(self.server.url, self.settings.workload, progress)

    def measure(self, operation: Operation, clients: int) -> Figure:
        http.probe(self.server.url, self.settings.workload, operation)
        warm_up_s = 0 if (operation, clients) in self.warmed_up else http.WARM_UP_S
        self.warmed_up.add((operation, clients))
        load = http.Load(clients, max(1, round(self.settings.span.measure_s)), warm_up_s)
        return http.drive(self.server, self.settings.files.path(operation), load)


def prepared_calls(
    preparer: CallPreparer, workload: Workload, operation: Operation, stream: int = 0, clients: int = 1
) -> Runs:
    """Return the prepared calls that one of several clients repeats. `clients` is the number of clients."""
    count = max(MIN_PREPARED, PREPARED.get(operation, PREPARED_DEFAULT) // clients)
    return itertools.cycle([preparer(call) for call in workload.calls(operation, count, stream)])
