"""The commands that this package adds to `keyplan`: up, demo, token, ask-mcp and lake.

The commands import the systems only when they are run, so that `keyplan --help` stays fast.
"""

from __future__ import annotations

import csv
import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from keyplan.cli.designs import refusal
from keyplan.cli.elapsed import report_progress

Action = Literal["query", "report", "reports", "refresh", "compact", "feed", "catch-up"]
Format = Literal["table", "json", "csv"]
_SYSTEM = re.compile(r"[a-z][a-z_]*")


def up(  # noqa: PLR0917 - one parameter per option, given by name
    folder: Annotated[
        Path,
        typer.Option("--folder", help="Folder for the database, the token signing key and the data lakes."),
    ] = Path("keyplan-data"),
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on. 0 selects a free port.")
    ] = 8000,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on. The DynamoDB endpoint is available only on loopback addresses."
        ),
    ] = "127.0.0.1",
    system: Annotated[list[str] | None, typer.Option("--system", help="Run only this system. Can be repeated.")] = None,
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", help="Use the DynamoDB endpoint at this URL instead of the embedded engine."),
    ] = None,
    aws: Annotated[str | None, typer.Option("--aws", help="Use Amazon DynamoDB in this AWS region.")] = None,
    sample: Annotated[bool, typer.Option("--sample/--no-sample", help="Load sample data.")] = True,
    log_level: Annotated[
        Literal["info", "warning"], typer.Option("--log-level", help="Log level. info logs one line per request.")
    ] = "warning",
    issuer: Annotated[
        str | None,
        typer.Option(
            "--issuer",
            help="Accept tokens from this OpenID Connect issuer instead of those issued by 'keyplan token'. "
            "Disables the DynamoDB endpoint. If --host is not a loopback address, the home page, API docs"
            " and details in /health responses require a token.",
        ),
    ] = None,
    audience: Annotated[
        str | None, typer.Option("--audience", help="Required audience (aud claim) of the issuer's tokens.")
    ] = None,
    keys: Annotated[str | None, typer.Option("--keys", help="URL or path of the issuer's public keys (JWKS).")] = None,
    client_id: Annotated[
        str | None,
        typer.Option(
            "--client-id",
            help="OAuth client ID for signing in to the web pages. Set the client secret in KEYPLAN_CLIENT_SECRET.",
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option("--public-url", help="Base URL that browsers use to reach the server, if it is behind a proxy."),
    ] = None,
) -> None:
    """Run the five example systems (APIs, web pages and workers), and a DynamoDB endpoint on the same port."""
    from keyplan_systems.up.launch import Settings, UpError  # noqa: PLC0415 - loaded when run
    from keyplan_systems.up.launch import up as run  # noqa: PLC0415

    if endpoint is not None and aws is not None:
        raise refusal("keyplan up: use --endpoint or --aws, not both")
    url = endpoint if endpoint is not None else f"aws://{aws}" if aws is not None else None
    settings = Settings(
        folder,
        host,
        port,
        tuple(system or ()),
        url,
        sample,
        log_level,
        issuer=issuer,
        audience=audience,
        keys=keys,
        client_id=client_id,
        public_url=public_url,
    )
    try:
        run(settings, lambda line: typer.echo(f"keyplan up: {line}"))
    except UpError as error:
        raise refusal(f"keyplan up: {error}", code=1) from None


