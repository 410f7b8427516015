"""Firebase Cloud Messaging over real HTTP against a local stand-in: tokens, payload, and every kind of answer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest
from tests.systems.ask_a_human.fake_fcm import FakeFcm, Scripted, fault, fcm_detail, violation

from keyplan.clock import ManualClock
from keyplan_systems.ask_a_human import notifier
from keyplan_systems.ask_a_human.domain.notifications import DeadToken, Delivered, Outcome, Rejected, TryLater
from keyplan_systems.ask_a_human.notifier import FcmNotifier, PushMessage
from keyplan_systems.ask_a_human.outbox import OutboxNotifier, choose_notifier

MESSAGE = PushMessage(
    token="device",
    question_id="q-1",
    title="Help an agent decide",
    body="Which label is clearer?",
    link="https://ask.example/q/q-1",
    lives_s=1800,
)


@pytest.fixture
def fcm(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeFcm]:
    """Return the stand-in; the notifier waits for it however busy the machine is."""
    monkeypatch.setattr(notifier, "TIMEOUT_S", 240.0)
    with FakeFcm() as fake:
        yield fake


def send(fcm: FakeFcm, folder: Path, *messages: PushMessage) -> list[Outcome]:
    """Send messages sequentially through one notifier."""

    async def run() -> list[Outcome]:
        notifier = FcmNotifier.from_file(fcm.key_file(folder), ManualClock(), base_url=fcm.url)
        try:
            return [await notifier.send(message) for message in messages]
        finally:
            await notifier.close()

    return asyncio.run(run())


def test_a_message_is_delivered_with_a_token_fetched_once_by_a_signed_assertion(fcm: FakeFcm, tmp_path: Path) -> None:
    assert send(fcm, tmp_path, MESSAGE, MESSAGE) == [Delivered("messages/1"), Delivered("messages/2")]
    assert fcm.tokens_given == 1


def test_concurrent_sends_fetch_one_token(fcm: FakeFcm, tmp_path: Path) -> None:
    async def run() -> list[Outcome]:
        notifier = FcmNotifier.from_file(fcm.key_file(tmp_path), ManualClock(), base_url=fcm.url)
        try:
            return await asyncio.gather(*[notifier.send(replace(MESSAGE, token=str(number))) for number in range(12)])
        finally:
            await notifier.close()

    assert all(isinstance(outcome, Delivered) for outcome in asyncio.run(run()))
    assert fcm.tokens_given == 1
    assert {sent_message["message"]["token"] for sent_message in fcm.sent} == {str(number) for number in range(12)}


def test_the_payload_is_a_web_push_that_expires_with_its_question(fcm: FakeFcm, tmp_path: Path) -> None:
    send(fcm, tmp_path, MESSAGE, replace(MESSAGE, lives_s=-5))
    assert fcm.sent[0] == {
        "message": {
            "token": "device",
            "data": {"question_id": "q-1", "url": "https://ask.example/q/q-1"},
            "webpush": {
                "headers": {"TTL": "1800"},
                "notification": {"title": "Help an agent decide", "body": "Which label is clearer?", "tag": "q-1"},
                "fcm_options": {"link": "https://ask.example/q/q-1"},
            },
        }
    }
    assert fcm.sent[1]["message"]["webpush"]["headers"] == {"TTL": "0"}


@pytest.mark.parametrize(
    ("response", "kind", "words"),
    [
        (fault(404, "NOT_FOUND", "Not found.", fcm_detail("UNREGISTERED")), DeadToken, "404 UNREGISTERED"),
        (fault(403, "PERMISSION_DENIED", "No.", fcm_detail("SENDER_ID_MISMATCH")), Rejected, "SENDER_ID_MISMATCH"),
        (
            fault(400, "INVALID_ARGUMENT", "Bad.", fcm_detail("INVALID_ARGUMENT"), violation("message.token")),
            DeadToken,
            "400 INVALID_ARGUMENT",
        ),
        (
            fault(400, "INVALID_ARGUMENT", "No valid registration token", fcm_detail("INVALID_ARGUMENT")),
            DeadToken,
            "registration token",
        ),
        (
            fault(400, "INVALID_ARGUMENT", "Bad.", fcm_detail("INVALID_ARGUMENT"), violation("message.data[0].value")),
            Rejected,
            "400 INVALID_ARGUMENT",
        ),
        (fault(400, "INVALID_ARGUMENT", "Too big."), Rejected, "Too big."),
        (fault(404, "NOT_FOUND", "No such project."), Rejected, "404 NOT_FOUND"),
        (fault(401, "UNAUTHENTICATED", "Key.", fcm_detail("THIRD_PARTY_AUTH_ERROR")), Rejected, "THIRD_PARTY"),
        (fault(503, "UNAVAILABLE", "Busy.", fcm_detail("UNAVAILABLE")), TryLater, "503 UNAVAILABLE"),
        (fault(500, "INTERNAL", "Oops.", fcm_detail("INTERNAL")), TryLater, "500 INTERNAL"),
        (Scripted(502, "<html>Bad gateway</html>"), TryLater, "Bad Gateway"),
        (Scripted(200, {"unexpected": True}), Rejected, "has no message name"),
    ],
)
def test_each_error_is_distinguished(
    response: Scripted, kind: type[Outcome], words: str, fcm: FakeFcm, tmp_path: Path
) -> None:
    fcm.scripted = [response]
    (result,) = send(fcm, tmp_path, MESSAGE)
    assert isinstance(result, kind)
    assert words in result.reason  # type: ignore[union-attr]  # none of these is Delivered
    assert len(fcm.sent) == 1


@pytest.mark.parametrize(
    ("status", "headers", "pause"),
    [
        (429, {}, 60.0),
        (429, {"Retry_After": "17"}, 17.0),
        (503, {}, None),
        (503, {"Retry_After": "120"}, 120.0),
        (503, {"Retry_After": formatdate(1_700_000_090, usegmt=True)}, 90.0),
        (503, {"Retry_After": formatdate(1_600_000_000, usegmt=True)}, 0.0),
        (503, {"Retry_After": "soon"}, None),
        (503, {"Retry_After": "\u00b2"}, None),
        (503, {"Retry_After": "Mon, 1 Jan 99999999999 00:00:00 GMT"}, None),
        (503, {"Retry_After": "9" * 400}, 30 * 86_400.0),
        (503, {"Retry_After": "Fri, 31 Dec 9999 23:59:59 GMT"}, 30 * 86_400.0),
    ],
)
def test_the_retry_time_of_the_service_is_respected(
    status: int, headers: dict[str, str], pause: float | None, fcm: FakeFcm, tmp_path: Path
) -> None:
    code = "QUOTA_EXCEEDED" if status == 429 else "UNAVAILABLE"
    fcm.scripted = [fault(status, code, "Slow down.", fcm_detail(code), **headers)]
    (result,) = send(fcm, tmp_path, MESSAGE)
    assert isinstance(result, TryLater)
    assert result.retry_after_s == pause


def test_an_expired_token_is_renewed_and_the_message_sent(fcm: FakeFcm, tmp_path: Path) -> None:
    fcm.revoked = {"access-1"}
    assert send(fcm, tmp_path, MESSAGE) == [Delivered("messages/1")]
    assert fcm.tokens_given == 2


def test_an_account_that_is_never_accepted_is_rejected_and_not_retried_forever(fcm: FakeFcm, tmp_path: Path) -> None:
    fcm.revoked = {f"access-{number}" for number in range(10)}
    (result,) = send(fcm, tmp_path, MESSAGE)
    assert isinstance(result, Rejected)
    assert fcm.tokens_given == 2


def test_an_account_that_the_token_service_rejects_is_rejected(fcm: FakeFcm, tmp_path: Path) -> None:
    fcm.token_fails = [Scripted(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."})]
    (result,) = send(fcm, tmp_path, MESSAGE)
    assert isinstance(result, Rejected)
    assert "invalid_grant" in result.reason
    assert fcm.sent == []


@pytest.fixture
def nowhere() -> Iterator[str]:
    """Yield a URL that nothing listens on, and that no other process can bind."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_an_unreachable_service_is_retried_later(fcm: FakeFcm, tmp_path: Path, nowhere: str) -> None:
    async def run() -> Outcome:
        path = fcm.key_file(tmp_path)
        notifier = FcmNotifier.from_file(path, ManualClock(), base_url=nowhere)
        try:
            return await notifier.send(MESSAGE)
        finally:
            await notifier.close()

    result = asyncio.run(run())
    assert isinstance(result, TryLater)
    assert "cannot be reached" in result.reason


