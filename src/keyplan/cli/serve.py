"""The command `keyplan serve`, which serves the engine over HTTP for all AWS SDKs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from keyplan.cli import sample
from keyplan.cli.console import NOT_INSTALLED, MountedConsole, is_installed
from keyplan.cli.designs import refusal

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


class Durability(StrEnum):
    """The failures that acknowledged writes survive: a power failure ("full"), or only a crash of the process
    ("normal").
    """

    full = "full"
    normal = "normal"


def serve(  # noqa: PLR0917 - one parameter per option, given by name
    db: Annotated[
        str, typer.Option("--db", help="Database file, or :memory: for a temporary database.")
    ] = "keyplan.db",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on. 0 selects a free port.")
    ] = 8000,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    durability: Annotated[
        Durability,
        typer.Option(
            "--durability",
            help="full: acknowledged writes survive a power failure. normal: they survive a crash of the "
            "process, but not a power failure.",
        ),
    ] = Durability.full,
    credentials: Annotated[
        str | None,
        typer.Option(
            "--credentials",
            help="AWS credentials file. Only requests signed with an access key in this file are accepted.",
        ),
    ] = None,
    force_open: Annotated[
        bool,
        typer.Option(
            "--force-open", help="Allow listening on a non-loopback address without verifying request signatures."
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            help="Additional host name to accept in Host and Origin headers, such as host.docker.internal. "
            "Needed only when listening on a loopback address without --credentials. Can be repeated.",
        ),
    ] = None,
    buckets: Annotated[
        str | None,
        typer.Option(
            "--buckets",
            help="Storage for table exports and imports: s3:// to use Amazon S3, or a local folder, where the "
            "object s3://BUCKET/KEY is stored as the file BUCKET/KEY. If omitted, export and import requests are"
            " rejected.",
        ),
    ] = None,
    with_console: Annotated[
        bool, typer.Option("--console/--no-console", help="Serve the web console at /console/.")
    ] = True,
    with_sample: Annotated[bool, typer.Option("--sample", help="Create a sample table of films.")] = False,
) -> None:
    """Serve a database over HTTP, with the DynamoDB and DynamoDB Streams APIs on one port."""
    from keyplan.engine import progress  # noqa: PLC0415 - `keyplan --help` needs no engine
    from keyplan.server.launch import LaunchError, launch  # noqa: PLC0415 - `keyplan --help` needs no server

    try:
        console = MountedConsole.for_server(db, host, allow_host or []) if with_console else None
    except ValueError as error:
        raise refusal(f"keyplan serve: {error}") from None

    def prepare(engine: Engine) -> None:
        if with_sample:
            sample.load(engine)
        if console is not None:
            console.record(engine)

    def hints(url: str) -> list[str]:
        lines = [console.hint(url)] if console is not None else []
        if with_console and not is_installed():
            lines.append(f"console: {NOT_INSTALLED}")
        return lines + (sample.hints(url, accepts_any=credentials is None) if with_sample else [])

    try:
        with progress.reporting_to(_print_line):
            launch(
                db=db,
                host=host,
                port=port,
                durability=durability.value,
                credentials=credentials,
                force_open=force_open,
                allowed_hosts=allow_host or (),
                buckets=buckets,
                print_line=_print_line,
                prepare=prepare,
                hints=hints,
                pages=console.pages if console is not None else None,
            )
    except LaunchError as error:
        raise refusal(f"keyplan serve: {error}", code=error.code) from None


def _print_line(line: str) -> None:
    """Print a line with the prefix "keyplan serve: ". An indented line is a command to copy, and is printed without a
    prefix.
    """
    typer.echo(line if line.startswith("  ") else f"keyplan serve: {line}")
