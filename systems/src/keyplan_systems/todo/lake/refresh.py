"""Updates the silver and gold layers from new events, from all events, or from a full export."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from keyplan_systems.todo.lake import gold, parquet
from keyplan_systems.todo.lake.errors import BadRecordError, LakeBusyError, LakeError, StaleExportError
from keyplan_systems.todo.lake.events import (
    SEQUENCE_DIGITS,
    entity_of,
    image_json,
    is_idempotency,
    key_of,
    position_of,
    stream_label,
)
from keyplan_systems.todo.lake.fold import Fact, Key, add, exported_fact
from keyplan_systems.todo.lake.silver import KINDS, Buckets
from keyplan_systems.todo.lake.snapshot import Baseline, DataFile, Snapshot
from keyplan_systems.todo.lake.storage import Storage
from keyplan_systems.todo.lake.versions import Versions

_EVENTS_PER_VERSION = 200_000
"""Number of events at which a refresh commits a version and continues with the next one. This limits the memory use of
a refresh.
"""

_ITEMS_PER_FILE = 50_000
"""Maximum number of exported items per file."""

_BASELINE_SCHEMA = pa.schema(
    [("kind", pa.string()), ("user_id", pa.string()), ("task_id", pa.string()), ("item", pa.string())]
)


@dataclass(frozen=True, slots=True)
class _NewContents:
    """New contents of the silver and gold layers. They were computed from the version `base`, which may no longer be
    the newest.
    """

    base: Snapshot
    new_files: tuple[DataFile, ...]
    replaced: tuple[DataFile, ...]
    folded: int
    baselines: tuple[Baseline, ...]
    rebuild: bool
    """Whether all files of the silver layer are replaced."""

    def apply_to(self, newest: Snapshot) -> Snapshot:
        """Return a copy of the newest version with these contents."""
        kinds = (*gold.SCHEMAS, *(KINDS if self.rebuild else ()))
        stale = [file for kind in kinds for file in newest.files_of(kind)]
        changed = newest.with_files(self.new_files, (*self.replaced, *stale))
        return replace(changed, folded=self.folded, baselines=self.baselines)


class Refresher:
    """Writer of the silver and gold layers. Several instances can run concurrently. In each version, the gold layer is
    consistent with the silver layer.
    """

    def __init__(self, storage: Storage, versions: Versions) -> None:
        self._storage = storage
        self._versions = versions

    def refresh(self) -> Snapshot:
        """Update the silver layer with all events that were stored before the call, and recompute the gold layer.

        Raises LakeBusyError if other writers prevent the commit.
        """
        target_version = self._versions.latest().version
        while True:
            snapshot = self._commit(self._fold_next, _same_silver)
            if snapshot.folded >= target_version or not snapshot.pending():
                return snapshot

    def rebuild(self) -> Snapshot:
        """Rebuild the silver and gold layers from all bronze files and exports. Raises LakeBusyError if other writers
        prevent the commit.
        """
        return self._commit(lambda base: self._rebuild(base, base.baselines), _same_history)

    def rebuild_from_items(
        self, items: Iterable[Mapping[str, Any]], as_of: datetime, *, sequence: str = "", stream: str = ""
    ) -> Snapshot:
        """Rebuild the silver layer from a full export. This is necessary if the stream no longer contains all changes
        since the last stored event.

        `items` are the items of the table as attribute values (`Item` in each line of an export, or the items that a
        scan returns). `as_of` is the time of the data, with a time zone. Events of that second and later are applied to
        the exported items. Therefore the stream must have been read since before that time: start the consumer at
        TRIM_HORIZON first, and then export. If the sequence number of the last change in the export is known (because
        the stream has one shard, or no writes occurred), pass it as `sequence`, which is used instead of the time.

        Raises BadRecordError for an invalid item, StaleExportError if a newer export was already applied, and
        LakeBusyError if other writers prevent the commit. In all these cases, nothing is changed.
        """
        baseline = _baseline(as_of, sequence, stream)
        self._require_newer(self._versions.latest(), baseline)
        staged: list[DataFile] = []
        try:
            digest = self._stage(items, str(baseline.as_of_us), staged)
            baseline = replace(baseline, digest=digest)
            return self._commit(lambda base: self._with_baseline(base, baseline, staged), _same_history)
        finally:
            self._unstage(staged)

    def _commit(
        self, compute: Callable[[Snapshot], _NewContents | None], is_still_valid: Callable[[Snapshot, Snapshot], bool]
    ) -> Snapshot:
        """Call `compute` with the newest version and commit its result. Return the resulting version, or the newest
        version if `compute` returns None.

        If another writer commits first, `is_still_valid` is called with the version that `compute` used and the newest
        version. If it returns True, the same result is committed on top of the newest version. Otherwise, `compute` is
        called again.
        """
        contents: _NewContents | None = None

        def change(newest: Snapshot) -> Snapshot | None:
            nonlocal contents
            if contents is None or not is_still_valid(contents.base, newest):
                contents = compute(newest)
            return None if contents is None else contents.apply_to(newest)

        return self._versions.commit(change)

    def _fold_next(self, base: Snapshot) -> _NewContents | None:
        """Return new contents of the silver and gold layers that include the next group of pending events. Return None
        if no events are pending and the gold layer exists.
        """
        if not base.pending() and base.files_of("kpis"):
            return None
        chunk = next(_chunks(base.pending()), [])
        buckets = Buckets(self._storage, base, base.baselines)
        buckets.fold(chunk)
        return self._contents(base, buckets, chunk[-1].added if chunk else base.folded)

    def _rebuild(
        self, base: Snapshot, baselines: tuple[Baseline, ...], extra: tuple[DataFile, ...] = ()
    ) -> _NewContents:
        """Return new contents of the silver and gold layers, computed from all exports and all events.

        `baselines` contains the exports. `extra` contains the files of a new export, which become
        part of the new version.
        """
        buckets = Buckets(self._storage, base, baselines, rebuild=True)
        for file in (*base.files_of("baseline"), *extra):
            for kind, facts in self._exported_facts(file, baselines):
                buckets.merge(kind, facts)
        for chunk in _chunks(sorted(base.files_of("bronze"), key=lambda file: file.added)):
            buckets.fold(chunk)
        return self._contents(base, buckets, base.version, extra, rebuild=True)

    def _contents(
        self, base: Snapshot, buckets: Buckets, folded: int, extra: tuple[DataFile, ...] = (), *, rebuild: bool = False
    ) -> _NewContents:
        new_files, replaced = buckets.put()
        contents = _NewContents(base, (*new_files, *extra), tuple(replaced), folded, buckets.baselines, rebuild)
        return replace(contents, new_files=(*contents.new_files, *gold.put(self._storage, contents.apply_to(base))))

    # Exports.

    def _with_baseline(self, base: Snapshot, baseline: Baseline, staged: list[DataFile]) -> _NewContents | None:
        if self._require_newer(base, baseline):
            return None
        staged_paths = {file.path for file in base.files_of("staged")}
        if not all(file.path in staged_paths for file in staged):
            raise LakeBusyError("another export was applied concurrently; this export was not applied")
        files = tuple(replace(file, kind="baseline") for file in staged)
        contents = self._rebuild(base, (*base.baselines, baseline), files)
        return replace(
            contents, replaced=(*contents.replaced, *base.files_of("staged"))
        )  # others belong to killed imports

    def _require_newer(self, base: Snapshot, baseline: Baseline) -> bool:
        """Return True if the export was already applied, or False if it is newer than the last applied export. If both
        have the same time and the digest of the export is not computed yet, return False. Raises StaleExportError
        otherwise.
        """
        if not base.baselines or base.baselines[-1].as_of_us < baseline.as_of_us:
            return False
        last = base.baselines[-1]
        if last.as_of_us == baseline.as_of_us and baseline.digest in {"", last.digest}:
            return bool(baseline.digest)
        raise StaleExportError(
            f"the export is as of {baseline.as_of_us} µs since 1970, but an export as of {last.as_of_us} µs was already"
            " applied: apply a later export"
        )

    def _stage(self, items: Iterable[Mapping[str, Any]], partition: str, staged: list[DataFile]) -> str:
        """Write the items of an export to files, append the files to `staged`, and return the digest of the items.

        Each file is added to a version immediately, so that vacuum does not remove it.
        """
        digest = hashlib.sha256()
        for rows in _batches(items):
            table = pa.Table.from_pylist(rows, _BASELINE_SCHEMA)
            digest.update(parquet.encode(table))
            self._stage_one(table, partition, staged)
        return digest.hexdigest()

    def _stage_one(self, table: Any, partition: str, staged: list[DataFile]) -> None:
        file: DataFile | None = None

        def change(base: Snapshot) -> Snapshot | None:
            nonlocal file
            file = parquet.put(self._storage, base, table, "staged", partition)
            applied = any(baseline.path == file.path for baseline in base.files_of("baseline"))
            return None if applied else base.with_files([file])

        self._versions.commit(change)
        assert file is not None
        staged.append(file)

    def _unstage(self, staged: list[DataFile]) -> None:
        """Remove the files of an export that cannot be applied or was already applied."""
        paths = {file.path for file in staged}

        def change(base: Snapshot) -> Snapshot | None:
            remaining = [file for file in base.files_of("staged") if file.path in paths]
            return base.with_files((), remaining) if remaining else None

        self._versions.commit(change)

    def _exported_facts(self, file: DataFile, baselines: tuple[Baseline, ...]) -> Iterator[tuple[str, dict[Key, Fact]]]:
        era, as_of_us = next(
            (number, baseline.as_of_us)
            for number, baseline in enumerate(baselines, 1)
            if str(baseline.as_of_us) == file.partition
        )
        facts: dict[str, dict[Key, Fact]] = {kind: {} for kind in KINDS}
        for row in parquet.read(self._storage, file).to_pylist():
            add(facts[row["kind"]], (row["user_id"], row["task_id"]), exported_fact(row["item"], era, as_of_us))
        yield from facts.items()


def _chunks(files: Iterable[DataFile]) -> Iterator[list[DataFile]]:
    """Yield groups of consecutive bronze files. A group is complete when it contains at least _EVENTS_PER_VERSION
    events. Files that were added by the same version are always in the same group.
    """
    chunk: list[DataFile] = []
    for _, group in itertools.groupby(files, key=lambda file: file.added):
        chunk += group
        if sum(file.rows for file in chunk) >= _EVENTS_PER_VERSION:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _same_silver(base: Snapshot, newest: Snapshot) -> bool:
    """Return True if both versions have the same silver layer. A result computed from `base` is then still valid."""
    return _same_baselines(base, newest) and base.folded == newest.folded and _silver(base) == _silver(newest)


def _same_history(base: Snapshot, newest: Snapshot) -> bool:
    """Return True if `newest` has the same exports as `base` and the same bronze files up to the version of `base`. A
    result computed from all events in `base` is then still valid.
    """
    earlier_paths = {file.path for file in newest.files_of("bronze") if file.added <= base.version}
    return _same_baselines(base, newest) and earlier_paths == {file.path for file in base.files_of("bronze")}


def _same_baselines(base: Snapshot, newest: Snapshot) -> bool:
    return base.generation == newest.generation and base.baselines == newest.baselines


def _silver(snapshot: Snapshot) -> set[str]:
    return {file.path for kind in KINDS for file in snapshot.files_of(kind)}


def _baseline(as_of: datetime, sequence: str, stream: str) -> Baseline:
    if as_of.tzinfo is None:
        raise LakeError(f"as_of must have a time zone: {as_of.isoformat()}")
    if sequence and not (sequence.isascii() and sequence.isdigit() and len(sequence) <= SEQUENCE_DIGITS):
        raise LakeError(f"sequence must be text of up to {SEQUENCE_DIGITS} digits, not {sequence!r}")
    position = position_of(stream_label(stream), sequence.zfill(SEQUENCE_DIGITS)) if sequence else ""
    return Baseline(round(as_of.timestamp() * 1_000_000), position)


def _batches(items: Iterable[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Convert exported users and tasks to rows, and yield the rows in batches. Other items are ignored.

    At least one batch is yielded, even if the export is empty.
    """
    rows: list[dict[str, Any]] = []
    for index, item in enumerate(items):
        row = _baseline_row(item, index)
        if row is not None:
            rows.append(row)
        if len(rows) >= _ITEMS_PER_FILE:
            yield rows
            rows = []
    yield rows


def _baseline_row(item: Mapping[str, Any], index: int) -> dict[str, Any] | None:
    try:
        pk, sk = key_of(item)
        entity, user_id, task_id = entity_of(pk, sk)
        if is_idempotency(pk) or f"{entity}s" not in KINDS:
            return None
        return {"kind": f"{entity}s", "user_id": user_id, "task_id": task_id or "", "item": image_json(item)}
    except ValueError as error:
        raise BadRecordError(str(error), index=index) from None
