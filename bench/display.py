"""Progress of a complete run on standard error: a bar in a terminal, or otherwise one line per part."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

REFRESH_S = 0.2


class Display:
    """A progress bar for the parts, with another bar for loading below it. Nothing is drawn during a measurement."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        in_terminal = console.is_terminal
        self._progress = Progress(
            *columns, console=console, transient=True, auto_refresh=False, disable=not in_terminal
        )
        self._task = self._progress.add_task("", total=None)
        self._console = console
        self._part = ""
        self._started_parts = 0
        self._drawn_s = 0.0
        self._started_s = time.monotonic()

    def __enter__(self) -> Display:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, part: str, parts: int) -> None:
        """Begin the next part."""
        self._part = part
        self._started_parts += 1
        self._progress.update(
            self._task, description=part, completed=self._started_parts - 1, total=parts, refresh=True
        )
        if not self._console.is_terminal:
            elapsed_s = time.monotonic() - self._started_s
            self._console.print(f"part {self._started_parts} of {parts}, after {elapsed_s:.0f} s: {part}")

    def say(self, text: str) -> None:
        """Show the current step of the part."""
        self._progress.update(self._task, description=f"{self._part}: {text}", refresh=True)

    @contextlib.contextmanager
    def loading(self, name: str, items: int) -> Iterator[Callable[[int], None]]:
        """Show a bar of loaded items while the block runs."""
        task = self._progress.add_task(f"loading {name}", total=items)
        try:
            yield lambda count: self._advance(task, count)
        finally:
            self._progress.remove_task(task)
            self._progress.refresh()

    def _advance(self, task: TaskID, count: int) -> None:
        self._progress.advance(task, count)
        now_s = time.monotonic()
        if now_s - self._drawn_s > REFRESH_S:
            self._drawn_s = now_s
            self._progress.refresh()
