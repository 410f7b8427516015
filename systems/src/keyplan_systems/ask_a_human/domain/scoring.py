"""Rules for points, streaks, badges and categories, which determine how an answer changes a user's record.

`apply_answer` is a pure function that returns the changed record. It increments the record's `version`, and the write
requires that the stored version is unchanged. If a user sends two answers concurrently, one write fails. The
points for that answer are then computed again from the newer record.

The requirements (listed in `TRACE.md`) leave some questions open. This module answers them as follows:

* The cap of 500 points applies per UTC day, like the daily leaderboard. The client sends its time zone, so a client
  could evade a cap per local day by changing the zone. Streak rewards also count toward the cap.
* Streaks and night answers are based on the local calendar of the time zone that is sent with the answer. An answer on
  a local day that was already counted, or on an earlier day (because the user travels west), does not change a streak.
* The points for a streak are awarded each time the streak reaches a length with a reward. The badge is awarded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from keyplan_systems.ask_a_human.domain import badges, timestamps
from keyplan_systems.ask_a_human.domain.questions import Question, Response
from keyplan_systems.ask_a_human.domain.requests import Audience, QuestionType

DAILY_CAP = 500
BASE_POINTS = {QuestionType.TEXT: 10, QuestionType.MULTIPLE_CHOICE: 5}
CONFIDENCE_POINTS = 2
THOUGHTFUL_POINTS = 5
THOUGHTFUL_OVER_CHARS = 100
QUICK_POINTS = 3
QUICK_WITHIN_MS = 5 * timestamps.MINUTE_MS
IN_DEMAND_POINTS = 5
STREAK_REWARDS = {3: 10, 7: 25, 30: 100, 100: 500}

# Enough for the weekly board, which covers seven days.
DAYS_KEPT = 7

EARLY_WITHIN_MS = 2 * timestamps.MINUTE_MS
SPEEDY_UNDER_MS = 30 * timestamps.SECOND_MS
NIGHT_ENDS_HOUR = 6
FULL_CONFIDENCE = 5


@dataclass(frozen=True, slots=True)
class Day:
    """A user's points and number of answers on one UTC day."""

    points: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """A user's points, streak, badges and counters. `scored_at_ms`, the time at which the points last increased, breaks
    ties on leaderboards.
    """

    fingerprint_hash: str
    created_at_ms: int
    updated_at_ms: int
    scored_at_ms: int
    version: int = 0
    total_points: int = 0
    total_answers: int = 0
    streak_days: int = 0
    streak_last_date: date | None = None
    badges: Mapping[str, int] = field(default_factory=dict)  # ID to earned_at_ms
    answers_by_category: Mapping[Audience, int] = field(default_factory=dict)
    days: Mapping[date, Day] = field(default_factory=dict)  # the newest DAYS_KEPT days with an answer
    early_answers: int = 0
    night_answers: int = 0
    speedy_answers: int = 0
    confident_answers: int = 0


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """The properties of an accepted answer that determine its points. `responses_before` is the number of earlier
    answers to the question.
    """

    type: QuestionType
    category: Audience
    text_chars: int
    confidence: int | None
    response_time_ms: int | None
    question_created_at_ms: int
    required_responses: int
    responses_before: int
    zone: ZoneInfo
    notified_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Points:
    """The points for an answer, with a field for each reason. `earned` is the sum of these points after the daily cap
    was applied.
    """

    base: int
    confidence: int
    thoughtful: int
    quick: int
    in_demand: int
    streak: int
    earned: int

    @property
    def uncapped(self) -> int:
        """The sum of the points before the daily cap."""
        return self.base + self.confidence + self.thoughtful + self.quick + self.in_demand + self.streak


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a user's answer: the points and badges that it earned, and the user's new total."""

    points_earned: int
    new_badges: tuple[str, ...]
    total_points: int


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """A user's record after an answer, with the points for the answer and the new badges, which are in the order of
    `badges.TABLE`.
    """

    stats: Stats
    points: Points
    new_badges: tuple[str, ...]

    @property
    def reply(self) -> Reply:
        """The reply to the user's answer."""
        return Reply(self.points.earned, self.new_badges, self.stats.total_points)


def answer_facts(question: Question, response: Response, zone: ZoneInfo, notified_at_ms: int | None) -> AnswerFacts:
    """Return the properties of a response that determine its points.

    `notified_at_ms` is the time at which the user was notified about the question, or None if the user was not
    notified.
    """
    return AnswerFacts(
        type=question.type,
        category=question.category,
        text_chars=len(response.answer or ""),
        confidence=response.confidence,
        response_time_ms=response.response_time_ms,
        question_created_at_ms=question.created_at_ms,
        required_responses=question.required_responses,
        responses_before=question.current_responses,
        zone=zone,
        notified_at_ms=notified_at_ms,
    )


def new_stats(fingerprint_hash: str, now_ms: int) -> Stats:
    """Return the initial record of a user who has not answered any questions."""
    return Stats(fingerprint_hash, created_at_ms=now_ms, updated_at_ms=now_ms, scored_at_ms=now_ms)


