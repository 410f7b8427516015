"""Sends emails through an SMTP server or, if no server is configured, writes them to .eml files in a folder.

After a crash, the same email may be sent again. If emails are written to a folder, the repetition is detected by the
key of the email. An SMTP server does not detect it, so an email may arrive twice with the same Message-ID.
"""

from __future__ import annotations

import hashlib
import smtplib
import ssl
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from keyplan_systems.venue_booking.mail.letters import Letter
from keyplan_systems.web.files import delete_temporary_files, write_if_missing

_CLOSING: Final = 421
"""SMTP reply code of a server that closes the connection because it temporarily does not accept emails (RFC 5321,
section 3.8).
"""
_TOO_LARGE: Final = 552
"""SMTP reply code with which a server rejects an email because of its declared size (RFC 1870, section 6.1)."""


class MailError(Exception):
    """Base class of the exceptions that senders raise."""


class MailUnavailableError(MailError):
    """Raised if emails cannot currently be sent, for example because of a lost connection or a full disk."""


class MailDeferredError(MailUnavailableError):
    """Raised if an email cannot currently be sent, for example because the recipient's mailbox is full. Other emails
    may still be accepted.
    """


class MailRefusedError(MailError):
    """Raised if the server permanently rejects the email or all of its recipients."""


@dataclass(frozen=True)
class SendResult:
    """The result of sending an email. `refused` contains the addresses of the recipients that the server rejected."""

    is_first: bool = True
    refused: tuple[str, ...] = ()


class Sender(Protocol):
    """Interface for sending emails."""

    def send(self, letter: Letter) -> SendResult:
        """Send the email, and return after the mail server has accepted it or the email has been written to a file.

        Raises MailUnavailableError if sending should be retried later, and MailRefusedError if the email can never be
        sent.
        """


class Security(StrEnum):
    """The type of encryption for the connection to an SMTP server. Certificates are always verified."""

    NONE = "none"
    STARTTLS = "starttls"
    TLS = "tls"


@dataclass(frozen=True)
class SmtpSettings:
    """The connection settings for an SMTP server. If `ca_file` is set, its certificate authorities replace those of the
    system.
    """

    host: str
    port: int = 587
    security: Security = Security.STARTTLS
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    timeout_s: float = 20

    def __post_init__(self) -> None:
        if (self.username is None) is not (self.password is None):
            raise ValueError("set both username and password, or neither")
        if self.username is not None and self.security is Security.NONE:
            raise ValueError("the password would be sent unencrypted: use starttls or tls")


class SmtpSender:
    """Sends emails through an SMTP server. Each email uses a separate connection, because a server may close idle
    connections.
    """

    def __init__(self, settings: SmtpSettings) -> None:
        self._settings = settings

    def send(self, letter: Letter) -> SendResult:
        """Send the email through the SMTP server."""
        try:
            refused_recipients = self._deliver(letter)
        except smtplib.SMTPRecipientsRefused as error:
            raise _recipients_error(error) from error
        except smtplib.SMTPResponseException as error:
            raise _response_error(error) from error
        except smtplib.SMTPNotSupportedError as error:
            raise MailRefusedError(
                f"the mail server does not support a feature that the email requires: {error}"
            ) from error
        except (smtplib.SMTPException, OSError) as error:
            raise MailUnavailableError(f"no response from {self._settings.host}: {error}") from error
        return SendResult(refused=tuple(sorted(refused_recipients)))

    def _deliver(self, letter: Letter) -> Collection[str]:
        server = self._connect()
        try:
            refused_recipients = server.send_message(letter.message)
            # The server has accepted the email. Even if the connection fails now, the email must not be sent again.
            with suppress(smtplib.SMTPException, OSError):
                server.quit()
            return refused_recipients
        finally:
            server.close()

    def _connect(self) -> smtplib.SMTP:
        settings = self._settings
        if settings.security is Security.TLS:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                settings.host, settings.port, timeout=settings.timeout_s, context=self._context()
            )
        else:
            server = smtplib.SMTP(settings.host, settings.port, timeout=settings.timeout_s)
        try:
            if settings.security is Security.STARTTLS:
                server.starttls(context=self._context())
            if settings.username is not None and settings.password is not None:
                server.login(settings.username, settings.password)
        except smtplib.SMTPNotSupportedError as error:
            server.close()
            # As with a rejected login, emails must wait until the operator fixes the configuration.
            raise MailUnavailableError(f"{settings.host} does not support the configured settings: {error}") from error
        except BaseException:
            server.close()
            raise
        return server

    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._settings.ca_file)


def _recipients_error(error: smtplib.SMTPRecipientsRefused) -> MailError:
    """Return the error for an email whose recipients were all rejected. The error is temporary if at least one
    rejection is temporary, and permanent otherwise.
    """
    codes = {address: code for address, (code, _) in error.recipients.items()}
    recipients = ", ".join(f"{address} ({code})" for address, code in sorted(codes.items()))
    if _CLOSING in codes.values():
        return MailUnavailableError(f"the mail server is closing the connection: {recipients}")
    if any(code < 500 for code in codes.values()):
        return MailDeferredError(f"the mail server temporarily rejected all recipients: {recipients}")
    return MailRefusedError(f"the mail server rejected all recipients: {recipients}")


def _response_error(error: smtplib.SMTPResponseException) -> MailError:
    reply = error.smtp_error
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
    message = f"the mail server responded {error.smtp_code} {text}"
    # A server that rejects the greeting, encryption, login or the venue's own address would reject every email. The
    # operator must fix this. Until then, emails must wait and must not be lost.
    is_about_letter = isinstance(error, smtplib.SMTPDataError) or error.smtp_code == _TOO_LARGE
    if not is_about_letter or error.smtp_code == _CLOSING:
        return MailUnavailableError(message)
    return MailDeferredError(message) if error.smtp_code < 500 else MailRefusedError(message)


class FolderSender:
    """Writes each email to an .eml file in a folder instead of sending it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        delete_temporary_files(folder)

    def send(self, letter: Letter) -> SendResult:
        """Write the email to a file that only the file's owner can read. If the file already exists, it is left
        unchanged.
        """
        path = self._folder / file_name(letter)
        try:
            return SendResult(is_first=write_if_missing(path, letter.message.as_bytes()))
        except OSError as error:
            raise MailUnavailableError(f"cannot write {path}: {error.strerror}") from error


def file_name(letter: Letter) -> str:
    """Return the file name for an email. It is the same for every attempt to send the email. File names start with the
    time at which the email was created.
    """
    digest = hashlib.sha256(letter.key.encode()).hexdigest()[:16]
    return f"{letter.created_at:%Y%m%dT%H%M%SZ}-{letter.kind.value}-{digest}.eml"
