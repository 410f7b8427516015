"""Buckets, which store the files of exports and imports.

By default, a bucket is a folder: with `buckets="data/buckets"`, `s3://lake/2026/items.json` is the file
`data/buckets/lake/2026/items.json`. With `buckets="s3://"`, the buckets are in Amazon S3 or an S3-compatible service.
Endpoint, Region and credentials come from the usual AWS settings, such as `AWS_ENDPOINT_URL_S3`, or from the options of
`S3Buckets`, which are passed to s3fs.

A file is written under a temporary name and moved into place when it is complete, so that readers never see a partial
file.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Protocol, cast

from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.shapes.wire import encodable
from keyplan.engine.transfer.errors import TransferError
from keyplan.errors import ValidationError

NO_SUCH_BUCKET = "S3NoSuchBucket"
ACCESS_DENIED = "S3AccessDenied"
OTHER = "S3Error"

_S3 = "s3://"
_TEMPORARY_PREFIX = ".keyplan-"
_CHUNK_BYTES = 1 << 20


class BucketError(TransferError):
    """Raised if a bucket or an object in it cannot be accessed."""


class Buckets(Protocol):
    """The interface for access to buckets by name, and to the objects in a bucket by key."""

    def check_key(self, key: str) -> None:
        """Raise ValidationError if the key or key prefix is not supported."""

    def keys(self, bucket: str, prefix: str) -> Iterator[str]:
        """Yield the keys of all non-empty objects whose key starts with the prefix, sorted by their UTF-8 bytes.

        Raises BucketError if the bucket cannot be read.
        """

    def reading(self, bucket: str, key: str) -> IO[bytes]:
        """Open an object for reading. Raises OSError if this fails."""

    def writing(self, bucket: str, key: str, headers: dict[str, str]) -> AbstractContextManager[BinaryIO]:
        """Return a context manager that yields a file to write. When the block ends without an error, the file becomes
        the object with this key.

        `headers` are S3 headers for the object. Raises BucketError if the object cannot be written.
        """

    def etag(self, bucket: str, key: str) -> str:
        """Return the ETag of an object. Raises BucketError if this fails."""


def open_buckets(location: str | os.PathLike[str] | Buckets) -> Buckets:
    """Return a `Buckets` object for the engine option `buckets`: a folder, "s3://", or a `Buckets` object.

    Raises ValueError if the folder does not exist, and ImportError if the S3 packages are missing.
    """
    if not isinstance(location, str | os.PathLike):
        return location
    path = os.fspath(location)
    if path == _S3:
        return S3Buckets()
    if path.startswith(_S3):
        raise ValueError(f"buckets={path!r}: pass {_S3!r} for all buckets in S3, or a folder with buckets")
    if not path or not Path(path).is_dir():
        raise ValueError(f"buckets={path!r}: the folder does not exist")
    return FolderBuckets(path)


class FolderBuckets:
    """A folder whose subfolders are buckets. Keys cannot refer to files outside the folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder).absolute()

    def check_key(self, key: str) -> None:
        """Raise ValidationError unless the key is a relative path that consists of ordinary file names."""
        parts = key.split("/")
        if any(part in {"", ".", ".."} for part in parts[:-1]) or parts[-1] in {".", ".."} or _is_unportable(key):
            raise ValidationError(messages.outside_buckets(key))

    def keys(self, bucket: str, prefix: str) -> Iterator[str]:
        """Yield the keys of all non-empty files whose key starts with the prefix, sorted by their UTF-8 bytes."""
        base = self._bucket(bucket)
        start = self._path(bucket, prefix.rpartition("/")[0])
        names = []
        for folder, folders, files in os.walk(start, onerror=_raise_unless_missing, followlinks=False):
            folders[:] = [name for name in folders if encodable(name) and not (Path(folder) / name).is_symlink()]
            for name in files:
                path = Path(folder) / name
                key = path.relative_to(base).as_posix()
                if key.startswith(prefix) and _is_object(path):
                    names.append(key)
        yield from sorted(names)

    def reading(self, bucket: str, key: str) -> IO[bytes]:
        """Open the file that the key refers to."""
        return self._path(bucket, key).open("rb")

    @contextmanager
    def writing(self, bucket: str, key: str, headers: dict[str, str]) -> Iterator[BinaryIO]:  # noqa: ARG002 - for S3
        """Yield a temporary file. When the block ends without an error, the file becomes the object with this key.

        The temporary file is created in the folder of the object, so that moving it is atomic.
        """
        self._bucket(bucket)
        path = self._path(bucket, key)
        temporary = path.with_name(f"{_TEMPORARY_PREFIX}{path.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with temporary.open("wb") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            raise _bucket_error(error) from error

    def etag(self, bucket: str, key: str) -> str:
        """Return the ETag that S3 would assign to the object after a multipart upload with a single part.

        The ETag is the MD5 of the part's MD5, followed by "-1".
        """
        digest = hashlib.md5(usedforsecurity=False)
        try:
            with self.reading(bucket, key) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
        except OSError as error:
            raise _bucket_error(error) from error
        return f"{hashlib.md5(digest.digest(), usedforsecurity=False).hexdigest()}-1"

    def _bucket(self, bucket: str) -> Path:
        path = self._path(bucket, "")
        if not path.is_dir():
            raise BucketError(NO_SUCH_BUCKET, f"{messages.NO_BUCKET}: the folder {path} does not exist")
        return path

    def _path(self, bucket: str, key: str) -> Path:
        """Return the file path of a key. Raises BucketError if a part of the path is a symbolic link."""
        path = self._folder
        for part in (bucket, *key.split("/")) if key else (bucket,):
            path /= part
            try:
                is_link = path.is_symlink()
            except OSError as error:  # too long for a file name
                raise _bucket_error(error) from error
            if is_link:
                raise BucketError(ACCESS_DENIED, f"{path} is a symbolic link, and buckets do not follow links")
        return path


class S3Buckets:
    """Buckets in Amazon S3 or an S3-compatible service. `options` are passed to `s3fs.S3FileSystem`."""

    def __init__(self, **options: Any) -> None:
        try:
            from s3fs import S3FileSystem  # noqa: PLC0415 - an extra, and slow to load
        except ModuleNotFoundError as error:
            raise ImportError(messages.extra_missing("lake")) from error
        self._files = S3FileSystem(**options, use_listings_cache=False, skip_instance_cache=True)

    def check_key(self, key: str) -> None:
        """Accept any key, as S3 does."""

    def keys(self, bucket: str, prefix: str) -> Iterator[str]:
        """Yield the keys of all non-empty objects whose key starts with the prefix, sorted by their UTF-8 bytes."""
        continuation: dict[str, str] = {}
        while True:
            try:
                page = self._files.call_s3("list_objects_v2", Bucket=bucket, Prefix=prefix, **continuation)
            except OSError as error:
                raise _bucket_error(error) from error
            yield from (content["Key"] for content in page.get("Contents", ()) if content["Size"])
            if not page.get("IsTruncated"):
                return
            continuation = {"ContinuationToken": page["NextContinuationToken"]}

    def reading(self, bucket: str, key: str) -> IO[bytes]:
        """Open the object for reading in blocks."""
        return cast("IO[bytes]", self._files.open(f"{bucket}/{key}", "rb", cache_type="readahead"))

    @contextmanager
    def writing(self, bucket: str, key: str, headers: dict[str, str]) -> Iterator[BinaryIO]:
        """Yield a local file. When the block ends without an error, the file is uploaded as the object with
        this key.
        """
        with tempfile.TemporaryDirectory(prefix="keyplan-") as folder:
            path = Path(folder) / "object"
            try:
                with path.open("wb") as file:
                    yield file
                self._files.put_file(os.fspath(path), f"{bucket}/{key}", **headers)
            except OSError as error:
                raise _bucket_error(error) from error

    def etag(self, bucket: str, key: str) -> str:
        """Return the ETag that S3 assigned to the object."""
        try:
            tag: str = self._files.call_s3("head_object", Bucket=bucket, Key=key)["ETag"]
        except OSError as error:
            raise _bucket_error(error) from error
        return tag.strip('"')


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        raise _bucket_error(error) from error


def _is_object(path: Path) -> bool:
    """Return True if the path is an object of a bucket: a regular, non-empty file whose name is valid UTF-8."""
    if not encodable(path.name):
        return False
    return (
        not path.name.startswith(_TEMPORARY_PREFIX)
        and not path.is_symlink()
        and path.is_file()
        and path.stat().st_size > 0
    )


def _is_unportable(key: str) -> bool:
    """Return True if the key contains characters that are not allowed in file names on some file systems."""
    return "\\" in key or "\x00" in key or (os.name == "nt" and ":" in key)


def _bucket_error(error: OSError) -> BucketError:
    """Convert a file or S3 error to the error that an export or import reports."""
    if isinstance(error, FileNotFoundError):
        text = str(error)
        return BucketError(NO_SUCH_BUCKET, text if messages.NO_BUCKET in text else f"{messages.NO_BUCKET} ({text})")
    if isinstance(error, PermissionError):
        return BucketError(ACCESS_DENIED, str(error))
    return BucketError(OTHER, str(error) or type(error).__name__)
