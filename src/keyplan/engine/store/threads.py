"""Threads in the background, and what if there are none to be had."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)


def started(work: Callable[[], None], name: str) -> threading.Thread | None:
    """A thread that does the work; None where the process may have no more, or is about to end.

    That is told by the log alone: what the thread was wanted for stands, and whoever comes next tries again.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        _log.warning("no thread for %s", name, exc_info=True)
        return None
    return thread
