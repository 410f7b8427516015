"""Draws boxes, lines and text as inline SVG. The text is monospaced, so that its width can be computed.

Coordinates are in pixels from the top left corner. The size of a drawing is determined by its content.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape

CELL = 7.4
"""The maximum width of a character in pixels, at a font size of 12 pixels. In DejaVu Sans Mono, the widest common font,
it is 7.22.
"""
LINE = 18
PAD = 10
_ASCENT = 13
_BREAK_POINTS = re.compile(r"(?<=[#}|/,:])")
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True)
class Line:
    """A line of text in a box."""

    text: str
    style: str = ""
    """The CSS class of the line, such as `name` or `dim`."""
    note: str = ""
    """A note after the text, in a less prominent style."""

    @property
    def full_text(self) -> str:
        """Return the text and the note of the line as displayed."""
        return f"{self.displayed_text} {printable(self.note)}" if self.note else self.displayed_text

    @property
    def displayed_text(self) -> str:
        """Return the text of the line as displayed, with its indentation but without the note."""
        return " " * (len(self.text) - len(self.text.lstrip(" "))) + printable(self.text)


@dataclass(frozen=True)
class Rect:
    """A rectangle with a position and a size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Return the x coordinate of the rectangle's right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Return the y coordinate of the rectangle's bottom edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """Return the y coordinate of the rectangle's center."""
        return self.y + self.height / 2


def printable(text: str) -> str:
    """Return a string as one line, without unprintable characters."""
    characters = (
        "\ufffd" if unicodedata.category(character) in _UNPRINTABLE else character
        for character in " ".join(text.split())
    )
    return "".join(characters)


def cells(text: str) -> int:
    """Return the width of a string in character cells. East Asian wide characters and emoji take up two cells."""
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return (
        1
        if character.isascii()
        else 2
        if unicodedata.east_asian_width(character) in "WFA" or ord(character) > 0x2FFF
        else 1
    )


def width_of(lines: Iterable[Line]) -> float:
    """Return the width in pixels of a box that contains these lines."""
    return max((cells(line.full_text) for line in lines), default=0) * CELL + 2 * PAD


def height_of(lines: Sequence[Line]) -> float:
    """Return the height in pixels of a box that contains these lines."""
    return len(lines) * LINE + PAD


def wrapped(text: str, max_cells: int, indent: str = "  ") -> list[str]:
    """Wrap text into lines of at most `max_cells` cells, at spaces or at the delimiters of templates and names."""
    lines: list[str] = []
    current = ""
    for word in _words(printable(text), max_cells - len(indent)):
        if current.strip() and cells(current + word.rstrip()) > max_cells:
            lines.append(current.rstrip())
            current = indent + word.lstrip()
        else:
            current += word
    return [*lines, current.rstrip()] if current.strip() else lines


def wrap_items(items: Sequence[str], max_cells: int) -> list[str]:
    """Join items with commas, and return the result as lines of at most `max_cells` cells.

    Lines are broken between items. An item that is longer than a line is wrapped.
    """
    lines: list[str] = []
    for number, item in enumerate(items, 1):
        *full_lines, last_line = wrapped(item + ("," if number < len(items) else ""), max_cells) or [""]
        if not full_lines and lines and cells(f"{lines[-1]} {last_line}") <= max_cells:
            lines[-1] += f" {last_line}"
        else:
            lines += [*full_lines, last_line]
    return lines


def _words(text: str, max_cells: int) -> Iterator[str]:
    """Yield the words of a text, each with the space that follows it. Words longer than `max_cells` cells are split."""
    for word in re.split(r"(?<=\s)", text):
        if cells(word.rstrip()) <= max_cells:
            yield word
            continue
        for part in _BREAK_POINTS.split(word):
            yield from _split_word(part, max_cells)


def _split_word(text: str, max_cells: int) -> Iterator[str]:
    start, width = 0, 0
    for index, character in enumerate(text):
        if width + _cells(character) > max_cells:
            yield text[start:index]
            start, width = index, 0
        width += _cells(character)
    yield text[start:]


@dataclass
class Drawing:
    """A drawing that grows as rectangles, text and lines are added."""

    width: float = 0
    height: float = 0
    _parts: list[str] = field(default_factory=list)

    def rect(self, rect: Rect, css_class: str) -> None:
        """Draw a rectangle without text, with the CSS class `css_class`."""
        self._reach(rect.right, rect.bottom)
        self._parts.append(
            f'<rect class="{css_class}" x="{rect.x:g}" y="{rect.y:g}" width="{rect.width:g}" height="{rect.height:g}"'
            ' rx="5"/>'
        )

    def text(self, x: float, y: float, line: Line) -> None:
        """Draw a line of text whose top left corner is at (x, y)."""
        self._reach(x + cells(line.full_text) * CELL, y + LINE)
        class_attribute = f' class="{line.style}"' if line.style else ""
        note = f'<tspan class="dim"> {escape(printable(line.note))}</tspan>' if line.note else ""
        self._parts.append(
            f'<text{class_attribute} x="{x:g}" y="{y + _ASCENT:g}">{escape(line.displayed_text)}{note}</text>'
        )

    def box(self, rect: Rect, lines: Sequence[Line], css_class: str) -> Rect:
        """Draw a box with lines of text, and return the rectangle that it occupies.

        This is the rectangle `rect`, with a greater height if the lines require it. `css_class` is the CSS class of the
        box.
        """
        rect = replace(rect, height=max(rect.height, height_of(lines)))
        self.rect(rect, css_class)
        for number, line in enumerate(lines):
            self.text(rect.x + PAD, rect.y + PAD / 2 + number * LINE, line)
        return rect

    def path(self, points: Sequence[tuple[float, float]], css_class: str) -> None:
        """Draw a line through several points, with the CSS class `css_class`."""
        path_data = " ".join(f"{'L' if number else 'M'}{x:g} {y:g}" for number, (x, y) in enumerate(points))
        self._parts.append(f'<path class="{css_class}" d="{path_data}"/>')

    def arrow(self, start: tuple[float, float], end: tuple[float, float], css_class: str) -> None:
        """Draw a horizontal arrow from one point to another, with the CSS class `css_class`."""
        (x, y), offset = end, 6 if start[0] < end[0] else -6
        self.path([start, end], css_class)
        self.path([(x - offset, y - 3.5), end, (x - offset, y + 3.5)], f"{css_class} tip")

    def rule(self, x: float, end_x: float, y: float) -> None:
        """Draw a horizontal line from `x` to `end_x` to separate two parts of a box."""
        self.path([(x, y), (end_x, y)], "rule")

    def _reach(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)

    def svg(self, id_prefix: str, title: str, description: str) -> str:
        """Return the drawing as SVG, with a title and a description for screen readers.

        `id_prefix` must be unique on the page, because the IDs of the title and the description start with it.
        """
        width, height = self.width + 2, self.height + 2
        opening_tag = (
            f'<svg class="diagram" role="img" aria-labelledby="{id_prefix}-title {id_prefix}-text"'
            f' width="{width:g}" height="{height:g}" viewBox="-1 -1 {width:g} {height:g}">'
        )
        labels = f'<title id="{id_prefix}-title">{escape(printable(title))}</title>'
        labels += f'<desc id="{id_prefix}-text">{escape(printable(description))}</desc>'
        return "\n".join([opening_tag, labels, *self._parts, "</svg>"])
