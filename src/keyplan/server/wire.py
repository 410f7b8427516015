"""HTTP requests and responses of the servers, and the encoding of response headers."""

from __future__ import annotations

import random
import time
import zlib
from dataclasses import dataclass

JSON_1_0 = b"application/x-amz-json-1.0"
JSON = b"application/json"
TEXT = b"text/plain"
XML = b"application/xml"

_IDS_PER_BATCH = 128
_ID_LENGTH = 52
_ALPHABET = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TO_ID = bytes(_ALPHABET[value % len(_ALPHABET)] for value in range(256))

_REASONS = {
    200: b"200 OK",
    400: b"400 Bad Request",
    403: b"403 Forbidden",
    404: b"404 Not Found",
    408: b"408 Request Timeout",
    413: b"413 Request Entity Too Large",
    500: b"500 Internal Server Error",
    503: b"503 Service Unavailable",
}

_HEAD = (
    b"HTTP/1.1 %b\r\n"
    b"Server: Server\r\n"
    b"Date: %b\r\n"
    b"Content-Type: %b\r\n"
    b"%b\r\n"
    b"Connection: %b\r\n"
    b"x-amzn-RequestId: %b\r\n"
    b"x-amz-crc32: %d\r\n"
    b"%b\r\n"
)

_DAYS = (b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun")
_MONTHS = (
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun",
    b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
)  # fmt: skip


class Request:
    """An HTTP request.

    `target` is the path and query as sent. The names in `headers` are in lowercase. If a header is sent more than once,
    its values are joined with commas. `mount` is the path at which the protocol is mounted.
    """

    __slots__ = ("body", "headers", "method", "mount", "target")

    def __init__(
        self, method: bytes, target: bytes, headers: dict[bytes, bytes], body: bytes, mount: bytes = b""
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.mount = mount

    @property
    def path(self) -> bytes:
        """Return the path of the request, without the mount path, query, scheme or host (RFC 9112, 3.2.2)."""
        path = self.target.partition(b"?")[0]
        if not path.startswith(b"/") and b"://" in path:
            path = b"".join(path.partition(b"://")[2].partition(b"/")[1:])
        return path.removeprefix(self.mount)


@dataclass(slots=True)
class Response:
    """An HTTP response. `extra` contains headers in addition to the headers that every response has."""

    status: int
    body: bytes
    content_type: bytes
    request_id: bytes
    extra: tuple[tuple[bytes, bytes], ...] = ()
    unsized: bool = False  # sent without Content-Length, as the service sends its 413

    @property
    def crc32(self) -> int:
        """Return the CRC-32 checksum of the body as sent, which SDKs verify."""
        return zlib.crc32(self.body)

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return all headers of the response except Connection, Date and Server.

        Some servers add these three headers themselves.
        """
        pairs = [(b"content-type", self.content_type)]
        if not self.unsized:
            pairs.append((b"content-length", b"%d" % len(self.body)))
        pairs.append((b"x-amzn-requestid", self.request_id))
        pairs.append((b"x-amz-crc32", b"%d" % self.crc32))
        pairs.extend(self.extra)
        return pairs


class RequestIds:
    """A pool of request IDs in DynamoDB's format of 52 characters from A-Z and 0-9. The IDs are generated in bulk."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._pool: list[bytes] = []

    def next(self) -> bytes:
        """Return an unused ID. Threads can share the pool."""
        try:
            return self._pool.pop()
        except IndexError:
            characters = self._source.randbytes(_ID_LENGTH * _IDS_PER_BATCH).translate(_TO_ID)
            starts = range(_ID_LENGTH, len(characters), _ID_LENGTH)
            self._pool.extend(characters[start : start + _ID_LENGTH] for start in starts)
            return characters[:_ID_LENGTH]


def head(response: Response, date: bytes, keep_alive: bool) -> bytes:
    """Return the status line and headers of an HTTP/1.1 response, including the empty line after them."""
    length = b"Transfer-Encoding: chunked" if response.unsized else b"Content-Length: %d" % len(response.body)
    extra = b"".join([b"%b: %b\r\n" % pair for pair in response.extra]) if response.extra else b""
    return _HEAD % (
        _REASONS[response.status],
        date,
        response.content_type,
        length,
        b"keep-alive" if keep_alive else b"close",
        response.request_id,
        zlib.crc32(response.body),
        extra,
    )


def http_date(epoch_s: float) -> bytes:
    """Format a timestamp for the Date header (RFC 9110). The result does not depend on the locale."""
    t = time.gmtime(epoch_s)
    return b"%b, %02d %b %04d %02d:%02d:%02d GMT" % (
        _DAYS[t.tm_wday],
        t.tm_mday,
        _MONTHS[t.tm_mon - 1],
        t.tm_year,
        t.tm_hour,
        t.tm_min,
        t.tm_sec,
    )
