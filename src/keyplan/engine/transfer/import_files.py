"""Readers for the files of an import, which yield each item of a file, or an error for an invalid item.

If a line cannot be parsed, the rest of its file is skipped. If an item is invalid for the table, only that item is
skipped. In both cases, one error is counted.

    DYNAMODB_JSON  lines with {"Item": {...}}; empty lines are ignored, and a line can contain several items
    CSV            an optional header and rows; key attributes have the types defined by the table, and all
                   other attributes are strings

Sources: developer guide, "Amazon S3 import formats for DynamoDB" and "Import format quotas and validation"; the
handling of malformed lines was observed in DynamoDB in 2026.
"""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import IO, Any

import orjson

from keyplan import limits
from keyplan.dynamodb import shapes
from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.shapes.model import ITEM, Structure
from keyplan.dynamodb.shapes.wire import canonical_base64
from keyplan.errors import SerializationError, ValidationError

LINE_BYTES = 16 * limits.MIB
"""The maximum size in bytes of an item's text. In CSV, this text can span several lines."""

_BLANKS = re.compile(r"\s*")
_CHUNK_BYTES = 256 * 1024
_GZIP = 31  # zlib's code for a gzip header and trailer
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")

check_item: shapes.Check = shapes.compile(Structure("Import", {"Item": ITEM}, required=("Item",)))
"""A function that checks whether a decoded line has the structure {"Item": {...}}. The attribute values are not fully
validated.
"""


class MalformedError(Exception):
    """Raised if the rest of an imported file cannot be read, because the file is malformed."""


class RejectedItem(str):
    """An error message for one item of an imported file. Later items in the file may be valid."""

    __slots__ = ()


Entry = dict[str, Any] | RejectedItem
"""An item of an imported file in DynamoDB JSON, or the error message if the item is invalid."""


@dataclass(frozen=True)
class CsvOptions:
    """CSV options: the delimiter, the column names (None if the file has a header), and the types of key attributes."""

    delimiter: str = ","
    names: Sequence[str] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass
class ByteCount:
    """A mutable counter for the uncompressed bytes that have been read from a file, or for the bytes of a CSV row."""

    size: int = 0


def has_zstd() -> bool:
    """Return True if a Zstandard decoder is installed."""
    return _zstd() is not None


def _zstd() -> Any:
    for name in _ZSTD_MODULES:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    return None


def entries(file: IO[bytes], compression: str, csv_options: CsvOptions | None, count: ByteCount) -> Iterator[Entry]:
    """Yield each item of a file, or an error message if the item is invalid.

    `csv_options` contains the CSV options, or is None if the file is DynamoDB JSON. Raises MalformedError if the file
    is malformed, and OSError if it cannot be read.
    """
    chunks = _count_bytes(_READERS[compression](file), count)
    lines = _lines(chunks)
    return _json_items(lines) if csv_options is None else _csv_items(lines, csv_options)