def apply_answer(stats: Stats, answer: AnswerFacts, now_ms: int) -> ScoredAnswer:
    """Return the user's record after an answer, with the points and the new badges.

    The result depends only on the arguments.
    """
    streak, last = next_streak(stats.streak_days, stats.streak_last_date, now_ms, answer.zone)
    is_longer = last != stats.streak_last_date
    today = timestamps.utc_day(now_ms)
    day = stats.days.get(today, Day())
    points = _points(answer, STREAK_REWARDS.get(streak, 0) if is_longer else 0, DAILY_CAP - day.points, now_ms)
    updated_stats = replace(
        _update_counters(stats, answer, now_ms),
        version=stats.version + 1,
        updated_at_ms=now_ms,
        scored_at_ms=now_ms if points.earned else stats.scored_at_ms,
        total_points=stats.total_points + points.earned,
        streak_days=streak,
        streak_last_date=last,
        days=_newest_days({**stats.days, today: Day(day.points + points.earned, day.answers + 1)}),
    )
    new_badges = tuple(_new_badges(updated_stats))
    with_badges = {**stats.badges, **dict.fromkeys(new_badges, now_ms)}
    return ScoredAnswer(replace(updated_stats, badges=with_badges), points, new_badges)


def next_streak(days: int, last: date | None, now_ms: int, zone: ZoneInfo) -> tuple[int, date]:
    """Return the new length and the new last day of a streak after an answer at `now_ms` in the time zone `zone`.

    `days` and `last` are the length and the last day before the answer. `last` is None if the user has not answered
    yet.
    """
    today = timestamps.local_day(now_ms, zone)
    if last is None:
        return 1, today
    if today <= last:
        return days, last
    return (days + 1 if last >= timestamps.day_before(today, zone) else 1), today


def streak_at(stats: Stats, now_ms: int, zone: ZoneInfo) -> int:
    """Return the length of the user's streak at `now_ms`. It is 0 if a whole local day without an answer has passed
    since the streak's last day.
    """
    if stats.streak_last_date is None:
        return 0
    today = timestamps.local_day(now_ms, zone)
    return stats.streak_days if stats.streak_last_date >= timestamps.day_before(today, zone) else 0


def day_totals(stats: Stats, now_ms: int) -> Day:
    """Return the user's points and number of answers on the UTC day that contains the given time."""
    return stats.days.get(timestamps.utc_day(now_ms), Day())


def week_totals(stats: Stats, now_ms: int) -> Day:
    """Return the user's points and number of answers in the UTC week that contains the given time. Weeks start on
    Monday.
    """
    monday = timestamps.week_start(timestamps.utc_day(now_ms))
    week = [stats.days.get(monday + timedelta(days=number), Day()) for number in range(7)]
    return Day(sum(day.points for day in week), sum(day.answers for day in week))


def _points(answer: AnswerFacts, streak_reward: int, remaining_points: int, now_ms: int) -> Points:
    since_notice_ms = now_ms - answer.notified_at_ms if answer.notified_at_ms is not None else None
    is_quick = since_notice_ms is not None and 0 <= since_notice_ms <= QUICK_WITHIN_MS
    points = Points(
        base=BASE_POINTS[answer.type],
        confidence=CONFIDENCE_POINTS if answer.confidence is not None else 0,
        thoughtful=THOUGHTFUL_POINTS if answer.text_chars > THOUGHTFUL_OVER_CHARS else 0,
        quick=QUICK_POINTS if is_quick else 0,
        in_demand=IN_DEMAND_POINTS if 2 * answer.responses_before < answer.required_responses else 0,
        streak=streak_reward,
        earned=0,
    )
    return replace(points, earned=min(points.uncapped, max(0, remaining_points)))


def _update_counters(stats: Stats, answer: AnswerFacts, now_ms: int) -> Stats:
    """Return a copy of the user's record in which the counters for badges include the answer. The daily cap on points
    does not affect these counters.
    """
    response_time_ms, by_category = answer.response_time_ms, dict(stats.answers_by_category)
    by_category[answer.category] = by_category.get(answer.category, 0) + 1
    return replace(
        stats,
        total_answers=stats.total_answers + 1,
        answers_by_category=by_category,
        early_answers=stats.early_answers + (now_ms - answer.question_created_at_ms <= EARLY_WITHIN_MS),
        night_answers=stats.night_answers + (timestamps.local_hour(now_ms, answer.zone) < NIGHT_ENDS_HOUR),
        speedy_answers=stats.speedy_answers + (response_time_ms is not None and response_time_ms < SPEEDY_UNDER_MS),
        confident_answers=stats.confident_answers + (answer.confidence == FULL_CONFIDENCE),
    )


def _newest_days(days: dict[date, Day]) -> dict[date, Day]:
    """Return only the newest DAYS_KEPT entries of `days`, so that a user's record stays small."""
    return {day: days[day] for day in sorted(days)[-DAYS_KEPT:]}


def _new_badges(stats: Stats) -> Iterator[str]:
    """Yield the IDs of badges whose threshold is reached and that the user does not have yet."""
    counters = _counters(stats)
    for badge in badges.TABLE:
        if badge.id not in stats.badges and counters[badge.counter] >= badge.threshold:
            yield badge.id


def _counters(stats: Stats) -> dict[str, int]:
    return {
        badges.ANSWERS: stats.total_answers,
        badges.STREAK: stats.streak_days,
        badges.EARLY: stats.early_answers,
        badges.NIGHT: stats.night_answers,
        badges.SPEEDY: stats.speedy_answers,
        badges.CONFIDENT: stats.confident_answers,
        **{badges.category(tag): stats.answers_by_category.get(tag, 0) for tag in Audience},
    }
