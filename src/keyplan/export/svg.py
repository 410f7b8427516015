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
_JOINTS = re.compile(r"(?<=[#}|/,:])")
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
    def whole(self) -> str:
        """Return the text and the note of the line as displayed."""
        return f"{self.shown} {printable(self.note)}" if self.note else self.shown

    @property
    def shown(self) -> str:
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
    characters = ("\ufffd" if unicodedata.category(sign) in _UNPRINTABLE else sign for sign in " ".join(text.split()))
    return "".join(characters)


def cells(text: str) -> int:
    """Return the width of a string in character cells. East Asian wide characters and emoji take up two cells."""
    return sum(_cells(sign) for sign in text)


def _cells(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 1 if sign.isascii() else 2 if unicodedata.east_asian_width(sign) in "WFA" or ord(sign) > 0x2FFF else 1


def width_of(lines: Iterable[Line]) -> float:
    """Return the width in pixels of a box that contains these lines."""
    return max((cells(line.whole) for line in lines), default=0) * CELL + 2 * PAD


def height_of(lines: Sequence[Line]) -> float:
    """Return the height in pixels of a box that contains these lines."""
    return len(lines) * LINE + PAD


def wrapped(text: str, most: int, indent: str = "  ") -> list[str]:
    """Wrap text into lines of at most `most` cells, at spaces or at the delimiters of templates and names."""
    lines: list[str] = []
    current = ""
    for piece in _pieces(printable(text), most - len(indent)):
        if current.strip() and cells(current + piece.rstrip()) > most:
            lines.append(current.rstrip())
            current = indent + piece.lstrip()
        else:
            current += piece
    return [*lines, current.rstrip()] if current.strip() else lines


def listed(items: Sequence[str], most: int) -> list[str]:
    """Join items with commas, and return the result as lines of at most `most` cells.

    Lines are broken between items. Only an item that is longer than a line is itself wrapped.
    """
    lines: list[str] = []
    for number, item in enumerate(items, 1):
        *full, last = wrapped(item + ("," if number < len(items) else ""), most) or [""]
        if not full and lines and cells(f"{lines[-1]} {last}") <= most:
            lines[-1] += f" {last}"
        else:
            lines += [*full, last]
    return lines


def _pieces(text: str, most: int) -> Iterator[str]:
    """Yield the words of a text, each with the space that follows it. Words longer than `most` cells are split."""
    for word in re.split(r"(?<=\s)", text):
        if cells(word.rstrip()) <= most:
            yield word
            continue
        for part in _JOINTS.split(word):
            yield from _cut(part, most)


def _cut(text: str, most: int) -> Iterator[str]:
    start, used = 0, 0
    for at, sign in enumerate(text):
        if used + _cells(sign) > most:
            yield text[start:at]
            start, used = at, 0
        used += _cells(sign)
    yield text[start:]


@dataclass
class Drawing:
    """A drawing to which rectangles, text and lines are added."""

    width: float = 0
    height: float = 0
    _parts: list[str] = field(default_factory=list)

    def rect(self, where: Rect, kind: str) -> None:
        """Draw a rectangle without text. `kind` is its CSS class."""
        self._reach(where.right, where.bottom)
        self._parts.append(
            f'<rect class="{kind}" x="{where.x:g}" y="{where.y:g}" width="{where.width:g}" height="{where.height:g}"'
            ' rx="5"/>'
        )

    def text(self, x: float, y: float, line: Line) -> None:
        """Draw a line of text whose top left corner is at (x, y)."""
        self._reach(x + cells(line.whole) * CELL, y + LINE)
        kind = f' class="{line.style}"' if line.style else ""
        note = f'<tspan class="dim"> {escape(printable(line.note))}</tspan>' if line.note else ""
        self._parts.append(f'<text{kind} x="{x:g}" y="{y + _ASCENT:g}">{escape(line.shown)}{note}</text>')

    def box(self, where: Rect, lines: Sequence[Line], kind: str) -> Rect:
        """Draw a box with lines of text, and return the rectangle that it occupies.

        This is the rectangle `where`, with a greater height if the lines require it. `kind` is the CSS class of the
        box.
        """
        where = replace(where, height=max(where.height, height_of(lines)))
        self.rect(where, kind)
        for number, line in enumerate(lines):
            self.text(where.x + PAD, where.y + PAD / 2 + number * LINE, line)
        return where

    def path(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """Draw a line through several points. `kind` is its CSS class."""
        route = " ".join(f"{'L' if number else 'M'}{x:g} {y:g}" for number, (x, y) in enumerate(points))
        self._parts.append(f'<path class="{kind}" d="{route}"/>')

    def arrow(self, start: tuple[float, float], end: tuple[float, float], kind: str) -> None:
        """Draw a horizontal arrow from one point to another. `kind` is its CSS class."""
        (x, y), back = end, 6 if start[0] < end[0] else -6
        self.path([start, end], kind)
        self.path([(x - back, y - 3.5), end, (x - back, y + 3.5)], f"{kind} tip")

    def rule(self, x: float, right: float, y: float) -> None:
        """Draw a horizontal line from `x` to `right`, which separates two parts of a box."""
        self.path([(x, y), (right, y)], "rule")

    def _reach(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)

    def svg(self, name: str, title: str, description: str) -> str:
        """Return the drawing as SVG, with a title and a description for screen readers.

        `name` must be unique on the page, because the IDs of the title and the description start with it.
        """
        width, height = self.width + 2, self.height + 2
        head = (
            f'<svg class="diagram" role="img" aria-labelledby="{name}-title {name}-text"'
            f' width="{width:g}" height="{height:g}" viewBox="-1 -1 {width:g} {height:g}">'
        )
        labels = f'<title id="{name}-title">{escape(printable(title))}</title>'
        labels += f'<desc id="{name}-text">{escape(printable(description))}</desc>'
        return "\n".join([head, labels, *self._parts, "</svg>"])
