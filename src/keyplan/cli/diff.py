"""The command `keyplan diff`, which compares two versions of a design and plans the migration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyplan.cli.check import Format
from keyplan.cli.designs import Region, refusal
from keyplan.cli.price import book_of

if TYPE_CHECKING:
    from keyplan.check.checking import Report
    from keyplan.diff.comparison import Comparison
    from keyplan.diff.programs import LoadedDesign


def diff(
    old: Annotated[
        str,
        typer.Argument(
            help="The design that is in production: an importable module, such as app.design, or a Python file."
        ),
    ],
    new: Annotated[str, typer.Argument(help="The new design: an importable module or a Python file.")],
    format: Annotated[Format, typer.Option("--format", help="Output format.")] = "text",
    region: Region = "us-east-1",
    uses: Annotated[
        list[Path] | None,
        typer.Option("--uses", help="Python file or folder to search for calls to removed patterns. Can be repeated."),
    ] = None,
) -> None:
    """Compare two versions of a design, and plan the migration between them.

    Prints the changes, the roll-out steps in order, the monthly cost of both versions, and findings about the change.
    The exit code is 1 if a finding is an error.
    """
    from keyplan.check.checking import check_change  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.cli.designs import load_by  # noqa: PLC0415
    from keyplan.diff.comparison import Comparison  # noqa: PLC0415
    from keyplan.diff.programs import UnreadableProgramError, load_isolated  # noqa: PLC0415

    book = book_of("diff", region)
    before, after = load_by(old, load_isolated), load_by(new, load_isolated)
    check_distinct(before, after)
    comparison = Comparison(before.design, after.design, book)
    if uses:
        try:
            comparison = comparison.with_uses(_module(new), uses, before.files | after.files)
        except UnreadableProgramError as error:
            raise refusal(f"keyplan diff: {error}") from None
    report = check_change(comparison)
    _print(comparison, report, format)
    if report.failed:
        raise typer.Exit(1)


def _module(target: str) -> str:
    """Return the last part of a module name, or the name of a file without its extension."""
    return Path(target).stem if target.endswith(".py") else target.rpartition(".")[2]


def check_distinct(old: LoadedDesign, new: LoadedDesign, command: str = "diff") -> None:
    """Exit with 2 if both designs import a table from the same file.

    Print the other files that both designs import, because changes in these files are not compared.
    """
    if old.file == new.file:
        return
    tables = old.tables_shared_with(new)
    if tables:
        raise refusal(
            f"keyplan {command}: both designs import table {', '.join(tables)} from {new.places[tables[0]]}: check out"
            " the whole old version (git worktree add ../old HEAD), and pass the design in it"
        )
    for path in sorted(old.files & new.files):
        typer.echo(f"keyplan {command}: both designs import {path}: its changes are not compared", err=True)


def _print(comparison: Comparison, report: Report, format: Format) -> None:
    import orjson  # noqa: PLC0415

    from keyplan.check import report as reports  # noqa: PLC0415
    from keyplan.diff import report as comparison_report  # noqa: PLC0415

    if format == "sarif":
        typer.echo(reports.sarif([report]), nl=False)
    elif format == "json":
        document = {**comparison_report.document(comparison), **reports.document(report)}
        typer.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n", nl=False)
    else:
        typer.echo(f"{comparison_report.text(comparison)}\n{reports.text([report])}", nl=False)
