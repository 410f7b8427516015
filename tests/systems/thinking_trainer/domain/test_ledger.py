"""Ledger: the same in any order, and no attempt counted twice within the window."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.systems.thinking_trainer.builders import NOON, USER, attempt_id, completed, snapshot

from keyplan_systems.thinking_trainer.domain import attempts
from keyplan_systems.thinking_trainer.domain.attempts import Attempt
from keyplan_systems.thinking_trainer.domain.errors import AttemptConflict
from keyplan_systems.thinking_trainer.domain.ledger import MAX_WINDOW_ATTEMPTS, Ledger, snapshots, with_attempt
from keyplan_systems.thinking_trainer.domain.profiles import Profile

ATTEMPTS = [completed(number, number % 5) for number in range(14)]


def ledger_of(given_attempts: list[Attempt]) -> Ledger:
    ledger = Ledger(user_id=USER)
    for attempt in given_attempts:
        ledger = with_attempt(ledger, attempt)
    return ledger


def profile_from(ledger: Ledger) -> Profile:
    """Return the newest snapshot."""
    return snapshots(ledger, ledger.window[-1].attempt_id)[-1]


@settings(deadline=None)
@given(st.permutations(ATTEMPTS))
def test_the_profile_covers_all_attempts_in_any_order(order: list[Attempt]) -> None:
    assert ledger_of(order) == ledger_of(ATTEMPTS)
    assert profile_from(ledger_of(order)) == snapshot(ATTEMPTS, len(ATTEMPTS))


@settings(deadline=None)
@given(st.lists(st.sampled_from(ATTEMPTS[:10]), min_size=1, max_size=40))
def test_replays_within_the_window_change_nothing(deliveries: list[Attempt]) -> None:
    distinct = list({attempt.attempt_id: attempt for attempt in deliveries}.values())
    assert ledger_of(deliveries) == ledger_of(distinct)
    assert profile_from(ledger_of(deliveries)) == snapshot(distinct, len(distinct))


@settings(deadline=None)
@given(st.permutations(ATTEMPTS))
def test_the_key_of_the_snapshot_never_moves_back(order: list[Attempt]) -> None:
    keys = [profile_from(ledger_of(order[:count])).snapshot_key for count in range(1, len(order) + 1)]
    assert keys == sorted(keys)


def test_an_attempt_older_than_all_kept_ones_is_counted_but_not_kept() -> None:
    many = [completed(number, number % 5) for number in range(MAX_WINDOW_ATTEMPTS + 1)]
    ledger = ledger_of(many[1:])
    later = with_attempt(ledger, many[0])
    assert later.window == ledger.window
    assert later.attempt_count == ledger.attempt_count + 1
    assert snapshots(later, many[0].attempt_id) == []


def test_an_attempt_older_than_the_window_is_kept_and_only_counted_in_the_newest_profile() -> None:
    ledger = ledger_of(ATTEMPTS[1:])
    later = with_attempt(ledger, ATTEMPTS[0])
    before, after = profile_from(ledger), profile_from(later)
    assert after == before.model_copy(update={"attempt_count": before.attempt_count + 1})
    assert later.window[0].attempt_id == ATTEMPTS[0].attempt_id


@settings(deadline=None)
@given(st.permutations(ATTEMPTS))
def test_a_late_attempt_recomputes_all_later_snapshots_so_that_order_does_not_matter(order: list[Attempt]) -> None:
    written: dict[str, Profile] = {}
    ledger = Ledger(user_id=USER)
    for attempt in order:
        ledger = with_attempt(ledger, attempt)
        written |= {profile.snapshot_key: profile for profile in snapshots(ledger, attempt.attempt_id)}
    expected = [snapshot(ATTEMPTS[: count + 1], count + 1) for count in range(len(ATTEMPTS))]
    assert sorted(written.values(), key=lambda profile: profile.snapshot_key) == expected


def test_the_same_id_with_other_scores_is_rejected() -> None:
    with pytest.raises(AttemptConflict, match="already recorded with different scores"):
        with_attempt(ledger_of([completed(1, 2)]), completed(1, 3))


def test_attempts_of_others_and_without_scores_are_rejected() -> None:
    ledger = Ledger(user_id="somebody else")
    with pytest.raises(ValueError, match="does not belong to the user"):
        with_attempt(ledger, completed(1))
    with pytest.raises(ValueError, match="has no scores"):
        with_attempt(Ledger(user_id=USER), attempts.start(attempt_id(1), USER, "late-ferry", NOON))


def test_a_full_ledger_is_small_and_survives_a_json_round_trip() -> None:
    ledger = ledger_of([completed(number, number % 5) for number in range(MAX_WINDOW_ATTEMPTS)])
    document = ledger.model_dump(mode="json", by_alias=True)
    assert Ledger.model_validate(document) == ledger
    assert len(orjson.dumps(document)) < 8_192
