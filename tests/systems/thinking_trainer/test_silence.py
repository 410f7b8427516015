"""Sweep of inactive attempts: a day without changes ends an attempt, and a failing one does not block others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.systems.thinking_trainer.builders import assessment
from tests.systems.thinking_trainer.stage import ANSWERS, Caller, Stage

from keyplan.client.errors import ThrottledError, UnreadableItemError
from keyplan.clock import ManualClock
from keyplan.errors import ProvisionedThroughputExceededError
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.domain.attempts import INACTIVITY_LIMIT, Status
from keyplan_systems.thinking_trainer.domain.records import instant_of
from keyplan_systems.thinking_trainer.domain.rubric import Assessment
from keyplan_systems.thinking_trainer.evaluation.evaluator import Submission
from keyplan_systems.thinking_trainer.service import Service
from keyplan_systems.web.system import UnfinishedError


def test_a_day_of_inactivity_ends_an_attempt_and_a_touch_keeps_it(
    stage: Stage, ada: Caller, clock: ManualClock
) -> None:
    silent, touched = ada.start_draft(), ada.start_draft()
    clock.advance(23 * 3600)
    ada.post(f"/attempts/{touched}/resume")
    clock.advance(3600)
    assert stage.service.abandon_inactive() == 1
    assert ada.get(f"/attempts/{silent}").json()["status"] == "abandoned"
    assert ada.get(f"/attempts/{touched}").json()["status"] == "in-progress"
    assert stage.service.abandon_inactive() == 0
    assert [
        attempt.attempt_id for attempt in stage.connection.all(design.inactive_attempts(instant_of(clock.now())))
    ] == [touched]


def test_the_sweeper_reads_the_attempt_because_the_index_may_lag(
    stage: Stage, ada: Caller, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = ada.start_draft()
    clock.advance(24 * 3600)
    lagging = stage.connection.all(design.inactive_attempts(instant_of(clock.now()) - INACTIVITY_LIMIT))
    assert [attempt.attempt_id for attempt in lagging] == [draft]
    ada.post(f"/attempts/{draft}/resume")
    monkeypatch.setattr(stage.connection, "iterate", lambda _call, unreadable: iter(lagging))
    assert stage.service.abandon_inactive() == 0
    assert ada.get(f"/attempts/{draft}").json()["status"] == "in-progress"


def test_a_user_who_returns_during_the_sweep_keeps_the_attempt(stage: Stage, ada: Caller, clock: ManualClock) -> None:
    draft = ada.start_draft()
    clock.advance(24 * 3600)
    call, returns = stage.connection._call, [draft]

    def overtaken(operation: str, request: dict[str, Any]) -> Any:
        if operation == "PutItem" and returns:
            assert ada.post(f"/attempts/{returns.pop()}/resume").status_code == 200
        return call(operation, request)

    stage.connection._call = overtaken
    assert stage.service.abandon_inactive() == 0
    assert returns == []
    assert ada.get(f"/attempts/{draft}").json()["status"] == "in-progress"


class Sweeping:
    """Evaluator during which time passes and the sweep runs."""

    def __init__(self, service: Service, clock: ManualClock, seconds: float) -> None:
        self._service, self._clock, self._seconds = service, clock, seconds

    def evaluate(self, submission: Submission) -> Assessment:
        """Return the same assessment for every submission."""
        assert submission.answers
        self._clock.advance(self._seconds)
        assert self._service.abandon_inactive() == 0
        return assessment(3)


@pytest.mark.parametrize("silent_s", [24 * 3600 - 1, 24 * 3600, 30 * 3600])  # the sweep may be late
def test_an_attempt_submitted_just_before_the_limit_is_not_abandoned_while_it_is_graded(
    stage: Stage, ada: Caller, clock: ManualClock, silent_s: int
) -> None:
    draft = ada.start_draft()
    clock.advance(silent_s)
    handed_in = instant_of(clock.now())
    service = replace(stage.service, evaluator=Sweeping(stage.service, clock, 180))
    submitted = service.submit("ada", draft, ANSWERS)
    assert (submitted.status, submitted.timestamp) == (Status.COMPLETED, handed_in)
    assert ada.get(f"/attempts/{draft}").json()["status"] == "completed"


def test_rejected_answers_do_not_protect_an_attempt_from_the_sweep(
    stage: Stage, ada: Caller, clock: ManualClock
) -> None:
    draft = ada.start_draft()
    clock.advance(24 * 3600 - 1)
    assert ada.post(f"/attempts/{draft}/submit", {"answers": []}).status_code == 400
    clock.advance(1)
    assert stage.service.abandon_inactive() == 1


@pytest.mark.parametrize("refused", ["GetItem", "PutItem"])
@pytest.mark.parametrize("kind", [0, 1, 2])  # at any position in the index, whose shards have no order
def test_an_attempt_that_cannot_be_abandoned_is_reported_and_does_not_prevent_others(
    stage: Stage, ada: Caller, clock: ManualClock, kind: int, refused: str
) -> None:
    attempt_ids = [ada.start_draft() for _ in range(3)]
    clock.advance(24 * 3600)
    call = stage.connection._call

    def throttled(operation: str, request: dict[str, Any]) -> Any:
        if operation == refused and attempt_ids[kind] in str(request):
            raise ProvisionedThroughputExceededError("more than the table can take")
        return call(operation, request)

    stage.connection._call = throttled
    with pytest.raises(UnfinishedError) as caught:
        stage.service.abandon_inactive()
    assert [type(exception) for exception in caught.value.exceptions] == [ThrottledError]
    assert caught.value.completed == 2
    stage.connection._call = call
    result = [ada.get(f"/attempts/{attempt_id}").json()["status"] for attempt_id in attempt_ids]
    assert [number for number, status in enumerate(result) if status == "in-progress"] == [kind]
    assert stage.service.abandon_inactive() == 1
    assert ada.get(f"/attempts/{attempt_ids[kind]}").json()["status"] == "abandoned"


def test_an_unreadable_attempt_does_not_prevent_the_sweep_of_others(
    stage: Stage, ada: Caller, clock: ManualClock
) -> None:
    damaged, silent = ada.start_draft(), ada.start_draft()
    call = stage.connection._call
    (item,) = [stored for stored in call("Scan", {"TableName": "Attempts"})["Items"] if damaged in str(stored)]
    call("PutItem", {"TableName": "Attempts", "Item": {**item, "answers": {"S": "no list"}}})
    clock.advance(24 * 3600)
    with pytest.raises(UnfinishedError) as caught:
        stage.service.abandon_inactive()
    assert [type(exception) for exception in caught.value.exceptions] == [UnreadableItemError]
    assert caught.value.completed == 1
    assert ada.get(f"/attempts/{silent}").json()["status"] == "abandoned"
