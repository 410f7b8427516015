"""The implementation of `keyplan up`. If the systems cannot be started, the error message is a single sentence."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from starlette.requests import Request

import keyplan
from keyplan.check.checking import Report, check
from keyplan.check.report import text
from keyplan.cli.designs import command_name
from keyplan.client.connect import target_of
from keyplan.client.connection import Connection
from keyplan.client.errors import TableDiffersError, UnreadableItemError
from keyplan.client.requests import Meter
from keyplan.clock import Clock, SystemClock
from keyplan.console import Access, Console, Source
from keyplan.console.access import TOKEN_VARIABLE
from keyplan.console.home import Overview
from keyplan.console.serving import SignalServer
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.errors import KeyplanError
from keyplan.pages import Wording
from keyplan.server.asgi import DynamoDBApplication
from keyplan.server.hosts import is_loopback
from keyplan_systems.up import registry
from keyplan_systems.up.host import Host
from keyplan_systems.up.registry import HostedSystem
from keyplan_systems.up.runner_name import runner_name
from keyplan_systems.up.workers import Workers
from keyplan_systems.web.development import DevelopmentKey, development_key
from keyplan_systems.web.files import KeyFileError
from keyplan_systems.web.keys import FileKeys, KeySource, KeysUnavailableError, UrlKeys
from keyplan_systems.web.logs import configure_logs
from keyplan_systems.web.secret import SECRET_VARIABLE, Secret, secret_from
from keyplan_systems.web.server import server_config
from keyplan_systems.web.sessions import Sessions
from keyplan_systems.web.sign_in import NoSignIn, Provider, ProviderSignIn, SampleSignIn, SignIn, system_at
from keyplan_systems.web.system import BuiltSystem, Resources, System
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

LogLevel = Literal["info", "warning"]
AUDIENCE = "keyplan"
CLIENT_SECRET_VARIABLE = "KEYPLAN_CLIENT_SECRET"  # noqa: S105 - a name, not a password
"""Environment variable with the client secret that belongs to `--client-id`. It is not needed for a public client,
which does not have a secret.
"""
_GRACE_S = 10
_OTHER_VERSION = (
    "Another version of the system created the table; nothing was changed. Start with another folder (--folder),"
    " endpoint or region, or change the table first: `keyplan diff OLD NEW` lists the steps between two designs."
)


class UpError(Exception):
    """Raised if the systems cannot be started. The message contains the reason and how to fix the problem."""


@dataclass(frozen=True)
class Settings:
    """The settings of `keyplan up`."""

    folder: Path
    """Folder for the database, the keys and the systems' own files. If the folder does not exist, it is created with
    access for its owner only.
    """
    host: str = "127.0.0.1"
    port: int = 8000
    systems: tuple[str, ...] = ()
    """Names of the systems to run. If empty, all systems run."""
    url: str | None = None
    """DynamoDB endpoint to use, as http://host:port or aws://region. If None, the embedded engine is used."""
    sample: bool = True
    log_level: LogLevel = "warning"
    """Log level. With "info", a line is logged for each request."""
    issuer: str | None = None
    """Issuer whose tokens are accepted. If it is given, `audience` and `keys` are required. If it is None, tokens that
    are signed with the key in the folder are accepted.
    """
    audience: str | None = None
    """Audience that the issuer's tokens must have. Required if `issuer` is given. Otherwise, it must be None."""
    keys: str | None = None
    """URL or file path of the JSON Web Key Set (JWKS) with the issuer's public keys. Required if `issuer` is given.
    Otherwise, it must be None.
    """
    client_id: str | None = None
    """ID of this server as a client of the issuer. It is used for sign-in to the web pages."""
    public_url: str | None = None
    """URL at which browsers reach the server, for example through a proxy. If None, the address at which the server
    listens is used.
    """


