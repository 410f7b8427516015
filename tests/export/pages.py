"""HTML pages read: their elements, whether they nest, and where the text of their diagrams is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

from keyplan.export.svg import CELL, LINE, cells

_VOID = frozenset({"meta", "br", "hr", "link", "img", "input"})


class Page(HTMLParser):
    """A page's elements. Raises AssertionError where one is closed that is not open, or an id is given twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: set[str] = set()
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        actual_attrs = dict(attrs)
        assert len(actual_attrs) == len(attrs), f"{tag} has an attribute twice"
        name = actual_attrs.get("id")
        if name is not None:
            assert name not in self.ids, f"two elements have the id {name}"
            self.ids.add(name)
        self.tags.append((tag, actual_attrs))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that closes itself."""
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        assert self._open, f"{tag} is closed, and nothing is open"
        assert self._open.pop() == tag, f"{tag} is closed, and is not the innermost"

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.words.append(data)

    @property
    def text(self) -> str:
        """All that is to be read, the style and the names of pictures among it."""
        return "".join(self.words)


@dataclass(frozen=True)
class Area:
    """A part of a picture."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: Area) -> bool:
        """Whether another lies within it."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom

    def meets(self, other: Area) -> bool:
        """Whether they overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def pictures(text: str) -> list[ET.Element]:
    """Return the diagrams of a page, parsed as XML."""
    return [ET.fromstring(picture) for picture in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def texts(picture: ET.Element) -> list[tuple[str, Area]]:
    """Every text, and the room that it needs."""
    entries = []
    for element in picture.iter("text"):
        text = "".join(element.itertext())
        x, y = float(element.attrib["x"]), float(element.attrib["y"])
        entries.append((text, Area(x, y - 12, x + cells(text) * CELL, y - 12 + LINE - 1)))
    return entries


def boxes(picture: ET.Element) -> list[Area]:
    """Every rectangle."""
    return [
        _area(*(float(rect.attrib[name]) for name in ("x", "y", "width", "height"))) for rect in picture.iter("rect")
    ]


def visible_area(picture: ET.Element) -> Area:
    """Return the visible area of a diagram."""
    return _area(*map(float, picture.attrib["viewBox"].split()))


def _area(x: float, y: float, width: float, height: float) -> Area:
    return Area(x, y, x + width, y + height)
