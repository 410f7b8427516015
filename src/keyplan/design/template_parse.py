"""The text of a template taken apart: literal text and holes, `{field}` or `{field:spec}`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from keyplan.design.template_errors import TemplateError

_NAME = re.compile(r"[^\W\d]\w*\Z")
_BRACES = "write {{ and }} for braces that are meant as text"


@dataclass(frozen=True)
class Text:
    """Literal text, braces already unescaped."""

    text: str


@dataclass(frozen=True)
class Hole:
    """A place for a field's value. `position` is the offset of its brace, `spec` is "" when there is none."""

    field: str
    spec: str
    position: int


Part = Text | Hole


def parts_of(text: str) -> tuple[Part, ...]:
    """The parts of a template, no two literal texts side by side. Raises TemplateError."""
    if not text:
        raise TemplateError(text, 0, "the template is empty", "write literal text, holes like {field}, or both")
    lone = next((at for at, character in enumerate(text) if "\ud800" <= character <= "\udfff"), None)
    if lone is not None:
        raise TemplateError(text, lone, "a lone surrogate is no text", "leave it out: UTF-8 has no bytes for it")
    parts: list[Part] = []
    literal, at = "", 0
    while at < len(text):
        if text[at : at + 2] in {"{{", "}}"}:
            literal, at = literal + text[at], at + 2
        elif text[at] == "{":
            if literal:
                parts.append(Text(literal))
            hole, at = _hole(text, at)
            parts.append(hole)
            literal = ""
        elif text[at] == "}":
            raise TemplateError(text, at, "this brace closes nothing", _BRACES)
        else:
            literal, at = literal + text[at], at + 1
    return (*parts, Text(literal)) if literal else tuple(parts)


def _hole(text: str, at: int) -> tuple[Hole, int]:
    """The hole whose brace is at `at`, and the offset after it."""
    end = text.find("}", at)
    inside = text[at + 1 : end]
    if end < 0 or "{" in inside:
        raise TemplateError(text, at, "this brace is never closed", f"close it with }}, or {_BRACES}")
    name, colon, spec = inside.partition(":")
    if not inside:
        raise TemplateError(text, at, "this hole is empty", f"name a field in it, or {_BRACES}")
    if not _NAME.match(name):
        raise TemplateError(text, at + 1, f"{name!r} is no name of a field", "write {field} or {field:spec}")
    if colon and not spec:
        raise TemplateError(text, end, "no spec after the colon", f"leave the colon out: {{{name}}}")
    return Hole(name, spec, at), end + 1
