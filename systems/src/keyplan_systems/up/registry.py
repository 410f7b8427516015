"""The systems that `keyplan up` runs, written out."""

from __future__ import annotations

import importlib

from keyplan_systems.web.system import System

NAMES: tuple[str, ...] = ("ask_a_human", "venue_booking", "forum", "thinking_trainer", "todo")
"""In the order they are shown; each is the package keyplan_systems.NAME with SYSTEM in its app module."""


def load(name: str) -> System:
    """A system by its name. Raises KeyError for one that is not there."""
    if name not in NAMES:
        raise KeyError(name)
    system = importlib.import_module(f"keyplan_systems.{name}.app").SYSTEM
    assert isinstance(system, System), f"{name} registers something else"
    return system
