"""Checkpoints: one owner at a time, fences that rise, positions that only the owner moves; in a table and in a file."""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.streams.shop import NOW, World

from keyplan import connect
from keyplan.client.errors import TableMissingError
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.streams import Checkpoints, FileCheckpoints, LeaseLostError, ShardLease, TableCheckpoints
from keyplan.streams.errors import ChangesError

ME, OTHER = "runner-1", "runner-2"
SHARD = "2026-01-01T00:00:00.000/shardId-1"


@pytest.fixture(params=["table", "table over HTTP", "file"])
def checkpoints(request: pytest.FixtureRequest, tmp_path: Path) -> Checkpoints:
    """Each place where checkpoints may be kept."""
    new_checkpoints: Checkpoints
    if request.param == "file":
        new_checkpoints = FileCheckpoints(tmp_path / "deep" / "checkpoints.json")
    else:
        world: World = request.getfixturevalue("inside" if request.param == "table" else "over_http")
        new_checkpoints = world.checkpoints()
    new_checkpoints.prepare()
    return new_checkpoints


def test_a_consumer_starts_once(checkpoints: Checkpoints) -> None:
    assert not checkpoints.state("c").is_known
    assert checkpoints.begin("c", 12.5)
    assert not checkpoints.begin("c", 99.0)
    state = checkpoints.state("c")
    assert (state.is_known, state.begins_at_s) == (True, 12.5)
    assert checkpoints.begin("d", None)
    assert checkpoints.state("d").begins_at_s is None


def test_a_lane_belongs_to_one_runner_until_its_lease_ends(checkpoints: Checkpoints) -> None:
    lease = checkpoints.acquire("c", SHARD, ME, NOW, NOW + 30)
    assert lease is not None
    assert (lease.owner, lease.fence, lease.position) == (ME, 1, None)
    assert checkpoints.acquire("c", SHARD, OTHER, NOW + 29, NOW + 60) is None
    acquired = checkpoints.acquire("c", SHARD, OTHER, NOW + 30, NOW + 60)
    assert acquired is not None
    assert (acquired.owner, acquired.fence) == (OTHER, 2)
    with pytest.raises(LeaseLostError):
        checkpoints.save(replace(lease, position=7))
    with pytest.raises(LeaseLostError):
        checkpoints.release(lease)
    assert checkpoints.state("c").leases[SHARD] == acquired


def test_positions_of_forty_digits_are_kept_exactly(checkpoints: Checkpoints) -> None:
    lease = checkpoints.acquire("c", SHARD, ME, NOW, NOW + 30)
    assert lease is not None
    moved = replace(lease, position=10**39 + 7, starts=10**39 + 5, until_s=NOW + 45.5)
    checkpoints.save(moved)
    assert checkpoints.state("c").leases == {SHARD: moved}
    assert checkpoints.state("other").leases == {}


