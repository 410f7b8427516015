"""What is known of each user and task: the latest event, the latest image, and how many events there were.

Knowing more is *merging*, and merging does not care for order: the state comes from the fact of the greatest
position, the image from the greatest position that has one. So batches may come late, and in any order,
and silver ends up the same.

A position is (era, stream, sequence). The era counts the full exports that are older than the event: an
export shows everything that happened before it, so what it shows outranks all earlier events and is outranked
by all later ones. A user or task known only from earlier eras is missing in a later export and so is gone;
whether it expired is concluded from its expiry time, and the standing's `source` says so.

Source of the rule to read an export together with the stream: developer guide, "DynamoDB data export to Amazon S3".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyplan_systems.todo.lake import columns
from keyplan_systems.todo.lake.events import position_of
from keyplan_systems.todo.lake.snapshot import Baseline

CURRENT, DELETED, EXPIRED = "current", "deleted", "expired"
SHOWN = "0"
"""Sequence of what an export shows: before that of any event, which has 40 digits."""

_STATES = {"insert": CURRENT, "modify": CURRENT, "delete": DELETED, "expire": EXPIRED}
_SECOND_US = 1_000_000

Key = tuple[str, str]
"""User id and task id; of a user the task id is empty."""
Position = tuple[int, str, str]
"""Era, stream, sequence."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of one user or task."""

    at: Position
    state: str
    changed_us: int
    source: str
    """`stream` or `export`: where the state is known from."""
    image: str | None
    image_at: Position | None
    events: int
    """Change events of the stream."""


def merge(one: Fact, other: Fact) -> Fact:
    """What two facts say together; the same whichever comes first."""
    state = max(one, other, key=lambda fact: (fact.at, fact.state, fact.changed_us))
    image = max(one, other, key=lambda fact: (fact.image_at or (-1, "", ""), fact.image or ""))
    return replace(state, image=image.image, image_at=image.image_at, events=one.events + other.events)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a user or task stands, facts and exports taken together."""

    state: str
    """`current`, `deleted` or `expired`."""
    source: str
    """`export` if the state is concluded, or known, from an export."""
    changed_us: int


def standing(fact: Fact, baselines: Sequence[Baseline]) -> Standing:
    """How a user or task stands: a conclusion from the exports that do not show it is no fact, and never merged."""
    if fact.state != CURRENT or fact.at[0] == len(baselines):
        return Standing(fact.state, fact.source, fact.changed_us)
    as_of_us = baselines[fact.at[0]].as_of_us
    expires_s = columns.expires_s(fact.image)
    expired = expires_s is not None and expires_s * _SECOND_US <= as_of_us
    return Standing(EXPIRED if expired else DELETED, "export", as_of_us)


def era_of(stream: str, sequence: str, at_us: int, baselines: Sequence[Baseline]) -> int:
    """How many exports an event comes after."""
    after = (number for number, one in enumerate(baselines, 1) if _is_after(stream, sequence, at_us, one))
    return max(after, default=0)


def event_facts(rows: Iterable[Mapping[str, Any]], baselines: Sequence[Baseline]) -> dict[str, dict[Key, Fact]]:
    """Rows of bronze, as facts of `users` and `tasks`."""
    found: dict[str, dict[Key, Fact]] = {"users": {}, "tasks": {}}
    for row in rows:
        kind = row["entity"] + "s"
        if kind in found:
            add(found[kind], (row["user_id"], row["task_id"] or ""), _event_fact(row, baselines))
    return found


def shown_fact(image: str, era: int, as_of_us: int) -> Fact:
    """An item that the export of that number, from 1, shows."""
    at = (era, "", SHOWN)
    return Fact(at, CURRENT, as_of_us, "export", image, at, 0)


def add(facts: dict[Key, Fact], key: Key, fact: Fact) -> None:
    """Merge a fact into those known."""
    known = facts.get(key)
    facts[key] = fact if known is None else merge(known, fact)


def _event_fact(row: Mapping[str, Any], baselines: Sequence[Baseline]) -> Fact:
    at_us = row["event_us"]
    at = (era_of(row["stream"], row["sequence"], at_us, baselines), row["stream"], row["sequence"])
    image = row["new_image"] or row["old_image"]
    return Fact(at, _STATES[row["change"]], at_us, "stream", image, at if image else None, 1)


def _is_after(stream: str, sequence: str, at_us: int, baseline: Baseline) -> bool:
    """Whether an event may be missing in an export; by time, whole seconds, since that is how exactly events say it."""
    if baseline.position:
        return position_of(stream, sequence) > baseline.position
    return at_us // _SECOND_US >= baseline.as_of_us // _SECOND_US
