"""Versions of stored items, which are upgraded to the current form when they are read.

An upgrade step is a pure function that converts an item of one version to the next version. `STEPS` lists the steps by
type of item. When an item is read, all steps that start at its version or a later one are applied one after another.
Nothing is written back: an item is stored in its new form when it is next written.

Versions:

* `0.9` has no `schemaVersion`. Tags are a list, times have mixed precision (`...:00Z`, `...:00.000Z`), word counts and
  overall scores are stored as the writer sent them, and profiles do not contain their source attempt.
* `1.0` is the form of the records in this package. Its `schemaVersion` is stored.

Items are plain dictionaries with their stored (camelCase) names, numbers as int or Decimal, and sets as sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar

from pydantic import ValidationError

from . import profiles
from .attempts import Status, word_count
from .errors import ItemUnreadable
from .profiles import WINDOW
from .recommendations import recommended
from .records import Record, instant, iso
from .rubric import DIMENSIONS, DimensionScore, overall_score
from .statistics import rounded

UNVERSIONED = "0.9"
UNRECORDED_ATTEMPT = "unrecorded"
"""Value for the source attempt of a profile that was stored before source attempts were recorded."""

Item = Mapping[str, Any]
_R = TypeVar("_R", bound=Record)


class Kind(StrEnum):
    """The types of stored items."""

    ATTEMPT = "attempt"
    PROFILE = "profile"
    SCENARIO = "scenario"


@dataclass(frozen=True)
class Step:
    """An upgrade step. `change` converts an item of version `before` to version `after`."""

    before: str
    after: str
    change: Callable[[Item], Item]


def _scenario_1_0(item: Item) -> Item:
    """Convert the times to the current format and the tags to a set. If the set would be empty, remove the
    attribute.
    """
    tags = frozenset(item.get("tags") or ())
    fields = {name: value for name, value in item.items() if name != "tags"}
    return fields | ({"tags": tags} if tags else {}) | {"createdAt": _canonical_time(item["createdAt"])}


def _attempt_1_0(item: Item) -> Item:
    """Recompute word counts and scores, and convert the times. If the attempt is not completed, also remove the
    attributes that only completed attempts have.

    In version 0.9, an attempt has only one timestamp. For a completed attempt, it is the submission time, and the start
    time is computed from the duration. For any other attempt, it is the time of the last change.
    """
    timestamp = instant(item["timestamp"])
    answers = [dict(answer) | {"wordCount": word_count(answer["answer"])} for answer in item.get("answers", ())]
    completion_fields = ("timestamp", "evaluation", "durationSeconds")
    fields = {name: value for name, value in item.items() if name not in completion_fields}
    fields |= {"answers": answers, "startedAt": iso(timestamp), "touchedAt": iso(timestamp)}
    if item["status"] != Status.COMPLETED:
        return fields
    duration_seconds = int(item.get("durationSeconds", 0))
    return fields | {
        "timestamp": iso(timestamp),
        "startedAt": iso(timestamp - timedelta(seconds=duration_seconds)),
        "durationSeconds": duration_seconds,
        "evaluation": _evaluation_1_0(item["evaluation"]),
    }


def _evaluation_1_0(evaluation: Item) -> Item:
    scores = [DimensionScore.model_validate(entry) for entry in evaluation["dimensions"]]
    return dict(evaluation) | {
        "overallScore": overall_score(scores),
        "evaluatedAt": _canonical_time(evaluation["evaluatedAt"]),
    }


def _profile_1_0(item: Item) -> Item:
    """Recompute all statistics from the stored recent scores, except for the overall average, which is only rounded."""
    recent = {entry["name"]: [int(score) for score in entry["recentScores"]][-WINDOW:] for entry in item["dimensions"]}
    scores = {name: recent[name] for name in DIMENSIONS}
    weakest = profiles.weaknesses(scores)
    return dict(item) | {
        "timestamp": _canonical_time(item["timestamp"]),
        "sourceAttemptId": UNRECORDED_ATTEMPT,
        "dimensions": [_plain(profiles.statistics(name, scores[name])) for name in DIMENSIONS],
        "weaknesses": [_plain(weakness) for weakness in weakest],
        "improvements": [_plain(improvement) for improvement in profiles.improvements(scores)],
        "recommendations": list(recommended(weakness.dimension for weakness in weakest)),
        "overallAverage": rounded(Fraction(Decimal(str(item["overallAverage"])))),
    }


def _plain(record: profiles.DimensionStatistics | profiles.Weakness | profiles.Improvement) -> dict[str, Any]:
    return record.model_dump(by_alias=True)


def _canonical_time(value: object) -> str:
    return iso(instant(value))


STEPS: Mapping[Kind, tuple[Step, ...]] = {
    Kind.ATTEMPT: (Step(UNVERSIONED, "1.0", _attempt_1_0),),
    Kind.PROFILE: (Step(UNVERSIONED, "1.0", _profile_1_0),),
    Kind.SCENARIO: (Step(UNVERSIONED, "1.0", _scenario_1_0),),
}
"""All upgrade steps by type of item, oldest first. Each step starts at the version at which the previous step ends, and
the last step ends at the current version.
"""


def upgrade(kind: Kind, item: Item, steps: Mapping[Kind, Sequence[Step]] = STEPS) -> dict[str, Any]:
    """Return the item in the current form of its type. An item that already has this form is returned unchanged.

    Raises ItemUnreadable if the item has an unknown version, or if a step cannot convert the item.
    """
    current = dict(item)
    while (version := current.get("schemaVersion", UNVERSIONED)) != steps[kind][-1].after:
        step = next((step for step in steps[kind] if step.before == version), None)
        if step is None:
            raise ItemUnreadable(f"{kind.value} of version {version!r} cannot be upgraded to the current version")
        current = _apply_step(step, kind, current)
    return current


def _apply_step(step: Step, kind: Kind, item: Item) -> dict[str, Any]:
    try:
        return dict(step.change(item)) | {"schemaVersion": step.after}
    except KeyError as error:
        raise ItemUnreadable(f"{kind.value} of version {step.before!r} has no {error.args[0]!r}") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ItemUnreadable(f"{kind.value} of version {step.before!r} cannot be read: {error}") from error


def read(record: type[_R], kind: Kind, item: Item) -> _R:
    """Return the record for a stored item of any version. Raises ItemUnreadable if the item is invalid."""
    try:
        return record.model_validate(upgrade(kind, item))
    except ValidationError as error:
        raise ItemUnreadable(f"{kind.value} is not valid for its version: {error}") from error
