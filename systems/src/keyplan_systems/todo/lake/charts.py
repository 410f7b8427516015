"""Displays the results of data lake queries in a terminal, as tables or, for comparisons, as bar charts."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rich.bar import Bar
from rich.table import Table
from rich.text import Text

from keyplan_systems.todo.lake.reports import Report

_BAR_CELLS = 40
_NOTHING = "none"


def render(result: Any, report: Report) -> Table:
    """Return the result of a report as a terminal table, with bars if the report compares values."""
    if not report.value:
        return table(result, report.title)
    return bars(result, report.label, report.value, report.title)


def table(result: Any, title: str = "") -> Table:
    """Return an Arrow table with all its columns as a terminal table. A single row is shown vertically."""
    if result.num_rows == 1:
        return _vertical_table(result.to_pylist()[0], title)
    terminal_table = Table(title=Text(title) if title else None)
    for name in result.column_names:
        terminal_table.add_column(Text(name), justify="right" if _is_number(result, name) else "left")
    for row in zip(*(result[name].to_pylist() for name in result.column_names), strict=True):
        terminal_table.add_row(*(_cell(value) for value in row))
    return terminal_table


def bars(result: Any, label: str, value: str, title: str = "") -> Table:
    """Return the column `value` of a result as bars, labelled with the values of the column `label`.

    Null values have no bar. All bars start at zero, so that their lengths can be compared. Raises ValueError for
    negative values.
    """
    values = result[value].to_pylist()
    if any(number is not None and number < 0 for number in values):
        raise ValueError(f"column {value} has negative values, which a bar chart cannot show")
    largest = max((float(number) for number in values if number is not None), default=0.0)
    terminal_table = Table(title=Text(title) if title else None)
    terminal_table.add_column(Text(label))
    terminal_table.add_column(Text(value), justify="right")
    terminal_table.add_column("", width=_BAR_CELLS)
    for name, number in zip(result[label].to_pylist(), values, strict=True):
        bar = Bar(largest or 1.0, 0, float(number or 0), width=_BAR_CELLS)
        terminal_table.add_row(_cell(name), _cell(number), bar)
    return terminal_table


def _vertical_table(row: Mapping[str, Any], title: str) -> Table:
    terminal_table = Table(title=Text(title) if title else None, show_header=False)
    for name, value in row.items():
        terminal_table.add_row(Text(name), _cell(value))
    return terminal_table


def _is_number(result: Any, name: str) -> bool:
    kind = str(result.schema.field(name).type)
    return kind.startswith(("int", "uint", "decimal", "double", "float"))


def _cell(value: Any) -> Text:
    """Return a value as text for the terminal.

    Titles and names are user input. Therefore markup is not interpreted, and each control character is replaced with a
    space.
    """
    text = _NOTHING if value is None else _digits(value) if isinstance(value, Decimal) else str(value)
    return Text("".join(char if char.isprintable() else " " for char in text), style="dim" if value is None else "")


def _digits(number: Decimal) -> str:
    """Return all digits of a number without trailing zeros. `Decimal.normalize` is not used, because it rounds to 28
    digits.
    """
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
