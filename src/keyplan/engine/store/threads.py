"""Starts background threads, and handles failures to start a thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger(__name__)


def start_thread(target: Callable[[], None], name: str) -> threading.Thread | None:
    """Start a thread and return it, or return None if the process cannot start one or is shutting down.

    A failure is only logged, because the work stays pending and the next caller tries again.
    """
    thread = threading.Thread(target=target, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        _log.warning("cannot start thread %s", name, exc_info=True)
        return None
    return thread
