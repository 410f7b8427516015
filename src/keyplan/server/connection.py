"""An HTTP/1.1 connection, which parses requests with httptools and sends the responses in order.

The parser calls a method for each part of a request. The connection collects the parts, passes each complete request to
the protocol, and queues the result (see `turns`). It stops reading while many requests are waiting, or while the client
does not read its responses. If the input is not HTTP, is too long or arrives too slowly, the connection sends one error
response and is closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol, cast

import httptools

from keyplan.limits import REQUEST_BYTES, REQUEST_HEAD_BYTES
from keyplan.server.protocol import DynamoDBProtocol
from keyplan.server.turns import Job, Turns
from keyplan.server.wire import Request, Response, head

HEAD_BYTES = REQUEST_HEAD_BYTES
DISCARD_BYTES = 4 * REQUEST_BYTES  # a body over the limit is read up to this size, so that the client gets the response
JOIN_BYTES = 64 * 1024  # bodies up to this size are copied after their head, for one write
PAUSE_JOBS, RESUME_JOBS = 64, 16  # queued requests at which reading stops and resumes
MAX_QUEUED_BYTES = REQUEST_BYTES  # limit of queued bodies, above which nothing is parsed early or read
LINGER_S = 2.0  # between an error response and the close, so that the client can read the response

PAGES = (b"GET /", b"HEAD /", b"POST /console")  # first bytes that a browser may send
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_EMPTY_CHUNKS = b"0\r\n\r\n"
_IDLE, _HEAD, _BODY = range(3)


class _HeadTooLongError(Exception):
    """Raised by the parser's callbacks if the request target and headers are too long."""


class _BodyTooLongError(Exception):
    """Raised by the parser's callbacks if the body is too long."""


class _HostError(Exception):
    """Raised by the parser's callbacks if an HTTP/1.1 request does not have exactly one Host header (RFC 9112, 3.2)."""


class ConnectionOwner(Protocol):
    """The interface of the server to which a connection belongs."""

    protocol: DynamoDBProtocol
    loop: asyncio.AbstractEventLoop
    turns: Turns

    def date(self) -> bytes:
        """Return the value of the Date header for responses that are sent now."""

    def add(self, connection: HttpConnection) -> None:
        """Register a new connection."""

    def remove(self, connection: HttpConnection) -> None:
        """Remove a connection that has been closed or passed to the server for browsers."""

    def pages(self) -> asyncio.Protocol | None:
        """Return a protocol for a connection from a browser, or None if the server does not serve web pages."""


