"""`keyplan lake`: SQL and reports over a system's data lake, and the care of it."""

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

Action = Literal["query", "report", "reports", "refresh", "compact", "feed", "catch-up"]
Format = Literal["table", "json", "csv"]
_SYSTEM = re.compile(r"[a-z][a-z_]*")


def lake(
    system: Annotated[str, typer.Argument(help="The system whose lake it is, such as todo.")],
    action: Annotated[Action, typer.Argument(help="What is to be done.")],
    text: Annotated[str | None, typer.Argument(help="The SQL of a query, the name of a report.")] = None,
    *,
    lake: Annotated[
        str | None, typer.Option("--lake", help="A folder or s3://bucket/prefix; keyplan-data/SYSTEM/lake if left out.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A parameter as name=value.")] = None,
    database: Annotated[
        str | None, typer.Option("--database", help="Of the table: a file, http://host:port or aws://region.")
    ] = None,
    export: Annotated[Path | None, typer.Option("--export", help="A folder with a full export of the table.")] = None,
    format: Annotated[Format, typer.Option("--format", help="How rows are printed.")] = "table",
) -> None:
    """Ask a system's data lake, or bring it up to date.

    keyplan lake todo query "SELECT * FROM gold.kpis"; keyplan lake todo report tasks_by_status;
    keyplan lake todo catch-up --database keyplan-data/keyplan.db
    """
    commands = _commands(system)
    where = lake or f"keyplan-data/{system}/lake"
    order = commands.Order(where, text, _parameters(set_ or ()), database, export)
    try:
        shown = commands.ACTIONS[action](order)
    except commands.ERRORS as error:
        raise refusal(f"keyplan lake {system} {action}: {error}", code=1) from None
    _PRINT[format](shown)


def _commands(system: str) -> Any:
    """The system's lake: found by its name when it is asked for, for the toolkit knows no systems."""
    package = f"keyplan_systems.{system}.lake"
    try:
        if not _SYSTEM.fullmatch(system):
            raise ModuleNotFoundError(name=package)
        return importlib.import_module(f"{package}.commands")
    except ModuleNotFoundError as error:
        if (error.name is not None and package.startswith(error.name)) or error.name == f"{package}.commands":
            raise refusal(f"keyplan lake: {system} is no system with a lake") from None
        raise refusal(f"keyplan lake: {error.name} is not installed; pip install 'keyplan[systems,lake]'") from None


def _parameters(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for name, found, _ in pairs:
        if not name or not found:
            raise refusal(f"keyplan lake: --set takes name=value, not {name!r}")
    return {name: value for name, _, value in pairs}


def _table(shown: Any) -> None:
    from rich.console import Console  # noqa: PLC0415 - `keyplan --help` needs no tables

    Console().print(shown.terminal)


def _json(shown: Any) -> None:
    import orjson  # noqa: PLC0415

    typer.echo(orjson.dumps(shown.rows.to_pylist(), default=str, option=orjson.OPT_INDENT_2).decode())


def _csv(shown: Any) -> None:
    writer = csv.writer(sys.stdout)
    writer.writerow(shown.rows.column_names)
    writer.writerows(row.values() for row in shown.rows.to_pylist())


_PRINT = {"table": _table, "json": _json, "csv": _csv}
