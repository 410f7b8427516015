"""Load over HTTP with wrk, which replays requests of the workload. wrk is a client in C that is not the bottleneck."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Figure
from bench.peers import Server
from bench.wire import AnswerError, Endpoint, request_bytes
from bench.workload import Call, Operation, Workload, check_answer

SCRIPT = Path(__file__).parent / "lua" / "replay.lua"
CONNECTIONS = 8
WARM_UP_S = 1
TIMEOUT_S = 20
# Seconds of measurement for a target that does not respond during the warm-up.
SLOW_S = 15
# A target with slower calls may still process calls while others are measured.
SLOW_CALL_US = 500_000
SETTLE_PATIENCE_S = 60
SETTLE_SAMPLE_S = 0.25
IDLE_SHARE = 0.1
HOW_TO_GET_WRK = "wrk is not installed: `apt-get install wrk` (Debian, Ubuntu) or `brew install wrk` (macOS)"

# Number of different requests of each kind: many keys, but not more than about 30 MB of text.
DISTINCT = {Operation.TRANSACT: 4_000, Operation.BATCH: 800}
DISTINCT_DEFAULT = 10_000


class WrkError(Exception):
    """Raised if wrk is missing or fails."""


@dataclass(frozen=True, slots=True)
class Load:
    """The number of connections and the duration of the load on an endpoint."""

    connections: int = CONNECTIONS
    seconds: int = 4
    warm_up_s: int = WARM_UP_S


def wrk_path() -> str:
    """Return the path of wrk. Raises WrkError with installation instructions if it is missing."""
    path = shutil.which("wrk")
    if path is None:
        raise WrkError(HOW_TO_GET_WRK)
    return path


@contextlib.contextmanager
def borrowed(url: str, table: str) -> Iterator[None]:
    """Use an endpoint that belongs to another process. Existing tables are not changed, and the created table is
    deleted.

    Raises AnswerError if the table already exists, or if the endpoint does not respond.
    """
    with contextlib.closing(Endpoint(url)) as endpoint:
        if endpoint.has_table(table):
            raise AnswerError(f"{url} has a table {table} already, and it is left alone")
        try:
            yield
        finally:
            # The connection from before the measurement may have been closed since.
            endpoint.close()
            if endpoint.has_table(table):
                endpoint.call(Call("DeleteTable", {"TableName": table}))


def set_up(url: str, workload: Workload, progress: Callable[[int], None]) -> None:
    """Create the workload's table at an endpoint and fill it. `progress` is called with the number of items of each
    batch.
    """
    with contextlib.closing(Endpoint(url)) as endpoint:
        endpoint.call(workload.create_table())
        endpoint.wait_for_table(workload.table)
        for call in workload.load():
            response = endpoint.call(call)
            if reason := check_answer(Operation.BATCH, response):
                raise AnswerError(f"{url}: {reason}")
            progress(len(call.request["RequestItems"][workload.table]))


def probe(url: str, workload: Workload, operation: Operation) -> None:
    """Send one call. Raises AnswerError unless the response shows that the endpoint ran the requested operation."""
    with contextlib.closing(Endpoint(url)) as endpoint:
        response = endpoint.call(workload.calls(operation, 1, stream=-1)[0])
    if reason := check_answer(operation, response):
        raise AnswerError(f"{url}: {reason}")


class RequestFiles:
    """Files with the requests of each operation for the replay script. Each file is created on first use."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._folder = tempfile.TemporaryDirectory(prefix="keyplan-bench-")
        # The Host header has no port, so that the same files serve every endpoint.
        self._host = "127.0.0.1"

    def __enter__(self) -> RequestFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def path(self, operation: Operation) -> Path:
        path = Path(self._folder.name) / f"{operation.name.lower()}.requests"
        if not path.exists():
            calls = self.workload.calls(operation, DISTINCT.get(operation, DISTINCT_DEFAULT))
            with path.open("wb") as file:
                for call in calls:
                    request = request_bytes(call, self._host)
                    file.write(len(request).to_bytes(4, "big") + request)
        return path


def drive(server: Server, requests: Path, load: Load) -> Figure:
    """Warm up a server, apply the load, and return the figure. Waits until a slow server is idle.

    Raises AnswerError if more than 1% of the requests were rejected (a status that is not 2xx) or lost, because the
    figure would then not measure the requested operation.
    """
    url, seconds = server.url, load.seconds
    if load.warm_up_s and not _replay(url, requests, load.connections, load.warm_up_s)["requests"]:
        _settle(server.process_id)
        seconds = max(SLOW_S, seconds)
    counts = _replay(url, requests, load.connections, seconds)
    answered = counts["requests"] - counts["refused"]
    if not answered or counts["p50_us"] > SLOW_CALL_US:
        _settle(server.process_id)
    if not counts["requests"]:
        raise AnswerError(f"{url}: no answer to {load.connections} connections within {seconds} s")
    if not answered or counts["refused"] + counts["broken"] > answered // 100:
        raise AnswerError(
            f"{url}: of {counts['requests']} answers {counts['refused']} were errors, {counts['broken']} were lost"
        )
    return Figure(
        per_second=answered * 1e6 / counts["duration_us"],
        p50_us=counts["p50_us"],
        p99_us=counts["p99_us"],
        calls=answered,
        failed=counts["refused"] + counts["broken"],
    )


def _settle(process_id: int) -> None:
    """Wait until a server is idle after its abandoned calls, on systems that report the CPU time of processes."""
    path, deadline_s = Path(f"/proc/{process_id}/stat"), time.monotonic() + SETTLE_PATIENCE_S
    while path.exists() and time.monotonic() < deadline_s:
        before_s = _cpu_s(path)
        time.sleep(SETTLE_SAMPLE_S)
        if _cpu_s(path) - before_s < IDLE_SHARE * SETTLE_SAMPLE_S:
            return


def _cpu_s(path: Path) -> float:
    """Return the CPU time of a process in seconds. The program name in brackets can contain any character, so it is
    skipped.
    """
    _, _, rest = path.read_text().rpartition(")")
    user, system = rest.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _replay(url: str, requests: Path, connections: int, seconds: int) -> dict[str, int]:
    options = ["-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", f"{TIMEOUT_S}s"]
    command = [wrk_path(), *options, "-s", str(SCRIPT), url, str(requests)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 3 * TIMEOUT_S, check=False)
    for line in process.stdout.splitlines():
        if line.startswith("REPLAY "):
            counts: dict[str, int] = json.loads(line.removeprefix("REPLAY "))
            return counts
    raise WrkError(f"wrk ended with {process.returncode}: {(process.stderr or process.stdout).strip()[:500]}")
