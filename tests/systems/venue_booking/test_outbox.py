"""Letters: written with their step, sent once by the stream's consumer, kept while no server accepts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from email.policy import default
from functools import partial
from pathlib import Path

import pytest
from tests.systems.served_engine import ServedEngine
from tests.systems.venue_booking.consistency import of_kind, text
from tests.systems.venue_booking.mail.smtp_server import Inbox, smtp_server
from tests.systems.venue_booking.samples import VENUE
from tests.systems.venue_booking.stage import Caller, Stage, all_items

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.streams import FileCheckpoints, Runner
from keyplan_systems.venue_booking import outbox
from keyplan_systems.venue_booking.domain.bookings import Booking
from keyplan_systems.venue_booking.domain.notices import Notice
from keyplan_systems.venue_booking.mail.letters import Letter, LetterWriter, MailSettings
from keyplan_systems.venue_booking.mail.senders import (
    FolderSender,
    MailDeferredError,
    MailRefusedError,
    MailUnavailableError,
    Security,
    SendResult,
    SmtpSender,
    SmtpSettings,
)
from keyplan_systems.venue_booking.outbox import OVERDUE, RETENTION, OutboxSender, letter_runner
from keyplan_systems.web.system import UnfinishedError

ROOM = MailSettings("venue@example.org", ("root@example.org",), "example.org")


@dataclass
class Box:
    """Sender that records letters, or fails as configured."""

    letters: list[Letter] = field(default_factory=list)
    fails: list[Exception] = field(default_factory=list)

    def send(self, letter: Letter) -> SendResult:
        """Record the letter, or fail."""
        if self.fails:
            raise self.fails.pop(0)
        self.letters.append(letter)
        return SendResult()


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.fixture
def outbox_sender(stage: Stage, box: Box) -> OutboxSender:
    return OutboxSender(stage.service.base, LetterWriter(VENUE, ROOM), box)


@pytest.fixture
def runner(outbox_sender: OutboxSender, tmp_path: Path) -> Runner:
    return letter_runner(outbox_sender, tmp_path / "failed")


def kinds(box: Box) -> list[str]:
    return sorted(letter.kind.value for letter in box.letters)


def test_each_step_queues_its_letters_and_each_is_sent_once(
    ada: Caller, admin: Caller, box: Box, runner: Runner
) -> None:
    booking = ada.request()
    runner.run_once()
    assert kinds(box) == ["admin_new_request", "received"]
    admin.decide("approve", booking["id"], reason="Welcome")
    ada.decide("cancel", booking["id"])
    runner.run_once()
    runner.run_once()
    assert kinds(box) == ["admin_cancelled", "admin_new_request", "approved", "cancelled", "received"]
    assert len({letter.key for letter in box.letters}) == 5


def test_letters_describe_the_booking_at_their_step(ada: Caller, admin: Caller, box: Box, runner: Runner) -> None:
    booking = ada.request(language="ENGLISH")
    admin.decide("approve", booking["id"], reason="Welcome to the house")
    runner.run_once()
    by_kind = {letter.kind.value: letter.message for letter in box.letters}
    approved = by_kind["approved"].get_body(("plain",))
    assert approved is not None
    assert "Welcome to the house" in approved.get_content()
    received = by_kind["received"].get_body(("html",))
    assert received is not None
    assert "Welcome to the house" not in received.get_content()
    assert str(by_kind["approved"]["To"]) == "Ada Rossi <ada@example.org>"
    assert "15 November 2025" in str(by_kind["approved"]["Subject"])
    assert "15 novembre 2025" in str(by_kind["admin_new_request"]["Subject"])


def test_a_failed_step_queues_no_letter(ada: Caller, admin: Caller, engine: Engine | ServedEngine) -> None:
    first, second = ada.request(), ada.request()
    admin.decide("approve", first["id"])
    with pytest.raises(Exception, match="taken"):
        admin.decide("approve", second["id"])
    assert len(of_kind(all_items(engine), "Outbox")) == 5


def test_a_sent_letter_is_in_its_users_history_and_expires_in_the_outbox(
    ada: Caller, admin: Caller, runner: Runner, engine: Engine | ServedEngine, clock: ManualClock
) -> None:
    booking = ada.request()
    clock.advance(5)
    runner.run_once()
    query = "{ myNotifications { entries { kind bookingId sentAt } } }"
    result = ada.ask(query)["myNotifications"]["entries"]
    assert [entry["kind"] for entry in result] == ["RECEIVED"]
    assert {(entry["bookingId"], entry["sentAt"]) for entry in result} == {(booking["id"], "2025-10-21T10:00:05+00:00")}
    for letter in of_kind(all_items(engine), "Outbox"):
        assert "GSI1PK" not in letter
        assert int(letter["expiresAt"]["N"]) == int(clock.now() + RETENTION.total_seconds())
    clock.advance(60)
    ada.decide("cancel", booking["id"])
    runner.run_once()
    assert [entry["kind"] for entry in ada.ask(query)["myNotifications"]["entries"]] == ["CANCELLED", "RECEIVED"]


def test_another_consumer_from_the_beginning_sends_nothing_again(
    ada: Caller, box: Box, outbox_sender: OutboxSender, runner: Runner, tmp_path: Path
) -> None:
    ada.request()
    runner.run_once()
    again = letter_runner(outbox_sender, tmp_path / "failed", FileCheckpoints(tmp_path / "anew.json"))
    assert again.run_once().delivered == 2
    assert len(box.letters) == 2


@dataclass
class _Overtaken(Box):
    """Sender that is so slow that another process sends the letter concurrently."""

    meanwhile: Callable[[], object] = lambda: None

    def send(self, letter: Letter) -> SendResult:
        self.meanwhile()
        return super().send(letter)


def test_a_letter_sent_by_two_postmen_has_one_key_and_is_in_the_history_once(
    ada: Caller, box: Box, outbox_sender: OutboxSender, engine: Engine | ServedEngine, clock: ManualClock
) -> None:
    key = f"{ada.request()['id']}.1.received"

    def other() -> None:
        assert outbox_sender.send(key)
        clock.advance(1)

    slow = _Overtaken(meanwhile=other)
    OutboxSender(outbox_sender.base, outbox_sender.writer, slow).send(key)
    assert [letter.key for letter in (*box.letters, *slow.letters)] == [key, key]
    assert len(of_kind(all_items(engine), "Notification")) == 1
    assert not outbox_sender.send(key)


def test_a_letter_being_sent_by_the_stream_is_not_sent_by_the_sweeper(
    ada: Caller, outbox_sender: OutboxSender, clock: ManualClock, tmp_path: Path
) -> None:
    ada.request()
    clock.advance(OVERDUE.total_seconds() + 1)
    late: list[Future[int]] = []

    def look_after() -> None:
        if not late:
            late.append(pool.submit(at_once.send_overdue))
            wait(late, timeout=0.5)

    slow = _Overtaken(meanwhile=look_after)
    at_once = OutboxSender(outbox_sender.base, outbox_sender.writer, slow)
    with ThreadPoolExecutor(1) as pool:
        letter_runner(at_once, tmp_path / "failed").run_once()
        late[0].result()
    assert kinds(slow) == ["admin_new_request", "received"]


def test_an_unavailable_mail_server_is_retried(ada: Caller, box: Box, runner: Runner, clock: ManualClock) -> None:
    box.fails = [MailUnavailableError("away")] * 3
    ada.request()
    for _ in range(20):
        runner.run_once()
        clock.advance(60)
    assert kinds(box) == ["admin_new_request", "received"]


def test_a_letter_dropped_by_the_consumer_is_sent_later_by_the_sweeper(
    ada: Caller,
    box: Box,
    outbox_sender: OutboxSender,
    runner: Runner,
    clock: ManualClock,
    tmp_path: Path,
    engine: Engine | ServedEngine,
) -> None:
    box.fails = [MailUnavailableError("away")] * 14
    ada.request()
    for _ in range(40):
        runner.run_once()
        clock.advance(60)
    assert box.letters == []
    assert list((tmp_path / "failed").rglob("*.jsonl"))
    assert outbox_sender.send_overdue() == 2
    assert outbox_sender.send_overdue() == 0
    assert kinds(box) == ["admin_new_request", "received"]
    assert all("sentAt" in letter for letter in of_kind(all_items(engine), "Outbox"))


def test_recent_letters_are_left_to_the_consumer(
    ada: Caller, box: Box, outbox_sender: OutboxSender, clock: ManualClock
) -> None:
    ada.request()
    clock.advance(OVERDUE.total_seconds() - 1)
    assert outbox_sender.send_overdue() == 0
    clock.advance(2)
    box.fails = [MailUnavailableError("away")]
    assert outbox_sender.send_overdue() == 0
    assert outbox_sender.send_overdue() == 2


def test_a_letter_to_be_retried_later_does_not_delay_others(
    ada: Caller, box: Box, outbox_sender: OutboxSender, clock: ManualClock
) -> None:
    ada.request()
    clock.advance(OVERDUE.total_seconds() + 1)
    box.fails = [MailDeferredError("the mailbox is full")]
    assert outbox_sender.send_overdue() == 1
    assert outbox_sender.send_overdue() == 1
    assert kinds(box) == ["admin_new_request", "received"]


def test_letters_about_a_removed_duration_wait_without_delaying_others(
    stage: Stage, ada: Caller, box: Box, outbox_sender: OutboxSender, clock: ManualClock
) -> None:
    ada.request()
    clock.advance(1)
    ada.request(duration="EVENING")
    clock.advance(OVERDUE.total_seconds() + 1)
    without = VENUE.model_copy(update={"durations": {"EVENING": ("EVENING",)}})
    assert OutboxSender(stage.service.base, LetterWriter(without, ROOM), box).send_overdue() == 2
    assert kinds(box) == ["admin_new_request", "received"]
    assert outbox_sender.send_overdue() == 2
    assert kinds(box) == ["admin_new_request", "admin_new_request", "received", "received"]


def test_unreadable_and_unwritable_letters_do_not_delay_others(
    stage: Stage, ada: Caller, box: Box, outbox_sender: OutboxSender, clock: ManualClock, engine: Engine | ServedEngine
) -> None:
    broken, unwritten, good = (ada.request()["id"] for _ in range(3))
    key = {"PK": {"S": f"OUTBOX#{broken}.1.received"}, "SK": {"S": "LETTER"}}
    result = {
        "ExpressionAttributeValues": {":none": {"S": "soon"}},
        "UpdateExpression": "SET booking.attendees = :none",
    }
    engine.call("UpdateItem", {"TableName": "venue-booking", "Key": key, **result})
    clock.advance(OVERDUE.total_seconds() + 1)

    class Choosy(LetterWriter):
        def write(self, notice: Notice, booking: Booking) -> Letter:
            if booking.booking_id == unwritten:
                raise ValueError("no letter can be made of this")
            return super().write(notice, booking)

    choosy = OutboxSender(stage.service.base, Choosy(VENUE, ROOM), box)
    with pytest.raises(UnfinishedError) as caught:
        choosy.send_overdue()
    assert sorted(type(exception).__name__ for exception in caught.value.exceptions) == [
        "UnreadableItemError", "ValueError", "ValueError",
    ]  # fmt: skip
    assert caught.value.completed == 3
    assert kinds(box) == ["admin_new_request", "admin_new_request", "received"]
    with pytest.raises(UnfinishedError):
        outbox_sender.send_overdue()
    assert {letter.key.partition(".")[0] for letter in box.letters} == {broken, unwritten, good}
    assert len(box.letters) == 5


def test_a_permanently_rejected_letter_is_closed_with_the_reason(
    ada: Caller, box: Box, runner: Runner, engine: Engine | ServedEngine
) -> None:
    box.fails = [MailRefusedError("no such address")]
    ada.request()
    runner.run_once()
    runner.run_once()
    closed = [letter for letter in of_kind(all_items(engine), "Outbox") if "failure" in letter]
    assert [text(letter, "failure") for letter in closed] == ["no such address"]
    assert len(box.letters) == 1
    assert len(of_kind(all_items(engine), "Notification")) == kinds(box).count("received")


def test_recipients_that_a_letter_did_not_reach_are_logged(
    stage: Stage, ada: Caller, engine: Engine | ServedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    key = f"{ada.request()['id']}.1.admin_new_request"
    both = replace(ROOM, administrators=("one@example.org", "two@example.org"))
    inbox = Inbox()
    inbox.answers["two@example.org"] = "450 not now"
    with smtp_server(inbox) as port:
        sender = SmtpSender(SmtpSettings("127.0.0.1", port, Security.NONE))
        assert OutboxSender(stage.service.base, LetterWriter(VENUE, both), sender).send(key)
    (result,) = (record for record in caplog.records if record.name == outbox.__name__)
    assert (result.__dict__["letter"], result.__dict__["refused"]) == (key, ("two@example.org",))
    assert [text(item, "PK") for item in of_kind(all_items(engine), "Outbox") if "sentAt" in item] == [f"OUTBOX#{key}"]


def test_faults_of_streams_and_table_send_nothing_twice(tmp_path: Path) -> None:
    from tests.systems.venue_booking.test_races import eager, faulty  # noqa: PLC0415 - brings its own world

    faults = Faults(
        seed=4,
        conflicts=0.1,
        internal_errors=0.1,
        duplicate_stream_records=0.3,
        reorder_stream_records=0.3,
        stale_reads=0.3,
    )
    with faulty(tmp_path, faults) as world:
        stage, engine, clock = world.stage, world.engine, world.clock
        folder = tmp_path / "letters"
        writer = LetterWriter(VENUE, ROOM)
        runner = letter_runner(OutboxSender(stage.service.base, writer, FolderSender(folder)), tmp_path / "failed")
        ada, admin = stage.person("ada"), stage.admin()
        for day in range(10, 20):
            booking = eager(partial(ada.request, date=f"2025-11-{day}"))
            eager(partial(admin.decide, "approve", booking["id"]))
        for _ in range(10):
            runner.run_once()
            clock.advance(30)
        items = all_items(engine)
        assert all("sentAt" in letter for letter in of_kind(items, "Outbox"))
        assert len(of_kind(items, "Outbox")) == 30
        assert Counter(text(item, "kind") for item in of_kind(items, "Notification")) == {
            "received": 10,
            "approved": 10,
        }
        messages = [message_from_bytes(path.read_bytes(), policy=default) for path in folder.glob("*.eml")]
        assert Counter(Counter(str(message["Message-ID"]) for message in messages).values()) == {1: 30}


def test_letters_are_sent_through_a_mail_server_in_both_formats(stage: Stage, ada: Caller, tmp_path: Path) -> None:
    inbox = Inbox()
    with smtp_server(inbox) as port:
        sender = SmtpSender(SmtpSettings("127.0.0.1", port, Security.NONE))
        runner = letter_runner(OutboxSender(stage.service.base, LetterWriter(VENUE, ROOM), sender), tmp_path / "failed")
        ada.request()
        assert runner.run_once().delivered == 2
    assert len(inbox.envelopes) == 2
    for envelope in inbox.envelopes:
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=default)
        assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
