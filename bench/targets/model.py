"""The interface of targets: a target holds the workload's table and is measured by one or several clients."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench import http
from bench.measure import Figure, Runs, Span, single, threaded
from bench.peers import Server
from bench.wire import AnswerError
from bench.workload import Call, Operation, Request, Workload, check_answer

Progress = Callable[[int], None]

Door = Callable[[Call], Callable[[], Request]]
"""Function that prepares a call outside of the measured time."""

# Number of different calls that all clients repeat: many keys, but not more than about 100 MB of memory.
PREPARED = {Operation.TRANSACT: 2_000, Operation.BATCH: 400}
PREPARED_DEFAULT = 10_000
PREPARED_LEAST = 50


class TargetError(Exception):
    """A target is not available: a package is missing, or a server did not start."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of every target: the work, the duration, a folder for files, prepared requests for wrk."""

    workload: Workload
    span: Span
    folder: Path
    files: http.RequestFiles


class Target(Protocol):
    """One measured target."""

    @property
    def name(self) -> str:
        """Return the name given on the command line."""

    @property
    def note(self) -> str:
        """Return its interface and the place of its items, in a few words."""

    def set_up(self, progress: Progress) -> None:
        """Create the table and fill it; `progress` gets the number of items of each batch."""

    def measure(self, operation: Operation, clients: int) -> Figure:
        """Measure one operation. Raises AnswerError if the target does not do the requested work."""


@dataclass(frozen=True, slots=True)
class InProcess:
    """A target called from Python."""

    name: str
    note: str
    settings: Settings
    prepare: Door

    def set_up(self, progress: Progress) -> None:
        workload = self.settings.workload
        self.prepare(workload.create_table())()
        for call in workload.load():
            self._checked(Operation.BATCH, call)
            progress(len(call.request["RequestItems"][workload.table]))

    def measure(self, operation: Operation, clients: int) -> Figure:
        self._checked(operation, self.settings.workload.calls(operation, 1, stream=-1)[0])
        if clients == 1:
            return single(prepared(self.prepare, self.settings.workload, operation), self.settings.span)
        runs = [prepared(self.prepare, self.settings.workload, operation, stream, clients) for stream in range(clients)]
        return threaded(runs, self.settings.span)

    def _checked(self, operation: Operation, call: Call) -> None:
        if reason := check_answer(operation, self.prepare(call)()):
            raise AnswerError(f"{self.name}: {reason}")


@dataclass(frozen=True, slots=True)
class OverHttp:
    """An endpoint driven by wrk; a client is a connection. It is warm after the first round."""

    name: str
    note: str
    settings: Settings
    server: Server
    warm: set[tuple[Operation, int]] = field(default_factory=set)

    def set_up(self, progress: Progress) -> None:
        http.set_up(self.server.url, self.settings.workload, progress)

    def measure(self, operation: Operation, clients: int) -> Figure:
        http.probe(self.server.url, self.settings.workload, operation)
        warm_up_s = 0 if (operation, clients) in self.warm else http.WARM_UP_S
        self.warm.add((operation, clients))
        load = http.Load(clients, max(1, round(self.settings.span.measure_s)), warm_up_s)
        return http.drive(self.server, self.settings.files.path(operation), load)


def prepared(door: Door, workload: Workload, operation: Operation, stream: int = 0, clients: int = 1) -> Runs:
    """Return the prepared calls that one of `clients` clients repeats."""
    count = max(PREPARED_LEAST, PREPARED.get(operation, PREPARED_DEFAULT) // clients)
    return itertools.cycle([door(call) for call in workload.calls(operation, count, stream)])
