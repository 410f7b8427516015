"""Turns of the loop: shared commits, order, and the answers after a failed commit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.fake_engine import FakeEngine
from tests.server.plain_http import headers_for

from keyplan.errors import DatabaseFullError, DatabaseLockedError
from keyplan.server.protocol import DynamoDBProtocol, ProtocolCall
from keyplan.server.turns import MAX_UNSENT_BYTES, Entry, Job, TurnQueue, Turns, split_batch
from keyplan.server.wire import Request, Response


class FakeLane:
    """A lane that records its answers."""

    def __init__(self, *jobs: ProtocolCall | Response) -> None:
        self.jobs: deque[Job] = deque(jobs)
        self.queued = False
        self.stalled = False
        self.answers: list[Response] = []
        self.heard: Callable[[], None] = lambda: None

    def send_response(self, response: Response) -> None:
        self.answers.append(response)
        self.heard()


def call(operation: str, key: str = "k") -> ProtocolCall:
    return ProtocolCall(operation, {"Item": {"p": {"S": key}}, "Key": {"p": {"S": key}}}, b"t", {})


def serve(engine: FakeEngine, *lanes: FakeLane) -> None:
    """Queue all lanes in one turn, and let turns pass until no job is left."""

    async def run() -> None:
        turns = Turns(DynamoDBProtocol(engine), asyncio.get_running_loop())
        for lane in lanes:
            turns.enqueue(lane)
        for _ in range(200):
            await asyncio.sleep(0)

    asyncio.run(run())


def bodies(lane: FakeLane) -> list[object]:
    return [orjson.loads(response.body) for response in lane.answers]


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


def test_reads_are_answered_together_while_their_responses_are_small(engine: FakeEngine) -> None:
    order: list[str] = []

    class Noting(FakeEngine):
        def call_wire(self, operation: str, request: dict[str, object]) -> dict[str, object]:
            order.append(operation)
            return super().call_wire(operation, request)

    sizes = [1, 1, MAX_UNSENT_BYTES, 1]
    lanes = [FakeLane(ProtocolCall("Scan", {"Size": size}, b"t", {})) for size in sizes]
    for lane in lanes:
        lane.heard = lambda: order.append("answer")
    serve(Noting(), *lanes)
    assert order == ["Scan"] * 3 + ["answer"] * 3 + ["Scan", "answer"]


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
def test_a_failed_commit_fails_its_writes_and_no_read(engine: FakeEngine, when: str) -> None:
    if when == "begin":
        engine.begin_fails = DatabaseLockedError("locked")
    else:
        engine.commit_fails = DatabaseFullError("disk full")
    done = Response(404, b"{}", b"t", b"id")
    writer = FakeLane(call("PutItem", "a"), done, call("PutItem", "b"))
    other = FakeLane(call("PutItem", "c"))
    reader = FakeLane(call("GetItem", "a"))
    serve(engine, writer, other, reader)
    assert [response.status for response in writer.answers] == [500, 404, 500]
    assert [response.status for response in other.answers] == [500]
    assert [response.status for response in reader.answers] == [200]
    assert b"could not be used" in other.answers[0].body
    assert engine.items == {}


def test_a_failed_call_does_not_affect_others(engine: FakeEngine) -> None:
    engine.raises["UpdateItem"] = ZeroDivisionError()
    lanes = [FakeLane(call(name)) for name in ("PutItem", "UpdateItem", "PutItem")]
    serve(engine, *lanes)
    assert [lane.answers[0].status for lane in lanes] == [200, 500, 200]
    assert len(engine.groups) == 1


def test_a_stalled_lane_does_not_block_the_others(engine: FakeEngine) -> None:
    stalled, free = FakeLane(call("GetItem")), FakeLane(call("GetItem"))
    stalled.stalled = True
    serve(engine, stalled, free)
    assert (len(stalled.answers), len(free.answers)) == (0, 1)
    assert (len(stalled.jobs), stalled.queued) == (1, False)


def test_a_busy_lane_does_not_block_others(engine: FakeEngine) -> None:
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
        (lanes[number], call(name, str(at)) if name else Response(400, b"", b"t", str(at).encode()))
        for at, (number, name) in enumerate(mix)
    ]
    served: list[Entry] = []
    start = 0
    while start < len(batch):
        start, early, late = split_batch(batch, start)
        served += early + late
    lane: TurnQueue
    for lane in lanes:
        assert [job for owner, job in served if owner is lane] == [job for owner, job in batch if owner is lane]
    assert len(served) == len(batch)


def test_the_protocol_feeds_the_turns(engine: FakeEngine) -> None:
    protocol = DynamoDBProtocol(engine)
    job = protocol.read(Request(b"POST", b"/", headers_for("ListTables"), b"{}"))
    assert isinstance(job, ProtocolCall)
    assert job.operation == "ListTables"


def serve_in_looks(engine: FakeEngine, *looks: list[FakeLane]) -> None:
    """Queue the lanes of one poll after those of another, with a pass of the loop between."""

    async def run() -> None:
        turns = Turns(DynamoDBProtocol(engine), asyncio.get_running_loop())
        for lanes in looks:
            for lane in lanes:
                turns.enqueue(lane)
            await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0)

    asyncio.run(run())


def writers(count: int) -> list[FakeLane]:
    return [FakeLane(call("PutItem", str(number))) for number in range(count)]


@pytest.mark.parametrize(("waits", "groups"), [(True, [4, 4]), (False, [4, 2, 2])])
def test_expected_writers_are_awaited_only_if_commits_wait_for_the_disk(
    engine: FakeEngine, waits: bool, groups: list[int]
) -> None:
    engine.waits_for_disk = waits
    serve_in_looks(engine, writers(4), [], writers(2), writers(2))
    assert [len(group) for group in engine.groups] == groups


def test_a_disconnected_client_is_not_awaited_for_long(engine: FakeEngine) -> None:
    engine.waits_for_disk = True
    lanes = writers(3)
    serve_in_looks(engine, writers(8), [], lanes)
    assert [len(group) for group in engine.groups] == [8, 3]
    assert all(lane.answers for lane in lanes)


def test_a_single_writer_does_not_wait(engine: FakeEngine) -> None:
    engine.waits_for_disk = True
    first, second = writers(2)
    first.heard = lambda: order.append("first")
    second.heard = lambda: order.append("second")
    order: list[str] = []
    serve_in_looks(engine, [first], [second], [])
    assert order == ["first", "second"]
    assert engine.groups == []


def test_reads_are_answered_while_writes_are_expected(engine: FakeEngine) -> None:
    engine.waits_for_disk = True
    reader = FakeLane(call("GetItem"))
    serve_in_looks(engine, writers(8), [], [reader])
    assert len(reader.answers) == 1
