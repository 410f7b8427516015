"""A design as one HTML page: the Markdown document rendered, with a list of contents and diagrams.

The page holds everything that it shows: no script, nothing from elsewhere, which its security policy says too. What a
design says, its names and docstrings, is text and never markup: raw HTML and images are not rendered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from keyplan.check.finding import Finding
from keyplan.cost.estimate import Estimate
from keyplan.design.design import Design
from keyplan.design.plan import Plan
from keyplan.design.tables import Table
from keyplan.export import html_diagrams as diagrams
from keyplan.export import markdown
from keyplan.export.html_drawing import printable
from keyplan.export.html_style import STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates, which no page can hold."""
_CONTENTS = (2, 3)
"""The levels of headings that are listed."""


def page(design: Design, findings: Sequence[Finding], month: Estimate) -> str:
    """The whole page."""
    made = _Page()
    made.add(markdown.introduction(design))
    for number, table in enumerate(design.tables, 1):
        _table(made, table, number)
    _patterns(made, design)
    _consumers(made, design)
    made.add((*markdown.of_month(month), *markdown.of_findings(findings)))
    return made.text(design.name)


def _table(made: _Page, table: Table, number: int) -> None:
    parts = list(markdown.of_table(table))
    chart = parts.index(markdown.ENTITY_CHART)
    made.add(parts[: chart + 1])
    if table.entities:
        drawn = diagrams.entities(table, f"entities-{number}")
        made.draw(drawn, "Entities with their keys and fields, and the indexes that hold them.")
    made.add(parts[chart + 1 :])


def _patterns(made: _Page, design: Design) -> None:
    head, *rest = markdown.of_patterns(design)
    made.add([head])
    for number, table in enumerate(design.tables, 1):
        used = [one for one in design.patterns if _uses(one.plan.steps or (one.plan,), table)]
        if used:
            drawn = diagrams.patterns(table, used, f"patterns-{number}")
            made.draw(drawn, f"What reads and what writes {table.name}; its indexes follow every write.")
    made.add(rest)


def _uses(plans: Iterable[Plan], table: Table) -> bool:
    return any(plan.schema is table.schema for plan in plans)


def _consumers(made: _Page, design: Design) -> None:
    parts = list(markdown.of_consumers(design))
    if not parts:
        return
    made.add(parts[:1])
    made.draw(diagrams.consumers(design.tables, "consumers"), "Where changes go, and what failed for good.")
    made.add(parts[1:])


@dataclass
class _Page:
    """The page in the making."""

    _parts: list[str] = field(default_factory=list)
    _headings: list[tuple[int, str, str]] = field(default_factory=list)
    """Level, id and text."""

    def add(self, parts: Iterable[str]) -> None:
        """Add Markdown."""
        tokens = _MARKDOWN.parse(_NO_TEXT.sub("\ufffd", "\n\n".join(parts)))
        for opening, inline in pairwise(tokens):
            if opening.type == "heading_open":
                self._anchor(opening, _plain(inline))
        self._parts.append(_MARKDOWN.renderer.render(_scrolling(tokens), _MARKDOWN.options, {}))

    def _anchor(self, opening: Token, text: str) -> None:
        """Give a heading an id that no other has."""
        wanted = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"
        taken = {name for _, name, _ in self._headings}
        name, number = f"s-{wanted}", 2
        while name in taken:
            name, number = f"s-{wanted}-{number}", number + 1
        opening.attrSet("id", name)
        self._headings.append((int(opening.tag[1:]), name, text))

    def draw(self, svg: str, caption: str) -> None:
        """Add a diagram."""
        self._parts.append(
            f'<figure>\n<div class="wide" tabindex="0" role="group" aria-label="{escape(printable(caption))}">\n{svg}\n'
            f"</div>\n<figcaption>{escape(printable(caption))}</figcaption>\n</figure>\n"
        )

    def text(self, title: str) -> str:
        """The page."""
        return "".join(
            [
                '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
                f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n',
                '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
                '<meta name="color-scheme" content="light dark">\n',
                f"<title>{escape(printable(title))}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
                f'<nav aria-label="Contents">\n{"".join(self._contents())}</nav>\n',
                f"<main>\n{''.join(self._parts)}</main>\n</body>\n</html>\n",
            ]
        )

    def _contents(self) -> Iterator[str]:
        yield "<p>Contents</p>\n<ul>\n"
        for level, name, text in self._headings:
            if level in _CONTENTS:
                yield f'<li class="level{level}"><a href="#{escape(name)}">{escape(printable(text))}</a></li>\n'
        yield "</ul>\n"


def _markdown() -> MarkdownIt:
    """Tables, and nothing that is markup of a design's own or loads anything."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["html_block", "html_inline", "image"])


_MARKDOWN = _markdown()


def _plain(inline: Token) -> str:
    """The text of a heading without its marks."""
    return "".join(one.content for one in inline.children or () if one.type in {"text", "code_inline"})


def _scrolling(tokens: Sequence[Token]) -> list[Token]:
    """Tables in boxes of their own, which scroll where the page is narrower."""
    made: list[Token] = []
    for one in tokens:
        if one.type == "table_open":
            made.append(Token("box_open", "div", 1, attrs={"class": "wide", "tabindex": "0"}, block=True))
        made.append(one)
        if one.type == "table_close":
            made.append(Token("box_close", "div", -1, block=True))
    return made
