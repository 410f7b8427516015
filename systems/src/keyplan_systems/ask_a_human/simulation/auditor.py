"""The auditor of a simulated day. It records the responses to all requests and computes the expected results
independently.

It reports accepted requests that violate a rule, rejected requests that violate no rule, and wrong numbers of points.
Events can be recorded in any order, because `audit` sorts them by time.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial

from keyplan_systems.ask_a_human.simulation import expected_scores
from keyplan_systems.ask_a_human.simulation.actions import Answer, Ask, Subscribe
from keyplan_systems.ask_a_human.simulation.expected_scores import AcknowledgedAnswer

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
DAY_MS = 24 * HOUR_MS

# The order of events within one millisecond: a question is asked, pushed and answered.
_ASKED, _NOTIFIED, _ANSWERED = range(3)


@dataclass(frozen=True, slots=True)
class AcceptedReply:
    """The reply of the server to an accepted answer."""

    points_earned: int
    new_badges: tuple[str, ...]
    total_points: int


@dataclass(slots=True)
class AuditedQuestion:
    """A question that the server accepted, with its recorded answers."""

    action: Ask
    question_id: str
    answered_at: list[int] = field(default_factory=list)
    people: dict[str, tuple[Answer, AcceptedReply]] = field(default_factory=dict)

    @property
    def required(self) -> int:
        """The number of answers after which the question is closed."""
        return int(str(self.action.body["min_responses"]))

    @property
    def deadline_ms(self) -> int:
        """The deadline of the question in epoch milliseconds. From this millisecond on, the question has expired."""
        return (-(-self.action.at_ms // 1000) + int(str(self.action.body["timeout_seconds"]))) * 1000

    def has_valid_key(self, at_ms: int) -> bool:
        """Return True if an idempotency key that was used to ask the question is still valid at `at_ms`."""
        return at_ms < self.action.at_ms + DAY_MS

    def is_closed_at(self, at_ms: int) -> bool:
        """Return True if the question had received all required answers by the time `at_ms`."""
        return len([answer_ms for answer_ms in self.answered_at if answer_ms <= at_ms]) >= self.required

    def is_open_at(self, at_ms: int) -> bool:
        """Return True if the question could be answered at the time `at_ms`."""
        return self.action.at_ms <= at_ms < self.deadline_ms and not self.is_closed_at(at_ms)


@dataclass(slots=True)
class Person:
    """A user's accepted answers, with the points and badges that the user should have."""

    history: list[AcknowledgedAnswer] = field(default_factory=list)
    earned: list[int] = field(default_factory=list)
    badges: dict[str, int] = field(default_factory=dict)

    @property
    def points(self) -> int:
        """The total number of points that the user should have."""
        return sum(self.earned)

    @property
    def streak(self) -> int:
        """The length that the user's streak should have after the most recent answer."""
        return expected_scores.streak(self.history)

    @property
    def categories(self) -> dict[str, int]:
        """The expected number of the user's answers in each category."""
        names = [answer.category for answer in self.history]
        return {name: names.count(name) for name in sorted(set(names))}


@dataclass(frozen=True, slots=True)
class ExpectedRow:
    """An expected row of a leaderboard."""

    person: str
    points: int
    answers: int


