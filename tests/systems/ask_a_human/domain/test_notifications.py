"""Push notifications: eligibility by own interval, claims, uniform samples, rounds, and results of sends."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.ask_a_human.builders import NOON, PERSON, question

from keyplan_systems.ask_a_human.domain import notifications, questions
from keyplan_systems.ask_a_human.domain.notifications import (
    DeadToken,
    Delivered,
    NextAction,
    Outcome,
    Rejected,
    Reservoir,
    Subscription,
    TryLater,
)
from keyplan_systems.ask_a_human.domain.requests import SubscribeRequest, SubscriptionChange

MINUTE_MS = 60_000
FAR = NOON + 86_400_000


def subscribed(minutes: int = 30, token: str = "token", now_ms: int = NOON) -> Subscription:
    return notifications.subscribe(
        SubscribeRequest(fcm_token=token, min_interval_minutes=minutes), PERSON, None, now_ms
    )


def test_a_new_subscription_is_eligible_immediately() -> None:
    created = subscribed()
    assert created.last_notified_at_ms is None
    assert notifications.is_eligible(created, NOON)


@given(st.integers(5, 1440), st.integers(0, 1500 * MINUTE_MS))
def test_a_person_is_eligible_again_exactly_after_their_interval(minutes: int, after_ms: int) -> None:
    result = notifications.claim(subscribed(minutes), NOON)
    assert result is not None
    assert result.last_notified_at_ms == NOON
    assert notifications.is_eligible(result, NOON + after_ms) == (after_ms >= minutes * MINUTE_MS)


def test_a_claim_changes_the_time_it_is_conditional_on_so_that_a_second_worker_fails() -> None:
    read = subscribed()
    first = notifications.claim(read, NOON)
    assert first is not None
    assert first.next_eligible_at_ms != read.next_eligible_at_ms
    assert notifications.claim(first, NOON) is None


def test_a_changed_interval_moves_the_next_time_and_a_refreshed_token_does_not() -> None:
    result = notifications.claim(subscribed(30), NOON)
    assert result is not None
    sooner = notifications.change(result, SubscriptionChange(min_interval_minutes=5), NOON + 1)
    assert sooner.next_eligible_at_ms == NOON + 5 * MINUTE_MS
    refreshed = notifications.change(result, SubscriptionChange(fcm_token="new"), NOON + 1)
    assert (refreshed.fcm_token, refreshed.next_eligible_at_ms) == ("new", result.next_eligible_at_ms)
    assert refreshed.subscription_id == result.subscription_id


def test_an_inactive_subscription_is_never_eligible() -> None:
    inactive = notifications.deactivate(subscribed(), NOON)
    assert not notifications.is_eligible(inactive, FAR)


def test_the_same_token_subscribes_to_the_same_record_and_keeps_its_history() -> None:
    result = notifications.claim(subscribed(30), NOON)
    assert result is not None
    inactive = notifications.deactivate(result, NOON + 1)
    request = SubscribeRequest(fcm_token="token", min_interval_minutes=60)
    again = notifications.subscribe(request, "b" * 64, inactive, NOON + 2)
    assert again.subscription_id == result.subscription_id
    assert (again.active, again.fingerprint_hash, again.created_at_ms) == (True, "b" * 64, NOON)
    assert again.next_eligible_at_ms == NOON + 60 * MINUTE_MS
    assert notifications.subscription_id("other") != result.subscription_id
    assert notifications.token_digest("other") != notifications.token_digest("token")


def test_a_round_notifies_three_people_for_each_answer_still_needed() -> None:
    new_question = question(min_responses=5)
    assert notifications.recipient_count(new_question) == 15
    assert notifications.recipient_count(replace(new_question, current_responses=4)) == 3
    assert notifications.recipient_count(replace(new_question, current_responses=5)) == 0


def test_rounds_happen_immediately_then_after_15_minutes_then_every_30() -> None:
    new_question = question(timeout_seconds=86_400)
    assert notifications.next_round(new_question, 0, None, NOON) == NOON
    assert notifications.next_round(new_question, 1, NOON, NOON + 1) == NOON + 15 * MINUTE_MS
    third = notifications.next_round(new_question, 2, NOON + 15 * MINUTE_MS, NOON + 16 * MINUTE_MS)
    assert third == NOON + 45 * MINUTE_MS


def test_no_round_is_due_for_a_question_that_accepts_no_answers_or_ends_first() -> None:
    new_question = question(timeout_seconds=60)
    assert notifications.next_round(new_question, 0, None, NOON + 60_000) is None
    assert notifications.next_round(new_question, 1, NOON, NOON + 1) is None
    closed = questions.add_answer(question(min_responses=1), NOON)
    assert notifications.next_round(closed, 1, NOON, NOON + 1) is None


@given(st.lists(st.lists(st.integers(), max_size=9), max_size=9), st.integers(0, 20), st.integers())
def test_a_sample_has_at_most_the_requested_size(pages: list[list[int]], size: int, seed: int) -> None:
    entries = [(number, member) for number, page in enumerate(pages) for member in enumerate(page)]
    reservoir = Reservoir[tuple[int, tuple[int, int]]](size, random.Random(seed))
    for number, page in enumerate(pages):
        reservoir.offer((number, member) for member in enumerate(page))
    sample = reservoir.sample()
    assert len(sample) == len(set(sample)) == min(size, len(entries))
    assert set(sample) <= set(entries)


def test_a_sample_is_uniform_over_all_pages_in_membership_and_position() -> None:
    """3,000 samples of 10 out of 40: each entry is expected 750 times, and 75 times in each place.

    The chi-square statistics have 39 and 399 degrees of freedom; 72.1 and 492 are their 99.9 % quantiles.
    """
    rng = random.Random(20260202)
    member, place = [0] * 40, [[0] * 10 for _ in range(40)]
    for _ in range(3_000):
        reservoir = Reservoir[int](10, rng)
        for start in (0, 1, 15, 30):
            reservoir.offer(range(start, {0: 1, 1: 15, 15: 30, 30: 40}[start]))
        for index, entry in enumerate(reservoir.sample()):
            member[entry] += 1
            place[entry][index] += 1
    # Entries of one sample exclude each other, which shrinks the statistic by (1 - 10/40).
    assert sum((count - 750) ** 2 / 750 for count in member) / 0.75 < 72.1
    assert sum((count - 75) ** 2 / 75 for counts in place for count in counts) < 492


def test_a_sample_of_the_first_page_only_would_fail_the_same_test() -> None:
    """Canary: a sampler that never replaces always returns the first entries."""
    member = [3_000] * 10 + [0] * 30
    assert sum((count - 750) ** 2 / 750 for count in member) / 0.75 > 72.1


def test_a_sample_cannot_have_a_negative_size() -> None:
    with pytest.raises(ValueError, match="at least 0, not -1"):
        Reservoir[int](-1, random.Random(0))


@pytest.mark.parametrize(
    ("outcome", "step"),
    [
        (Delivered("id"), NextAction.DONE),
        (DeadToken("gone"), NextAction.DEACTIVATE),
        (Rejected("bad"), NextAction.GIVE_UP),
        (TryLater("busy"), NextAction.RETRY),
    ],
)
def test_each_result_of_a_send_has_one_next_step(outcome: Outcome, step: NextAction) -> None:
    after = notifications.decide_after_send(outcome, 1, FAR, NOON, random.Random(0))
    assert after.action is step
    assert (after.retry_at_ms is not None) == (step is NextAction.RETRY)


@given(st.integers(1, 5), st.none() | st.floats(0, 3600), st.integers())
def test_retries_back_off_and_never_happen_before_the_service_allows(
    attempt: int, asked_s: float | None, seed: int
) -> None:
    after = notifications.decide_after_send(TryLater("busy", asked_s), attempt, FAR, NOON, random.Random(seed))
    assert after.retry_at_ms is not None
    least_s = max(10 * 2 ** (attempt - 1), asked_s or 0)
    assert least_s * 1000 - 1 <= after.retry_at_ms - NOON <= least_s * 1100 + 1


def test_a_message_is_dropped_after_six_sends_or_if_it_would_arrive_too_late() -> None:
    busy, rng = TryLater("busy"), random.Random(0)
    assert notifications.decide_after_send(busy, 6, FAR, NOON, rng).action is NextAction.GIVE_UP
    assert notifications.decide_after_send(busy, 1, NOON + 10_000, NOON, rng).action is NextAction.GIVE_UP
    assert (
        notifications.decide_after_send(TryLater("busy", 3600), 1, NOON + 1_800_000, NOON, rng).action
        is NextAction.GIVE_UP
    )