def up(settings: Settings, say: Callable[[str], None]) -> None:
    """Run the systems until a signal stops the process. Raises UpError if they cannot be started."""
    with ExitStack() as stack:
        listener = stack.enter_context(_socket(settings.host, settings.port))
        address = f"http://{settings.host}:{listener.getsockname()[1]}"
        host = prepare(settings, stack, say, address=address)
        configure_logs(settings.log_level.upper())
        if host.console is not None and settings.url is None and _is_private(settings):
            host.console.source.endpoint = address
        for line in _hints(host, address, settings):
            say(line)
        SignalServer(server_config(host, grace_s=_GRACE_S)).run(sockets=[listener])
        if not host.workers.stop():
            say("background work did not stop in time; it continues at the next start")
        say("stopped")


def prepare(
    settings: Settings,
    stack: ExitStack,
    say: Callable[[str], None],
    clock: Clock | None = None,
    *,
    address: str = "http://127.0.0.1",
) -> Host:
    """Check the designs, create the tables, build the systems, load the sample data, and return the application that
    serves the systems.

    When `stack` is closed, the resources are released. `address` is the URL at which the server listens. Raises UpError
    if a step fails.
    """
    clock = clock or SystemClock()
    systems = _systems(settings.systems)
    designs = {system.name: Design.load(system.design) for system in systems}
    reports = {name: check(design) for name, design in designs.items()}
    failed = [_errors_of(report) for report in reports.values() if report.failed]
    if failed:
        raise UpError("a design has errors\n" + text(failed))
    try:
        settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UpError(f"cannot create the folder {settings.folder}: {error.strerror or error}") from error
    secret = _secret()
    connection, engine = _connection(settings, secret, stack, clock)
    _create_tables(connection, designs, say)
    verifier = _verifier(settings, stack, clock)
    runner = stack.enter_context(runner_name(settings.folder))
    prices = book()
    hosted = []
    for system in systems:
        built = _build(system, Resources(connection, _folder(settings, system), clock, verifier, runner, secret))
        stack.callback(built.close)
        if settings.sample:
            _load_sample(system, built, say)
        design = designs[system.name]
        hosted.append(HostedSystem(system, design, reports[system.name], estimate(design, prices), built))
    workers = Workers([worker for system in hosted for worker in system.built.workers], clock)
    dynamodb = DynamoDBApplication(engine) if engine is not None and _is_private(settings) else None
    public_url = (settings.public_url or address).rstrip("/")
    key = secret or key_of(settings.folder)
    sign_in = _sign_in(settings, systems, key, public_url, partial(_id_tokens, settings, verifier, stack, clock))
    sessions = partial(
        Sessions, key=key.derive_key("sessions"), clock=clock, is_secure=public_url.startswith("https://")
    )
    console = _console(settings, designs, connection, engine, stack)
    host = Host(
        hosted,
        workers,
        dynamodb,
        verifier if _requires_token(settings) else None,
        console=console,
        sign_in=sign_in,
        sessions=sessions,
    )
    if console is not None:
        console.frame.overview = host.overview
    return host


def _console(
    settings: Settings, designs: dict[str, Design], connection: Connection, engine: Engine | None, stack: ExitStack
) -> Console | None:
    """Return the web console, or None if it would be accessible from other machines without a token.

    Raises UpError if the settings of the console are invalid.
    """
    token = os.environ.get(TOKEN_VARIABLE)
    if token is None and not _is_private(settings):
        return None
    try:
        access = Access(token, host=settings.host)
        if engine is not None:
            source = Source.from_engine(engine, str(settings.folder / "keyplan.db"))
        else:
            assert settings.url is not None, "without an engine there is a URL"
            target = target_of(settings.url)
            source = Source.endpoint_url(settings.url) if target.region is None else Source.aws(target.region)
            stack.callback(source.close)
    except (ValueError, ImportError) as error:
        raise UpError(str(error)) from error
    console = Console(source, designs=designs, access=access, overview=_no_overview)
    if connection.context.meter is not None:
        console.load.watch(connection.context.meter, "keyplan up")
    return console


async def _no_overview(_request: object) -> Overview:
    """Return empty data for the home page. The console uses this function until the host has been created."""
    return Overview(())


