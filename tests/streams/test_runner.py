"""Runners: restarts, replays, several of them, threads that drain, faults of the service."""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from tests.laws import examples
from tests.streams.scripted import ScriptedShard, ScriptedStream, UnreachableError
from tests.streams.shop import NOW, Shop, World, patiently

from keyplan import Inserted, Modified, connect
from keyplan.client.errors import UnavailableError
from keyplan.client.requests import Retries
from keyplan.clock import ManualClock, SystemClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.streams import (
    Backoff,
    Checkpoints,
    ConsumerStoppedError,
    FileCheckpoints,
    LeaseLost,
    Notice,
    Runner,
    TableCheckpoints,
    TemporaryFailure,
)

LONG_S = 240.0
"""Longer than anything takes on the busiest machine: only what hangs is ended by it."""


class Killed(BaseException):
    """The process ends here, as far as a runner can tell."""


@pytest.fixture(params=["table", "file"])
def store(request: pytest.FixtureRequest, inside: World, tmp_path: Path) -> Checkpoints:
    """Checkpoints that survive the runner."""
    return FileCheckpoints(tmp_path / "checkpoints.json") if request.param == "file" else inside.checkpoints()


def test_a_restart_continues_after_the_checkpoint(inside: World, store: Checkpoints) -> None:
    shop, got = inside.shop, []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.number)

    shop.orders(inside.db, 3)
    with inside.runner(checkpoints=store) as runner:
        runner.run_once()
    shop.orders(inside.db, 3, first=3)
    with inside.runner(checkpoints=store) as runner:
        assert runner.run_once().read == 3
    assert got == [0, 1, 2, 3, 4, 5]


def test_a_killed_runner_repeats_at_most_the_changes_after_its_checkpoint(inside: World, store: Checkpoints) -> None:
    shop, got, effects = inside.shop, [], set()

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        if change.new.number == 17 and 17 not in got:
            got.append(17)
            raise Killed
        got.append(change.new.number)
        effects.add(change.event_id)

    shop.orders(inside.db, 30)
    with pytest.raises(Killed):
        inside.runner(checkpoints=store, runner="worker", checkpoint_every=5).run_once()
    inside.runner(checkpoints=store, runner="worker", checkpoint_every=5).run_once()
    assert len(effects) == 30
    assert Counter(got) == {number: 2 if number in {15, 16, 17} else 1 for number in range(30)}
    assert got[-15:] == list(range(15, 30))


def test_a_runner_killed_between_the_halves_of_a_batch_repeats_the_second(inside: World, store: Checkpoints) -> None:
    shop, got = inside.shop, []
    broken = True

    @shop.table.on_change(shop.Order, batch=10)
    def watch(changes: list[Inserted[Any]]) -> None:
        numbers = [change.new.number for change in changes]
        if broken and 7 in numbers:
            if len(numbers) < 10:
                raise Killed
            raise ValueError("too many")
        got.extend(numbers)

    shop.orders(inside.db, 10)
    runner = inside.runner(checkpoints=store, runner="worker", checkpoint_every=1)
    runner.run_once()
    inside.clock.advance(10)
    with pytest.raises(Killed):
        runner.run_once()
    broken = False
    inside.runner(checkpoints=store, runner="worker").run_once()
    assert got == list(range(10))


@pytest.mark.parametrize("drain", [True, False])
def test_a_stopping_runner_delivers_the_remaining_changes_if_it_drains(inside: World, drain: bool) -> None:
    shop, got, stop = inside.shop, [], threading.Event()

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.number)

    shop.orders(inside.db, 3)
    stop.set()
    inside.runner().run(stop, drain=drain)
    assert got == ([0, 1, 2] if drain else [])


def test_waits_are_random_up_to_a_doubling_bound(clock: ManualClock) -> None:
    backoff = Backoff(first_s=1.0, most_s=8.0)
    for attempt, bound in enumerate([1.0, 2.0, 4.0, 8.0, 8.0], start=1):
        waits = [backoff.wait_s(attempt, clock) for _ in range(200)]
        assert 0.0 <= min(waits) < 0.1 * bound
        assert 0.9 * bound < max(waits) <= bound
    assert backoff.wait_s(10_000, clock) <= 8.0


def test_lost_checkpoints_replay_the_whole_stream(inside: World, tmp_path: Path) -> None:
    shop, got = inside.shop, []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.number)

    shop.orders(inside.db, 4)
    for attempt in range(2):
        with inside.runner(checkpoints=FileCheckpoints(tmp_path / f"{attempt}.json")) as runner:
            runner.run_once()
    assert got == [0, 1, 2, 3, 0, 1, 2, 3]


