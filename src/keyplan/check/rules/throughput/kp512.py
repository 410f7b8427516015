"""Provisioned capacity below the declared load

The read and write units a second that are bought must cover what the patterns ask for at their declared rates:
units of a call times calls a second, for the table and for each index apart. Unused units of five minutes are
kept for bursts, which covers a short peak and no lasting one.

It is an error where the average load is above the capacity, and a warning where the peak is.

Buy as much as the peak needs at about 70 % use, let auto scaling follow slow changes, or use on-demand capacity.

Source: developer guide, "Provisioned capacity mode" and "Burst capacity".
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from keyplan.check.capacity import Part, parts_of
from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.estimate import TARGET_USE

RULE = Rule("KP512", "too-little-capacity", ("error", "warning"))


def check(subject: Subject) -> Iterator[Finding]:
    """Tables and indexes whose declared load exceeds their capacity."""
    for part in parts_of(subject):
        if part.bought is None:
            continue
        yield from _compare(part, "write", (part.write, part.peak_write), part.bought.write)
        yield from _compare(part, "read", (part.read, part.peak_read), part.bought.read)


def _compare(part: Part, what: str, load: tuple[float, float], bought: int) -> Iterator[Finding]:
    average, peak = load
    if peak <= bought:
        return
    always = average > bought
    yield Finding(
        RULE.code,
        "error" if always else "warning",
        part.name,
        f"{part.where} has {bought:,} {what} units a second, and its patterns take"
        f" {number(average if always else peak)} {'on average' if always else 'at the peak'}",
        f"buy {max(1, ceil(peak / TARGET_USE)):,} {what} units, or use OnDemand()",
        part.place,
    )
