"""Progress output on standard error for long operations. The first line is printed after two seconds, and then one line
every ten seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import typer

from keyplan.clock import SystemClock

FIRST_S, EVERY_S = 2.0, 10.0


def _to_standard_error(line: str) -> None:
    typer.echo(line, err=True)


@contextmanager
def report_progress(
    step: str,
    description: Callable[[], str] | None = None,
    *,
    print_line: Callable[[str], None] = _to_standard_error,
    first_s: float = FIRST_S,
) -> Iterator[None]:
    """Print progress lines with the elapsed seconds while the `with` block runs.

    `step` is the text at the start of each line, such as "keyplan snapshot: copying". `description` returns a
    description of the current progress. `print_line` prints a line, and `first_s` is the time until the first line in
    seconds.
    """
    clock = SystemClock()
    start_s = clock.monotonic()
    ended = Event()

    def report() -> None:
        wait_s = first_s
        while not ended.wait(wait_s):
            wait_s = EVERY_S
            progress_text = f", {description()}" if description is not None else ""
            print_line(f"{step}{progress_text}, {clock.monotonic() - start_s:.0f} s")

    thread = Thread(target=report, name="elapsed", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
