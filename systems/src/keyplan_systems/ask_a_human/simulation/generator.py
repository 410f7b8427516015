"""A seeded generator of the requests of simulated days, in which agents ask questions, users answer them, and some
requests are faulty.

The same seed generates the same day. Timestamps are distinct, ascending whole milliseconds. In addition to valid
traffic, a day contains bursts of questions, repeated and reused idempotency keys, users who answer too fast, second
answers, late answers and malformed bodies, to trigger every rule that rejects a request.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from keyplan_systems.ask_a_human.domain.timestamps import HOUR_MS, MINUTE_MS, SECOND_MS
from keyplan_systems.ask_a_human.simulation.actions import Action, Answer, Ask, Body, Subscribe

DAY_MS = 24 * HOUR_MS
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland", "Pacific/Honolulu")
TAGS = ("technical", "product", "ethics", "creative", "general")
WORDS = ("clear", "short", "honest", "button", "label", "error", "because", "users", "read", "rarely", "twice", "calm")
_RECENT_QUESTIONS = 200
_QUIET_MS = 30 * MINUTE_MS  # no answers are sent before some questions exist
OPTIONS = ("Send", "Submit", "Confirm", "Done", "Continue", "Save")


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a simulation. `questions` excludes requests that repeat an idempotency key."""

    questions: int = 2_000
    answers: int = 20_000
    subscribers: int = 5_000
    people: int = 1_500
    agents: int = 40
    days: int = 1


@dataclass(frozen=True, slots=True)
class _AnswerTime:
    """A time at which a user sends an answer. The answered question is chosen later, when the answer is generated."""

    at_ms: int
    person: int


@dataclass(slots=True)
class _PredictedQuestion:
    """The predicted state of a question. The generator does not see the responses to its requests, so the actual state
    can differ.
    """

    ref: int
    deadline_ms: int
    missing: int
    options: int
    people: set[int] = field(default_factory=set)

    def is_answerable_by(self, person: int, now_ms: int) -> bool:
        """Return True if the question is expected to be open and the user has not answered it yet."""
        return self.missing > 0 and self.deadline_ms > now_ms and person not in self.people


def simulate(seed: int, size: Size, start_ms: int) -> Iterator[Action]:
    """Yield all requests of `size.days` days in chronological order, starting at `start_ms`."""
    rng = random.Random(seed)  # noqa: S311 - a seeded simulation
    asks = [*_asks(rng, size, start_ms)]
    timeline: list[Ask | Subscribe | _AnswerTime] = [
        *asks,
        *_repeats(rng, asks),
        *_sessions(rng, size, start_ms),
        *_subscribes(rng, size, start_ms),
    ]
    timeline.sort(key=lambda action: action.at_ms)
    questions: list[_PredictedQuestion] = []
    now_ms = start_ms
    for entry in timeline:
        now_ms = max(now_ms + 1, entry.at_ms)
        match entry:
            case _AnswerTime():
                if questions:
                    yield _answer(rng, now_ms, entry.person, questions)
            case Ask():
                _add_question(questions, entry, now_ms)
                yield Ask(now_ms, entry.ref, entry.agent, entry.body)
            case Subscribe():
                yield Subscribe(now_ms, entry.person, entry.body)


def _asks(rng: random.Random, size: Size, start_ms: int) -> Iterator[Ask]:
    """Yield all new questions. One agent asks 10% of them within 80 minutes, and other agents ask the rest at random
    times.
    """
    burst_from = start_ms + 9 * HOUR_MS
    for ref in range(size.questions):
        if ref % 10 == 0:
            # These questions stay open for a long time, so that the burst reaches the quota as well as the hourly
            # limit.
            long_settings = {"min_responses": 20, "timeout_seconds": 86_400}
            at_ms = burst_from + rng.randrange(80 * MINUTE_MS)
            yield Ask(at_ms, ref, "agent-burst", {**_question(rng, ref), **long_settings})
        else:
            at_ms, agent = start_ms + rng.randrange(size.days * DAY_MS), f"agent-{rng.randrange(size.agents)}"
            yield Ask(at_ms, ref, agent, _question(rng, ref))


