"""The files of an export, in DynamoDB's format.

    PREFIX/AWSDynamoDB/EXPORT/_started               empty; shows that the bucket is writable and the export started
    PREFIX/AWSDynamoDB/EXPORT/data/NAME.json.gz      a full export: lines {"Item": {...}}
    PREFIX/AWSDynamoDB/data/NAME.json.gz             an incremental export: lines with keys and images
    PREFIX/AWSDynamoDB/EXPORT/manifest-files.json    a line for each data file
    PREFIX/AWSDynamoDB/EXPORT/manifest-summary.json  a summary of the export

A second file next to each manifest contains the MD5 of the manifest.

For each partition that the table would have in DynamoDB, an export has at least one data file, which may be empty. A
new file starts when the current file would become too large. File names depend only on the export, so an export that
restarts after a crash overwrites its earlier files.

Sources: developer guide, "DynamoDB table export output format". In two details, the format follows files of DynamoDB,
as reported by users, instead of the guide: the names of checksum files end with `.md5` (instead of `.checksum`), and
metadata is written as `{"N": "..."}`.
"""

from __future__ import annotations

import hashlib
import zlib
from base64 import b32encode, b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, BinaryIO

import orjson

from keyplan.dynamodb.values import encoding, keybytes
from keyplan.engine.transfer.buckets import Buckets

FILE_BYTES = 128 * 1024 * 1024
"""The uncompressed size of a data file, in bytes, at which the next data file starts."""

_GZIP = 31  # zlib's code for a gzip header and trailer
_LEVEL = 6
_BUFFER_BYTES = 64 * 1024
_NAME_BYTES = 16

Line = tuple[bytes, int, bytes]
"""A line of a data file: the item's key, the item's size according to DynamoDB's rules, and the text of the line."""

Beat = Callable[[], None]


@dataclass
class ExportFolder:
    """The destination of an export: the bucket, the folder of the export, and the folder of its data files."""

    buckets: Buckets
    bucket: str
    folder: str
    data: str
    headers: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, content: bytes) -> None:
        """Write a small file with this name to the folder of the export."""
        with self.buckets.writing(self.bucket, f"{self.folder}/{name}", self.headers) as file:
            file.write(content)


def folders(prefix: str | None, export_id: str, *, incremental: bool) -> tuple[str, str]:
    """Return the path of an export's folder and the path of the folder with its data files."""
    root = f"{prefix.removesuffix('/')}/AWSDynamoDB" if prefix else "AWSDynamoDB"
    folder = f"{root}/{export_id}"
    return folder, f"{root}/data" if incremental else f"{folder}/data"


def headers(algorithm: str | None, key: str | None) -> dict[str, str]:
    """Return the S3 headers for encryption with this algorithm and KMS key. None selects the default
    algorithm or key.
    """
    sse = {} if algorithm is None else {"ServerSideEncryption": "aws:kms" if algorithm == "KMS" else algorithm}
    return sse if key is None else {**sse, "SSEKMSKeyId": key}


def item_line(body: bytes) -> bytes:
    """Return the line for an item in a full export, given the item's stored body."""
    return b'{"Item":%b}\n' % body.lstrip()


def change_line(keys: dict[str, Any], written_at_s: float, new: bytes | None, old: bytes | None) -> bytes:
    """Return the line for a changed item in an incremental export. `new` and `old` are the item's images. An image that
    is None is omitted.
    """
    line: dict[str, Any] = {"Metadata": {"WriteTimestampMicros": {"N": str(round(written_at_s * 1e6))}}, "Keys": keys}
    if new is not None:
        line["NewImage"] = encoding.WIRE.stored(new)
    if old is not None:
        line["OldImage"] = encoding.WIRE.stored(old)
    return orjson.dumps(line) + b"\n"


@dataclass
class ExportTotals:
    """The totals of an export's data files: the item count and the billed bytes. It also contains a manifest line for
    each file.
    """

    items: int = 0
    size: int = 0
    manifest: list[bytes] = field(default_factory=list)


def write_data(place: ExportFolder, export_id: str, partitions: int, lines: Iterable[Line], beat: Beat) -> ExportTotals:
    """Write all data files of an export and return their totals. Raises BucketError if a file cannot be written.

    `lines` must be sorted by key. `beat` is called repeatedly and can raise an exception to stop the export.
    """
    files = _DataFiles(place, export_id, beat)
    following = 0
    for partition, members in groupby(lines, lambda line: _partition(line[0], partitions)):
        for empty in range(following, partition):
            files.write(empty, iter(()))
        files.write(partition, members)
        following = partition + 1
    for empty in range(following, partitions):
        files.write(empty, iter(()))
    return files.written


