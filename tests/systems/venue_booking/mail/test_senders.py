"""Senders against a real SMTP server and a real folder, with all possible failures."""

from __future__ import annotations

import email
import os
import socket
import stat
import threading
from collections.abc import Iterator
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from tests.systems.venue_booking.mail.smtp_server import HOST, Inbox, certificate, knows_ada, smtp_server
from tests.systems.venue_booking.samples import NOW, VENUE, booking

from keyplan_systems.venue_booking.domain.contacts import Contact
from keyplan_systems.venue_booking.domain.notices import Notice, NoticeKind
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

WRITER = LetterWriter(VENUE, MailSettings("casello@example.org", ("one@example.org", "two@example.org"), "example.org"))


def letter(kind: NoticeKind = NoticeKind.RECEIVED) -> Letter:
    contact = Contact(full_name="Ada Müller", email="ada@example.org", phone="+393331234567")
    return WRITER.write(Notice(kind, "b1", 1, NOW), booking(contact=contact, description="Così fan tutte.\n.\nEnd"))


def plain(port: int) -> SmtpSender:
    return SmtpSender(SmtpSettings(HOST, port, Security.NONE, timeout_s=60))


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def port(inbox: Inbox) -> Iterator[int]:
    with smtp_server(inbox) as port:
        yield port


def test_a_letter_arrives_unchanged(inbox: Inbox, port: int) -> None:
    assert plain(port).send(letter()) == SendResult()
    (envelope,) = inbox.envelopes
    assert (envelope.mail_from, envelope.rcpt_tos) == ("casello@example.org", ["ada@example.org"])
    assert isinstance(envelope.content, bytes)
    arrived = email.message_from_bytes(envelope.content, policy=default)
    assert arrived["To"].addresses[0].display_name == "Ada Müller"
    body = arrived.get_body(("plain",))
    assert body is not None
    assert "Così fan tutte.\n.\nEnd" in body.get_content().replace("\r\n", "\n")


def test_a_letter_to_administrators_arrives_at_each_of_them(inbox: Inbox, port: int) -> None:
    plain(port).send(letter(NoticeKind.ADMIN_NEW_REQUEST))
    assert inbox.envelopes[0].rcpt_tos == ["one@example.org", "two@example.org"]


def test_one_rejected_recipient_of_two_is_reported_and_the_other_served(inbox: Inbox, port: int) -> None:
    inbox.answers["two@example.org"] = "550 no such user"
    assert plain(port).send(letter(NoticeKind.ADMIN_NEW_REQUEST)) == SendResult(refused=("two@example.org",))
    assert inbox.envelopes[0].rcpt_tos == ["one@example.org"]


@pytest.mark.parametrize(("step", "reply", "kind"), [
    ("ada@example.org", "550 no such user", MailRefusedError),
    ("ada@example.org", "451 come back later", MailDeferredError),
    ("ada@example.org", "421 closing", MailUnavailableError),
    ("DATA", "554 this is spam", MailRefusedError),
    ("DATA", "450 not yet", MailDeferredError),
    ("DATA", "421 closing", MailUnavailableError),
])  # fmt: skip
def test_permanent_rejections_are_distinguished_from_temporary_ones(
    inbox: Inbox, port: int, step: str, reply: str, kind: type[Exception]
) -> None:
    inbox.answers[step] = reply
    with pytest.raises(kind, match=reply[:3]) as refused:
        plain(port).send(letter())
    assert refused.type is kind
    assert inbox.envelopes == []


CONVERSATION = {
    "greeting": b"220 mail\r\n",
    "EHLO": b"250-mail\r\n250-SIZE 1000000\r\n250 STARTTLS\r\n",
    "HELO": b"250 mail\r\n",
    "STARTTLS": b"220 go ahead\r\n",
    "MAIL": b"250 ok\r\n",
}
"""Replies of a server that accepts a letter, up to its recipient."""