def test_several_consumers_share_one_read_of_the_stream(
    script: ScriptedStream, clock: ManualClock, tmp_path: Path
) -> None:
    shop, got = Shop(), []

    def declare(name: str) -> None:
        def watch(change: Inserted[Any]) -> None:
            got.append((name, change.new.number))

        watch.__name__ = name
        shop.table.on_change(shop.Order)(watch)

    for name in ("first", "second", "third"):
        declare(name)
    script.shards = {"a": ScriptedShard(None, list(range(1, 21)))}
    script.page = 10
    with Runner(script, shop.table, checkpoints=FileCheckpoints(tmp_path / "c.json"), clock=clock) as runner:
        counts = runner.run_once()
    assert (counts.read, counts.delivered) == (20, 60)
    assert script.reads == 3, "two pages, and one that is empty"


@pytest.fixture
def script() -> ScriptedStream:
    """Return a scripted stream."""
    return ScriptedStream({})


def numbers_of(world: World) -> dict[str, list[tuple[str, int]]]:
    """Declare a consumer; what each runner that is driven next gets of it, by the runner's name."""
    got: dict[str, list[tuple[str, int]]] = {}

    @world.shop.table.on_change(world.shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.setdefault(world.driven, []).append((change.new.customer, change.new.number))  # type: ignore[attr-defined]

    return got


def drive(world: World, *runners: Runner) -> None:
    """One pass of each, its name noted for the consumer."""
    for runner in runners:
        world.driven = runner.name  # type: ignore[attr-defined]
        runner.run_once()


def many(world: World, count: int, first: int = 0) -> None:
    """Orders of many customers, which lie in all shards."""
    for number in range(first, first + count):
        for customer in range(9):
            world.shop.orders(world.db, 1, customer=f"customer{customer}", first=number)


def test_two_runners_share_the_shards_and_deliver_each_record_once(world: World) -> None:
    got = numbers_of(world)
    first, second = world.runner(runner="one"), world.runner(runner="two")
    drive(world, first, second, first, second)
    many(world, 3)
    drive(world, first, second)
    assert set(got) == {"one", "two"}
    assert len(got["one"]) + len(got["two"]) == 27
    assert len({*got["one"], *got["two"]}) == 27
    first.close()
    many(world, 1, first=3)
    drive(world, second)
    assert len({*got["one"], *got["two"]}) == 36, "who is left takes all"


def test_a_second_runner_on_a_shard_takes_over_when_the_lease_ends(world: World) -> None:
    world.engine.call("DeleteTable", {"TableName": "shop"})
    world.clock.advance(25 * 3600)
    world.engine.database.settings = replace(world.engine.database.settings, stream_shards=1)
    world.db.create_tables(world.shop.table)
    got = numbers_of(world)
    first, second = world.runner(runner="one"), world.runner(runner="two")
    many(world, 1)
    drive(world, first, second)
    assert set(got) == {"one"}
    many(world, 1, first=1)
    world.clock.advance(29)
    drive(world, second)
    assert set(got) == {"one"}, "the lease still holds"
    world.clock.advance(1)
    drive(world, second)
    assert len(got["two"]) == 9
    assert world.notices == []
    many(world, 1, first=2)
    drive(world, first)
    assert len(got["one"]) == 9, "it has lost the shard, and delivers nothing of it"
    (notice,) = world.notices_of(LeaseLost)
    assert notice.consumer == "shop/watch"
    drive(world, second)
    assert len(got["two"]) == 18


def test_a_delayed_runner_does_not_advance_the_checkpoint_of_its_successor(inside: World) -> None:
    shop, got = inside.shop, []
    second: list[Runner] = []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.number)
        if len(got) == 2:
            inside.clock.advance(31)
            second.append(inside.runner(runner="next"))
            second[0].run_once()

    shop.orders(inside.db, 4)
    first = inside.runner(runner="slow")
    first.run_once()
    assert got == [0, 1, 0, 1, 2, 3], "the first stops where it finds that it has lost the shard"
    assert len(inside.notices_of(LeaseLost)) >= 1
    leases = inside.checkpoints().state("shop/watch").leases.values()
    assert {lease.owner for lease in leases if lease.position is not None} == {"next"}


def test_consumers_use_the_table_names_of_the_connection(engine: Engine, clock: ManualClock) -> None:
    shop, got = Shop(), []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.number)

    with connect(engine=engine, prefix="test-") as db, Runner(db, shop.table) as runner:
        runner.run_once()
        shop.orders(db, 2)
        assert runner.run_once().delivered == 2
        assert runner.lags_s() == {"test-shop/watch": 0.0}
    assert got == [0, 1]
    assert sorted(engine.call("ListTables", {})["TableNames"]) == ["test-keyplan-checkpoints", "test-shop"]


