"""Two versions of a design in one process: each is loaded with modules of its own.

Python keeps one module of a name. Two versions of a file, or of a package of the same name in two folders, would be one
design or a mixture of both. So what is nobody's library is imported anew for each, from the design's own folder first,
and what was there before is put back.
"""

from __future__ import annotations

import importlib
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from keyplan.design.design import Design, names_a_file

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
class Loaded:
    """A design, and the files that its modules are from."""

    design: Design
    file: Path | None
    """The file that was named, or that the named module is from."""
    files: frozenset[Path]

    def tables_shared_with(self, other: Loaded) -> tuple[str, ...]:
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


def load_apart(target: str) -> Loaded:
    """The design of a module or file, imported anew. Raises what `Design.load` raises."""
    with _apart(target) as name:
        design = Design.load(name)
        file = Path(target).resolve() if name != target or names_a_file(target) else _own_file(name, sys.modules[name])
        files = frozenset(
            path for key, module in list(sys.modules.items()) if (path := _own_file(key, module)) is not None
        )
    return Loaded(design, file, files)


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
    if not names_a_file(target):
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