def answering(listener: socket.socket, replies: dict[str, bytes]) -> None:
    """Answer one client with the script, until it disconnects or the script ends."""
    connection, _ = listener.accept()
    with connection, connection.makefile("rwb", buffering=0) as stream:
        stream.write(replies["greeting"])
        for line in iter(stream.readline, b""):
            reply = replies.get(line.decode().upper().split()[0])
            if reply is None:
                return
            stream.write(reply)


@pytest.mark.parametrize(
    ("step", "reply", "security", "kind"),
    [
        ("greeting", b"554 no mail is taken from there\r\n", Security.NONE, MailUnavailableError),
        ("greeting", b"421 too busy\r\n", Security.NONE, MailUnavailableError),
        ("HELO", b"550 you are not called so\r\n", Security.NONE, MailUnavailableError),
        ("STARTTLS", b"501 not today\r\n", Security.STARTTLS, MailUnavailableError),
        ("STARTTLS", b"454 not now\r\n", Security.STARTTLS, MailUnavailableError),
        ("MAIL", b"530 log in first\r\n", Security.NONE, MailUnavailableError),
        ("MAIL", b"550 this is not your address\r\n", Security.NONE, MailUnavailableError),
        ("MAIL", b"552 too large\r\n", Security.NONE, MailRefusedError),
    ],
)
def test_a_server_error_that_affects_every_letter_keeps_them_waiting(
    step: str, reply: bytes, security: Security, kind: type[Exception]
) -> None:
    replies = {**CONVERSATION, step: reply}
    if step == "HELO":  # the extended greeting is unknown too
        replies["EHLO"] = b"502 not known\r\n"
    with socket.create_server((HOST, 0)) as listener:
        thread = threading.Thread(target=answering, args=(listener, replies))
        thread.start()
        with pytest.raises(kind, match=reply[:3].decode()) as refused:
            SmtpSender(SmtpSettings(HOST, listener.getsockname()[1], security, timeout_s=60)).send(letter())
        thread.join()
    assert refused.type is kind


def test_an_unreachable_server_is_retried_later() -> None:
    with socket.socket() as listener:
        listener.bind((HOST, 0))  # a port that nothing listens on, and that no other process can bind
        with pytest.raises(MailUnavailableError, match="no response"):
            plain(listener.getsockname()[1]).send(letter())


def test_a_server_that_disconnects_or_times_out_is_retried_later() -> None:
    with socket.create_server((HOST, 0)) as silent:
        sender = SmtpSender(SmtpSettings(HOST, silent.getsockname()[1], Security.NONE, timeout_s=0.05))
        with pytest.raises(MailUnavailableError, match="no response"):
            sender.send(letter())


