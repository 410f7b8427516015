"""Text tables of figures fit into 80 characters, on a terminal and in a pipe."""

from __future__ import annotations

from keyplan.cost.figures import WIDTH, bars, figure_table, wrapped


def test_rows_are_listed_below_the_table_that_they_share() -> None:
    rows = {
        "orders": [("order", "0.5", "OK"), ("orders_of_customer", "12.0", "OK")],
        "orders/open": [("open", "3.0", "wrong")],
    }
    assert figure_table(("pattern", "units", "verdict"), rows, left_aligned=(0, 2)).splitlines() == [
        "  pattern             units  verdict",
        "",
        "orders",
        "  order                 0.5  OK",
        "  orders_of_customer   12.0  OK",
        "",
        "orders/open",
        "  open                  3.0  wrong",
    ]


def test_notes_are_below_their_row() -> None:
    lines = figure_table(("pattern", "units"), {"t": [("get", "0.5", "claimed 1 RCU")]}).splitlines()
    assert lines[-1] == "    claimed 1 RCU"


def test_a_name_that_is_too_long_has_its_own_line() -> None:
    name, figure = "n" * 75, "1" * 20
    lines = figure_table(("pattern", "units"), {"t": [(name, figure)]}).splitlines()
    assert lines[-2:] == [f"  {name}", figure.rjust(WIDTH)]
    assert max(map(len, lines)) <= WIDTH


def test_long_texts_are_wrapped_and_indented() -> None:
    lines = wrapped("assumed: " + "many words " * 20).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert all(line.startswith("  ") for line in lines[1:])


def test_the_largest_bar_ends_at_the_margin() -> None:
    lines = bars([("a", 10.0, "$10"), ("b", 5.0, "$5"), ("c", 0.0, "$0")]).splitlines()
    assert len(lines[0]) == WIDTH
    assert lines[0].count("█") == 2 * lines[1].count("█")
    assert lines[2] == "  c   $0"


def test_bars_of_nothing_are_empty() -> None:
    assert not bars([])
    assert bars([("a", 0.0, "$0")]) == "  a  $0"
