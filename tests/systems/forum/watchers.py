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
class LoadRun:
    """State of a run."""

    load: Load
    lives: list[Live]
    watchers: list[Watcher] = field(default_factory=list)
    ready: int = 0
    half_ready: threading.Event = field(default_factory=threading.Event)
    """Set once half of the watchers watch: the others start during the writes."""
    written: threading.Event = field(default_factory=threading.Event)
    written_events: int = 0
    """Approximate number of written events."""
    kills_left: int = 0
    started_s: float = 0.0
    wrote_s: float = 0.0
    ended_s: float = 0.0

    def place(self, number: int) -> Place:
        return Place("500", str(1000 + number % self.load.threads))


def run(load_run: LoadRun) -> None:
    """Write and watch until every watcher has received everything."""
    load_run.kills_left = load_run.load.kills
    load_run.watchers = [
        Watcher(load_run.place(number), str(2000 + number)) for number in range(load_run.load.watchers)
    ]
    load_run.started_s = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(_write_all, load_run)
        asyncio.run(_watch_all(load_run))
        writing.result()
    load_run.ended_s = time.monotonic()


def _write_all(load_run: LoadRun) -> None:
    try:
        assert load_run.half_ready.wait(PATIENCE_S)
        events_per_writer = load_run.load.events // load_run.load.writers
        with ThreadPoolExecutor(load_run.load.writers) as pool:
            for future in [
                pool.submit(_write, load_run, writer, events_per_writer) for writer in range(load_run.load.writers)
            ]:
                future.result()
    finally:
        load_run.wrote_s = time.monotonic()
        load_run.written.set()


def _write(load_run: LoadRun, writer: int, events: int) -> None:
    """Run one writer: messages, and sometimes an event of the past."""
    generator = random.Random(load_run.load.seed * 1000 + writer)
    live = load_run.lives[writer % len(load_run.lives)]
    user_id = str(3000 + writer)
    clients = {
        load_run.place(n): live.client(live.rights(user_id, load_run.place(n))) for n in range(load_run.load.threads)
    }
    platform = live.person(PLATFORM, "platform")
    for number in range(events):
        place = generator.choice(list(clients))
        path = f"/thread/{place.item_id}/{place.participant_id}"
        if generator.random() < 0.05:
            attempt = str(writer * 100_000 + number)
            result = {"type": "attempt_started", "time": 1_500_000_000_000 + number, "attempt_id": attempt}
            response = platform.post(f"{path}/events", json={"events": [result]})
        else:
            body = {"text": f"{writer}/{number}", "uuid": str(uuid.UUID(int=generator.getrandbits(128)))}
            response = clients[place].post(f"{path}/messages", json=body)
        assert response.status_code in (200, 201), response.text
        load_run.written_events += 1


async def _watch_all(load_run: LoadRun) -> None:
    generator = random.Random(load_run.load.seed)
    async with asyncio.TaskGroup() as group:
        for number, watcher in enumerate(load_run.watchers):
            watcher_generator = random.Random(generator.getrandbits(32))
            group.create_task(_watch(load_run, watcher, watcher_generator, is_late=number % 2 == 1))


async def _watch(load_run: LoadRun, watcher: Watcher, generator: random.Random, *, is_late: bool) -> None:
    """Connect, repeatedly, until no more events are expected."""
    start_after = generator.randrange(load_run.load.events // 2) if is_late else 0
    while load_run.written_events < start_after:
        await asyncio.sleep(0.02)
    while not (load_run.written.is_set() and _has_all(load_run, watcher)):
        try:
            await _one_connection(load_run, watcher, generator)
        except ConnectionClosed:
            continue


async def _one_connection(load_run: LoadRun, watcher: Watcher, generator: random.Random) -> None:
    live = generator.choice(load_run.lives)
    messages_until_kill = generator.randint(1, load_run.load.events // load_run.load.threads)
    async with live.socket(watcher.user_id) as socket:
        watcher.connections += 1
        token = live.rights(watcher.user_id, watcher.place)
        if watcher.first is None:
            watcher.first = (await socket.watch(token))["since"]
            load_run.ready += 1
            if load_run.ready >= load_run.load.watchers // 2:
                load_run.half_ready.set()
        else:
            await socket.watch(token, since=watcher.last)
        while not (load_run.written.is_set() and _has_all(load_run, watcher)):
            try:
                result = await asyncio.wait_for(socket.receive(), 0.5)
            except TimeoutError:
                continue
            _record_message(load_run.lives[0], watcher, result)
            messages_until_kill -= 1
            if messages_until_kill == 0 and load_run.kills_left > 0:
                load_run.kills_left -= 1
                socket.connection.transport.abort()


def _record_message(live: Live, watcher: Watcher, message: dict[str, object]) -> None:
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


def _has_all(load_run: LoadRun, watcher: Watcher) -> bool:
    return watcher.first is not None and watcher.last == load_run.lives[0].service.log.last_seq(watcher.place)


def faults_of(load_run: LoadRun) -> list[str]:
    """Return the faults of a finished run; none if all is well."""
    faults = []
    log = load_run.lives[0].service.log
    last_seqs = {load_run.place(n): log.last_seq(load_run.place(n)) for n in range(load_run.load.threads)}
    stored = load_run.load.events // load_run.load.writers * load_run.load.writers
    if sum(last_seqs.values()) != stored:
        faults.append(f"{sum(last_seqs.values())} events are stored, and {stored} were written")
    for watcher in load_run.watchers:
        assert watcher.first is not None
        if watcher.seqs != list(range(watcher.first + 1, last_seqs[watcher.place] + 1)):
            faults.append(
                f"watcher {watcher.user_id} after {watcher.first} of {last_seqs[watcher.place]}: {watcher.seqs}"
            )
        if len(watcher.ids) != len(watcher.seqs):
            faults.append(f"watcher {watcher.user_id} got {len(watcher.seqs)} events of {len(watcher.ids)} kinds")
        if watcher.unstored:
            faults.append(f"watcher {watcher.user_id} was sent {watcher.unstored} events before they were stored")
    return faults


def start_run(load: Load, stack: ExitStack, engine: Engine | ServedEngine, folder: Path) -> LoadRun:
    """Start the requested number of hubs, each with its own reader, on the same databases."""
    upgrade(f"sqlite:///{folder / 'forum.db'}")
    database, key = Database(f"sqlite:///{folder / 'forum.db'}"), Ed25519PrivateKey.generate()
    stack.callback(database.close)
    limits = Limits(sweep_s=0.5)
    lives = [
        stack.enter_context(running(engine, database, MovedClock(), folder, key=key, limits=limits))
        for _ in range(load.hubs)
    ]
    return LoadRun(load, lives)


def remaining_items(load_run: LoadRun) -> int:
    """Wait until no connection is stored; return the number of remaining subscriptions."""
    live, end_s = load_run.lives[0], time.monotonic() + PATIENCE_S
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
        load_run = start_run(load, stack, engine, folder)
        run(load_run)
        faults, remaining = faults_of(load_run), remaining_items(load_run)
        received = sum(len(watcher.seqs) for watcher in load_run.watchers)
        print(f"{load}")
        print(f"events pushed {received}, connections {sum(w.connections for w in load_run.watchers)}")
        print(f"kills {load.kills - load_run.kills_left}, left behind {remaining}, wrong {len(faults)}")
        print(
            f"writing {load_run.wrote_s - load_run.started_s:.1f} s, all {load_run.ended_s - load_run.started_s:.1f} s"
        )
        for line in faults[:10]:
            print(line[:300])
    return 1 if faults or remaining else 0


if __name__ == "__main__":
    sys.exit(main())