def test_lanes_of_a_killed_runner_are_released_when_it_restarts(inside: World) -> None:
    got = numbers_of(inside)
    many(inside, 1)
    drive(inside, inside.runner(runner="one"))  # and is killed: it gives nothing up
    many(inside, 1, first=1)
    two = inside.runner(runner="two")
    drive(inside, two)
    assert "two" not in got
    drive(inside, inside.runner(runner="one"), two)
    assert len(got["one"]) + len(got["two"]) == 18


def test_one_slow_shard_does_not_end_the_leases_of_others(inside: World) -> None:
    shop, got = inside.shop, []

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append((change.new.customer, change.new.number))
        inside.clock.advance(9)
        if len(got) % 4 == 0:
            other.run_once()

    many(inside, 5)
    other = inside.runner(runner="other")
    slow = inside.runner(runner="slow")
    slow.run_once()
    assert len(got) == len(set(got)) == 45
    assert inside.notices_of(LeaseLost) == []


def test_a_lane_lost_during_another_delivery_affects_only_that_lane(inside: World) -> None:
    shop, got = inside.shop, []

    @shop.table.on_change(shop.Order)
    def slow(change: Inserted[Any]) -> None:
        got.append(change.new.number)
        if len(got) == 1:
            inside.clock.advance(31)
            inside.runner(idle, runner="other").run_once()

    @shop.table.on_change(shop.Customer)
    def idle(change: Inserted[Any]) -> None:
        """Pass over every order, so that only its checkpoint moves."""

    shop.orders(inside.db, 3)
    inside.runner(runner="slow").run_once()
    assert got == [0, 1, 2]
    assert {notice.consumer for notice in inside.notices_of(LeaseLost)} == {"shop/idle"}


def test_lanes_acquired_before_a_failed_shard_lookup_are_read(inside: World, tmp_path: Path) -> None:
    class Failing(FileCheckpoints):
        """Cannot be reached once, when a second shard is to be taken."""

        taken = 0

        def acquire(self, *lease: Any) -> Any:
            self.taken += 1
            if self.taken == 2:
                raise UnavailableError("not now")
            return super().acquire(*lease)

    got = numbers_of(inside)
    many(inside, 1)
    runner = inside.runner(runner="one", checkpoints=Failing(tmp_path / "checkpoints.json"))
    with pytest.raises(UnavailableError):
        drive(inside, runner)
    drive(inside, runner)
    assert len(got["one"]) == 9


def test_a_runners_thread_delivers_changes_as_they_arrive_and_drains_on_stop(tmp_path: Path) -> None:
    shop, got, arrived = Shop(), [], threading.Event()

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        got.append(change.new.number)
        arrived.set()

    with connect(str(tmp_path / "data.db")) as db:
        runner = Runner(db, shop.table, poll_s=0.005)
        runner.start()
        shop.orders(db, 1)
        assert arrived.wait(LONG_S)
        shop.orders(db, 50, first=1)
        runner.stop()
        assert got == list(range(51))
        assert runner.error is None
        leases = TableCheckpoints(db).state("shop/watch").leases.values()
        assert {lease.owner for lease in leases} == {None}
        runner.start()
        runner.stop()
        assert got == list(range(51))


def test_a_runner_without_a_thread_can_be_started_again(inside: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shop, came = inside.shop, threading.Event()

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        came.set()

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    runner = Runner(inside.engine, shop.table, poll_s=0.001)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError, match="can't start"):
            runner.start()
    runner.stop()
    runner.start()
    shop.orders(inside.db, 1)
    assert came.wait(LONG_S)
    runner.stop()


def test_an_error_that_ends_the_thread_is_raised_by_stop(tmp_path: Path) -> None:
    shop, failed = Shop(), threading.Event()

    @shop.table.on_change(shop.Order, retries=0)
    def watch(change: Inserted[Any]) -> None:
        failed.set()
        raise ValueError("broken")

    with connect(":memory:") as db:
        runner = Runner(db, shop.table, poll_s=0.005)
        runner.start()
        shop.orders(db, 1)
        assert failed.wait(LONG_S)
        with pytest.raises(ConsumerStoppedError, match="ValueError: broken"):
            runner.stop()


def test_a_runner_closes_the_streams_client_that_it_created(over_http: World, monkeypatch: pytest.MonkeyPatch) -> None:
    entries: list[Any] = []
    closed: list[Any] = []
    true = boto3.client

    def client(*args: Any, **named: Any) -> Any:
        entries.append(created := true(*args, **named))
        monkeypatch.setattr(created, "close", lambda: closed.append(created))
        return created

    monkeypatch.setattr(boto3, "client", client)
    got = numbers_of(over_http)
    many(over_http, 1)
    runner = over_http.runner()
    drive(over_http, runner)
    assert len(entries) == 1, "checkpoints read no streams"
    runner.close()
    assert closed == entries
    many(over_http, 1, first=1)
    drive(over_http, runner)
    assert len(got[runner.name]) == 2 * 9


