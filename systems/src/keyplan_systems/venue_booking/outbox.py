"""Sends the emails in the outbox: new emails from the table's stream, and overdue emails that were not sent.

After an email is sent, it is marked as sent and added to the user's history in one transaction. If the process is
killed between the two steps, the email is sent again with the same key. If emails are written to a folder, the
repetition is detected. A mail server does not detect it, so the email arrives twice with the same Message-ID. Each
process sends one email at a time. If several processes run, leases ensure that only one process reads each shard of the
stream, so two processes do not send the same new email. However, two processes can send the same overdue email
concurrently, and the email then arrives twice.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from keyplan import Inserted
from keyplan.client.errors import ConditionFailedError, NotFoundError, TransactionFailedError
from keyplan.streams import Checkpoints, Destination, JsonLinesFolder, Runner, TableCheckpoints
from keyplan_systems.venue_booking import design, reads, writes
from keyplan_systems.venue_booking.base import Base
from keyplan_systems.venue_booking.domain.addresses import HASHES_KEPT, hash_code
from keyplan_systems.venue_booking.domain.codes import new_code
from keyplan_systems.venue_booking.domain.notices import Audience
from keyplan_systems.venue_booking.domain.refusals import RefusalError
from keyplan_systems.venue_booking.entities import EmailCodeItem, NotificationItem, OutboxItem, venue
from keyplan_systems.venue_booking.items import booking_of, notice_of
from keyplan_systems.venue_booking.mail.letters import LetterWriter
from keyplan_systems.venue_booking.mail.senders import (
    MailDeferredError,
    MailRefusedError,
    MailUnavailableError,
    Sender,
    SendResult,
)
from keyplan_systems.web.system import UnfinishedError

logger = logging.getLogger(__name__)

RETENTION: Final = timedelta(days=30)
"""Time for which an email is kept in the outbox after it was sent or failed permanently."""
OVERDUE: Final = timedelta(minutes=10)
"""Age at which an unsent email becomes overdue and is sent by `send_overdue`."""
_MAX_REASON_CHARACTERS: Final = 500
"""Maximum length of a stored failure reason in characters."""


@dataclass(frozen=True)
class OutboxSender:
    """Sends the emails in the outbox, and emails with verification codes. Instances are thread-safe."""

    base: Base
    writer: LetterWriter
    sender: Sender
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def handle(self, change: Inserted[OutboxItem]) -> None:
        """Send an email that was added to the outbox. Raises MailUnavailableError if sending should be
        retried later.
        """
        self.send(change.new.notice_key)

    def send(self, notice_key: str) -> bool:
        """Send an email from the outbox unless it was already sent. Return True if this call sent it.

        `notice_key` is the key of the email. Raises MailUnavailableError if sending should be retried later.
        """
        with self._lock:
            return self._send(notice_key)

    def _send(self, notice_key: str) -> bool:
        item = self.base.connection.run(reads.letter_by_key(notice_key))
        if item is None or item.sent_at is not None:
            return False
        letter = self.writer.write(notice_of(item), booking_of(item.booking))
        try:
            result = self.sender.send(letter)
        except MailRefusedError as error:
            logger.exception("sending an email failed permanently; giving up", extra={"letter": notice_key})
            self._give_up(item, str(error))
            return False
        if result.refused:
            fields = {"letter": notice_key, "refused": result.refused}
            logger.warning("the mail server rejected some recipients of an email", extra=fields)
        self._mark_sent(item, result)
        return True

    def handle_code(self, change: Inserted[EmailCodeItem]) -> None:
        """Send a verification code to the claimed email address.

        Raises MailUnavailableError if sending should be retried later. Each call generates a new code and stores its
        hash before it sends the email, so an email that is sent again contains a different code. Codes expire soon, so
        if the consumer stops retrying, the email is not sent later. The user must request another code.
        """
        user_id, claim_id = change.new.user_id, change.new.claim_id
        with self._lock:
            claim = self.base.connection.run(reads.email_code(user_id, claim_id))
            if claim is None or claim.sent_at is not None:
                return
            code = new_code()
            hashes = [*claim.code_hashes, hash_code(code, claim_id)][-HASHES_KEPT:]
            try:
                self.base.connection.run(writes.store_code(user_id, claim_id, hashes))
                self.sender.send(self.writer.write_code(claim, code))
                self.base.connection.run(writes.note_code_sent(user_id, claim_id, self.base.now()))
            except MailRefusedError:
                logger.exception(
                    "sending a verification code failed permanently; giving up", extra={"letter": claim_id}
                )
            except (NotFoundError, ConditionFailedError):
                logger.warning("a verification code was used, or sent by another process", extra={"letter": claim_id})

    def send_overdue(self) -> int:
        """Send the overdue emails, and return the number of emails sent.

        An email becomes overdue if the mail server was unavailable or the stream consumer stopped retrying. An email
        that cannot be composed or sent now is tried again by the next call. If the mail server is unavailable, no
        further emails are tried. Other errors, such as unreadable items, are collected and raised at the end as an
        UnfinishedError.
        """
        created_before = self.base.now() - OVERDUE
        sent_count, failures = 0, list[Exception]()
        for item in self.base.connection.iterate(reads.unsent_letters(), unreadable=failures.append):
            if item.created_at > created_before:
                break
            try:
                sent_count += self.send(item.notice_key)
            except MailDeferredError:
                logger.warning(
                    "the mail server deferred an email; retrying later",
                    exc_info=True,
                    extra={"letter": item.notice_key},
                )
            except MailUnavailableError:
                logger.warning("the mail server is unavailable; retrying later", exc_info=True)
                break
            except RefusalError:
                logger.exception("cannot compose an email; retrying later", extra={"letter": item.notice_key})
            except Exception as error:  # noqa: BLE001 - no exception may delay other letters
                failures.append(error)
        if failures:
            raise UnfinishedError.from_errors(failures, sent_count)
        return sent_count

    def _mark_sent(self, item: OutboxItem, result: SendResult) -> None:
        """Mark an email as sent. If it was sent to a customer, add it to the customer's history."""
        now = self.base.now()
        expires_at = now + RETENTION
        # A transaction is used even for one write, so that it can be repeated after a lost response.
        try:
            if item.kind.audience is Audience.CUSTOMER:
                self.base.connection.run(
                    design.write_sent(item, now, expires_at, _notification_item(item, result, now))
                )
            else:
                self.base.connection.transact(writes.close_letter(item, now, None, expires_at))
        except TransactionFailedError as error:
            if not isinstance(error.reasons[0], ConditionFailedError):
                raise
            logger.warning("an email was sent twice with the same key", extra={"letter": item.notice_key})

    def _give_up(self, item: OutboxItem, reason: str) -> None:
        now = self.base.now()
        try:
            self.base.connection.transact(
                writes.close_letter(item, now, reason[:_MAX_REASON_CHARACTERS], now + RETENTION)
            )
        except TransactionFailedError as error:
            if not isinstance(error.reasons[0], ConditionFailedError):
                raise
            logger.warning("a rejected email had already been sent", extra={"letter": item.notice_key})


def _notification_item(item: OutboxItem, result: SendResult, now: datetime) -> NotificationItem:
    return NotificationItem(
        user_id=item.booking.user_id,
        notice_key=item.notice_key,
        kind=item.kind,
        booking_id=item.booking.booking_id,
        sent_at=now,
        refused=list(result.refused),
    )


def letter_runner(
    outbox_sender: OutboxSender,
    failures: Path | Destination,
    checkpoints: Checkpoints | None = None,
    *,
    runner: str | None = None,
) -> Runner:
    """Return a `Runner` that reads the table's stream, and sends verification codes and the new emails in the outbox.

    `runner` is the name that identifies the `Runner` among all readers of the stream. An email that fails repeatedly
    stays in the outbox, and its stream record is sent to `failures`, which is a destination or a folder.
    """
    base = outbox_sender.base
    return Runner(
        base.connection,
        venue,
        [design.send_letter, design.send_code],
        handlers={design.send_letter: outbox_sender.handle, design.send_code: outbox_sender.handle_code},
        destinations={"letters": JsonLinesFolder(failures) if isinstance(failures, Path) else failures},
        checkpoints=checkpoints or TableCheckpoints(base.connection, clock=base.clock, create=True),
        runner=runner,
        clock=base.clock,
    )
