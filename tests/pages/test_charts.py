"""Charts as SVG: scales, gaps, descriptions, escaped labels."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from keyplan.pages.charts import bars, lines


def ticks(svg: str) -> list[str]:
    """Return the labels of the vertical axis."""
    return re.findall(r'text-anchor="end">([^<]*)</text>', svg)


@pytest.mark.parametrize(
    ("largest", "labels"),
    [(3, ["0", "1", "2", "3"]), (5, ["0", "2", "4", "6"]), (100, ["0", "50", "100"]), (0, ["0", "1"])],
)
def test_the_axis_of_whole_numbers_has_distinct_round_labels(largest: int, labels: list[str]) -> None:
    assert (
        ticks(lines("Tasks", [str(number) for number in range(20)], [("tasks", [largest] * 20)]))[: len(labels)]
        == labels
    )


def test_long_labels_of_the_axis_fit_into_the_chart() -> None:
    svg = lines("Cost", ["a", "b"], [("total", [1_000_000, 2_000_000])], unit="$")
    places = re.findall(r'<text class="chart-tick" x="(\d+)" y="[^"]*" text-anchor="end">([^<]*)</text>', svg)
    assert "$2,000,000" in [label for _, label in places]
    assert all(int(x) >= 7 * len(label) for x, label in places)


def test_a_legend_has_two_columns_so_that_long_names_do_not_overlap() -> None:
    svg = lines("Requests", ["a", "b"], [(f"pattern_with_a_name_{number}", [1, 2]) for number in range(3)])
    places = re.findall(r'<rect class="series-\d" x="(\d+)" y="(\d+)"', svg)
    assert [y for _, y in places] == ["246", "246", "272"]
    assert places[0][0] == places[2][0]
    assert "pattern_with_a_name_2" in svg


def test_a_missing_value_leaves_a_gap() -> None:
    svg = lines("Hours", ["a", "b", "c", "d", "e"], [("hours", [1, 2, None, 3, 4])])
    assert svg.count("<polyline") == 2
    assert svg.count("<circle") == 4


def test_labels_are_escaped_and_the_chart_is_well_formed() -> None:
    hostile = '"><script>alert(1)</script>'
    for svg in (bars(hostile, [(hostile, 1)]), lines(hostile, [hostile], [(hostile, [1]), ("b", [2])])):
        assert "<script>" not in svg
        ElementTree.fromstring(svg)


def test_a_chart_describes_its_numbers_to_screen_readers() -> None:
    assert "<desc>home: 3, work: 1</desc>" in bars("Tasks", [("home", 3), ("work", 1)])
    assert "<desc>hours: Mon none, Tue 2.5</desc>" in lines("Hours", ["Mon", "Tue"], [("hours", [None, 2.5])], digits=1)
