"""Push worker: who is notified, when, how many, once; and the outcome of failed pushes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.systems.ask_a_human.fake_fcm import FakeFcm, fault, fcm_detail
from tests.systems.ask_a_human.stage import Stage, items
from tests.systems.served_engine import ServedEngine

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human import entities, notifier
from keyplan_systems.ask_a_human.domain.notifications import DeadToken, Delivered, Outcome, Rejected, TryLater
from keyplan_systems.ask_a_human.notifier import FcmNotifier, PushMessage

MINUTE = 60


@dataclass
class Scripted:
    """Push service that answers as scripted, and records its messages."""

    outcomes: list[Outcome] = field(default_factory=list)
    sent: list[PushMessage] = field(default_factory=list)

    async def send(self, message: PushMessage) -> Outcome:
        self.sent.append(message)
        return self.outcomes.pop(0) if self.outcomes else Delivered("fine")

    async def close(self) -> None:
        """Do nothing: no resources are open."""


def test_a_new_question_notifies_three_people_for_each_missing_answer(stage: Stage) -> None:
    for number in range(20):
        stage.subscribe(f"token-{number}", f"person-{number}")
    question = stage.create_question(min_responses=2)
    assert stage.pusher().run_once() == 1
    result = stage.outbox_messages()
    assert len({token for token, _ in result}) == len(result) == 6
    assert {request for _, request in result} == {question}


def test_the_message_links_to_the_question_and_expires_with_it(stage: Stage, clock: ManualClock) -> None:
    service = Scripted()
    stage.subscribe("token", "ada")
    question = stage.create_question(timeout_seconds=600)
    clock.advance(10)
    stage.pusher(service).run_once()
    (message,) = service.sent
    assert message.link == f"https://ask.example/questions/{question}"
    assert (message.token, message.body, message.lives_s) == ("token", "Which label is clearer?", 590)


def test_people_are_notified_again_after_their_interval_and_not_before(stage: Stage, clock: ManualClock) -> None:
    for minutes in (5, 30, 240):
        stage.subscribe(f"every-{minutes}", f"person-{minutes}", min_interval_minutes=minutes)
    worker = stage.pusher()
    result: list[set[str]] = []
    for step_s in (0.0, 5 * MINUTE - 0.001, 0.001, 25 * MINUTE, 210 * MINUTE):
        clock.advance(step_s)
        before = len(stage.outbox_messages())
        stage.create_question(agent=f"agent-{len(result)}", timeout_seconds=60)
        worker.run_once()
        result.append({token for token, _ in stage.outbox_messages()[before:]})
    assert result == [
        {"every-5", "every-30", "every-240"},
        set(),
        {"every-5"},
        {"every-5", "every-30"},
        {"every-5", "every-30", "every-240"},
    ]


def test_rounds_happen_immediately_after_15_minutes_and_then_every_30_until_the_question_ends(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    stage.create_question(timeout_seconds=3600)
    worker, rounds = stage.pusher(), []
    for minute in range(61):
        if worker.run_once():
            rounds.append(minute)
        clock.advance(MINUTE)
    assert rounds == [0, 15, 45]
    assert [
        item for item in items(engine, entities.questions) if item["question_id"]["S"].startswith("ERRAND#PUSH")
    ] == []


def test_closed_questions_and_disabled_subscriptions_cause_no_notifications(stage: Stage, clock: ManualClock) -> None:
    inactive = stage.subscribe("gone", "ada").json()["subscription_id"]
    stage.client.delete(f"/human/push/subscribe/{inactive}", headers=stage.person("ada"))
    stage.subscribe("there", "ben")
    question = stage.create_question(min_responses=1)
    stage.answer(question, "cleo")
    assert stage.pusher().run_once() == 0
    stage.create_question(agent="other")
    stage.pusher().run_once()
    assert [token for token, _ in stage.outbox_messages()] == ["there"]
    clock.advance(1)


@pytest.mark.embedded("many draws, for the sake of chance alone")
def test_the_sample_is_uniform_over_all_eligible_people(stage: Stage, clock: ManualClock) -> None:
    for number in range(30):
        stage.subscribe(f"token-{number}", f"person-{number}", min_interval_minutes=5)
    worker = stage.pusher()
    for number in range(150):
        clock.advance(5 * MINUTE)
        stage.create_question(agent=f"agent-{number}", min_responses=1, timeout_seconds=60)
        worker.run_once()
    counts = Counter(token for token, _ in stage.outbox_messages())
    assert sum(counts.values()) == 450
    # 15 each on average with a deviation of about 3.7: five of those are far beyond chance for thirty people.
    assert all(1 <= counts[f"token-{number}"] <= 34 for number in range(30))


def test_every_eligible_person_is_notified_across_pages(stage: Stage) -> None:
    for number in range(24):
        stage.subscribe(f"token-{number}", f"person-{number}")
    stage.create_question(min_responses=8)
    call = stage.connection._call

    def one_at_a_time(operation: str, request: dict[str, Any]) -> Any:
        return call(operation, {**request, "Limit": 1} if "ByLastNotified" in str(request) else request)

    stage.connection._call = one_at_a_time
    stage.pusher().run_once()
    assert {token for token, _ in stage.outbox_messages()} == {f"token-{number}" for number in range(24)}


def test_a_dead_token_disables_its_subscription(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    stage.subscribe("dead", "ada", min_interval_minutes=5)
    service = Scripted([DeadToken("UNREGISTERED")])
    worker = stage.pusher(service)
    question = stage.create_question()
    worker.run_once()
    (stored,) = [item for item in items(engine, entities.subscriptions) if "fcm_token" in item]
    assert stored["active"] == {"BOOL": False}
    assert "notify_pk" not in stored
    clock.advance(20 * MINUTE)
    worker.run_once()
    assert len(service.sent) == 1
    # Never notified, so no bonus for being quick.
    assert stage.answer(question, "ada").json()["points_earned"] == 15


def test_a_failed_push_is_retried_with_growing_delays(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    stage.subscribe("token", "ada", min_interval_minutes=1440)
    service = Scripted([TryLater("503"), TryLater("429", 60.0), Delivered("at last")])
    worker = stage.pusher(service)
    question = stage.create_question()
    worker.run_once()
    sent = [0]
    for second in range(1, 120):
        clock.advance(1)
        before = len(service.sent)
        worker.run_once()
        if len(service.sent) > before:
            sent.append(second)
    assert len(sent) == 3
    assert 10 <= sent[1] <= 12
    assert 60 <= sent[2] - sent[1] <= 67
    assert [item for item in items(engine, entities.subscriptions) if "attempt" in item] == []
    assert stage.answer(question, "ada").json()["points_earned"] == 15 + 3  # notified a minute ago by the third try


def test_a_push_is_dropped_after_six_failures_or_when_the_question_ends(stage: Stage, clock: ManualClock) -> None:
    stage.subscribe("token", "ada", min_interval_minutes=1440)
    service = Scripted([TryLater("503")] * 100)
    worker = stage.pusher(service)
    stage.create_question(timeout_seconds=86_400)
    for _ in range(60):
        worker.run_once()
        clock.advance(MINUTE)
    assert len(service.sent) == 6


def test_a_person_notified_of_another_question_is_not_notified_of_the_failed_one(
    stage: Stage, clock: ManualClock
) -> None:
    stage.subscribe("token", "ada", min_interval_minutes=5)
    service = Scripted([TryLater("429", 400.0)])
    worker = stage.pusher(service)
    first = stage.create_question(timeout_seconds=86_400)
    worker.run_once()
    clock.advance(5 * MINUTE)
    second = stage.create_question(agent="other", timeout_seconds=86_400)
    worker.run_once()
    clock.advance(3 * MINUTE)
    worker.run_once()
    assert [message.question_id for message in service.sent] == [first, second]


def test_a_rejected_message_does_not_disable_the_subscription(stage: Stage, engine: Engine | ServedEngine) -> None:
    stage.subscribe("token", "ada")
    stage.create_question()
    stage.pusher(Scripted([Rejected("INVALID_ARGUMENT")])).run_once()
    (stored,) = [item for item in items(engine, entities.subscriptions) if "fcm_token" in item]
    assert stored["active"] == {"BOOL": True}
    assert [item for item in items(engine, entities.subscriptions) if "attempt" in item] == []


class _Breaking(Scripted):
    """Notifier that raises at its first message."""

    def __init__(self, outcomes: list[Outcome], error: Exception) -> None:
        super().__init__(outcomes)
        self.error = error

    async def send(self, message: PushMessage) -> Outcome:
        outcome = await super().send(message)
        if len(self.sent) == 1:
            raise self.error
        return outcome


@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyError("what nobody foresaw")])
def test_a_failing_send_delays_only_its_own_message(stage: Stage, clock: ManualClock, error: Exception) -> None:
    for token in ("one", "two"):
        stage.subscribe(token, f"person-{token}")
    service = _Breaking([Delivered("lost"), DeadToken("UNREGISTERED")], error)
    worker = stage.pusher(service)
    stage.create_question()
    worker.run_once()
    clock.advance(12)
    worker.run_once()
    assert [message.token for message in service.sent] in (["one", "two", "one"], ["two", "one", "two"])


@pytest.mark.parametrize(("after_s", "bonus"), [(300.0, 3), (300.001, 0)])
def test_an_answer_within_five_minutes_of_the_push_earns_three_more_points(
    stage: Stage, clock: ManualClock, after_s: float, bonus: int
) -> None:
    stage.subscribe("token", "ada")
    question = stage.create_question()
    stage.pusher().run_once()
    clock.advance(after_s)
    assert stage.answer(question, "ada").json()["points_earned"] == 15 + bonus
    assert stage.answer(question, "ben").json()["points_earned"] == 15


def test_a_refreshed_token_is_used(stage: Stage) -> None:
    subscription_id = stage.subscribe("old", "ada").json()["subscription_id"]
    headers = stage.person("ada")
    stage.client.put(f"/human/push/subscribe/{subscription_id}", json={"fcm_token": "new"}, headers=headers)
    stage.create_question()
    stage.pusher().run_once()
    assert [token for token, _ in stage.outbox_messages()] == ["new"]


def test_the_worker_sends_through_the_real_client_and_handles_its_responses(
    stage: Stage,
    clock: ManualClock,
    engine: Engine | ServedEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notifier, "TIMEOUT_S", 240.0)  # however busy the machine is
    for token in ("one", "two", "three"):
        stage.subscribe(token, f"person-{token}", min_interval_minutes=1440)
    with FakeFcm() as fcm:
        fcm.scripted = [
            fault(404, "NOT_FOUND", "gone", fcm_detail("UNREGISTERED")),
            fault(503, "UNAVAILABLE", "later", fcm_detail("UNAVAILABLE")),
        ]
        worker = stage.pusher(FcmNotifier.from_file(fcm.key_file(tmp_path), clock, base_url=fcm.url))
        question = stage.create_question(min_responses=1)
        worker.run_once()
        clock.advance(12)
        worker.run_once()
    sent = [sent_message["message"]["token"] for sent_message in fcm.sent]
    assert sorted({*sent}) == ["one", "three", "two"]
    stored = [item for item in items(engine, entities.subscriptions) if "fcm_token" in item]
    assert sum(item["active"]["BOOL"] for item in stored) == 2
    notices = [item for item in items(engine, entities.subscriptions) if "notified_at" in item]
    assert len(notices) == 2
    assert all(notice["subscription_id"]["S"].startswith(f"NOTICE#{question}#") for notice in notices)
