"""A Python file in the design language, made of what a source says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from keyplan.importers.errors import ImportSourceError
from keyplan.importers.layout import WIDTH, comment, docstring
from keyplan.importers.names import Names
from keyplan.importers.source import Source
from keyplan.importers.writing_tables import table_blocks

_FILL_IN = (
    "# Yours to fill in:",
    "# - fields beside keys, and types: Decimal is any Number, Any is not known",
    "# - items=Items(count=..., bytes=Bytes(average=...)) of each entity",
    "# - rate=Rate(average=..., peak=...) of each pattern, and the patterns of your programs",
)
_OF_DESIGN = (
    "GSI", "LSI", "Attribute", "Bytes", "Change", "Cond", "Entity", "Items", "Key", "OnDemand", "Provisioned",
    "Table", "attr", "key", "key_of", "pk", "put",
)  # fmt: skip
"""The words of the language that are written, in the order in which they are imported."""
_OTHERS = (("datetime", ("datetime",)), ("decimal", ("Decimal",)), ("typing", ("Annotated", "Any")))


def design_text(source: Source) -> str:
    """The file. Raises ImportSourceError where two tables have one name."""
    _check_names(source)
    names = Names.of_module()
    blocks = [block for table in source.tables for block in table_blocks(table, names)]
    code = "\n\n\n".join("\n".join(lines) for lines in blocks)
    about = " ".join(source.about.split())
    head = [*docstring(f"Tables of {source.title}.\n\n{about}"), "", *_imports(code), "", *_FILL_IN, ""]
    notes = [line for gap in source.gaps for line in comment(f"- {gap}", hanging="  ")]
    if notes:
        head += ["# Where this differs from its source:", *notes, ""]
    return "\n".join(head) + "\n" + code + "\n"


def _check_names(source: Source) -> None:
    seen: set[str] = set()
    for table in source.tables:
        if table.name in seen:
            raise ImportSourceError(f"two tables are called {table.name!r}: import them into designs of their own")
        seen.add(table.name)


def _imports(code: str) -> Iterator[str]:
    """The imports that the code needs: of words that are more than the name of an argument."""
    words = set(re.findall(r"\w+\b(?!=)", "\n".join(_without_texts(line) for line in code.splitlines())))
    others = [(module, [name for name in names if name in words]) for module, names in _OTHERS]
    yield from (f"from {module} import {', '.join(names)}" for module, names in others if names)
    if any(names for _, names in others):
        yield ""
    yield from _import_of("keyplan.design", [name for name in _OF_DESIGN if name in words])


def _import_of(module: str, names: Sequence[str]) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.)*'")


def _without_texts(line: str) -> str:
    """A line without literals and comment."""
    return _TEXT.sub('""', line).partition("#")[0]