class HttpConnection(asyncio.Protocol):
    """A client's HTTP connection, with the queue of its requests."""

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
        self._incomplete_bytes = 0
        self._new_requests = 0  # requests that began in the latest bytes
        self._ignores_input = False  # further input is discarded
        self._owes_continue = False
        self._pending_responses: deque[tuple[bool, bool, int]] = (
            deque()
        )  # of each request: keep-alive, no response body, bytes
        self._waiting_bytes = 0  # total size of these requests
        self._queue_is_full = False  # reading has stopped because many requests wait
        self._linger: asyncio.TimerHandle | None = None
        self.stage_start_s = 0.0  # loop time at which the current stage began
        self.jobs: deque[Job] = deque()
        self.queued = False
        self.stalled = False
        self.draining = False
        self._is_new = True

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection with the server."""
        self._transport = cast(asyncio.Transport, transport)
        self.stage_start_s = self._server.loop.time()
        self._server.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        """Discard the requests that are still waiting, because the client has disconnected."""
        self.jobs.clear()
        self._ignores_input = True
        if self._linger is not None:
            self._linger.cancel()
        self._server.remove(self)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes and queue the requests that are complete."""
        if self._ignores_input or (self._is_new and self._pass_to_pages(data)):
            return
        was_idle, self._new_requests = self._stage == _IDLE, 0
        try:
            self._feed(data)
        except httptools.HttpParserCallbackError as error:
            self._refuse_for(error.__context__)
        except httptools.HttpParserError:
            self._refuse(self._protocol.malformed(400))
        else:
            if (
                self._stage != _IDLE and self._new_requests <= was_idle
            ):  # otherwise some of the bytes belong to earlier requests
                self._count_incomplete(len(data))
            if (len(self.jobs) > PAUSE_JOBS or self._waiting_bytes > MAX_QUEUED_BYTES) and not self._queue_is_full:
                self._queue_is_full = True
                self._transport.pause_reading()

    def _pass_to_pages(self, data: bytes) -> bool:
        """If `data`, the first bytes received on the connection, comes from a browser, pass the connection to the
        server for browsers and return True. Otherwise, return False.
        """
        self._is_new = False
        pages = self._server.pages() if data.startswith(PAGES) else None
        if pages is None:
            return False
        self._ignores_input = True
        self._server.remove(self)
        self._transport.set_protocol(pages)
        pages.connection_made(self._transport)
        pages.data_received(data)
        return True

    def _count_incomplete(self, size: int) -> None:
        """Count the bytes of an incomplete request, and reject the request if there are too many.

        This is necessary because the parser buffers a long header or trailer before it calls a method of the
        connection.
        """
        self._incomplete_bytes += size
        if self._stage == _HEAD and self._incomplete_bytes > HEAD_BYTES:
            self._refuse(self._protocol.malformed(400))
        elif self._incomplete_bytes > DISCARD_BYTES + HEAD_BYTES:
            self._refuse(self._protocol.too_large(self._headers))

    def eof_received(self) -> bool:
        """Complete the requests of a client that has closed its sending side, and then close the connection."""
        self._ignores_input = True
        self._stage = _IDLE
        if not self._pending_responses:
            return False
        self.draining = True
        return True

    def pause_writing(self) -> None:
        """Stop reading and processing requests, because the client reads its responses too slowly."""
        self.stalled = True
        self.stage_start_s = self._server.loop.time()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading and processing after the client has read its responses."""
        self.stalled = False
        self.stage_start_s = self._server.loop.time()
        if self.jobs:
            self._turns.enqueue(self)
        self._resume_reading()

    def _resume_reading(self) -> None:
        """Resume reading from the client, unless many requests are waiting or the client does not read its
        responses.
        """
        if self._queue_is_full and len(self.jobs) <= RESUME_JOBS and self._waiting_bytes <= MAX_QUEUED_BYTES:
            self._queue_is_full = False
        if not (self._queue_is_full or self.stalled or self._transport.is_closing()):
            self._transport.resume_reading()

    # Called by the parser.

    def on_message_begin(self) -> None:
        """Start collecting a new request."""
        self._stage = _HEAD
        self._new_requests += 1
        self._target = b""
        self._headers = {}
        self._body = b""
        self._body_bytes = self._head_bytes = self._incomplete_bytes = 0
        self.stage_start_s = self._server.loop.time()

    def on_url(self, url: bytes) -> None:
        """Append `url`, a part of the request target, to the target. The parser can split a target into
        several parts.
        """
        self._target += url
        self._head_bytes += len(url)
        if self._head_bytes > HEAD_BYTES:
            raise _HeadTooLongError

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header to the request. Trailers after a chunked body are ignored."""
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
        """Check the headers of the request before its body arrives."""
        self._stage = _BODY
        headers = self._headers
        if b"host" not in headers and self._parser.get_http_version() == "1.1":
            raise _HostError
        if self._parser.should_upgrade():
            return
        if b"expect" in headers and headers[b"expect"].lower() == b"100-continue":
            self._continue()
        elif len(headers.get(b"content-length", b"")) >= 8 and self._content_length() > DISCARD_BYTES:
            raise _BodyTooLongError

    def _continue(self) -> None:
        """Send the interim response `100 Continue` after all earlier responses. The client waits for it before it sends
        the body.
        """
        if self._content_length() > REQUEST_BYTES:
            raise _BodyTooLongError
        if self._pending_responses:
            self._owes_continue = True
        else:
            self._transport.write(_CONTINUE)

    def _content_length(self) -> int:
        """Return the length of the request body from the Content-Length header, or 0 without such a header."""
        content_length = self._headers.get(b"content-length", b"0")
        return int(content_length) if content_length.isdigit() else 0

    def on_body(self, body: bytes) -> None:
        """Append a part of the request body. If the body exceeds the limit, discard it."""
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
        """Queue a complete request. It is checked and parsed immediately, unless many bytes are already waiting."""
        parser = self._parser
        if parser.should_upgrade():
            return  # the callback runs again, see _feed
        self._stage = _IDLE
        self._owes_continue = False
        headers = self._headers
        job: Job
        method = parser.get_method()
        queued_bytes = 0
        if self._body_bytes > REQUEST_BYTES:
            job = self._protocol.too_large(headers)
        else:
            job = Request(method, self._target, headers, bytes(self._body))
            queued_bytes = REQUEST_BYTES if b"content-encoding" in headers else self._body_bytes
            if self._waiting_bytes <= MAX_QUEUED_BYTES:
                job = self._protocol.read(job)
        self._body = b""
        self._waiting_bytes += queued_bytes
        self._pending_responses.append((parser.should_keep_alive(), method == b"HEAD", queued_bytes))
        self.jobs.append(job)
        self._turns.enqueue(self)

    # Between transport and parser.

    def _feed(self, data: bytes) -> None:
        """Pass received bytes to the parser.

        If a request offers a protocol upgrade, as requests from Java's HTTP client do, the parser stops and treats the
        following bytes as part of the other protocol. To decline the upgrade, the same request is parsed again without
        the Upgrade header.
        """
        while True:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = self._head_without_upgrade() + data[upgrade.args[0] :]
                self._parser = httptools.HttpRequestParser(self)
            else:
                return

    def _head_without_upgrade(self) -> bytes:
        method = self._parser.get_method()
        if method == b"CONNECT" or b"upgrade" not in self._headers:
            raise httptools.HttpParserError("CONNECT is not supported")
        version = self._parser.get_http_version().encode()
        lines = [method + b" " + self._target + b" HTTP/" + version]
        for name, value in self._headers.items():
            if name == b"connection":
                lines.append(b"Connection: close" if b"close" in value.lower() else b"Connection: keep-alive")
            elif name != b"upgrade":
                lines.append(name + b": " + value)
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _refuse_for(self, cause: BaseException | None) -> None:
        """Reject the current request, because a callback of the parser raised the exception `cause`."""
        if isinstance(cause, _BodyTooLongError):
            self._refuse(self._protocol.too_large(self._headers))
        else:  # the service also returns 400 for a head that is too long
            self._refuse(self._protocol.malformed(400))

    def _refuse(self, response: Response) -> None:
        """Ignore further input, and send an error response as the last response on this connection."""
        self._ignores_input = True
        self._stage = _IDLE
        self._pending_responses.append((False, False, 0))
        self.jobs.append(response)
        self._turns.enqueue(self)

    def send_response(self, response: Response) -> None:
        """Send the response to the oldest request on this connection that has no response yet."""
        transport = self._transport
        if transport.is_closing() or not self._pending_responses:
            return
        keep_alive, bodiless, queued_bytes = self._pending_responses.popleft()
        self._waiting_bytes -= queued_bytes
        is_last = not keep_alive or (self.draining and not self._pending_responses and self._stage == _IDLE)
        response_head = head(response, self._server.date(), not is_last)
        body = b"" if bodiless else (_EMPTY_CHUNKS if response.unsized else response.body)
        if len(body) <= JOIN_BYTES:
            transport.write(response_head + body)
        else:
            transport.writelines((response_head, body))
        if is_last:
            self._finish()
        elif self._owes_continue and not self._pending_responses:
            self._owes_continue = False
            transport.write(_CONTINUE)
        if self._queue_is_full:
            self._resume_reading()
        self.stage_start_s = self._server.loop.time()

    def _finish(self) -> None:
        """Close the connection after its last response.

        If the client may still be sending, it has two seconds to read the response before the connection is aborted.
        """
        self.jobs.clear()
        self._pending_responses.clear()
        if self.draining or not self._ignores_input:
            self._transport.close()
        else:
            if self._transport.can_write_eof():
                self._transport.write_eof()
            self._linger = self._server.loop.call_later(LINGER_S, self._transport.abort)

    def drain(self) -> None:
        """Close the connection as soon as all requests received so far have responses."""
        self.draining = True
        if self._stage == _IDLE and not self._pending_responses:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection without sending another response."""
        self._transport.abort()

    def check_time_limits(self, now_s: float, idle_s: float, request_s: float) -> None:
        """Close the connection if a time limit is exceeded at the time `now_s`.

        `idle_s` limits how long a connection can be without requests. `request_s` limits how long a request can take to
        arrive, and how long a client can leave its responses unread.
        """
        waited = now_s - self.stage_start_s
        if self.stalled:
            if waited > request_s:
                self._transport.abort()
        elif self._stage != _IDLE:
            if waited > request_s:
                self._refuse(self._protocol.malformed(408))
        elif not self._pending_responses and waited > idle_s and not self._ignores_input:
            self._transport.close()
