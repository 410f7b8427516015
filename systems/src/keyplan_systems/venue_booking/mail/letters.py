"""Composes emails with text and HTML parts, in Italian, English or German.

The sentences are in `texts/<language>.toml`, and the layout is in `templates/`. Text that customers enter is never
parsed as a template, and it is escaped in the HTML part.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import quote
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Final

from babel.dates import format_date, format_time
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from keyplan_systems.venue_booking.domain.addresses import CODE_VALID
from keyplan_systems.venue_booking.domain.bookings import Booking
from keyplan_systems.venue_booking.domain.codes import readable_code
from keyplan_systems.venue_booking.domain.notices import Audience, Notice, NoticeKind
from keyplan_systems.venue_booking.domain.requests import Language
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.entities import EmailCodeItem

PACKAGE: Final = "keyplan_systems.venue_booking.mail"
# Babel's English without a region writes months before days, unlike Italian usage.
LOCALES: Final = {Language.ITALIAN: "it_IT", Language.ENGLISH: "en_GB", Language.GERMAN: "de_DE"}
_NEEDS_QUOTES: Final = re.compile(r'[][()<>@,;:\\".]')
_LONGEST_QUOTED: Final = 70
"""Maximum length of a quoted display name in characters. A longer name would not fit on one header line."""


@dataclass(frozen=True)
class MailSettings:
    """The settings for emails: the addresses of the venue and its administrators, and the administrators' language.

    `domain` is part of message IDs. If `site_url` is set, it is added at the end of each email.
    """

    sender: str
    administrators: tuple[str, ...]
    domain: str
    administrators_language: Language = Language.ITALIAN
    site_url: str | None = None

    def __post_init__(self) -> None:
        if not self.administrators:
            raise ValueError("the address of at least one administrator is required")
        for address in (self.sender, *self.administrators):
            if not _is_address(address):
                raise ValueError(f"{address!r} is not an email address")


class CodeKind(StrEnum):
    """The types of emails that contain a verification code and are not about a booking."""

    VERIFY_EMAIL = "verify_email"


@dataclass(frozen=True)
class Letter:
    """An email that is ready to send. `key` identifies the email, so that a repeated delivery can be detected."""

    key: str
    kind: NoticeKind | CodeKind
    created_at: datetime
    message: EmailMessage


class LetterWriter:
    """Composes a venue's emails. Instances are thread-safe."""

    def __init__(self, venue: Venue, settings: MailSettings) -> None:
        self._venue = venue
        self._settings = settings
        self._templates = Environment(
            loader=PackageLoader(PACKAGE, "templates"),
            autoescape=select_autoescape(enabled_extensions=("html.j2",), default=False),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def write(self, notice: Notice, booking: Booking) -> Letter:
        """Compose the email for a notice. `booking` must have the version for which the notice was created."""
        is_for_customer = notice.kind.audience is Audience.CUSTOMER
        language = booking.language if is_for_customer else self._settings.administrators_language
        content = self._content(notice.kind, booking, language)
        message = self._envelope(notice, booking)
        self._fill(message, notice.key, content)
        return Letter(notice.key, notice.kind, notice.created_at, message)

    def _fill(self, message: EmailMessage, key: str, content: Mapping[str, Any]) -> None:
        message["Subject"] = content["subject"]
        message.set_content(self._templates.get_template("letter.txt.j2").render(content))
        message.add_alternative(self._templates.get_template("letter.html.j2").render(content), subtype="html")
        # This is done last, because the conversion to a multipart message moves the content headers to the first part.
        message["Content-Language"] = content["language"]
        _fix_boundary(message, key)

    def write_code(self, claim: EmailCodeItem, code: str) -> Letter:
        """Compose the email with a verification code. The recipient is the email address that a user claims."""
        texts = load_texts(claim.language)
        phrases: Mapping[str, Any] = texts["verification"]
        values = {"venue": self._venue.name, "name": claim.name, "minutes": str(int(CODE_VALID.total_seconds() // 60))}
        content = {
            "language": claim.language.value,
            "subject": phrases["subject"].format_map(values),
            "greeting": texts["greeting"].format_map(values),
            "paragraphs": [paragraph.format_map(values) for paragraph in phrases["paragraphs"]],
            "facts": [(phrases["label"], readable_code(code))],
            "reason_label": texts["labels"]["reason"],
            "reason": None,
            "closing": texts["closing"].format_map(values),
            "site_url": self._settings.site_url,
        }
        message = self._message(claim.claim_id, claim.created_at)
        message["To"] = _mailbox(claim.name, claim.email)
        self._fill(message, claim.claim_id, content)
        return Letter(claim.claim_id, CodeKind.VERIFY_EMAIL, claim.created_at, message)

    def _envelope(self, notice: Notice, booking: Booking) -> EmailMessage:
        message = self._message(notice.key, notice.created_at)
        customer = _mailbox(booking.contact.full_name, booking.contact.email)
        if notice.kind.audience is Audience.CUSTOMER:
            message["To"] = customer
        else:
            message["To"] = [Address(addr_spec=address) for address in self._settings.administrators]
            message["Reply-To"] = customer
        return message

    def _message(self, key: str, created_at: datetime) -> EmailMessage:
        """Return an email with the headers that all emails from the venue have. The recipients and the body are not
        set.
        """
        message = EmailMessage(policy=SMTP)
        message["From"] = _mailbox(self._venue.name, self._settings.sender)
        message["Date"] = created_at.astimezone(UTC)
        message["Message-ID"] = f"<{key}@{self._settings.domain}>"
        # Prevents automatic replies (RFC 3834).
        message["Auto-Submitted"] = "auto-generated"
        return message

    def _content(self, kind: NoticeKind, booking: Booking, language: Language) -> dict[str, Any]:
        texts = load_texts(language)
        phrases: Mapping[str, Any] = texts["letters"][kind.value]
        values = self._values(booking, language, texts)
        return {
            "language": language.value,
            "subject": phrases["subject"].format_map(values),
            "greeting": phrases.get("greeting", texts["greeting"]).format_map(values),
            "paragraphs": [paragraph.format_map(values) for paragraph in phrases["paragraphs"]],
            "facts": _facts(kind, booking, values, texts["labels"]),
            "reason_label": texts["labels"]["reason"],
            "reason": booking.reason,
            "closing": texts["closing"].format_map(values),
            "site_url": self._settings.site_url,
        }

    def _values(self, booking: Booking, language: Language, texts: Mapping[str, Any]) -> dict[str, str]:
        locale = LOCALES[language]
        slots = booking.slots or self._venue.slots_of(booking.duration)
        start, end = self._venue.span(booking.date, slots)
        end_text = "24:00" if end.date() > booking.date else format_time(end.timetz(), "HH:mm", locale=locale)
        return {
            "venue": self._venue.name,
            "name": booking.contact.full_name,
            "date": format_date(booking.date, "full", locale=locale),
            "starts": format_time(start.timetz(), "HH:mm", locale=locale),
            "ends": end_text,
            "duration": texts["durations"].get(booking.duration, booking.duration),
            "code": readable_code(booking.code),
        }


def _is_address(text: str) -> bool:
    """Return True if emails can be sent to the address.

    Check addresses before they are passed to the email library, because it raises many different exceptions for invalid
    addresses.
    """
    try:
        return bool(Address(addr_spec=text).domain) and text.isascii()
    except (MessageError, ValueError, LookupError):
        return False


def _mailbox(name: str, address: str) -> Address:
    """Return an address with a display name, encoded so that it is never parsed as a different address.

    Python releases up to 2025 drop the quotes of a quoted name that is longer than a line. They also decode text that
    looks like an encoded word (python/cpython, issues 80222 and 121284). Therefore a long name is written without the
    characters that require quotes, and text that looks like an encoded word is split.
    """
    display_name = name.replace("=?", "= ?")
    if display_name.isascii() and len(quote(display_name)) > _LONGEST_QUOTED:
        display_name = _NEEDS_QUOTES.sub(" ", display_name)
    return Address(" ".join(display_name.split()), addr_spec=address)


def _facts(
    kind: NoticeKind, booking: Booking, values: Mapping[str, str], labels: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the details of a booking that an email lists, as pairs of a label and a value.

    Emails to administrators contain all details. Emails to customers contain only the details that customers enter.
    """
    facts = {
        "code": values["code"],
        "date": values["date"],
        "time": f"{values['starts']}-{values['ends']} ({values['duration']})",
        "attendees": str(booking.attendees),
        "description": booking.description,
        "association": booking.association or "",
    }
    if kind.audience is Audience.ADMINISTRATORS:
        contact = booking.contact
        facts |= {"name": contact.full_name, "email": contact.email, "phone": contact.phone}
        facts["booking_id"] = booking.booking_id
    return [(labels[name], value) for name, value in facts.items() if value]


@cache
def load_texts(language: Language) -> Mapping[str, Any]:
    """Return the texts of emails in the given language."""
    source = files(PACKAGE).joinpath("texts", f"{language.value}.toml")
    return tomllib.loads(source.read_text("utf-8"))


def _fix_boundary(message: EmailMessage, key: str) -> None:
    """Set a multipart boundary that is derived from the key, so that the email has the same bytes in every attempt to
    send it.
    """
    message.set_boundary(f"letter-{hashlib.sha256(key.encode()).hexdigest()[:32]}")
