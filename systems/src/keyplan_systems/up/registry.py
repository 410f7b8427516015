"""The registry of the systems that `keyplan up` can run."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from keyplan.check.checking import Report
from keyplan.cost.estimate import Estimate
from keyplan.design.declaring.design import Design
from keyplan_systems.web.system import BuiltSystem, System

NAMES: tuple[str, ...] = ("ask_a_human", "venue_booking", "forum", "thinking_trainer", "todo")
"""Names of the systems, in the order in which they are shown. The module `keyplan_systems.NAME.app` of each system
defines SYSTEM.
"""


@dataclass(frozen=True)
class HostedSystem:
    """A system that runs in this process, with its design, findings and costs."""

    system: System
    design: Design
    report: Report
    monthly_cost: Estimate
    built: BuiltSystem


def load(name: str) -> System:
    """Import a system and return its description. Raises KeyError if `name` is not the name of a system."""
    if name not in NAMES:
        raise KeyError(name)
    system = importlib.import_module(f"keyplan_systems.{name}.app").SYSTEM
    assert isinstance(system, System), f"{name} registers something else"
    return system