def test_an_unreachable_token_service_is_retried_later(fcm: FakeFcm, tmp_path: Path, nowhere: str) -> None:
    async def run() -> Outcome:
        path = fcm.key_file(tmp_path, nowhere)
        notifier = FcmNotifier.from_file(path, ManualClock(), base_url=fcm.url)
        try:
            return await notifier.send(MESSAGE)
        finally:
            await notifier.close()

    result = asyncio.run(run())
    assert isinstance(result, TryLater)
    assert "token service cannot be reached" in result.reason


@pytest.mark.parametrize("status", [200, 503])
def test_a_response_with_invalid_compression_is_retried_later(fcm: FakeFcm, tmp_path: Path, status: int) -> None:
    fcm.scripted = [Scripted(status, "no gzip at all", {"Content-Encoding": "gzip"})]
    garbled, sent = send(fcm, tmp_path, MESSAGE, MESSAGE)
    assert isinstance(garbled, TryLater)
    assert "cannot be read" in garbled.reason
    assert isinstance(sent, Delivered)


def test_an_invalid_key_file_is_rejected_at_startup(tmp_path: Path) -> None:
    path = tmp_path / "account.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match="Service account"):
        FcmNotifier.from_file(path, ManualClock())


def test_credentials_select_the_service_and_without_them_the_outbox(fcm: FakeFcm, tmp_path: Path) -> None:
    async def run() -> None:
        service = choose_notifier(fcm.key_file(tmp_path), tmp_path / "outbox.jsonl", ManualClock())
        outbox = choose_notifier(None, tmp_path / "outbox.jsonl", ManualClock())
        assert isinstance(service, FcmNotifier)
        assert isinstance(outbox, OutboxNotifier)
        await service.close()
        await outbox.close()

    asyncio.run(run())
