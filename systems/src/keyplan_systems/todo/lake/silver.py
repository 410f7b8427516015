"""The silver layer, which contains one row per user and task, in Parquet files by bucket. A bucket is a group of users.

A refresh merges new bronze files into the buckets, and each changed file is replaced as a whole. Rows of removed users
and tasks are kept, with the state `deleted` or `expired` and their last known values.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyplan_systems.todo.lake import bronze, columns, parquet
from keyplan_systems.todo.lake.fold import Fact, Key, add, current_state, event_facts
from keyplan_systems.todo.lake.snapshot import Baseline, DataFile, Snapshot
from keyplan_systems.todo.lake.storage import Storage

KINDS = ("users", "tasks")
BUCKETS = 16

_STATE_FIELDS = [
    ("state", pa.string()),
    ("source", pa.string()),
    ("changed_at", pa.timestamp("us", tz="UTC")),
    ("fact_state", pa.string()),
    ("fact_source", pa.string()),
    ("fact_us", pa.int64()),
    ("era", pa.int32()),
    ("stream", pa.string()),
    ("sequence", pa.string()),
    ("image_era", pa.int32()),
    ("image_stream", pa.string()),
    ("image_sequence", pa.string()),
    ("events", pa.int64()),
    ("item", pa.string()),
    ("problems", pa.list_(pa.string())),
]
_KEYS = {"users": ("user_id",), "tasks": ("user_id", "task_id")}
SCHEMAS = {
    kind: pa.schema([*((name, pa.string()) for name in _KEYS[kind]), *columns.FIELDS[kind], *_STATE_FIELDS])
    for kind in KINDS
}
"""Columns of users and of tasks: the keys, the values from the item image (see `columns`), and the facts
(see `fold`).
"""

_EVENT_COLUMNS = (
    "stream",
    "sequence",
    "change",
    "event_time",
    "entity",
    "user_id",
    "task_id",
    "new_image",
    "old_image",
)
_FACT_COLUMNS = (
    "fact_state",
    "fact_source",
    "fact_us",
    "era",
    "stream",
    "sequence",
    "image_era",
    "image_stream",
    "image_sequence",
    "events",
    "item",
)


class Buckets:
    """The buckets of the silver layer that an update reads and changes. Users are assigned to buckets by a hash of
    their IDs.
    """

    def __init__(
        self, storage: Storage, base: Snapshot, baselines: tuple[Baseline, ...], *, rebuild: bool = False
    ) -> None:
        self._storage = storage
        self._base = base
        self.baselines = baselines
        old_files = [] if rebuild else [file for kind in KINDS for file in base.files_of(kind)]
        self._files = {(file.kind, file.partition): file for file in old_files}
        self._tables: dict[tuple[str, str], Any] = {}

    def fold(self, files: Iterable[DataFile]) -> None:
        """Merge the events of bronze files into the buckets."""
        facts = event_facts(_event_rows(self._storage, files), self.baselines)
        for kind in KINDS:
            self.merge(kind, facts[kind])

    def merge(self, kind: str, facts: Mapping[Key, Fact]) -> None:
        """Merge facts about users or about tasks into the buckets. `kind` is `users` or `tasks`."""
        by_bucket: dict[str, dict[Key, Fact]] = {}
        for key, fact in facts.items():
            by_bucket.setdefault(bucket_of(key[0]), {})[key] = fact
        for bucket, group in by_bucket.items():
            self._tables[kind, bucket] = self._merge_rows(kind, self._table(kind, bucket), group)

    def put(self) -> tuple[list[DataFile], list[DataFile]]:
        """Write the changed buckets. Return the new files and the files that they replace."""
        changed = sorted(self._tables.items())
        new_files = [
            parquet.put(self._storage, self._base, _sorted(kind, table), kind, bucket)
            for (kind, bucket), table in changed
        ]
        replaced = [self._files[bucket_key] for bucket_key, _ in changed if bucket_key in self._files]
        return new_files, replaced

    def _table(self, kind: str, bucket: str) -> Any:
        if (kind, bucket) in self._tables:
            return self._tables[kind, bucket]
        if (kind, bucket) in self._files:
            return parquet.read(self._storage, self._files[kind, bucket])
        return SCHEMAS[kind].empty_table()

    def _merge_rows(self, kind: str, table: Any, facts: dict[Key, Fact]) -> Any:
        """Return the rows of a bucket after merging facts into them. Rows without new facts are not decoded."""
        keys = pa.array([_joined_key(kind, key) for key in facts], pa.string())
        has_new_facts = pc.is_in(pc.binary_join_element_wise(*(table[name] for name in _KEYS[kind]), "\n"), keys)
        for key, fact in _facts_in(kind, table.filter(has_new_facts)):
            add(facts, key, fact)
        rows = [_row(kind, key, fact, self.baselines) for key, fact in facts.items()]
        return pa.concat_tables([table.filter(pc.invert(has_new_facts)), pa.Table.from_pylist(rows, SCHEMAS[kind])])


def bucket_of(user_id: str) -> str:
    """Return the name of the bucket that contains a user and the user's tasks. It is derived from a hash of the user
    ID.
    """
    return f"{zlib.crc32(user_id.encode()) % BUCKETS:02d}"


def _event_rows(storage: Storage, files: Iterable[DataFile]) -> Iterable[dict[str, Any]]:
    is_user_or_task = pc.field("entity").isin(["user", "task"])
    table = parquet.dataset(storage, files, bronze.SCHEMA).to_table(
        columns=list(_EVENT_COLUMNS), filter=is_user_or_task
    )
    times = table["event_time"].cast(pa.int64())
    rows: list[dict[str, Any]] = table.drop_columns("event_time").append_column("event_us", times).to_pylist()
    return rows


def _facts_in(kind: str, table: Any) -> Iterable[tuple[Key, Fact]]:
    for row in table.select([*_KEYS[kind], *_FACT_COLUMNS]).to_pylist():
        yield (row["user_id"], row.get("task_id", "")), _fact(row)


def _fact(row: Mapping[str, Any]) -> Fact:
    return Fact(
        position=(row["era"], row["stream"], row["sequence"]),
        state=row["fact_state"],
        changed_us=row["fact_us"],
        source=row["fact_source"],
        image=row["item"],
        image_position=None if row["item"] is None else (row["image_era"], row["image_stream"], row["image_sequence"]),
        events=row["events"],
    )


def _row(kind: str, key: Key, fact: Fact, baselines: Sequence[Baseline]) -> dict[str, Any]:
    row = dict(zip(_KEYS[kind], key, strict=False)) | columns.read(kind, fact.image)
    row |= dict(zip(("era", "stream", "sequence"), fact.position, strict=True))
    row |= dict(zip(("image_era", "image_stream", "image_sequence"), fact.image_position or (None,) * 3, strict=True))
    row |= {"fact_state": fact.state, "fact_source": fact.source, "fact_us": fact.changed_us, "events": fact.events}
    current = current_state(fact, baselines)
    changed_at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=current.changed_us)
    return row | {"state": current.state, "source": current.source, "changed_at": changed_at}


def _joined_key(kind: str, key: Key) -> str:
    return "\n".join(key[: len(_KEYS[kind])])


def _sorted(kind: str, table: Any) -> Any:
    return table.sort_by([(name, "ascending") for name in _KEYS[kind]]).combine_chunks()