def token(
    subject: Annotated[str, typer.Argument(help="ID of the user to issue the token for.")],
    folder: Annotated[Path, typer.Option("--folder", help="Data folder of the server.")] = Path("keyplan-data"),
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="Role to include in the token, such as administrators. Can be repeated."),
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option("--claim", help="Claim to include in the token, such as email=ada@example.org. Can be repeated."),
    ] = None,
) -> None:
    """Print a development token that is valid for one hour on a server started by 'keyplan up'."""
    from keyplan_systems.up.launch import AUDIENCE, UpError, key_of  # noqa: PLC0415 - loaded when run
    from keyplan_systems.web.development import issue_development_token  # noqa: PLC0415

    pairs = [text.partition("=") for text in claim or ()]
    for name, sign, value in pairs:
        if not (name and sign):
            argument = f"{name}{sign}{value}"
            raise refusal(f"keyplan token: --claim expects name=value, such as email=ada@example.org, not {argument!r}")
    try:
        key = key_of(folder)
    except UpError as error:
        raise refusal(f"keyplan token: {error}", code=1) from None
    claims = {name: value for name, _, value in pairs}
    typer.echo(issue_development_token(key, subject, audience=AUDIENCE, roles=tuple(role or ()), claims=claims))


def demo(  # noqa: PLR0917 - one parameter per option, given by name
    url: Annotated[
        str | None,
        typer.Option("--url", help="URL of a server started by 'keyplan up'. If omitted, the demo starts its own."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", help="Data folder of the server at --url. Required with --url, unless --browser is given."
        ),
    ] = None,
    system: Annotated[
        list[str] | None, typer.Option("--system", help="Run only the steps for this system. Can be repeated.")
    ] = None,
    stay: Annotated[
        bool | None,
        typer.Option(
            "--stay/--no-stay",
            help="Keep the demo's own server running until you press Ctrl-C, so that the printed links work. Enabled"
            " by default in a terminal.",
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser", help="Run the scenario in browser windows, side by side. Requires Playwright.")
    ] = False,
    pace: Annotated[
        float,
        typer.Option(
            "--pace", min=0, max=60, help="Seconds to pause after each step in the browser. 0 disables the pauses."
        ),
    ] = 1.0,
    headless: Annotated[
        bool, typer.Option("--headless", help="Run the scenario in a browser without showing windows.")
    ] = False,
) -> None:
    """Run a scripted scenario against the example systems, and print each step with links to the results.

    With --browser, the scenario runs in the systems' web pages, slowly enough to follow.
    """
    from keyplan_systems.up.demo import BrowserSettings  # noqa: PLC0415 - loaded when run
    from keyplan_systems.up.demo import demo as play  # noqa: PLC0415
    from keyplan_systems.up.launch import UpError  # noqa: PLC0415

    browser_settings = BrowserSettings(pace, headless) if browser or headless else None
    keep_running = sys.stdout.isatty() if stay is None else stay
    try:
        play(url, folder, system or [], typer.echo, keep_running=keep_running, browser_settings=browser_settings)
    except UpError as error:
        raise refusal(f"keyplan demo: {error}", code=1) from None


def ask_mcp(  # noqa: PLR0917 - one parameter per option, given by name
    url: Annotated[
        str, typer.Option("--url", envvar="ASK_A_HUMAN_URL", help="URL of the running Ask-a-Human system.")
    ] = ("http://127.0.0.1:8000/ask_a_human"),
    agent: Annotated[
        str | None, typer.Option("--agent", envvar="ASK_A_HUMAN_AGENT", help="ID of the agent that asks questions.")
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            "--secret",
            envvar="ASK_A_HUMAN_SECRET",
            help="The agent's secret. Other users of the machine can see it in the process list, so prefer the "
            "environment variable ASK_A_HUMAN_SECRET.",
        ),
    ] = None,
    transport: Annotated[
        Literal["stdio", "http"], typer.Option("--transport", help="Transport for MCP clients.")
    ] = "stdio",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port for the http transport.")] = 8765,
    host: Annotated[str, typer.Option("--host", help="Loopback address for the http transport.")] = "127.0.0.1",
    credentials: Annotated[
        Path | None,
        typer.Option(
            "--credentials",
            help="File that stores the agent's credentials, used only if --agent is omitted. If the file does not "
            "exist, the MCP server registers a new agent and saves its credentials there.",
        ),
    ] = None,
) -> None:
    """Run a Model Context Protocol (MCP) server that lets AI agents use Ask-a-Human, one of the example systems."""
    try:
        server = importlib.import_module("keyplan_systems.ask_a_human.mcp")
    except ModuleNotFoundError as error:
        raise refusal(f"keyplan ask-mcp: {error.name} is not installed; pip install 'keyplan-systems[mcp]'") from None
    try:
        server.serve(url, agent, secret, transport, host, port, credentials)
    except ValueError as error:
        raise refusal(f"keyplan ask-mcp: {error}") from None
    except (server.AskError, OSError) as error:
        raise refusal(f"keyplan ask-mcp: {error}", code=1) from None


