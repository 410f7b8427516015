"""The content of a version of the lake: its data files, its exports, and the number of the latest version whose events
the silver layer includes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import orjson

from keyplan_systems.todo.lake.errors import LakeFormatError

FORMAT = 1
"""Version number of the file format, which every version file contains. Files with a greater number are rejected."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of the lake."""

    path: str
    kind: str
    """Type of the file: `bronze`, `users` or `tasks` (silver layer), the name of a gold table, `baseline` (items of an
    applied full export), or `staged` (items of a full export that is not applied yet).
    """
    partition: str
    """UTC date of a bronze file, bucket of a silver file, or time of the export for an exported file. For a gold file,
    it is empty.
    """
    rows: int
    size_bytes: int
    added: int
    """Version that added the events of the file. For a compacted file, it is the latest version that added one of the
    merged files.
    """
    first: str = ""
    """Lowest position of an event in a bronze file."""
    last: str = ""
    """Highest position of an event in a bronze file."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A full export from which the silver layer was rebuilt."""

    as_of_us: int
    """Time of the exported data, in microseconds since the Unix epoch."""
    position: str = ""
    """Position of the last event that the export includes, if it is known. It is then used instead of `as_of_us`."""
    digest: str = ""
    """Digest of the exported items. It shows whether the same export was already applied."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A version of the data lake. It is immutable once it has been committed."""

    version: int = 0
    committed_at: float = 0.0
    """Time of the commit in Unix seconds."""
    generation: int = 0
    """Generation of the lake, which is part of the names of new files. Vacuum increments it."""
    folded: int = 0
    """Number of the latest version whose bronze files are completely merged into the silver layer."""
    baselines: tuple[Baseline, ...] = ()
    files: tuple[DataFile, ...] = ()

    def files_of(self, kind: str) -> list[DataFile]:
        """Return the data files of the given kind in this version."""
        return [file for file in self.files if file.kind == kind]

    def with_files(self, add: Iterable[DataFile] = (), remove: Iterable[DataFile] = ()) -> Snapshot:
        """Return a copy of this version with files added and removed."""
        added = {file.path: file for file in add}
        removed = {file.path for file in remove} | added.keys()
        remaining = [file for file in self.files if file.path not in removed]
        return replace(self, files=(*remaining, *added.values()))

    def pending(self) -> list[DataFile]:
        """Return the bronze files whose events are not merged into the silver layer yet, in order."""
        return sorted(
            (file for file in self.files_of("bronze") if file.added > self.folded), key=lambda file: file.added
        )


def dump(snapshot: Snapshot) -> bytes:
    """Return a snapshot as the content of a version file."""
    return orjson.dumps({"format": FORMAT} | {field.name: getattr(snapshot, field.name) for field in fields(snapshot)})


def load(body: bytes, name: str) -> Snapshot:
    """Return the snapshot in the content of a version file. `name` is used in error messages.

    Raises LakeFormatError if the content is damaged or has a newer format.
    """
    try:
        members = orjson.loads(body)
        number = members.pop("format")
        if number > FORMAT:
            raise LakeFormatError(
                f"{name} has format {number}; this program reads formats up to {FORMAT}: update keyplan-systems"
            )
        files = tuple(DataFile(**file) for file in members.pop("files"))
        baselines = tuple(Baseline(**baseline) for baseline in members.pop("baselines"))
        return Snapshot(**members, files=files, baselines=baselines)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LakeFormatError(f"{name} is damaged: {error}") from error
