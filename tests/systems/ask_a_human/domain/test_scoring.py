"""Scoring: each bonus at its limit, the daily cap, streaks by days and zones, and permanent badges."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.ask_a_human.builders import NOON, PERSON, at, choice, facts, question, response

from keyplan_systems.ask_a_human.domain import scoring, timestamps
from keyplan_systems.ask_a_human.domain.requests import Audience, QuestionType
from keyplan_systems.ask_a_human.domain.scoring import AnswerFacts, Day, ScoredAnswer, Stats, apply_answer, new_stats

DAY_MS = 86_400_000
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Auckland", "Asia/Kolkata", "Pacific/Apia"]

answers = st.builds(
    AnswerFacts,
    type=st.sampled_from(QuestionType),
    category=st.sampled_from(Audience),
    text_chars=st.integers(0, 300),
    confidence=st.none() | st.integers(1, 5),
    response_time_ms=st.none() | st.integers(0, 60_000),
    question_created_at_ms=st.just(NOON),
    required_responses=st.integers(1, 50),
    responses_before=st.integers(0, 49),
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    notified_at_ms=st.none() | st.just(NOON),
)


def play(steps: list[tuple[int, AnswerFacts]]) -> list[ScoredAnswer]:
    """Apply consecutive answers of a person, each the given milliseconds after the previous one."""
    stats, now_ms, results = new_stats(PERSON, NOON), NOON, []
    for wait_ms, answer in steps:
        now_ms += wait_ms
        results.append(apply_answer(stats, answer, now_ms))
        stats = results[-1].stats
    return results


def earned(now_ms: int = NOON, **changes: object) -> int:
    return apply_answer(new_stats(PERSON, 0), facts(**changes), now_ms).points.earned


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 10),
        ({"type": QuestionType.MULTIPLE_CHOICE}, 5),
        ({"confidence": 1}, 12),
        ({"text_chars": 100}, 10),
        ({"text_chars": 101}, 15),
        ({"notified_at_ms": NOON - 300_000}, 13),
        ({"notified_at_ms": NOON - 300_001}, 10),
        ({"notified_at_ms": NOON + 1}, 10),
        ({"required_responses": 4, "responses_before": 1}, 15),
        ({"required_responses": 4, "responses_before": 2}, 10),
        ({"required_responses": 5, "responses_before": 2}, 15),
        ({"required_responses": 1, "responses_before": 0}, 15),
        ({"confidence": 5, "text_chars": 101, "notified_at_ms": NOON, "responses_before": 0}, 25),
    ],
)
def test_points_are_awarded_exactly_up_to_each_limit(changes: dict[str, Any], points: int) -> None:
    assert earned(**changes) == points


def test_facts_describe_the_question_before_the_answer() -> None:
    changed = replace(choice(audience=["ethics"], min_responses=9), current_responses=4)
    created = scoring.answer_facts(changed, response(changed, selected_option=1, confidence=5), ZoneInfo("UTC"), NOON)
    assert (created.type, created.category, created.text_chars) == (QuestionType.MULTIPLE_CHOICE, Audience.ETHICS, 0)
    assert (created.required_responses, created.responses_before, created.notified_at_ms) == (9, 4, NOON)
    text = question()
    assert scoring.answer_facts(text, response(text, answer="é" * 101), ZoneInfo("UTC"), None).text_chars == 101


@given(st.lists(st.tuples(st.integers(0, 3 * 3_600_000), answers), max_size=120))
def test_a_utc_day_earns_at_most_500_points_and_totals_add_up(steps: list[tuple[int, AnswerFacts]]) -> None:
    by_day: dict[date, int] = {}
    now_ms = NOON
    results = play(steps)
    for (wait_ms, _), result in zip(steps, results, strict=True):
        now_ms += wait_ms
        day = timestamps.utc_day(now_ms)
        by_day[day] = by_day.get(day, 0) + result.points.earned
        assert 0 <= result.points.earned <= result.points.uncapped
        assert by_day[day] <= 500
        assert result.stats.days[day].points == by_day[day]
        assert result.stats.total_points == sum(by_day.values())


def test_the_cap_applies_to_streak_rewards_and_resets_each_day() -> None:
    results = play([(DAY_MS, facts())] * 100 + [(1, facts()), (DAY_MS, facts())])
    assert results[99].points.streak == 500
    assert (results[99].points.uncapped, results[99].points.earned) == (510, 500)
    assert results[100].points.earned == 0
    assert results[101].points.earned == 10


def test_answers_beyond_the_cap_count_for_badges_and_streaks_but_not_for_the_score_time() -> None:
    full = replace(new_stats(PERSON, 0), days={timestamps.utc_day(NOON): Day(500, 40)}, total_answers=9, scored_at_ms=7)
    result = apply_answer(full, facts(), NOON)
    assert result.points.earned == 0
    assert "getting_started" in result.new_badges
    assert (result.stats.streak_days, result.stats.total_answers, result.stats.scored_at_ms) == (1, 10, 7)


@given(st.lists(st.tuples(st.integers(0, 40 * 3_600_000), answers), max_size=60))
def test_a_step_is_deterministic_and_increments_the_version(steps: list[tuple[int, AnswerFacts]]) -> None:
    results = play(steps)
    assert results == play(steps)
    assert [result.stats.version for result in results] == list(range(1, len(steps) + 1))
    assert [result.stats.total_answers for result in results] == list(range(1, len(steps) + 1))


@given(st.lists(st.tuples(st.integers(0, 40 * 3_600_000), answers), max_size=80))
def test_badges_are_earned_once_and_never_lost_or_redated(steps: list[tuple[int, AnswerFacts]]) -> None:
    earned_badges: dict[str, int] = {}
    now_ms = NOON
    for (wait_ms, _), result in zip(steps, play(steps), strict=True):
        now_ms += wait_ms
        assert not earned_badges.keys() & set(result.new_badges)
        earned_badges |= dict.fromkeys(result.new_badges, now_ms)
        assert dict(result.stats.badges) == earned_badges


@given(st.lists(st.integers(0, 3), min_size=1, max_size=120), st.sampled_from(ZONES), st.integers(0, 1439))
def test_a_streak_counts_consecutive_local_days_up_to_the_newest(gaps: list[int], zone: str, minute: int) -> None:
    """Answers at one local time of day, `gaps` days apart, across every clock change of six months."""
    in_zone, day, days = ZoneInfo(zone), date(2026, 2, 2), set()
    stats = new_stats(PERSON, 0)
    for gap in gaps:
        day += timedelta(days=gap)
        days.add(day)
        local = datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=in_zone)
        now_ms = int(local.timestamp() * 1000)
        stats = apply_answer(stats, facts(zone=in_zone), now_ms).stats
        run = 0
        while day - timedelta(days=run) in days:
            run += 1
        assert (stats.streak_days, stats.streak_last_date) == (run, day)


@pytest.mark.parametrize(
    ("zone", "first", "second", "streak"),
    [
        ("UTC", "2026-02-02T23:59:59.999", "2026-02-03T00:00:00", 2),
        ("UTC", "2026-02-02T00:00:00", "2026-02-02T23:59:59.999", 1),
        ("UTC", "2026-02-02T00:00:00", "2026-02-03T23:59:59.999", 2),
        ("UTC", "2026-02-02T23:59:59.999", "2026-02-04T00:00:00", 1),
        ("Europe/Berlin", "2026-03-28T22:59:59", "2026-03-28T23:00:00", 2),  # midnight before the short day
        ("Europe/Berlin", "2026-03-28T23:00:00", "2026-03-29T22:00:00", 2),  # 23 hours later, the next day
        ("Europe/Berlin", "2026-10-24T22:00:00", "2026-10-25T22:59:59", 1),  # a day of 25 hours is one day
        ("Europe/Berlin", "2026-10-24T22:00:00", "2026-10-25T23:00:00", 2),
        ("America/New_York", "2026-02-03T04:59:59", "2026-02-03T05:00:00", 2),  # one UTC day, two local ones
        ("Asia/Kolkata", "2026-02-02T18:30:00", "2026-02-03T18:29:59", 1),  # two UTC days, one local one
        ("Pacific/Apia", "2011-12-30T09:59:59", "2011-12-30T10:00:00", 2),  # the 29th, then the 31st: no 30th
        ("Pacific/Apia", "2011-12-28T12:00:00", "2011-12-30T12:00:00", 1),  # the 28th here, then the 31st
    ],
)
def test_streaks_count_calendar_days_of_the_zone(zone: str, first: str, second: str, streak: int) -> None:
    new_facts = facts(zone=ZoneInfo(zone))
    stats = apply_answer(new_stats(PERSON, 0), new_facts, at(first)).stats
    assert apply_answer(stats, new_facts, at(second)).stats.streak_days == streak


def test_a_traveller_going_west_keeps_the_streak_and_is_not_rewarded_twice_for_a_day() -> None:
    east, west = facts(zone=ZoneInfo("Pacific/Auckland")), facts(zone=ZoneInfo("Pacific/Honolulu"))
    results = play([(0, east), (DAY_MS, east), (DAY_MS, east), (60_000, west), (3_600_000, east)])
    assert [result.stats.streak_days for result in results] == [1, 2, 3, 3, 3]
    assert [result.points.streak for result in results] == [0, 0, 10, 0, 0]


def test_streak_rewards_are_awarded_at_3_7_30_and_100_days_with_their_badges() -> None:
    results = play([(DAY_MS, facts())] * 101)
    paid = {number: reward.points.streak for number, reward in enumerate(results, start=1) if reward.points.streak}
    assert paid == {3: 10, 7: 25, 30: 100, 100: 500}
    given_at = {badge: number for number, reward in enumerate(results, start=1) for badge in reward.new_badges}
    assert {name: given_at[name] for name in ("on_a_roll", "week_warrior", "monthly_maven", "centurion")} == {
        "on_a_roll": 3,
        "week_warrior": 7,
        "monthly_maven": 30,
        "centurion": 100,
    }


def test_a_broken_streak_restarts_at_one_is_rewarded_again_and_keeps_its_badge() -> None:
    waits = [DAY_MS] * 3 + [2 * DAY_MS] + [DAY_MS] * 2
    results = play([(wait, facts()) for wait in waits])
    assert [result.stats.streak_days for result in results] == [1, 2, 3, 1, 2, 3]
    assert [result.points.streak for result in results] == [0, 0, 10, 0, 0, 10]
    assert ["on_a_roll" in result.new_badges for result in results] == [False, False, True, False, False, False]


def test_a_streak_is_shown_until_a_whole_local_day_was_missed() -> None:
    stats = play([(DAY_MS, facts())] * 3)[-1].stats
    last = NOON + 3 * DAY_MS
    utc = ZoneInfo("UTC")
    assert scoring.streak_at(stats, last, utc) == 3
    assert scoring.streak_at(stats, at("2026-02-06T23:59:59.999"), utc) == 3
    assert scoring.streak_at(stats, at("2026-02-07T00:00:00"), utc) == 0
    assert scoring.streak_at(new_stats(PERSON, 0), last, utc) == 0


def given_badges(steps: list[tuple[int, AnswerFacts]]) -> dict[str, int]:
    """Return the number of the answer at which each badge was earned."""
    return {badge: number for number, reward in enumerate(play(steps), start=1) for badge in reward.new_badges}


@pytest.mark.parametrize(
    ("badge", "answers_needed"),
    [("first_steps", 1), ("getting_started", 10), ("century", 100), ("veteran", 500), ("legend", 1000)],
)
def test_badges_for_answers_are_awarded_at_their_thresholds(badge: str, answers_needed: int) -> None:
    assert given_badges([(1, facts())] * answers_needed)[badge] == answers_needed
    assert badge not in given_badges([(1, facts())] * (answers_needed - 1))


@pytest.mark.parametrize(
    ("category", "badge"),
    [
        (Audience.TECHNICAL, "tech_expert"),
        (Audience.PRODUCT, "product_pro"),
        (Audience.ETHICS, "ethics_advocate"),
        (Audience.CREATIVE, "creative_mind"),
        (Audience.GENERAL, "generalist"),
    ],
)
def test_category_badges_are_awarded_at_25_answers_in_the_category(category: Audience, badge: str) -> None:
    other = Audience.GENERAL if category is not Audience.GENERAL else Audience.ETHICS
    steps = [(1, facts(category=other))] * 3 + [(1, facts(category=category))] * 25
    assert given_badges(steps)[badge] == 28


def test_the_early_bird_badge_requires_an_answer_within_two_minutes() -> None:
    assert "early_bird" in given_badges([(0, facts(question_created_at_ms=NOON - 120_000))])
    assert "early_bird" not in given_badges([(0, facts(question_created_at_ms=NOON - 120_001))])


def test_the_night_owl_badge_requires_ten_answers_before_six_local_time() -> None:
    """Noon in UTC is one at night in Auckland and two in the afternoon in Helsinki."""
    night = [(1000, facts(zone=ZoneInfo("Pacific/Auckland")))] * 10
    assert given_badges(night)["night_owl"] == 10
    assert "night_owl" not in given_badges([(1000, facts(zone=ZoneInfo("Europe/Helsinki")))] * 20)


@pytest.mark.parametrize(("hour", "counts"), [("00:00:00", 1), ("05:59:59.999", 1), ("06:00:00", 0), ("23:59:59", 0)])
def test_the_night_lasts_from_midnight_to_six(hour: str, counts: int) -> None:
    assert apply_answer(new_stats(PERSON, 0), facts(), at(f"2026-02-02T{hour}")).stats.night_answers == counts


def test_the_speed_demon_badge_requires_five_answers_under_thirty_seconds() -> None:
    assert given_badges([(1, facts(response_time_ms=29_999))] * 5)["speed_demon"] == 5
    assert "speed_demon" not in given_badges([(1, facts(response_time_ms=30_000))] * 9)
    assert "speed_demon" not in given_badges([(1, facts(response_time_ms=None))] * 9)


def test_the_confident_badge_requires_ten_answers_of_full_confidence() -> None:
    assert given_badges([(1, facts(confidence=5))] * 10)["confident"] == 10
    assert "confident" not in given_badges([(1, facts(confidence=4))] * 20)


def test_a_record_keeps_seven_days_and_its_week_adds_up() -> None:
    stats = play([(DAY_MS, facts())] * 30)[-1].stats  # from Tuesday, 3 February to Wednesday, 4 March
    assert len(stats.days) == 7
    assert scoring.week_totals(stats, NOON + 30 * DAY_MS) == Day(130, 3)  # with the reward of day 30
    assert scoring.day_totals(stats, NOON + 30 * DAY_MS) == Day(110, 1)
    assert scoring.day_totals(stats, NOON + 31 * DAY_MS) == Day()
    assert datetime.fromtimestamp(NOON / 1000 + 30 * 86_400, UTC).strftime("%A") == "Wednesday"


def test_a_sunday_belongs_to_the_week_that_ends_with_it() -> None:
    sunday, monday = at("2026-02-08T23:59:59.999"), at("2026-02-09T00:00:00")
    stats: Stats = apply_answer(new_stats(PERSON, 0), facts(), sunday).stats
    assert scoring.week_totals(stats, sunday).answers == 1
    assert scoring.week_totals(stats, monday).answers == 0
