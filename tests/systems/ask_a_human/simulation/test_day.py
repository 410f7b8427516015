"""Simulated day against the domain's functions, and an auditor that detects a violated rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import chain, pairwise

import pytest
from tests.systems.ask_a_human.builders import at
from tests.systems.ask_a_human.world import World

from keyplan_systems.ask_a_human.domain import boards, notifications, questions, scoring, timestamps
from keyplan_systems.ask_a_human.domain.boards import Period
from keyplan_systems.ask_a_human.simulation.actions import Action, Answer, Ask, Subscribe
from keyplan_systems.ask_a_human.simulation.auditor import AcceptedReply, Auditor, ExpectedRow, fingerprint_hash
from keyplan_systems.ask_a_human.simulation.generator import Size, simulate

START = at("2026-03-28T12:00:00")  # Berlin loses an hour, Auckland is a day ahead, Sunday turns into Monday
SMALL = Size(questions=300, answers=3_000, subscribers=300, people=200, agents=10)


def play(world: World, size: Size, seed: int = 7) -> list[Action]:
    actions = list(simulate(seed, size, START))
    for action in actions:
        world.run(action)
    return actions


def check_people(world: World, auditor: Auditor) -> None:
    """Check that every record equals the auditor's."""
    assert {world.people[person] for person in world.stats} == set(auditor.people)
    for person, stats in world.stats.items():
        expected = auditor.people[world.people[person]]
        assert stats.total_points == expected.points
        assert stats.total_answers == len(expected.history)
        assert stats.streak_days == expected.streak
        assert dict(stats.badges) == expected.badges
        assert {tag.value: count for tag, count in stats.answers_by_category.items()} == expected.categories


