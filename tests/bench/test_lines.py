"""Lines of the table: ratios, bounds, and how they read."""

from __future__ import annotations

import io

import pytest
from bench.lines import Line, figure_text, not_measured
from rich.console import Console

from bench import report

FASTER = Line("s", "get", "ours", 300.0, "/s", "theirs", 10.0, 20.0, "at least")


def test_the_limit_applies_to_the_ratio_if_there_are_two_figures() -> None:
    assert (FASTER.ratio, FASTER.compared_value, FASTER.required, FASTER.is_within_limit) == (
        30.0,
        30.0,
        "at least 20 x",
        True,
    )


def test_the_limit_applies_to_the_figure_if_there_is_only_one() -> None:
    slow = Line("s", "start", "ours", 800.0, "ms", limit=700.0)
    assert (slow.ratio, slow.compared_value, slow.required, slow.is_within_limit) == (
        None,
        800.0,
        "at most 700 ms",
        False,
    )
    many = Line("s", "items", "ours", 25_000.0, "/s", limit=20_000.0, direction="at least")
    assert (many.required, many.is_within_limit) == ("at least 20,000/s", True)


def test_a_line_without_a_limit_is_neither_met_nor_missed() -> None:
    line = Line("s", "get", "ours", 1.0, "us", "theirs", 2.0)
    assert (line.ratio, line.required, line.is_within_limit) == (0.5, "", None)


def test_a_bound_is_missed_without_our_figure_and_open_without_theirs() -> None:
    assert Line("s", "get", "ours", None, "/s", "theirs", 10.0, 20.0, "at least").is_within_limit is False
    assert Line("s", "get", "ours", 300.0, "/s", "theirs", None, 20.0, "at least").is_within_limit is None
    assert not_measured("s", OSError("no disk")).is_within_limit is False


@pytest.mark.parametrize(
    ("figure", "unit", "text"),
    [
        (12345.6, "/s", "12,346/s"),
        (45.67, "us", "45.7 us"),
        (2.345, "x", "2.35 x"),
        (0.0, "MiB", "0.00 MiB"),
        (None, "/s", "-"),
    ],
)
def test_figures_are_printed_with_significant_digits(figure: float | None, unit: str, text: str) -> None:
    assert figure_text(figure, unit) == text


def test_the_table_has_all_lines_reasons_and_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    monkeypatch.setattr(report, "console", Console(file=output, width=140))
    undone = Line("s", "transact", "ours", 5.0, "/s", "theirs", None, 20.0, "at least", "theirs: [unknown] operation")
    report.print_lines([FASTER, undone, not_measured("t", OSError("no disk"))])
    report.print_missing({"one": "not installed", "other": "not installed"})
    text = output.getvalue()
    assert [cell.strip() for cell in next(row for row in text.splitlines() if "300/s" in row).split("│")[1:-1]] == [
        "get", "ours", "300/s", "theirs", "10.0/s", "30.0 x", "at least 20 x", "yes",
    ]  # fmt: skip
    assert "s, transact: theirs: [unknown] operation" in text
    assert "t, not measured: OSError: no disk" in text
    assert "1 of 3 required bounds are met, 1 have nothing to compare with" in text
    assert "left out: one, other: not installed" in text
