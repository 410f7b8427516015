"""Progress reports for long jobs. They are logged to `keyplan.progress` after two seconds and then every
ten seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from keyplan.clock import Clock
from keyplan.dynamodb.values.keybytes import HASH_BYTES, HASH_SPACE

LOGGER = "keyplan.progress"
FIRST_S, EVERY_S = 2.0, 10.0

_log = logging.getLogger(LOGGER)


class Progress:
    """The progress reports of one job. A job that ends within two seconds is not reported."""

    def __init__(self, clock: Clock, job: str) -> None:
        self._clock = clock
        self._job = job
        self._started_s = clock.monotonic()
        self._due_s = self._started_s + FIRST_S
        self._reported = False

    def report(self, progress: Callable[[], str]) -> None:
        """Report the progress of the job, if a report is due. `progress` returns the progress as text, and is called
        only if a report is due.
        """
        now_s = self._clock.monotonic()
        if now_s >= self._due_s:
            self._due_s = now_s + EVERY_S
            self._reported = True
            _log.info("%s: %s", self._job, progress())

    def finish(self) -> None:
        """Report that the job has ended, if its progress has been reported before."""
        if self._reported:
            _log.info("%s: done after %s", self._job, self.elapsed())

    def elapsed(self) -> str:
        """Return the elapsed time of the job as text. Jobs that cannot measure their progress in another way report
        this text.
        """
        return f"{self._clock.monotonic() - self._started_s:.0f} s"


def percent(key: bytes) -> str:
    """Return the percentage of a table's rows that precede a stored key, as text.

    Stored keys start with an evenly distributed hash, from which the percentage is estimated.
    """
    share = int.from_bytes(key[:HASH_BYTES].ljust(HASH_BYTES, b"\x00"), "big") / HASH_SPACE
    return f"{100 * share:.0f} %"


@contextmanager
def reporting_to(write_line: Callable[[str], None]) -> Iterator[None]:
    """Pass each progress report to `write_line` while the block runs."""
    handler, level = _LineHandler(write_line), _log.level
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    try:
        yield
    finally:
        _log.removeHandler(handler)
        _log.setLevel(level)


class _LineHandler(logging.Handler):
    """A log handler that passes messages to a function."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._write_line = write_line

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the message of a log record to the handler's function."""
        self._write_line(record.getMessage())