def _sign_in(
    settings: Settings,
    systems: Sequence[System],
    key: Secret | DevelopmentKey,
    public_url: str,
    id_tokens: Callable[[], TokenVerifier],
) -> SignIn:
    """Return the sign-in method for the web pages. Raises UpError if the settings contradict each other."""
    wordings = {system.name: system.wording for system in systems if system.wording is not None}

    def wording(request: Request) -> Wording:
        system_wording = wordings.get(system_at(request))
        return Wording() if system_wording is None else system_wording(request)

    if settings.issuer is None:
        if settings.client_id is not None:
            raise UpError("--client-id requires --issuer")
        if is_loopback(settings.host):
            people = {system.name: (system.title, system.people) for system in systems}
            return SampleSignIn(people, is_loopback, wording)
        return NoSignIn("Sample people can sign in only at a server that listens on 127.0.0.1.")
    if settings.client_id is None:
        return NoSignIn("Sign-in is not configured: start the server with --client-id.")
    client_secret = os.environ.get(CLIENT_SECRET_VARIABLE) or None
    provider = Provider(settings.issuer, settings.client_id, id_tokens(), public_url, client_secret)
    return ProviderSignIn(provider, key.derive_key("sign-in"), wording=wording)


def _id_tokens(settings: Settings, verifier: TokenVerifier, stack: ExitStack, clock: Clock) -> TokenVerifier:
    """Return the verifier for ID tokens. Their audience must be the client ID. Raises UpError if the issuer's keys are
    unavailable.
    """
    assert settings.client_id, "only a client has ID tokens"
    assert settings.issuer, "_verifier requires it"
    assert settings.keys, "_verifier requires them"
    if settings.client_id == settings.audience:
        return verifier
    try:
        keys = _issuers_keys(settings.keys, stack, clock)
    except KeysUnavailableError as error:
        raise UpError(str(error)) from error
    return TokenVerifier(TokenRules(settings.client_id, settings.issuer), keys, clock)


def _is_private(settings: Settings) -> bool:
    """Return True if only this machine can connect to the server and an external issuer is not set.

    The DynamoDB endpoint is served only in this case, because it accepts requests that are signed with any key. With an
    external issuer, the server usually runs behind a proxy that forwards requests from other machines.
    """
    return is_loopback(settings.host) and settings.issuer is None


def _requires_token(settings: Settings) -> bool:
    """Return True if the home page, the API docs and the health details require a token.

    This is the case if an issuer is set and other machines can connect to the server.
    """
    return settings.issuer is not None and not is_loopback(settings.host)


def _errors_of(report: Report) -> Report:
    return replace(report, findings=tuple(finding for finding in report.findings if finding.severity == "error"))


def _systems(names: Sequence[str]) -> list[System]:
    unknown = [name for name in names if name not in registry.NAMES]
    if unknown:
        raise UpError(f"unknown system {', '.join(unknown)}; available: {', '.join(registry.NAMES)}")
    return [registry.load(name) for name in names or registry.NAMES]


def _secret() -> Secret | None:
    """Return the secret that replicas share, or None if it is not set in the environment. Raises UpError if it is too
    short.
    """
    try:
        return secret_from()
    except ValueError as error:
        raise UpError(str(error)) from error


def _connection(
    settings: Settings, secret: Secret | None, stack: ExitStack, clock: Clock
) -> tuple[Connection, Engine | None]:
    try:
        # Cursors remain valid across restarts, and between processes that share a folder or a secret.
        cursor_key = (secret or key_of(settings.folder)).derive_key("cursors")
        if settings.url is not None:
            connection = keyplan.connect(settings.url, clock=clock, cursor_key=cursor_key, meter=Meter())
            return stack.enter_context(connection), None
        engine = stack.enter_context(
            keyplan.Engine.open(settings.folder / "keyplan.db", durability="full", clock=clock)
        )
        return stack.enter_context(keyplan.connect(engine=engine, clock=clock, cursor_key=cursor_key)), engine
    except (KeyplanError, ValueError, ImportError) as error:
        raise UpError(str(error)) from error


