"""Calls of several threads in one batch: leaders, waiting threads, results."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from keyplan.engine.store import combine
from keyplan.engine.store.combine import MAX_IDLE_YIELDS, CombinedCall, Combiner
from keyplan.errors import StorageError

WAIT_S = 240


class Batches:
    """Runner of calls that records the size of each batch."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.hold = threading.Event()
        self.hold.set()

    def run(self, batch: list[CombinedCall]) -> int:
        self.sizes.append(len(batch))
        assert self.hold.wait(WAIT_S)
        for call in batch:
            call.result = call.callback()
        return len(self.sizes)

    def settle(self, _batch: list[CombinedCall], _ticket: int) -> None:
        pass


@pytest.fixture
def batches() -> Batches:
    return Batches()


@pytest.fixture
def combiner(batches: Batches) -> Combiner:
    return Combiner(batches.run, batches.settle)


def together(combiner: Combiner, batches: Batches, count: int) -> list[Any]:
    """Have `count` threads call while a batch of one call is held; return their results."""
    results: list[Any] = []
    batches.hold.clear()
    first = threading.Thread(target=combiner.submit, args=(lambda: "first", True))
    first.start()
    while not batches.sizes:
        combine.yield_processor()
    threads = [
        threading.Thread(
            target=lambda number=number: results.append(combiner.submit(lambda: number, raises_early=True))
        )
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    while len(combiner._queue) < count:
        combine.yield_processor()
    batches.hold.set()
    for thread in (first, *threads):
        thread.join(WAIT_S)
        assert not thread.is_alive()
    return results


def test_calls_that_arrive_during_a_batch_form_the_next_batch(combiner: Combiner, batches: Batches) -> None:
    results = together(combiner, batches, 5)
    assert sorted(results) == [0, 1, 2, 3, 4]
    assert batches.sizes == [1, 5]


def test_the_leading_thread_lets_recent_callers_join(
    combiner: Combiner, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    together(combiner, batches, 3)
    late = [CombinedCall(lambda: "late", raises_early=True) for _ in range(2)]

    def yield_processor() -> None:
        combiner._queue.append(late.pop())

    monkeypatch.setattr(combine, "yield_processor", yield_processor)
    assert combiner.submit(lambda: "own", raises_early=True) == "own"
    assert not late
    assert batches.sizes == [1, 3, 3]


def test_the_leader_waits_a_limited_time_and_expects_fewer_callers_each_time(
    combiner: Combiner, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    together(combiner, batches, 4)
    looks: list[int] = []
    monkeypatch.setattr(combine, "yield_processor", lambda: looks.append(len(batches.sizes)))
    for _ in range(4):
        combiner.submit(lambda: None, raises_early=True)
    # Four were answered together, then one while two were expected; a single call expects no others.
    assert looks == [2] * MAX_IDLE_YIELDS + [3] * MAX_IDLE_YIELDS
    assert batches.sizes == [1, 4, 1, 1, 1, 1]


def test_a_call_raises_its_assigned_error(combiner: Combiner) -> None:
    def settle(batch: list[CombinedCall], _ticket: int) -> None:
        batch[0].error = OSError("full")

    combiner._settle = settle
    with pytest.raises(OSError, match="full"):
        combiner.submit(lambda: None, raises_early=True)


class InterruptedHereError(Exception):
    """Raised by a signal handler, wherever the thread is."""


def submit_three_together(combiner: Combiner, batches: Batches, submit: Callable[[int], None]) -> None:
    """Have three threads wait behind a batch of one, so that they are next; return once they have ended."""
    batches.hold.clear()
    first = threading.Thread(target=combiner.submit, args=(lambda: "first", True))
    first.start()
    while not batches.sizes:
        combine.yield_processor()
    threads = [threading.Thread(target=submit, args=(number,), daemon=True) for number in range(3)]
    for number, thread in enumerate(threads, 1):
        thread.start()
        while len(combiner._queue) < number:
            combine.yield_processor()
    batches.hold.set()
    for thread in (first, *threads):
        thread.join(5)
        assert not thread.is_alive()


def submit_late(combiner: Combiner) -> list[str]:
    """Return the result of another thread's call, or an empty list if it waits for ever."""
    results: list[str] = []
    late = threading.Thread(
        target=lambda: results.append(combiner.submit(lambda: "late", raises_early=True)), daemon=True
    )
    late.start()
    late.join(5)
    return results


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads")
def test_a_thread_interrupted_while_waiting_blocks_no_other(combiner: Combiner, batches: Batches) -> None:
    interrupted = threading.Event()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if not interrupted.is_set():
            interrupted.set()
            raise InterruptedHereError

    def interrupt_once_queued() -> None:
        while not combiner._queue:
            combine.yield_processor()
        while not interrupted.wait(0.01):  # an interrupt just before the thread waits does not wake it
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    batches.hold.clear()
    first = threading.Thread(target=combiner.submit, args=(lambda: "first", True))
    first.start()
    while not batches.sizes:
        combine.yield_processor()
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        sender = threading.Thread(target=interrupt_once_queued)
        sender.start()
        with pytest.raises(InterruptedHereError):
            combiner.submit(lambda: "never", raises_early=True)
        sender.join(WAIT_S)
    finally:
        signal.signal(signal.SIGUSR1, before)
        batches.hold.set()
    first.join(WAIT_S)
    assert submit_late(combiner) == ["late"]
    assert batches.sizes == [1, 1]


def test_a_thread_interrupted_before_leading_leaves_the_batch_to_others(
    combiner: Combiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> None:
        raise InterruptedHereError

    combiner._expected_calls = 2
    with monkeypatch.context() as patch:
        patch.setattr(combine, "yield_processor", interrupt)
        with pytest.raises(InterruptedHereError):
            combiner.submit(lambda: "never", raises_early=True)
    assert submit_late(combiner) == ["late"]


def test_a_thread_interrupted_while_settling_leaves_that_to_each_caller(combiner: Combiner, batches: Batches) -> None:
    settled: list[list[Any]] = []

    def settle(batch: list[CombinedCall], ticket: int) -> None:
        settled.append([ticket, *(call.result for call in batch)])
        if len(batch) > 1:
            raise InterruptedHereError

    combiner._settle = settle
    results: list[Any] = []

    def submit(number: int) -> None:
        try:
            results.append(combiner.submit(lambda: number, raises_early=True))
        except InterruptedHereError:
            results.append("interrupted")

    submit_three_together(combiner, batches, submit)
    assert sorted(map(str, results)) == ["1", "2", "interrupted"]
    assert settled[0] == [1, "first"]
    assert settled[1] == [2, 0, 1, 2]
    assert sorted(settled[2:]) == [[2, 1], [2, 2]]
    assert submit_late(combiner) == ["late"]


def test_a_thread_interrupted_during_a_batch_reports_it_to_the_others(combiner: Combiner, batches: Batches) -> None:
    true = batches.run

    def run(batch: list[CombinedCall]) -> int:
        ticket = true(batch)
        if len(batch) > 1:
            raise InterruptedHereError
        return ticket

    combiner._run = run
    raised: list[type[BaseException]] = []

    def submit(_number: int) -> None:
        try:
            combiner.submit(lambda: None, raises_early=True)
        except (InterruptedHereError, StorageError) as error:
            raised.append(type(error))

    submit_three_together(combiner, batches, submit)
    assert sorted(raised, key=str) == sorted([InterruptedHereError, StorageError, StorageError], key=str)
    assert submit_late(combiner) == ["late"]
