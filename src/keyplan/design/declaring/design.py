"""A design: the tables and transactions of a module, with everything declared on them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from keyplan.design.arguments import check_text, checked_call
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.declaring.transactions import Transaction
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import UNKNOWN_PLACE, DesignError, Place, calling_place
from keyplan.design.workload import Claim

T = TypeVar("T")
_FILE_MODULE = "keyplan_design_file."
"""How the names of modules begin that were loaded as files."""


@dataclass(frozen=True)
class Suppression:
    """A finding that is accepted, with the reason."""

    code: str
    """The rule's code, such as KP405."""
    reason: str
    on: str = ""
    """The name of the table, entity, index or pattern that it is accepted of; empty for the whole design."""
    place: Place = UNKNOWN_PLACE


@checked_call
def accept(code: str, *, on: str = "", reason: str) -> Suppression:
    """Accept a finding: accepted = [accept("KP405", on="by_status", reason="...")] in the design's module."""
    for option, text in (("code", code), ("on", on), ("reason", reason)):
        check_text(option, text)
    return Suppression(code, reason, on, calling_place())


@dataclass(frozen=True)
class Design:
    """Everything that is checked, priced, explained and documented together."""

    name: str
    tables: tuple[Table, ...]
    transactions: tuple[Transaction[Any], ...] = ()
    claims: tuple[Claim, ...] = ()
    """What the design's document says of the whole: the module's `claims`."""
    accepted: tuple[Suppression, ...] = ()
    """Findings that are accepted: the module's `accepted`."""
    doc: str = ""

    @classmethod
    def of(cls, module: ModuleType) -> Design:
        """The design that a module declares: its tables and transactions, its `claims` and `accepted`."""
        found = list(dict.fromkeys(value for value in vars(module).values() if isinstance(value, (Table, Transaction))))
        tables = tuple(value for value in found if isinstance(value, Table))
        if not tables:
            raise DesignError(
                f"{_module_name(module)} declares no table",
                place=Place(_file(module), 1),
                fix='declare one: app = Table("app", pk="PK", sk="SK")',
            )
        return cls(
            name=_name(module),
            tables=tables,
            transactions=tuple(value for value in found if isinstance(value, Transaction)),
            claims=_module_values(module, "claims", Claim, 'claims = [Claim("$0 a month")]'),
            accepted=_module_values(module, "accepted", Suppression, 'accepted = [accept("KP405", reason="...")]'),
            doc=(module.__doc__ or "").strip(),
        )

    @classmethod
    def load(cls, target: str) -> Design:
        """The design of a module's dotted name or of a Python file's path.

        Raises DesignError where there is no such file or no table in it, ModuleNotFoundError as an import does.
        """
        if is_file_path(target):
            return cls.of(_load_file(Path(target)))
        return cls.of(importlib.import_module(target))

    @property
    def entities(self) -> Iterator[EntitySpec]:
        """Every entity, table by table."""
        return (entity for table in self.tables for entity in table.entities)

    @property
    def patterns(self) -> Iterator[Pattern[..., Any]]:
        """Every pattern, table by table, transactions last."""
        for table in self.tables:
            yield from table.patterns
        yield from self.transactions

    def table_of(self, pattern: Pattern[..., Any]) -> Table:
        """The table that a pattern is about. Raises KeyError for a pattern of another design."""
        for table in self.tables:
            if table.schema is pattern.plan.schema:
                return table
        raise KeyError(pattern.name)

    def pattern(self, name: str) -> Pattern[..., Any]:
        """The pattern of a name. Raises KeyError."""
        for pattern in self.patterns:
            if pattern.name == name:
                return pattern
        raise KeyError(name)


def is_file_path(target: str) -> bool:
    """Whether a target is a file's path, and not a module's dotted name."""
    return target.endswith(".py") or "/" in target


def _name(module: ModuleType) -> str:
    """The module's `name`, or its file's; of a file design.py the folder's."""
    path, name = Path(_file(module)), getattr(module, "name", None)
    if isinstance(name, str) and name:
        return name
    return path.parent.name if path.stem == "design" else path.stem


def _module_name(module: ModuleType) -> str:
    """A module as its author knows it: by its name, or where it was loaded as a file by that."""
    return _file(module) if module.__name__.startswith(_FILE_MODULE) else module.__name__


def _file(module: ModuleType) -> str:
    """The file of a module; of one without, such as a folder of modules, its name."""
    return str(getattr(module, "__file__", None) or module.__name__)


def _module_values(module: ModuleType, name: str, kind: type[T], example: str) -> tuple[T, ...]:
    """What a module says of the whole design under one of the names that are kept for that."""
    value = getattr(module, name, ())
    listed = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    for one in listed:
        if not isinstance(one, kind):
            raise DesignError(
                f"the module's {name} hold {one!r}, which is no {kind.__name__}",
                place=Place(_file(module), 1, name),
                fix=f"write {example}, and give what is meant otherwise another name",
            )
    return listed


def _load_file(path: Path) -> ModuleType:
    # Annotations are looked up in sys.modules; the name is made so that no other module is hidden.
    name = f"{_FILE_MODULE}{path.resolve()}"
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise DesignError(f"{path} is no Python file", place=Place(str(path), 0), fix="name a .py file or a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
