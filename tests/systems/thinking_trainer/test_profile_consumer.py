"""Profile consumer: the same snapshots in any order, repetition and delay of deliveries."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import examples
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.thinking_trainer.builders import NOON, USER, completed
from tests.systems.thinking_trainer.deliveries import expected_profiles, raw_snapshots, store_attempts, stored_profiles
from tests.systems.thinking_trainer.stage import RejectingDestination

from keyplan import Inserted
from keyplan.client.connection import Connection
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.streams import FileCheckpoints, JsonLinesFolder, Runner, redrive
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.domain.attempts import Attempt
from keyplan_systems.thinking_trainer.domain.ledger import MAX_WINDOW_ATTEMPTS
from keyplan_systems.thinking_trainer.domain.profiles import WINDOW
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS
from keyplan_systems.thinking_trainer.profile_consumer import BusyLedgerError, ProfileConsumer

LATEST_S = 1_800_000_000.0
PATIENT = 60
"""Attempts per request: each of a transaction's fifteen items may conflict, so most of them fail at first."""


def varied(count: int) -> list[Attempt]:
    """Return attempts with scores of every kind; every third in the same millisecond as the previous one."""
    source = random.Random(count)
    return [
        completed(
            number,
            {name: source.randint(0, 4) for name in DIMENSIONS},
            NOON + timedelta(minutes=number - (number % 3 == 2)),
        )
        for number in range(count)
    ]


ATTEMPTS = varied(13)
DELIVERIES = st.lists(st.sampled_from(range(13)), max_size=12).flatmap(
    lambda repeats: st.permutations([*range(13), *repeats])
)


@pytest.mark.embedded("faults on purpose")
@given(order=DELIVERIES, workers=st.integers(1, 4), seed=st.integers(0, 1_000))
@settings(max_examples=examples(20), deadline=None)
def test_racing_handlers_create_the_same_snapshots_in_any_order(order: list[int], workers: int, seed: int) -> None:
    clock = ManualClock(LATEST_S)
    faults = Faults(seed=seed, conflicts=0.1, internal_errors=0.05, stale_reads=0.5, gsi_lag=3600.0)
    with (
        Engine.memory(clock=clock, faults=faults, ttl_sweep_s=None) as engine,
        connected(engine, clock, attempts=PATIENT) as connection,
    ):
        stored = store_attempts(connection, ATTEMPTS)
        profiler = ProfileConsumer(connection, clock)
        with ThreadPoolExecutor(workers) as pool:
            outcomes = list(pool.map(lambda number: profiler.add(stored[number]), order))
        assert sum(outcomes) == len(ATTEMPTS)
        clock.advance(7200)  # reads are current again
        assert stored_profiles(connection) == expected_profiles(ATTEMPTS)
        ledger = connection.run(design.ledger_of(USER))
        assert ledger is not None
        assert ledger.attempt_count == len(ATTEMPTS)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.integers(1, 4)),
        st.tuples(st.just("deliver"), st.integers(1, 5)),
        st.tuples(st.just("restart"), st.integers(1, 20)),
    ),
    max_size=12,
)