def lake(
    system: Annotated[str, typer.Argument(help="Name of the example system, such as todo.")],
    action: Annotated[Action, typer.Argument(help="Action to run, as listed above.")],
    text: Annotated[str | None, typer.Argument(help="SQL statement for `query`, or report name for `report`.")] = None,
    *,
    lake: Annotated[
        str | None,
        typer.Option(
            "--lake", help="Location of the lake: a folder or s3://bucket/prefix. Defaults to keyplan-data/SYSTEM/lake."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Value of a report parameter, as name=value. Can be repeated.")
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            help="Database that contains the system's table, for feed and catch-up. A file path, "
            "http://host:port or aws://region.",
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="For catch-up: folder that contains a full export of the table.")
    ] = None,
    format: Annotated[Format, typer.Option("--format", help="Output format.")] = "table",
) -> None:
    """Query or update the data lake of an example system.

    * `query` runs an SQL statement.
    * `report` runs a predefined report, and `reports` lists these reports.
    * `feed` copies the records of the table's stream to the lake.
    * `catch-up` rebuilds the lake from the table or from a full export.
    * `refresh` updates the silver and gold layers from stored events.
    * `compact` merges small files.

    For example:

    keyplan lake todo query "SELECT * FROM gold.kpis"

    keyplan lake todo report tasks_by_status

    keyplan lake todo catch-up --database keyplan-data/keyplan.db
    """
    commands = _commands(system)
    location = lake or f"keyplan-data/{system}/lake"
    arguments = commands.CommandArguments(location, text, _parameters(set_ or ()), database, export)
    try:
        with report_progress(f"keyplan lake {system} {action}: running"):
            output = commands.ACTIONS[action](arguments)
    except commands.ERRORS as error:
        raise refusal(f"keyplan lake {system} {action}: {error}", code=1) from None
    _PRINT[format](output)


def _commands(system: str) -> Any:
    package = f"keyplan_systems.{system}.lake"
    try:
        if not _SYSTEM.fullmatch(system):
            raise ModuleNotFoundError(name=package)
        return importlib.import_module(f"{package}.commands")
    except ModuleNotFoundError as error:
        if (error.name is not None and package.startswith(error.name)) or error.name == f"{package}.commands":
            raise refusal(f"keyplan lake: {system} is not a system with a lake") from None
        raise refusal(f"keyplan lake: {error.name} is not installed; pip install 'keyplan-systems[lake]'") from None


def _parameters(arguments: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in arguments]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise refusal(f"keyplan lake: --set expects name=value, not {name!r}")
    return {name: value for name, _, value in pairs}


def _table(output: Any) -> None:
    from rich.console import Console  # noqa: PLC0415 - `keyplan --help` needs no tables

    Console().print(output.terminal)


def _json(output: Any) -> None:
    import orjson  # noqa: PLC0415

    typer.echo(orjson.dumps(output.rows.to_pylist(), default=str, option=orjson.OPT_INDENT_2).decode())


def _csv(output: Any) -> None:
    writer = csv.writer(sys.stdout)
    writer.writerow(output.rows.column_names)
    writer.writerows(row.values() for row in output.rows.to_pylist())


_PRINT = {"table": _table, "json": _json, "csv": _csv}
