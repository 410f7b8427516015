"""The `keyplan` command: one file per subcommand."""

from __future__ import annotations

from typing import Annotated

import typer

from keyplan import __version__
from keyplan.cli import check, docs, explain, fsck, lake, price, serve, snapshot, up, verify

app = typer.Typer(
    name="keyplan",
    help="Data layers on Amazon DynamoDB.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(price.price)
app.command()(serve.serve)
app.command()(check.check)
app.command()(check.rule)
app.command()(docs.docs)
app.command()(explain.explain)
app.command()(fsck.fsck)
app.command()(lake.lake)
app.command()(snapshot.snapshot)
app.command()(verify.verify)
app.command()(up.up)
app.command()(up.token)
app.command()(up.demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"keyplan {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Data layers on Amazon DynamoDB: an embedded, durable, compatible engine."""
