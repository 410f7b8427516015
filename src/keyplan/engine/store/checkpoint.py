"""A thread that checkpoints the write-ahead log into the database file.

A checkpoint during a commit stalls the writer for tens of milliseconds. With this thread, writers only append to the
log. The thread runs a PASSIVE checkpoint when the log reaches a threshold. PASSIVE checkpoints do not block other
connections, but they cannot restart the log while a client writes. If the log has grown far beyond the threshold, a
RESTART checkpoint waits until no readers are left and restarts the log. The log could still grow without limit if a
client writes continuously or the disk is slower than the writers. Therefore, beyond a much higher threshold, writers
wait until the checkpoint is complete.

A PASSIVE checkpoint syncs the log, so the next one starts only after the log has grown by the lower threshold again.
SQLite syncs the database file only when a checkpoint copies the whole log, which a RESTART checkpoint does while
writers wait. This thread therefore syncs the file first. Otherwise, the RESTART checkpoint would write all pages of the
log to the disk, which takes hundreds of milliseconds. A RESTART checkpoint also blocks writers while it waits for
readers. Therefore, it is not attempted while a long read would prevent its completion. Until such a read ends, the log
grows and writers do not wait. The higher threshold is raised each time that a RESTART checkpoint fails while writers
wait.
"""

from __future__ import annotations

import logging
import threading

import apsw

from keyplan.engine.store.files import sync_file
from keyplan.engine.store.threads import start_thread

PASSIVE_PAGES = 4000  # a checkpoint syncs twice, and moves a page once even if it was written often
RESTART_PAGES = 4 * PASSIVE_PAGES
WRITERS_WAIT_PAGES = 12 * PASSIVE_PAGES
FEW_PAGES, MAX_ROUNDS = 200, 4
BUSY_MS = 500
CHECKPOINT_WAIT_S = 1.0

_log = logging.getLogger(__name__)


class Checkpointer:
    """A thread that runs checkpoints on a separate connection. The thread sleeps until the write-ahead log
    has grown.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._connection.set_busy_timeout(BUSY_MS)
        self._wake = threading.Event()
        self.pages = 0
        """The length of the log in pages after this process's last commit."""
        self._checkpoint_at, self._writers_wait_at = PASSIVE_PAGES, WRITERS_WAIT_PAGES
        self.writers_must_wait = False
        """True if the next writer must call `wait_for_restart` before it begins."""
        self._held_by_reader = False
        """True if the last checkpoint found that a long read holds the log."""
        self._writers_released = threading.Event()
        self._checkpoint_ended = threading.Event()
        self._checkpoint_ended.set()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def on_commit(self, _connection: apsw.Connection, _schema: str, pages: int) -> int:
        """Start or wake the checkpoint thread if the write-ahead log is long.

        SQLite calls this hook after each commit, with the length of the log in pages.
        """
        if pages < self.pages:  # the log was restarted
            self._reset_thresholds()
        self.pages = pages
        if pages >= self._checkpoint_at:
            if self._thread is None:
                self._thread = start_thread(self._run, "keyplan-checkpoint")
            if self._thread is None:  # the commit is valid, but the log keeps growing
                self._checkpoint_at = pages + PASSIVE_PAGES
                return apsw.SQLITE_OK
            if pages >= self._writers_wait_at and not self._held_by_reader:
                self._make_writers_wait()
            self._checkpoint_ended.clear()
            self._wake.set()
        return apsw.SQLITE_OK

    def wait_for_checkpoint(self) -> bool:
        """Wait until the checkpoint of a long write-ahead log has ended. Return False if this takes too long.

        Only background work calls this method. Without the wait, its writes would make the log grow during a checkpoint
        until all writers have to wait, and its reads would prevent a restart of the log.
        """
        return self.pages < RESTART_PAGES or self._checkpoint_ended.wait(CHECKPOINT_WAIT_S)

    def wait_for_restart(self) -> None:
        """Wait, for a limited time, until the running checkpoint is complete and the log can be restarted."""
        self._writers_released.wait(2 * BUSY_MS / 1000)

    def _make_writers_wait(self) -> None:
        """Make writers wait in `wait_for_restart` until this checkpoint is complete. Otherwise, SQLite would make them
        poll for the lock.
        """
        self._writers_released.clear()
        self.writers_must_wait = True

    def stop(self) -> None:
        """Stop the checkpoint thread and close its connection."""
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
            self.writers_must_wait = False
            self._writers_released.set()
            if not self._wake.is_set():
                self._checkpoint_ended.set()

    def _checkpoint(self) -> None:
        pages, writers_wait = self.pages, self.writers_must_wait and not self._writers_released.is_set()
        self._checkpoint_at = pages + PASSIVE_PAGES
        try:
            log, copied_pages = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self._held_by_reader = log - copied_pages >= PASSIVE_PAGES
            if pages >= RESTART_PAGES and not self._held_by_reader:
                # First move most of the pages that were committed in the meantime, so that writers are blocked for less
                # time.
                self._catch_up(copied_pages)
                self._make_writers_wait()
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
                self.pages = 0
                self._reset_thresholds()
        except (apsw.BusyError, apsw.LockedError):
            # Another process runs a checkpoint, a long read holds the log, or writers kept the write lock.
            self._raise_wait_threshold(writers_wait)
        except apsw.Error:
            # The commits remain in the log. The writer gets the same error on its own connection and reports it to its
            # caller.
            self._raise_wait_threshold(writers_wait)
            _log.exception("checkpoint failed")

    def _catch_up(self, copied_pages: int) -> None:
        """Repeatedly sync the database file and checkpoint newly committed pages, until a checkpoint copies only a few
        new pages.

        `copied_pages` is the number of pages that the last checkpoint copied from the log into the file.
        """
        for _ in range(MAX_ROUNDS):
            sync_file(self._connection)
            before, (_, copied_pages) = (
                copied_pages,
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE),
            )
            if copied_pages - before < FEW_PAGES:
                break
        sync_file(self._connection)

    def _reset_thresholds(self) -> None:
        """Reset the log lengths, in pages, at which a checkpoint starts and at which writers wait for it."""
        self._checkpoint_at = PASSIVE_PAGES
        self._writers_wait_at = WRITERS_WAIT_PAGES

    def _raise_wait_threshold(self, writers_wait: bool) -> None:
        """If the checkpoint failed while writers waited for it, raise the log length at which writers wait. Otherwise,
        they would wait again after the next commit.
        """
        if writers_wait:
            self._writers_wait_at = max(self._writers_wait_at, 2 * self.pages)