def _partition(key: bytes, partitions: int) -> int:
    """Return the number of the partition that contains a key. Each partition has an equal share of the hash range."""
    return keybytes.hash_of(key) * partitions // keybytes.HASH_SPACE


class _DataFiles:
    """A writer for the data files of one export."""

    def __init__(self, place: ExportFolder, export_id: str, beat: Beat) -> None:
        self._place = place
        self._export_id = export_id
        self._beat = beat
        self.written = ExportTotals()

    def write(self, partition: int, lines: Iterator[Line]) -> None:
        """Write the data files of an export for one partition. At least one file is written."""
        number = 0
        line = self._file(self._name(partition, number), next(lines, None), lines)
        while line is not None:
            number += 1
            line = self._file(self._name(partition, number), line, lines)

    def _name(self, partition: int, number: int) -> str:
        text = f"{self._export_id}/{partition}/{number}"
        digest = hashlib.blake2b(text.encode(), digest_size=_NAME_BYTES).digest()
        return f"{b32encode(digest).decode().rstrip('=').lower()}.json.gz"

    def _file(self, name: str, line: Line | None, lines: Iterator[Line]) -> Line | None:
        """Write one data file of an export, starting with `line`, until the file is full or all lines of the partition
        are written. Return the first line of the next file, or None if the partition has no more lines.
        """
        self._beat()
        place, written = self._place, self.written
        key = f"{place.data}/{name}"
        items = 0
        with place.buckets.writing(place.bucket, key, place.headers) as file:
            compressed = Compressed(file)
            while line is not None and compressed.taken < FILE_BYTES:
                items += 1
                written.size += line[1]
                if compressed.add(line[2]):
                    self._beat()
                line = next(lines, None)
            compressed.end()
        written.items += items
        described = {
            "itemCount": items,
            "md5Checksum": compressed.md5,
            "etag": place.buckets.etag(place.bucket, key),
            "dataFileS3Key": key,
        }
        written.manifest.append(orjson.dumps(described) + b"\n")
        return line


class Compressed:
    """A writer that compresses lines with gzip and writes them to a file in blocks. `taken` is the number of
    uncompressed bytes so far.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._zlib = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._buffer: list[bytes] = []
        self._buffered = 0
        self.taken = 0

    def add(self, line: bytes) -> bool:
        """Add a line to the compressed file. Return True if a block was written to the file as a result."""
        self._buffer.append(line)
        self._buffered += len(line)
        self.taken += len(line)
        if self._buffered < _BUFFER_BYTES:
            return False
        self._write(self._zlib.compress(b"".join(self._buffer)))
        self._buffer.clear()
        self._buffered = 0
        return True

    def end(self) -> None:
        """Write the buffered data and the end of the gzip stream."""
        self._write(self._zlib.compress(b"".join(self._buffer)) + self._zlib.flush())

    def _write(self, content: bytes) -> None:
        self._md5.update(content)
        self._file.write(content)

    @property
    def md5(self) -> str:
        """The MD5 of the compressed file, in base64."""
        return b64encode(self._md5.digest()).decode()


def write_manifests(place: ExportFolder, summary: dict[str, Any], written: ExportTotals) -> str:
    """Write both manifests and their checksum files, and return the object key of the summary manifest."""
    files = b"".join(written.manifest)
    summary = {**summary, "manifestFilesS3Key": f"{place.folder}/manifest-files.json"}
    for name, content in (("manifest-files", files), ("manifest-summary", orjson.dumps(_in_order(summary)))):
        checksum = b64encode(hashlib.md5(content, usedforsecurity=False).digest())
        place.put(f"{name}.json", content)
        place.put(f"{name}.md5", checksum)
    return f"{place.folder}/manifest-summary.json"


_SUMMARY = (
    "version",
    "exportArn",
    "startTime",
    "endTime",
    "tableArn",
    "tableId",
    "exportTime",
    "exportFromTime",
    "exportToTime",
    "s3Bucket",
    "s3Prefix",
    "s3SseAlgorithm",
    "s3SseKmsKeyId",
    "manifestFilesS3Key",
    "billedSizeBytes",
    "itemCount",
    "outputFormat",
    "outputView",
    "exportType",
)


def _in_order(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: summary[name] for name in _SUMMARY if name in summary}


def timestamp(at_s: float) -> str:
    """Format a timestamp for manifests, in UTC with a precision of milliseconds."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