class Failing:
    """A database that cannot be reached for a while."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.fails = engine, 0
        self.failed = threading.Event()

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Fail a given number of times, then answer."""
        if self.fails:
            self.fails -= 1
            if not self.fails:
                self.failed.set()
            raise UnreachableError("away")
        return self.engine.call(operation, request)

    def close(self) -> None:
        """Nothing is held."""


def test_the_thread_continues_when_the_service_recovers(inside: World) -> None:
    shop, notices, came = inside.shop, list[Notice](), threading.Event()

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        came.set()

    flaky = Failing(inside.engine)
    runner = Runner(
        flaky, shop.table, notify=notices.append, poll_s=0.001, backoff=Backoff(0.001, 0.01), clock=ManualClock(NOW)
    )
    flaky.fails = 25
    runner.start()
    assert flaky.failed.wait(LONG_S)
    shop.orders(inside.db, 1)
    assert came.wait(LONG_S)
    runner.stop()
    assert [type(notice) for notice in notices] == [TemporaryFailure, TemporaryFailure]


def test_run_once_raises_if_the_service_is_unavailable(inside: World) -> None:
    shop = inside.shop

    @shop.table.on_change(shop.Order)
    def watch(change: Inserted[Any]) -> None:
        """Take orders."""

    flaky = Failing(inside.engine)
    runner = Runner(flaky, shop.table, clock=inside.clock)
    flaky.fails = 1000
    with pytest.raises(UnavailableError, match="away"):
        runner.run_once()
    flaky.fails = 0
    shop.orders(inside.db, 2)
    assert runner.run_once().delivered == 2
    runner.close()


@pytest.mark.parametrize("seed", range(examples(4)))
def test_every_order_is_handled_in_order_under_faults(clock: ManualClock, seed: int) -> None:
    faults = Faults(
        seed=seed,
        internal_errors=0.1,
        conflicts=0.05,
        stale_reads=0.2,
        duplicate_stream_records=0.3,
        reorder_stream_records=0.3,
    )
    with Engine.memory(clock=clock, faults=faults, stream_shards=2, ttl_sweep_s=None) as engine:
        db = connect(engine=engine, retries=Retries(attempts=50))
        shop = Shop()
        world = World(engine, db, clock, shop, checkpoints=lambda: TableCheckpoints(db))
        states: dict[int, list[str]] = {}

        @shop.table.on_change(shop.Order, retries=20)
        def watch(change: Inserted[Any] | Modified[Any]) -> None:
            if clock.random.random() < 0.1:
                raise ValueError("unlucky")
            states.setdefault(change.new.number, []).append(change.new.state)

        for number in range(40):
            db.run(shop.place(shop.Order(customer=f"c{number % 7}", number=number)))
            for state in ("paid", "sent"):
                db.run(shop.move(f"c{number % 7}", number, state))
        clock.random.seed(seed)
        runner = world.runner()
        patiently(world, runner)
        assert states == {number: ["open", "paid", "sent"] for number in range(40)}
        runner.close()


@pytest.mark.slow  # runs threads against each other
def test_racing_runners_deliver_everything_and_each_item_in_order(tmp_path: Path) -> None:
    """Four runners come and go while orders are written; nobody's clock stands still."""
    lease_s = 3600.0  # no lease may end, however long the machine takes
    with Engine.open(tmp_path / "data.db", stream_shards=4, clock=SystemClock(1)) as engine:
        shop, lock = Shop(), threading.Lock()
        got: list[tuple[str, int]] = []

        @shop.table.on_change(shop.Order, batch=7)
        def watch(changes: list[Inserted[Any]]) -> None:
            with lock:
                got.extend((change.new.customer, change.new.number) for change in changes)

        db = connect(engine=engine)
        db.create_tables(shop.table)
        TableCheckpoints(db).prepare()
        expected = {(f"c{customer}", number) for customer in range(10) for number in range(40)}
        stop = threading.Event()

        def come_and_go(name: str) -> None:
            chance = SystemClock(zlib.crc32(name.encode())).random
            while not stop.is_set():
                with Runner(db, shop.table, runner=name, lease_s=lease_s, checkpoint_every=5) as runner:
                    for _ in range(chance.randrange(1, 8)):
                        runner.run_once(limit=chance.randrange(5, 60))

        threads = [threading.Thread(target=come_and_go, args=(f"runner{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for number in range(40):
            for customer in range(10):
                db.run(shop.place(shop.Order(customer=f"c{customer}", number=number)))
        stop.set()
        for thread in threads:
            thread.join()
        with Runner(db, shop.table, runner="last", lease_s=lease_s) as runner:
            runner.run_once()
        assert set(got) == expected
        assert len(got) == len(expected), "no lease ended, so nothing was delivered twice"
        for customer in range(10):
            assert [number for name, number in got if name == f"c{customer}"] == list(range(40))
