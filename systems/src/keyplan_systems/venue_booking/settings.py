"""Settings from the environment: the rules of the venue, and the delivery of emails."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from keyplan_systems.venue_booking.domain.requests import Language
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.mail.letters import MailSettings
from keyplan_systems.venue_booking.mail.senders import FolderSender, Security, Sender, SmtpSender, SmtpSettings

PREFIX: Final = "KEYPLAN_VENUE_"
_DEFAULT_PORT: Final = 587
_LAST_PORT: Final = 65_535


@dataclass(frozen=True)
class Settings:
    """The rules of the venue, the sender's addresses, and the delivery of emails."""

    venue: Venue
    mail: MailSettings
    sender: Sender


def settings_from(folder: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the environment. Raises ValueError for an invalid setting.

    Empty variables are treated as unset. KEYPLAN_VENUE_CONFIG is the path of a JSON file with the fields of a venue.
    KEYPLAN_VENUE_SENDER, _ADMINISTRATORS (comma-separated addresses), _DOMAIN, _ADMINISTRATORS_LANGUAGE and _SITE
    define the sender. KEYPLAN_VENUE_SMTP_HOST, _PORT, _SECURITY, _USERNAME and _PASSWORD define the delivery. Without a
    host, emails are written to files in the folder `letters`.
    """
    variables = os.environ if environment is None else environment
    values = {name.removeprefix(PREFIX): text for name, text in variables.items() if name.startswith(PREFIX) and text}
    return Settings(_venue(values), _mail(values), _sender(values, folder))


def _venue(values: Mapping[str, str]) -> Venue:
    path = values.get("CONFIG")
    if path is None:
        return Venue()
    try:
        return Venue.model_validate_json(Path(path).read_bytes())
    except OSError as error:
        raise ValueError(f"{PREFIX}CONFIG: cannot read {path}: {error.strerror}") from error


def _mail(values: Mapping[str, str]) -> MailSettings:
    domain = values.get("DOMAIN", "localhost")
    administrators = values.get("ADMINISTRATORS", f"administrators@{domain}")
    return MailSettings(
        sender=values.get("SENDER", f"venue@{domain}"),
        administrators=tuple(address.strip() for address in administrators.split(",") if address.strip()),
        domain=domain,
        administrators_language=Language(values.get("ADMINISTRATORS_LANGUAGE", Language.ITALIAN)),
        site_url=values.get("SITE"),
    )


def _sender(values: Mapping[str, str], folder: Path) -> Sender:
    host = values.get("SMTP_HOST")
    if host is None:
        return FolderSender(folder / "letters")
    port = values.get("SMTP_PORT", str(_DEFAULT_PORT))
    if not port.isdecimal() or not 0 < int(port) <= _LAST_PORT:
        raise ValueError(f"{PREFIX}SMTP_PORT must be a number from 1 to {_LAST_PORT}, not {port!r}")
    settings = SmtpSettings(
        host,
        int(port),
        Security(values.get("SMTP_SECURITY", Security.STARTTLS)),
        values.get("SMTP_USERNAME"),
        values.get("SMTP_PASSWORD"),
    )
    return SmtpSender(settings)
