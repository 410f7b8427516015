"""Where the lake's files lie: a local folder or an S3 bucket behind the same few calls.

All paths are relative to the lake's root and use `/`. A file appears whole or not at all, and
`create` is the one atomic decision that everything else rests on: of several callers that create
the same path, exactly one is told that it did. Locally that is a hard link to a finished file, on
S3 a conditional put (`If-None-Match: *`).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import fsspec
from pyarrow import fs as arrow_fs

from keyplan_systems.todo.lake.errors import LakeBusyError, LakeError

_SPOOL = "_tmp"
"""Folder of files being written; a writer that is killed leaves its unfinished file there."""

_CONFLICTS = 50
"""How often a file is created that others are creating at the same moment."""


class Storage(Protocol):
    """The files of one lake."""

    @property
    def arrow(self) -> Any:
        """The same files as a pyarrow filesystem."""

    @property
    def is_native(self) -> bool:
        """Whether Arrow reads the files by itself; where it calls Python for them, engines that scan must not."""

    def read(self, path: str) -> bytes:
        """A file's content. Raises FileNotFoundError."""

    def put(self, path: str, body: bytes) -> None:
        """Write a whole file, or replace it; readers see the old or the new one."""

    def create(self, path: str, body: bytes) -> bool:
        """Write a whole file unless it exists; whether it was written. Raises LakeBusyError."""

    def names(self, folder: str) -> list[str]:
        """The paths of all files below a folder, in order; none if there is no such folder."""

    def remove(self, path: str) -> None:
        """Delete a file; one that is gone already is fine."""

    def sweep(self, older_than: float) -> int:
        """Delete unfinished files last written before that time (Unix seconds); how many."""


def open_storage(url: str | Path, options: Mapping[str, Any] | None = None) -> Storage:
    """The storage at a path, a `file://` URL or `s3://bucket/prefix`. Raises LakeError.

    `options` go to s3fs: `key`, `secret`, `endpoint_url`, `client_kwargs` and so on.
    """
    text = str(url)
    if text.startswith("s3://"):
        return Bucket(text, options or {})
    if "://" in text and not text.startswith("file://"):
        raise LakeError(f"{text}: the lake can lie in a folder (a path or file://) or on S3 (s3://bucket/prefix)")
    if options:
        raise LakeError(f"{text}: storage options are for s3:// only")
    return Folder(Path(text.removeprefix("file://")))


class Folder:
    """A lake in a local folder. The filesystem must know hard links, as all usual ones do."""

    is_native = True

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._settled: set[Path] = set()
        try:
            _make(self._root / _SPOOL)
        except OSError as error:
            raise LakeError(f"{root}: the folder of the lake cannot be made: {error}") from error
        self.arrow = arrow_fs.SubTreeFileSystem(str(self._root), arrow_fs.LocalFileSystem())

    def read(self, path: str) -> bytes:
        """A file's content. Raises FileNotFoundError."""
        return (self._root / path).read_bytes()

    def put(self, path: str, body: bytes) -> None:
        """Write a whole file, or replace it; readers see the old or the new one."""
        target = self._target(path)
        self._spooled(body).replace(target)
        _sync(target.parent)

    def create(self, path: str, body: bytes) -> bool:
        """Write a whole file unless it exists; whether it was written."""
        target = self._target(path)
        spooled = self._spooled(body)
        try:
            os.link(spooled, target)
        except FileExistsError:
            return False
        finally:
            spooled.unlink(missing_ok=True)
        _sync(target.parent)
        return True

    def names(self, folder: str) -> list[str]:
        """The paths of all files below a folder, in order; none if there is no such folder."""
        found = [
            (Path(where) / name).relative_to(self._root).as_posix()
            for where, _, names in os.walk(self._root / folder)
            for name in names
        ]
        return sorted(found)

    def remove(self, path: str) -> None:
        """Delete a file; one that is gone already is fine."""
        (self._root / path).unlink(missing_ok=True)

    def sweep(self, older_than: float) -> int:
        """Delete unfinished files last written before that time (Unix seconds); how many."""
        swept = 0
        for path in (self._root / _SPOOL).iterdir():
            try:
                if path.stat().st_mtime < older_than:
                    path.unlink()
                    swept += 1
            except FileNotFoundError:  # its writer has just finished with it
                continue
        return swept

    def _target(self, path: str) -> Path:
        """Where a file is to be, in a folder that survives a power cut as well as the file will."""
        target = self._root / path
        _make(target.parent)
        if target.parent not in self._settled:
            # Also where it was there: another writer may have just made it.
            for folder in target.parents[1 : len(target.relative_to(self._root).parts)]:
                _sync(folder)
            self._settled.add(target.parent)
        return target

    def _spooled(self, body: bytes) -> Path:
        """A finished, synced file beside the data, so that naming it is one atomic step."""
        path = self._root / _SPOOL / uuid.uuid4().hex
        with path.open("xb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        return path


class Bucket:
    """A lake on S3, or on what speaks S3 and honours conditional puts."""

    is_native = False

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._root = url.removeprefix("s3://").strip("/")
        if not self._root:
            raise LakeError(f"{url}: the URL names no bucket")
        # Listings must be fresh: the newest version is found by listing.
        self._fs = fsspec.filesystem("s3", **{**options, "use_listings_cache": False})
        handler = arrow_fs.FSSpecHandler(self._fs)
        self.arrow = arrow_fs.SubTreeFileSystem(self._root, arrow_fs.PyFileSystem(handler))

    def read(self, path: str) -> bytes:
        """A file's content. Raises FileNotFoundError."""
        body: bytes = self._fs.cat_file(f"{self._root}/{path}")
        return body

    def put(self, path: str, body: bytes) -> None:
        """Write a whole file, or replace it; readers see the old or the new one."""
        self._fs.pipe_file(f"{self._root}/{path}", body)

    def create(self, path: str, body: bytes) -> bool:
        """Write a whole file unless it exists; whether it was written."""
        for _ in range(_CONFLICTS):
            try:
                self._fs.pipe_file(f"{self._root}/{path}", body, mode="create")
            except FileExistsError:
                return False
            except OSError as error:
                if not _is_conflict(error):
                    raise
            else:
                return True
        raise LakeBusyError(f"{path} was being created by others {_CONFLICTS} times; nothing was changed")

    def names(self, folder: str) -> list[str]:
        """The paths of all files below a folder, in order; none if there is no such folder."""
        return sorted(path.removeprefix(f"{self._root}/") for path in self._fs.find(f"{self._root}/{folder}"))

    def remove(self, path: str) -> None:
        """Delete a file; one that is gone already is fine."""
        try:
            self._fs.rm_file(f"{self._root}/{path}")
        except FileNotFoundError:
            return

    def sweep(self, older_than: float) -> int:
        """Nothing to delete: S3 shows no unfinished objects."""
        del older_than
        return 0


def _make(folder: Path) -> None:
    """Make a folder and those above it that are missing, each durable."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _is_conflict(error: OSError) -> bool:
    """Whether S3 says that another request for the same object is under way: nobody has won yet, so ask again.

    Source: API reference, "PutObject", If-None-Match: "On a 409 failure you should retry the upload."
    """
    told: Mapping[str, Any] = getattr(error.__cause__, "response", None) or {}
    return bool(told.get("Error", {}).get("Code") == "ConditionalRequestConflict")


def _sync(folder: Path) -> None:
    """Make the folder's entries durable, so that a named file is still named after a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
