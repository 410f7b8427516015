"""Functions that generate Python names and source code: valid identifiers, literals, and formatted code."""

from __future__ import annotations

import builtins
import keyword
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import keyplan
from keyplan.design.entities import Entity

_NO_LETTER = re.compile(r"\W+")
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MODULE_NAMES = frozenset({
    *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *keyplan.__all__, "Annotated", "Any", "Decimal", "Literal",
    "UUID", "suppressed", "claims", "date", "datetime", "item", "name",
})  # fmt: skip
"""Names that generated code must not define in a module: keywords, built-ins, and names that design modules use."""
_CLASS_NAMES = frozenset({
    *keyword.kwlist, *(word for word in keyplan.__all__ if word.islower()), *dir(Entity), "Annotated", "Any",
    "Attribute", "Decimal", "F", "Literal", "UUID", "bool", "bytes", "cls", "datetime", "dict", "int", "list", "self",
    "set", "str",
})  # fmt: skip
"""Names that a field must not have: attributes of every model, and names used in annotations or in pattern bodies."""
_MAX_NAME_LENGTH = 60
"""The maximum length of a generated name in characters, so that the name fits on a line."""


WIDTH = 88
_INDENT = "    "


class PythonNames:
    """The names that are already used in one scope of a Python module."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._taken = set(reserved)

    @classmethod
    def for_module(cls) -> PythonNames:
        """Return the scope of a design module. The names that the generated code uses are reserved."""
        return cls(_MODULE_NAMES)

    @classmethod
    def for_class(cls) -> PythonNames:
        """Return the scope of a model class. The attributes of every model, and the names that the class body uses, are
        reserved.
        """
        return cls(_CLASS_NAMES)

    def reserve(self, base: str) -> str:
        """Return a unique name and reserve it. If `base` is already used, an underscore or a number is appended."""
        name = base
        number = 1
        while name in self._taken:
            name = f"{base}_" if number == 1 else f"{base}_{number}"
            number += 1
        self._taken.add(name)
        return name


def field_name(text: str) -> str:
    """Convert a string to a valid field name. A string that is already valid is returned unchanged."""
    name = _NO_LETTER.sub("_", unicodedata.normalize("NFKC", text)).strip("_")[:_MAX_NAME_LENGTH]
    if not name.isidentifier() or name.startswith("model_"):
        name = f"attribute_{name}".rstrip("_")
    return _identifier(name)


def class_name(text: str) -> str:
    """Convert a string to the name of a class, such as OrderItem for order-item."""
    name = unicodedata.normalize("NFKC", "".join(word[:1].upper() + word[1:] for word in _words(text)))[
        :_MAX_NAME_LENGTH
    ]
    return name if name.isidentifier() else _identifier(f"Table{name}")


def snake_name(text: str) -> str:
    """Convert a string to the name of a function or variable, such as order_item for OrderItem."""
    name = "_".join(_words(text)).lower()[:_MAX_NAME_LENGTH].rstrip("_")
    return name if name.isidentifier() else _identifier(f"table_{name}".rstrip("_"))


def _words(text: str) -> list[str]:
    parts = _NO_LETTER.sub("_", unicodedata.normalize("NFKC", text)).split("_")
    return [word for part in parts for word in _WORD_BOUNDARY.split(part) if word]


def _identifier(name: str) -> str:
    """Return a name if it is a valid identifier. Otherwise, return a similar name that contains only ASCII
    characters.
    """
    if name.isidentifier() and unicodedata.normalize("NFKC", name) == name:
        return name
    return re.sub(r"[^A-Za-z0-9_]", "", name).strip("_")


@dataclass(frozen=True)
class Group:
    """A list of source code parts in brackets, such as the arguments of a call or the elements of a list."""

    opening: str
    parts: Sequence[Part]
    closing: str
    always_open: bool = False
    """True if each part is on a separate line, even if all parts would fit on one line."""


Part = str | Group


def call(name: str, *parts: Part | None) -> Group:
    """Return the source code of a call to `name`. Arguments that are None are omitted."""
    return Group(f"{name}(", [part for part in parts if part is not None], ")")


def with_prefix(prefix: str, part: Part) -> Part:
    """Return a part of source code with `prefix` added at its start, such as `key=` or `"key": `."""
    if isinstance(part, str):
        return f"{prefix}{part}"
    return Group(f"{prefix}{part.opening}", part.parts, part.closing, part.always_open)


def format_code(part: Part, before: str = "", after: str = "", indent: str = "") -> str:
    """Format a part as source code, in lines of limited length. `before` and `after` are texts around the part."""
    if isinstance(part, str):
        return f"{indent}{before}{part}{after}"
    flat = f"{indent}{before}{_flat(part)}{after}"
    if not part.parts or not (_is_open(part) or _columns(flat) > WIDTH):
        return flat
    inner = [format_code(element, after=",", indent=indent + _INDENT) for element in part.parts]
    return "\n".join([f"{indent}{before}{part.opening}", *inner, f"{indent}{part.closing}{after}"])


def _is_open(part: Part) -> bool:
    return isinstance(part, Group) and (part.always_open or any(map(_is_open, part.parts)))


def _columns(text: str) -> int:
    """Return the width of a string in columns. East Asian wide characters have two columns, and combining marks have
    none.
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _flat(part: Part) -> str:
    if isinstance(part, str):
        return part
    return f"{part.opening}{', '.join(map(_flat, part.parts))}{part.closing}"


def literal(text: str) -> str:
    """Convert a string to a Python string literal. Invisible characters are escaped.

    The literal uses the quotes that require fewer escapes.
    """
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(f"\\{character}" if character == quote else plain(character) for character in text) + quote


def plain(text: str) -> str:
    """Return a string with its invisible characters escaped."""
    return "".join(
        character if character.isprintable() and character != "\\" else ascii(character)[1:-1] for character in text
    )


def comment(text: str, indent: str = "", hanging: str = "") -> list[str]:
    """Format a string as comment lines. `hanging` is the text in front of each line except the first, after
    the # sign.
    """
    first_prefix, other_prefix = f"{indent}# ", f"{indent}# {hanging}"
    return textwrap.wrap(
        plain(text),
        WIDTH,
        initial_indent=first_prefix,
        subsequent_indent=other_prefix,
        break_long_words=False,
        break_on_hyphens=False,
    )


def docstring(text: str, indent: str = "") -> list[str]:
    """Return the lines of a docstring with one or more paragraphs."""
    paragraphs = [plain(paragraph).replace('"', "'") for paragraph in text.split("\n\n") if paragraph.strip()]
    lines: list[str] = []
    for number, paragraph in enumerate(paragraphs):
        start = f'{indent}"""' if number == 0 else indent
        lines += [*([""] if number else []), *textwrap.wrap(
            paragraph, WIDTH - 3, initial_indent=start, subsequent_indent=indent, break_long_words=False,
            break_on_hyphens=False,
        )]  # fmt: skip
    return [f'{lines[0]}"""'] if len(lines) == 1 else [*lines, f'{indent}"""']
