"""Signs of abuse: answers too fast, the same text on several questions, nothing but minimal answers; and their flags.

A flagged answer is stored, counted and scored like any other: a flag only waits for somebody to look at it. What the
heuristics need of a person's past is a small record of its own, so no history is read.
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
    """Why an answer was flagged."""

    SUSPICIOUS_TIMING = "suspicious_timing"
    DUPLICATE_CONTENT = "duplicate_content"
    PATTERN_MATCH = "pattern_match"


class Action(StrEnum):
    """What a reviewer decided."""

    APPROVED = "approved"
    REJECTED = "rejected"
    BANNED = "banned"


@dataclass(frozen=True, slots=True)
class Past:
    """What is remembered of a person: digests of the newest text answers, and how many in a row were minimal."""

    text_digests: tuple[str, ...] = ()
    minimal_run: int = 0


@dataclass(frozen=True, slots=True)
class Flag:
    """A flagged answer in the queue of reviewers."""

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
    """The person's past with this answer in it, and what is suspicious about the answer."""

    past: Past
    reasons: tuple[Reason, ...]


def assess(past: Past, type: QuestionType, response: Response) -> Assessment:
    """Look at one answer in the light of the person's past; an answer without a time is not held too fast."""
    reasons = []
    if response.response_time_ms is not None and response.response_time_ms < FASTEST_MS[type]:
        reasons.append(Reason.SUSPICIOUS_TIMING)
    if response.answer is None:
        return Assessment(past, tuple(reasons))
    text = normalised(response.answer)
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
    if digest in past.text_digests:
        reasons.append(Reason.DUPLICATE_CONTENT)
    run = past.minimal_run + 1 if len(text) <= MINIMAL_CHARS else 0
    if run >= MINIMAL_RUN:
        reasons.append(Reason.PATTERN_MATCH)
    others = tuple(known for known in past.text_digests if known != digest)
    return Assessment(Past((*others, digest)[-TEXTS_REMEMBERED:], run), tuple(reasons))


def normalised(text: str) -> str:
    """The text without differences of case and white space, so that a copy is still found to be one."""
    return " ".join(text.casefold().split())


def flags(response: Response, reasons: tuple[Reason, ...], now_ms: int) -> tuple[Flag, ...]:
    """One flag for each reason; its id follows from answer and reason, so a repeated write makes no second one."""
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
