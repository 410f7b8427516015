"""A signal handler that raises, as for Ctrl-C and time limits, wherever a thread is in the store.

The interrupted work may be done or not. Afterwards the thread reads its own writes, and no other thread waits for it.
"""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from keyplan.engine.store.rows import Transaction, Tree
from keyplan.engine.store.sqlite import Durability, SqliteStore

INTERRUPTS = 400
MAX_TRANSACTION_S = 0.001


class InterruptedHereError(BaseException):
    """Raised by the handler."""


class Interrupter:
    """Interrupts the main thread's work, once, shortly after it has begun."""

    def __init__(self) -> None:
        self.armed = False
        self._begun = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.armed:
            self.armed = False
            raise InterruptedHereError

    def _send(self) -> None:
        pause, chance = threading.Event(), random.Random(7)
        while self._begun.wait():
            self._begun.clear()
            if self._over:
                return
            pause.wait(chance.random() * MAX_TRANSACTION_S)
            while self.armed:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
                pause.wait(0.001)

    def during(self, work: Callable[[], object]) -> None:
        """Do the work until it is interrupted, possibly in a finalizer, where exceptions are dropped."""
        try:
            self.armed = True
            self._begun.set()
            while self.armed:
                work()
        except InterruptedHereError:
            return

    def stop(self) -> None:
        self._over = True
        self._begun.set()
        self._thread.join()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads")
@pytest.mark.parametrize("durability", ["normal", "full"])
def test_an_interrupted_thread_continues_and_blocks_no_other(durability: Durability, tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "data.db"), durability=durability)
    tree: Tree = store.write(lambda transaction: transaction.create_tree())
    over = threading.Event()

    def put(key: bytes, body: bytes) -> None:
        def work(transaction: Transaction) -> None:
            transaction.put(tree, key, 1, body)

        store.write(work, raises_early=True)

    def read(key: bytes) -> bytes | None:
        with store.snapshot() as view:
            row = view.point(tree, key)
        return None if row is None else row[1]

    def write_concurrently() -> None:
        while not over.wait(0.0005):
            put(b"beside", b"x")

    def anything() -> None:
        put(b"a", b"interrupted")
        read(b"a")
        with store.group():
            put(b"b", b"interrupted")

    beside = threading.Thread(target=write_concurrently)
    interrupter = Interrupter()
    anything()
    before = signal.signal(signal.SIGUSR1, interrupter.handle)
    try:
        beside.start()
        for number in range(INTERRUPTS):
            interrupter.during(anything)
            put(b"own", b"%d" % number)
            assert read(b"own") == b"%d" % number
    finally:
        interrupter.stop()
        signal.signal(signal.SIGUSR1, before)
        over.set()
        beside.join(60)
    assert not beside.is_alive()
    store.close()
