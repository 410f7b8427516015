"""Computes points, streaks and badges independently of the system, from a user's complete history.

The computation is slow. It deliberately shares no code with the domain rules and repeats their constants, so that an
error in the domain rules is not repeated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

ANSWER_BADGES = {"first_steps": 1, "getting_started": 10, "century": 100, "veteran": 500, "legend": 1000}
STREAK_BADGES = {"on_a_roll": 3, "week_warrior": 7, "monthly_maven": 30, "centurion": 100}
CATEGORY_BADGES = {
    "tech_expert": "technical",
    "product_pro": "product",
    "ethics_advocate": "ethics",
    "creative_mind": "creative",
    "generalist": "general",
}


@dataclass(frozen=True)
class AcknowledgedAnswer:
    """An accepted answer, with the state of its question at the time when the answer was accepted."""

    at_ms: int
    zone: str
    category: str
    is_text: bool
    chars: int
    confidence: int | None
    response_time_ms: int | None
    asked_at_ms: int
    answers_before: int
    answers_required: int
    notified_at_ms: int | None

    @cached_property
    def utc_day(self) -> date:
        """The UTC day to which leaderboards and the daily cap assign the answer."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC).date()

    @cached_property
    def local(self) -> datetime:
        """The time of the answer in the user's time zone."""
        return datetime.fromtimestamp(self.at_ms / 1000, ZoneInfo(self.zone))


def streak(history: Sequence[AcknowledgedAnswer]) -> int:
    """Return the number of consecutive days with answers, up to the day of the most recent answer. All answers must
    have the same time zone.
    """
    days = {answer.local.date() for answer in history}
    length, day = 0, history[-1].local.date()
    while day in days:
        length, day = length + 1, day - timedelta(days=1)
    return length


def bonus_of_streak(history: Sequence[AcknowledgedAnswer]) -> int:
    """Return the points that the most recent answer earned for a streak. Only the first answer on a local day can earn
    them.
    """
    today = history[-1].local.date()
    if any(answer.local.date() == today for answer in history[:-1]):
        return 0
    return {3: 10, 7: 25, 30: 100, 100: 500}.get(streak(history), 0)


def points(history: Sequence[AcknowledgedAnswer], earned_before: Sequence[int]) -> int:
    """Return the points for the most recent answer. `earned_before` contains the points for the earlier answers."""
    latest = history[-1]
    total = 10 if latest.is_text else 5
    total += 2 if latest.confidence is not None else 0
    total += 5 if latest.is_text and latest.chars > 100 else 0
    total += 5 if latest.answers_before < latest.answers_required / 2 else 0
    if latest.notified_at_ms is not None and latest.at_ms - latest.notified_at_ms <= 300_000:
        total += 3
    total += bonus_of_streak(history)
    earned_today = sum(
        earned for answer, earned in zip(history[:-1], earned_before, strict=True) if answer.utc_day == latest.utc_day
    )
    return min(total, 500 - earned_today)


def badges(history: Sequence[AcknowledgedAnswer]) -> set[str]:
    """Return all badges that the user has earned, including those for streaks that have ended."""
    earned_badges = {badge for badge, count in ANSWER_BADGES.items() if len(history) >= count}
    longest = longest_streak(history)
    earned_badges |= {badge for badge, days in STREAK_BADGES.items() if longest >= days}
    for badge, category in CATEGORY_BADGES.items():
        if len([answer for answer in history if answer.category == category]) >= 25:
            earned_badges.add(badge)
    if any(answer.at_ms - answer.asked_at_ms <= 120_000 for answer in history):
        earned_badges.add("early_bird")
    if len([answer for answer in history if answer.local.hour in {0, 1, 2, 3, 4, 5}]) >= 10:
        earned_badges.add("night_owl")
    if (
        len([answer for answer in history if answer.response_time_ms is not None and answer.response_time_ms < 30_000])
        >= 5
    ):
        earned_badges.add("speed_demon")
    if len([answer for answer in history if answer.confidence == 5]) >= 10:
        earned_badges.add("confident")
    return earned_badges


def longest_streak(history: Sequence[AcknowledgedAnswer]) -> int:
    """Return the length of the longest series of consecutive local days with answers."""
    days = {answer.local.date() for answer in history}
    starts = [day for day in days if day - timedelta(days=1) not in days]
    lengths = []
    for start in starts:
        length = 1
        while start + timedelta(days=length) in days:
            length += 1
        lengths.append(length)
    return max(lengths, default=0)
