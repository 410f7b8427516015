"""Load test: many watchers, concurrent writers, connections killed at random; checks all received events.

    python -m tests.systems.forum.watchers        # 200 watchers, 20 threads, 5,000 events, two processes' worth of hubs

Everything goes over real sockets. Each watcher starts without history, notes what its first subscription answers, and
asks for what it misses whenever it is cut off. In the end each must hold every later number of its thread, once and in
order.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.systems.forum.live import PATIENCE_S, Live, MovedClock, running
from tests.systems.served_engine import ServedEngine
from websockets.exceptions import ConnectionClosed

from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan_systems.forum.entities import Place
from keyplan_systems.forum.hub import Limits
from keyplan_systems.forum.migrations import upgrade
from keyplan_systems.forum.relational.session import Database

FAULTS = Faults(
    seed=5,
    gsi_lag=(0.0, 0.05),
    conflicts=0.02,
    duplicate_stream_records=0.1,
    reorder_stream_records=0.2,
)
PLATFORM = "9"


@dataclass(frozen=True)
class Load:
    """Size of the load."""

    watchers: int = 200
    threads: int = 20
    events: int = 5_000
    writers: int = 8
    kills: int = 400
    hubs: int = 2
    seed: int = 1


@dataclass
class Watcher:
    """User at one thread, with as many connections as needed."""

    place: Place
    user_id: str
    first: int | None = None
    """Number after which it started."""
    seqs: list[int] = field(default_factory=list)
    ids: set[tuple[str, str]] = field(default_factory=set)
    connections: int = 0
    unstored: int = 0
    """Received events that were not stored."""

    @property
    def last(self) -> int:
        """Number of the last event it has, or started after."""
        assert self.first is not None
        return self.seqs[-1] if self.seqs else self.first


@dataclass
class Course:
    """State of a run."""

    load: Load
    lives: list[Live]
    watchers: list[Watcher] = field(default_factory=list)
    ready: int = 0
    everybody: threading.Event = field(default_factory=threading.Event)
    """Set once half of the watchers watch: the others start during the writes."""
    written: threading.Event = field(default_factory=threading.Event)
    done: int = 0
    """Approximate number of written events."""
    kills_left: int = 0
    started_s: float = 0.0
    wrote_s: float = 0.0
    ended_s: float = 0.0

    def place(self, number: int) -> Place:
        return Place("500", str(1000 + number % self.load.threads))


def run(course: Course) -> None:
    """Write and watch until every watcher has received everything."""
    course.kills_left = course.load.kills
    course.watchers = [Watcher(course.place(number), str(2000 + number)) for number in range(course.load.watchers)]
    course.started_s = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(_write_all, course)
        asyncio.run(_watch_all(course))
        writing.result()
    course.ended_s = time.monotonic()


def _write_all(course: Course) -> None:
    try:
        assert course.everybody.wait(PATIENCE_S)
        share = course.load.events // course.load.writers
        with ThreadPoolExecutor(course.load.writers) as pool:
            for future in [pool.submit(_write, course, writer, share) for writer in range(course.load.writers)]:
                future.result()
    finally:
        course.wrote_s = time.monotonic()
        course.written.set()


def _write(course: Course, writer: int, events: int) -> None:
    """Run one writer: messages, and sometimes an event of the past."""
    chance = random.Random(course.load.seed * 1000 + writer)
    live = course.lives[writer % len(course.lives)]
    user_id = str(3000 + writer)
    clients = {course.place(n): live.client(live.rights(user_id, course.place(n))) for n in range(course.load.threads)}
    platform = live.person(PLATFORM, "platform")
    for number in range(events):
        place = chance.choice(list(clients))
        path = f"/thread/{place.item_id}/{place.participant_id}"
        if chance.random() < 0.05:
            attempt = str(writer * 100_000 + number)
            result = {"type": "attempt_started", "time": 1_500_000_000_000 + number, "attempt_id": attempt}
            response = platform.post(f"{path}/events", json={"events": [result]})
        else:
            body = {"text": f"{writer}/{number}", "uuid": str(uuid.UUID(int=chance.getrandbits(128)))}
            response = clients[place].post(f"{path}/messages", json=body)
        assert response.status_code in (200, 201), response.text
        course.done += 1


async def _watch_all(course: Course) -> None:
    chance = random.Random(course.load.seed)
    async with asyncio.TaskGroup() as group:
        for number, watcher in enumerate(course.watchers):
            seeded = random.Random(chance.getrandbits(32))
            group.create_task(_watch(course, watcher, seeded, is_late=number % 2 == 1))


async def _watch(course: Course, watcher: Watcher, chance: random.Random, *, is_late: bool) -> None:
    """Connect, repeatedly, until no more events are expected."""
    begins_at = chance.randrange(course.load.events // 2) if is_late else 0
    while course.done < begins_at:
        await asyncio.sleep(0.02)
    while not (course.written.is_set() and _has_all(course, watcher)):
        try:
            await _one_connection(course, watcher, chance)
        except ConnectionClosed:
            continue


async def _one_connection(course: Course, watcher: Watcher, chance: random.Random) -> None:
    live = chance.choice(course.lives)
    fuse = chance.randint(1, course.load.events // course.load.threads)
    async with live.socket(watcher.user_id) as socket:
        watcher.connections += 1
        token = live.rights(watcher.user_id, watcher.place)
        if watcher.first is None:
            watcher.first = (await socket.watch(token))["since"]
            course.ready += 1
            if course.ready >= course.load.watchers // 2:
                course.everybody.set()
        else:
            await socket.watch(token, since=watcher.last)
        while not (course.written.is_set() and _has_all(course, watcher)):
            try:
                result = await asyncio.wait_for(socket.receive(), 0.5)
            except TimeoutError:
                continue
            _note(course.lives[0], watcher, result)
            fuse -= 1
            if fuse == 0 and course.kills_left > 0:
                course.kills_left -= 1
                socket.connection.transport.abort()


def _note(live: Live, watcher: Watcher, message: dict[str, object]) -> None:
    """Record the received events, and check immediately that they are stored."""
    key = {
        "PK": {"S": f"THREADEV#{watcher.place.participant_id}#{watcher.place.item_id}"},
        "time": {"S": f"{message['time']:013d}#{message['seq']:010d}"},
    }
    if "Item" not in live.call("GetItem", {"TableName": "forum", "Key": key, "ConsistentRead": True}):
        watcher.unstored += 1
    assert isinstance(message["seq"], int)
    watcher.seqs.append(message["seq"])
    watcher.ids.add((str(message["action"]), str(message.get("uuid") or message.get("attempt_id"))))


def _has_all(course: Course, watcher: Watcher) -> bool:
    return watcher.first is not None and watcher.last == course.lives[0].service.log.last_seq(watcher.place)


def faults_of(course: Course) -> list[str]:
    """Return the faults of a finished run; none if all is well."""
    wrong = []
    log = course.lives[0].service.log
    tops = {course.place(n): log.last_seq(course.place(n)) for n in range(course.load.threads)}
    stored = course.load.events // course.load.writers * course.load.writers
    if sum(tops.values()) != stored:
        wrong.append(f"{sum(tops.values())} events are stored, and {stored} were written")
    for watcher in course.watchers:
        assert watcher.first is not None
        if watcher.seqs != list(range(watcher.first + 1, tops[watcher.place] + 1)):
            wrong.append(f"watcher {watcher.user_id} after {watcher.first} of {tops[watcher.place]}: {watcher.seqs}")
        if len(watcher.ids) != len(watcher.seqs):
            wrong.append(f"watcher {watcher.user_id} got {len(watcher.seqs)} events of {len(watcher.ids)} kinds")
        if watcher.unstored:
            wrong.append(f"watcher {watcher.user_id} was sent {watcher.unstored} events before they were stored")
    return wrong


def course_of(load: Load, stack: ExitStack, engine: Engine | ServedEngine, folder: Path) -> Course:
    """Start the requested number of hubs, each with its own reader, on the same databases."""
    upgrade(f"sqlite:///{folder / 'forum.db'}")
    database, key = Database(f"sqlite:///{folder / 'forum.db'}"), Ed25519PrivateKey.generate()
    stack.callback(database.close)
    limits = Limits(sweep_s=0.5)
    lives = [
        stack.enter_context(running(engine, database, MovedClock(), folder, key=key, limits=limits))
        for _ in range(load.hubs)
    ]
    return Course(load, lives)


def left_of(course: Course) -> int:
    """Wait until no connection is stored; return the number of remaining subscriptions."""
    live, end_s = course.lives[0], time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        keys = [item["PK"]["S"] for item in _scan(live)]
        if not any(key.startswith("CONN#") for key in keys):
            break
        time.sleep(0.05)
    return sum(key.startswith(("CONN#", "THREADSUB#")) for key in keys)


def _scan(live: Live) -> list[dict[str, dict[str, str]]]:
    items: list[dict[str, dict[str, str]]] = []
    start: dict[str, object] = {}
    while True:
        page = live.call("Scan", {"TableName": "forum", **start})
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def main() -> int:
    """Run the full size; print figures and faults."""
    load = Load()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        engine = stack.enter_context(Engine.open(folder / "keyplan.db", faults=FAULTS))
        course = course_of(load, stack, engine, folder)
        run(course)
        wrong, left = faults_of(course), left_of(course)
        received = sum(len(watcher.seqs) for watcher in course.watchers)
        print(f"{load}")
        print(f"events pushed {received}, connections {sum(w.connections for w in course.watchers)}")
        print(f"kills {load.kills - course.kills_left}, left behind {left}, wrong {len(wrong)}")
        print(f"writing {course.wrote_s - course.started_s:.1f} s, all {course.ended_s - course.started_s:.1f} s")
        for line in wrong[:10]:
            print(line[:300])
    return 1 if wrong or left else 0


if __name__ == "__main__":
    sys.exit(main())