def _question(rng: random.Random, ref: int) -> Body:
    body: dict[str, object] = {
        "prompt": f"Question {ref}: {_words(rng, 8)}?",
        "type": "text",
        "audience": rng.sample(TAGS, rng.randint(1, 2)),
        "min_responses": rng.choice((1, 3, 5, 5, 10, 20, 50)),
        "timeout_seconds": rng.choice((60, 600, 3_600, 21_600, 86_400)),
    }
    if rng.random() < 0.5:
        body |= {"type": "multiple_choice", "options": rng.sample(OPTIONS, rng.randint(2, len(OPTIONS)))}
    if rng.random() < 0.02:
        body["min_responses"] = rng.choice((0, 51))
    if rng.random() < 0.4:
        body["idempotency_key"] = f"key-{ref}"
    return body


def _repeats(rng: random.Random, asks: list[Ask]) -> Iterator[Ask]:
    """Yield requests that repeat the idempotency key of an earlier request, one second to 25 hours later. Most of them
    also repeat the body of the earlier request.
    """
    for ask in asks:
        if "idempotency_key" in ask.body and rng.random() < 0.15:
            changed_body = {"prompt": f"Another question under the key of {ask.ref}"} if rng.random() < 0.2 else {}
            later_ms = rng.choice((SECOND_MS, MINUTE_MS, HOUR_MS, 25 * HOUR_MS))
            yield Ask(ask.at_ms + later_ms, ask.ref, ask.agent, {**ask.body, **changed_body})


def _sessions(rng: random.Random, size: Size, start_ms: int) -> Iterator[_AnswerTime]:
    """Yield the answer times of all user sessions. Each session has several answers. A few users answer
    very quickly.
    """
    remaining = size.answers
    while remaining > 0:
        person = int(size.people * rng.random() ** 2)  # squared, so that a few users answer often and most rarely
        gap_ms = 4 * SECOND_MS if person % 50 == 0 else 40 * SECOND_MS
        at_ms = start_ms + rng.randrange(_QUIET_MS, size.days * DAY_MS)
        for _ in range(min(remaining, rng.choice((1, 2, 5, 10, 40)))):
            yield _AnswerTime(at_ms, person)
            at_ms += gap_ms + rng.randrange(gap_ms)
            remaining -= 1


def _subscribes(rng: random.Random, size: Size, start_ms: int) -> Iterator[Subscribe]:
    for number in range(size.subscribers):
        person = _name(number % size.people)
        body = {"fcm_token": f"token-{number}", "min_interval_minutes": rng.choice((5, 30, 30, 60, 240, 1440))}
        yield Subscribe(start_ms + rng.randrange(HOUR_MS), person, body)


def _add_question(questions: list[_PredictedQuestion], ask: Ask, now_ms: int) -> None:
    if any(question.ref == ask.ref for question in questions):
        return
    missing, seconds = ask.body["min_responses"], ask.body["timeout_seconds"]
    options = ask.body.get("options")
    if isinstance(missing, int) and isinstance(seconds, int) and 1 <= missing <= 50:
        count = len(options) if isinstance(options, list) else 0
        questions.append(_PredictedQuestion(ask.ref, now_ms + seconds * SECOND_MS, missing, count))


def _answer(rng: random.Random, now_ms: int, person: int, questions: list[_PredictedQuestion]) -> Answer:
    """Return an answer to a question that is chosen at random, usually from the recent questions that are expected to
    be open, and sometimes from all questions.
    """
    if rng.random() < 0.95:
        questions = [
            question for question in questions[-_RECENT_QUESTIONS:] if question.is_answerable_by(person, now_ms)
        ] or questions
    question = rng.choice(questions)
    question.people.add(person)
    question.missing -= 1
    return Answer(now_ms, question.ref, _name(person), ZONES[person % len(ZONES)], _content(rng, question.options))


def _content(rng: random.Random, options: int) -> Body:
    body: dict[str, object] = {"response_time_ms": rng.choice((900, 4_000, 12_000, 29_999, 30_000, 90_000))}
    if options:
        body["selected_option"] = rng.randrange(options) if rng.random() < 0.99 else options
    else:
        body["answer"] = _words(rng, rng.choice((1, 6, 25))) if rng.random() < 0.95 else "ok"
    if rng.random() < 0.6:
        body["confidence"] = rng.randint(1, 5)
    return body


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(count))


def _name(person: int) -> str:
    return f"person-{person}"
