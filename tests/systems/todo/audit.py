"""Random traffic over HTTP from several threads, held to what was acknowledged: see the auditor.

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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.systems.todo.auditor import NAMES, Auditor
from tests.systems.todo.stage import Caller, Stage, connected, new_key, staged
from tests.systems.todo.totals import assert_same

from keyplan.clock import SystemClock
from keyplan.connections.connection import Connection
from keyplan.engine.engine import Engine
from keyplan.engine.faults import Faults
from keyplan.errors import ServiceError
from keyplan.server.thread import ThreadedServer
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import Status
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.lake.lake import Lake

THREADS = 8
LITTLE, LONGEST_S = 10, 60
"""Tasks and changes that an audit wants to see even where the machine is slow, and how long it waits for them."""
PATIENCE = 40
"""How often a request is sent again while the answer is that the tables are busy."""
_STATUSES = ("pending", "in_progress", "completed", "cancelled")


@dataclass
class Traffic:
    """One thread's requests."""

    callers: list[Caller]
    auditor: Auditor
    chance: random.Random
    doubled: ThreadPoolExecutor | None
    """Sends every write a second time with the same key, at the same time."""

    def run(self, until: Callable[[], bool]) -> None:
        """Send requests until it is time to end."""
        acts: list[tuple[Callable[[Caller], None], int]] = [
            (self.create, 30), (self.change, 40), (self.delete, 8), (self.bulk, 6), (self.clear, 1), (self.look, 15)
        ]  # fmt: skip
        while not until():
            (act,) = self.chance.choices([act for act, _ in acts], [weight for _, weight in acts])
            act(self.chance.choice(self.callers))

    def create(self, caller: Caller) -> None:
        """Make a task whose title no other has."""
        key = new_key()
        body = {**self._fields(), "title": f"made by {key}"}
        answer = self._send(lambda: caller.post("/tasks", body, key))
        if self._is(answer, 201):
            self.auditor.made(caller.name, answer.json())

    def change(self, caller: Caller) -> None:
        """Change some fields of a task."""
        task_id, key = self._pick(caller), new_key()
        said = self._fields()
        if task_id is None or not said:
            return
        answer = self._send(lambda: caller.put(f"/tasks/{task_id}", said, key))
        if self._is(answer, 200, 404):
            self.auditor.changed(said, answer.json())

    def delete(self, caller: Caller) -> None:
        """Delete a task."""
        task_id, key = self._pick(caller), new_key()
        if task_id is not None and self._is(self._send(lambda: caller.delete(f"/tasks/{task_id}", key)), 204, 404):
            self.auditor.deleted(task_id)

    def bulk(self, caller: Caller) -> None:
        """Give some tasks a status."""
        known, key = self.auditor.known(caller.name), new_key()
        if not known:
            return
        status = self.chance.choice(_STATUSES)
        body = {"task_ids": self.chance.sample(known, min(3, len(known))), "status": status}
        answer = self._send(lambda: caller.post("/tasks/bulk/status", body, key))
        if self._is(answer, 200):
            self.auditor.told(answer.json()["results"], status)

    def clear(self, caller: Caller) -> None:
        """Delete completed tasks."""
        key = new_key()
        answer = self._send(lambda: caller.post("/tasks/bulk/delete-completed", key=key))
        if self._is(answer, 200):
            self.auditor.told(answer.json()["results"], "")

    def look(self, caller: Caller) -> None:
        """Read something; a task that is known and nobody deletes is there."""
        query = self.chance.choice([{}, {"status": "pending"}, {"order": "urgency"}, {"due_to": "2025-12-15"}])
        self._is(self._send(lambda: caller.get("/tasks", limit=10, **query), once=True), 200)
        task_id = self._pick(caller)
        if task_id is not None:
            self._is(self._send(lambda: caller.get(f"/tasks/{task_id}"), once=True), 200, 404)

    def _pick(self, caller: Caller) -> str | None:
        known = self.auditor.known(caller.name)
        return self.chance.choice(known[-30:]) if known else None

    def _fields(self) -> dict[str, Any]:
        choice = self.chance.choice
        every = {
            "title": f"t{self.chance.random()}",
            "status": choice(_STATUSES),
            "priority": choice([None, "low", "high", "urgent"]),
            "category": choice([None, "home", "work"]),
            "due_date": choice([None, "2025-12-01", "2025-12-24"]),
        }
        return {name: value for name, value in every.items() if self.chance.random() < 0.4}

    def _send(self, send: Callable[[], httpx.Response], *, once: bool = False) -> httpx.Response:
        if self.doubled is None or once:
            return self._patiently(send)
        other = self.doubled.submit(self._patiently, send)
        answer, again = self._patiently(send), other.result()
        if (answer.status_code, answer.content) != (again.status_code, again.content) and answer.is_success:
            self.auditor.complaints.append(f"two answers to one request: {answer.text} and {again.text}")
        if again.is_success and not answer.is_success:
            self.auditor.complaints.append(f"one request refused and done: {answer.text} and {again.text}")
        return answer

    def _patiently(self, send: Callable[[], httpx.Response]) -> httpx.Response:
        for _ in range(PATIENCE):
            answer = send()
            self.auditor.answers[f"{answer.request.method} {answer.status_code}"] += 1
            if answer.status_code != 503:
                break
            time.sleep(0.02)
        return answer

    def _is(self, answer: httpx.Response, wanted: int, *also: int) -> bool:
        if answer.status_code not in {wanted, *also}:
            self.auditor.complaints.append(
                f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
            )
        return answer.status_code == wanted


