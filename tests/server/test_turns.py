"""Turns of the loop: what shares a commit, in which order, and what a failed commit answers."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable

import orjson
import pytest
from fake_engine import FakeEngine
from hypothesis import given
from hypothesis import strategies as st
from plain_http import headers_for

from keyplan.errors import DatabaseFullError, DatabaseLockedError, StorageError
from keyplan.server.protocol import Call, DynamoDBProtocol
from keyplan.server.turns import Entry, Turns, stretch
from keyplan.server.wire import Answer, Request


class FakeLane:
    """A lane that keeps its answers."""

    def __init__(self, *works: Call | Answer) -> None:
        self.works: deque[Call | Answer] = deque(works)
        self.queued = False
        self.stalled = False
        self.answers: list[Answer] = []
        self.heard: Callable[[], None] = lambda: None

    def answered(self, answer: Answer) -> None:
        self.answers.append(answer)
        self.heard()


def call(operation: str, key: str = "k") -> Call:
    return Call(operation, {"Item": {"p": {"S": key}}, "Key": {"p": {"S": key}}}, b"t", {})


def serve(engine: FakeEngine, *lanes: FakeLane) -> None:
    """Queue all lanes in one turn, and let turns pass until nothing is left to do."""

    async def run() -> None:
        turns = Turns(DynamoDBProtocol(engine), asyncio.get_running_loop())
        for lane in lanes:
            turns.enqueue(lane)
        for _ in range(200):
            await asyncio.sleep(0)

    asyncio.run(run())


def bodies(lane: FakeLane) -> list[object]:
    return [orjson.loads(answer.body) for answer in lane.answers]


def test_writes_of_one_turn_share_a_commit(engine: FakeEngine) -> None:
    lanes = [FakeLane(call("PutItem", str(number))) for number in range(8)]
    serve(engine, *lanes)
    assert engine.groups == [["PutItem"] * 8]
    assert all(bodies(lane) == [{}] for lane in lanes)


def test_a_single_write_commits_by_itself(engine: FakeEngine) -> None:
    lanes = [FakeLane(call("PutItem")), FakeLane(call("GetItem")), FakeLane(call("Scan"))]
    serve(engine, *lanes)
    assert engine.groups == []
    assert sorted(engine.calls) == ["GetItem", "PutItem", "Scan"]


def test_reads_do_not_wait_for_the_commit(engine: FakeEngine) -> None:
    order: list[str] = []
    names = ["PutItem", "GetItem", "UpdateItem", "Query"]
    lanes = [FakeLane(call(name)) for name in names]
    for name, lane in zip(names, lanes, strict=True):
        lane.heard = lambda name=name: order.append(name)  # type: ignore[misc]
    serve(engine, *lanes)
    assert order == ["GetItem", "Query", "PutItem", "UpdateItem"]
    assert engine.groups == [["PutItem", "UpdateItem"]]


def test_a_lane_reads_what_it_wrote(engine: FakeEngine) -> None:
    lane = FakeLane(call("PutItem", "a"), call("GetItem", "a"), call("GetItem", "b"))
    other = FakeLane(call("PutItem", "b"))
    serve(engine, lane, other)
    assert bodies(lane) == [{}, {"Item": {"p": {"S": "a"}}}, {"Item": {"p": {"S": "b"}}}]


def test_operations_on_tables_run_alone(engine: FakeEngine) -> None:
    lanes = [FakeLane(call(name)) for name in ("PutItem", "PutItem", "CreateTable", "PutItem", "PutItem", "ListTables")]
    serve(engine, *lanes)
    assert engine.groups == [["PutItem", "PutItem"], ["PutItem", "PutItem"]]
    assert engine.calls.index("CreateTable") == 2


@pytest.mark.parametrize("when", ["begin", "commit"])
def test_a_failed_commit_fails_every_write_in_it_and_no_read(engine: FakeEngine, when: str) -> None:
    if when == "begin":
        engine.begin_fails = DatabaseLockedError("locked")
    else:
        engine.commit_fails = DatabaseFullError("disk full")
    done = Answer(404, b"{}", b"t", b"id")
    writer = FakeLane(call("PutItem", "a"), done, call("PutItem", "b"))
    other = FakeLane(call("PutItem", "c"))
    reader = FakeLane(call("GetItem", "a"))
    serve(engine, writer, other, reader)
    assert [answer.status for answer in writer.answers] == [500, 404, 500]
    assert [answer.status for answer in other.answers] == [500]
    assert [answer.status for answer in reader.answers] == [200]
    assert b"could not be used" in other.answers[0].body
    assert engine.items == {}


def test_a_failed_call_spoils_no_neighbour(engine: FakeEngine) -> None:
    engine.raises["UpdateItem"] = ZeroDivisionError()
    lanes = [FakeLane(call(name)) for name in ("PutItem", "UpdateItem", "PutItem")]
    serve(engine, *lanes)
    assert [lane.answers[0].status for lane in lanes] == [200, 500, 200]
    assert len(engine.groups) == 1


def test_a_stalled_lane_waits_and_the_others_do_not(engine: FakeEngine) -> None:
    stalled, free = FakeLane(call("GetItem")), FakeLane(call("GetItem"))
    stalled.stalled = True
    serve(engine, stalled, free)
    assert (len(stalled.answers), len(free.answers)) == (0, 1)
    assert (len(stalled.works), stalled.queued) == (1, False)


def test_a_busy_lane_lets_others_in(engine: FakeEngine) -> None:
    order: list[str] = []
    busy = FakeLane(*[call("GetItem") for _ in range(500)])
    quick = FakeLane(call("GetItem"))
    busy.heard = lambda: order.append("busy")
    quick.heard = lambda: order.append("quick")
    serve(engine, busy, quick)
    assert len(busy.answers) == 500
    assert order.index("quick") <= 8


WORKS = st.sampled_from(["PutItem", "UpdateItem", "GetItem", "Query", "CreateTable", "ExecuteStatement", ""])


@given(st.lists(st.tuples(st.integers(0, 2), WORKS), min_size=1, max_size=30))
def test_any_mix_keeps_each_lane_in_order(mix: list[tuple[int, str]]) -> None:
    lanes = [FakeLane() for _ in range(3)]
    batch: list[Entry] = [
        (lanes[number], call(name, str(at)) if name else Answer(400, b"", b"t", str(at).encode()))
        for at, (number, name) in enumerate(mix)
    ]
    served = []
    start = 0
    while start < len(batch):
        start, early, late = stretch(batch, start)
        served += early + late
    for lane in lanes:
        assert [work for owner, work in served if owner is lane] == [work for owner, work in batch if owner is lane]
    assert len(served) == len(batch)


def test_the_protocol_feeds_the_turns(engine: FakeEngine) -> None:
    protocol = DynamoDBProtocol(engine)
    work = protocol.read(Request(b"POST", b"/", headers_for("ListTables"), b"{}"))
    assert isinstance(work, Call)
    assert work.operation == "ListTables"


class FakeSync:
    """A disk that syncs when it is let, or fails."""

    def __init__(self) -> None:
        self.committed = 0
        self.synced = 0
        self.let = threading.Event()
        self.fails: Exception | None = None

    def wait(self, commit: int) -> None:
        assert self.let.wait(240)
        if self.fails is not None:
            raise self.fails
        self.synced = max(self.synced, commit)


def serve_unsynced(engine: FakeEngine, sync: FakeSync, rounds: list[list[FakeLane]]) -> list[list[int]]:
    """Queue each round's lanes while the disk holds back; how many answers each had before and after."""
    engine.unsynced = sync
    counts: list[list[int]] = []

    async def run() -> None:
        turns = Turns(DynamoDBProtocol(engine), asyncio.get_running_loop())
        lanes = [lane for lanes in rounds for lane in lanes]
        for group in rounds:
            for lane in group:
                turns.enqueue(lane)
            for _ in range(20):
                await asyncio.sleep(0)
        counts.append([len(lane.answers) for lane in lanes])
        sync.let.set()
        while not all(lane.answers for lane in lanes):
            await asyncio.sleep(0.001)
        counts.append([len(lane.answers) for lane in lanes])

    asyncio.run(run())
    return counts


def test_writes_are_answered_when_they_are_on_the_disk_and_reads_after_them_too(engine: FakeEngine) -> None:
    writes = [FakeLane(call("PutItem", str(number))) for number in range(2)]
    later = [FakeLane(call("GetItem", "0")), FakeLane(call("PutItem", "9"))]
    assert serve_unsynced(engine, FakeSync(), [writes, later]) == [[0, 0, 0, 0], [1, 1, 1, 1]]
    assert engine.groups == [["PutItem", "PutItem"], ["PutItem"]]


def test_a_sync_that_fails_acknowledges_nothing(engine: FakeEngine) -> None:
    sync = FakeSync()
    sync.fails = StorageError("disk gone")
    lanes = [FakeLane(call("PutItem", str(number))) for number in range(2)]
    serve_unsynced(engine, sync, [lanes])
    assert [lane.answers[0].status for lane in lanes] == [500, 500]


def test_reads_alone_never_wait_for_the_disk(engine: FakeEngine) -> None:
    lanes = [FakeLane(call("GetItem")), FakeLane(call("Scan"))]
    assert serve_unsynced(engine, FakeSync(), [lanes])[0] == [1, 1]