def _read_plain(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk


def _read_gzip(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the decompressed content of a gzip file. The file can consist of several gzip members."""
    member = None
    pending = file.read(_CHUNK_BYTES)
    while pending:
        if member is None:
            member = zlib.decompressobj(_GZIP)
        try:
            content = member.decompress(pending, _CHUNK_BYTES)
        except zlib.error as error:
            raise MalformedError(messages.not_compressed("GZIP", str(error))) from error
        if content:
            yield content
        if member.eof:
            pending = member.unused_data.lstrip(b"\x00") or file.read(_CHUNK_BYTES)
            member = None
        else:
            pending = member.unconsumed_tail or file.read(_CHUNK_BYTES)
    if member is not None:
        raise MalformedError(messages.not_compressed("GZIP", "the file is truncated"))


def _read_zstd(file: IO[bytes]) -> Iterator[bytes]:
    zstd = _zstd()
    try:
        with zstd.ZstdFile(file, "rb") as content:
            while chunk := content.read(_CHUNK_BYTES):
                yield chunk
    except (zstd.ZstdError, EOFError) as error:
        raise MalformedError(messages.not_compressed("ZSTD", str(error))) from error


_READERS: dict[str, Callable[[IO[bytes]], Iterator[bytes]]] = {
    "NONE": _read_plain,
    "GZIP": _read_gzip,
    "ZSTD": _read_zstd,
}


def _count_bytes(chunks: Iterator[bytes], count: ByteCount) -> Iterator[bytes]:
    for chunk in chunks:
        count.size += len(chunk)
        yield chunk


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines with their line ends. Raises MalformedError if a line exceeds the maximum size of an item."""
    lines: list[bytes] = []
    length = 0
    for chunk in chunks:
        *complete_lines, rest = chunk.split(b"\n")
        for line in complete_lines:
            lines.append(line + b"\n")
            yield b"".join(lines)
            lines.clear()
            length = 0
        lines.append(rest)
        length += len(rest)
        if length > LINE_BYTES:
            raise MalformedError(messages.LINE_TOO_LONG)
    if length:
        yield b"".join(lines)


def _json_items(lines: Iterator[bytes]) -> Iterator[Entry]:
    for line in lines:
        if not line.strip():
            continue
        try:
            content = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            yield from _parse_objects(line, error)
        else:
            yield _item(content)


def _parse_objects(line: bytes, error: orjson.JSONDecodeError) -> Iterator[Entry]:
    """Yield the items of a line that contains several JSON objects, which DynamoDB also accepts.

    Raises MalformedError with the message of `error` if the line is not valid.
    """
    decoder = json.JSONDecoder()
    try:
        text = line.decode().strip()
        position = 0
        while position < len(text):
            end = decoder.raw_decode(text, position)[1]
            yield _item(orjson.loads(text[position:end]))
            position = _skip_blanks(text, end)
    except (ValueError, RecursionError) as cause:
        raise MalformedError(messages.not_json(str(error))) from cause


def _skip_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return position if blanks is None else blanks.end()


def _item(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or not isinstance(content.get("Item"), dict):
        raise MalformedError(messages.NOT_AN_ITEM)
    try:
        check_item(content, True)
    except (SerializationError, ValidationError) as error:
        raise MalformedError(error.message) from error
    item: dict[str, Any] = content["Item"]
    return item


def _csv_items(lines: Iterator[bytes], options: CsvOptions) -> Iterator[Entry]:
    # The csv module's field limit applies to the whole process, so the limit is only raised and never lowered.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_BYTES))
    length = ByteCount()
    rows = csv.reader(_text(lines, length), delimiter=options.delimiter, strict=True)
    try:
        names = options.names if options.names is not None else next(rows, None)
        if names is None:
            return
        if len(set(names)) < len(names) or "" in names:
            raise MalformedError(messages.HEADER_MISSING)
        for row in rows:
            length.size = 0
            if row:
                yield _row(row, names, options.kinds)
    except csv.Error as error:
        raise MalformedError(messages.not_csv(str(error))) from error


def _text(lines: Iterator[bytes], length: ByteCount) -> Iterator[str]:
    """Decode the lines of a CSV file from UTF-8.

    `length` counts the bytes of the current CSV row. Raises MalformedError if they exceed the maximum size of an item,
    or if a line is not valid UTF-8.
    """
    encoding = "utf-8-sig"  # the first line may start with a byte order mark
    for line in lines:
        length.size += len(line)
        if length.size > LINE_BYTES:
            raise MalformedError(messages.LINE_TOO_LONG)
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            raise MalformedError(messages.NOT_UTF8) from error
        encoding = "utf-8"


def _row(row: list[str], names: Sequence[str], kinds: Mapping[str, str]) -> Entry:
    if len(row) != len(names):
        return RejectedItem(messages.columns_differ(len(row), len(names)))
    item = {name: {kinds.get(name, "S"): value} for name, value in zip(names, row, strict=True)}
    for name, value in item.items():
        if "B" in value and not canonical_base64(value["B"]):
            return RejectedItem(f"{messages.NOT_BASE64}: {name}")
    return item
