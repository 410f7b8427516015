"""Workers while tables throttle: failed units wait for the next run, without blocking others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.systems.ask_a_human.stage import Stage, items
from tests.systems.ask_a_human.test_push import MINUTE, Scripted
from tests.systems.served_engine import ServedEngine

from keyplan.client.errors import ThrottledError, UnreadableItemError
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.errors import InternalServerError, ProvisionedThroughputExceededError
from keyplan_systems.ask_a_human import design_questions, entities, push_worker, sweeper
from keyplan_systems.ask_a_human.domain.notifications import DeadToken, Outcome, TryLater
from keyplan_systems.ask_a_human.domain.questions import Status
from keyplan_systems.ask_a_human.push_worker import PushWorker
from keyplan_systems.ask_a_human.sweeper import Sweeper
from keyplan_systems.web.system import UnfinishedError

FAILED = "The request processing has failed because of an unknown error."


@contextmanager
def throttled(stage: Stage, is_refused: Callable[[str, str], bool]) -> Iterator[None]:
    """Refuse the requests that match operation and text, however often they are repeated."""
    call = stage.connection._call

    def refusing(operation: str, request: dict[str, Any]) -> Any:
        if is_refused(operation, str(request)):
            raise ProvisionedThroughputExceededError("more than the table can take")
        return call(operation, request)

    stage.connection._call = refusing
    try:
        yield
    finally:
        stage.connection._call = call


@contextmanager
def losing_the_answer(stage: Stage, is_meant: Callable[[str, str], bool]) -> Iterator[None]:
    """Execute the first matching request, and raise an error anyway."""
    call, is_lost = stage.connection._call, False

    def losing(operation: str, request: dict[str, Any]) -> Any:
        nonlocal is_lost
        response = call(operation, request)
        if not is_lost and is_meant(operation, str(request)):
            is_lost = True
            raise InternalServerError(FAILED)
        return response

    stage.connection._call = losing
    try:
        yield
    finally:
        stage.connection._call = call
    assert is_lost, "no such request was sent"


def run(worker: Callable[[], int], failures: int) -> None:
    """Run the worker, which reports this number of throttling failures."""
    with pytest.raises(ExceptionGroup) as caught:
        worker()
    assert [type(exception) for exception in caught.value.exceptions] == [ThrottledError] * failures


def audience(stage: Stage, people: int, minutes: int = 30) -> None:
    for number in range(people):
        response = stage.subscribe(f"token-{number}", f"person-{number}", min_interval_minutes=minutes)
        assert response.status_code == 201


def question_ids_sent(service: Scripted) -> list[str]:
    return [message.question_id for message in service.sent]


@pytest.mark.parametrize("kind", [0, 1, 2])  # at any position among the tasks, whose order is undefined
def test_a_round_with_an_unreadable_question_is_repeated_and_no_other_is_lost(stage: Stage, kind: int) -> None:
    audience(stage, 9)
    question_ids = [stage.create_question(min_responses=1) for _ in range(3)]
    service = Scripted()
    worker = stage.pusher(service)
    with throttled(stage, lambda operation, text: operation == "GetItem" and question_ids[kind] in text):
        run(worker.run_once, failures=1)
    assert sorted(question_ids_sent(service)) == sorted((*question_ids[:kind], *question_ids[kind + 1 :]) * 3)
    assert worker.run_once() == 1
    assert sorted(question_ids_sent(service)) == sorted(question_ids * 3)


def test_no_round_is_used_up_while_subscriptions_cannot_be_read(stage: Stage) -> None:
    audience(stage, 6)
    question_ids = [stage.create_question(min_responses=1) for _ in range(2)]
    service = Scripted()
    worker = stage.pusher(service)
    with throttled(stage, lambda operation, text: operation == "Query" and "ByLastNotified" in text):
        run(worker.run_once, failures=1)
    assert service.sent == []
    assert worker.run_once() == 2
    assert sorted(question_ids_sent(service)) == sorted(question_ids * 3)


def test_a_round_that_cannot_be_claimed_is_left_for_the_next_run(stage: Stage) -> None:
    audience(stage, 6)
    first, second = [stage.create_question(min_responses=1) for _ in range(2)]
    service = Scripted()
    worker = stage.pusher(service)
    with throttled(stage, lambda operation, text: operation == "TransactWriteItems" and f"PUSH#{first}" in text):
        run(worker.run_once, failures=1)
    assert question_ids_sent(service) == [second] * 3
    assert worker.run_once() == 1
    assert question_ids_sent(service) == [second] * 3 + [first] * 3


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_person_who_cannot_be_claimed_does_not_prevent_other_notifications(
    stage: Stage, caplog: pytest.LogCaptureFixture, kind: int
) -> None:
    people = [stage.subscribe(f"token-{number}", "ada").json()["subscription_id"] for number in range(3)]
    stage.create_question(min_responses=1)
    service = Scripted()
    with throttled(stage, lambda operation, text: operation == "TransactWriteItems" and people[kind] in text):
        assert stage.pusher(service).run_once() == 1
    assert {message.token for message in service.sent} == {f"token-{number}" for number in range(3)} - {f"token-{kind}"}
    assert "claiming a subscription failed; sending no notification" in caplog.text


def test_a_retry_with_an_unreadable_question_is_kept(stage: Stage, clock: ManualClock) -> None:
    audience(stage, 1, minutes=1440)
    service = Scripted([TryLater("503")])
    worker = stage.pusher(service)
    question = stage.create_question()
    worker.run_once()
    clock.advance(12)
    with throttled(stage, lambda operation, text: operation == "GetItem" and question in text):
        run(worker.run_once, failures=1)
    assert len(service.sent) == 1
    assert worker.run_once() == 1
    assert len(service.sent) == 2


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_failed_result_write_does_not_prevent_others(stage: Stage, engine: Engine | ServedEngine, kind: int) -> None:
    audience(stage, 3, minutes=1440)
    dead: list[Outcome] = [DeadToken("UNREGISTERED")] * 3
    service = Scripted(dead)
    stage.create_question(min_responses=1)
    progress: list[str] = []

    def is_refused(operation: str, text: str) -> bool:
        """Return True for every write about one of the three after it was sent."""
        if operation != "DeleteItem" or "NOTICE" not in text:
            return False
        if text not in progress:
            progress.append(text)
        return progress.index(text) == kind

    with throttled(stage, is_refused):
        run(stage.pusher(service).run_once, failures=1)
    active = [item["active"]["BOOL"] for item in items(engine, entities.subscriptions) if "fcm_token" in item]
    assert sorted(active) == [False, False, True]


def test_a_question_that_cannot_be_swept_does_not_prevent_others(stage: Stage, clock: ManualClock) -> None:
    question_ids = [stage.create_question(timeout_seconds=60) for _ in range(3)]
    clock.advance(2 * MINUTE)
    sweeper = Sweeper(stage.service.base)
    with throttled(stage, lambda operation, text: operation == "GetItem" and question_ids[0] in text):
        run(sweeper.run_once, failures=1)
    assert sweeper.run_once() == 1
    assert sweeper.run_once() == 0


def test_a_question_that_ends_while_people_are_read_claims_no_one(stage: Stage, clock: ManualClock) -> None:
    audience(stage, 3, minutes=1440)
    stage.create_question(min_responses=1, timeout_seconds=60)
    service = Scripted()
    worker = stage.pusher(service)

    def passes(operation: str, text: str) -> bool:
        if operation == "Query" and "ByLastNotified" in text:
            clock.advance(MINUTE)
        return False

    with throttled(stage, passes):
        worker.run_once()
    assert service.sent == []
    later = stage.create_question(min_responses=1, timeout_seconds=3600)
    worker.run_once()
    assert question_ids_sent(service) == [later] * 3


@pytest.mark.parametrize("timeout_s", [60, 3600])  # one round only, and more of them
def test_a_claimed_round_with_a_lost_response_is_done(stage: Stage, timeout_s: int) -> None:
    audience(stage, 3)
    question = stage.create_question(min_responses=1, timeout_seconds=timeout_s)
    service = Scripted()
    with losing_the_answer(stage, is_round):
        assert stage.pusher(service).run_once() == 1
    assert question_ids_sent(service) == [question] * 3


def test_a_claimed_retry_with_a_lost_response_is_sent(stage: Stage, clock: ManualClock) -> None:
    service = Scripted([TryLater("503")])
    worker = waiting_retry(stage, clock, service)
    with losing_the_answer(stage, is_retry):
        assert worker.run_once() == 1
    assert len(service.sent) == 2


@contextmanager
def overtaken(stage: Stage, is_meant: Callable[[str, str], bool], other: Callable[[], object]) -> Iterator[None]:
    """Let another request run before the first matching request, which then fails."""
    call, is_first = stage.connection._call, True

    def failing(operation: str, request: dict[str, Any]) -> Any:
        nonlocal is_first
        if is_first and is_meant(operation, str(request)):
            is_first = False
            other()
            raise InternalServerError(FAILED)
        return call(operation, request)

    stage.connection._call = failing
    try:
        yield
    finally:
        stage.connection._call = call
    assert not is_first, "no such request was sent"


@pytest.mark.parametrize("timeout_s", [60, 3600])
def test_a_round_claimed_by_another_worker_after_a_failed_request_is_done_once(stage: Stage, timeout_s: int) -> None:
    audience(stage, 9)
    question = stage.create_question(min_responses=1, timeout_seconds=timeout_s)
    service = Scripted()
    worker, other = stage.pusher(service), stage.pusher(service)
    with overtaken(stage, is_round, other.run_once):
        assert worker.run_once() == 0
    assert question_ids_sent(service) == [question] * 3


def test_a_retry_claimed_by_another_worker_after_a_failed_request_is_sent_once(
    stage: Stage, clock: ManualClock
) -> None:
    service = Scripted([TryLater("503")])
    worker, other = waiting_retry(stage, clock, service), stage.pusher(service)
    with overtaken(stage, is_retry, other.run_once):
        assert worker.run_once() == 0
    assert len(service.sent) == 2


def waiting_retry(stage: Stage, clock: ManualClock, service: Scripted) -> PushWorker:
    """Return a worker with a pending retry of a push."""
    audience(stage, 1, minutes=1440)
    worker = stage.pusher(service)
    stage.create_question()
    worker.run_once()
    clock.advance(12)
    return worker


def is_round(operation: str, text: str) -> bool:
    """Return True if a request claims a round."""
    return operation not in {"Query", "GetItem"} and "ERRAND#PUSH" in text


def is_retry(operation: str, text: str) -> bool:
    """Return True if a request claims the retry of a push."""
    return operation not in {"Query", "GetItem"} and "DELIVERY#" in text


def spoil(stage: Stage, table: Any, key: str, attribute: str, value: dict[str, Any]) -> None:
    """Change an item as another program could: with a value that is invalid for its entity."""
    result = {"UpdateExpression": "SET #a = :none", "ExpressionAttributeNames": {"#a": attribute}}
    result |= {"ConditionExpression": f"attribute_exists({table.schema.key[0]})"}
    key_of_item = {table.schema.key[0]: {"S": key}}
    stage.connection._call(
        "UpdateItem",
        {"TableName": table.name, "Key": key_of_item, "ExpressionAttributeValues": {":none": value}, **result},
    )


def make_unreadable(stage: Stage, question: str) -> None:
    """Replace the prompt by a value that is not text."""
    spoil(stage, entities.questions, question, "prompt", {"N": "1"})


def run_past_unreadable(worker: Callable[[], int], done: int) -> None:
    """Run the worker, which reports one unreadable item, and the number of completed units."""
    with pytest.raises(UnfinishedError) as caught:
        worker()
    assert [type(exception) for exception in caught.value.exceptions] == [UnreadableItemError]
    assert caught.value.completed == done


def test_unreadable_questions_do_not_delay_other_rounds(
    stage: Stage, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_worker, "MAX_ROUNDS", 2)
    audience(stage, 3)
    for _ in range(2):
        make_unreadable(stage, stage.create_question(min_responses=1))
        clock.advance(1)
    readable = stage.create_question(min_responses=1)
    service = Scripted()
    with pytest.raises(ExceptionGroup) as caught:
        stage.pusher(service).run_once()
    assert [type(exception) for exception in caught.value.exceptions] == [UnreadableItemError] * 2
    assert question_ids_sent(service) == [readable] * 3


def test_unreadable_questions_do_not_prevent_other_expiries(
    stage: Stage, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeper, "MAX_TASKS", 2)
    for _ in range(2):
        make_unreadable(stage, stage.create_question())
        clock.advance(1)
    readable = stage.create_question()
    clock.advance(24 * 3600)
    with pytest.raises(ExceptionGroup) as caught:
        Sweeper(stage.service.base).run_once()
    assert [type(exception) for exception in caught.value.exceptions] == [UnreadableItemError] * 2
    result = stage.connection.run(design_questions.question_by_id(readable))
    assert result is not None
    assert result.status is Status.EXPIRED


@pytest.mark.parametrize("attribute", ["rounds_done", "ttl"])
def test_an_unreadable_job_does_not_delay_other_rounds(stage: Stage, attribute: str) -> None:
    audience(stage, 9)
    question_ids = [stage.create_question(min_responses=1) for _ in range(3)]
    spoil(stage, entities.questions, f"ERRAND#PUSH#{question_ids[0]}", attribute, {"S": "none"})
    service = Scripted()
    run_past_unreadable(stage.pusher(service).run_once, done=2)
    assert sorted(question_ids_sent(service)) == sorted(question_ids[1:] * 3)


def test_an_unreadable_job_does_not_prevent_other_expiries(stage: Stage, clock: ManualClock) -> None:
    question_ids = [stage.create_question(timeout_seconds=60) for _ in range(3)]
    spoil(stage, entities.questions, f"ERRAND#EXPIRE#{question_ids[0]}", "rounds_done", {"S": "none"})
    clock.advance(2 * MINUTE)
    run_past_unreadable(Sweeper(stage.service.base).run_once, done=2)
    run_past_unreadable(Sweeper(stage.service.base).run_once, done=0)


@pytest.mark.parametrize(
    ("attribute", "value", "error"),
    [
        ("min_interval_minutes", {"S": "often"}, UnreadableItemError),
        (
            "created_at",
            {"S": "2026-99-99T00:00:00.000Z"},
            ValueError,
        ),  # of the declared form, but not a valid timestamp
    ],
)
def test_an_unreadable_subscription_does_not_prevent_other_notifications(
    stage: Stage, attribute: str, value: dict[str, Any], error: type[Exception]
) -> None:
    people = [stage.subscribe(f"token-{number}", "ada").json()["subscription_id"] for number in range(3)]
    spoil(stage, entities.subscriptions, people[0], attribute, value)
    stage.create_question(min_responses=1)
    service = Scripted()
    with pytest.raises(UnfinishedError) as caught:
        stage.pusher(service).run_once()
    assert [type(exception) for exception in caught.value.exceptions] == [error]
    assert {message.token for message in service.sent} == {"token-1", "token-2"}


def test_an_unreadable_retry_does_not_delay_others(stage: Stage, clock: ManualClock) -> None:
    people = [stage.subscribe(f"token-{number}", "ada", min_interval_minutes=1440).json() for number in range(3)]
    later: list[Outcome] = [TryLater("503")] * 3
    service = Scripted(later)
    worker = stage.pusher(service)
    question = stage.create_question(min_responses=1)
    worker.run_once()
    spoiled = f"DELIVERY#{question}#{people[0]['subscription_id']}"
    spoil(stage, entities.subscriptions, spoiled, "attempt", {"S": "first"})
    clock.advance(12)
    service.sent.clear()
    run_past_unreadable(worker.run_once, done=2)
    assert {message.token for message in service.sent} == {"token-1", "token-2"}
