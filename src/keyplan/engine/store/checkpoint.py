"""A thread that checkpoints the write-ahead log into the database file.

A checkpoint during a commit stalls the writer for tens of milliseconds. With this thread, writers only append to the
log. PASSIVE checkpoints do not block other connections, but they cannot restart the log while a client writes. If the
log has grown far beyond its threshold, a RESTART checkpoint waits until no readers are left and restarts the log. With
a continuous writer, or a disk slower than the writer, the log would still grow. Beyond a second threshold, writers
therefore wait until the checkpoint is complete.

A PASSIVE checkpoint syncs the log, so the next one comes only when the log has grown by as much again. SQLite syncs the
file only where a checkpoint moves the whole log, which a RESTART does while writers wait. The file is therefore synced
before; otherwise RESTART would write all pages of the log to the disk, hundreds of milliseconds of work. While a
RESTART waits for readers it blocks writers, so it is not tried while a long read holds the log: the log grows, and
writers do not wait. The last mark doubles each time that a RESTART fails.
"""

from __future__ import annotations

import logging
import threading

import apsw

from keyplan.engine.store.files import sync_file
from keyplan.engine.store.threads import started

PASSIVE_PAGES = 4000  # each checkpoint syncs twice and moves a page once, however often it was written since
RESTART_PAGES = 4 * PASSIVE_PAGES
CROWDED_PAGES = 12 * PASSIVE_PAGES
FEW_PAGES, MOST_ROUNDS = 200, 4
BUSY_MS = 500
CALM_S = 1.0

_log = logging.getLogger(__name__)


class Checkpointer:
    """Owner of one connection and one thread, which sleeps until the log has grown."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._connection.set_busy_timeout(BUSY_MS)
        self._wake = threading.Event()
        self.pages = 0
        """Length of the log after this process's last commit."""
        self._checkpoint_at, self._crowded_at = PASSIVE_PAGES, CROWDED_PAGES
        self.crowded = False
        """True if the next writer must call `wait_for_room` before it begins."""
        self._held = False
        """True if the last checkpoint found that a long read holds the log."""
        self._room = threading.Event()
        self._calm = threading.Event()
        self._calm.set()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def committed(self, _connection: apsw.Connection, _schema: str, pages: int) -> int:
        """Handle the hook that SQLite calls after each commit with the length of the log in pages."""
        if pages < self.pages:  # the log has restarted
            self._begin_anew()
        self.pages = pages
        if pages >= self._checkpoint_at:
            if self._thread is None:
                self._thread = started(self._run, "keyplan-checkpoint")
            if self._thread is None:  # the commit is valid, and the log grows
                self._checkpoint_at = pages + PASSIVE_PAGES
                return apsw.SQLITE_OK
            if pages >= self._crowded_at and not self._held:
                self._have_writers_wait()
            self._calm.clear()
            self._wake.set()
        return apsw.SQLITE_OK

    def wait_for_calm(self) -> bool:
        """Wait until the checkpoint of a long log has ended. Return False if that takes too long.

        This method is for background work. Its writes would otherwise make the log grow while a checkpoint shortens it,
        until all writers have to wait, and its reads would prevent a restart of the log.
        """
        return self.pages < RESTART_PAGES or self._calm.wait(CALM_S)

    def wait_for_room(self) -> None:
        """Wait for the running checkpoint, so that the log can restart."""
        self._room.wait(2 * BUSY_MS / 1000)

    def _have_writers_wait(self) -> None:
        """Block writers until this checkpoint is complete, and then wake them. SQLite would make them poll."""
        self._room.clear()
        self.crowded = True

    def stop(self) -> None:
        """Stop the thread and close the connection."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._stopping:
                return
            self._checkpoint()
            self.crowded = False
            self._room.set()
            if not self._wake.is_set():
                self._calm.set()

    def _checkpoint(self) -> None:
        pages, writers_wait = self.pages, self.crowded and not self._room.is_set()
        self._checkpoint_at = pages + PASSIVE_PAGES
        try:
            log, moved = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self._held = log - moved >= PASSIVE_PAGES
            if pages >= RESTART_PAGES and not self._held:
                # Move most of the pages committed since first, so that writers are blocked for less time.
                self._catch_up(moved)
                self._have_writers_wait()
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
                self.pages = 0
                self._begin_anew()
        except (apsw.BusyError, apsw.LockedError):
            # Another process runs a checkpoint, a long read holds the log, or writers did not let it in.
            self._give_up_for_now(writers_wait)
        except apsw.Error:
            # Nothing is lost: the log keeps the commits. The writer meets the same failure on its own connection and
            # reports it to its caller.
            self._give_up_for_now(writers_wait)
            _log.exception("checkpoint failed")

    def _catch_up(self, moved: int) -> None:
        """Sync the file, and checkpoint pages committed since, until that takes little time."""
        for _ in range(MOST_ROUNDS):
            sync_file(self._connection)
            before, (_, moved) = moved, self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if moved - before < FEW_PAGES:
                break
        sync_file(self._connection)

    def _begin_anew(self) -> None:
        """Set the thresholds, in log pages, for a restarted log."""
        self._checkpoint_at = PASSIVE_PAGES
        self._crowded_at = CROWDED_PAGES

    def _give_up_for_now(self, writers_wait: bool) -> None:
        """Raise the second threshold if writers waited in vain, so that they do not wait repeatedly.

        If writers are only too fast, they must wait, and the threshold stays the same.
        """
        if writers_wait:
            self._crowded_at = max(self._crowded_at, 2 * self.pages)
