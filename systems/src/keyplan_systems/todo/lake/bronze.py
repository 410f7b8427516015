"""The bronze layer, which stores every change event once, in Parquet files by date (UTC).

Events are delivered at least once and in varying batches, so a repeated batch can contain both stored and new events.
Before `write` stores a batch, it looks for events that are already stored. It searches only files whose range of
positions (stream and sequence number) overlaps the range of the batch. These are usually the newest files.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyplan_systems.todo.lake import parquet
from keyplan_systems.todo.lake.events import Event, event_of, position_of
from keyplan_systems.todo.lake.snapshot import DataFile, Snapshot
from keyplan_systems.todo.lake.storage import Storage
from keyplan_systems.todo.lake.versions import Versions

SCHEMA = pa.schema(
    [
        ("stream", pa.string()),
        ("sequence", pa.string()),
        ("event_id", pa.string()),
        ("change", pa.string()),
        ("event_time", pa.timestamp("us", tz="UTC")),
        ("entity", pa.string()),
        ("user_id", pa.string()),
        ("task_id", pa.string()),
        ("pk", pa.string()),
        ("sk", pa.string()),
        ("new_image", pa.string()),
        ("old_image", pa.string()),
        ("size_bytes", pa.int64()),
        ("view_type", pa.string()),
    ]
)
"""Columns of the bronze layer, which correspond to the attributes of `Event`. Item images are in DynamoDB JSON, with
numbers as strings.
"""

ORDER = [("stream", "ascending"), ("sequence", "ascending"), ("pk", "ascending"), ("sk", "ascending")]
_IDENTITY = ("stream", "sequence", "pk", "sk")
_DAY_US = 86_400_000_000
_CACHED_FILES = 128
_CACHED_ROWS = 20_000
"""Maximum number of rows of a file whose event identities are cached. A larger file is searched each time, using the
statistics of its row groups.
"""

Identity = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of writing a batch of stream records to the bronze layer."""

    received: int
    dropped: int
    """Number of events that were omitted because they are changes of idempotency records, which contain response
    bodies.
    """
    repeated: int
    """Number of events that were omitted because they were already stored or occur twice in the batch."""
    stored: int
    version: int
    """Version of the lake that contains the batch."""


class Bronze:
    """Writer of change events. Threads, processes and machines can write to the same lake concurrently."""

    def __init__(self, storage: Storage, versions: Versions) -> None:
        self._storage = storage
        self._versions = versions
        self._identities: OrderedDict[str, frozenset[Identity]] = OrderedDict()
        self._lock = Lock()

    def write(self, records: Sequence[Mapping[str, Any]], *, stream: str = "") -> WriteResult:
        """Store each event in a batch of stream records once, and return when the events are durable.

        `stream` is the ARN or label of the stream that contains the records. Pass it in all calls or in none. Sequence
        numbers are compared within a stream, and the events of a later stream are treated as later. Raises
        BadRecordError for a malformed record (in this case, no record of the batch is stored), LakeBusyError if other
        writers keep committing first, and OSError if the storage fails.
        """
        events = [event_of(record, index, stream) for index, record in enumerate(records)]
        by_identity = {event.identity: event for event in events if event is not None}
        new_events: list[Event] = []
        files: list[DataFile] = []
        generation = -1

        def change(base: Snapshot) -> Snapshot | None:
            nonlocal new_events, files, generation
            missing_events = self._new_events(base, by_identity)
            # If both are unchanged, a previous attempt has written the files.
            if missing_events != new_events or generation != base.generation:
                new_events, generation, files = missing_events, base.generation, self._put(base, missing_events)
            return base.with_files(replace(file, added=base.version + 1) for file in files) if new_events else None

        version = self._versions.commit(change).version if by_identity else self._versions.latest().version
        dropped = events.count(None)
        return WriteResult(len(events), dropped, len(events) - dropped - len(new_events), len(new_events), version)

    def _new_events(self, base: Snapshot, by_identity: Mapping[Identity, Event]) -> list[Event]:
        """Return the events that are not stored in the version `base`, sorted by their identity."""
        first, last = _span(by_identity)
        stored_identities: set[Identity] = set()
        for file in base.files_of("bronze"):
            if file.first <= last and first <= file.last:
                stored_identities.update(self._known_identities(file, by_identity))
        return [by_identity[identity] for identity in sorted(by_identity.keys() - stored_identities)]

    def _known_identities(self, file: DataFile, by_identity: Mapping[Identity, Event]) -> Iterable[Identity]:
        if file.rows <= _CACHED_ROWS:
            identities = self._identities.get(file.path)
            if identities is None:
                identities = frozenset(_identities(self._storage, file))
                self._cache_identities(file.path, identities)
            return identities & by_identity.keys()
        numbers = sorted(identity[1] for identity in by_identity)
        is_in_range = (pc.field("sequence") >= numbers[0]) & (pc.field("sequence") <= numbers[-1])
        return by_identity.keys() & set(_identities(self._storage, file, is_in_range))

    def _put(self, base: Snapshot, events: Sequence[Event]) -> list[DataFile]:
        """Write sorted events as files for the version after `base`, one file per date."""
        by_day: dict[int, list[Event]] = {}
        for event in events:
            by_day.setdefault(event.at_us // _DAY_US, []).append(event)
        files = []
        for day, group in sorted(by_day.items()):
            files.append(put(self._storage, base, table_of(group), _date(day)))
            self._cache_identities(files[-1].path, frozenset(event.identity for event in group))
        return files

    def _cache_identities(self, path: str, identities: frozenset[Identity]) -> None:
        with self._lock:
            self._identities[path] = identities
            while len(self._identities) > _CACHED_FILES:
                self._identities.popitem(last=False)


def put(storage: Storage, base: Snapshot, table: Any, day: str) -> DataFile:
    """Write events of one date as a bronze file for the version after `base`. The rows of `table` must be sorted by
    `ORDER`.
    """
    positions = [position_of(table["stream"][index].as_py(), table["sequence"][index].as_py()) for index in (0, -1)]
    name = table["sequence"][0].as_py().lstrip("0") or "0"
    file = parquet.put(storage, base, table, "bronze", day, name=name)
    return replace(file, first=positions[0], last=positions[1])


def table_of(events: Sequence[Event]) -> Any:
    """Return events as an Arrow table."""
    columns = {name: [getattr(event, name) for event in events] for name in SCHEMA.names if name != "event_time"}
    columns["event_time"] = pa.array([event.at_us for event in events], SCHEMA.field("event_time").type)
    return pa.table(columns, SCHEMA)


def _identities(storage: Storage, file: DataFile, row_filter: Any = None) -> Iterable[Identity]:
    table = parquet.read(storage, file, _IDENTITY, row_filter)
    return zip(*(table[name].to_pylist() for name in _IDENTITY), strict=True)


def _span(by_identity: Mapping[Identity, Event]) -> tuple[str, str]:
    return position_of(*min(by_identity)[:2]), position_of(*max(by_identity)[:2])


def _date(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=day)).isoformat()
