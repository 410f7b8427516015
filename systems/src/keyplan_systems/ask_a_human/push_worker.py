"""The push worker, which notifies users about questions in rounds and retries failed pushes.

In each round for a question, a random sample of the eligible users is notified. The worker first reads the eligible
users and draws the sample. Before it sends messages, it claims the round and each user's subscription with conditional
writes, so that no other worker sends the same messages. If the worker stops between a claim and the send, the user is
not notified, because a lost push is better than a duplicate. For the same reason, the record of a retry is deleted
before the push is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from keyplan.client.errors import RunError
from keyplan_systems.ask_a_human import design_push, design_questions, records
from keyplan_systems.ask_a_human.base import STALE, Base, Failures
from keyplan_systems.ask_a_human.domain import notifications, questions
from keyplan_systems.ask_a_human.domain.notifications import NextAction, Outcome, Reservoir, Subscription
from keyplan_systems.ask_a_human.domain.questions import Question
from keyplan_systems.ask_a_human.domain.refusals import QuestionNotFoundError
from keyplan_systems.ask_a_human.domain.timestamps import SECOND_MS, iso, parse_iso
from keyplan_systems.ask_a_human.entities import Delivery, Notice, WorkerTask
from keyplan_systems.ask_a_human.notifier import PushMessage
from keyplan_systems.ask_a_human.outbound import Outbound
from keyplan_systems.ask_a_human.questions import PUSH

MAX_ROUNDS = 25
MAX_DELIVERIES = 100
PAGE_SUBSCRIBERS = 500
TITLE = "Somebody would like to know what you think"
BODY_CHARS = 160
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Push:
    """A push message about one question to one user. `attempt` is the number of the attempt to send it,
    starting at 1.
    """

    question: Question
    subscription: Subscription
    claimed_at_ms: int
    attempt: int = 1


class PushWorker:
    """Notifies users about questions. Several workers can run concurrently, even in different processes."""

    def __init__(self, base: Base, outbound: Outbound, link_base: str) -> None:
        self._base, self._connection, self._outbound = base, base.connection, outbound
        self._link_base = link_base.rstrip("/")

    def run_once(self) -> int:
        """Send the notifications of all due rounds and retries, and return the number of these rounds and retries.

        If some of them fail, the others are still sent, and an UnfinishedError with all errors is raised at the end.
        Rounds and retries that failed before they were claimed are tried again in the next run.
        """
        failures = Failures()
        completed = sum(failures.run_all(lambda run: run(failures), (self._do_rounds, self._do_retries)))
        failures.raise_if_any(completed)
        return completed

    # Rounds.

    def _do_rounds(self, failures: Failures) -> int:
        """Send the due rounds of notifications and return their number.

        The eligible users are read before any round is claimed, because a claimed round cannot be repeated.
        """
        now_ms = self._base.now_ms
        call = design_questions.due_errands(PUSH, iso(now_ms))
        tasks = self._connection.iterate(call, page_size=MAX_ROUNDS, unreadable=failures.errors.append)
        due_rounds = failures.run_up_to(lambda task: self._due_round(task, now_ms), tasks, MAX_ROUNDS)
        subscriptions = self._sample(
            sum(notifications.recipient_count(question) for _, question in due_rounds), now_ms, failures
        )
        claimed_questions = failures.run_all(lambda due_round: self._claim_round(*due_round, now_ms), due_rounds)
        pushes = [
            push
            for pair in self._assign(subscriptions, claimed_questions)
            if (push := self._claim_subscription(*pair)) is not None
        ]
        self._send(pushes, failures)
        return len(claimed_questions)

    def _due_round(self, task: WorkerTask, now_ms: int) -> tuple[WorkerTask, Question] | None:
        """Return the worker task and its question if a round of notifications is due, or None otherwise.

        If no further rounds remain for the question, the task is deleted.
        """
        question = self._existing_question(task.question, now_ms)
        last_ms = None if task.last_round_at is None else parse_iso(task.last_round_at)
        due_ms = None if question is None else notifications.next_round(question, task.rounds_done, last_ms, now_ms)
        if question is None or due_ms is None:
            with suppress(*STALE):  # another worker claimed it first
                self._connection.run(design_questions.claim_last_round(PUSH, task.question, task.rounds_done))
            return None
        return None if due_ms > now_ms else (task, question)

    def _claim_round(self, task: WorkerTask, question: Question, now_ms: int) -> Question | None:
        """Claim a round of notifications. Return the question, or None if another worker has claimed the round."""
        next_ms = notifications.next_round(question, task.rounds_done + 1, now_ms, now_ms)
        if next_ms is None:
            call = design_questions.claim_last_round(PUSH, task.question, task.rounds_done)
        else:
            call = design_questions.claim_round(
                PUSH, task.question, task.rounds_done, last_round_at=iso(now_ms), due_at=iso(next_ms)
            )
        try:
            # A transaction is used because it can be repeated after a lost response and still recognize its own claim.
            self._base.write(call)
        except STALE:
            return None
        return question

    def _existing_question(self, question_id: str, now_ms: int) -> Question | None:
        try:
            return self._base.question(question_id, now_ms)
        except QuestionNotFoundError:
            return None

    def _sample(self, size: int, now_ms: int, failures: Failures) -> list[Subscription]:
        """Return a uniform random sample of at most `size` eligible users, in random order. The caller divides the
        users among all due rounds.
        """
        sample = Reservoir[Subscription](size, self._base.clock.random)
        if size:
            call = design_push.eligible_for_notification(iso(now_ms))
            items = self._connection.iterate(call, page_size=PAGE_SUBSCRIBERS, unreadable=failures.errors.append)
            subscribers = failures.run_lazily(records.subscription, items)
            sample.offer(subscriber for subscriber in subscribers if notifications.is_eligible(subscriber, now_ms))
        return sample.sample()

    def _assign(
        self, subscriptions: Sequence[Subscription], claimed_questions: Sequence[Question]
    ) -> list[tuple[Subscription, Question]]:
        """Return pairs of a user's subscription and the question about which to notify the user. The questions are
        assigned at random. No question is assigned to more users than its round is meant to notify.
        """
        slots = [question for question in claimed_questions for _ in range(notifications.recipient_count(question))]
        self._base.clock.random.shuffle(slots)
        return list(zip(subscriptions, slots, strict=False))

    def _claim_subscription(self, subscription: Subscription, question: Question) -> Push | None:
        """Claim a user's subscription for a push about a question. Return the push to send, or None if another worker
        has claimed the subscription or the question has ended.

        A question can end while the worker claims other subscriptions. A push about it would be useless, and the claim
        would prevent other notifications to the user until the notification interval has passed.
        """
        now_ms = self._base.now_ms
        claimed_subscription = notifications.claim(subscription, now_ms)
        if claimed_subscription is None or not questions.status_at(question, now_ms).answerable:
            return None
        call = design_push.claim(
            design_push.SubscriptionClaim(
                subscription_id=subscription.subscription_id,
                known_next_eligible_at=iso(subscription.next_eligible_at_ms),
                last_notified_at=iso(now_ms),
                next_eligible_at=iso(claimed_subscription.next_eligible_at_ms),
            ),
            _notice(question, subscription, now_ms),
        )
        try:
            self._base.write(call)
        except STALE:
            return None
        except RunError:
            _log.exception(
                "claiming a subscription failed; sending no notification", extra={"question": question.question_id}
            )
            return None
        return Push(question, claimed_subscription, now_ms)

    # Sending.

    def _send(self, pushes: Sequence[Push], failures: Failures) -> None:
        if not pushes:
            return
        outcomes = self._outbound.send([self._message(push) for push in pushes])
        failures.run_all(lambda pair: self._handle_outcome(*pair), zip(pushes, outcomes, strict=True))

    def _message(self, push: Push) -> PushMessage:
        question = push.question
        return PushMessage(
            token=push.subscription.fcm_token,
            question_id=question.question_id,
            title=TITLE,
            body=question.prompt[:BODY_CHARS],
            link=f"{self._link_base}/questions/{question.question_id}",
            lives_s=max(0, question.expires_at_s - self._base.now_ms // SECOND_MS),
        )

    def _handle_outcome(self, push: Push, outcome: Outcome) -> None:
        now_ms, question, subscription = self._base.now_ms, push.question, push.subscription
        decision = notifications.decide_after_send(
            outcome, push.attempt, question.deadline_ms, now_ms, self._base.clock.random
        )
        if decision.action is NextAction.DONE:
            if push.attempt > 1:
                self._connection.run(design_push.note_notice(_notice(question, subscription, now_ms)))
            return
        _log.warning(
            "push notification not delivered", extra={"step": decision.action.value, "reason": decision.reason}
        )
        self._delete_notice(push)
        if decision.action is NextAction.DEACTIVATE:
            self._deactivate(subscription, now_ms)
        elif decision.retry_at_ms is not None:
            self._connection.run(design_push.try_later(_delivery(push, decision.retry_at_ms)))

    def _delete_notice(self, push: Push) -> None:
        person, notified_at = push.subscription.fingerprint_hash, iso(push.claimed_at_ms)
        with suppress(*STALE):  # notified through another subscription concurrently, or deleted by an earlier attempt
            self._connection.run(design_push.forget_notice(push.question.question_id, person, notified_at))

    def _deactivate(self, subscription: Subscription, now_ms: int) -> None:
        digest = notifications.token_digest(subscription.fcm_token)
        with suppress(*STALE):  # refreshed concurrently: the dead token does not belong to it any more
            self._connection.run(design_push.deactivate(subscription.subscription_id, digest, iso(now_ms)))

    # Retries.

    def _do_retries(self, failures: Failures) -> int:
        call = design_push.due_deliveries(iso(self._base.now_ms))
        deliveries = self._connection.iterate(call, page_size=MAX_DELIVERIES, unreadable=failures.errors.append)
        pushes = failures.run_up_to(self._claim_retry, deliveries, MAX_DELIVERIES)
        self._send(pushes, failures)
        return len(pushes)

    def _claim_retry(self, delivery: Delivery) -> Push | None:
        """Claim the retry of a push, and return the push to send. Return None if the push is obsolete or another worker
        has already claimed the retry.
        """
        now_ms = self._base.now_ms
        question = self._existing_question(delivery.question, now_ms)
        subscription = self._connection.run(design_push.subscription_by_id(delivery.subscription))
        try:
            self._base.write(design_push.claim_delivery(delivery.question, delivery.subscription, delivery.attempt))
        except STALE:
            return None
        if subscription is None or question is None or not subscription.active:
            return None
        is_claimed_again = subscription.last_notified_at != delivery.claimed_at
        if is_claimed_again or not questions.status_at(question, now_ms).answerable:
            return None
        claimed_at_ms = parse_iso(delivery.claimed_at)
        return Push(question, records.subscription(subscription), claimed_at_ms, delivery.attempt + 1)


def _notice(question: Question, subscription: Subscription, now_ms: int) -> Notice:
    return Notice(
        question=question.question_id,
        person=subscription.fingerprint_hash,
        notified_at=iso(now_ms),
        ttl=questions.ttl_s(question),
    )


def _delivery(push: Push, retry_at_ms: int) -> Delivery:
    return Delivery(
        question=push.question.question_id,
        subscription=push.subscription.subscription_id,
        attempt=push.attempt,
        claimed_at=iso(push.claimed_at_ms),
        due_at=iso(retry_at_ms),
        ttl=questions.ttl_s(push.question),
    )
