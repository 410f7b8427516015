"""The SQLite store, with one writer, a reader for each thread, and group commit.

A database file is in write-ahead log mode: readers see the last commit and never wait. The single write connection is
protected by a lock in this process and by SQLite's own lock between processes. With `durability="full"`, every commit
is synced before it is acknowledged (`store/sync.py`). The sync happens outside the lock, so that several writers can
share it. An in-memory database uses a single connection for all reads and writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal, TypeVar, cast, get_args

import apsw

from keyplan.engine.store import statements
from keyplan.engine.store.checkpoint import Checkpointer
from keyplan.engine.store.combine import CombinedCall, Combiner
from keyplan.engine.store.failures import convert_errors, storage_error
from keyplan.engine.store.files import check_free, connect, copy, initialize, new_file
from keyplan.engine.store.forks import ForkedConnection, watch
from keyplan.engine.store.readers import ConnectionWriter, FileReaders, MemoryReaders
from keyplan.engine.store.rows import Row, Transaction, Tree
from keyplan.engine.store.sync import LogSync
from keyplan.errors import EngineClosedError, KeyplanError, StorageError

T = TypeVar("T")
Durability = Literal["normal", "full"]

MEMORY = ":memory:"
INTEGRITY_STEPS = 10_000
"""The number of steps of SQLite's virtual machine between two progress reports of an integrity check. These steps take
a few milliseconds.
"""


class SqliteStore:
    """A store in a database file or in memory."""

    def __init__(self, path: str, *, durability: Durability = "normal") -> None:
        if not path:  # SQLite would open a temporary database
            raise StorageError(f'the path of the database is empty: pass a file or "{MEMORY}"')
        if durability not in get_args(Durability):  # any other value would silently disable syncs
            raise ValueError(f'durability must be "normal" or "full", not {durability!r}')
        self.path = path
        self.in_memory = path == MEMORY
        self._lock = threading.RLock()
        self._closed = False
        self.opened_by_parent = False
        """True in a child of the process that opened the store."""
        self._group_thread: int | None = None
        self._group_started = False
        self._group_error: StorageError | None = None
        connection = connect(self.path)
        try:
            with convert_errors(self.path):
                initialize(connection, self.path)
        except BaseException:
            connection.close()
            raise
        self._writer = ConnectionWriter(connection)
        self._readers = (
            MemoryReaders(connection, self._lock) if self.in_memory else FileReaders(path, self._writer, self._lock)
        )
        self.view = self._readers.view
        """Returns the calling thread's view of committed rows. Each read sees the data as of the time of that read."""
        self.snapshot = self._readers.snapshot
        """Returns a context manager for a view in which all reads see the data as of one point in time."""
        self.sync = LogSync(path) if durability == "full" and not self.in_memory else None
        """The sync of commits, or None if commits are acknowledged before they are synced."""
        self._combiner = Combiner(self._run_batch, self._settle_batch) if self.sync is not None else None
        self._checkpointer: Checkpointer | None = None
        if not self.in_memory:
            self._checkpointer = Checkpointer(connect(self.path))
            connection.set_wal_hook(self._checkpointer.on_commit)
            watch(self)

    # Writes.

    def write(self, callback: Callable[[Transaction], T], *, raises_early: bool = False) -> T:
        """Run `callback` in a transaction and return its result. Commit the transaction, or roll it back if the
        callback raises an exception. Inside `group`, the transaction is committed at the end of the group.

        Set `raises_early` to True if the callback never raises an exception after its first write. A callback in a
        group then runs without a savepoint, so an SQLite error makes the whole group fail.
        """
        if self._group_thread == threading.get_ident():
            return self._write_in_group(callback, raises_early)
        if self._combiner is not None:
            result: T = self._combiner.submit(callback, raises_early)
            return result
        with self._lock:
            return self._write_alone(callback)

    @property
    def commits_immediately(self) -> bool:
        """Whether each write of this thread is a separate transaction, and is neither part of a group nor combined with
        writes of other threads.
        """
        return self._combiner is None and self._group_thread != threading.get_ident()

    def put_if_sequence(self, tree: Tree, row: Row, sequence: str, value: int) -> bool:
        """Write a row in a separate transaction, but only if the counter `sequence` has the value `value`. Return True
        if the row was written.

        The check, the write and the commit are a single SQL statement, which is faster than a transaction with several
        statements. SQLite errors are not converted. A failed statement has no effect. The caller must handle the error
        for a tree that has been dropped.
        """
        with self._lock:
            self._wait_for_restart()
            writer = self._writer
            writer.thread = threading.get_ident()
            writer.execute(tree.upsert_if_sequence, (*row, sequence, value))
            written = writer.connection.changes() > 0
            if written:  # so no foreign commit has changed the sequence
                writer.last_data_version = writer.connection.data_version()
            return written

    def wait_for_checkpoint(self) -> None:
        """Wait, for a limited time, until the checkpoint of a long write-ahead log has ended.

        Background work calls this method between chunks.
        """
        if self._checkpointer is not None:
            self._checkpointer.wait_for_checkpoint()

    def write_separately(self, callback: Callable[[Transaction], T]) -> T:
        """Run `callback` in a separate transaction, even inside a group.

        Earlier writes of the group are committed first. Use this method for changes after which callers must reload
        cached state: the flag `has_foreign_commit` is set in the next transaction.
        """
        with self._lock:
            if self._group_thread == threading.get_ident():
                self._end_group()
            result = self._write_alone(callback)
            self._writer.last_data_version = -1
        if self.sync is not None:
            self.sync.wait(self.sync.committed)
        return result

    @contextmanager
    def group(self) -> Iterator[None]:
        """Group all writes of the current thread in the `with` block, and commit them in one transaction at the end of
        the block.
        """
        if self.in_memory or self._group_thread == threading.get_ident():
            yield
            return
        with self._lock:
            self._group_thread = threading.get_ident()
            try:
                yield
                self._end_group()
            finally:
                self._group_thread = None
                self._group_error = None
                if self._group_started:
                    self._group_started = False
                    with convert_errors(self.path):
                        self._rollback()
        if self.sync is not None:
            self.sync.wait(self.sync.committed)

    def _end_group(self) -> None:
        if self._group_error is not None:
            raise self._group_error
        if self._group_started:
            with convert_errors(self.path):
                self._commit()

    def _write_alone(self, callback: Callable[[Transaction], T]) -> T:
        # Every write takes this path, so it uses a single `try` and no context manager.
        try:
            self._begin()
            result = callback(self._writer)
            self._commit()
        except BaseException as error:
            self._undo(error)
            raise
        return result

    def _undo(self, error: BaseException) -> None:
        """Roll back the transaction. If `error` is an SQLite error, raise the corresponding StorageError."""
        with convert_errors(self.path):
            self._rollback()
            if isinstance(error, apsw.Error):
                raise error

    def _write_in_group(self, callback: Callable[[Transaction], T], raises_early: bool) -> T:
        if self._group_error is not None:
            raise self._group_error
        try:
            if not self._group_started:
                try:
                    self._begin()
                finally:  # even if a signal handler interrupts
                    self._group_started = self._writer.connection.in_transaction
            return callback(self._writer) if raises_early else self._write_at_savepoint(callback)
        except apsw.Error as error:
            if self._group_started and (raises_early or not self._writer.connection.in_transaction):
                self._fail_group(error)
            with convert_errors(self.path):
                raise

    def _fail_group(self, error: apsw.Error) -> None:
        """Make all writes of the group fail because of an SQLite error.

        The group is rolled back, unless SQLite has already rolled it back, for example because the disk is full.
        """
        self._group_error = storage_error(error, self.path)
        self._group_started = False
        self._rollback()

    def _write_at_savepoint(self, callback: Callable[[Transaction], T]) -> T:
        connection = self._writer.connection
        execute = self._writer.execute
        execute(statements.SAVEPOINT)
        try:
            result = callback(self._writer)
        except BaseException:
            if connection.in_transaction:
                execute(statements.ROLLBACK_TO)
                execute(statements.RELEASE)
            raise
        execute(statements.RELEASE)
        return result

    def _run_batch(self, calls: list[CombinedCall]) -> int:
        """Run the calls of several threads in one transaction. Return the total number of commits so far, or 0 if
        commits are not synced.

        Errors are stored in the calls. An exception raised by a signal handler is raised again, because it does not
        belong to a call.
        """
        try:
            with self._lock:
                self._run_transaction(calls)
        except BaseException as error:
            if len(calls) > 1 and not isinstance(error, KeyplanError):
                raise
            for call in calls:
                call.error = error  # the whole batch is rolled back, even if calls succeeded
        return self.sync.committed if self.sync is not None else 0

    def _run_transaction(self, calls: list[CombinedCall]) -> None:
        try:
            with convert_errors(self.path):
                self._begin()
                self._run_calls(calls)
                self._commit()
        except BaseException as error:
            with suppress(StorageError):
                self._undo(error)
            raise

    def _run_calls(self, calls: list[CombinedCall]) -> None:
        if len(calls) == 1:
            calls[0].result = calls[0].callback(self._writer)
            return
        for call in calls:
            try:
                call.result = (
                    call.callback(self._writer) if call.raises_early else self._write_at_savepoint(call.callback)
                )
            except apsw.Error:
                raise
            except Exception as error:  # noqa: BLE001 - belongs to this call, whose savepoint was rolled back
                call.error = error

    def _settle_batch(self, calls: list[CombinedCall], commit: int) -> None:
        """Wait until the commit with the number `commit` is on disk. If the disk fails, store the error in all calls of
        the batch.
        """
        if self.sync is None or all(call.error is not None for call in calls):
            return
        try:
            self.sync.wait(commit)
        except StorageError as error:
            for call in calls:
                call.error = call.error or error

    def _wait_for_restart(self) -> None:
        if self._checkpointer is not None and self._checkpointer.writers_must_wait:
            self._checkpointer.wait_for_restart()

    def _begin(self) -> None:
        writer = self._writer
        writer.thread = threading.get_ident()
        self._wait_for_restart()
        try:
            writer.execute(statements.BEGIN)
        except (apsw.ConnectionClosedError, apsw.CursorClosedError):
            raise EngineClosedError(f"{self.path} is closed") from None
        if writer.connection.data_version() != writer.last_data_version:
            writer.has_foreign_commit = True  # keep it set, because this transaction may not check it

    def _commit(self) -> None:
        writer = self._writer
        if self.sync is not None and self._checkpointer is not None:
            self.sync.extend_log(self._checkpointer.pages)
        writer.execute(statements.COMMIT)
        writer.last_data_version = writer.connection.data_version()
        self._group_started = False
        if self.sync is not None:
            self.sync.committed += 1

    def _rollback(self) -> None:
        connection = self._writer.connection
        # SQLite itself rolls back after some failures, such as a full disk. Roll back only if a transaction is still
        # open.
        if connection.in_transaction:
            connection.execute(statements.ROLLBACK)
        self._writer.last_data_version = -1

    # The file.

    def copy_to(self, path: str) -> None:
        """Copy the whole database as of one point in time into a new file."""
        check_free(path)
        with convert_errors(f"{path}, a copy of {self.path},"), new_file(path) as target:
            self._copy(target)

    def copy(self) -> SqliteStore:
        """Return an in-memory store that contains a copy of the data as of one point in time."""
        memory_store = SqliteStore(MEMORY)
        with convert_errors(self.path):
            self._copy(memory_store._writer.connection)
        memory_store._writer.last_data_version = memory_store._writer.connection.data_version()
        return memory_store

    def _copy(self, target: apsw.Connection) -> None:
        if self.in_memory:
            with self._lock:
                copy(self._writer.connection, target)
            return
        source = connect(self.path)
        try:
            copy(source, target)
        finally:
            source.close()

    def integrity(self, progress: Callable[[], None] = lambda: None) -> list[str]:
        """Return the problems that SQLite's integrity check finds in the database. The list is empty if the database is
        intact.

        `progress` is called repeatedly during the check.
        """

        def report_progress() -> bool:
            progress()
            return False

        connection = self.view().connection
        connection.set_progress_handler(report_progress, INTEGRITY_STEPS)
        try:
            with convert_errors(self.path):
                rows = connection.execute(statements.INTEGRITY).fetchall()
        finally:
            connection.set_progress_handler(None)
        return [str(finding) for (finding,) in rows if finding != "ok"]

    def close_in_child(self) -> object:
        """Mark the store as closed in a child process. Return the objects that contain its connections, which must not
        be freed.
        """
        handles = self._writer, self._checkpointer, self._readers.close_in_child()
        self._lock = threading.RLock()  # a thread of the parent may hold it
        self._writer = cast(ConnectionWriter, ForkedConnection(self.path))
        self._checkpointer = self._combiner = self._group_thread = None
        self._closed = self.opened_by_parent = True
        return handles

    def close(self) -> None:
        """Close all connections. Closing the store again has no effect."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self.sync is not None:
                with suppress(StorageError):  # reported to the waiting caller, outside the lock
                    self.sync.wait(self.sync.committed)
            if self._checkpointer is not None:
                self._checkpointer.stop()
            self._readers.close()
            self._writer.connection.close()
            if self.sync is not None:
                self.sync.close()
