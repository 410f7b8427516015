"""Converts a design to a single HTML page, which contains the Markdown document, a table of contents and diagrams.

The page does not load other files. Its content security policy blocks scripts and external resources. Names and
docstrings in the design are treated as text: raw HTML and images are not rendered.
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
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.tables import Table
from keyplan.design.planning.plan import Plan
from keyplan.export import diagrams, markdown
from keyplan.export.svg import printable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_INVALID_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates, which HTML cannot contain."""
_CONTENTS = (2, 3)
"""The heading levels that the table of contents includes."""


def page(design: Design, findings: Sequence[Finding], month: Estimate) -> str:
    """Return the HTML page of a design."""
    builder = _Page()
    builder.add(markdown.introduction(design))
    for number, table in enumerate(design.tables, 1):
        _table(builder, table, number)
    _patterns(builder, design)
    _consumers(builder, design)
    builder.add((*markdown.of_month(month), *markdown.of_findings(findings)))
    return builder.text(design.name)


def _table(builder: _Page, table: Table, number: int) -> None:
    fragments = list(markdown.of_table(table))
    chart = fragments.index(markdown.ENTITY_CHART)
    builder.add(fragments[: chart + 1])
    if table.entities:
        diagram = diagrams.entities(table, f"entities-{number}")
        builder.draw(diagram, "Entities with their keys and fields, and the indexes that hold them.")
    builder.add(fragments[chart + 1 :])


def _patterns(builder: _Page, design: Design) -> None:
    head, *other_parts = markdown.of_patterns(design)
    builder.add([head])
    for number, table in enumerate(design.tables, 1):
        table_patterns = [pattern for pattern in design.patterns if _uses(pattern.plan.steps or (pattern.plan,), table)]
        if table_patterns:
            diagram = diagrams.patterns(table, table_patterns, f"patterns-{number}")
            builder.draw(diagram, f"Patterns that read and write {table.name}. Every write also updates its indexes.")
    builder.add(other_parts)


def _uses(plans: Iterable[Plan], table: Table) -> bool:
    return any(plan.schema is table.schema for plan in plans)


def _consumers(builder: _Page, design: Design) -> None:
    fragments = list(markdown.of_consumers(design))
    if not fragments:
        return
    builder.add(fragments[:1])
    builder.draw(
        diagrams.consumers(design.tables, "consumers"),
        "Consumers of the table's stream, and the destinations of failed changes.",
    )
    builder.add(fragments[1:])


@dataclass
class _Page:
    """Builder for an HTML page."""

    _parts: list[str] = field(default_factory=list)
    _headings: list[tuple[int, str, str]] = field(default_factory=list)
    """The level, ID and text of each heading on the page."""

    def add(self, parts: Iterable[str]) -> None:
        """Convert parts of a Markdown document and append them to the page."""
        tokens = _MARKDOWN.parse(_INVALID_CHARACTERS.sub("\ufffd", "\n\n".join(parts)))
        for opening, inline in pairwise(tokens):
            if opening.type == "heading_open":
                self._anchor(opening, _plain(inline))
        self._parts.append(_MARKDOWN.renderer.render(_scrolling(tokens), _MARKDOWN.options, {}))

    def _anchor(self, opening: Token, text: str) -> None:
        """Set a unique ID on a heading, and add the heading to the table of contents."""
        slug = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"
        anchors = {anchor for _, anchor, _ in self._headings}
        anchor, number = f"s-{slug}", 2
        while anchor in anchors:
            anchor, number = f"s-{slug}-{number}", number + 1
        opening.attrSet("id", anchor)
        self._headings.append((int(opening.tag[1:]), anchor, text))

    def draw(self, svg: str, caption: str) -> None:
        """Append a diagram with a caption to the page."""
        self._parts.append(
            f'<figure>\n<div class="wide" tabindex="0" role="group" aria-label="{escape(printable(caption))}">\n{svg}\n'
            f"</div>\n<figcaption>{escape(printable(caption))}</figcaption>\n</figure>\n"
        )

    def text(self, title: str) -> str:
        """Return the complete HTML document."""
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
    """Return a Markdown renderer that supports tables but does not support raw HTML or images."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(["html_block", "html_inline", "image"])


_MARKDOWN = _markdown()


def _plain(inline: Token) -> str:
    """Return the text of an inline token without markup."""
    return "".join(child.content for child in inline.children or () if child.type in {"text", "code_inline"})


def _scrolling(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with each table enclosed in a box that scrolls horizontally on narrow screens."""
    output: list[Token] = []
    for token in tokens:
        if token.type == "table_open":
            output.append(Token("box_open", "div", 1, attrs={"class": "wide", "tabindex": "0"}, block=True))
        output.append(token)
        if token.type == "table_close":
            output.append(Token("box_close", "div", -1, block=True))
    return output


