"""The actions of `keyplan lake todo`, by name. Each action accepts the command line arguments and returns the output to
print.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

import keyplan
from keyplan.clock import SystemClock
from keyplan.errors import KeyplanError
from keyplan_systems.todo.exports import ExportError, items_of_export, time_of_export
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.lake import charts
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.lake.reports import REPORTS


class CommandError(Exception):
    """Raised if the arguments are invalid for the action. The message describes how to fix them."""


@dataclass(frozen=True)
class CommandArguments:
    """The command line arguments of `keyplan lake todo`."""

    lake: str
    """Location of the data lake: a folder or s3://bucket/prefix."""
    text: str | None = None
    """The SQL statement to run, or the name of a report."""
    parameters: Mapping[str, str] | None = None
    database: str | None = None
    """The database that contains the table: a file path, http://host:port or aws://region."""
    export: Path | None = None
    """Folder that contains a full export of the table."""


@dataclass(frozen=True)
class CommandResult:
    """The result of an action, as rows and as terminal output."""

    rows: Any
    """The rows of the result, as an Arrow table."""
    terminal: Any
    """The result as an object that `rich` can print."""


ERRORS: tuple[type[Exception], ...] = (CommandError, ExportError, KeyplanError, OSError)
"""Exceptions that actions are expected to raise. Their messages are shown to users."""


def query(arguments: CommandArguments) -> CommandResult:
    """Run one read-only SQL statement."""
    rows = _open_existing(arguments).query(
        _require(arguments.text, "the SQL statement"), dict(arguments.parameters or {})
    )
    try:
        return CommandResult(rows, charts.table(rows))
    except (OverflowError, ValueError) as error:  # an infinite date, a date after the year 9999, or nanoseconds
        raise CommandError(
            f"a value in the result cannot be shown: {error}; convert it to text, as in x::VARCHAR"
        ) from None


def report(arguments: CommandArguments) -> CommandResult:
    """Run a named report. If the report compares values, they are shown as bars."""
    name, lake = _require(arguments.text, "the name of a report"), _open_existing(arguments)
    parameters = _typed_parameters(name, arguments.parameters or {})
    rows = lake.report(name, **parameters)
    return CommandResult(rows, charts.render(rows, REPORTS[name]))


def reports(_arguments: CommandArguments) -> CommandResult:
    """List the named reports."""
    parameters = {
        name: [f"{key}={value}" for key, value in report.parameters.items()] for name, report in REPORTS.items()
    }
    rows = pa.Table.from_pylist(
        [
            {"report": name, "question": report.title, "parameters": ", ".join(parameters[name])}
            for name, report in REPORTS.items()
        ]
    )
    return CommandResult(rows, charts.table(rows))


def refresh(arguments: CommandArguments) -> CommandResult:
    """Update the silver and gold layers with the events in the bronze layer."""
    return _state(_open_existing(arguments), lambda lake: lake.refresh())


def compact(arguments: CommandArguments) -> CommandResult:
    """Merge small files, and remove files that are not part of any version in use."""
    return _state(_open_existing(arguments), lambda lake: (lake.compact(), lake.vacuum()))


def feed(arguments: CommandArguments) -> CommandResult:
    """Store all pending records of the table's stream in the lake, and refresh the lake."""
    lake = Lake.open(arguments.lake)
    with _feed(arguments, lake) as connected:
        connected.feed.run_once()
    return _state(lake, lambda lake: lake.refresh())


def catch_up(arguments: CommandArguments) -> CommandResult:
    """Rebuild the lake from a full export, or from all current items of the table."""
    lake = Lake.open(arguments.lake)
    if arguments.export is not None:
        lake.rebuild_from_items(items_of_export(arguments.export), time_of_export(arguments.export))
    else:
        with _feed(arguments, lake) as connected:
            connected.feed.catch_up()
    return _state(lake, lambda lake: lake.refresh())


ACTIONS: Mapping[str, Callable[[CommandArguments], CommandResult]] = {
    "query": query,
    "report": report,
    "reports": reports,
    "refresh": refresh,
    "compact": compact,
    "feed": feed,
    "catch-up": catch_up,
}


class _ConnectedFeed:
    """A feed together with its database connection. `close` closes both."""

    def __init__(self, database: str, lake: Lake) -> None:
        clock = SystemClock()
        self._connection = keyplan.connect(database, clock=clock)
        self.feed = Feed(self._connection, lake, clock=clock)

    def close(self) -> None:
        self.feed.close()
        self._connection.close()


def _feed(arguments: CommandArguments, lake: Lake) -> closing[Any]:
    return closing(
        _ConnectedFeed(_require(arguments.database, "--database (the database that contains the table)"), lake)
    )


def _open_existing(arguments: CommandArguments) -> Lake:
    lake = Lake.open(arguments.lake)
    if not lake.snapshot.version:
        raise CommandError(
            f"no lake at {arguments.lake}: set its location with --lake, or create it with feed or catch-up"
        )
    return lake


def _require(value: str | None, name: str) -> str:
    if not value:
        raise CommandError(f"missing required argument: {name}")
    return value


def _typed_parameters(name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of a report, each converted to the type of its default value if possible."""
    parameters = REPORTS[name].parameters if name in REPORTS else {}
    typed: dict[str, Any] = dict(texts)
    for key, value in texts.items():
        if isinstance(parameters.get(key), int):
            if not value.isdecimal():
                raise CommandError(f"{key} must be a number, not {value!r}")
            typed[key] = int(value)
    return typed


def _state(lake: Lake, operation: Callable[[Lake], object]) -> CommandResult:
    operation(lake)
    newest = lake.snapshot
    rows = pa.Table.from_pylist(
        [
            {
                "version": newest.version,
                "events": sum(file.rows for file in newest.files_of("bronze")),
                "bronze_files": len(newest.files_of("bronze")),
                "pending_files": len(newest.pending()),
                "exports": len(newest.baselines),
                "committed_at": datetime.fromtimestamp(newest.committed_at).astimezone().isoformat(timespec="seconds"),
            }
        ]
    )
    return CommandResult(rows, charts.table(rows))
