"""Reports of the platform are delivered: each grade once, in pages, and to watchers despite a silent stream."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.systems.forum.live import ANN, TUTOR, Live

from keyplan_systems.forum.hub import Hub
from keyplan_systems.forum.sample import LOOPS

EVENTS = f"/thread/{LOOPS}/{ANN}/events"
LONG_AGO_MS = 1_500_000_000_000


def tell(live: Live, events: list[dict[str, Any]]) -> int:
    """Report events and return the number of new ones."""
    response = live.person("9", "platform").post(EVENTS, json={"events": events})
    assert response.status_code == 200, response.text
    return int(response.json()["new"])


def test_every_grade_of_an_answer_is_sent_once(live: Live) -> None:
    graded = {"type": "grade_updated", "attempt_id": "5", "answer_id": "6"}
    grades = [{**graded, "score": score, "time": LONG_AGO_MS + score} for score in (40, 80)]
    assert [tell(live, grades) for _ in range(2)] == [2, 0]


def test_every_answer_of_an_attempt_is_sent_once(live: Live) -> None:
    answers = [("5", "6"), ("5", "7"), ("8", "6")]
    facts = [
        {"type": "submission", "time": LONG_AGO_MS, "attempt_id": attempt, "answer_id": answer}
        for attempt, answer in answers
    ]
    assert [tell(live, facts) for _ in range(2)] == [3, 0]
    result = live.writer().get("events", limit=100)["events"][-3:]
    assert sorted((pair["attempt_id"], pair["answer_id"]) for pair in result) == answers


def test_a_score_may_be_the_smallest_float(live: Live) -> None:
    fact = {"type": "submission", "time": LONG_AGO_MS, "attempt_id": "5", "answer_id": "6", "score": 1e-300}
    assert tell(live, [fact]) == 1
    assert live.writer().get("events", limit=100)["events"][-1]["score"] == 0


def test_history_has_pages_of_twenty_by_default_and_a_hundred_at_most(live: Live) -> None:
    started = [{"type": "attempt_started", "time": LONG_AGO_MS, "attempt_id": str(number)} for number in range(25)]
    assert tell(live, started) == 25
    writer = live.writer()
    assert len(writer.get("events")["events"]) == 20
    assert len(writer.get("events", limit=100)["events"]) > 25
    assert writer.client.get(EVENTS, params={"limit": 101}).status_code == 400


def test_a_watcher_that_starts_from_nothing_gets_the_whole_thread(live: Live) -> None:
    async def story() -> None:
        async with live.socket(ANN) as ann:
            result = await ann.watch(live.token(ANN), since=0)
            received = [await ann.receive() for _ in range(result["last_seq"])]
            assert [message["seq"] for message in received] == list(range(1, result["last_seq"] + 1))

    asyncio.run(story())


def test_at_most_five_hundred_events_are_sent_in_one_request(live: Live) -> None:
    started = [{"type": "attempt_started", "time": LONG_AGO_MS, "attempt_id": str(number)} for number in range(501)]
    assert live.person("9", "platform").post(EVENTS, json={"events": started}).status_code == 400


def test_a_heartbeat_finds_events_that_the_stream_did_not_deliver(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hub, "push_events", lambda _hub, _events: None)

    async def story() -> None:
        async with live.socket(ANN) as ann:
            await ann.watch(live.token(ANN))
            message = live.writer(TUTOR).write("not in the stream")
            assert await ann.ask("heartbeat") == {"action": "heartbeat"}
            assert (await ann.receive())["seq"] == message["seq"]

    asyncio.run(story())
