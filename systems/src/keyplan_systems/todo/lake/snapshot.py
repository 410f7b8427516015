"""What one version of the lake consists of: its data files, the exports it rests on, and how far it is folded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import orjson

from keyplan_systems.todo.lake.errors import LakeFormatError

FORMAT = 1
"""Written into every version file; a program refuses numbers above its own."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file."""

    path: str
    kind: str
    """`bronze`, `users`, `tasks`, `baseline`, `staged`, or the name of a gold table."""
    partition: str
    """Date (UTC) of bronze, bucket of silver, moment of a baseline; empty for gold."""
    rows: int
    size_bytes: int
    added: int
    """The version that its events came with; of a compacted file the latest of its parts."""
    first: str = ""
    """Least position of the events in a bronze file."""
    last: str = ""
    """Greatest position of the events in a bronze file."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A full export that silver rests on."""

    as_of_us: int
    """The moment it shows, in microseconds since the Unix epoch."""
    position: str = ""
    """Position of the last event that it includes, if that is known; then it decides instead of the time."""
    digest: str = ""
    """Of its content, so that the same export is known again."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version: immutable once committed."""

    version: int = 0
    committed_at: float = 0.0
    """Unix seconds."""
    generation: int = 0
    """Part of new files' names; raised by vacuum, see there."""
    folded: int = 0
    """Silver holds the events of all bronze files added up to this version."""
    baselines: tuple[Baseline, ...] = ()
    files: tuple[DataFile, ...] = ()

    def of(self, kind: str) -> list[DataFile]:
        """The files of a kind."""
        return [file for file in self.files if file.kind == kind]

    def with_files(self, add: Iterable[DataFile] = (), remove: Iterable[DataFile] = ()) -> Snapshot:
        """A snapshot with some files more and some less."""
        added = {file.path: file for file in add}
        gone = {file.path for file in remove} | added.keys()
        kept = [file for file in self.files if file.path not in gone]
        return replace(self, files=(*kept, *added.values()))

    def pending(self) -> list[DataFile]:
        """Bronze files that silver does not hold yet, in the order they came."""
        return sorted((file for file in self.of("bronze") if file.added > self.folded), key=lambda file: file.added)


def dump(snapshot: Snapshot) -> bytes:
    """A snapshot as the content of a version file."""
    return orjson.dumps({"format": FORMAT} | {field.name: getattr(snapshot, field.name) for field in fields(snapshot)})


def load(body: bytes, name: str) -> Snapshot:
    """The snapshot in a version file of that name. Raises LakeFormatError."""
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
