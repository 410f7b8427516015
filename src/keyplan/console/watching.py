"""A design that is loaded again when one of its files changes."""

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
"""The modification time and the size of each file, or None for a missing file."""


class WatchedDesign:
    """A design that is loaded again when its files change. Threads can share this object."""

    def __init__(self, load: Callable[[], LoadedDesign], loaded: LoadedDesign | None = None) -> None:
        """Load the design with the function `load`, unless it is already loaded and passed as `loaded`.

        `load` must raise KeyplanError if it cannot load the design.
        """
        self._load, self._lock = load, threading.Lock()
        self._stamps: _Stamps = {}
        self.problem = ""
        """The reason why the changed design cannot be loaded, or an empty string.

        If it cannot be loaded, `design` is the previous design.
        """
        self._load_design({}, loaded)

    def refresh(self, apply: Callable[[Design], None]) -> None:
        """If a file of the design has changed, load the design again and call `apply` with it.

        If loading fails, set `problem` to the error message.
        """
        with self._lock:
            stamps = self._file_stamps()
            if stamps == self._stamps:
                return
            try:
                self._load_design(stamps)
            except KeyplanError as error:
                self.problem = str(error)
                self._stamps = self._file_stamps() | stamps
            else:
                apply(self.design)

    def _load_design(self, before: _Stamps, loaded: LoadedDesign | None = None) -> None:
        """Load the design, unless `loaded` already contains it.

        `before` contains the stamps that the files had before loading started. They are kept because a file may change
        during loading.
        """
        loaded = loaded or self._load()
        self.design: Design = loaded.design
        self.loaded_at = datetime.now(UTC)
        """The time at which the design was loaded."""
        self.problem = ""
        self._files = frozenset({*loaded.files, *((loaded.file,) if loaded.file is not None else ())})
        stamps = self._file_stamps()
        self._stamps = stamps | {file: stamp for file, stamp in before.items() if file in stamps}

    def _file_stamps(self) -> _Stamps:
        """Return the current modification time and size of each file.

        If the design could not be loaded after the latest change, all Python files in the same folders are included,
        because another file may contain the cause.
        """
        nearby_files = (
            {source_file for file in self._files for source_file in file.parent.glob("*.py")} if self.problem else ()
        )
        return {file: _stamp(file) for file in {*self._files, *nearby_files}}


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