def test_a_server_that_disconnects_after_accepting_the_letter_has_it() -> None:
    received: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb", buffering=0) as stream:
            for greeting in (b"220 mail\r\n", b"250 mail\r\n", b"250 ok\r\n", b"250 ok\r\n", b"354 go\r\n"):
                stream.write(greeting)
                received.append(stream.readline())
            while received[-1] != b".\r\n":
                received.append(stream.readline())
            stream.write(b"250 taken\r\n")

    with socket.create_server((HOST, 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        assert plain(listener.getsockname()[1]).send(letter()) == SendResult()
        thread.join()
    assert received[-1] == b".\r\n"


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
def test_letters_are_sent_encrypted_with_a_password(inbox: Inbox, tmp_path: Path, security: Security) -> None:
    context, authority = certificate(tmp_path)
    with running(inbox, security, context) as port:
        settings = SmtpSettings(HOST, port, security, "ada", "lovelace", authority, timeout_s=60)
        SmtpSender(settings).send(letter())
    assert len(inbox.envelopes) == 1
    assert inbox.encrypted == [True]


@pytest.mark.parametrize("security", [Security.STARTTLS, Security.TLS])
def test_an_untrusted_certificate_is_rejected(inbox: Inbox, tmp_path: Path, security: Security) -> None:
    context, _ = certificate(tmp_path)
    with running(inbox, security, context) as port:
        sender = SmtpSender(SmtpSettings(HOST, port, security, "ada", "lovelace", timeout_s=60))
        with pytest.raises(MailUnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
            sender.send(letter())
    assert inbox.envelopes == []


def test_a_wrong_password_keeps_letters_waiting(inbox: Inbox, tmp_path: Path) -> None:
    context, authority = certificate(tmp_path)
    with running(inbox, Security.STARTTLS, context) as port:
        sender = SmtpSender(SmtpSettings(HOST, port, Security.STARTTLS, "ada", "wrong", authority, timeout_s=60))
        with pytest.raises(MailUnavailableError, match="535"):
            sender.send(letter())


def test_a_server_without_the_configured_encryption_gets_nothing(inbox: Inbox, port: int) -> None:
    with pytest.raises(MailUnavailableError, match="does not support the configured settings"):
        SmtpSender(SmtpSettings(HOST, port, Security.STARTTLS, timeout_s=60)).send(letter())
    assert inbox.envelopes == []


def running(inbox: Inbox, security: Security, context: Any) -> Any:
    options: dict[str, Any] = {"authenticator": knows_ada}
    if security is Security.TLS:
        return smtp_server(inbox, over_tls=context, auth_require_tls=False, **options)
    return smtp_server(inbox, tls_context=context, require_starttls=True, **options)


def test_passwords_are_neither_shown_nor_sent_unprotected() -> None:
    assert "lovelace" not in repr(SmtpSettings(HOST, username="ada", password="lovelace"))
    with pytest.raises(ValueError, match="unencrypted"):
        SmtpSettings(HOST, 25, Security.NONE, "ada", "lovelace")
    with pytest.raises(ValueError, match="or neither"):
        SmtpSettings(HOST, username="ada")


def test_a_folder_gets_one_private_file_per_letter(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "box"
    assert FolderSender(folder).send(letter()) == SendResult()
    (file,) = folder.iterdir()
    assert file.name.startswith("20251021T100000Z-received-")
    assert file.suffix == ".eml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    read = email.message_from_bytes(file.read_bytes(), policy=default)
    assert read["Message-ID"] == "<b1.1.received@example.org>"


def test_a_second_delivery_changes_nothing(tmp_path: Path) -> None:
    sender = FolderSender(tmp_path)
    sender.send(letter())
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"read and marked")
    assert sender.send(letter()) == SendResult(is_first=False)
    assert file.read_bytes() == b"read and marked"
    assert list(tmp_path.iterdir()) == [file]


def test_files_left_by_a_killed_sender_are_removed_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_path: Path, _draft: Path) -> None:
        raise KeyboardInterrupt

    sender = FolderSender(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "hardlink_to", killed)
        patch.setattr(Path, "unlink", lambda _path, missing_ok: None)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                sender.send(letter())
    first, second = tmp_path.iterdir()
    preserved = [tmp_path / name for name in (".notes.txt", "mine.eml")]
    for path in (first, *preserved):
        path.write_text("of the day before")
        os.utime(path, (1_000_000_000, 1_000_000_000))
    FolderSender(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(
        [second, *preserved]
    )  # the second file may belong to another process that is still writing
    assert sender.send(letter()) == SendResult()


def test_exactly_one_of_several_concurrent_deliveries_is_first(tmp_path: Path) -> None:
    together = threading.Barrier(8)
    deliveries: list[bool] = []

    def deliver() -> None:
        message = letter()
        together.wait()
        deliveries.append(FolderSender(tmp_path).send(message).is_first)

    threads = [threading.Thread(target=deliver) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(deliveries) == [False] * 7 + [True]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_cannot_be_created_is_retried(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MailUnavailableError, match="cannot write"):
        FolderSender(tmp_path / "file" / "box").send(letter())
