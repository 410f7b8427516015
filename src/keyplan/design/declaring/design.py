"""A design: the tables and transactions of a module, and everything that is declared on them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from keyplan.design.arguments import check_text, checked_call, is_number
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.declaring.transactions import Transaction
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import UNKNOWN_PLACE, DesignError, Place, calling_place
from keyplan.design.workload import Claim

T = TypeVar("T")
COST_FLOOR = 10.0
"""The default monthly cost, in dollars, below which findings about cost are not reported."""
_FILE_MODULE = "keyplan_design_file."
"""The prefix for the names of modules loaded from files."""


@dataclass(frozen=True)
class Suppression:
    """A suppressed finding, and the reason for suppressing it."""

    code: str
    """The code of the rule, such as KP405."""
    reason: str
    on: str = ""
    """The table, entity, index or pattern for which the finding is suppressed. If it is empty, the finding is
    suppressed for the whole design.
    """
    place: Place = UNKNOWN_PLACE


@checked_call
def suppress(code: str, *, on: str = "", reason: str) -> Suppression:
    """Suppress a finding about a design.

    Add the result to the variable `suppressed` of the design's module:

        suppressed = [suppress("KP405", on="by_status", reason="...")]
    """
    for option, text in (("code", code), ("on", on), ("reason", reason)):
        check_text(option, text)
    return Suppression(code, reason, on, calling_place())


@dataclass(frozen=True)
class Design:
    """A design that can be checked, priced, explained and documented."""

    name: str
    tables: tuple[Table, ...]
    transactions: tuple[Transaction[Any], ...] = ()
    claims: tuple[Claim, ...] = ()
    """Published claims about the whole design, such as its monthly cost. Read from the module's variable `claims`."""
    suppressed: tuple[Suppression, ...] = ()
    """Suppressed findings. Read from the module's variable `suppressed`."""
    cost_floor: float = COST_FLOOR
    """The monthly cost, in dollars, below which findings about cost are not reported.

    Read from the module's variable `cost_floor`.
    """
    doc: str = ""

    @classmethod
    def of(cls, module: ModuleType) -> Design:
        """Return the design that a module declares, including the module's `claims` and `suppressed`.

        Raises DesignError if the module declares no table.
        """
        declarations = list(
            dict.fromkeys(value for value in vars(module).values() if isinstance(value, (Table, Transaction)))
        )
        tables = tuple(value for value in declarations if isinstance(value, Table))
        if not tables:
            raise DesignError(
                f"{_module_name(module)} declares no table",
                place=Place(_module_path(module), 1),
                fix='declare one: app = Table("app", pk="PK", sk="SK")',
            )
        return cls(
            name=_design_name(module),
            tables=tables,
            transactions=tuple(value for value in declarations if isinstance(value, Transaction)),
            claims=_module_values(module, "claims", Claim, 'claims = [Claim("$0 a month")]'),
            suppressed=_module_values(
                module, "suppressed", Suppression, 'suppressed = [suppress("KP405", reason="...")]'
            ),
            cost_floor=_cost_floor(module),
            doc=(module.__doc__ or "").strip(),
        )

    @classmethod
    def load(cls, target: str) -> Design:
        """Import a module, given its dotted name or file path, and return its design.

        Raises DesignError if the file is missing or the module has no table, and ModuleNotFoundError if no module has
        the dotted name.
        """
        if is_file_path(target):
            return cls.of(_load_file(Path(target)))
        return cls.of(importlib.import_module(target))

    @property
    def entities(self) -> Iterator[EntitySpec]:
        """Yield every entity of the design, table by table."""
        return (entity for table in self.tables for entity in table.entities)

    @property
    def patterns(self) -> Iterator[Pattern[..., Any]]:
        """Yield every pattern of the design: the patterns of each table, followed by the transactions."""
        for table in self.tables:
            yield from table.patterns
        yield from self.transactions

    def table_of(self, pattern: Pattern[..., Any]) -> Table:
        """Return the table that a pattern is declared on. Raises KeyError if the pattern belongs to another design."""
        for table in self.tables:
            if table.schema is pattern.plan.schema:
                return table
        raise KeyError(pattern.name)

    def pattern(self, name: str) -> Pattern[..., Any]:
        """Return the pattern with this name. Raises KeyError if it does not exist."""
        for pattern in self.patterns:
            if pattern.name == name:
                return pattern
        raise KeyError(name)


def is_file_path(target: str) -> bool:
    """Return True if a target is a file path rather than a module's dotted name."""
    return target.endswith(".py") or "/" in target


def _design_name(module: ModuleType) -> str:
    """Return the name of the design that a module declares.

    The name is the value of the module's variable `name`. Without this variable, it is the name of the module's file,
    or the name of the folder if the file is design.py.
    """
    path, name = Path(_module_path(module)), getattr(module, "name", None)
    if isinstance(name, str) and name:
        return name
    return path.parent.name if path.stem == "design" else path.stem


def _module_name(module: ModuleType) -> str:
    """Return a module's name for use in messages or, if the module was loaded from a file, its path."""
    return _module_path(module) if module.__name__.startswith(_FILE_MODULE) else module.__name__


def _module_path(module: ModuleType) -> str:
    """Return the path of a module's file or, for a module without a file, such as a namespace package, its name."""
    return str(getattr(module, "__file__", None) or module.__name__)


def _module_values(module: ModuleType, name: str, kind: type[T], example: str) -> tuple[T, ...]:
    """Return the objects in a module's variable `name`.

    Raises DesignError if an object is not an instance of `kind`. `example` is source code that shows a valid value.
    """
    value = getattr(module, name, ())
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    for member in values:
        if not isinstance(member, kind):
            raise DesignError(
                f"the module's {name} contain {member!r}, which is not a {kind.__name__}",
                place=Place(_module_path(module), 1, name),
                fix=f"write {example}, and rename other variables",
            )
    return values


def _cost_floor(module: ModuleType) -> float:
    """Return the module's `cost_floor`. Raises DesignError if it is not a non-negative number of dollars."""
    floor = getattr(module, "cost_floor", COST_FLOOR)
    if not is_number(floor):
        raise DesignError(
            f"the module's cost_floor is {floor!r}, which is not an amount",
            place=Place(_module_path(module), 1, "cost_floor"),
            fix="write dollars per month, such as cost_floor = 25, and rename other variables",
        )
    return float(floor)


def _load_file(path: Path) -> ModuleType:
    # Annotations are looked up in sys.modules, so the module needs a unique name there.
    name = f"{_FILE_MODULE}{path.resolve()}"
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise DesignError(f"{path} is not a Python file", place=Place(str(path), 0), fix="name a .py file or a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