def _create_tables(connection: Connection, designs: dict[str, Design], say: Callable[[str], None]) -> None:
    try:
        for name, design in designs.items():
            connection.create_tables(*design.tables)
            say(f"{name}: {len(design.tables)} table(s), {len(list(design.patterns))} patterns, checked")
    except TableDiffersError as error:
        raise UpError(f"{error}\n{_OTHER_VERSION}") from error
    except Exception as error:
        raise UpError(_reason(error)) from error


def _build(system: System, resources: Resources) -> BuiltSystem:
    try:
        return system.build(resources)

    except Exception as error:  # resources such as a database or a bucket raise their own exceptions
        raise UpError(f"{system.name} cannot start: {_reason(error)}") from error


def _load_sample(system: System, built: BuiltSystem, say: Callable[[str], None]) -> None:
    try:
        built.load_sample()
    except UnreadableItemError as error:  # items of another program in the table must not prevent the start
        say(f"{system.name}: the sample data is incomplete: {error}")
    except KeyplanError as error:
        raise UpError(f"cannot load the sample data of {system.name}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if type(error).__name__ == "NoCredentialsError":
        return "no AWS credentials found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    return str(error) or type(error).__name__


def _verifier(settings: Settings, stack: ExitStack, clock: Clock) -> TokenVerifier:
    options = (settings.issuer, settings.audience, settings.keys)
    if not any(options):
        return TokenVerifier(TokenRules(AUDIENCE), development_keys(key_of(settings.folder)), clock)
    if not (settings.issuer and settings.audience and settings.keys):
        raise UpError("--issuer, --audience and --keys must be given together")
    try:
        keys = _issuers_keys(settings.keys, stack, clock)
    except KeysUnavailableError as error:
        raise UpError(str(error)) from error
    return TokenVerifier(TokenRules(settings.audience, settings.issuer), keys, clock)


def _issuers_keys(source: str, stack: ExitStack, clock: Clock) -> KeySource:
    if not source.startswith(("https://", "http://")):
        return FileKeys(Path(source))
    keys = UrlKeys(source, clock=clock)
    stack.callback(keys.close)
    return keys


def key_of(folder: Path) -> DevelopmentKey:
    """Return the key pair in a folder. If it does not exist, it is generated. Raises UpError if it cannot be used."""
    try:
        return development_key(folder / "keys")
    except KeyFileError as error:
        raise UpError(str(error)) from error


def _folder(settings: Settings, system: System) -> Path:
    folder = settings.folder / system.name
    folder.mkdir(exist_ok=True)
    return folder


def _socket(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UpError(f"port {port} is in use: stop the other program, or choose another with --port") from None
        raise UpError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None


def _first_page(system: System) -> str:
    return system.page if system.start is None else system.start


def _hints(host: Host, address: str, settings: Settings) -> list[str]:
    lines = [f"home page {address}/"]
    if host.console is not None:
        lines.append(f"console {host.console.url(address)}")
    lines += [
        f"{entry.system.title}: {address}/{entry.system.name}/{_first_page(entry.system)}" for entry in host.hosted
    ]
    if settings.url is None and _is_private(settings):
        command = f"aws dynamodb list-tables --endpoint-url {address} --region us-east-1"
        lines.append(f"DynamoDB: AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any {command}")
    elif settings.url is None:
        lines.append(
            "no DynamoDB endpoint: it is open to every client, so it requires --host 127.0.0.1 and no --issuer"
        )
    if settings.url is not None and not os.environ.get(SECRET_VARIABLE):
        lines.append(f"cursors and thread tokens are valid for this folder only: set {SECRET_VARIABLE} to share them")
    if settings.issuer is None:
        lines.append(f"token: {command_name()} token SUBJECT --folder {settings.folder}")
    else:
        lines.append(f"tokens: issued by {settings.issuer} for audience {settings.audience}")
    if _requires_token(settings):
        lines.append("home page, API docs and health details require a token")
    return [*lines, "stop with Ctrl-C"]
