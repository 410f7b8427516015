"""REST API over real HTTP: threads with tokens, messages, history, reports of the platform, notifications."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from tests.systems.forum.live import ANN, BEN, PATIENCE_S, TEACHER, TUTOR, Live, Writer

from keyplan.client.errors import ThrottledError, UnavailableError, WriteConflictError
from keyplan_systems.forum import sample
from keyplan_systems.forum.relational import threads
from keyplan_systems.forum.sample import CLASS, LISTS, LOOPS, TUTORS

THREAD = f"/items/{LOOPS}/participant/{ANN}/thread"
MESSAGES = f"/thread/{LOOPS}/{ANN}/messages"


def body(text: str = "hello") -> dict[str, str]:
    return {"text": text, "uuid": str(uuid.uuid4())}


# Threads.


def test_a_thread_that_was_never_started_has_that_status_and_can_be_opened(live: Live) -> None:
    ann, path = live.person(ANN), f"/items/{LISTS}/participant/{ANN}/thread"
    assert ann.get(path).json()["status"] == "not_started"
    opened = ann.put(path, json={"status": "waiting_for_trainer", "helper_group_id": TUTORS})
    assert opened.status_code == 200
    assert opened.json()["helper_group_id"] == TUTORS
    assert ann.get(path).json()["status"] == "waiting_for_trainer"
    assert ann.put(path, json={"status": "not_started"}).status_code == 400


def test_opening_requires_a_helper_group_and_closing_rejects_one(live: Live) -> None:
    ann, path = live.person(ANN), f"/items/{LISTS}/participant/{ANN}/thread"
    assert ann.put(path, json={"status": "waiting_for_trainer"}).status_code == 400
    assert ann.put(THREAD, json={"status": "closed", "helper_group_id": TUTORS}).status_code == 400
    assert ann.put(THREAD, json={}).status_code == 400
    assert ann.put(THREAD, json={"message_count": 1, "message_count_increment": 1}).status_code == 400
    assert ann.put(THREAD, json={"message_count_increment": -9}).json()["message_count"] == 0


def test_unauthorized_users_are_rejected(live: Live) -> None:
    assert live.person(BEN).get(THREAD).status_code == 403
    assert live.person(BEN).put(THREAD, json={"status": "closed"}).status_code == 403
    result = {"item_id": LOOPS, "participant_id": ANN, "status": "waiting_for_trainer"}
    assert live.person(BEN).put(THREAD, json={"status": "waiting_for_trainer"}).json() == result, "he may not read more"
    assert live.person(TUTOR).put(THREAD, json={"status": "closed"}).status_code == 403
    assert live.person(TUTOR).put(THREAD, json={"status": "waiting_for_participant"}).status_code == 200
    assert live.person("ann").get(THREAD).status_code == 403
    assert live.client("forged").get(THREAD).status_code == 401
    assert live.person(ANN).get("/items/x/participant/1/thread").status_code == 400


def test_lists_accept_exactly_one_filter_and_continue_at_their_cursor(live: Live) -> None:
    ann, teacher = live.person(ANN), live.person(TEACHER)
    ann.put(
        f"/items/{LISTS}/participant/{ANN}/thread", json={"status": "waiting_for_trainer", "helper_group_id": TUTORS}
    )
    assert ann.get("/threads").status_code == 400
    assert ann.get("/threads", params={"is_mine": True, "watched_group_id": CLASS}).status_code == 400
    first = teacher.get("/threads", params={"watched_group_id": CLASS, "limit": 1}).json()
    rest = teacher.get("/threads", params={"watched_group_id": CLASS, "next": first["next"]}).json()
    assert [thread["item_title"] for thread in first["threads"] + rest["threads"]] == ["Lists", "Loops"]
    assert rest["next"] is None
    assert ann.get("/threads", params={"is_mine": True, "next": "x"}).status_code == 400
    assert ann.get("/threads", params={"watched_group_id": CLASS}).status_code == 403


def test_authorized_users_grant_the_permission_to_ask_a_group_for_help(live: Live) -> None:
    path, grant = f"/items/{LISTS}/help-grants", {"group_id": BEN, "helper_group_id": CLASS}
    own = f"/items/{LISTS}/participant/{BEN}/thread"
    opening = {"status": "waiting_for_trainer", "helper_group_id": CLASS}
    assert live.person(ANN).post(path, json=grant).status_code == 403
    assert live.person(BEN).put(own, json=opening).status_code == 403
    assert live.person(TEACHER).post(path, json=grant).status_code == 204
    assert live.person(TEACHER).post(path, json=grant).status_code == 204
    assert live.person(BEN).put(own, json=opening).status_code == 200


# Messages.


def test_messages_are_listed_newest_first_ten_by_default_twenty_at_most(live: Live) -> None:
    writer = live.writer()
    for number in range(12):
        writer.write(f"number {number}")
    first = writer.get("messages")
    assert [message["text"] for message in first["messages"]] == [f"number {number}" for number in range(11, 1, -1)]
    rest = writer.get("messages", next=first["next"], limit=20)
    assert [message["text"] for message in rest["messages"]][:2] == ["number 1", "number 0"]
    assert len(rest["messages"]) == 4
    assert rest["next"] is None
    assert writer.client.get(MESSAGES, params={"limit": 21}).status_code == 400
    assert writer.client.get(MESSAGES, params={"next": "x"}).status_code == 400


def test_a_message_requires_the_token_of_its_thread(live: Live) -> None:
    other = live.token(ANN, LISTS)
    assert live.client(other).post(MESSAGES, json=body()).status_code == 403
    assert live.client(other).get(MESSAGES).status_code == 403
    assert live.client("forged").get(MESSAGES).status_code == 401
    assert live.person(ANN).get(MESSAGES).status_code == 401
    assert httpx.get(f"{live.url}{MESSAGES}", timeout=PATIENCE_S, trust_env=False).status_code == 401


def test_a_token_without_the_write_permission_only_reads(live: Live) -> None:
    live.person(ANN).put(THREAD, json={"status": "closed"})
    reader = live.client(live.token(ANN))
    assert reader.post(MESSAGES, json=body()).status_code == 403
    assert len(reader.get(MESSAGES).json()["messages"]) == 2


def test_a_thread_token_is_valid_for_two_hours(live: Live) -> None:
    client = live.client(live.token(ANN))
    live.clock.advance(7_000)
    assert client.get(MESSAGES).status_code == 200
    live.clock.advance(200)
    assert client.get(MESSAGES).status_code == 401


def test_a_message_sent_again_is_stored_once_with_the_same_response(live: Live) -> None:
    writer, message_id = live.writer(), str(uuid.uuid4())
    with ThreadPoolExecutor(6) as pool:
        responses = list(pool.map(lambda _: writer.post("once", message_id), range(6)))
    assert [response.status_code for response in responses] == [201] * 6
    assert len({response.content for response in responses}) == 1
    texts = [message["text"] for message in writer.get("messages")["messages"]]
    assert texts.count("once") == 1
    assert writer.post("other", message_id).status_code == 409
    assert live.writer(TUTOR).post("once", message_id).status_code == 409


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": "", "uuid": str(uuid.uuid4())},
        {"text": "x" * 8_001, "uuid": str(uuid.uuid4())},
        {"text": "x", "uuid": "x"},
        {"text": "x"},
        {"text": "x", "uuid": str(uuid.uuid4()), "author": "1"},
    ],
)
@pytest.mark.embedded("refused before any table is met")
def test_an_invalid_message_is_rejected(live: Live, wrong: dict[str, str]) -> None:
    assert live.writer().client.post(MESSAGES, json=wrong).status_code == 400


def test_the_longest_message_is_stored_and_a_lone_surrogate_is_rejected(live: Live) -> None:
    writer = live.writer()
    assert writer.write("\U0001f600" * 8_000)["text"] == "\U0001f600" * 8_000
    raw = b'{"text": "\\ud83d", "uuid": "%s"}' % str(uuid.uuid4()).encode()
    headers = {"Content-Type": "application/json"}
    assert writer.client.post(MESSAGES, content=raw, headers=headers).status_code == 400


# Reports of the platform.


def submission(**fields: Any) -> dict[str, Any]:
    return {"type": "submission", "time": 1_500_000_000_000, "attempt_id": "5", "answer_id": "6", **fields}


def test_repeated_history_is_back_filled_once(live: Live) -> None:
    platform, path = live.person("9", "platform"), f"/thread/{LOOPS}/{ANN}/events"
    events = [{"type": "attempt_started", "time": 1_500_000_000_000, "attempt_id": "5"}, submission(score=0)]
    assert platform.post(path, json={"events": events}).json()["new"] == 2
    later = [{**event, "time": event["time"] + 1} for event in events]
    for again in (events, later):
        assert platform.post(path, json={"events": again}).json()["new"] == 0, "whatever time it comes with"
    result = live.writer().get("events", limit=100)["events"]
    assert [event["type"] for event in result[-2:]] == ["submission", "attempt_started"]
    assert (result[-2]["score"], "validated" in result[-2]) == (0, False)
    assert [event["time"] for event in result] == sorted((event["time"] for event in result), reverse=True)


def test_only_the_platform_sends_events_and_only_valid_ones(live: Live) -> None:
    platform, path = live.person("9", "platform"), f"/thread/{LOOPS}/{ANN}/events"
    assert live.person(ANN).post(path, json={"events": [submission()]}).status_code == 403
    for wrong in (
        submission(answer_id=None),
        submission(score=101),
        submission(attempt_id="1#2"),
        submission(attempt_id="1" * 20),
        submission(score_improved=True),
        submission(type="message"),
        submission(type="attempt_started"),
        submission(time=10**13 - 1),
        submission(time="1500000000000"),
        submission(score="50"),
        submission(validated="yes"),
        submission(score=True),
    ):
        assert platform.post(path, json={"events": [submission(), wrong]}).status_code == 400, wrong
    assert platform.post(path, json={"events": []}).status_code == 400
    assert platform.post(path, json={"events": [submission()]}).json()["new"] == 1, "of refused lists none is stored"
    assert platform.post(path, json={"events": [submission(attempt_id="9" * 19)]}).json()["new"] == 1


@pytest.mark.embedded("refused before any table is met")
def test_values_of_the_wrong_type_are_rejected_and_not_converted(live: Live) -> None:
    ann, writer = live.person(ANN), live.writer()
    for wish in ({"message_count": "5"}, {"message_count": True}, {"message_count_increment": 1.0}):
        assert ann.put(THREAD, json=wish).status_code == 400, wish
    for read in ("yes", 1, None):
        assert ann.put("/notifications/0000000000000-x", json={"is_read": read}).status_code == 400, read
    for since in ("-1", "x", "9" * 39, str(10**10)):
        response = writer.client.get(MESSAGES.replace("messages", "arrivals"), params={"since": since})
        assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid"), since


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (WriteConflictError("others keep writing"), "The database is busy."),
        (ThrottledError("too much"), "The database is busy."),
        (UnavailableError("no answer"), "The database is not responding."),
        (OperationalError("SELECT 1", None, Exception("database is locked")), "The database is not responding."),
        (NoConnectionError("QueuePool limit of size 5 overflow 10 reached"), "The database is not responding."),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.embedded("no request is sent")
def test_an_unavailable_database_is_reported(
    error: Exception, message: str, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    ann = live.person(ANN)
    monkeypatch.setattr(threads, "get_thread", fail)
    response = ann.get(THREAD)
    assert (response.status_code, response.json()["error"]["message"]) == (503, message)
    assert response.headers["Retry-After"]


# Follows and notifications.


def notified(live: Live, user_id: str) -> list[dict[str, Any]]:
    live.service.transfer_log()
    with live.notifier() as runner:
        runner.run_once()
    notifications: list[dict[str, Any]] = live.person(user_id).get("/notifications").json()["notifications"]
    return notifications


def test_opening_makes_participant_and_opener_followers_and_the_author_is_not_notified(live: Live) -> None:
    writer: Writer = live.writer()
    assert writer.get("follow") == {"follows": True}
    tutor = live.writer(TUTOR)
    assert tutor.client.put(f"{tutor.path}/follow").status_code == 204
    message = tutor.write("news for ann")
    (newest, *_) = notified(live, ANN)
    assert (newest["author_id"], newest["excerpt"], newest["time"]) == (TUTOR, "news for ann", message["time"])
    writer.write("news for tom")
    excerpts = [notification["excerpt"] for notification in notified(live, TUTOR)]
    assert "news for tom" in excerpts
    assert "news for ann" not in excerpts


def test_following_can_be_repeated(live: Live) -> None:
    tutor = live.client(live.token(TUTOR))
    path = f"/thread/{LOOPS}/{ANN}/follow"
    for _ in range(2):
        assert tutor.put(path).status_code == 204
    assert tutor.get(path).json() == {"follows": True}
    live.writer().write("for tom")
    assert [notification["excerpt"] for notification in notified(live, TUTOR)][:1] == ["for tom"]
    for _ in range(2):
        assert tutor.delete(path).status_code == 204
    assert tutor.get(path).json() == {"follows": False}


def test_notifications_are_read_unread_and_deleted(live: Live) -> None:
    for number in range(25):
        live.writer(TUTOR).write(f"n{number}")
    notifications = notified(live, ANN)
    assert [notification["excerpt"] for notification in notifications] == [f"n{number}" for number in range(24, 4, -1)]
    ann, path = live.person(ANN), f"/notifications/{notifications[0]['id']}"
    assert ann.put(path, json={"is_read": True}).json()["is_read"] is True
    assert notified(live, ANN)[0]["is_read"] is True
    assert ann.put(path, json={"is_read": False}).json()["is_read"] is False
    assert live.person(BEN).put(path, json={"is_read": True}).status_code == 404
    assert ann.put("/notifications/x", json={"is_read": True}).status_code == 400
    assert ann.delete(path).status_code == ann.delete(path).status_code == 204
    assert ann.get("/notifications").json()["notifications"][0]["excerpt"] == "n23"
    assert ann.delete("/notifications").json()["deleted"] >= 24
    assert ann.get("/notifications").json() == {"notifications": [], "next": None}


def test_the_documentation_shows_examples(live: Live) -> None:
    schema = httpx.get(f"{live.url}/openapi.json", timeout=PATIENCE_S, trust_env=False).json()
    assert schema["components"]["schemas"]["NewMessage"]["examples"][0]["text"]
    assert "/thread/{item_id}/{participant_id}/messages" in schema["paths"]
    health = httpx.get(f"{live.url}/health", timeout=PATIENCE_S, trust_env=False).json()
    assert health["checks"] == {"pushes": "ok"}
    assert sample.THREAD.item_id == LOOPS


def test_lists_omit_an_unreadable_event_and_report_it(live: Live) -> None:
    writer = live.writer()
    messages = [writer.write(text) for text in ("one", "two", "three")]
    items = live.call("Scan", {"TableName": "forum", "ConsistentRead": True})["Items"]
    (broken,) = (item for item in items if item.get("content") == {"S": "two"})
    live.call("PutItem", {"TableName": "forum", "Item": {**broken, "type": {"S": "nonsense"}}})
    sound = {messages[0]["seq"], messages[2]["seq"]}
    for path in ("events", f"arrivals?since={messages[0]['seq'] - 1}"):
        response = writer.client.get(f"{writer.path}/{path}")
        assert (response.status_code, response.json()["unreadable"]) == (200, 1), path
        assert response.headers["X-Unreadable-Items"] == "1"
        seqs = {event["seq"] for event in response.json()["events"]}
        assert seqs >= sound
        assert messages[1]["seq"] not in seqs
