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

Heartbeat = Callable[[], None]


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
        line["NewImage"] = encoding.WIRE.from_body(new)
    if old is not None:
        line["OldImage"] = encoding.WIRE.from_body(old)
    return orjson.dumps(line) + b"\n"


@dataclass
class ExportTotals:
    """The totals of an export: the number of items and the billed bytes, and a manifest line for each data file."""

    items: int = 0
    size: int = 0
    manifest: list[bytes] = field(default_factory=list)


def write_data(
    destination: ExportFolder, export_id: str, partitions: int, lines: Iterable[Line], heartbeat: Heartbeat
) -> ExportTotals:
    """Write all data files of an export and return their totals. Raises BucketError if a file cannot be written.

    `lines` must be sorted by key. `heartbeat` is called repeatedly and can raise an exception to stop the export.
    """
    files = _DataFiles(destination, export_id, heartbeat)
    next_partition = 0
    for partition, partition_lines in groupby(lines, lambda line: _partition(line[0], partitions)):
        for empty in range(next_partition, partition):
            files.write(empty, iter(()))
        files.write(partition, partition_lines)
        next_partition = partition + 1
    for empty in range(next_partition, partitions):
        files.write(empty, iter(()))
    return files.totals


def _partition(key: bytes, partitions: int) -> int:
    """Return the number of the partition that contains a key. Each partition has an equal share of the hash range."""
    return keybytes.hash_of(key) * partitions // keybytes.HASH_SPACE


class _DataFiles:
    """Writes the data files of one export."""

    def __init__(self, destination: ExportFolder, export_id: str, heartbeat: Heartbeat) -> None:
        self._destination = destination
        self._export_id = export_id
        self._heartbeat = heartbeat
        self.totals = ExportTotals()

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
        self._heartbeat()
        destination, totals = self._destination, self.totals
        key = f"{destination.data}/{name}"
        items = 0
        with destination.buckets.writing(destination.bucket, key, destination.headers) as file:
            compressed = GzipWriter(file)
            while line is not None and compressed.uncompressed_bytes < FILE_BYTES:
                items += 1
                totals.size += line[1]
                if compressed.add(line[2]):
                    self._heartbeat()
                line = next(lines, None)
            compressed.finish()
        totals.items += items
        manifest_entry = {
            "itemCount": items,
            "md5Checksum": compressed.md5,
            "etag": destination.buckets.etag(destination.bucket, key),
            "dataFileS3Key": key,
        }
        totals.manifest.append(orjson.dumps(manifest_entry) + b"\n")
        return line


class GzipWriter:
    """Compresses lines with gzip and writes them to a file in blocks. `uncompressed_bytes` is the number of bytes that
    have been added, before compression.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._zlib = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._buffer: list[bytes] = []
        self._buffered = 0
        self.uncompressed_bytes = 0

    def add(self, line: bytes) -> bool:
        """Add a line to the compressed file. Return True if a block was written to the file as a result."""
        self._buffer.append(line)
        self._buffered += len(line)
        self.uncompressed_bytes += len(line)
        if self._buffered < _BUFFER_BYTES:
            return False
        self._write(self._zlib.compress(b"".join(self._buffer)))
        self._buffer.clear()
        self._buffered = 0
        return True

    def finish(self) -> None:
        """Write the buffered data and the end of the gzip stream."""
        self._write(self._zlib.compress(b"".join(self._buffer)) + self._zlib.flush())

    def _write(self, content: bytes) -> None:
        self._md5.update(content)
        self._file.write(content)

    @property
    def md5(self) -> str:
        """The MD5 of the compressed file, in base64."""
        return b64encode(self._md5.digest()).decode()


def write_manifests(destination: ExportFolder, summary: dict[str, Any], totals: ExportTotals) -> str:
    """Write both manifests and their checksum files, and return the object key of the summary manifest."""
    files = b"".join(totals.manifest)
    summary = {**summary, "manifestFilesS3Key": f"{destination.folder}/manifest-files.json"}
    for name, content in (("manifest-files", files), ("manifest-summary", orjson.dumps(_sort_members(summary)))):
        checksum = b64encode(hashlib.md5(content, usedforsecurity=False).digest())
        destination.put(f"{name}.json", content)
        destination.put(f"{name}.md5", checksum)
    return f"{destination.folder}/manifest-summary.json"


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


def _sort_members(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: summary[name] for name in _SUMMARY if name in summary}


def timestamp(at_s: float) -> str:
    """Format a timestamp for manifests, in UTC with a precision of milliseconds."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
