"""Common parts of the venue pages: operations, emails, language, and error messages."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from keyplan.pages import Pages
from keyplan_systems.venue_booking.api.context import person_of
from keyplan_systems.venue_booking.domain.refusals import NotAllowedError, NotFoundError, RefusalError
from keyplan_systems.venue_booking.domain.requests import Language
from keyplan_systems.venue_booking.domain.users import Actor
from keyplan_systems.venue_booking.domain.venue import Venue
from keyplan_systems.venue_booking.mail.letters import LetterWriter
from keyplan_systems.venue_booking.pages.wording import NAMES, Phrases, language_of
from keyplan_systems.venue_booking.service import Service
from keyplan_systems.web import idempotency
from keyplan_systems.web.browsing import FormFields
from keyplan_systems.web.problems import Problem
from keyplan_systems.web.tokens import Principal

PER_PAGE: Final = 20
"""Number of list elements per page."""
CODE_CHARACTERS: Final = 64
_STATUS_BY_ERROR: Final[Mapping[type[RefusalError], int]] = {NotFoundError: 404, NotAllowedError: 403}
_REFUSED_STATUS: Final = 409


@dataclass(frozen=True)
class VenueSite:
    """The objects that all pages of a venue need, such as the service and the composer of emails. Instances are
    thread-safe.
    """

    pages: Pages
    service: Service
    writer: LetterWriter

    @property
    def venue(self) -> Venue:
        """The configuration of the venue."""
        return self.service.base.venue

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return self.service.base.now()

    def phrases(self, request: Request) -> Phrases:
        """Return the phrases in the language of the requested page."""
        return Phrases(language_of(request), self.venue)

    def render(self, request: Request, template: str, status: int = 200, /, **context: Any) -> Response:
        """Render a template in the language of the requested page. The template can use `t` (the phrases), `venue` and
        the values in `context`.
        """
        if "values" in context:
            context["values"] = defaultdict(str, context["values"])  # missing form fields are shown as empty
        shared_context = {"t": self.phrases(request), "venue": self.venue, "languages": NAMES, "today": self.today()}
        return self.pages.render(request, template, status, **{**shared_context, **context})

    def today(self) -> date:
        """Return the current date in the venue's time zone."""
        return self.venue.today(self.now())

    def problem(self, request: Request, error: Exception) -> Problem | None:
        """Convert a domain error to a `Problem` with a message for users. Return None for other errors."""
        if not isinstance(error, RefusalError):
            return None
        return Problem(
            _STATUS_BY_ERROR.get(type(error), _REFUSED_STATUS), self.phrases(request).refusal(error), code=error.code
        )


def actor_of(principal: Principal) -> Actor:
    """Return the actor that corresponds to a signed-in user."""
    return person_of(principal).actor


def url(request: Request, path: str) -> str:
    """Return the URL path of one of the system's pages. `path` is the path of the page relative to /app."""
    return f"{request.scope.get('root_path', '')}/app/{path}"


def form_key() -> str:
    """Return a new idempotency key for a form. It is used to detect repeated submissions of the form."""
    return secrets.token_urlsafe(16)


def idempotent_request(principal: Principal, form: FormFields, name: str, values: object) -> idempotency.Request | None:
    """Return the idempotency key of a form together with a fingerprint of the form's values, or None if the form does
    not contain a valid key.

    If the form is submitted twice with the same key, the operation is executed only once.
    """
    key = form.get("key", "")
    if not (0 < len(key) <= CODE_CHARACTERS and key.isascii() and key.isprintable()) or " " in key:
        return None
    content = idempotency.fingerprint("form", name, values)
    return idempotency.Request(principal.subject, f"form-{key}", content)


def date_of(text: str | None) -> date | None:
    """Parse a date from a form or URL. Return None if it is invalid."""
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def month_of(text: str | None) -> date | None:
    """Parse a month such as 2026-12 and return its first day, or None if it is invalid."""
    return date_of(f"{text}-01") if text else None


def number_of(text: str) -> int | str:
    """Convert the text of a form field to an int. Text that is not an integer is returned unchanged, so that input
    validation rejects it.
    """
    return int(text) if text.isdecimal() and len(text) < 10 else text


def language_from(text: str) -> Language | str:
    """Convert a language code from a form to a language. Any other text is returned unchanged, so that input validation
    rejects it.
    """
    return Language(text) if text in list(Language) else text
