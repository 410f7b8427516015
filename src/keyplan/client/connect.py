"""Functions that open a connection to the embedded engine, or to a server or Amazon DynamoDB through an AWS SDK.

    data.db, :memory:            an embedded engine with a database file or in memory
    http://127.0.0.1:8000        a server at this address that implements the DynamoDB API
    aws://eu-west-1              Amazon DynamoDB, with the default credentials of the AWS SDK

Every URL accepts `?table_prefix=...`, a prefix for the names of all tables.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from keyplan.client.async_connection import AsyncConnection
from keyplan.client.connection import Connection
from keyplan.client.requests import Context, Retries
from keyplan.client.transports import AioTransport, AsyncEngineTransport, BotoTransport, EngineTransport
from keyplan.clock import Clock, SystemClock

if TYPE_CHECKING:
    from keyplan.client.requests import Meter
    from keyplan.engine.engine import Engine

_DIGEST_KEY_BYTES = 32
_MAX_KEY_BYTES = 64
_DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True)
class Target:
    """The database that a connection URL refers to."""

    path: str | None = None
    """The path of a database file, or ":memory:", or None if the database is not embedded."""
    endpoint: str | None = None
    region: str | None = None
    prefix: str = ""

    @property
    def is_embedded(self) -> bool:
        """Whether the database is an embedded engine in this process."""
        return self.path is not None


def target_of(url: str) -> Target:
    """Parse a connection URL. Raises ValueError if it is not supported."""
    if "://" not in url and not url.startswith(("http:", "https:", "aws:")):
        path, _, options = url.partition("?")
        return Target(path=path or ":memory:", prefix=_prefix(options))
    parts = urlsplit(url)
    if parts.scheme in {"http", "https"} and parts.netloc:
        path = "" if parts.path == "/" else parts.path  # a slash at the end of a longer path is part of it
        return Target(endpoint=f"{parts.scheme}://{parts.netloc}{path}", prefix=_prefix(parts.query))
    if parts.scheme == "aws" and parts.netloc:
        return Target(region=parts.netloc, prefix=_prefix(parts.query))
    raise ValueError(f'{url!r} is not supported: use "data.db", ":memory:", "http://host:port" or "aws://region"')


def _prefix(options: str) -> str:
    values = parse_qs(options, strict_parsing=True) if options else {}
    unknown = sorted(set(values) - {"table_prefix"})
    if unknown:
        raise ValueError(f"unknown option in the URL: {', '.join(unknown)}; the only option is table_prefix")
    return values.get("table_prefix", [""])[-1]


def connect(
    url: str | None = None,
    *,
    prefix: str = "",
    names: Mapping[Any, str] | None = None,
    engine: Engine | None = None,
    client: Any = None,
    clock: Clock | None = None,
    retries: Retries | None = None,
    cursor_key: bytes | None = None,
    meter: Meter | None = None,
) -> Connection:
    """Connect to a database file, an engine, a server, or Amazon DynamoDB.

    `prefix` is added to the name of every table. `names` maps tables, or their declared names, to the names in the
    database. Pass `engine` or a boto3 `client` instead of a URL. Closing the connection closes the client, but not the
    engine.

    `clock` provides the current time for expiry checks, and is used to wait between attempts. The default is the
    engine's clock or, without an engine, the system clock. `retries` sets how often throttled requests are retried, and
    the waits between attempts. The default is ten attempts with waits of up to 2 seconds. `cursor_key` is a secret of
    up to 64 bytes that signs page cursors. Processes that exchange cursors need the same key. Without a key, cursors
    are valid only for this connection. `meter` counts the capacity units that calls consume.

    Raises ValueError for an invalid URL or key, StorageError if a file cannot be used, and ImportError if boto3 is
    required but not installed. Connecting sends no request. If the server is unreachable, the first call raises an
    error.
    """
    target = _target(url, engine, client)
    context = _context(
        prefix=prefix + target.prefix,
        names=names,
        clock=_clock(clock, engine),
        retries=retries,
        cursor_key=cursor_key,
        meter=meter,
        creates_tables=target.is_embedded,
    )
    if client is not None:
        return Connection(BotoTransport(client), context)
    if target.is_embedded:
        return Connection(EngineTransport(engine or _open(target, clock), owned=engine is None), context)
    return Connection(BotoTransport(boto_client(target)), context)


async def connect_async(
    url: str | None = None,
    *,
    prefix: str = "",
    names: Mapping[Any, str] | None = None,
    engine: Engine | None = None,
    clock: Clock | None = None,
    retries: Retries | None = None,
    cursor_key: bytes | None = None,
    meter: Meter | None = None,
) -> AsyncConnection:
    """Return an asynchronous connection. For servers and Amazon DynamoDB, it uses aiobotocore instead of boto3.

    Parameters and exceptions are the same as for `connect`, except that `client` is not supported. Close the connection
    with `await`, or use `async with`.
    """
    target = _target(url, engine, None)
    context = _context(
        prefix=prefix + target.prefix,
        names=names,
        clock=_clock(clock, engine),
        retries=retries,
        cursor_key=cursor_key,
        meter=meter,
        creates_tables=target.is_embedded,
    )
    if target.is_embedded:
        return AsyncConnection(AsyncEngineTransport(engine or _open(target, clock), owned=engine is None), context)
    return AsyncConnection(await _aio_transport(target), context)


def _target(url: str | None, engine: Engine | None, client: Any) -> Target:
    sources = [source for source in (url, engine, client) if source is not None]
    if len(sources) != 1:
        raise ValueError("pass exactly one of url, engine and client")
    if url is not None:
        return target_of(url)
    return Target(path=":memory:") if engine is not None else Target()


def _clock(clock: Clock | None, engine: Engine | None) -> Clock:
    if clock is not None:
        return clock
    return engine.clock if engine is not None else SystemClock()


def _context(
    *,
    prefix: str,
    names: Mapping[Any, str] | None,
    clock: Clock,
    retries: Retries | None,
    cursor_key: bytes | None,
    meter: Meter | None,
    creates_tables: bool,
) -> Context:
    if cursor_key is not None and not isinstance(cursor_key, (bytes, bytearray)):
        raise TypeError(f"cursor_key must be bytes, not {type(cursor_key).__name__}: encode the text")
    if cursor_key is not None and not 0 < len(cursor_key) <= _MAX_KEY_BYTES:
        raise ValueError(f"cursor_key must have 1 to {_MAX_KEY_BYTES} bytes, not {len(cursor_key)}")
    return Context(
        clock=clock,
        cursor_key=cursor_key or secrets.token_bytes(_DIGEST_KEY_BYTES),
        retries=retries or Retries(),
        prefix=prefix,
        meter=meter,
        names={getattr(table, "name", table): name for table, name in (names or {}).items()},
        creates_tables=creates_tables,
    )


def _open(target: Target, clock: Clock | None) -> Engine:
    from keyplan.engine.engine import Engine  # noqa: PLC0415 - a connection to the service needs no engine

    assert target.path is not None, "only an embedded target is opened"
    return Engine.memory(clock=clock) if target.path == ":memory:" else Engine.open(target.path, clock=clock)


def _client_options(target: Target) -> dict[str, Any]:
    """Return AWS SDK client options that turn off the client's retries, because the connection itself
    retries requests.
    """
    from botocore.config import Config  # noqa: PLC0415 - botocore is an extra

    config = Config(retries={"total_max_attempts": 1, "mode": "standard"}, max_pool_connections=50)
    options: dict[str, Any] = {"config": config}
    if target.region is not None:
        options["region_name"] = target.region
    if target.endpoint is not None:
        options["endpoint_url"] = target.endpoint
    return options


def _local_defaults(target: Target, session: Any) -> dict[str, Any]:
    """Return a placeholder Region and placeholder credentials for a local server, which ignores them.

    Settings that are already configured are omitted from the result.
    """
    if target.endpoint is None:
        return {}
    defaults: dict[str, Any] = {}
    if _configured_region(session) is None:
        defaults["region_name"] = _DEFAULT_REGION
    if session.get_credentials() is None:
        defaults.update(aws_access_key_id="keyplan", aws_secret_access_key="keyplan")  # noqa: S106 - not secret
    return defaults


def _configured_region(session: Any) -> Any:
    return session.get_config_variable("region")


def boto_client(target: Target, **settings: Any) -> Any:
    """Return a boto3 client for the endpoint or Region of `target`, with the client's retries turned off.

    `settings` are options for botocore's Config. Raises ImportError if boto3 is not installed.
    """
    try:
        import boto3  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ImportError("boto3 is required for this database: install keyplan[aws]") from error
    session = boto3.Session()
    defaults = _local_defaults(target, session._session)
    options = {**defaults, **_client_options(target)}
    if settings:
        from botocore.config import Config  # noqa: PLC0415 - comes with boto3

        options["config"] = options["config"].merge(Config(**settings))
    return session.client("dynamodb", **options)


async def _aio_transport(target: Target) -> AioTransport:
    try:
        from aiobotocore.session import get_session  # noqa: PLC0415 - an extra
        from botocore.session import Session  # noqa: PLC0415 - comes with aiobotocore
    except ModuleNotFoundError as error:
        raise ImportError("aiobotocore is required for this database: install keyplan[async]") from error
    defaults = _local_defaults(target, Session())  # aiobotocore's session would need `await` here
    context = get_session().create_client("dynamodb", **{**defaults, **_client_options(target)})
    return AioTransport(await context.__aenter__(), context)
