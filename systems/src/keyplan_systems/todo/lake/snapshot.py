"""The content of one version of the lake: its data files, its exports, and the version up to which silver
is updated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import orjson

from keyplan_systems.todo.lake.errors import LakeFormatError

FORMAT = 1
"""Number of the file format, which is written to every version file. Files with a greater number are rejected."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of the lake."""

    path: str
    kind: str
    """Kind: `bronze`, `users` or `tasks` (silver layer), the name of a gold table, `baseline` (items of an applied full
    export), or `staged` (items of a full export that is not applied yet).
    """
    partition: str
    """Date (UTC) of a bronze file, bucket of a silver file, or time of a baseline. Empty for gold."""
    rows: int
    size_bytes: int
    added: int
    """Version that added the events of the file. For a compacted file, the latest of the versions that added the merged
    files.
    """
    first: str = ""
    """Smallest position of the events in a bronze file."""
    last: str = ""
    """Greatest position of the events in a bronze file."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A full export on which the silver layer is based."""

    as_of_us: int
    """Time of the exported data, in microseconds since the Unix epoch."""
    position: str = ""
    """Position of the last event that the export includes, if known. It is used instead of the time."""
    digest: str = ""
    """Digest of the export's content, by which the same export is recognized."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of the lake, which is immutable once committed."""

    version: int = 0
    committed_at: float = 0.0
    """Time of the commit in Unix seconds."""
    generation: int = 0
    """Number that is part of the names of new files. Vacuum increments it."""
    folded: int = 0
    """Version up to which the silver layer contains the events of all bronze files."""
    baselines: tuple[Baseline, ...] = ()
    files: tuple[DataFile, ...] = ()

    def of(self, kind: str) -> list[DataFile]:
        """Return the data files of the given kind in this version."""
        return [file for file in self.files if file.kind == kind]

    def with_files(self, add: Iterable[DataFile] = (), remove: Iterable[DataFile] = ()) -> Snapshot:
        """Return a copy of this version with files added and removed."""
        added = {file.path: file for file in add}
        removed = {file.path for file in remove} | added.keys()
        remaining = [file for file in self.files if file.path not in removed]
        return replace(self, files=(*remaining, *added.values()))

    def pending(self) -> list[DataFile]:
        """Return the bronze files whose events the silver layer does not contain yet, in order."""
        return sorted((file for file in self.of("bronze") if file.added > self.folded), key=lambda file: file.added)


def dump(snapshot: Snapshot) -> bytes:
    """Return a snapshot in the format of a version file."""
    return orjson.dumps({"format": FORMAT} | {field.name: getattr(snapshot, field.name) for field in fields(snapshot)})


def load(body: bytes, name: str) -> Snapshot:
    """Parse a version file. Raises LakeFormatError if it is damaged or has a newer format."""
    try:
        members = orjson.loads(body)
        number = members.pop("format")
        if number > FORMAT:
            raise LakeFormatError(f"{name} has format {number}; this program reads up to {FORMAT}: update it")
        files = tuple(DataFile(**file) for file in members.pop("files"))
        baselines = tuple(Baseline(**baseline) for baseline in members.pop("baselines"))
        return Snapshot(**members, files=files, baselines=baselines)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LakeFormatError(f"{name} is damaged: {error}") from error
