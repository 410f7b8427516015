"""Concurrent push workers, and subscribers who change their subscription during a push."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Barrier, get_ident
from typing import Any

import pytest
from tests.systems.ask_a_human.stage import Stage, at_once, items
from tests.systems.ask_a_human.test_push import MINUTE, Scripted
from tests.systems.served_engine import ServedEngine

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human import entities
from keyplan_systems.ask_a_human.domain.notifications import DeadToken, Outcome, TryLater
from keyplan_systems.ask_a_human.notifier import PushMessage
from keyplan_systems.ask_a_human.outbound import Outbound


@dataclass
class _Overtaken(Scripted):
    """Push service that finds a token dead while its browser is registering the next one."""

    refresh: Callable[[], object] = lambda: None

    async def send(self, message: PushMessage) -> Outcome:
        self.refresh()
        return await super().send(message)


def test_a_token_refreshed_in_the_meantime_keeps_its_subscription(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    subscription_id = stage.subscribe("dead", "ada", min_interval_minutes=5).json()["subscription_id"]
    headers = stage.person("ada")
    refresh = partial(
        stage.client.put, f"/human/push/subscribe/{subscription_id}", json={"fcm_token": "new"}, headers=headers
    )
    service = _Overtaken([DeadToken("UNREGISTERED")], refresh=refresh)
    worker = stage.pusher(service)
    stage.create_question()
    worker.run_once()
    (stored,) = [item for item in items(engine, entities.subscriptions) if "fcm_token" in item]
    assert (stored["active"], stored["fcm_token"]) == ({"BOOL": True}, {"S": "new"})
    clock.advance(15 * MINUTE)
    worker.run_once()
    assert [message.token for message in service.sent] == ["dead", "new"]


def test_one_of_ten_concurrent_push_workers_claims_a_round(stage: Stage) -> None:
    for number in range(60):
        assert stage.subscribe(f"token-{number}", f"person-{number}").status_code == 201
    stage.create_question(min_responses=2)
    call, meeting, arrived = stage.connection._call, Barrier(10), set()

    def together(operation: str, request: dict[str, Any]) -> Any:
        """Wait until all workers have read that the round is due before any of them claims it."""
        if operation == "TransactWriteItems" and get_ident() not in arrived:
            arrived.add(get_ident())
            meeting.wait(240)
        return call(operation, request)

    stage.connection._call = together
    at_once([stage.pusher().run_once for _ in range(10)])
    assert len(arrived) == 10
    assert len(stage.outbox_messages()) == 6


@pytest.mark.parametrize("change", ["closed", "switched off"])
def test_questions_closed_and_subscriptions_disabled_in_the_meantime_are_not_notified(
    stage: Stage, clock: ManualClock, engine: Engine | ServedEngine, change: str
) -> None:
    subscription_id = stage.subscribe("token", "ada").json()["subscription_id"]
    service = Scripted([TryLater("503")])
    worker = stage.pusher(service)
    question = stage.create_question(min_responses=1)
    worker.run_once()
    if change == "closed":
        assert stage.answer(question, "ben").status_code == 201
    else:
        headers = stage.person("ada")
        assert stage.client.delete(f"/human/push/subscribe/{subscription_id}", headers=headers).status_code == 204
    clock.advance(12)
    worker.run_once()
    assert len(service.sent) == 1
    assert [item for item in items(engine, entities.subscriptions) if "attempt" in item] == []


def test_a_worker_that_dies_after_its_claims_notifies_no_one_twice(
    stage: Stage, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        stage.subscribe(f"token-{number}", f"person-{number}", min_interval_minutes=30)
    stage.create_question(min_responses=1, timeout_seconds=86_400)
    dying, living = stage.pusher(), stage.pusher()

    def killed(self: Outbound, messages: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Outbound, "send", killed)
        with pytest.raises(KeyboardInterrupt):
            dying.run_once()
    clock.advance(15 * MINUTE)
    living.run_once()
    result = [token for token, _ in stage.outbox_messages()]
    assert len(result) == len({*result}) == 3  # the three that the dead worker had claimed wait for their interval
    clock.advance(30 * MINUTE)
    living.run_once()
    assert len(stage.outbox_messages()) == 6
