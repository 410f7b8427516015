"""Rules for push notifications: which users are eligible, how many users are notified and when, and what happens after
a message is sent.

A subscription is eligible from `next_eligible_at_ms` on. This time depends on the subscription's notification interval,
so one key range of an index contains exactly the eligible subscriptions, including those of users who were never
notified. Before a worker sends a push, it claims the subscription with a conditional write, which fails if
`next_eligible_at_ms` has changed since it was read. The worker sends the push only if the write succeeds.
"""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Generic, TypeVar

from keyplan_systems.ask_a_human.domain.questions import Question, status_at
from keyplan_systems.ask_a_human.domain.requests import SubscribeRequest, SubscriptionChange
from keyplan_systems.ask_a_human.domain.timestamps import MINUTE_MS, SECOND_MS

NOTIFIED_PER_ANSWER = 3
FOLLOW_UP_AFTER_MS = 15 * MINUTE_MS
PERIOD_MS = 30 * MINUTE_MS

FIRST_RETRY_S = 10.0
LONGEST_RETRY_S = 600.0
GIVE_UP_AFTER = 6

_NAMESPACE = uuid.UUID("5a2f4f0c-6f0e-5c1b-9d5e-0c8a6b3f7d21")
Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A browser's push subscription. `fingerprint_hash` identifies the user who is notified."""

    subscription_id: str
    fcm_token: str
    fingerprint_hash: str
    min_interval_minutes: int
    last_notified_at_ms: int | None
    next_eligible_at_ms: int
    active: bool
    created_at_ms: int
    updated_at_ms: int
    device: str | None = None
    """Hash of the token of the device that may change the subscription. If it is None, the subscription was created
    without a device.
    """


def subscription_id(fcm_token: str) -> str:
    """Return the ID of the subscription for a push token: the UUIDv5 of the token. A browser that subscribes again with
    the same token gets its existing subscription.
    """
    return str(uuid.uuid5(_NAMESPACE, fcm_token))


def token_digest(fcm_token: str) -> str:
    """Return the SHA-256 hash of a push token. Each subscription must have a different hash."""
    return hashlib.sha256(fcm_token.encode()).hexdigest()


def subscribe(
    request: SubscribeRequest, person: str, previous: Subscription | None, now_ms: int, device: str | None = None
) -> Subscription:
    """Return a new subscription that is immediately eligible. If `previous` is given, return a copy of it that is
    reactivated with the new settings.

    The copy belongs to the requesting device, because only the browser that received a push token knows the token.
    """
    if previous is None:
        return Subscription(
            subscription_id=subscription_id(request.fcm_token),
            fcm_token=request.fcm_token,
            fingerprint_hash=person,
            min_interval_minutes=request.min_interval_minutes,
            last_notified_at_ms=None,
            next_eligible_at_ms=now_ms,
            active=True,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            device=device,
        )
    reactivated = replace(previous, fingerprint_hash=person, active=True, device=device)
    changes = SubscriptionChange(fcm_token=request.fcm_token, min_interval_minutes=request.min_interval_minutes)
    return change(reactivated, changes, now_ms)


def change(subscription: Subscription, changes: SubscriptionChange, now_ms: int) -> Subscription:
    """Return a copy of the subscription with a new token, a new interval, or both. `next_eligible_at_ms` is computed
    from the new interval.
    """
    minutes = changes.min_interval_minutes or subscription.min_interval_minutes
    last_ms = subscription.last_notified_at_ms
    return replace(
        subscription,
        fcm_token=changes.fcm_token or subscription.fcm_token,
        min_interval_minutes=minutes,
        next_eligible_at_ms=subscription.created_at_ms if last_ms is None else last_ms + minutes * MINUTE_MS,
        updated_at_ms=now_ms,
    )


def deactivate(subscription: Subscription, now_ms: int) -> Subscription:
    """Return an inactive copy of the subscription. Call this function if the owner has unsubscribed or the push token
    has become invalid.
    """
    return replace(subscription, active=False, updated_at_ms=now_ms)


def is_eligible(subscription: Subscription, now_ms: int) -> bool:
    """Return True if the subscription is active and its notification interval has passed."""
    return subscription.active and subscription.next_eligible_at_ms <= now_ms


def claim(subscription: Subscription, now_ms: int) -> Subscription | None:
    """Return a copy of the subscription that is marked as notified at `now_ms`, or None if the subscription is not
    eligible.

    The caller must write the result on the condition that the stored subscription is active and its
    `next_eligible_at_ms` is unchanged since it was read.
    """
    if not is_eligible(subscription, now_ms):
        return None
    return replace(
        subscription,
        last_notified_at_ms=now_ms,
        next_eligible_at_ms=now_ms + subscription.min_interval_minutes * MINUTE_MS,
        updated_at_ms=now_ms,
    )


