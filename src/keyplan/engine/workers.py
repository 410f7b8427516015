"""Threads that there are only while there is work for them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from keyplan.engine.store.threads import started

T = TypeVar("T")


class Worker(ABC, Generic[T]):
    """One such thread. It ends when nothing is pending, and a later `wake` starts another."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._latest: threading.Thread | None = None  # the same, or one that counts as gone and has yet to end

    @abstractmethod
    def _pending(self) -> Sequence[T]:
        """What is to be done, the next thing first."""

    @abstractmethod
    def _run(self) -> None:
        """Work until `_look` finds nothing; or end, and a later `wake` starts another thread for what is pending."""

    def wake(self) -> None:
        """See to it that what is pending is worked on; by a later `wake` where there is no thread to be had now."""
        with self._lock:
            if self._thread is None and not self._stop.is_set() and self._pending():
                self._thread = self._latest = started(self._work_on, self._name)

    def wait(self) -> None:
        """Wait until the thread has nothing left to do."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """End the thread; what is unfinished goes on when the database is opened again."""
        self._stop.set()
        with self._lock:
            thread = self._latest
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _look(self) -> Sequence[T]:
        """What is pending. For nothing, or once closed, the thread is to end: it counts as gone."""
        with self._lock:
            found = () if self._stop.is_set() else self._pending()
            if not found:
                self._thread = None
            return found

    def _work_on(self) -> None:
        try:
            self._run()
        finally:
            with self._lock:
                if self._thread is threading.current_thread():  # it ended though something is pending
                    self._thread = None
