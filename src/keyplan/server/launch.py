"""Runs the HTTP server as the main task of a process, and stops it on SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import errno
import gc
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Literal

from keyplan import errors
from keyplan.clock import SystemClock
from keyplan.engine.engine import Engine
from keyplan.server.asgi import DynamoDBApplication
from keyplan.server.asyncio_server import Server, WebPages, bind, loop_factory, url_of
from keyplan.server.hosts import LocalHosts, is_loopback
from keyplan.server.protocol import DynamoDBProtocol
from keyplan.server.sigv4 import BadCredentialsError, SignatureChecker, SignatureVerifier, read_credentials

GC_THRESHOLDS = (20_000, 20, 50)
SWITCH_S = 0.00005
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_until_stopped(
    protocol: DynamoDBProtocol,
    server_socket: socket.socket,
    started: Callable[[], None],
    pages: Callable[[], WebPages] | None = None,
) -> int:
    """Serve on a bound socket until SIGINT or SIGTERM. Return the number of connections that were aborted at the end.

    `started` is called when the server starts to accept connections. `pages` creates the server for browsers and is
    called in the event loop. A second signal aborts requests in progress immediately.
    """
    # Requests create many objects but no cycles. Freeze existing objects, and collect new ones less often.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    # A thread that has synced the disk should not wait long for the GIL while the event loop is busy.
    sys.setswitchinterval(SWITCH_S)
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(_serve(protocol, server_socket, started, pages))


async def _serve(
    protocol: DynamoDBProtocol,
    server_socket: socket.socket,
    started: Callable[[], None],
    pages: Callable[[], WebPages] | None,
) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    abort_requested = asyncio.Event()

    def request_stop() -> None:
        (abort_requested if stop.is_set() else stop).set()

    _on_signals(loop, request_stop)
    server = Server(protocol, pages=None if pages is None else _LazyPages(pages))
    await server.listen(server_socket)
    started()
    await stop.wait()
    stopping = asyncio.ensure_future(server.stop())
    abort_wait = asyncio.ensure_future(abort_requested.wait())
    await asyncio.wait((stopping, abort_wait), return_when=asyncio.FIRST_COMPLETED)
    abort_wait.cancel()
    if not stopping.done():
        server.abort()
    return await stopping


class _LazyPages:
    """Creates the server for browsers only when the first browser connects.

    Most servers never receive connections from browsers.
    """

    def __init__(self, create: Callable[[], WebPages]) -> None:
        self._create = create
        self._pages: WebPages | None = None

    def protocol(self) -> asyncio.Protocol:
        """Return an asyncio protocol for a new connection."""
        if self._pages is None:
            self._pages = self._create()
        return self._pages.protocol()

    async def stop(self) -> None:
        """Close each connection after the response in progress."""
        if self._pages is not None:
            await self._pages.stop()


def _on_signals(loop: asyncio.AbstractEventLoop, request_stop: Callable[[], None]) -> None:
    """Call `request_stop` in the event loop for each SIGINT and SIGTERM.

    This also works on Windows, where event loops do not support signals.
    """
    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, request_stop)
        except NotImplementedError:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(request_stop))


MEMORY = ":memory:"
USAGE, FAILED = 2, 1  # exit codes for wrong arguments and for system errors


class LaunchError(Exception):
    """Raised if the server cannot start. The message contains the reason and a fix. `code` is the process's
    exit code.
    """

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def launch(
    *,
    db: str,
    host: str,
    port: int,
    durability: Literal["full", "normal"],
    credentials: str | None,
    force_open: bool,
    allowed_hosts: Sequence[str] = (),
    buckets: str | None = None,
    print_line: Callable[[str], None],
    prepare: Callable[[Engine], None] | None = None,
    hints: Callable[[str], list[str]] | None = None,
    pages: Callable[[Engine, DynamoDBApplication], WebPages] | None = None,
) -> None:
    """Open a database and serve it until SIGINT or SIGTERM. Raises LaunchError if the server cannot start.

    `credentials` is the path of a file with access keys, and `buckets` is the folder for S3 buckets. `print_line` is
    called with each line of output. `prepare` is called with the engine before any client connects. `hints` returns
    additional lines to print, given the server's URL. `pages` is called with the engine and the DynamoDB application,
    and creates the server for browsers. That server passes requests for unknown paths to the application.
    """
    signatures = load_signatures(credentials)
    if signatures is None and not force_open and not is_loopback(host):
        raise LaunchError(
            f"every client that can reach {host} could read and change the database: pass --credentials FILE to check "
            "signatures, or --force-open to allow everyone",
            USAGE,
        )
    with open_socket(host, port) as server_socket, open_engine(db, durability, buckets) as engine:
        storage = "kept in memory only" if db == MEMORY else f"durability {durability}"
        signature_text = "any signature accepted" if signatures is None else "signatures checked"

        def started() -> None:
            print_line(f"listening on {url_of(server_socket)}")
            print_line(f"database {db}, {storage}; {signature_text}; stop with Ctrl-C")
            for line in hints(url_of(server_socket)) if hints is not None else ():
                print_line(line)

        if prepare is not None:
            prepare(engine)
        # The host names of other addresses are unknown, so --force-open admits every client there.
        hosts = LocalHosts(allowed_hosts) if signatures is None and is_loopback(host) else None
        protocol = DynamoDBProtocol(engine, signatures=signatures, hosts=hosts)

        def create_pages() -> WebPages:
            assert pages is not None
            return pages(engine, DynamoDBApplication(engine, signatures=signatures, hosts=allowed_hosts))

        aborted = run_until_stopped(protocol, server_socket, started, None if pages is None else create_pages)
        print_line(f"stopped, {aborted} connection(s) closed during a request" if aborted else "stopped")


def load_signatures(credentials: str | None) -> SignatureChecker | None:
    """Return a signature checker for the access keys in a credentials file, or None if no file is given.

    Raises LaunchError if the file cannot be used.
    """
    if credentials is None:
        return None
    try:
        return SignatureVerifier(read_credentials(credentials), SystemClock())
    except BadCredentialsError as error:
        raise LaunchError(str(error), USAGE) from error


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address. Raises LaunchError if the address is not available."""
    try:
        return bind(host.strip("[]"), port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise LaunchError(
                f"port {port} on {host} is in use: stop the program that listens there, or choose another with "
                "--port (0 selects a free one)"
            ) from error
        raise LaunchError(f"cannot listen on {host} port {port}: {error.strerror or error}") from error


def open_engine(db: str, durability: Literal["full", "normal"], buckets: str | None = None) -> Engine:
    """Open a database file, or a temporary database in memory, and return its engine.

    `buckets` is the folder for S3 buckets. Raises LaunchError if the database or this folder cannot be used.
    """
    try:
        if db == MEMORY:
            return Engine.memory(buckets=buckets)
        return Engine.open(db, durability=durability, buckets=buckets)
    except (ImportError, ValueError) as error:
        raise LaunchError(f"cannot use the buckets: {error}", USAGE) from error
    except errors.DatabaseLockedError as error:
        raise LaunchError(f"another process has locked the database: {error}") from error
    except errors.DatabaseVersionError as error:
        raise LaunchError(f"the database was written by a newer keyplan: {error}") from error
    except errors.DatabaseCorruptError as error:
        raise LaunchError(f"the database is damaged, or the file is not a database: {error}") from error
    except errors.StorageError as error:
        raise LaunchError(f"cannot open the database: {error}") from error