def test_a_lane_stored_without_a_shard_start_can_be_read(inside: World, tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.json"
    lease = {"position": "7", "done": False, "owner": None, "until_s": 0.0, "fence": 3}
    path.write_text(json.dumps({"c": {"is_known": True, "begins_at_s": None, "lanes": {SHARD: lease}, "runners": {}}}))
    assert FileCheckpoints(path).state("c").leases[SHARD] == ShardLease("c", SHARD, 7, fence=3)
    store = inside.checkpoints()
    store.prepare()
    item = {"consumer": {"S": "c"}, "what": {"S": f"shard/{SHARD}"}, "position": {"S": "7"}, "fence": {"N": "3"}}
    inside.engine.call("PutItem", {"TableName": store.table, "Item": item})
    assert store.state("c").leases[SHARD] == ShardLease("c", SHARD, 7, fence=3)


def test_a_released_lane_keeps_its_position_for_the_next(checkpoints: Checkpoints) -> None:
    lease = checkpoints.acquire("c", SHARD, ME, NOW, NOW + 30)
    assert lease is not None
    checkpoints.release(replace(lease, position=5))
    assert checkpoints.state("c").leases[SHARD].owner is None
    acquired = checkpoints.acquire("c", SHARD, OTHER, NOW, NOW + 30)
    assert acquired is not None
    assert (acquired.position, acquired.fence) == (5, 2)


def test_a_completed_lane_has_no_owner(checkpoints: Checkpoints) -> None:
    lease = checkpoints.acquire("c", SHARD, ME, NOW, NOW + 30)
    assert lease is not None
    checkpoints.release(replace(lease, position=5, done=True))
    assert checkpoints.state("c").leases[SHARD].done
    assert checkpoints.acquire("c", SHARD, OTHER, NOW + 99, NOW + 130) is None


def test_a_runner_restarted_under_its_name_resumes_its_lane_immediately(checkpoints: Checkpoints) -> None:
    first = checkpoints.acquire("c", SHARD, ME, NOW, NOW + 30)
    again = checkpoints.acquire("c", SHARD, ME, NOW + 1, NOW + 31)
    assert first is not None
    assert again is not None
    assert again.fence == first.fence + 1
    with pytest.raises(LeaseLostError):
        checkpoints.save(first)


def test_runners_are_announced_and_withdrawn(checkpoints: Checkpoints) -> None:
    checkpoints.announce("c", ME, NOW + 30)
    checkpoints.announce("c", OTHER, NOW + 31)
    checkpoints.announce("c", ME, NOW + 40)
    assert checkpoints.state("c").runners == {ME: NOW + 40, OTHER: NOW + 31}
    checkpoints.withdraw("c", OTHER)
    checkpoints.withdraw("c", OTHER)
    assert checkpoints.state("c").runners == {ME: NOW + 40}


def test_a_missing_table_is_reported_with_a_fix(over_http: World) -> None:
    store = TableCheckpoints(over_http.db, table="nowhere")
    with pytest.raises(TableMissingError, match=r"missing table nowhere for checkpoints: create it.*create=True"):
        store.prepare()


def test_the_table_name_has_the_connections_prefix(engine: Engine) -> None:
    with connect(engine=engine, prefix="test-") as db:
        store = TableCheckpoints(db)
        store.prepare()
        store.prepare()
    assert engine.call("ListTables", {})["TableNames"] == ["test-keyplan-checkpoints"]


def test_completed_lanes_and_dead_runners_are_removed_after_a_week(inside: World, clock: ManualClock) -> None:
    store = inside.checkpoints()
    store.prepare()
    lease = store.acquire("c", SHARD, ME, NOW, NOW + 30)
    store.release(replace(lease, done=True))
    store.acquire("c", "open", ME, NOW, NOW + 30)
    store.announce("c", ME, NOW + 30)
    clock.advance(8 * 24 * 3600)
    inside.engine.sweep()
    state = store.state("c")
    assert set(state.leases) == {"open"}
    assert state.runners == {}


def test_a_damaged_file_is_reported_and_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.json"
    path.write_bytes(b'{"c": {"lan')
    with pytest.raises(ChangesError, match="is damaged"):
        FileCheckpoints(path).announce("c", ME, 1.0)
    assert path.read_bytes() == b'{"c": {"lan'


# Races. Every turn, all contend for the lease; who gets it moves the position by one and gives it up.

TURNS = 25
CONTENDERS = 4


def contend(store: Checkpoints, name: str) -> int:
    """Move the position this many times; return the number of refused moves."""
    moved = refused = 0
    while moved < TURNS:
        lease = store.acquire("c", SHARD, name, 1.0, 2.0)
        if lease is None:
            refused += 1
            continue
        store.save(replace(lease, position=(lease.position or 0) + 1))
        store.release(replace(lease, position=(lease.position or 0) + 1))
        moved += 1
    return refused


def race(work: Callable[[int], Any]) -> None:
    barrier = threading.Barrier(CONTENDERS)

    def started(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(CONTENDERS) as pool:
        list(pool.map(started, range(CONTENDERS)))


@pytest.mark.slow
def test_threads_never_advance_a_lane_at_the_same_time(checkpoints: Checkpoints) -> None:
    race(lambda number: contend(checkpoints, f"runner-{number}"))
    lease = checkpoints.state("c").leases[SHARD]
    assert (lease.position, lease.fence, lease.owner) == (TURNS * CONTENDERS, TURNS * CONTENDERS, None)


def contend_in_process(kind: str, path: str, name: str) -> int:
    if kind == "file":
        return contend(FileCheckpoints(path), name)
    with connect(path) as db:
        return contend(TableCheckpoints(db), name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "table"])
def test_processes_never_advance_a_lane_at_the_same_time(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "kept")
    if kind == "table":
        with connect(path) as db:
            TableCheckpoints(db).prepare()
    with ProcessPoolExecutor(CONTENDERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        names = [f"runner-{number}" for number in range(CONTENDERS)]
        list(pool.map(contend_in_process, [kind] * CONTENDERS, [path] * CONTENDERS, names))
    if kind == "file":
        state = FileCheckpoints(path).state("c")
    else:
        with connect(path) as db:
            state = TableCheckpoints(db).state("c")
    lease = state.leases[SHARD]
    assert (lease.position, lease.fence) == (TURNS * CONTENDERS, TURNS * CONTENDERS)
