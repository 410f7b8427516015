"""Storage of the lake's files in a local folder or an S3 bucket, with a common interface.

All paths are relative to the root of the lake and use `/`. A file becomes visible completely or not at all. `create` is
the atomic operation that everything else depends on: if several callers create the same path, exactly one succeeds. In
a folder, it creates a hard link to a finished file. On S3, it is a conditional put (`If-None-Match: *`).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pyarrow import fs as arrow_fs

from keyplan_systems.todo.lake.errors import LakeBusyError, LakeError

_SPOOL = "_tmp"
"""Folder for files that are being written. If a writer is killed, its unfinished file remains there."""

_CONFLICTS = 50
"""Maximum number of attempts to create a file that other writers create concurrently."""


class Storage(Protocol):
    """Interface of storage for the files of one lake."""

    @property
    def arrow(self) -> Any:
        """A pyarrow filesystem that contains the lake's files."""

    @property
    def is_native(self) -> bool:
        """Whether Arrow can read the files without calling Python. If it is False, SQL engines must not read them
        directly.
        """

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError if the file does not exist."""

    def put(self, path: str, body: bytes) -> None:
        """Write a file, replacing any existing file. Readers see either the complete old file or the
        complete new file.
        """

    def create(self, path: str, body: bytes) -> bool:
        """Write a file unless it exists. Return True if it was written. Raises LakeBusyError after too many conflicts
        with other writers.
        """

    def list_paths(self, folder: str) -> list[str]:
        """Return the sorted paths of all files below a folder. The result is empty if the folder does not exist."""

    def remove(self, path: str) -> None:
        """Delete a file. Do nothing if the file does not exist."""

    def sweep(self, older_than: float) -> int:
        """Delete unfinished files that were last written before `older_than` (in Unix seconds). Return the number of
        deleted files.
        """


def open_storage(url: str | Path, options: Mapping[str, Any] | None = None) -> Storage:
    """Return the storage at a path, `file://` URL or `s3://bucket/prefix`.

    `options` are passed to s3fs: `key`, `secret`, `endpoint_url`, `client_kwargs` and so on. Raises LakeError for an
    invalid URL, or if s3fs is required but not installed.
    """
    text = str(url)
    if text.startswith("s3://"):
        return Bucket(text, options or {})
    if "://" in text and not text.startswith("file://"):
        raise LakeError(f"{text}: the lake must be in a folder (a path or file://) or on S3 (s3://bucket/prefix)")
    if options:
        raise LakeError(f"{text}: storage options are for s3:// only")
    return Folder(Path(text.removeprefix("file://")))


class Folder:
    """Storage of a data lake in a local folder. The filesystem must support hard links, which all common filesystems
    do.
    """

    is_native = True

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._synced_folders: set[Path] = set()
        try:
            _make_folder(self._root / _SPOOL)
        except OSError as error:
            raise LakeError(f"{root}: the folder of the lake cannot be created: {error}") from error
        self.arrow = arrow_fs.SubTreeFileSystem(str(self._root), arrow_fs.LocalFileSystem())

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError if the file does not exist."""
        return (self._root / path).read_bytes()

    def put(self, path: str, body: bytes) -> None:
        """Write a file, replacing any existing file. Readers see either the complete old file or the
        complete new file.
        """
        target = self._target(path)
        self._write_spool_file(body).replace(target)
        _sync(target.parent)

    def create(self, path: str, body: bytes) -> bool:
        """Write a file unless it exists. Return True if it was written."""
        target = self._target(path)
        spool_path = self._write_spool_file(body)
        try:
            os.link(spool_path, target)
        except FileExistsError:
            return False
        finally:
            spool_path.unlink(missing_ok=True)
        _sync(target.parent)
        return True

    def list_paths(self, folder: str) -> list[str]:
        """Return the sorted paths of all files below a folder. The result is empty if the folder does not exist."""
        files = [
            (Path(parent) / name).relative_to(self._root).as_posix()
            for parent, _, names in os.walk(self._root / folder)
            for name in names
        ]
        return sorted(files)

    def remove(self, path: str) -> None:
        """Delete a file. Do nothing if the file does not exist."""
        (self._root / path).unlink(missing_ok=True)

    def sweep(self, older_than: float) -> int:
        """Delete unfinished files that were last written before `older_than` (in Unix seconds). Return the number of
        deleted files.
        """
        deleted = 0
        for path in (self._root / _SPOOL).iterdir():
            try:
                if path.stat().st_mtime < older_than:
                    path.unlink()
                    deleted += 1
            except FileNotFoundError:  # its writer has just finished and removed it
                continue
        return deleted

    def _target(self, path: str) -> Path:
        """Return the path of a file in the filesystem. If the folder of the file does not exist, it is created and
        synced to disk.
        """
        target = self._root / path
        _make_folder(target.parent)
        if target.parent not in self._synced_folders:
            # Existing folders are also synced, because another writer may have just created them.
            for folder in target.parents[1 : len(target.relative_to(self._root).parts)]:
                _sync(folder)
            self._synced_folders.add(target.parent)
        return target

    def _write_spool_file(self, body: bytes) -> Path:
        """Write and sync a temporary file on the lake's filesystem, and return its path.

        The caller can then atomically move the file or link to it.
        """
        path = self._root / _SPOOL / uuid.uuid4().hex
        with path.open("xb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        return path


class Bucket:
    """Storage of a data lake in a bucket of Amazon S3 or an S3-compatible service that supports conditional writes."""

    is_native = False

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._root = url.removeprefix("s3://").strip("/")
        if not self._root:
            raise LakeError(f"{url}: the URL contains no bucket name")
        try:
            import fsspec  # noqa: PLC0415
            import s3fs  # noqa: F401, PLC0415 - an extra, which a lake in a folder does not need
        except ModuleNotFoundError as error:
            raise LakeError(f"{url}: a lake on S3 requires s3fs; pip install 'keyplan[s3]'") from error
        # Listings are not cached, because the newest version is found by listing.
        self._fs = fsspec.filesystem("s3", **{**options, "use_listings_cache": False})
        handler = arrow_fs.FSSpecHandler(self._fs)
        self.arrow = arrow_fs.SubTreeFileSystem(self._root, arrow_fs.PyFileSystem(handler))

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError if the file does not exist."""
        body: bytes = self._fs.cat_file(f"{self._root}/{path}")
        return body

    def put(self, path: str, body: bytes) -> None:
        """Write a file, replacing any existing file. Readers see either the complete old file or the
        complete new file.
        """
        self._fs.pipe_file(f"{self._root}/{path}", body)

    def create(self, path: str, body: bytes) -> bool:
        """Write a file unless it exists. Return True if it was written."""
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
        raise LakeBusyError(f"{path} was created concurrently {_CONFLICTS} times; nothing was changed")

    def list_paths(self, folder: str) -> list[str]:
        """Return the sorted paths of all files below a folder. The result is empty if the folder does not exist."""
        return sorted(path.removeprefix(f"{self._root}/") for path in self._fs.find(f"{self._root}/{folder}"))

    def remove(self, path: str) -> None:
        """Delete a file. Do nothing if the file does not exist."""
        try:
            self._fs.rm_file(f"{self._root}/{path}")
        except FileNotFoundError:
            return

    def sweep(self, older_than: float) -> int:
        """Do nothing, because unfinished objects are never visible on S3."""
        del older_than
        return 0


def _make_folder(folder: Path) -> None:
    """Create a folder and its missing parent folders. All created folders are synced to disk."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _is_conflict(error: OSError) -> bool:
    """Return True if S3 reports a concurrent request for the same object. The request must then be repeated.

    Source: API reference, "PutObject", If-None-Match: "On a 409 failure you should retry the upload."
    """
    response: Mapping[str, Any] = getattr(error.__cause__, "response", None) or {}
    return bool(response.get("Error", {}).get("Code") == "ConditionalRequestConflict")


def _sync(folder: Path) -> None:
    """Sync a folder to disk, so that the names of its files survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
