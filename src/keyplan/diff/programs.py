"""Loads two versions of a design in one process, and searches programs for uses of patterns.

Python loads only one module with a given name. Without isolation, two versions of a file, or packages with the same
name in two folders, would become one design or a mixture of both. Therefore, modules that are not libraries are
imported again for each version, with the folder of the design first in the search path. Then the previous modules are
restored.
"""

from __future__ import annotations

import ast
import importlib
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from keyplan.design.declaring.design import Design, is_file_path
from keyplan.design.errors import Place
from keyplan.errors import KeyplanError

_KEYPLAN_MODULES = ("keyplan", "__main__", "__mp_main__")
_LIBRARIES = tuple(
    f"{Path(folder).resolve()}{os.sep}"
    for folder in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
    }
)


@dataclass(frozen=True)
class LoadedDesign:
    """A design with the source files of the modules that were imported to load it."""

    design: Design
    file: Path | None
    """The file from which the design was loaded, or None if its module has no file."""
    files: frozenset[Path]

    def tables_shared_with(self, other: LoadedDesign) -> tuple[str, ...]:
        """Return the names of the tables that both versions import from the same file. Changes to these tables cannot
        be detected.
        """
        paths = self.places
        return tuple(name for name, path in other.places.items() if paths.get(name) == path)

    @property
    def places(self) -> dict[str, Path]:
        """Return the file that declares each table, by table name. If two tables have the same name, the first one is
        used.
        """
        files: dict[str, Path] = {}
        for table in self.design.tables:
            files.setdefault(table.name, Path(table.schema.place.file).resolve())
        return files


def load_isolated(target: str) -> LoadedDesign:
    """Import the module of a design again and return the design.

    `target` is a module name or a file. Raises the same errors as `Design.load`.
    """
    with _isolated_modules(target) as name:
        design = Design.load(name)
        file = (
            Path(target).resolve() if name != target or is_file_path(target) else _program_file(name, sys.modules[name])
        )
        files = frozenset(
            path for key, module in list(sys.modules.items()) if (path := _program_file(key, module)) is not None
        )
    return LoadedDesign(design, file, files)


@contextmanager
def _isolated_modules(target: str) -> Iterator[str]:
    """Import modules that are not libraries again within the block, and restore the previous modules after it.

    Yields the name of the module to import.
    """
    name, folder = _module_location(target)
    path, caches = list(sys.path), sys.dont_write_bytecode
    before = {key: module for key, module in sys.modules.items() if _is_program_module(key, module, name)}
    for key in before:
        del sys.modules[key]
    if folder is not None:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    sys.dont_write_bytecode = True  # a cache is valid for files of the same size and second: a change could be missed
    try:
        yield name
    finally:
        sys.dont_write_bytecode = caches
        for key in [key for key, module in sys.modules.items() if _is_program_module(key, module, name)]:
            del sys.modules[key]
        sys.modules.update(before)
        sys.path[:] = path
        importlib.invalidate_caches()


def _module_location(target: str) -> tuple[str, Path | None]:
    """Return the dotted name of the module in a file, and the folder that contains its top package. If `target` is
    already a module name, return this name, and None as the folder.
    """
    if not is_file_path(target):
        return target, None
    path = Path(target).resolve()
    folder, names = path.parent, [path.stem]
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return (target if len(names) == 1 else ".".join(names)), folder


def _is_program_module(name: str, module: ModuleType | None, target: str) -> bool:
    """Return True if a module belongs to the program, not to keyplan, the standard library or an installed package.

    All modules in the top package of `target` belong to the program.
    """
    top = name.partition(".")[0]
    if module is None or top in _KEYPLAN_MODULES or top in sys.stdlib_module_names:
        return False
    if top == target.partition(".")[0]:
        return True
    locations = [getattr(module, "__file__", None), *(getattr(module, "__path__", None) or ())]
    paths = [_real_path(location) for location in locations if location]
    return bool(paths) and not any(path.startswith(_LIBRARIES) for path in paths)


@cache
def _real_path(path: str) -> str:
    """Return the path with all symbolic links resolved. Results are cached, because the paths of all loaded modules are
    compared several times.
    """
    return os.path.realpath(path)


def _program_file(name: str, module: ModuleType | None) -> Path | None:
    if not _is_program_module(name, module, ""):
        return None
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


class UnreadableProgramError(KeyplanError):
    """Raised if a program cannot be searched because a file is missing, unreadable or not valid Python."""


@dataclass(frozen=True)
class NameUse:
    """A location in a program where a name from the module of a design is used."""

    name: str
    place: Place


def uses_of(
    module: str, names: Iterable[str], paths: Iterable[Path], excluded: Iterable[Path] = ()
) -> tuple[NameUse, ...]:
    """Return the locations in Python files and folders where one of the given names from a module is used.

    `module` is the last part of the module's name, such as "design". The files in `excluded`, which declare the
    designs, are skipped. Raises UnreadableProgramError if a file is missing, unreadable or not valid Python.
    """
    searched_names, excluded_paths = set(names), {path.resolve() for path in excluded}
    files = [file for path in paths for file in _files(path) if file.resolve() not in excluded_paths]
    return tuple(use for file in files for use in _uses_in_file(file, module, searched_names))


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise UnreadableProgramError(f"{path}: file or folder not found")
    return sorted(file for file in path.rglob("*.py") if file.is_file()) if path.is_dir() else [path]


def _uses_in_file(file: Path, module: str, names: set[str]) -> Iterator[NameUse]:
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        raise UnreadableProgramError(f"{file} is not valid Python: {error}") from None
    except OSError as error:
        raise UnreadableProgramError(f"{file} cannot be read: {error.strerror}") from None
    except (RecursionError, MemoryError):
        raise UnreadableProgramError(f"{file} is nested too deeply to be read") from None
    aliases = set(_aliases(tree, module))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _last_part(node.module) == module:
            yield from (NameUse(alias.name, _place(file, node)) for alias in node.names if alias.name in names)
        elif isinstance(node, ast.Attribute) and node.attr in names and _dotted(node.value) in aliases:
            yield NameUse(node.attr, _place(file, node))


def _aliases(tree: ast.AST, module: str) -> Iterator[str]:
    """Yield the names that the import statements of a file give to the module, such as d for `import design as d`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.asname or alias.name for alias in node.names if _last_part(alias.name) == module)
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names if alias.name == module)


def _dotted(node: ast.expr) -> str:
    """Return the dotted name of an expression such as a.b.c. For other expressions, return an empty string."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def _last_part(module: str | None) -> str:
    return (module or "").rpartition(".")[2]


def _place(file: Path, node: ast.stmt | ast.expr) -> Place:
    return Place(str(file), node.lineno)
