"""The command `keyplan fsck`, which checks the consistency of a database file."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from keyplan.cli.designs import refusal
from keyplan.errors import StorageError


def fsck(
    file: Annotated[Path, typer.Argument(help="The database file.", exists=True, dir_okay=False, readable=True)],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only problems.")] = False,
) -> None:
    """Check the consistency of a database file: its indexes, TTL expiry times, item collection sizes and backups.

    Other processes can keep using the file. Progress is printed to standard error after two seconds, and then every
    ten seconds. The exit code is 1 if a problem is found.
    """
    from keyplan.engine import fsck as checks  # noqa: PLC0415 - `keyplan --help` needs no engine
    from keyplan.engine import progress  # noqa: PLC0415
    from keyplan.engine.engine import Engine  # noqa: PLC0415

    try:
        with Engine.open(file) as engine, nullcontext() if quiet else progress.reporting_to(_print_line):
            problems = checks.check(engine)
            tables = len(engine.catalog.tables())
    except StorageError as error:
        raise refusal(f"keyplan fsck: {error}", code=1) from None
    for problem in problems:
        typer.echo(str(problem), err=True)
    if problems:
        raise refusal(f"{file}: {len(problems)} problem(s) in {tables} table(s)", code=1)
    if not quiet:
        typer.echo(f"{file}: {tables} table(s), no problems")


def _print_line(line: str) -> None:
    typer.echo(f"keyplan fsck: {line}", err=True)
