"""Where programs use what a design's module declares: imports of a name from it, and attributes of the module.

Python is read, not run. What is found is a use for sure; a name that is made at run time is not found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from keyplan.design.places import Place
from keyplan.errors import KeyplanError


class UnreadableProgramError(KeyplanError):
    """A program that is to be searched for uses of a design, and cannot be read as Python."""


@dataclass(frozen=True)
class Use:
    """A use of something that a design's module declares."""

    name: str
    place: Place


def uses_of(module: str, names: Iterable[str], paths: Iterable[Path], without: Iterable[Path] = ()) -> tuple[Use, ...]:
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


def _in_file(file: Path, module: str, names: set[str]) -> Iterator[Use]:
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
            yield from (Use(one.name, _place(file, node)) for one in node.names if one.name in names)
        elif isinstance(node, ast.Attribute) and node.attr in names and _dotted(node.value) in aliases:
            yield Use(node.attr, _place(file, node))


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
