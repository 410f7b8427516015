"""One HTTP/1.1 connection: bytes to requests by httptools, answers to bytes, in order.

The parser calls back as it recognises parts; the connection gathers them, hands each complete
request to the protocol and puts what comes back on its lane (see `turns`). It reads on while
a few requests wait; it stops reading while many do, or while the client does not take its
answers. What is no HTTP, too long or too slow is answered once, then the connection closes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol, cast

import httptools

from keyplan.limits import REQUEST_BYTES, REQUEST_HEAD_BYTES
from keyplan.server.protocol import DynamoDBProtocol
from keyplan.server.turns import Turns, Work
from keyplan.server.wire import Answer, Request, head

HEAD_BYTES = REQUEST_HEAD_BYTES
DISCARD_BYTES = 4 * REQUEST_BYTES  # a body over the limit is read so far, to be answered politely
JOIN_BYTES = 64 * 1024  # bodies up to this size are copied behind their head, for one write
MOST_WORKS, FEW_WORKS = 64, 16  # requests in line at which reading stops and goes on
MOST_BYTES = REQUEST_BYTES  # of bodies in line: more is not parsed before its turn, and none is read
LINGER_S = 2.0  # between a refusal and the end, so that the client can read it

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_EMPTY_CHUNKS = b"0\r\n\r\n"
_IDLE, _HEAD, _BODY = range(3)


class _HeadTooLongError(Exception):
    """Raised inside the parser's callbacks to end the parsing."""


class _BodyTooLongError(Exception):
    """Raised inside the parser's callbacks to end the parsing."""


class _HostError(Exception):
    """Raised inside the parser's callbacks: a request has one Host, no more and no fewer (RFC 9112, 3.2)."""


class ConnectionOwner(Protocol):
    """The server that a connection belongs to."""

    protocol: DynamoDBProtocol
    loop: asyncio.AbstractEventLoop
    turns: Turns

    def date(self) -> bytes:
        """Return the value of the Date header."""

    def add(self, connection: HttpConnection) -> None:
        """Register a connection that was made."""

    def remove(self, connection: HttpConnection) -> None:
        """Forget a connection that was lost."""


