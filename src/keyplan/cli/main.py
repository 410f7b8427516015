"""The `keyplan` command, with one module per subcommand."""

from __future__ import annotations

import errno
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from keyplan import __version__
from keyplan.cli import check, console, diff, docs, export, fsck, importing, price, serve, snapshot, verify
from keyplan.cli.designs import refusal

_DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The error numbers of writes that fail because the disk is full, a quota is exhausted, or the file size limit is
reached.
"""


_SYSTEMS_COMMANDS = frozenset({"ask-mcp", "demo", "lake", "token", "up"})
"""The names of the commands that the keyplan-systems distribution adds."""


class _Commands(TyperGroup):
    """A command group that handles output errors.

    If the disk is full, the command prints a message and exits with 1. If the output pipe is closed, it exits with 1
    without a message. If a file name is too long, it exits with 2.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with the given name. If it requires the keyplan-systems distribution, exit with a hint."""
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in _SYSTEMS_COMMANDS:
            raise refusal(f"keyplan {cmd_name}: not installed; pip install keyplan-systems")
        return command

    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            try:
                return super().main(*arguments, **options)
            finally:
                if sys.stdout is not None:  # in a process that was started without standard output
                    sys.stdout.flush()
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                typer.echo(f"keyplan: {error.strerror}: {error.filename}", err=True)
                raise SystemExit(2) from None
            if error.errno not in _DISK_FULL_ERRORS | {errno.EPIPE}:
                raise
            sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - flushed at the very end
            if error.errno in _DISK_FULL_ERRORS:
                typer.echo(f"keyplan: output cannot be written: {error.strerror}", err=True)
            raise SystemExit(1) from None


app = typer.Typer(
    name="keyplan",
    cls=_Commands,
    help="Design, check, price and run data layers on Amazon DynamoDB.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command()(price.price)
app.command()(serve.serve)
app.command()(console.console)
app.command()(check.check)
app.command()(check.rule)
app.command()(diff.diff)
app.command()(docs.docs)
app.command()(check.explain)
app.add_typer(export.app, name="export")
app.command()(fsck.fsck)
app.add_typer(importing.app, name="import")
app.command()(snapshot.snapshot)
app.command()(verify.verify)
for _point in entry_points(group="keyplan.commands"):
    app.command(_point.name)(_point.load())


def _show_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"keyplan {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Define the options of the `keyplan` command itself."""