def counting_faults(connection: Connection) -> Counter[str]:
    """Count the errors that the connection meets and gets over."""
    met: Counter[str] = Counter()
    call = connection._call

    def counted(operation: str, request: dict[str, Any]) -> Any:
        try:
            return call(operation, request)
        except ServiceError as error:
            reasons = {reason["Code"] for reason in error.members.get("CancellationReasons", ())} - {"None"}
            met.update(reasons or {error.code})
            raise

    connection._call = counted
    return met


def audit(stage: Stage, seconds: float, *, doubled: bool, seed: int = 1) -> Auditor:
    """Send traffic for so long, and until a little was done, then hold the table to what was acknowledged."""
    auditor, end_s = Auditor(), time.monotonic() + seconds

    def is_over() -> bool:
        left_s = end_s - time.monotonic()
        return left_s < 0 and (auditor.has_seen(LITTLE) or left_s < -LONGEST_S)

    errors: list[BaseException] = []

    def work(number: int) -> None:
        pool = ThreadPoolExecutor(1) if doubled else None
        callers = [stage.person(name) for name in NAMES]
        try:
            Traffic(callers, auditor, random.Random(f"{seed}/{number}"), pool).run(is_over)
        except BaseException as error:  # noqa: BLE001 - told below
            errors.append(error)
        finally:
            if pool is not None:
                pool.shutdown()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    auditor.verify(stage.connection)
    return auditor


def verify_indexes(stage: Stage) -> None:
    """Hold the indexes to the table, once nothing lags any more."""
    for user in NAMES:
        by_status: dict[str, set[str]] = defaultdict(set)
        for task in stage.connection.iterate(design.tasks_of_user(user)):
            by_status[task.status.value].add(task.task_id)
        for status in Status:
            found = stage.connection.all(design.tasks_with_status(user, status))
            assert {task.task_id for task in found} == by_status[status.value], f"{user}: {status}"


FAULTS = Faults(
    seed=7, throttle=True, conflicts=0.03, internal_errors=0.02, gsi_lag=(0.0, 0.3), stale_reads=0.2, stale_s=0.5,
    unprocessed=0.1, duplicate_stream_records=0.1, reorder_stream_records=0.1,
)  # fmt: skip
SLOW_UNITS = 350
"""Units a second of table and indexes in audits with faults: less than the traffic wants."""


def throttled(engine: Engine) -> None:
    """Give the table so little capacity that traffic is throttled."""
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
def fed(connection: Connection, clock: SystemClock, folder: Path) -> Iterator[None]:
    """While it lasts, a feed follows the stream; in the end the lake tells the totals of the table."""
    lake, stop, errors = Lake.open(folder / "lake", clock=clock), threading.Event(), list[BaseException]()
    feed = Feed(connection, lake, clock=clock)

    def follow() -> None:
        try:
            while not stop.wait(0.5):
                feed.run_once()
        except BaseException as error:  # noqa: BLE001 - told below
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


def run(
    folder: Path, seconds: float, *, doubled: bool, faults: bool, http: bool = False
) -> tuple[Auditor, Counter[str]]:
    """An audit of a new system on a database in a folder; with `http` its connection is boto3 over a socket."""
    clock = SystemClock(1)
    with ExitStack() as stack:
        engine = stack.enter_context(
            Engine.open(folder / "todo.db", clock=clock, faults=FAULTS if faults else None, stream_shards=2)
        )
        url = stack.enter_context(ThreadedServer(engine)).url if http else None
        connection = stack.enter_context(connected(engine if url is None else Elsewhere(url), clock, attempts=20))
        stage = stack.enter_context(staged(connection, clock, folder / "keys"))
        if faults:
            throttled(engine)
        met = counting_faults(connection)
        with fed(connection, clock, folder):
            auditor = audit(stage, seconds, doubled=doubled)
            if faults:
                # What lags is applied at the next call after it is due, and that may be read stale for a while.
                time.sleep(FAULTS.lag_range[1])
                connection.run(design.user_by_id("u0"))
                time.sleep(FAULTS.stale_s)
        verify_indexes(stage)
        return auditor, met


def main() -> None:
    """Run one audit, and tell what was acknowledged and what was met."""
    options = sys.argv[1:]
    seconds = float(next((one for one in options if one.isdecimal()), 30))
    with tempfile.TemporaryDirectory() as folder:
        told = {name: name in options for name in ("doubled", "faults", "http")}
        auditor, met = run(Path(folder), seconds, **told)
    tasks = auditor.histories.values()
    print(f"{seconds:g} s, {THREADS} threads, answers: {dict(sorted(auditor.answers.items()))}")
    print(
        f"tasks made {len(tasks)}, changed {sum(len(one.changes) for one in tasks)}, in bulk"
        f" {sum(len(one.unseen) for one in tasks)}, deleted {sum(one.deletions for one in tasks)}; lost or doubled: 0"
    )
    print(f"met on the way: {dict(sorted(met.items()))}")


if __name__ == "__main__":
    main()
