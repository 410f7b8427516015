"""What `keyplan lake todo ...` does: each action by its name, from arguments to something to show."""

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
from keyplan_systems.todo.exports import ExportError, items_of_export, moment_of_export
from keyplan_systems.todo.feed import Feed
from keyplan_systems.todo.lake import charts
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.lake.reports import REPORTS


class CommandError(Exception):
    """The arguments do not fit the action; the text says what to do."""


@dataclass(frozen=True)
class Order:
    """What was asked on the command line."""

    lake: str
    """A folder or s3://bucket/prefix."""
    text: str | None = None
    """SQL of a query, name of a report."""
    parameters: Mapping[str, str] | None = None
    database: str | None = None
    """Of the table: a file, http://host:port or aws://region."""
    export: Path | None = None
    """A folder with a full export."""


@dataclass(frozen=True)
class Shown:
    """What an action gives: rows, and how a terminal shows them."""

    rows: Any
    """An Arrow table."""
    terminal: Any
    """For rich."""


ERRORS: tuple[type[Exception], ...] = (CommandError, ExportError, KeyplanError, OSError)
"""What an action may fail with; the text is for people."""


def query(order: Order) -> Shown:
    """Answer one reading SQL statement."""
    rows = _existing(order).query(_needed(order.text, "the SQL statement"), dict(order.parameters or {}))
    try:
        return Shown(rows, charts.table(rows))
    except (OverflowError, ValueError) as error:  # a date that is infinite or past the year 9999, nanoseconds
        raise CommandError(f"a value of the answer cannot be shown: {error}; ask for it as text, x::VARCHAR") from None


def report(order: Order) -> Shown:
    """Answer a named question; bars where it compares."""
    name, lake = _needed(order.text, "the name of a report"), _existing(order)
    parameters = _typed(name, order.parameters or {})
    rows = lake.report(name, **parameters)
    return Shown(rows, charts.drawn(rows, REPORTS[name]))


def reports(_order: Order) -> Shown:
    """List the named questions."""
    told = {name: [f"{key}={value}" for key, value in one.parameters.items()] for name, one in REPORTS.items()}
    rows = pa.Table.from_pylist(
        [{"report": name, "question": one.title, "parameters": ", ".join(told[name])} for name, one in REPORTS.items()]
    )
    return Shown(rows, charts.table(rows))


def refresh(order: Order) -> Shown:
    """Bring silver and gold up to what bronze holds."""
    return _state(_existing(order), lambda lake: lake.refresh())


def compact(order: Order) -> Shown:
    """Merge small files, and remove what no version in use names."""
    return _state(_existing(order), lambda lake: (lake.compact(), lake.vacuum()))


def feed(order: Order) -> Shown:
    """Read the table's stream into the lake, once, up to its end, and refresh."""
    lake = Lake.open(order.lake)
    with _feed(order, lake) as fed:
        fed.feed.run_once()
    return _state(lake, lambda lake: lake.refresh())


def catch_up(order: Order) -> Shown:
    """Let the lake rest on a full export, or on all items as the table now holds them."""
    lake = Lake.open(order.lake)
    if order.export is not None:
        lake.rebuild_from_items(items_of_export(order.export), moment_of_export(order.export))
    else:
        with _feed(order, lake) as fed:
            fed.feed.catch_up()
    return _state(lake, lambda lake: lake.refresh())


ACTIONS: Mapping[str, Callable[[Order], Shown]] = {
    "query": query,
    "report": report,
    "reports": reports,
    "refresh": refresh,
    "compact": compact,
    "feed": feed,
    "catch-up": catch_up,
}


class _FeedOf:
    """A feed with the connection under it."""

    def __init__(self, database: str, lake: Lake) -> None:
        clock = SystemClock()
        self._connection = keyplan.connect(database, clock=clock)
        self.feed = Feed(self._connection, lake, clock=clock)

    def close(self) -> None:
        self.feed.close()
        self._connection.close()


def _feed(order: Order, lake: Lake) -> closing[Any]:
    return closing(_FeedOf(_needed(order.database, "--database: where the table is"), lake))


def _existing(order: Order) -> Lake:
    lake = Lake.open(order.lake)
    if not lake.snapshot.version:
        raise CommandError(f"there is no lake at {order.lake}: name it with --lake, or fill it with feed or catch-up")
    return lake


def _needed(given: str | None, what: str) -> str:
    if not given:
        raise CommandError(f"this needs {what}")
    return given


def _typed(name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Parameters of a report as the kind of value that they have by default; text otherwise."""
    known = REPORTS[name].parameters if name in REPORTS else {}
    typed: dict[str, Any] = dict(given)
    for key, value in given.items():
        if isinstance(known.get(key), int):
            if not value.isdecimal():
                raise CommandError(f"{key} is a number, not {value!r}")
            typed[key] = int(value)
    return typed


def _state(lake: Lake, act: Callable[[Lake], object]) -> Shown:
    act(lake)
    newest = lake.snapshot
    rows = pa.Table.from_pylist(
        [
            {
                "version": newest.version,
                "events": sum(file.rows for file in newest.of("bronze")),
                "bronze_files": len(newest.of("bronze")),
                "pending_files": len(newest.pending()),
                "exports": len(newest.baselines),
                "committed_at": datetime.fromtimestamp(newest.committed_at).astimezone().isoformat(timespec="seconds"),
            }
        ]
    )
    return Shown(rows, charts.table(rows))
