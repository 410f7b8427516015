"""The stored figures in `results.json`, and the pages that show them: README and documentation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from bench import comparing
from bench.lines import TIMES, Line, figure_text, reasons
from bench.workload import Operation

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).with_name("results.json")
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "engine" / "speed.md"

START, END = "<!-- figures -->", "<!-- /figures -->"
DIGITS = 4
# Folders of the measuring machine are private; file names may stay.
FOLDERS = re.compile(r"(?<![\w/:])/(?:[\w.@+-]+/)+")


@dataclass(frozen=True, slots=True)
class Record:
    """A complete run: the machine in general terms, a note about each target, and all lines of the table."""

    machine: dict[str, Any]
    notes: dict[str, str]
    missing: dict[str, str]
    lines: list[Line]

    @property
    def setting(self) -> str:
        """The machine and the date in a few words."""
        facts = self.machine
        return f"{facts['cores']} cores, {facts['python']}, load average {facts['load_average']}, {facts['at'][:10]}"


def write(record: Record, path: Path = RESULTS) -> None:
    """Write a run to a file with one line per line of the table, so that two runs can be compared as text."""
    head = {"machine": record.machine, "notes": record.notes, "missing": _without_folders(record.missing)}
    rows = ",\n".join("    " + json.dumps(asdict(_rounded(line))) for line in record.lines)
    path.write_text(json.dumps(head, indent=2)[:-2] + f',\n  "lines": [\n{rows}\n  ]\n}}\n')


def read(path: Path = RESULTS) -> Record:
    content = json.loads(path.read_text())
    return Record(content["machine"], content["notes"], content["missing"], [Line(**line) for line in content["lines"]])


def fill(record: Record) -> list[Path]:
    """Write the figures of a run to the pages, and return the changed pages."""
    changed = []
    for path, text in pages(record).items():
        if path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    return changed


def pages(record: Record) -> dict[Path, str]:
    """Return each page with the figures of a run."""
    blocks: dict[Path, Callable[[Record], str]] = {README: short_block, PAGE: whole_block}
    return {path: fill_block(path.read_text(), block(record)) for path, block in blocks.items()}


def fill_block(page: str, block: str) -> str:
    """Return a page in which the text between the two markers is replaced.

    Raises ValueError unless the page has exactly one pair of markers.
    """
    if page.count(START) != 1 or page.count(END) != 1:
        raise ValueError(f"a page needs {START} and {END} once each")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{block}\n\n{END}{after}"


def short_block(record: Record) -> str:
    """Return the block for the README: calls per second, and the ratio to the fastest peer."""
    over_http = comparing.http_section(comparing.CONNECTIONS)
    rows = ["|calls/s, 1 KB items|in process|x best peer|HTTP, synced|x best peer|", "|---|---:|---:|---:|---:|"]
    for operation in Operation:
        cells = [
            cell
            for section, target in ((comparing.IN_PROCESS, "engine"), (over_http, "http"))
            for cell in _against_best(record.lines, section, target, operation)
        ]
        rows.append(f"|{'|'.join([operation, *cells])}|")
    return "\n".join([*rows, "", f"{record.setting}."])


def whole_block(record: Record) -> str:
    """Return the block for the documentation: all lines, with one table per section."""
    parts = [f"Measured on {record.setting}; {_bounds_text(record.lines)}."]
    for section, lines in groupby(record.lines, key=lambda line: line.section):
        rows = [
            f"## {section[0].upper()}{section[1:]}",
            "",
            "| measurement | target | figure | compared with | its figure | ratio | required | met |",
            "|---|---|---:|---|---:|---:|---|---|",
        ]
        parts.append("\n".join([*rows, *_rows(list(lines))]))
    lists = {
        "What each target was": [f"`{name}`: {note}" for name, note in record.notes.items()],
        "What was not measured": [
            *(f"`{reason}`" for reason in reasons(record.lines)),
            *(f"{name}: `{reason}`" for name, reason in record.missing.items()),
        ],
    }
    for heading, entries in lists.items():
        if entries:
            parts.append("\n".join([f"## {heading}", "", *(f"* {entry}" for entry in entries)]))
    return "\n\n".join(parts)


def _against_best(lines: Sequence[Line], section: str, target: str, label: str) -> tuple[str, str]:
    """Return a target's figure, and its ratio to the fastest other target that supports the operation."""
    matching = [line for line in lines if (line.section, line.target, line.what) == (section, target, label)]
    figure = next((line.figure for line in matching), None)
    ratio = min((line.ratio for line in matching if line.ratio is not None), default=None)
    return (
        "-" if figure is None else f"{_significant(figure, 3):,.0f}",
        "-" if ratio is None else figure_text(ratio, TIMES).removesuffix(f" {TIMES}"),
    )


def _rows(lines: Sequence[Line]) -> Iterator[str]:
    for line in lines:
        other, ratio = (
            (figure_text(line.other, line.unit), figure_text(line.ratio, TIMES)) if line.against else ("", "")
        )
        result_text = {True: "yes", False: "no", None: "-" if line.required else ""}[line.is_within_limit]
        cells = (line.what, line.target, figure_text(line.figure, line.unit), line.against, other, ratio)
        yield f"| {' | '.join((*cells, line.required, result_text))} |"


def _bounds_text(lines: Sequence[Line]) -> str:
    results = [line.is_within_limit for line in lines if line.is_within_limit is not None]
    return f"{sum(results)} of {len(results)} required bounds met"


def _rounded(line: Line) -> Line:
    figure, other = (None if value is None else _significant(value, DIGITS) for value in (line.figure, line.other))
    return replace(line, figure=figure, other=other, reason=FOLDERS.sub("", line.reason))


def _significant(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _without_folders(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: FOLDERS.sub("", text) for name, text in texts.items()}
