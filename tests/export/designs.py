"""The designs that are exported: the five systems' and the five as they are written, each loaded once."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from keyplan.design.declaring.design import Design
from keyplan.design.declaring.tables import Table

ROOT = Path(__file__).parents[2]
SYSTEMS = ("ask_a_human", "forum", "thinking_trainer", "todo", "venue_booking")
ALL = {
    **{name: f"keyplan_systems.{name}.design" for name in SYSTEMS},
    **{f"{name}, as written": str(ROOT / "examples" / "as_written" / f"{name}.py") for name in SYSTEMS},
}
"""By name: the module or file of a design."""
REFUSED = {
    "ask_a_human, as written": ["KP101"],
    "thinking_trainer, as written": ["KP101"],
    "todo, as written": ["KP703", "KP710"],
}
"""By name: the rules by which a design's tables cannot be made as they are declared."""
CREATABLE = tuple(name for name in ALL if name not in REFUSED)


@lru_cache(maxsize=len(ALL))
def loaded(name: str) -> Design:
    """Return a design by its name in this module."""
    return Design.load(ALL[name])


def tables_of(name: str) -> tuple[Table, ...]:
    """Return the tables of a design."""
    return loaded(name).tables
