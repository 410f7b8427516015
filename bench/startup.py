"""Time from start to the first response: of an engine that is imported and opened in memory, and of the HTTP server."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from bench.lines import Line
from bench.peers import PeerError
from bench.targets.model import Settings, TargetError
from bench.targets.server import compiled_modules, running_engine, source_environment
from bench.wire import Endpoint
from bench.workload import Call

SECTION = "start to first answer"
MEMORY_MS = 150.0
SERVE_MS = 700.0
STARTS = 5
LIST_TABLES = Call("ListTables", {})

# Timed inside the process, so that the start of the interpreter does not count.
PROGRAM = """
import time
started = time.perf_counter()
from keyplan.engine.engine import Engine
engine = Engine.memory()
engine.call("ListTables", {})
print((time.perf_counter() - started) * 1000)
"""


@dataclass(frozen=True, slots=True)
class Startup:
    """Medians of a few starts, in milliseconds. The first start compiles the modules, as after an installation."""

    memory_ms: float
    serve_ms: float

    def lines(self) -> list[Line]:
        return [
            Line(
                SECTION, "import, Engine.memory(), first answer", "engine-memory", self.memory_ms, "ms", limit=MEMORY_MS
            ),
            Line(SECTION, "keyplan serve, first answer over HTTP", "http", self.serve_ms, "ms", limit=SERVE_MS),
        ]


def measure(settings: Settings) -> Startup:
    memory_ms = statistics.median(_memory_ms(settings) for _ in range(STARTS))
    serve_ms = statistics.median(_serve_ms(settings, start) for start in range(STARTS))
    return Startup(memory_ms, serve_ms)


def _memory_ms(settings: Settings) -> float:
    environment = {**os.environ, **source_environment(), **compiled_modules(settings.folder)}
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=environment
    )
    if process.returncode:
        raise TargetError(f"the engine did not start: {process.stderr.strip().splitlines()[-1]}")
    return float(process.stdout)


def _serve_ms(settings: Settings, start: int) -> float:
    """Return the time in milliseconds from the start of the command to the response to the first call, on a new
    database.
    """
    started_s = time.perf_counter()
    with (
        running_engine(settings.folder, f"start-{start}") as server,
        contextlib.closing(Endpoint(server.url)) as endpoint,
    ):
        endpoint.call(LIST_TABLES)
        return (time.perf_counter() - started_s) * 1000


NOT_STARTED = (TargetError, PeerError)
"""Errors raised if a target cannot be started."""
