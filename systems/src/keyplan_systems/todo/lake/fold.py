"""Facts about each user and task: the latest event, the latest image, and the number of events.

Facts are combined by *merging*, which does not depend on the order of the facts. The state is taken from the fact with
the greatest position, and the image from the fact with the greatest position that has an image. Therefore batches can
arrive late and in any order, and the resulting silver layer is the same.

A position is (era, stream, sequence). The era is the number of full exports that are older than the event. An export
includes everything that happened before it, so it takes precedence over all earlier events, and all later events take
precedence over it. A user or task that is known only from earlier eras is missing from a later export, so it was
deleted or has expired. Its expiry time shows which of the two happened. The `source` of its `CurrentState` is then
`export`, because the state was inferred.

For how to combine an export with the stream, see the developer guide, "DynamoDB data export to Amazon S3".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyplan_systems.todo.lake import columns
from keyplan_systems.todo.lake.events import position_of
from keyplan_systems.todo.lake.snapshot import Baseline

CURRENT, DELETED, EXPIRED = "current", "deleted", "expired"
EXPORT_SEQUENCE = "0"
"""Sequence number for the items of an export. It sorts before the sequence numbers of all events, which
have 40 digits.
"""

_STATES = {"insert": CURRENT, "modify": CURRENT, "delete": DELETED, "expire": EXPIRED}
_SECOND_US = 1_000_000

Key = tuple[str, str]
"""User ID and task ID. For users, the task ID is an empty string."""
Position = tuple[int, str, str]
"""A position in the history of a user or task: the number of earlier full exports (the era), the stream, and the
sequence number.
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """The information about one user or task, merged from change events and full exports."""

    position: Position
    state: str
    changed_us: int
    source: str
    """Source of the state: `stream` or `export`."""
    image: str | None
    image_position: Position | None
    events: int
    """Number of change events that were merged into this fact."""


def merge(first: Fact, second: Fact) -> Fact:
    """Return the combination of two facts about the same user or task. Their order does not matter."""
    state = max(first, second, key=lambda fact: (fact.position, fact.state, fact.changed_us))
    image = max(first, second, key=lambda fact: (fact.image_position or (-1, "", ""), fact.image or ""))
    return replace(state, image=image.image, image_position=image.image_position, events=first.events + second.events)


@dataclass(frozen=True, slots=True)
class CurrentState:
    """The current state of a user or task, derived from its events and the full exports."""

    state: str
    """State of the user or task: `current`, `deleted` or `expired`."""
    source: str
    """Source of the state: `export` if the state was read or inferred from a full export, or otherwise `stream`."""
    changed_us: int


def current_state(fact: Fact, baselines: Sequence[Baseline]) -> CurrentState:
    """Return the current state of a user or task. `baselines` contains the full exports, oldest first.

    If a later full export does not contain the user or task, it must have been deleted or have expired. This inferred
    state is computed by each call, and never stored or merged.
    """
    if fact.state != CURRENT or fact.position[0] == len(baselines):
        return CurrentState(fact.state, fact.source, fact.changed_us)
    as_of_us = baselines[fact.position[0]].as_of_us
    expires_s = columns.expires_s(fact.image)
    expired = expires_s is not None and expires_s * _SECOND_US <= as_of_us
    return CurrentState(EXPIRED if expired else DELETED, "export", as_of_us)


def era_of(stream: str, sequence: str, at_us: int, baselines: Sequence[Baseline]) -> int:
    """Return the era of an event: the number (starting at 1) of the latest full export that may not include the event,
    or 0 if all exports include it.
    """
    later_eras = (
        number for number, baseline in enumerate(baselines, 1) if _is_after(stream, sequence, at_us, baseline)
    )
    return max(later_eras, default=0)


def event_facts(rows: Iterable[Mapping[str, Any]], baselines: Sequence[Baseline]) -> dict[str, dict[Key, Fact]]:
    """Return the facts from rows of the bronze layer. The result contains one mapping for `users` and one for `tasks`,
    each from keys to merged facts.
    """
    facts: dict[str, dict[Key, Fact]] = {"users": {}, "tasks": {}}
    for row in rows:
        kind = row["entity"] + "s"
        if kind in facts:
            add(facts[kind], (row["user_id"], row["task_id"] or ""), _event_fact(row, baselines))
    return facts


def exported_fact(image: str, era: int, as_of_us: int) -> Fact:
    """Return the fact for an item in an export. `era` is the number of the export, starting at 1."""
    position = (era, "", EXPORT_SEQUENCE)
    return Fact(position, CURRENT, as_of_us, "export", image, position, 0)


def add(facts: dict[Key, Fact], key: Key, fact: Fact) -> None:
    """Merge a fact about a user or task into `facts`."""
    present_fact = facts.get(key)
    facts[key] = fact if present_fact is None else merge(present_fact, fact)


def _event_fact(row: Mapping[str, Any], baselines: Sequence[Baseline]) -> Fact:
    at_us = row["event_us"]
    position = (era_of(row["stream"], row["sequence"], at_us, baselines), row["stream"], row["sequence"])
    image = row["new_image"] or row["old_image"]
    return Fact(position, _STATES[row["change"]], at_us, "stream", image, position if image else None, 1)


def _is_after(stream: str, sequence: str, at_us: int, baseline: Baseline) -> bool:
    """Return False if the export certainly includes the event. Otherwise, return True, because the event may have
    happened after the export. Times are compared with a precision of one second.
    """
    if baseline.position:
        return position_of(stream, sequence) > baseline.position
    return at_us // _SECOND_US >= baseline.as_of_us // _SECOND_US
