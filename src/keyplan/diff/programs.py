"""Two versions of a design in one process: each is loaded with modules of its own.

Python keeps one module of a name. Two versions of a file, or of a package of the same name in two folders, would be one
design or a mixture of both. So what is nobody's library is imported anew for each, from the design's own folder first,
and what was there before is put back.
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
from pathlib import Path
from types import ModuleType

from keyplan.design.declaring.design import Design, is_file_path
from keyplan.design.errors import Place
from keyplan.errors import KeyplanError

_OURS = ("keyplan", "__main__", "__mp_main__")
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
    """A design, and the files that its modules are from."""

    design: Design
    file: Path | None
    """The file that was named, or that the named module is from."""
    files: frozenset[Path]

    def tables_shared_with(self, other: LoadedDesign) -> tuple[str, ...]:
        """Tables that both declare in the same file: what changed in them cannot be seen."""
        mine = self.places
        return tuple(name for name, place in other.places.items() if mine.get(name) == place)

    @property
    def places(self) -> dict[str, Path]:
        """By table: the file that declares it; of two of one name, which is a finding of its own, the first's."""
        found: dict[str, Path] = {}
        for table in self.design.tables:
            found.setdefault(table.name, Path(table.schema.place.file).resolve())
        return found


def load_apart(target: str) -> LoadedDesign:
    """The design of a module or file, imported anew. Raises what `Design.load` raises."""
    with _apart(target) as name:
        design = Design.load(name)
        file = Path(target).resolve() if name != target or is_file_path(target) else _own_file(name, sys.modules[name])
        files = frozenset(
            path for key, module in list(sys.modules.items()) if (path := _own_file(key, module)) is not None
        )
    return LoadedDesign(design, file, files)


@contextmanager
def _apart(target: str) -> Iterator[str]:
    """Within, modules of nobody's library are imported anew; gives what to import of a target."""
    name, folder = _in_package(target)
    path, before = list(sys.path), {key: module for key, module in sys.modules.items() if _is_own(key, module, name)}
    for key in before:
        del sys.modules[key]
    if folder is not None:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield name
    finally:
        for key in [key for key, module in sys.modules.items() if _is_own(key, module, name)]:
            del sys.modules[key]
        sys.modules.update(before)
        sys.path[:] = path
        importlib.invalidate_caches()


def _in_package(target: str) -> tuple[str, Path | None]:
    """A file in a package as its module's name, with the folder that the package is in; others as they are."""
    if not is_file_path(target):
        return target, None
    path = Path(target).resolve()
    folder, names = path.parent, [path.stem]
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return (target if len(names) == 1 else ".".join(names)), folder


def _is_own(name: str, module: ModuleType | None, target: str) -> bool:
    """Whether a module is a program's own, and not the standard library's, an installed one's or keyplan's."""
    top = name.partition(".")[0]
    if module is None or top in _OURS or top in sys.stdlib_module_names:
        return False
    if top == target.partition(".")[0]:
        return True
    folders = [getattr(module, "__file__", None), *(getattr(module, "__path__", None) or ())]
    places = [Path(folder).resolve() for folder in folders if folder]
    return bool(places) and not any(str(place).startswith(_LIBRARIES) for place in places)


def _own_file(name: str, module: ModuleType | None) -> Path | None:
    if not _is_own(name, module, ""):
        return None
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


class UnreadableProgramError(KeyplanError):
    """A program that is to be searched for uses of a design, and cannot be read as Python."""


@dataclass(frozen=True)
class NameUse:
    """A use of something that a design's module declares."""

    name: str
    place: Place


def uses_of(
    module: str, names: Iterable[str], paths: Iterable[Path], without: Iterable[Path] = ()
) -> tuple[NameUse, ...]:
    """Uses of a module's names in Python files and folders; `module` is its last name, such as design.

    Files of the designs themselves are left out. Raises UnreadableProgramError.
    """
    wanted, left_out = set(names), {path.resolve() for path in without}
    files = [file for path in paths for file in _files(path) if file.resolve() not in left_out]
    return tuple(use for file in files for use in _in_file(file, module, wanted))


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise UnreadableProgramError(f"{path}: there is no such file or folder")
    return sorted(file for file in path.rglob("*.py") if file.is_file()) if path.is_dir() else [path]


def _in_file(file: Path, module: str, names: set[str]) -> Iterator[NameUse]:
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        raise UnreadableProgramError(f"{file} is no Python: {error}") from None
    except OSError as error:
        raise UnreadableProgramError(f"{file} cannot be read: {error.strerror}") from None
    except (RecursionError, MemoryError):
        raise UnreadableProgramError(f"{file} is nested too deeply to be read") from None
    aliases = set(_aliases(tree, module))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _last(node.module) == module:
            yield from (NameUse(one.name, _place(file, node)) for one in node.names if one.name in names)
        elif isinstance(node, ast.Attribute) and node.attr in names and _dotted(node.value) in aliases:
            yield NameUse(node.attr, _place(file, node))


def _aliases(tree: ast.AST, module: str) -> Iterator[str]:
    """What the module is called in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.asname or one.name for one in node.names if _last(one.name) == module)
        elif isinstance(node, ast.ImportFrom):
            yield from (one.asname or one.name for one in node.names if one.name == module)


def _dotted(node: ast.expr) -> str:
    """The names of a.b.c; empty for what is no such thing."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def _last(module: str | None) -> str:
    return (module or "").rpartition(".")[2]


def _place(file: Path, node: ast.stmt | ast.expr) -> Place:
    return Place(str(file), node.lineno)
