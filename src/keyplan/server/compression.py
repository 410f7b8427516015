"""Functions that compress responses, and decompress requests up to a size limit, with gzip or deflate.

The compression format of a response is selected in the same way as by DynamoDB. DynamoDB parses quality values
leniently: invalid values and values above 1 are treated as 1, and `q` followed by a space is invalid. Source:
ScyllaDB's test/alternator/test_compressed_response.py, which also runs against AWS.
"""

from __future__ import annotations

import math
import zlib
from functools import lru_cache

THRESHOLD_BYTES = 4096  # smaller responses are sent uncompressed
_GZIP_MAGIC = b"\x1f\x8b"  # the first bytes of a gzip body
_GZIP_MEMBERS = 1000  # a gzip body may have several members; more than this is an attack
_CHUNK_BYTES = 64 * 1024
_LEVEL = 1  # speed matters more than size, because a client waits
_CODINGS = (b"gzip", b"deflate")
_WINDOW = {b"gzip": 31, b"deflate": 15}  # zlib's wbits: gzip or zlib wrapping


class BadEncodingError(Exception):
    """Raised if the body does not match its Content-Encoding header, or if the encoding is unknown."""


class TooLargeError(Exception):
    """Raised if the decompressed body exceeds the limit."""


def compress(body: bytes, coding: bytes) -> bytes:
    """Compress the body in the format `coding`, which is gzip or deflate."""
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW[coding])
    return compressor.compress(body) + compressor.flush()


@lru_cache(maxsize=256)
def negotiate(accept: bytes) -> bytes | None:
    """Return the compression format that an Accept-Encoding header requests: gzip, deflate, or None for no compression.

    The format with the highest quality is used. If several formats have the same quality, the first one is used. `*`
    matches all formats that are not listed. `identity` is ignored regardless of its quality, as in DynamoDB.
    """
    qualities: list[tuple[bytes, float]] = []
    default_quality = 0.0
    for coding_text in accept.lower().split(b","):
        name, _, parameters = coding_text.partition(b";")
        name = name.strip()
        if name == b"*":
            default_quality = max(default_quality, _quality(parameters))
        elif name in _WINDOW:
            qualities.append((name, _quality(parameters)))
    names = {name for name, _ in qualities}
    qualities.extend((name, default_quality) for name in _CODINGS if name not in names)
    best = max(qualities, key=lambda pair: pair[1])
    return best[0] if best[1] > 0 else None


def _quality(parameters: bytes) -> float:
    """Return the quality value of a format in an Accept-Encoding header, between 0 and 1.

    `parameters` is the text after the format's name. Only the parameter `q` is valid. With any other parameter, the
    quality is 0, so the format is not used.
    """
    name, _, value = parameters.lstrip(b"; \t").partition(b";")[0].partition(b"=")
    if name.strip() not in {b"q", b""}:
        return 0.0
    if name.lstrip() != b"q":
        return 1.0
    try:
        quality = float(value.strip() or b"1")
    except ValueError:
        return 1.0
    return 1.0 if math.isnan(quality) else min(max(quality, 0.0), 1.0)


def inflate(body: bytes, encoding: bytes, limit_bytes: int) -> bytes:
    """Decompress a body according to its Content-Encoding header.

    Raises BadEncodingError if the body is malformed, and TooLargeError if the decompressed body exceeds `limit_bytes`.
    """
    coding = encoding.strip().lower()
    if coding in (b"", b"identity"):
        return body
    if coding not in _WINDOW:
        raise BadEncodingError(f"unknown content encoding {coding!r}")
    try:
        return _inflate(body, coding, limit_bytes)
    except zlib.error as error:
        raise BadEncodingError(str(error)) from error


def _inflate(body: bytes, coding: bytes, limit_bytes: int) -> bytes:
    """Decompress all members of a body. A gzip body can have several members, but a deflate body has only one.

    Bytes after the last valid gzip member are ignored, as in DynamoDB.
    """
    outputs: list[bytes] = []
    size = position = members = 0
    while position < len(body):
        if members and coding == b"gzip" and not body.startswith(_GZIP_MAGIC, position):
            break
        members += 1
        if members > _GZIP_MEMBERS or (members > 1 and coding == b"deflate"):
            raise BadEncodingError("data after the end of the compressed body")
        stream = zlib.decompressobj(_WINDOW[coding])
        while not stream.eof:
            chunk = body[position : position + _CHUNK_BYTES]
            if not chunk:
                raise BadEncodingError("the compressed body ends early")
            output = stream.decompress(chunk, limit_bytes - size + 1)
            size += len(output)
            if size > limit_bytes:
                raise TooLargeError
            outputs.append(output)
            position += len(chunk) - len(stream.unconsumed_tail) - len(stream.unused_data)
    if not members:
        raise BadEncodingError("the compressed body is empty")
    return b"".join(outputs)
