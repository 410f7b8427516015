"""Designs written in Markdown: each section a case, its first block the design, its second the whole error text."""

from __future__ import annotations

import datetime
import decimal
import enum
import re
import typing
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pydantic

import keyplan
from keyplan import DesignError, Table
from keyplan.design.declaring.table_faults import table_faults

_CASE = re.compile(
    r"^## (?P<name>.+?)\n+```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<told>.*?)```\n)?", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Case:
    """A design, and what is said of it."""

    name: str
    code: str
    told: str


def cases(path: Path) -> Iterator[Case]:
    """Yield the cases of a Markdown file."""
    for match in _CASE.finditer(path.read_text()):
        yield Case(match["name"], match["code"], match["told"] or "")


def declare(code: str, path: Path) -> ModuleType:
    """Run a design in a module that has the language's names, from a file, so that errors can show its lines."""
    path.write_text(code)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    module.__dict__.update({name: getattr(keyplan, name) for name in keyplan.__all__})
    for names in (typing, datetime, decimal, enum, uuid):
        module.__dict__.update({name: value for name, value in vars(names).items() if not name.startswith("_")})
    module.__dict__.update(BaseModel=pydantic.BaseModel)
    exec(compile(code, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


def refusal(code: str, folder: Path) -> str:
    """Return the error text of a design in a file named design.py; empty if the design is accepted."""
    path = folder / "design.py"
    try:
        declare(code, path)
    except DesignError as error:
        return str(error).replace(str(path), "design.py") + "\n"
    return ""


def faults_of(code: str, folder: Path) -> str:
    """Everything that keeps a design's tables and patterns from working, its file called design.py."""
    path = folder / "design.py"
    tables = [value for value in vars(declare(code, path)).values() if isinstance(value, Table)]
    faults = [fault for table in tables for fault in table_faults(table)]
    faults += [fault for table in tables for pattern in table.patterns for fault in pattern.plan.faults]
    return "\n\n".join(str(fault.error()).replace(str(path), "design.py") for fault in faults) + "\n"