@pytest.mark.embedded("faults on purpose")
@given(order=st.permutations(range(13)), steps=STEPS, seed=st.integers(0, 1_000))
@settings(max_examples=examples(15), deadline=None)
def test_a_repeated_reordered_and_replayed_stream_creates_the_same_snapshots(
    order: list[int], steps: list[tuple[str, int]], seed: int
) -> None:
    clock = ManualClock(LATEST_S)
    faults = Faults(
        seed=seed, duplicate_stream_records=0.4, reorder_stream_records=0.4, conflicts=0.05, internal_errors=0.02
    )
    with (
        TemporaryDirectory() as folder,
        Engine.memory(clock=clock, faults=faults, stream_shards=2, ttl_sweep_s=None) as engine,
        connected(engine, clock, attempts=PATIENT) as connection,
    ):
        waiting = [ATTEMPTS[number] for number in order]
        store_attempts(connection, [])
        first = runner(connection, clock, Path(folder) / "first.json")
        for number, (step, count) in enumerate(steps):
            if step == "submit":
                store_attempts(connection, [waiting.pop() for _ in range(min(count, len(waiting)))])
            elif step == "deliver":
                first.run_once(limit=count)
            else:  # a separate reader starts with the oldest record, and disappears in the middle
                runner(connection, clock, Path(folder) / f"{number}.json").run_once(limit=count)
        store_attempts(connection, waiting)
        deliver_all(first, clock)
        assert stored_profiles(connection) == expected_profiles(ATTEMPTS)
        before = raw_snapshots(connection)
        deliver_all(runner(connection, clock, Path(folder) / "last.json"), clock)
        assert raw_snapshots(connection) == before


def runner(connection: Connection, clock: ManualClock, checkpoints: Path) -> Runner:
    return Runner(
        connection, design.attempts, checkpoints=FileCheckpoints(checkpoints), clock=clock,
        destinations={"unprofiled": RejectingDestination()},
        handlers={design.follow: ProfileConsumer(connection, clock).follow},
    )  # fmt: skip


