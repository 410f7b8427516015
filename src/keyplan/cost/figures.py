"""Formats tables of figures as text with lines of up to 80 characters, for terminals, pipes and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Final

WIDTH: Final = 80
_INDENT: Final = 2
_GAP: Final = 2
Row = tuple[str, ...]


def wrapped(text: str, indent: str = "") -> str:
    """Wrap text into lines of up to 80 characters. Continuation lines are indented by two more characters."""
    return "\n".join(wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False))


def figure_table(header: Row, groups: Mapping[str, Sequence[Row]], *, left_aligned: Sequence[int] = (0,)) -> str:
    """Format rows as a table with the header `header`. Each group of rows belongs to a table or an index, whose name is
    printed on a line above the rows.

    The columns in `left_aligned` are left-aligned, and the others are right-aligned. If the first cell of a row is too
    long, it is printed on a separate line. Cells that exceed the number of columns in `header` are notes, each on its
    own line below the row.
    """
    columns = range(len(header))
    all_rows = [header, *(row for group in groups.values() for row in group)]
    widths = [max(len(row[column]) for row in all_rows) for column in columns]
    widths[0] = max(0, min(widths[0], WIDTH - _INDENT - sum(widths[1:]) - _GAP * (len(header) - 1)))
    lines = [*_cells(header, widths, left_aligned)]
    for heading, group in groups.items():
        lines += ["", wrapped(heading)]
        for row in group:
            lines += _cells(row[: len(header)], widths, left_aligned)
            lines += [wrapped(note, " " * 2 * _INDENT) for note in row[len(header) :]]
    return "\n".join(lines)


def _cells(row: Row, widths: Sequence[int], left_aligned: Sequence[int]) -> Iterator[str]:
    indent = " " * _INDENT
    if len(row[0]) > widths[0]:
        yield indent + row[0]
        row = ("", *row[1:])
    cells = (
        cell.ljust(width) if column in left_aligned else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    yield (indent + (" " * _GAP).join(cells)).rstrip()


def bars(rows: Sequence[tuple[str, float, str]]) -> str:
    """Format a bar chart. Each row has a name, a value, and the value formatted as text. The longest bar ends at the
    margin.
    """
    largest = max((value for _, value, _ in rows), default=0.0) or 1.0
    name_width = min(max((len(name) for name, _, _ in rows), default=0), WIDTH // 2)
    text_width = max((len(text) for _, _, text in rows), default=0)
    bar_width = WIDTH - name_width - text_width - _INDENT - 2 * _GAP
    lines = []
    for name, value, text in rows:
        padded_name = name if len(name) <= name_width else f"{name}\n{' ' * (_INDENT + name_width)}"
        bar = "█" * round(bar_width * value / largest)
        lines.append(f"{' ' * _INDENT}{padded_name.ljust(name_width)}  {text.rjust(text_width)}  {bar}".rstrip())
    return "\n".join(lines)