class HttpConnection(asyncio.Protocol):
    """One client. Also the lane of its requests."""

    def __init__(self, server: ConnectionOwner) -> None:
        self._server = server
        self._turns = server.turns
        self._protocol = server.protocol
        self._transport: asyncio.Transport
        self._parser = httptools.HttpRequestParser(self)
        self._stage = _IDLE
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._head_bytes = 0
        self._body: bytes | bytearray = b""
        self._body_bytes = 0
        self._fed_bytes = 0
        self._begun = 0  # requests that began in the bytes that came last
        self._deaf = False  # nothing that comes is read any more
        self._owes_continue = False
        self._ways: deque[tuple[bool, bool, int]] = deque()  # of each request: keep alive, without body, its bytes
        self._waiting_bytes = 0  # of all these requests
        self._full = False  # many works wait: reading stopped
        self._linger: asyncio.TimerHandle | None = None
        self.since_s = 0.0  # loop time when the present stage began
        self.works: deque[Work] = deque()
        self.queued = False
        self.stalled = False
        self.draining = False

    # The transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = cast(asyncio.Transport, transport)
        self.since_s = self._server.loop.time()
        self._server.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        """The client is gone: what it still waited for is not run."""
        self.works.clear()
        self._deaf = True
        if self._linger is not None:
            self._linger.cancel()
        self._server.remove(self)

    def data_received(self, data: bytes) -> None:
        """Bytes came; requests complete with them are queued."""
        if self._deaf:
            return
        idle, self._begun = self._stage == _IDLE, 0
        try:
            self._feed(data)
        except httptools.HttpParserCallbackError as error:
            self._refuse_for(error.__context__)
        except httptools.HttpParserError:
            self._refuse(self._protocol.malformed(400))
        else:
            if self._stage != _IDLE and self._begun <= idle:  # else a part of the bytes is of earlier requests
                self._count_fed(len(data))
            if (len(self.works) > MOST_WORKS or self._waiting_bytes > MOST_BYTES) and not self._full:
                self._full = True
                self._transport.pause_reading()

    def _count_fed(self, more: int) -> None:
        """Bound a request that is not complete by all it sent: the parser itself gathers the parts
        of a long header or trailer without telling."""
        self._fed_bytes += more
        if self._stage == _HEAD and self._fed_bytes > HEAD_BYTES:
            self._refuse(self._protocol.malformed(400))
        elif self._fed_bytes > DISCARD_BYTES + HEAD_BYTES:
            self._refuse(self._protocol.too_large(self._headers))

    def eof_received(self) -> bool:
        """The client sends no more: answer what is complete, then close."""
        self._deaf = True
        self._stage = _IDLE
        if not self._ways:
            return False
        self.draining = True
        return True

    def pause_writing(self) -> None:
        """The client takes its answers too slowly: read and run nothing for it."""
        self.stalled = True
        self.since_s = self._server.loop.time()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """The client took its answers."""
        self.stalled = False
        self.since_s = self._server.loop.time()
        if self.works:
            self._turns.enqueue(self)
        self._read_on()

    def _read_on(self) -> None:
        """Resume reading unless something still forbids it."""
        if self._full and len(self.works) <= FEW_WORKS and self._waiting_bytes <= MOST_BYTES:
            self._full = False
        if not (self._full or self.stalled or self._transport.is_closing()):
            self._transport.resume_reading()

    # The parser's side

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._stage = _HEAD
        self._begun += 1
        self._target = b""
        self._headers = {}
        self._body = b""
        self._body_bytes = self._head_bytes = self._fed_bytes = 0
        self.since_s = self._server.loop.time()

    def on_url(self, url: bytes) -> None:
        """A part of the target."""
        self._target += url
        self._head_bytes += len(url)
        if self._head_bytes > HEAD_BYTES:
            raise _HeadTooLongError

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or one trailer after a chunked body (those are dropped)."""
        if self._stage == _BODY:
            return
        name = name.lower()
        headers = self._headers
        if name in headers:
            if name == b"host":
                raise _HostError
            value = headers[name] + b"," + value
        headers[name] = value
        self._head_bytes += len(name) + len(value) + 4  # colon, space and the end of the line
        if self._head_bytes > HEAD_BYTES:
            raise _HeadTooLongError

    def on_headers_complete(self) -> None:
        """The head is there; the body follows."""
        self._stage = _BODY
        headers = self._headers
        if b"host" not in headers and self._parser.get_http_version() == "1.1":
            raise _HostError
        if self._parser.should_upgrade():
            return
        if b"expect" in headers and headers[b"expect"].lower() == b"100-continue":
            self._continue()
        elif len(headers.get(b"content-length", b"")) >= 8 and self._declared() > DISCARD_BYTES:
            raise _BodyTooLongError

    def _continue(self) -> None:
        """The client asks before it sends the body. The word may not overtake earlier answers."""
        if self._declared() > REQUEST_BYTES:
            raise _BodyTooLongError
        if self._ways:
            self._owes_continue = True
        else:
            self._transport.write(_CONTINUE)

    def _declared(self) -> int:
        """The length the body is said to have."""
        declared = self._headers.get(b"content-length", b"0")
        return int(declared) if declared.isdigit() else 0

    def on_body(self, body: bytes) -> None:
        """A part of the body; one over the limit is dropped as it comes."""
        self._body_bytes += len(body)
        if self._body_bytes > REQUEST_BYTES:
            self._body = b""
            if self._body_bytes > DISCARD_BYTES:
                raise _BodyTooLongError
        elif not self._body:
            self._body = body
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += body

    def on_message_complete(self) -> None:
        """A request is complete: put it in line, parsed unless too much is there that waits already."""
        parser = self._parser
        if parser.should_upgrade():
            return  # it comes again, see _feed
        self._stage = _IDLE
        self._owes_continue = False
        headers = self._headers
        work: Work
        method = parser.get_method()
        held_bytes = 0
        if self._body_bytes > REQUEST_BYTES:
            work = self._protocol.too_large(headers)
        else:
            work = Request(method, self._target, headers, bytes(self._body))
            held_bytes = REQUEST_BYTES if b"content-encoding" in headers else self._body_bytes
            if self._waiting_bytes <= MOST_BYTES:
                work = self._protocol.read(work)
        self._body = b""
        self._waiting_bytes += held_bytes
        self._ways.append((parser.should_keep_alive(), method == b"HEAD", held_bytes))
        self.works.append(work)
        self._turns.enqueue(self)

    # Between them

    def _feed(self, data: bytes) -> None:
        """Give bytes to the parser. It stops at an offer of another protocol (Java's client makes
        one with every request) and takes what follows as that protocol's: decline by feeding the
        same request again without the offer."""
        while True:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = self._without_offer() + data[upgrade.args[0] :]
                self._parser = httptools.HttpRequestParser(self)
            else:
                return

    def _without_offer(self) -> bytes:
        method = self._parser.get_method()
        if method == b"CONNECT" or b"upgrade" not in self._headers:
            raise httptools.HttpParserError("tunnels are not offered")
        version = self._parser.get_http_version().encode()
        lines = [method + b" " + self._target + b" HTTP/" + version]
        for name, value in self._headers.items():
            if name == b"connection":
                lines.append(b"Connection: close" if b"close" in value.lower() else b"Connection: keep-alive")
            elif name != b"upgrade":
                lines.append(name + b": " + value)
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _refuse_for(self, cause: BaseException | None) -> None:
        """A callback ended the parsing: say why."""
        if isinstance(cause, _BodyTooLongError):
            self._refuse(self._protocol.too_large(self._headers))
        else:  # the service answers a head that is too long by 400 as well
            self._refuse(self._protocol.malformed(400))

    def _refuse(self, answer: Answer) -> None:
        """The last answer of this connection, after those before it."""
        self._deaf = True
        self._stage = _IDLE
        self._ways.append((False, False, 0))
        self.works.append(answer)
        self._turns.enqueue(self)

    def answered(self, answer: Answer) -> None:
        """Send the answer to the oldest request that has none."""
        transport = self._transport
        if transport.is_closing() or not self._ways:
            return
        keep_alive, bodiless, held_bytes = self._ways.popleft()
        self._waiting_bytes -= held_bytes
        last = not keep_alive or (self.draining and not self._ways and self._stage == _IDLE)
        opening = head(answer, self._server.date(), not last)
        body = b"" if bodiless else (_EMPTY_CHUNKS if answer.unsized else answer.body)
        if len(body) <= JOIN_BYTES:
            transport.write(opening + body)
        else:
            transport.writelines((opening, body))
        if last:
            self._finish()
        elif self._owes_continue and not self._ways:
            self._owes_continue = False
            transport.write(_CONTINUE)
        if self._full:
            self._read_on()
        self.since_s = self._server.loop.time()

    def _finish(self) -> None:
        """Everything is said. A client that may still be sending gets time to read it first."""
        self.works.clear()
        self._ways.clear()
        if self.draining or not self._deaf:
            self._transport.close()
        else:
            if self._transport.can_write_eof():
                self._transport.write_eof()
            self._linger = self._server.loop.call_later(LINGER_S, self._transport.abort)

    def drain(self) -> None:
        """The server stops: close when what is in flight is answered, at once if nothing is."""
        self.draining = True
        if self._stage == _IDLE and not self._ways:
            self._transport.close()

    def abort(self) -> None:
        """Close without another word."""
        self._transport.abort()

    def tick(self, now_s: float, idle_s: float, request_s: float) -> None:
        """Close what waited too long: idle, in the middle of a request, or for a reader."""
        waited = now_s - self.since_s
        if self.stalled:
            if waited > request_s:
                self._transport.abort()
        elif self._stage != _IDLE:
            if waited > request_s:
                self._refuse(self._protocol.malformed(408))
        elif not self._ways and waited > idle_s and not self._deaf:
            self._transport.close()
