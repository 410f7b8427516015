"""Python text laid out as formatters do: on one line where it fits, else one part a line with a comma after each."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 88
_INDENT = "    "


@dataclass(frozen=True)
class Group:
    """Parts within brackets: a call, a list, a dictionary, a type with parameters."""

    opening: str
    parts: Sequence[Part]
    closing: str
    always_open: bool = False
    """Whether each part has a line of its own even where all would fit on one."""


Part = str | Group


def call(name: str, *parts: Part | None) -> Group:
    """A call; parts that are None are left out."""
    return Group(f"{name}(", [part for part in parts if part is not None], ")")


def named(name: str, part: Part) -> Part:
    """A part with something before it: name=..., "key": ..."""
    if isinstance(part, str):
        return f"{name}{part}"
    return Group(f"{name}{part.opening}", part.parts, part.closing, part.always_open)


def laid_out(part: Part, before: str = "", after: str = "", indent: str = "") -> str:
    """The text of a part, with what stands before and after it on its lines."""
    if isinstance(part, str):
        return f"{indent}{before}{part}{after}"
    flat = f"{indent}{before}{_flat(part)}{after}"
    if not part.parts or not (_is_open(part) or _columns(flat) > WIDTH):
        return flat
    inner = [laid_out(one, after=",", indent=indent + _INDENT) for one in part.parts]
    return "\n".join([f"{indent}{before}{part.opening}", *inner, f"{indent}{part.closing}{after}"])


def _is_open(part: Part) -> bool:
    return isinstance(part, Group) and (part.always_open or any(map(_is_open, part.parts)))


def _columns(text: str) -> int:
    """How many columns a text takes: characters of East Asia two, marks on others none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in text)
    return len(text) + wide - sum(unicodedata.combining(one) > 0 for one in text)


def _flat(part: Part) -> str:
    if isinstance(part, str):
        return part
    return f"{part.opening}{', '.join(map(_flat, part.parts))}{part.closing}"


def literal(text: str) -> str:
    """A text as a Python literal, in the quotes that need fewer escapes, with nothing that cannot be seen."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(f"\\{one}" if one == quote else plain(one) for one in text) + quote


def plain(text: str) -> str:
    """A text in which everything that is no visible character is escaped."""
    return "".join(one if one.isprintable() and one != "\\" else ascii(one)[1:-1] for one in text)


def comment(text: str, indent: str = "", hanging: str = "") -> list[str]:
    """A text as lines of comment; `hanging` is put before all lines but the first."""
    first, rest = f"{indent}# ", f"{indent}# {hanging}"
    return textwrap.wrap(
        plain(text), WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def docstring(text: str, indent: str = "") -> list[str]:
    """A docstring of one paragraph, or of several that are parted by empty lines."""
    paragraphs = [plain(one).replace('"', "'") for one in text.split("\n\n") if one.strip()]
    lines: list[str] = []
    for number, one in enumerate(paragraphs):
        start = f'{indent}"""' if number == 0 else indent
        lines += [*([""] if number else []), *textwrap.wrap(
            one, WIDTH - 3, initial_indent=start, subsequent_indent=indent, break_long_words=False,
            break_on_hyphens=False,
        )]  # fmt: skip
    return [f'{lines[0]}"""'] if len(lines) == 1 else [*lines, f'{indent}"""']
