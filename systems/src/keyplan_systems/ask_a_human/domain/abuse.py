"""Heuristics that detect abuse and flag suspicious answers.

The heuristics detect answers that are given too fast, texts that a user repeats, and series of minimal answers. A
flagged answer is stored, counted and scored like any other answer. A reviewer can check the flag later. The heuristics
use a short summary that is stored for each user, so that they do not need to read the user's earlier answers.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from enum import StrEnum

from keyplan_systems.ask_a_human.domain.questions import Response
from keyplan_systems.ask_a_human.domain.requests import QuestionType

FASTEST_MS = {QuestionType.TEXT: 5_000, QuestionType.MULTIPLE_CHOICE: 2_000}
TEXTS_REMEMBERED = 20
MINIMAL_CHARS = 3
MINIMAL_RUN = 5
_DIGEST_CHARS = 16


class Reason(StrEnum):
    """The reason why an answer is flagged: it was given too fast, repeats an earlier text, or continues a series of
    minimal answers.
    """

    SUSPICIOUS_TIMING = "suspicious_timing"
    DUPLICATE_CONTENT = "duplicate_content"
    PATTERN_MATCH = "pattern_match"


class Action(StrEnum):
    """A reviewer's decision on a flag."""

    APPROVED = "approved"
    REJECTED = "rejected"
    BANNED = "banned"


@dataclass(frozen=True, slots=True)
class AnswerHistory:
    """The part of a user's record that the abuse heuristics use: digests of recent text answers, and the number of
    consecutive minimal answers.
    """

    text_digests: tuple[str, ...] = ()
    minimal_run: int = 0


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag on a suspicious answer, for one reason. After the review, `action` contains the reviewer's decision."""

    flag_id: str
    response_id: str
    question_id: str
    fingerprint_hash: str
    reason: Reason
    flagged_at_ms: int
    reviewed: bool = False
    action: Action | None = None
    reviewed_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Assessment:
    """The result of assessing an answer: the user's updated history, and the reasons to flag the answer."""

    history: AnswerHistory
    reasons: tuple[Reason, ...]


def assess(history: AnswerHistory, type: QuestionType, response: Response) -> Assessment:
    """Return the reasons to flag an answer, and the user's updated answer history. An answer without a response time is
    never flagged as too fast.
    """
    reasons = []
    if response.response_time_ms is not None and response.response_time_ms < FASTEST_MS[type]:
        reasons.append(Reason.SUSPICIOUS_TIMING)
    if response.answer is None:
        return Assessment(history, tuple(reasons))
    text = normalise(response.answer)
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
    if digest in history.text_digests:
        reasons.append(Reason.DUPLICATE_CONTENT)
    run_length = history.minimal_run + 1 if len(text) <= MINIMAL_CHARS else 0
    if run_length >= MINIMAL_RUN:
        reasons.append(Reason.PATTERN_MATCH)
    other_digests = tuple(recent_digest for recent_digest in history.text_digests if recent_digest != digest)
    return Assessment(AnswerHistory((*other_digests, digest)[-TEXTS_REMEMBERED:], run_length), tuple(reasons))


def normalise(text: str) -> str:
    """Return the text in lower case and with single spaces, so that texts that differ only in case or spacing are
    equal.
    """
    return " ".join(text.casefold().split())


def flags(response: Response, reasons: tuple[Reason, ...], now_ms: int) -> tuple[Flag, ...]:
    """Return the flags on an answer, one for each reason.

    A flag's ID is derived from the answer and the reason, so that a repeated write does not create another flag.
    """
    return tuple(
        Flag(
            flag_id=str(uuid.uuid5(uuid.UUID(response.response_id), reason.value)),
            response_id=response.response_id,
            question_id=response.question_id,
            fingerprint_hash=response.fingerprint_hash,
            reason=reason,
            flagged_at_ms=now_ms,
        )
        for reason in reasons
    )
