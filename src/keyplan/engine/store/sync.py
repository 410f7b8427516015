"""Durable group commit, in which one sync of the log covers all earlier commits.

SQLite appends commits to the write-ahead log without waiting for the disk (synchronous=NORMAL). `durability="full"`
adds a sync of the log before a commit is acknowledged. Because this sync is not part of SQLite's COMMIT, other
transactions can run during a sync, and the next sync covers all of them. Frames of the log (one per page) are valid
only if their checksums match and the commit mark follows. If a crash occurs before the sync, the database is therefore
in the state before the commit, and never contains only part of the commit. When a checkpoint copies frames into the
database file, SQLite first syncs the log and then the file, also with synchronous=NORMAL.

Syncing bytes that extend a file takes two or three times as long as syncing overwritten bytes. Therefore, the log file
is extended with zeros in advance, in large pieces. Zeros are not a valid frame, so SQLite still finds the end of the
log at the same position.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from keyplan.errors import StorageError

_sync_data = getattr(os, "fdatasync", os.fsync)

FRAME_BYTES = 24 + 4096
"""The size in bytes of one page in the write-ahead log, including its frame header."""
MIN_PIECE_BYTES, MAX_PIECE_BYTES = 256 * 1024, 1024 * 1024


class LogSync:
    """Waits until commits have been synced to disk. Commits are identified by their consecutive numbers."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._failure: OSError | None = None
        self.committed = 0
        """The number of commits in the log, counted by the writer under its lock."""
        self.synced = 0
        """The number of commits that are known to be on disk."""
        self._known_length = 0  # a lower bound of the log file's length

    def extend_log(self, pages: int) -> None:
        """Extend the write-ahead log file well beyond its used part. `pages` is the number of pages in use.

        Call this method in a write transaction, when no other process writes to the log and the bytes after its used
        part are not needed. Errors are ignored, because the next commit then extends the file itself or reports the
        error.
        """
        used, descriptor = pages * FRAME_BYTES, self._descriptor  # the first sync opens the file and reports errors
        if used + MIN_PIECE_BYTES > self._known_length and descriptor is not None and hasattr(os, "pwrite"):
            with suppress(OSError):
                self._extend_file(descriptor, used)

    def _extend_file(self, descriptor: int, used: int) -> None:
        end = os.fstat(descriptor).st_size
        piece = min(max(used, MIN_PIECE_BYTES), MAX_PIECE_BYTES)
        self._known_length = max(end, used + MIN_PIECE_BYTES + piece)
        if end < self._known_length:
            os.pwrite(descriptor, bytes(self._known_length - end), end)

    def wait(self, commit: int) -> None:
        """Wait until the commit with this number is on disk. Raises StorageError if the disk fails."""
        while self.synced < commit:
            with self._lock:
                if self.synced < commit:
                    self._sync()

    def _sync(self) -> None:
        # A failed sync may have dropped the pages that it could not write, so the success of a later sync would be
        # wrong.
        if self._failure is not None:
            raise StorageError(f"{self._path}: an earlier sync failed, reopen the database ({self._failure})")
        covered = self.committed
        try:
            _sync_data(self._open_log())
        except OSError as error:
            self._failure = error
            raise StorageError(f"{self._path}: the log could not be synced to the disk ({error})") from error
        self.synced = covered

    def _open_log(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(f"{self._path}-wal", os.O_RDWR)
            self._sync_folder()
        return self._descriptor

    def _sync_folder(self) -> None:
        """Sync the folder, so that the file names of a new database are durable."""
        if os.name == "nt":
            return  # on Windows, syncing a file also syncs its name
        folder = os.open(Path(self._path).resolve().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Close the write-ahead log file after any running sync has ended. SQLite may remove the file immediately
        afterwards.
        """
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None
