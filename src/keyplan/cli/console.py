"""The command `keyplan console`, which serves the web console for a database."""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from keyplan.cli.designs import load_by, load_design, refusal
from keyplan.cli.diff import check_distinct

if TYPE_CHECKING:
    from keyplan.console import Source, WatchedDesign
    from keyplan.console.load.engine import EngineLoad
    from keyplan.console.serving import Handover
    from keyplan.design.declaring.design import Design
    from keyplan.engine.engine import Engine
    from keyplan.server.asgi import DynamoDBApplication

TOKEN_VARIABLE = "KEYPLAN_CONSOLE_TOKEN"  # noqa: S105 - a name, not a token
TOKEN_CHARACTERS = 16
NOT_INSTALLED = "not installed; pip install 'keyplan[console]'"
_REQUIRED_PACKAGES = ("jinja2", "starlette", "uvicorn")


def is_installed() -> bool:
    """Return True if the packages of the extra `console` are installed."""
    return all(find_spec(name) is not None for name in _REQUIRED_PACKAGES)


def console(  # noqa: PLR0917 - one parameter per option, given by name
    module: Annotated[
        str | None,
        typer.Argument(
            help="Design to show: an importable module, such as app.design, or a Python file. If omitted, "
            "pages that need a design are hidden."
        ),
    ] = None,
    db: Annotated[
        str | None,
        typer.Option("--db", help="Database file, or :memory: for a temporary database. Defaults to keyplan.db."),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", help="URL of a DynamoDB-compatible server, such as http://127.0.0.1:8000."),
    ] = None,
    aws: Annotated[
        str | None, typer.Option("--aws", metavar="REGION", help="Use Amazon DynamoDB in this AWS region.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option("--against", help="Another version of the design to compare against. Can be repeated."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Reject all write operations.")] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on. 0 selects a free port.")
    ] = 8001,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on. A non-loopback address requires a token in KEYPLAN_CONSOLE_TOKEN."
        ),
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="Additional host name to accept in Host headers. Can be repeated."),
    ] = None,
) -> None:
    """Show tables, items, a design and measured traffic in a web console. The printed URL contains an access token."""
    if not is_installed():
        raise refusal(f"keyplan console: {NOT_INSTALLED}")
    sources = [option for option in (db, endpoint, aws) if option is not None]
    if len(sources) > 1:
        raise refusal("keyplan console: give one of --db, --endpoint and --aws")
    from keyplan.console import Access, Console  # noqa: PLC0415 - an extra
    from keyplan.console.serving import run  # noqa: PLC0415 - an extra
    from keyplan.server.launch import LaunchError, open_socket  # noqa: PLC0415 - `keyplan --help` needs no server

    design, other_designs = _designs(module, against or [])
    try:
        access = Access(os.environ.get(TOKEN_VARIABLE), host=host, names=allow_host or ())
        with open_socket(host, port) as server_socket:
            source = _source(db, endpoint, aws)
            try:
                run(
                    Console(source, design=design, against=other_designs, read_only=read_only, access=access),
                    server_socket,
                    _print_line,
                )
            finally:
                source.close()
    except (LaunchError, ValueError, ImportError) as error:
        raise refusal(f"keyplan console: {error}", code=getattr(error, "code", 2)) from None


def _designs(module: str | None, against: list[str]) -> tuple[WatchedDesign | None, dict[str, Design]]:
    """Return the design to show, and the designs to compare it with, as a mapping from the values of `--against`."""
    if module is None:
        if against:
            raise refusal("keyplan console: --against needs a design to compare with")
        return None, {}
    from keyplan.console import WatchedDesign  # noqa: PLC0415 - an extra
    from keyplan.diff.programs import load_isolated  # noqa: PLC0415 - `keyplan --help` needs no designs

    design = load_by(module, load_isolated)
    other_designs = {target: load_by(target, load_isolated) for target in against}
    for other_design in other_designs.values():
        check_distinct(other_design, design, "console")
    watched = WatchedDesign(lambda: load_design(module, load_isolated), design)
    return watched, {target: other_design.design for target, other_design in other_designs.items()}


def _source(db: str | None, endpoint: str | None, aws: str | None) -> Source:
    from keyplan.console import Source  # noqa: PLC0415 - an extra
    from keyplan.server.launch import open_engine  # noqa: PLC0415 - `keyplan --help` needs no server

    if endpoint is not None:
        return Source.endpoint_url(endpoint)
    if aws is not None:
        return Source.aws(aws)
    path = db or "keyplan.db"
    return Source.from_engine(open_engine(path, "normal"), path, owned=True)


class MountedConsole:
    """The web console of `keyplan serve`.

    It counts operations from server startup, but imports its pages only when the first browser connects.
    """

    def __init__(self, db: str, host: str, names: list[str], token: str) -> None:
        self._db, self._host, self._names, self._token = db, host, names, token
        self._url = ""
        self._recording: EngineLoad | None = None

    @classmethod
    def for_server(cls, db: str, host: str, names: list[str]) -> MountedConsole | None:
        """Return the console for a server that listens on `host`. `names` are additional accepted host names.

        Return None if the console is not installed, or if `host` is not a loopback address and no token is configured.

        Raises ValueError if the configured token is too short.
        """
        from keyplan.server.hosts import is_loopback  # noqa: PLC0415 - `keyplan --help` needs no server

        token = os.environ.get(TOKEN_VARIABLE)
        if token is not None and len(token) < TOKEN_CHARACTERS:
            raise ValueError(f"{TOKEN_VARIABLE} must have at least {TOKEN_CHARACTERS} characters, got {len(token)}")
        if not is_installed() or (token is None and not is_loopback(host)):
            return None
        return cls(db, host, names, token or secrets.token_urlsafe(24))

    def hint(self, url: str) -> str:
        """Return the line of output that shows the console's URL. `url` is the server's URL, which the console also
        uses in its code samples.
        """
        self._url = url
        return f"console {url}/console/?token={self._token}"

    def record(self, engine: Engine) -> None:
        """Start counting the engine's operations for the Load pages of the console."""
        from keyplan.console.load import engine as load  # noqa: PLC0415 - `keyplan --help` needs no console

        self._recording = load.EngineLoad(engine)
        self._recording.start(load.UNVISITED_PER_S)

    def pages(self, engine: Engine, other_app: DynamoDBApplication) -> Handover:
        """Return the server for browser connections.

        It passes requests for paths outside the console to `other_app`.
        """
        from keyplan.console import Access, Console, Source  # noqa: PLC0415 - an extra
        from keyplan.console.serving import Handover  # noqa: PLC0415 - an extra

        access = Access(self._token, host=self._host, names=self._names)
        source = Source.from_engine(engine, self._db)
        source.endpoint = self._url
        return Handover(Console(source, access=access, recording=self._recording).site(other_app))


def _print_line(line: str) -> None:
    typer.echo(f"keyplan console: {line}")
