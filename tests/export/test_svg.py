"""Text in boxes: wrapped without loss, measured by its characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keyplan.export.svg import (
    CELL,
    LINE,
    PAD,
    Drawing,
    Line,
    Rect,
    cells,
    height_of,
    printable,
    width_of,
    wrap_items,
    wrapped,
)


@given(st.text(), st.integers(8, 40))
def test_wrapped_lines_fit_and_lose_nothing(text: str, max_cells: int) -> None:
    lines = wrapped(text, max_cells)
    assert all(cells(line) <= max_cells for line in lines)
    assert "".join("".join(lines).split()) == "".join(printable(text).split())


def test_templates_are_wrapped_after_delimiters() -> None:
    template = "PK = TENANT#{tenant_id}#USER#{user_id}"
    assert wrapped(template, 20) == ["PK = TENANT#", "  {tenant_id}#USER#", "  {user_id}"]


@given(st.lists(st.text(min_size=1)), st.integers(8, 40))
def test_listed_items_fit_and_lose_nothing(items: list[str], max_cells: int) -> None:
    lines = wrap_items(items, max_cells)
    assert all(cells(line) <= max_cells for line in lines)
    assert "".join("".join(lines).split()) == "".join(printable(",".join(items)).split())


def test_listed_items_are_not_broken() -> None:
    assert wrap_items(["user_id S", "name S", "age N"], 18) == ["user_id S, name S,", "age N"]


def test_wide_characters_use_two_cells_and_combining_marks_none() -> None:
    assert [cells(text) for text in ("ab", "日本", "e\u0301", "🙂")] == [2, 4, 1, 2]
    assert [cells(text) for text in ("ñ", "☆", "\U0001f321")] == [1, 2, 2]  # of one cell; wide in some fonts; a picture


def test_unprintable_characters_are_replaced() -> None:
    assert printable("a\x00b\u202ec\nd") == "a\ufffdb\ufffdc d"


def test_a_drawing_is_as_large_as_its_content() -> None:
    drawing = Drawing()
    lines = [Line("name", "name"), Line("a < b", note="c")]
    drawing.box(Rect(10, 20, width_of(lines), 0), lines, "entity")
    width = 7 * CELL + 2 * PAD
    size = f'width="{width + 12:g}" height="68" viewBox="-1 -1 {width + 12:g} 68"'
    assert drawing.svg("x", "T & t", "d").splitlines() == [
        f'<svg class="diagram" role="img" aria-labelledby="x-title x-text" {size}>',
        '<title id="x-title">T &amp; t</title><desc id="x-text">d</desc>',
        f'<rect class="entity" x="10" y="20" width="{width:g}" height="46" rx="5"/>',
        '<text class="name" x="20" y="38">name</text>',
        '<text x="20" y="56">a &lt; b<tspan class="dim"> c</tspan></text>',
        "</svg>",
    ]


def test_an_arrow_has_its_tip_at_its_end() -> None:
    drawing = Drawing()
    drawing.arrow((10, 5), (0, 5), "line")
    assert '<path class="line" d="M10 5 L0 5"/>' in drawing.svg("x", "t", "d")
    assert '<path class="line tip" d="M6 1.5 L0 5 L6 8.5"/>' in drawing.svg("x", "t", "d")
    drawing.arrow((0, 5), (10, 5), "line")
    assert '<path class="line tip" d="M4 1.5 L10 5 L4 8.5"/>' in drawing.svg("x", "t", "d")


def test_a_box_without_lines_has_only_padding() -> None:
    assert width_of([]) == 2 * PAD
    assert height_of([]) == PAD


def test_a_text_enlarges_the_drawing() -> None:
    drawing = Drawing()
    drawing.text(5, 7, Line("abc"))
    assert (drawing.width, drawing.height) == (5 + 3 * CELL, 7 + LINE)


def test_a_rule_is_a_horizontal_line() -> None:
    drawing = Drawing()
    drawing.rule(1, 9, 4)
    assert '<path class="rule" d="M1 4 L9 4"/>' in drawing.svg("x", "t", "d")


def test_a_word_that_fills_a_line_is_not_broken() -> None:
    assert wrapped("abcd efgh", 9) == ["abcd efgh"]
    assert wrapped("abcdefgh", 4, indent="") == ["abcd", "efgh"]
    assert wrapped("abcdef gh#ijkl", 8, indent="") == ["abcdef", "gh#ijkl"]
    assert wrapped("abc#defgh abc", 9, indent="") == ["abc#defgh", "abc"]
