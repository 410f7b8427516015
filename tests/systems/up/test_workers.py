"""Background work: done in units, tried again after failures, drained at the end."""

from __future__ import annotations

import threading

import pytest

from keyplan.clock import ManualClock
from keyplan_systems.up.workers import Workers, WorkerState
from keyplan_systems.web.system import UnfinishedError, Worker


def test_remaining_work_is_done_before_the_workers_stop() -> None:
    left = list(range(100))

    def take_one() -> int:
        if not left:
            return 0
        left.pop()
        return 1

    workers = Workers([Worker("takes", take_one, every_s=0.001)])
    workers.start()
    assert workers.stop()
    assert not left
    assert workers.states[0].completed == 100


def test_started_workers_can_be_stopped_if_no_more_threads_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    started, start = list[threading.Thread](), threading.Thread.start

    def start_one(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    workers = Workers([Worker(name, lambda: 0, every_s=60.0) for name in ("first", "second")])
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_one)
        with pytest.raises(RuntimeError, match="can't start"):
            workers.start()
    assert workers.stop()
    assert not started[0].is_alive()


def test_a_failure_is_reported_and_retried() -> None:
    failed, mended, done = threading.Event(), threading.Event(), threading.Event()

    def stumble() -> int:
        if not mended.is_set():
            failed.set()
            raise ValueError("not yet")
        done.set()
        return 0

    workers = Workers([Worker("stumbles", stumble, every_s=0.001)])
    workers.start()
    assert failed.wait(60)
    while not workers.states[0].last_error:
        threading.Event().wait(0.001)
    assert workers.states[0].last_error == "ValueError"
    mended.set()
    assert workers.stop()
    assert done.is_set()
    assert workers.states[0].failures == 0


def test_a_worker_that_fails_partly_continues_with_the_rest_immediately() -> None:
    left, done = list(range(300)), threading.Event()

    def stumble() -> int:
        count = min(len(left), 3)
        del left[:count]
        if not left:
            done.set()
        raise UnfinishedError.from_errors([ValueError("this one never")], count)

    workers = Workers([Worker("stumbles", stumble, every_s=60)])
    workers.start()
    assert done.wait(60)  # a pause after each failure would add up to hours
    assert workers.stop()
    assert workers.states[0].completed == 300
    assert workers.states[0].failures >= 100


@pytest.mark.parametrize(
    ("is_unfinished", "every_s", "pause_s"), [(False, 0.5, 60), (True, 0.5, 5), (True, 30, 30), (True, 600, 60)]
)
def test_a_partly_failing_worker_delays_the_rest_by_seconds_only(
    is_unfinished: bool, every_s: float, pause_s: float
) -> None:
    state = WorkerState(Worker("stumbles", lambda: 0, every_s=every_s), failures=1000, is_unfinished=is_unfinished)
    assert Workers([state.worker])._pause_s(state) == pause_s


def test_failures_are_shown_by_kind_and_logged_in_full(caplog: pytest.LogCaptureFixture) -> None:
    def stumble() -> int:
        raise UnfinishedError.from_errors([ValueError("item 42"), KeyError("item 43"), ValueError("item 44")], 0)

    workers = Workers([Worker("stumbles", stumble)])
    workers.start()
    assert workers.stop()
    assert workers.states[0].last_error == "UnfinishedError: KeyError, ValueError"
    assert all(text in caplog.text for text in ("item 42", "item 43", "item 44"))


def test_a_worker_is_behind_since_it_last_had_no_work() -> None:
    clock, todo = ManualClock(), [0, 1, 0]
    workers = Workers([Worker("steps", todo.pop, every_s=1.0)], clock)
    (state,) = workers.states
    assert workers.lag_s(state) is None
    workers._run_once(state)
    clock.advance(4)
    assert workers.lag_s(state) == 0.0
    workers._run_once(state)
    clock.advance(16)
    assert workers.lag_s(state) == 20.0
    workers._run_once(state)
    assert workers.lag_s(state) == 0.0
    state.failures = 1
    clock.advance(3)
    assert workers.lag_s(state) == 3.0, "a worker that fails is never up to date"


def test_a_worker_that_does_not_end_is_reported() -> None:
    release = threading.Event()

    def hang() -> int:
        assert release.wait(60)
        return 0

    workers = Workers([Worker("hangs", hang)])
    workers.start()
    assert workers.stop(timeout_s=0.05) is False
    release.set()
    assert workers.stop(timeout_s=60)