STYLE = """\
:root {
  --paper: #ffffff; --ink: #1d2330; --dim: #5a6474; --line: #d8dde6; --soft: #f5f7fa; --link: #0b57d0;
  --entity: #ffffff; --table: #e8f0fe; --index: #f3f6fb; --read: #0b57d0; --write: #b3460a; --failed: #fdecea;
  --c0: #0b57d0; --c1: #b3460a; --c2: #13795b; --c3: #8a2be2; --c4: #a61b5a; --c5: #5b6b00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161d; --ink: #e4e8ef; --dim: #9aa5b5; --line: #323b49; --soft: #1a202a; --link: #8ab4f8;
    --entity: #1a202a; --table: #1d2b45; --index: #202836; --read: #8ab4f8; --write: #f2a268; --failed: #3a2222;
    --c0: #8ab4f8; --c1: #f2a268; --c2: #63d2ac; --c3: #c9a2f7; --c4: #f293bd; --c5: #c6d65a;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body {
  margin: 0; background: var(--paper); color: var(--ink); display: grid;
  grid-template-columns: minmax(13rem, 17rem) minmax(0, 1fr); font: 16px/1.55 system-ui, sans-serif;
}
nav {
  position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; font-size: 0.875rem;
  background: var(--soft); border-right: 1px solid var(--line); align-self: stretch;
}
nav p { margin: 0 0 0.5rem; color: var(--dim); font-weight: 600; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li { overflow-wrap: anywhere; }
nav a { display: block; padding: 0.15rem 0.4rem; border-radius: 4px; color: inherit; text-decoration: none; }
nav a:hover, nav a:focus-visible { background: var(--line); }
nav .level2 { margin-top: 0.5rem; font-weight: 600; }
nav .level3 { padding-left: 0.75rem; color: var(--dim); }
main { padding: 2rem clamp(1rem, 4vw, 3.5rem) 4rem; min-width: 0; }
main > p, main > ul, main > ol { max-width: 50rem; }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; scroll-margin-top: 1rem; }
h1 { font-size: 2rem; margin: 0 0 1rem; }
h2 { font-size: 1.5rem; margin: 3rem 0 1rem; padding-bottom: 0.3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.15rem; margin: 2rem 0 0.75rem; }
a { color: var(--link); }
code, .diagram text { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
code { font-size: 0.875em; background: var(--soft); border-radius: 4px; padding: 0.1em 0.3em; }
pre { overflow-x: auto; padding: 1rem; background: var(--soft); border-radius: 6px; }
pre code { padding: 0; }
.wide { overflow-x: auto; max-width: 100%; }
.wide:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font-size: 0.875rem; margin: 0 0 1rem; }
th, td { padding: 0.4rem 0.7rem; border: 1px solid var(--line); text-align: left; vertical-align: top; }
td { min-width: 4.5rem; max-width: 32rem; overflow-wrap: break-word; }
td code { white-space: nowrap; }
th { background: var(--soft); }
th:empty { padding: 0; border: 0; }
tbody tr:nth-child(even) td { background: color-mix(in srgb, var(--soft) 60%, transparent); }
figure { margin: 1rem 0 1.5rem; }
figure .wide { border: 1px solid var(--line); border-radius: 6px; padding: 1rem; }
figcaption { color: var(--dim); font-size: 0.875rem; margin-top: 0.4rem; }
.diagram { display: block; }
.diagram text { font-size: 12px; fill: var(--ink); white-space: pre; }
.diagram .name { font-weight: 700; }
.diagram .dim { fill: var(--dim); }
.diagram rect { stroke: var(--line); stroke-width: 1; }
.diagram .frame { fill: none; stroke-dasharray: 4 4; }
.diagram .entity { fill: var(--entity); }
.diagram .table { fill: var(--table); }
.diagram .index { fill: var(--index); }
.diagram .failed { fill: var(--failed); }
.diagram .pattern { fill: var(--entity); }
.diagram rect.read { stroke: var(--read); }
.diagram rect.write { stroke: var(--write); }
.diagram path { fill: none; stroke-width: 1.4; }
.diagram .rule { stroke: var(--line); stroke-width: 1; }
.diagram .line.read { stroke: var(--read); }
.diagram .line.write { stroke: var(--write); }
.diagram .colour0 { stroke: var(--c0); }
.diagram .colour1 { stroke: var(--c1); }
.diagram .colour2 { stroke: var(--c2); }
.diagram .colour3 { stroke: var(--c3); }
.diagram .colour4 { stroke: var(--c4); }
.diagram .colour5 { stroke: var(--c5); }
@media (max-width: 60rem) {
  body { display: block; }
  nav { position: static; max-height: none; border-right: 0; border-bottom: 1px solid var(--line); }
  nav ul { columns: 14rem; }
}
@media print {
  :root {
    --paper: #ffffff; --ink: #000000; --dim: #444444; --line: #bbbbbb; --soft: #f5f5f5; --link: #000000;
    --entity: #ffffff; --table: #eeeeee; --index: #f5f5f5; --read: #0b57d0; --write: #b3460a; --failed: #f5f5f5;
    --c0: #0b57d0; --c1: #b3460a; --c2: #13795b; --c3: #8a2be2; --c4: #a61b5a; --c5: #5b6b00;
  }
  body { display: block; font-size: 10pt; }
  nav { display: none; }
  main { padding: 0; }
  .wide { overflow: visible; }
  .diagram { max-width: 100%; height: auto; }
  h2, h3 { break-after: avoid; }
  tr, figure { break-inside: avoid; }
}
"""
