"""Destinations for failed records (dead letters), which are stored in a folder of JSON Lines files or in a table.

A destination can receive a record twice if a runner is killed after it sends the record and before the next checkpoint.
Duplicates have the same event ID.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from keyplan.client.connection import Connection
from keyplan.client.requests import Transport
from keyplan.clock import Clock
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import Entity
from keyplan.streams.checkpoints_table import RunnerTable
from keyplan.streams.records import Failure


class Destination(Protocol):
    """The interface of a destination for records that failed permanently."""

    def send(self, failures: Sequence[Failure]) -> None:
        """Store failed records durably, or raise an error. The records are considered handled only if this method
        returns.
        """


class JsonLinesFolder:
    """A destination that stores failed records in a folder, with one JSON Lines file for each consumer.

    New lines are appended and synced to disk.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._lock = threading.Lock()

    def path_of(self, consumer: str) -> Path:
        """Return the path of the file that contains a consumer's failed records."""
        return self.folder / f"{consumer.replace('/', '.')}.jsonl"

    def send(self, failures: Sequence[Failure]) -> None:
        """Append a line for each failed record to the file of its consumer."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for consumer in dict.fromkeys(failure.consumer for failure in failures):
            lines = [json.dumps(failure.as_plain()).encode() for failure in failures if failure.consumer == consumer]
            with self._lock:
                _append(self.path_of(consumer), b"\n".join(lines) + b"\n")

    def read(self, consumer: str) -> Iterator[Failure]:
        """Yield the failed records of a consumer in the order in which they were sent, without duplicates.

        A line that was truncated by a crash is ignored. Its record was not checkpointed, so it is delivered again.
        """
        path, event_ids = self.path_of(consumer), set()
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                failure = Failure.from_plain(json.loads(line))
            except ValueError:
                continue
            if failure.record.event_id not in event_ids:
                event_ids.add(failure.record.event_id)
                yield failure


def _append(path: Path, lines: bytes) -> None:
    """Append lines to a file and sync the file to disk. If its last line is truncated, terminate that line first."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(file).st_size
        is_truncated = size > 0 and os.lseek(file, size - 1, os.SEEK_SET) >= 0 and os.read(file, 1) != b"\n"
        remaining = memoryview(b"\n" + lines if is_truncated else lines)
        while remaining:
            remaining = remaining[os.write(file, remaining) :]
        os.fsync(file)
    finally:
        os.close(file)


DEFAULT_NAME = "keyplan-failures"
_MAX_BYTES = 390_000
"""The maximum size of a failed record's JSON text in bytes, which leaves room for other attributes in an item of 400
KB.
"""
_MAX_TEXT = 4000
_REMEDY = (
    "for failed records: create it (keys consumer and event_id, both String), or use TableDestination(db, create=True)"
)


def failure_table(name: str = DEFAULT_NAME) -> Table:
    """Return the declaration of the table for failed records with the given name, for use in designs and exports."""
    table = Table(name, pk="consumer", sk="event_id")

    @table.entity(name="Failure")
    class FailureItem(Entity):
        consumer: str
        event_id: str

    return table


class TableDestination:
    """A destination that stores each failed record as an item in a table."""

    def __init__(
        self,
        db: Connection | Transport,
        *,
        table: str = DEFAULT_NAME,
        create: bool | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare access to the table for failed records.

        `create` determines whether a missing table is created. By default, a missing table is created only if the
        database is an engine in this process.
        """
        self._table = RunnerTable(db, failure_table, table, remedy=_REMEDY, create=create, clock=clock)
        self.table = self._table.name
        self._creates = self._table.creates

    def send(self, failures: Sequence[Failure]) -> None:
        """Put an item for each failed record. Raises TableMissingError if the table does not exist."""
        if self._creates:
            self._table.create()
            self._creates = False
        for failure in failures:
            self._table.put(_item(failure))

    def read(self, consumer: str) -> Iterator[Failure]:
        """Yield the failed records of a consumer, sorted by event ID."""
        for item in self._table.items(consumer):
            yield Failure.from_plain(json.loads(item["failure"]["S"]))


def _item(failure: Failure) -> dict[str, Any]:
    text = json.dumps(failure.as_plain())
    if len(text) > _MAX_BYTES:  # JSON is written in ASCII: as many characters as bytes
        record = replace(failure.record, old=None, new=None)
        shortened = replace(failure, record=record, trace=failure.trace[-_MAX_TEXT:], error=failure.error[:_MAX_TEXT])
        text = json.dumps(shortened.as_plain())
    return {
        "consumer": {"S": failure.consumer},
        "event_id": {"S": failure.record.event_id},
        "error": {"S": failure.error[:_MAX_TEXT]},
        "attempts": {"N": str(failure.attempts)},
        "failed_at": {"N": repr(failure.failed_at_s)},
        "failure": {"S": text},
    }