class Auditor:
    """Records requests with their results. `audit` computes the expected results and reports the differences."""

    def __init__(self) -> None:
        self.questions: dict[int, AuditedQuestion] = {}
        self.people: defaultdict[str, Person] = defaultdict(Person)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._findings: list[str] = []
        self._by_agent: defaultdict[str, list[AuditedQuestion]] = defaultdict(list)
        self._intervals_ms: dict[str, int] = {}
        self._notified_at: dict[str, int] = {}
        self._notification_times: dict[tuple[str, int], int] = {}
        self._counts: defaultdict[tuple[str, str, int], int] = defaultdict(int)

    def record_question(self, action: Ask, question_id: str) -> None:
        """Record an accepted question. `question_id` is the ID of the new question, or of the existing question if the
        request repeats an idempotency key.
        """
        self._add_event(action.at_ms, _ASKED, partial(self._check_question, action, question_id))

    def record_refused_question(self, action: Ask, code: str) -> None:
        """Record a rejected question with the error code of the response."""
        self._add_event(action.at_ms, _ASKED, partial(self._check_refused_question, action, code))

    def record_answer(self, action: Answer, reply: AcceptedReply) -> None:
        """Record an accepted answer with the server's reply."""
        self._add_event(action.at_ms, _ANSWERED, partial(self._check_answer, action, reply))

    def record_refused_answer(self, action: Answer, code: str) -> None:
        """Record a rejected answer with the error code of the response."""
        self._add_event(action.at_ms, _ANSWERED, partial(self._check_refused_answer, action, code))

    def record_subscription(self, action: Subscribe) -> None:
        """Record an accepted push subscription."""
        self._add_event(action.at_ms, _ASKED, partial(self._check_subscription, action))

    def record_notification(self, token: str, person: str, ref: int, at_ms: int) -> None:
        """Record that a push about the question `ref` was sent to `token`, a push token of the user."""
        self._add_event(at_ms, _NOTIFIED, partial(self._check_notification, token, person, ref, at_ms))

    def audit(self) -> list[str]:
        """Check all events that were recorded since the previous call, and return a list of all findings so far."""
        events, self._events = sorted(self._events, key=lambda event: event[:2]), []
        for _, _, check in events:
            check()
        return self._findings

    def expected_rows(self, first: date, days: int | None) -> list[ExpectedRow]:
        """Return the expected rows of a leaderboard for `days` UTC days starting with `first`, or for all time if
        `days` is None.
        """
        rows = []
        for name, person in self.people.items():
            answers = [
                (answer.at_ms, earned)
                for answer, earned in zip(person.history, person.earned, strict=True)
                if days is None or first <= answer.utc_day < first + timedelta(days=days)
            ]
            if answers:
                reached_at_ms = max(at_ms for at_ms, earned in answers if earned)
                points = sum(earned for _, earned in answers)
                rows.append((-points, reached_at_ms, fingerprint_hash(name), ExpectedRow(name, points, len(answers))))
        return [row[-1] for row in sorted(rows, key=lambda row: row[:3])]

    def _add_event(self, at_ms: int, kind: int, check: Callable[[], None]) -> None:
        self._events.append((at_ms, kind, check))

    def _check_subscription(self, action: Subscribe) -> None:
        minutes = action.body["min_interval_minutes"]
        self._intervals_ms[str(action.body["fcm_token"])] = int(str(minutes)) * MINUTE_MS

    def _check_notification(self, token: str, person: str, ref: int, at_ms: int) -> None:
        question, last_ms = self.questions.get(ref), self._notified_at.get(token)
        push = f"{token} of {person} about {ref} at {at_ms}"
        self._expect(token in self._intervals_ms, push, "a push to a token without a subscription")
        self._expect(
            question is not None and question.is_open_at(at_ms), push, "a push for a question that is not open"
        )
        is_due = last_ms is None or at_ms >= last_ms + self._intervals_ms.get(token, 0)
        self._expect(is_due, push, "a push before the subscription's minimum interval had passed")
        self._notified_at[token] = self._notification_times[person, ref] = at_ms

    def _check_question(self, action: Ask, question_id: str) -> None:
        self._count("ask tried", action.agent, action.at_ms // HOUR_MS)
        stored_question = self.questions.get(action.ref)
        if stored_question is not None and stored_question.has_valid_key(action.at_ms):
            self._expect(
                question_id == stored_question.question_id,
                action,
                "a repeated idempotency key created a second question",
            )
            self._expect(
                dict(stored_question.action.body) == dict(action.body),
                action,
                "an idempotency key was accepted for two different bodies",
            )
            return
        self._expect(
            stored_question is None or question_id != stored_question.question_id,
            action,
            "an idempotency key was still valid after 24 hours",
        )
        self._expect(_valid_question(action), action, "an invalid question was accepted")
        open_count = len([question for question in self._by_agent[action.agent] if question.is_open_at(action.at_ms)])
        self._expect(open_count < 100, action, "more than 100 open questions")
        count = self._count("asked", action.agent, action.at_ms // HOUR_MS)
        self._expect(count <= 60, action, "more than 60 questions in an hour")
        self.questions[action.ref] = AuditedQuestion(action, question_id)
        self._by_agent[action.agent].append(self.questions[action.ref])

    def _check_refused_question(self, action: Ask, code: str) -> None:
        attempts = self._count("ask tried", action.agent, action.at_ms // HOUR_MS)
        stored_question = self.questions.get(action.ref)
        # Expired questions count until a sweep, so their deadline does not matter here.
        not_closed = [question for question in self._by_agent[action.agent] if not question.is_closed_at(action.at_ms)]
        reasons = {
            "VALIDATION_ERROR": not _valid_question(action),
            "RATE_LIMITED": attempts > 60,
            "AGENT_QUOTA_EXCEEDED": len(not_closed) >= 100,
            "IDEMPOTENCY_KEY_REUSED": stored_question is not None
            and stored_question.has_valid_key(action.at_ms)
            and dict(stored_question.action.body) != dict(action.body),
        }
        self._expect(reasons.get(code, False), action, f"unexpected {code}")

    def _check_answer(self, action: Answer, reply: AcceptedReply) -> None:
        self._count_tries(action)
        question = self.questions.get(action.ref)
        if question is None:
            self._expect(False, action, "an answer to a question that was never accepted")
            return
        earlier = question.people.get(action.person)
        if earlier is not None and _content(earlier[0]) == _content(action):
            self._expect(reply == earlier[1], action, "a repeated answer got a different reply")
            return
        self._expect(
            question.is_open_at(action.at_ms), action, "an answer to a closed or expired question was accepted"
        )
        self._expect(earlier is None, action, "a second answer from the same person was accepted")
        self._expect(_valid_answer(question, action), action, "an invalid answer was accepted")
        in_hour = self._count("answered in hour", action.person, action.at_ms // HOUR_MS)
        in_minute = self._count("answered in minute", action.person, action.at_ms // MINUTE_MS)
        self._expect(in_hour <= 30, action, "more than 30 answers in an hour")
        self._expect(in_minute <= 5, action, "more than 5 answers in a minute")
        self._compute_rewards(question, action, reply)
        question.answered_at.append(action.at_ms)
        question.people[action.person] = action, reply

    def _check_refused_answer(self, action: Answer, code: str) -> None:
        in_hour, in_minute = self._count_tries(action)
        question = self.questions.get(action.ref)
        reasons = {
            "QUESTION_NOT_FOUND": question is None or question.deadline_ms + DAY_MS <= action.at_ms,
            "QUESTION_CLOSED": question is not None and not question.is_open_at(action.at_ms),
            "ALREADY_ANSWERED": question is not None and action.person in question.people,
            "RATE_LIMITED": in_hour > 30 or in_minute > 5,
            "VALIDATION_ERROR": question is not None and not _valid_answer(question, action),
        }
        self._expect(reasons.get(code, False), action, f"unexpected {code}")

    def _compute_rewards(self, question: AuditedQuestion, action: Answer, reply: AcceptedReply) -> None:
        person = self.people[action.person]
        person.history.append(
            _acknowledged_answer(question, action, self._notification_times.get((action.person, action.ref)))
        )
        person.earned.append(expected_scores.points(person.history, person.earned))
        new_badges = expected_scores.badges(person.history) - person.badges.keys()
        person.badges.update(dict.fromkeys(new_badges, action.at_ms))
        expected_reply = AcceptedReply(person.earned[-1], tuple(sorted(new_badges)), person.points)
        actual_reply = AcceptedReply(reply.points_earned, tuple(sorted(reply.new_badges)), reply.total_points)
        self._expect(actual_reply == expected_reply, action, f"expected {expected_reply}, got {actual_reply}")

    def _count_tries(self, action: Answer) -> tuple[int, int]:
        # The rules allow a server to count rejected requests against a limit, or not to count them.
        in_hour = self._count("answer tried in hour", action.person, action.at_ms // HOUR_MS)
        return in_hour, self._count("answer tried in minute", action.person, action.at_ms // MINUTE_MS)

    def _count(self, kind: str, caller: str, window: int) -> int:
        self._counts[kind, caller, window] += 1
        return self._counts[kind, caller, window]

    def _expect(self, is_valid: bool, event: Ask | Answer | str, finding: str) -> None:
        if not is_valid:
            self._findings.append(f"{finding}: {event}")


def fingerprint_hash(person: str) -> str:
    """Return the hash that the system stores for a user's fingerprint header."""
    return hashlib.sha256(person.encode()).hexdigest()


def _valid_question(action: Ask) -> bool:
    return 1 <= int(str(action.body["min_responses"])) <= 50


def _valid_answer(question: AuditedQuestion, action: Answer) -> bool:
    options = question.action.body.get("options")
    option = action.body.get("selected_option")
    if isinstance(options, list):
        return isinstance(option, int) and option < len(options)
    return bool(action.body.get("answer"))


def _content(action: Answer) -> tuple[object, ...]:
    return tuple(action.body.get(name) for name in ("answer", "selected_option", "confidence"))


def _acknowledged_answer(question: AuditedQuestion, action: Answer, notified_at_ms: int | None) -> AcknowledgedAnswer:
    audience = question.action.body["audience"]
    text = action.body.get("answer")
    return AcknowledgedAnswer(
        at_ms=action.at_ms,
        zone=action.zone,
        category=str(audience[0]) if isinstance(audience, list) else "general",
        is_text=text is not None,
        chars=len(str(text or "")),
        confidence=_number(action.body, "confidence"),
        response_time_ms=_number(action.body, "response_time_ms"),
        asked_at_ms=question.action.at_ms,
        answers_before=len(question.answered_at),
        answers_required=question.required,
        notified_at_ms=notified_at_ms,
    )


def _number(body: Mapping[str, object], name: str) -> int | None:
    value = body.get(name)
    return value if isinstance(value, int) else None
