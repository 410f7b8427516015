"""Validation of input: booking requests, administrators' events, and profile changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from keyplan_systems.venue_booking.domain.contacts import (
    Contact,
    EmailAddress,
    PersonName,
    normalise_phone,
    several_lines,
    single_line,
)
from keyplan_systems.venue_booking.domain.refusals import InvalidRequestError
from keyplan_systems.venue_booking.domain.venue import Venue

Description = Annotated[str, AfterValidator(several_lines), StringConstraints(min_length=1, max_length=2000)]
Title = Annotated[str, AfterValidator(single_line), StringConstraints(min_length=1, max_length=120)]
Reason = Annotated[str, AfterValidator(several_lines), StringConstraints(max_length=1000)]


def _is_true(value: object) -> object:
    """Return `value` if it is the Boolean True. Raise ValueError for any other value, even if it compares equal to
    True, such as 1.
    """
    if value is not True:
        raise ValueError("consent must be given")
    return value


class Language(StrEnum):
    """The supported languages of emails and pages."""

    ITALIAN = "it"
    ENGLISH = "en"
    GERMAN = "de"


class _Input(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BookingRequest(_Input):
    """A booking request: date, duration, description, number of people, and contact person.

    `consent` is the user's consent to data processing. A request without it is rejected, and nothing is stored.
    """

    date: date
    duration: str
    description: Description
    attendees: Annotated[int, Field(ge=1, strict=True)]
    contact: Contact
    consent: Annotated[Literal[True], BeforeValidator(_is_true)]
    association: Annotated[str, AfterValidator(single_line), StringConstraints(max_length=120)] | None = None
    language: Language = Language.ITALIAN


class EventKind(StrEnum):
    """The types of events that reserve slots."""

    PRIVATE_BOOKING = "private_booking"
    PUBLIC_EVENT = "public_event"
    CLOSURE = "closure"


LAST_DATE: Final = date(2999, 12, 31)
"""Latest date that can be entered. The limit ensures that all timestamps derived from a date are valid."""


class EventRequest(_Input):
    """An administrator's request to create a public event or a closure that blocks a date."""

    date: Annotated[date, Field(le=LAST_DATE)]
    duration: str
    kind: Literal[EventKind.PUBLIC_EVENT, EventKind.CLOSURE]
    title: Title
    description: Annotated[str, AfterValidator(several_lines), StringConstraints(max_length=2000)] = ""


class ProfileChange(_Input):
    """Changes to a user's profile. Omitted fields stay unchanged."""

    name: PersonName | None = None
    email: EmailAddress | None = None
    phone: Annotated[str, StringConstraints(min_length=3, max_length=40)] | None = None
    language: Language | None = None


Model = TypeVar("Model", bound=BaseModel)


def parse(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Validate values and return them as an instance of `model`.

    Raises InvalidRequestError if a value is invalid. The error lists the API names of all invalid fields, but not their
    values.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        findings = error.errors(include_input=False)
        fields = {".".join(to_camel(str(part)) for part in finding["loc"]): finding["msg"] for finding in findings}
        raise InvalidRequestError(f"Invalid input: {', '.join(sorted(fields))}.", {"fields": fields}) from error


def checked_booking(request: BookingRequest, venue: Venue, now: datetime) -> BookingRequest:
    """Check a request against the venue's rules, and return it with the telephone number in international format.

    Raises DateNotBookableError if the date is outside the booking window, and InvalidRequestError if the duration, the
    number of people or the telephone number is invalid.
    """
    venue.slots_of(request.duration)
    venue.check_bookable(request.date, now)
    if request.attendees > venue.capacity:
        message = f"The venue holds {venue.capacity} people, not {request.attendees}."
        raise InvalidRequestError(message, {"field": "attendees", "capacity": venue.capacity})
    contact = request.contact.model_copy(update={"phone": checked_phone(request.contact.phone, venue)})
    return request.model_copy(update={"contact": contact, "association": request.association or None})


def checked_event(request: EventRequest, venue: Venue, now: datetime) -> EventRequest:
    """Check an administrator's request against the venue's rules, and return it unchanged.

    The booking window does not apply to administrators. Raises InvalidRequestError if the duration is unknown, and
    DateNotBookableError if the date is in the past.
    """
    venue.slots_of(request.duration)
    venue.check_not_past(request.date, now)
    return request


def checked_phone(text: str, venue: Venue) -> str:
    """Return a telephone number in international format (E.164). Raises InvalidRequestError if the text is not a
    possible telephone number.
    """
    try:
        return normalise_phone(text, venue.country)
    except ValueError as error:
        raise InvalidRequestError(f"Invalid input: phone, {error}.", {"field": "phone"}) from error
