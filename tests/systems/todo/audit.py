"""Random traffic over HTTP from several threads, compared with acknowledged results: see the auditor.

python -m tests.systems.todo.audit [seconds] [doubled] [faults] [http]
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from tests.systems.served_engine import ServedEngine, connected, served
from tests.systems.todo.auditor import NAMES, Auditor
from tests.systems.todo.stage import Stage, staged
from tests.systems.todo.totals import assert_same
from tests.systems.todo.traffic import Traffic

from keyplan.client.connection import Connection
from keyplan.clock import SystemClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.errors import ServiceError
from keyplan.server.thread import ThreadedServer
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import Status
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.lake.lake import Lake

THREADS = 8
MIN_CHANGES, MAX_EXTRA_S = 10, 60
"""Tasks and changes that an audit requires even on a slow machine, and its timeout for them."""


def counting_faults(connection: Connection) -> Counter[str]:
    """Count the errors that the connection retries."""
    faults: Counter[str] = Counter()
    call = connection._call

    def counting_call(operation: str, request: dict[str, Any]) -> Any:
        try:
            return call(operation, request)
        except ServiceError as error:
            reasons = {reason["Code"] for reason in error.members.get("CancellationReasons", ())} - {"None"}
            faults.update(reasons or {error.code})
            raise

    connection._call = counting_call
    return faults


def audit(
    stage: Stage, seconds: float, *, doubled: bool, seed: int = 1, is_enough: Callable[[], bool] = lambda: True
) -> Auditor:
    """Send traffic for a duration and a minimum amount, then compare the table with acknowledged results.

    `is_enough`: an additional condition for its end.
    """
    auditor, end_s = Auditor(), time.monotonic() + seconds

    def is_over() -> bool:
        left_s = end_s - time.monotonic()
        return left_s < 0 and ((auditor.has_recorded(MIN_CHANGES) and is_enough()) or left_s < -MAX_EXTRA_S)

    errors: list[BaseException] = []

    def run_traffic(number: int) -> None:
        pool = ThreadPoolExecutor(1) if doubled else None
        callers = [stage.person(name) for name in NAMES]
        try:
            Traffic(callers, auditor, random.Random(f"{seed}/{number}"), pool).run(is_over)
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)
        finally:
            if pool is not None:
                pool.shutdown()

    threads = [threading.Thread(target=run_traffic, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    auditor.verify(stage.connection)
    return auditor


def verify_indexes(stage: Stage) -> None:
    """Compare the indexes with the table, once they have caught up."""
    for user in NAMES:
        by_status: dict[str, set[str]] = defaultdict(set)
        for task in stage.connection.iterate(design.tasks_of_user(user)):
            by_status[task.status.value].add(task.task_id)
        for status in Status:
            tasks = stage.connection.all(design.tasks_with_status(user, status))
            assert {task.task_id for task in tasks} == by_status[status.value], f"{user}: {status}"


FAULTS = Faults(
    seed=7, throttle=True, conflicts=0.03, internal_errors=0.02, gsi_lag=(0.0, 0.3), stale_reads=0.2, stale_s=0.5,
    unprocessed=0.1, duplicate_stream_records=0.1, reorder_stream_records=0.1,
)  # fmt: skip
SLOW_UNITS = 350
"""Units per second of table and indexes in audits with faults: less than the traffic needs."""


def throttle(engine: Engine | ServedEngine) -> None:
    """Limit the table's capacity, so that traffic is throttled."""
    units = {"ReadCapacityUnits": SLOW_UNITS * 4, "WriteCapacityUnits": SLOW_UNITS}
    indexes = [{"Update": {"IndexName": f"GSI{n}", "ProvisionedThroughput": units}} for n in range(1, 5)]
    engine.call(
        "UpdateTable",
        {
            "TableName": "todo-app-data",
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": units,
            "GlobalSecondaryIndexUpdates": indexes,
        },
    )


@contextmanager
def feed_running(connection: Connection, clock: SystemClock, folder: Path) -> Iterator[None]:
    """Run a feed on the stream during the block; at the end the lake must have the table's totals."""
    lake, stop, errors = Lake.open(folder / "lake", clock=clock), threading.Event(), list[BaseException]()
    feed = Feed(connection, lake, clock=clock)

    def follow() -> None:
        try:
            while not stop.wait(0.5):
                feed.run_once()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not errors, errors
    feed.run_once()
    assert_same(connection, lake)


@contextmanager
def database(folder: Path, clock: SystemClock, *, faults: bool, http: bool) -> Iterator[Engine | ServedEngine]:
    """Yield a new database in a folder: in this process with faults, or served."""
    if http and not faults:
        with served(folder) as endpoint:
            yield endpoint
        return
    injected_faults = FAULTS if faults else None
    with Engine.open(folder / "todo.db", clock=clock, faults=injected_faults, stream_shards=2) as engine:
        if http:
            with ThreadedServer(engine) as server, closing(ServedEngine(server.url)) as endpoint:
                yield endpoint
        else:
            yield engine


def run(
    folder: Path, seconds: float, *, doubled: bool, faults: bool = False, http: bool = False
) -> tuple[Auditor, Counter[str]]:
    """Audit a new system on a database in a folder; with `http` its connection is boto3 over a socket.

    With faults it continues until it has met a conflict or a throttle.
    """
    clock = SystemClock(1)
    with ExitStack() as stack:
        engine = stack.enter_context(database(folder, clock, faults=faults, http=http))
        connection = stack.enter_context(connected(engine, clock, attempts=20))
        stage = stack.enter_context(staged(connection, clock, folder / "keys"))
        if faults:
            throttle(engine)
        met_faults = counting_faults(connection)

        def has_met_faults() -> bool:
            return not faults or met_faults["TransactionConflict"] + met_faults["ProvisionedThroughputExceeded"] > 0

        with feed_running(connection, clock, folder):
            auditor = audit(stage, seconds, doubled=doubled, is_enough=has_met_faults)
            if faults:
                # Lagging changes are applied at the next call after they are due, and may be read stale for a while.
                time.sleep(FAULTS.lag_range[1])
                connection.run(design.user_by_id("u0"))
                time.sleep(FAULTS.stale_s)
        verify_indexes(stage)
        return auditor, met_faults


def main() -> None:
    """Run one audit, and print its counts."""
    options = sys.argv[1:]
    seconds = float(next((option for option in options if option.isdecimal()), 30))
    with tempfile.TemporaryDirectory() as folder:
        result = {name: name in options for name in ("doubled", "faults", "http")}
        auditor, faults = run(Path(folder), seconds, **result)
    tasks = auditor.histories.values()
    print(f"{seconds:g} s, {THREADS} threads, answers: {dict(sorted(auditor.answers.items()))}")
    print(
        f"tasks made {len(tasks)}, changed {sum(len(task.changes) for task in tasks)}, in bulk"
        f" {sum(len(task.bulk_statuses) for task in tasks)}, deleted"
        f" {sum(task.deletions for task in tasks)}; lost or doubled: 0"
    )
    print(f"met on the way: {dict(sorted(faults.items()))}")


if __name__ == "__main__":
    main()
