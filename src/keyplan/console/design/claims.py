"""Background verification of a design. It checks claims, predicted costs and the results of patterns on generated
items.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from keyplan.cost.prices import PriceBook
from keyplan.design.declaring.design import Design
from keyplan.errors import KeyplanError
from keyplan.verify import VerificationReport, verify

State = Literal["idle", "running", "done", "stopped", "failed"]
ITEMS: Final = (400, 1_000, 4_000, 20_000)
"""The numbers of generated items that a user can choose for a verification."""
TIME_LIMIT_S: Final = 600.0


@dataclass(frozen=True)
class RunProgress:
    """The progress of a verification run."""

    state: State = "idle"
    activity: str = ""
    """The current step of the verification, such as "loading Task"."""
    completed: int = 0
    total: int = 0
    error: str = ""


class _Stopped(KeyplanError):  # noqa: N818 - not an error: a person ended the verification
    """Raised when a user cancels a running verification."""


class Verification:
    """The verification of a design on a separate embedded engine. Threads can share it, but only one run is active at a
    time.
    """

    def __init__(self, design: Design, book: PriceBook, run: Callable[..., VerificationReport] = verify) -> None:
        """Create a verification that uses the prices in `book`. `run` is the function that verifies the design."""
        self._design, self._book, self._run = design, book, run
        self._lock = threading.Lock()
        self._stop_requested = threading.Event()
        self._thread: threading.Thread | None = None
        self.progress = RunProgress()
        self.report: VerificationReport | None = None
        """The result of the latest complete run, or None if no run is complete."""

    def start(self, items: int) -> bool:
        """Start a verification with about `items` generated items. Return False if one is already running."""
        with self._lock:
            if self.progress.state == "running":
                return False
            self._stop_requested.clear()
            self.progress = RunProgress("running", "generating items")
            self._thread = threading.Thread(target=self._run_verification, args=(items,), name="verify", daemon=True)
            self._thread.start()
            return True

    def stop(self) -> None:
        """Cancel the running verification before it calls the next pattern."""
        self._stop_requested.set()

    def wait(self, seconds: float) -> None:
        """Wait for the running verification to end, but at most `seconds` seconds."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run_verification(self, items: int) -> None:
        try:
            report = self._run(
                self._design,
                items=items,
                book=self._book,
                progress=lambda name, completed, total: self._report_progress(f"loading {name}", completed, total),
                running=lambda name, completed, total: self._report_progress(f"running {name}", completed, total),
                seconds=TIME_LIMIT_S,
            )
        except _Stopped:
            self.progress = replace(self.progress, state="stopped")
        except Exception as error:  # noqa: BLE001 - a page shows it: values of a design may raise anything
            self.progress = replace(self.progress, state="failed", error=f"{type(error).__name__}: {error}")
        else:
            self.report = report
            self.progress = replace(self.progress, state="done")

    def _report_progress(self, activity: str, completed: int, total: int) -> None:
        if self._stop_requested.is_set():
            raise _Stopped
        self.progress = RunProgress("running", activity, completed, total)
