"""The design that a console shows, which is loaded again when one of its files changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from keyplan.errors import KeyplanError

if TYPE_CHECKING:
    from keyplan.design.declaring.design import Design
    from keyplan.diff.programs import LoadedDesign

_Stamps: TypeAlias = dict[Path, tuple[int, int] | None]
"""Modification time and size of each file, or None for a missing file."""


class WatchedDesign:
    """A design, and the error that occurred when its latest change was loaded. Threads may share it."""

    def __init__(self, load: Callable[[], LoadedDesign], first: LoadedDesign | None = None) -> None:
        """Load the design, unless `first` is given. `load` raises KeyplanError if the design cannot be loaded."""
        self._load, self._lock = load, threading.Lock()
        self._stamps: _Stamps = {}
        self.problem = ""
        """Reason why the changed design cannot be loaded, or an empty string. `design` is then the previous design."""
        self._read({}, first)

    def refresh(self, use: Callable[[Design], None]) -> None:
        """If a file has changed, load the design again and call `use` with it. If this fails, set `problem`."""
        with self._lock:
            stamps = self._stamped()
            if stamps == self._stamps:
                return
            try:
                self._read(stamps)
            except KeyplanError as error:
                self.problem = str(error)
                self._stamps = self._stamped() | stamps
            else:
                use(self.design)

    def _read(self, before: _Stamps, loaded: LoadedDesign | None = None) -> None:
        """Load the design, unless `loaded` already contains it.

        `before` contains the stamps of the files from before the load, because a file may change during the load.
        """
        loaded = loaded or self._load()
        self.design: Design = loaded.design
        self.loaded_at = datetime.now(UTC)
        """Time when the design was loaded."""
        self.problem = ""
        self._files = frozenset({*loaded.files, *((loaded.file,) if loaded.file is not None else ())})
        stamps = self._stamped()
        self._stamps = stamps | {file: stamp for file, stamp in before.items() if file in stamps}

    def _stamped(self) -> _Stamps:
        """Return the current modification time and size of each file.

        If the latest change could not be loaded, the cause may be in a new file, so all modules in the same folders are
        included.
        """
        near = {source_file for file in self._files for source_file in file.parent.glob("*.py")} if self.problem else ()
        return {file: _stamp(file) for file in {*self._files, *near}}


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
