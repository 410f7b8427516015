"""Websocket over real HTTP: authentication, pushes, limits, reconnection, and remaining items afterwards."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from tests.systems.forum.live import ANN, BEN, PATIENCE_S, TEACHER, TUTOR, Live, Socket
from websockets.exceptions import InvalidStatus

from keyplan_systems.forum import sample
from keyplan_systems.forum.entities import Place

PLACE = Place(ANN, sample.LOOPS)


def items(live: Live, prefix: str) -> list[dict[str, Any]]:
    """Return the items whose keys start with this prefix, expired or not."""
    stored_items = live.call("Scan", {"TableName": "forum", "ConsistentRead": True})["Items"]
    return [item for item in stored_items if item["PK"]["S"].startswith(prefix)]


async def settled(live: Live, connections: int) -> None:
    """Wait until this number of connections is stored; the server notices a lost one with a delay."""
    async with asyncio.timeout(PATIENCE_S):
        while len(items(live, "CONN#")) != connections:
            await asyncio.sleep(0.01)


def test_a_watcher_receives_events_written_after_it_subscribed(live: Live) -> None:
    async def story() -> None:
        async with live.socket(TUTOR) as tutor:
            result = await tutor.watch(live.token(TUTOR))
            writer = live.writer()
            messages = [writer.write(text) for text in ("one", "two")]
            received = [await tutor.receive() for _ in messages]
            assert [{"action": "forum.message.new", **message} for message in messages] == received
            assert [message["seq"] for message in received] == [result["last_seq"] + 1, result["last_seq"] + 2]
            message_id = str(uuid.uuid4())
            assert writer.post("three", message_id).status_code == 201
            result = await tutor.receive()
            assert (result["participant_id"], result["item_id"], result["author_id"]) == (ANN, sample.LOOPS, ANN)
            assert (result["text"], result["uuid"], result["time"] >= received[1]["time"]) == (
                "three",
                message_id,
                True,
            )
            await tutor.check_no_message()

    asyncio.run(story())


def test_every_kind_of_event_is_pushed_including_zero_and_false(live: Live) -> None:
    of_answer: dict[str, Any] = {"time": 1_600_000_000_000, "attempt_id": "7", "answer_id": "8"}
    facts: list[dict[str, Any]] = [
        {"type": "attempt_started", "time": 1_600_000_000_000, "attempt_id": "7"},
        {"type": "submission", **of_answer, "score": 0, "validated": False},
        {"type": "grade_updated", **of_answer, "score": 100, "validated": True, "score_improved": True},
    ]

    async def story() -> None:
        async with live.socket(ANN) as ann:
            await ann.watch(live.token(ANN))
            platform = live.person("9", "platform")
            response = platform.post(f"/thread/{sample.LOOPS}/{ANN}/events", json={"events": facts})
            assert response.json()["new"] == 3
            live.person(ANN).put(f"/items/{sample.LOOPS}/participant/{ANN}/thread", json={"status": "closed"})
            live.service.transfer_log()
            received = [await ann.receive() for _ in range(4)]
            assert [message["action"] for message in received] == [
                "forum.attempt.started", "forum.submission.new", "forum.grade.update", "forum.thread.closed",
            ]  # fmt: skip
            assert (received[1]["score"], received[1]["validated"]) == (0, False)
            assert "score" not in received[0]
            assert (received[2]["score"], received[2]["validated"], received[2]["score_improved"]) == (100, True, True)
            assert received[3]["user_id"] == ANN

    asyncio.run(story())


def test_reconnecting_returns_missed_and_back_filled_events(live: Live) -> None:
    async def story() -> None:
        writer = live.writer()
        async with live.socket(TUTOR) as tutor:
            await tutor.watch(live.token(TUTOR))
            writer.write("before")
            last = (await tutor.receive())["seq"]
        past = {"type": "attempt_started", "time": 1_500_000_000_000, "attempt_id": "77"}
        live.person("9", "platform").post(f"/thread/{sample.LOOPS}/{ANN}/events", json={"events": [past]})
        writer.write("meanwhile")
        async with live.socket(TUTOR) as again:
            await again.watch(live.token(TUTOR), since=last)
            received = [await again.receive(), await again.receive()]
            assert [(message["action"], message["seq"]) for message in received] == [
                ("forum.attempt.started", last + 1),
                ("forum.message.new", last + 2),
            ]
            assert received[0]["time"] == 1_500_000_000_000
            await again.check_no_message()
        arrivals = writer.get("arrivals", since=last)
        assert [event["seq"] for event in arrivals["events"]] == [last + 1, last + 2]
        assert arrivals["last_seq"] == last + 2

    asyncio.run(story())


def test_connecting_requires_an_identity(live: Live) -> None:
    async def refused(token: str) -> int:
        with pytest.raises(InvalidStatus) as caught:
            async with live.socket_at(token):
                pass
        return caught.value.response.status_code

    async def story() -> None:
        assert await refused("") == 401
        assert await refused("?token=forged") == 401
        assert await refused(f"?token={live.identity('not-digits')}") == 403
        assert await refused(f"?token={live.token(ANN)}") == 401

    asyncio.run(story())
    assert items(live, "CONN#") == []


def test_subscribing_requires_a_valid_token_of_the_user(live: Live) -> None:
    async def story() -> None:
        async with live.socket(BEN) as ben:
            for token, status in (("forged", 401), (live.token(ANN), 403), (live.identity(BEN), 401)):
                response = await ben.ask("forum.subscribe", token=token)
                assert (response["action"], response["status"]) == ("error", status)
        token = live.token(ANN)
        live.clock.advance(7200 - 300)
        async with live.socket(ANN) as ann, live.socket(ANN) as other:
            await ann.watch(token)
            live.clock.advance(300)  # which also ends the first connection
            assert (await other.ask("forum.subscribe", token=token))["status"] == 401

    asyncio.run(story())


def test_a_rejected_subscriber_does_not_count_as_watching(live: Live) -> None:
    async def story() -> None:
        async with live.socket(ANN) as ann:
            response = await ann.ask("forum.subscribe", token=live.token(ANN), since=10**6)
            assert response["status"] == 400
            assert items(live, "THREADSUB#") == []
            live.writer(TUTOR).write("notified all the same")
            with live.notifier() as runner:
                runner.run_once()
            pushed = [await ann.receive() for _ in range(2)]
            assert {message["action"] for message in pushed} == {"forum.notification.new"}
            assert pushed[-1]["excerpt"] == "notified all the same"

    asyncio.run(story())


def test_an_invalid_message_is_answered_and_the_connection_continues(live: Live) -> None:
    async def story() -> None:
        async with live.socket(ANN) as ann:
            token = live.token(ANN)
            longest = '{"action": "heartbeat"}'.ljust(32 * 1024)
            for text in ("{", "[]", '{"action": "sing"}', '{"action": "forum.subscribe"}', longest + " "):
                await ann.connection.send(text)
                assert (await ann.receive())["status"] == 400
            await ann.connection.send(longest)
            assert await ann.receive() == {"action": "heartbeat"}
            for since in (-1, 10**6, "1"):
                response = await ann.ask("forum.subscribe", token=token, since=since)
                assert response["status"] == 400, response
            await ann.watch(token)
            assert (await ann.ask("forum.subscribe", token=token))["status"] == 400
            response = await ann.ask("forum.unsubscribe", participant_id="1#2", item_id="3")
            assert response["status"] == 400
            await ann.check_no_message()
            await ann.connection.send(b"\x00")
            assert await ann.wait_closed() == (1003, "send actions as text messages")

    asyncio.run(story())


def test_two_tabs_both_receive_everything_and_one_can_leave(live: Live) -> None:
    async def story() -> None:
        writer, token = live.writer(TUTOR), live.token(ANN)
        async with live.socket(ANN) as first, live.socket(ANN) as second:
            await first.watch(token)
            await second.watch(token)
            assert len(items(live, "THREADSUB#")) == 2
            message = writer.write("to both")
            assert (await first.receive())["seq"] == (await second.receive())["seq"] == message["seq"]
            response = await first.ask("forum.unsubscribe", participant_id=ANN, item_id=sample.LOOPS)
            assert response["action"] == "forum.unsubscribed"
            writer.write("to one")
            assert (await second.receive())["text"] == "to one"
            await first.check_no_message()
            (left,) = items(live, "THREADSUB#")
            assert left["PK"]["S"] == f"THREADSUB#{ANN}#{sample.LOOPS}"
            (other,) = [item for item in items(live, "CONN#") if item["connection_id"] == left["time"]]
            assert other["threads"]["SS"] == [f"{ANN}#{sample.LOOPS}"]

    asyncio.run(story())


def test_a_lost_connection_is_removed_without_affecting_other_subscriptions(live: Live) -> None:
    async def story() -> None:
        async with live.socket(TUTOR) as tutor:
            await tutor.watch(live.token(TUTOR))
            async with live.socket(ANN) as ann:
                await ann.watch(live.token(ANN))
                await ann.watch(live.token(ANN, sample.LISTS), since=0)
                assert len(items(live, "THREADSUB#")) == 3
                ann.connection.transport.abort()
                await settled(live, 1)
            (left,) = items(live, "THREADSUB#")
            assert left["user_id"]["S"] == TUTOR
            live.writer().write("still there")
            assert (await tutor.receive())["text"] == "still there"
        await settled(live, 0)
        assert items(live, "THREADSUB#") == []

    asyncio.run(story())


def test_an_idle_connection_is_closed_after_ten_minutes_unless_a_heartbeat_is_sent(live: Live) -> None:
    async def story() -> None:
        async with live.socket(ANN) as ann, live.socket(BEN) as ben:
            await ann.watch(live.token(ANN))
            for _ in range(2):
                live.clock.advance(400)
                await ann.check_no_message()
                await ben.check_no_message()
            live.clock.advance(400)
            await ann.check_no_message()
            live.clock.advance(400)
            code, reason = await ben.wait_closed()
            assert code == 1001
            assert "heartbeat" in reason
            await ann.check_no_message()

    asyncio.run(story())


def test_pushed_events_keep_a_silent_reader_connected(live: Live) -> None:
    async def story() -> None:
        writer = live.writer(TUTOR)
        async with live.socket(ANN) as ann:
            await ann.watch(live.token(ANN))
            for text in ("one", "two", "three"):
                live.clock.advance(400)
                writer.write(text)
                assert (await ann.receive())["text"] == text

    asyncio.run(story())


def test_every_connection_ends_after_two_hours_and_can_be_resumed(live: Live) -> None:
    async def story() -> None:
        async with live.socket(ANN) as ann:
            await ann.watch(live.token(ANN))
            for _ in range(14):
                live.clock.advance(500)
                await ann.check_no_message()
            live.clock.advance(200)
            code, reason = await ann.wait_closed()
            assert code == 1001
            assert "connect again" in reason
        await settled(live, 0)
        async with live.socket(ANN) as again:
            await again.watch(live.token(ANN), since=1)
            assert (await again.receive())["seq"] == 2

    asyncio.run(story())


def test_a_watch_ends_with_the_validity_of_its_token(live: Live) -> None:
    async def story() -> None:
        token = live.token(TUTOR)
        live.clock.advance(7000)
        async with live.socket(TUTOR) as tutor, live.socket(ANN) as ann:
            await tutor.watch(token)
            await ann.watch(live.token(ANN))
            live.clock.advance(190)
            await tutor.check_no_message()
            live.clock.advance(10)
            code, reason = await tutor.wait_closed()
            assert code == 1001
            assert "token has expired" in reason
            live.writer().write("for who may still read it")
            assert (await ann.receive())["text"] == "for who may still read it"

    asyncio.run(story())


def test_a_subscription_expires_in_whole_seconds_and_receives_nothing_afterwards(live: Live) -> None:
    async def story() -> None:
        async with live.socket(ANN) as ann:
            before_s = int(live.clock.now())
            await ann.watch(live.token(ANN))
            (stored,) = items(live, "THREADSUB#")
            assert stored["ttl"]["N"].isdecimal()
            assert before_s + 7200 <= int(stored["ttl"]["N"]) <= int(live.clock.now()) + 7200
            assert live.service.connections.users(PLACE) == {ANN}
            live.clock.advance(7201)
            live.service.connections.renew_registration()
            assert live.service.connections.users(PLACE) == frozenset()

    asyncio.run(story())


def test_a_connection_watches_at_most_fifty_threads(live: Live) -> None:
    async def story() -> None:
        async with live.socket(ANN) as ann:
            for number in range(50):
                await ann.watch(live.rights(ANN, Place("1", str(number))))
            response = await ann.ask("forum.subscribe", token=live.rights(ANN, Place("1", "50")))
            assert response["status"] == 400
            assert "50" in response["message"]
            assert len(items(live, "THREADSUB#")) == 50
        await settled(live, 0)
        assert items(live, "THREADSUB#") == []

    asyncio.run(story())


def test_presence_reports_watchers_and_statuses_on_request(live: Live) -> None:
    async def story() -> None:
        async with live.socket(ANN) as ann, live.socket(TUTOR) as tutor:
            await tutor.watch(live.token(TUTOR))
            await ann.watch(live.token(ANN), presence=True)
            async with live.socket(TEACHER) as teacher:
                await teacher.watch(live.token(TEACHER))
                await receive_action(ann, "forum.watchers.changed")
            await receive_action(ann, "forum.watchers.changed")
            body = {"status": "waiting_for_participant"}
            live.person(ANN).put(f"/items/{sample.LOOPS}/participant/{ANN}/thread", json=body)
            changed = await receive_action(ann, "forum.status.changed")
            assert (changed["status"], changed["item_id"], changed["participant_id"]) == (
                *body.values(),
                sample.LOOPS,
                ANN,
            )
            await tutor.check_no_message()

    asyncio.run(story())


async def receive_action(socket: Socket, action: str) -> dict[str, Any]:
    """Return the next message with this action; other reports of presence may come before it."""
    while (message := await socket.receive())["action"] != action:
        assert message["action"] == "forum.watchers.changed"
    return message


def test_an_older_status_does_not_replace_the_copy_of_a_newer_one(live: Live) -> None:
    for status, revision in (("closed", 9), ("waiting_for_trainer", 8)):
        live.service.connections.copy_status(PLACE, status, revision)
    (stored,) = items(live, "THREADSTATUS#")
    assert (stored["status"]["S"], stored["revision"]["N"]) == ("closed", "9")
