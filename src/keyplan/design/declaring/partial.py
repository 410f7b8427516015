"""Functions that load a design in which some declarations are invalid.

The statements of the module run one by one. A statement that raises an error is skipped. Later statements that use a
name from a skipped statement are skipped too, because they would only repeat the first failure.
"""

from __future__ import annotations
import __future__ as future

import ast
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from keyplan.design.declaring.design import Design, is_file_path
from keyplan.design.declaring.tables import Table
from keyplan.design.errors import DesignError


@dataclass(frozen=True)
class Refusal:
    """A declaration that raised DesignError and was therefore skipped."""

    name: str
    """The first name that the skipped declaration would have defined in its module, or an empty string."""
    error: DesignError


@dataclass(frozen=True)
class PartialDesign:
    """A design without its invalid declarations, and without declarations that depend on them."""

    design: Design
    refusals: tuple[Refusal, ...] = ()
    unresolved: frozenset[str] = frozenset()
    """The names that the skipped declarations use."""


def load_partially(target: str) -> PartialDesign:
    """Return the design of a module or file without its invalid declarations.

    Raises DesignError if an error concerns the whole module, such as a missing table. If the module cannot be imported,
    raises the same errors as `Design.load`.
    """
    before = set(sys.modules)
    try:
        return PartialDesign(Design.load(target))
    except DesignError as error:
        _unload_tables(set(sys.modules) - before)
        path = _source(target)
        if path is None:
            raise
        module, refusals, unresolved = _run(target, path)
        if not refusals:  # the error concerns the whole module, such as a missing table
            raise
        try:
            return PartialDesign(Design.of(module), refusals, unresolved)
        except DesignError:
            raise error from None


def _unload_tables(names: set[str]) -> None:
    """Remove each of the named modules from `sys.modules` if it declares a table, so that the module is imported again.

    The failed import may have added patterns to its tables.
    """
    for name in names:
        if any(isinstance(value, Table) for value in vars(sys.modules[name]).values()):
            del sys.modules[name]


def _source(target: str) -> Path | None:
    """Return the path of the source file, given a module name or file path. Return None if the source file does not
    exist.
    """
    if is_file_path(target):
        path = Path(target)
    else:
        spec = importlib.util.find_spec(target)
        path = Path(spec.origin) if spec is not None and spec.origin is not None else Path()
    return path if path.is_file() else None


def _run(target: str, path: Path) -> tuple[ModuleType, tuple[Refusal, ...], frozenset[str]]:
    """Run the statements of a module one by one, and return the module, the declarations that raised DesignError, and
    every name that at least one skipped statement uses.

    `target` is the name or path of the module, and `path` is its source file.
    """
    module = ModuleType(f"keyplan_partial_design.{target}")
    module.__file__ = str(path)
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    module.__doc__ = ast.get_docstring(tree)
    sys.modules[module.__name__] = module  # annotations are looked up there
    refusals: list[Refusal] = []
    missing: set[str] = set()
    skipped: list[ast.stmt] = []
    flags = future.annotations.compiler_flag if _is_lazily_annotated(tree) else 0
    try:
        for statement in tree.body:
            if missing & set(_used_names(statement)):
                missing.update(_bound_names(statement))
                skipped.append(statement)
                continue
            code = compile(ast.Module([statement], []), str(path), "exec", flags=flags, dont_inherit=True)
            try:
                exec(code, vars(module))  # noqa: S102 - runs the design's statements like an import
            except DesignError as error:
                names = list(_bound_names(statement))
                refusals.append(Refusal(names[0] if names else "", error))
                missing.update(names)
                skipped.append(statement)
            except Exception:  # noqa: BLE001 - raised again once the invalid declarations are fixed
                missing.update(_bound_names(statement))
                skipped.append(statement)
    finally:
        del sys.modules[module.__name__]
    return module, tuple(refusals), frozenset(name for statement in skipped for name in _used_names(statement))


def _is_lazily_annotated(tree: ast.Module) -> bool:
    imports = (
        statement
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    )
    return any(alias.name == "annotations" for statement in imports for alias in statement.names)


def _used_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement uses, including the pattern names in `guards` and `after`."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.keyword) and node.arg in {"guards", "after"}:
            yield from (
                constant.value
                for constant in ast.walk(node)
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
            )


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in statement.names)
    else:
        yield from (
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