def recipient_count(question: Question) -> int:
    """Return the number of users to notify about a question in one round: three for each missing answer."""
    return NOTIFIED_PER_ANSWER * question.responses_needed


def next_round(question: Question, rounds_done: int, last_round_ms: int | None, now_ms: int) -> int | None:
    """Return the time of the question's next round of push notifications, or None if the question does not accept
    answers or the next round would start after its deadline.

    `rounds_done` is the number of completed rounds, and `last_round_ms` is the time of the last one. The first round is
    due when the question is created, the second 15 minutes later, and each further round 30 minutes after the previous
    one. If the next round is overdue, the returned time is in the past. Missed rounds are not repeated.
    """
    if not status_at(question, now_ms).answerable:
        return None
    if rounds_done == 0 or last_round_ms is None:
        due_ms = question.created_at_ms
    elif rounds_done == 1:
        due_ms = question.created_at_ms + FOLLOW_UP_AFTER_MS
    else:
        due_ms = last_round_ms + PERIOD_MS
    return due_ms if due_ms < question.deadline_ms else None


class Reservoir(Generic[Entry]):
    """A uniform random sample of at most `size` entries, drawn from pages that are read one after the other."""

    def __init__(self, size: int, rng: random.Random) -> None:
        if size < 0:
            raise ValueError(f"the size of a sample must be at least 0, not {size}")
        self._size = size
        self._rng = rng
        self._entries: list[Entry] = []
        self._offered = 0

    def offer(self, page: Iterable[Entry]) -> None:
        """Add the entries of a page to the population from which the sample is drawn. All entries offered so far have
        the same probability of being in the sample.
        """
        for entry in page:
            self._offered += 1
            if len(self._entries) < self._size:
                self._entries.append(entry)
                continue
            index = self._rng.randrange(self._offered)
            if index < self._size:
                self._entries[index] = entry

    def sample(self) -> list[Entry]:
        """Return the sampled entries in random order, so that a sender that stops early does not favor entries offered
        first.
        """
        return self._rng.sample(self._entries, len(self._entries))


@dataclass(frozen=True, slots=True)
class Delivered:
    """The outcome of a send if the push service accepted the message."""

    message_id: str


@dataclass(frozen=True, slots=True)
class DeadToken:
    """The outcome of a send if the push token is permanently invalid."""

    reason: str


@dataclass(frozen=True, slots=True)
class TryLater:
    """The outcome of a send if the push service is unreachable or overloaded, or if it requests a pause of
    `retry_after_s` seconds.
    """

    reason: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The outcome of a send if the push service permanently rejected the message or the sender, for a reason other than
    the token.
    """

    reason: str


Outcome = Delivered | DeadToken | TryLater | Rejected


class NextAction(StrEnum):
    """The next step of the push worker after it has sent a message.

    DONE: the message was delivered. DEACTIVATE: deactivate the subscription. RETRY: send the message again later.
    GIVE_UP: drop the message.
    """

    DONE = "done"
    DEACTIVATE = "deactivate"
    RETRY = "retry"
    GIVE_UP = "give_up"


@dataclass(frozen=True, slots=True)
class SendDecision:
    """The push worker's next step after it has sent a message. `retry_at_ms` is set only if the next step is RETRY."""

    action: NextAction
    reason: str
    retry_at_ms: int | None = None


def decide_after_send(
    outcome: Outcome, attempt: int, deadline_ms: int, now_ms: int, rng: random.Random
) -> SendDecision:
    """Return the push worker's next step after an attempt to send a message. `outcome` is the result of the attempt,
    and `attempt` is its number, starting at 1.

    `deadline_ms` is the deadline of the question. The pause before a retry starts at 10 s, doubles each time up to 10
    minutes, and has up to 10% jitter, which is generated with `rng`. The pause is never shorter than the push service
    requests. After six attempts, or if the next attempt would be after the deadline, the message is dropped.
    """
    match outcome:
        case Delivered():
            return SendDecision(NextAction.DONE, outcome.message_id)
        case DeadToken():
            return SendDecision(NextAction.DEACTIVATE, outcome.reason)
        case Rejected():
            return SendDecision(NextAction.GIVE_UP, outcome.reason)
        case TryLater():
            at_ms = now_ms + round(_wait_s(outcome, attempt, rng) * SECOND_MS)
            if attempt >= GIVE_UP_AFTER or at_ms >= deadline_ms:
                return SendDecision(NextAction.GIVE_UP, outcome.reason)
            return SendDecision(NextAction.RETRY, outcome.reason, at_ms)


def _wait_s(outcome: TryLater, attempt: int, rng: random.Random) -> float:
    backoff: float = min(LONGEST_RETRY_S, FIRST_RETRY_S * 2.0 ** (attempt - 1))
    return max(backoff, outcome.retry_after_s or 0.0) * rng.uniform(1.0, 1.1)