def deliver_all(delivering: Runner, clock: ManualClock) -> None:
    while (counts := delivering.run_once()).read or counts.waiting:
        clock.advance(60)


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock after all attempts."""
    return ManualClock(LATEST_S)


@pytest.fixture
def connection(engine: Engine | ServedEngine, clock: ManualClock) -> Iterator[Connection]:
    with connected(engine, clock) as connection:
        yield connection


@pytest.mark.embedded("faults on purpose")
@given(order=st.permutations(range(13)), workers=st.integers(2, 4), seed=st.integers(0, 1_000))
@settings(max_examples=examples(8), deadline=None)
def test_runners_that_share_the_shards_in_threads_create_the_same_snapshots(
    order: list[int], workers: int, seed: int
) -> None:
    clock = ManualClock(LATEST_S)
    faults = Faults(
        seed=seed, duplicate_stream_records=0.4, reorder_stream_records=0.4, conflicts=0.1, internal_errors=0.02
    )
    with (
        TemporaryDirectory() as folder,
        Engine.memory(clock=clock, faults=faults, stream_shards=3, ttl_sweep_s=None) as engine,
        connected(engine, clock, attempts=PATIENT) as db,
    ):
        store_attempts(db, [ATTEMPTS[number] for number in order[:7]])
        runners = [runner(db, clock, Path(folder) / "shared.json") for _ in range(workers)]

        def work(which: Runner) -> None:
            for _ in range(3):
                which.run_once()

        def submit() -> None:
            store_attempts(db, [ATTEMPTS[number] for number in order[7:]])

        with ThreadPoolExecutor(workers + 1) as pool:
            for future in [pool.submit(submit), *(pool.submit(work, worker_runner) for worker_runner in runners)]:
                future.result()
        for further in runners[1:]:
            further.close()
        deliver_all(runners[0], clock)
        assert stored_profiles(db) == expected_profiles(ATTEMPTS)


def test_only_the_change_to_completed_is_consumed(connection: Connection, clock: ManualClock) -> None:
    (attempt,) = store_attempts(connection, ATTEMPTS[:1])
    with TemporaryDirectory() as folder:
        following = runner(connection, clock, Path(folder) / "one.json")
        assert following.run_once().delivered == 1
        connection.run(design.write_attempt(connection.run(design.attempt_by_id(attempt.attempt_id)) or attempt))
        connection.transport.call(
            "DeleteItem", {"TableName": "Attempts", "Key": {"attemptId": {"S": attempt.attempt_id}}}
        )
        assert following.run_once().delivered == 0
    assert len(stored_profiles(connection)) == 1


def test_an_attempt_deleted_before_its_delivery_creates_nothing(connection: Connection) -> None:
    (attempt,) = store_attempts(connection, ATTEMPTS[:1])
    connection.transport.call("DeleteItem", {"TableName": "Attempts", "Key": {"attemptId": {"S": attempt.attempt_id}}})
    assert ProfileConsumer(connection, connection.context.clock).add(attempt) is False
    assert stored_profiles(connection) == []


def test_snapshots_are_correct_unless_more_newer_attempts_exist_than_the_ledger_keeps(
    connection: Connection,
) -> None:
    attempts = varied(MAX_WINDOW_ATTEMPTS + 5)
    stored = store_attempts(connection, attempts)
    profiler = ProfileConsumer(connection, connection.context.clock)
    spared = MAX_WINDOW_ATTEMPTS - WINDOW
    late, others = stored[4], [*stored[:4], *stored[5:]]
    for attempt in [*others[: 4 + spared], late, *others[4 + spared :]]:
        assert profiler.add(attempt)
    assert stored_profiles(connection) == expected_profiles(attempts)


def test_an_even_later_attempt_is_counted_and_the_newest_profile_is_correct(connection: Connection) -> None:
    attempts = varied(MAX_WINDOW_ATTEMPTS + 5)
    stored = store_attempts(connection, attempts)
    profiler = ProfileConsumer(connection, connection.context.clock)
    for attempt in [*stored[1:], stored[0]]:
        assert profiler.add(attempt)
        assert not profiler.add(attempt)
    ledger = connection.run(design.ledger_of(USER))
    assert ledger is not None
    assert ledger.attempt_count == len(attempts)
    store_attempts(connection, [completed(100, 3)])
    assert profiler.add(connection.run(design.attempt_by_id(completed(100).attempt_id)) or stored[0])
    assert stored_profiles(connection)[-1] == expected_profiles([*attempts, completed(100, 3)])[-1]


def test_a_handler_that_always_conflicts_raises_an_error(connection: Connection) -> None:
    (attempt,) = store_attempts(connection, ATTEMPTS[:1])

    class Others(ProfileConsumer):
        def _write(self, attempt: Attempt, ledger: design.StoredLedger | None) -> None:
            previous = self.db.run(design.ledger_of(attempt.user_id))
            new_ledger = design.StoredLedger(user_id=attempt.user_id) if previous is None else previous
            self.db.run(design.begin_ledger(new_ledger) if previous is None else design.write_ledger(new_ledger))
            super()._write(attempt, ledger)

    with pytest.raises(BusyLedgerError, match="too many concurrent writes"):
        Others(connection, connection.context.clock).add(attempt)


def test_a_failing_attempt_goes_to_its_destination_and_others_are_processed(
    connection: Connection, clock: ManualClock, tmp_path: Path
) -> None:
    good, bad = store_attempts(connection, ATTEMPTS[:2])
    profiler = ProfileConsumer(connection, clock)

    def follow(change: Inserted[design.StoredAttempt]) -> None:
        if change.new.attempt_id == bad.attempt_id:
            raise ValueError("it cannot be")
        profiler.follow(change)

    unprofiled = JsonLinesFolder(tmp_path / "unprofiled")
    with Runner(
        connection, design.attempts, checkpoints=FileCheckpoints(tmp_path / "checkpoints.json"),
        destinations={"unprofiled": unprofiled}, handlers={design.follow: follow},
    ) as following:  # fmt: skip
        deliver_all(following, clock)
    (failure,) = unprofiled.read("Attempts/follow")
    assert (failure.error, failure.attempts) == ("ValueError: it cannot be", 6)
    assert [profile.source_attempt_id for profile in stored_profiles(connection)] == [good.attempt_id]
    assert redrive(design.attempts, [failure], handlers={design.follow: profiler.follow}) == []
    assert stored_profiles(connection) == expected_profiles(ATTEMPTS[:2])