def check_board(world: World, auditor: Auditor, period: Period, now_ms: int) -> None:
    """Check the board's order, points, answers and ranks against the auditor."""
    board, day = boards.period_key(period, now_ms), timestamps.utc_day(now_ms)
    if period is Period.DAILY:
        expected = auditor.expected_rows(day, 1)
    elif period is Period.WEEKLY:
        expected = auditor.expected_rows(timestamps.week_start(day), 7)
    else:
        expected = auditor.expected_rows(day, None)
    rows = sorted(chain(*world.shards(board)), key=lambda row: row.sort_key)
    assert [ExpectedRow(world.people[row.fingerprint_hash], row.points, row.answers) for row in rows] == expected
    for place in {1, 2, len(expected) // 2, len(expected)}:
        assert world.rank(board, fingerprint_hash(expected[place - 1].person)) == place


class _Listening(Auditor):
    """Auditor that also counts the codes of refusals."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: Counter[str] = Counter()

    def record_refused_question(self, action: Ask, code: str) -> None:
        self.codes[code] += 1
        super().record_refused_question(action, code)

    def record_refused_answer(self, action: Answer, code: str) -> None:
        self.codes[code] += 1
        super().record_refused_answer(action, code)


def test_a_whole_day_has_every_rejection_and_matches_the_auditor() -> None:
    auditor = _Listening()
    world = World(1, auditor, push_every=20)
    actions = play(world, Size())
    counts = Counter(type(action) for action in actions)
    assert counts[Answer] == 20_000
    assert counts[Subscribe] == 5_000
    assert counts[Ask] > 2_000
    assert auditor.audit() == []
    check_people(world, auditor)
    for now_ms in (START, START + 43_200_000):
        for period in Period:
            check_board(world, auditor, period, now_ms)
    assert sum(len(person.history) for person in auditor.people.values()) > 10_000
    assert max(person.points for person in auditor.people.values()) > 500
    assert set(auditor.codes) == {
        "VALIDATION_ERROR",
        "AGENT_QUOTA_EXCEEDED",
        "QUESTION_NOT_FOUND",
        "ALREADY_ANSWERED",
        "QUESTION_CLOSED",
        "IDEMPOTENCY_KEY_REUSED",
        "RATE_LIMITED",
    }


def test_ten_days_have_the_streaks_and_weeks_that_the_auditor_computes() -> None:
    auditor = Auditor()
    world = World(2, auditor, push_every=1_000_000)
    play(world, Size(questions=900, answers=6_000, subscribers=0, people=60, agents=20, days=10))
    assert auditor.audit() == []
    check_people(world, auditor)
    for number in range(0, 10, 3):
        now_ms = START + number * 86_400_000
        check_board(world, auditor, Period.DAILY, now_ms)
        check_board(world, auditor, Period.WEEKLY, now_ms)
    assert any("week_warrior" in person.badges for person in auditor.people.values())


def test_the_same_seed_gives_the_same_day_and_another_seed_a_different_one() -> None:
    assert list(simulate(3, SMALL, START)) == list(simulate(3, SMALL, START))
    assert list(simulate(3, SMALL, START)) != list(simulate(4, SMALL, START))


def test_times_are_distinct_and_ascending() -> None:
    times = [action.at_ms for action in simulate(3, SMALL, START)]
    assert all(earlier < later for earlier, later in pairwise(times))


class _NoDuplicateCheck(World):
    def seen(self, response_id: str) -> bool:
        return False


class _NoDeadline(World):
    def after_answer(self, question: questions.Question, now_ms: int) -> questions.Question:
        return super().after_answer(question, min(now_ms, question.created_at_ms))


class _NeverCloses(World):
    def after_answer(self, question: questions.Question, now_ms: int) -> questions.Question:
        return super().after_answer(replace(question, required_responses=10_000), now_ms)


class _NoCap(World):
    def score(self, stats: scoring.Stats, facts: scoring.AnswerFacts, now_ms: int) -> scoring.ScoredAnswer:
        return super().score(replace(stats, days={}), facts, now_ms)


class _LosesAnUpdate(World):
    def score(self, stats: scoring.Stats, facts: scoring.AnswerFacts, now_ms: int) -> scoring.ScoredAnswer:
        is_lost = stats.version == 5
        return super().score(replace(stats, total_points=0) if is_lost else stats, facts, now_ms)


class _CountsNobody(World):
    def _limit(self, *_: object) -> None:
        return


class _ForgetsTheInterval(World):
    def claim(self, subscription: notifications.Subscription, now_ms: int) -> notifications.Subscription | None:
        return replace(subscription, last_notified_at_ms=now_ms)


@pytest.mark.parametrize(
    ("broken", "finding"),
    [
        (_NoDuplicateCheck, "a second answer from the same person was accepted"),
        (_NoDeadline, "an answer to a closed or expired question was accepted"),
        (_NeverCloses, "an answer to a closed or expired question was accepted"),
        (_NoCap, "expected AcceptedReply"),
        (_LosesAnUpdate, "expected AcceptedReply"),
        (_ForgetsTheInterval, "a push before the subscription's minimum interval had passed"),
        (_CountsNobody, "more than 30 answers in an hour"),
    ],
)
def test_the_auditor_detects_a_broken_rule(broken: type[World], finding: str) -> None:
    auditor = Auditor()
    play(broken(1, auditor, push_every=10), replace(SMALL, people=15))
    assert any(message.startswith(finding) for message in auditor.audit())


def test_the_auditor_detects_an_unjustified_rejection_and_a_duplicate_question() -> None:
    auditor = Auditor()
    ask = Ask(START, 1, "agent", {"prompt": "Is it clear?", "min_responses": 1, "timeout_seconds": 60, "audience": []})
    auditor.record_question(ask, "first")
    auditor.record_question(replace(ask, at_ms=START + 1), "second")
    auditor.record_refused_answer(Answer(START + 2, 1, "person", "UTC", {"answer": "yes"}), "QUESTION_CLOSED")
    auditor.record_refused_question(replace(ask, at_ms=START + 3), "RATE_LIMITED")
    findings = auditor.audit()
    assert [finding.split(": ")[0] for finding in findings] == [
        "a repeated idempotency key created a second question",
        "unexpected QUESTION_CLOSED",
        "unexpected RATE_LIMITED",
    ]


class _Recorder(Auditor):
    """Auditor that can replay its events to another one, backwards."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[Callable[..., None], tuple[object, ...]]] = []

    def record_question(self, action: Ask, question_id: str) -> None:
        self.heard.append((Auditor.record_question, (action, question_id)))
        super().record_question(action, question_id)

    def record_answer(self, action: Answer, acknowledged: AcceptedReply) -> None:
        self.heard.append((Auditor.record_answer, (action, acknowledged)))
        super().record_answer(action, acknowledged)

    def record_subscription(self, action: Subscribe) -> None:
        self.heard.append((Auditor.record_subscription, (action,)))
        super().record_subscription(action)

    def record_notification(self, token: str, person: str, ref: int, at_ms: int) -> None:
        self.heard.append((Auditor.record_notification, (token, person, ref, at_ms)))
        super().record_notification(token, person, ref, at_ms)


def test_the_auditor_judges_by_time_and_not_by_the_order_of_its_input() -> None:
    recorder, backwards = _Recorder(), Auditor()
    play(World(1, recorder, push_every=1), SMALL)
    for tell, arguments in reversed(recorder.heard):
        tell(backwards, *arguments)
    assert backwards.audit() == recorder.audit() == []
    today = timestamps.utc_day(START)
    assert len(backwards.expected_rows(today, None)) > 100
    assert backwards.expected_rows(today, None) == recorder.expected_rows(today, None)
    assert backwards.expected_rows(today + timedelta(days=400), 1) == []
