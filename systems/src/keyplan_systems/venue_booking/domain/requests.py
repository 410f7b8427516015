"""Validation of input: booking requests, administrators' events, notes on decisions, and profiles."""

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
    """Accept only True as consent, and not numbers that are equal to it."""
    if value is not True:
        raise ValueError("consent must be given")
    return value


class Language(StrEnum):
    """The languages of the venue's emails."""

    ITALIAN = "it"
    ENGLISH = "en"
    GERMAN = "de"


class _Input(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BookingRequest(_Input):
    """A booking request: date, purpose, number of people, and contact.

    `consent` is the consent to data processing, without which nothing may be stored.
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
    """The kinds of entries that hold slots."""

    PRIVATE_BOOKING = "private_booking"
    PUBLIC_EVENT = "public_event"
    CLOSURE = "closure"


LAST_DATE: Final = date(2999, 12, 31)
"""Last date that can be entered. It ensures that the hours of an event and its retention are valid timestamps."""


class EventRequest(_Input):
    """A calendar entry of an administrator: a public event, or a closure that blocks a date."""

    date: Annotated[date, Field(le=LAST_DATE)]
    duration: str
    kind: Literal[EventKind.PUBLIC_EVENT, EventKind.CLOSURE]
    title: Title
    description: Annotated[str, AfterValidator(several_lines), StringConstraints(max_length=2000)] = ""


class ProfileChange(_Input):
    """Changes of a user's own profile. Omitted fields stay unchanged."""

    name: PersonName | None = None
    email: EmailAddress | None = None
    phone: Annotated[str, StringConstraints(min_length=3, max_length=40)] | None = None
    language: Language | None = None


Model = TypeVar("Model", bound=BaseModel)


def parse(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Return the validated values as an input of type `model`.

    Raises InvalidRequestError that lists all invalid fields with their API names, but no values.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        findings = error.errors(include_input=False)
        fields = {".".join(to_camel(str(part)) for part in finding["loc"]): finding["msg"] for finding in findings}
        raise InvalidRequestError(f"Invalid input: {', '.join(sorted(fields))}.", {"fields": fields}) from error


def checked_booking(request: BookingRequest, venue: Venue, now: datetime) -> BookingRequest:
    """Return the request with the telephone number in international format, if it is valid for the venue.

    Raises DateNotBookableError or InvalidRequestError if the date, duration, number of people or telephone number is
    invalid.
    """
    venue.slots_of(request.duration)
    venue.check_bookable(request.date, now)
    if request.attendees > venue.capacity:
        message = f"The venue holds {venue.capacity} people, not {request.attendees}."
        raise InvalidRequestError(message, {"field": "attendees", "capacity": venue.capacity})
    contact = request.contact.model_copy(update={"phone": checked_phone(request.contact.phone, venue)})
    return request.model_copy(update={"contact": contact, "association": request.association or None})


def checked_event(request: EventRequest, venue: Venue, now: datetime) -> EventRequest:
    """Return the request if its duration exists and its date is not past. Administrators need no lead time."""
    venue.slots_of(request.duration)
    venue.check_not_over(request.date, now)
    return request


def checked_phone(text: str, venue: Venue) -> str:
    """Return the telephone number in international format. Raises InvalidRequestError for an impossible number."""
    try:
        return normalise_phone(text, venue.country)
    except ValueError as error:
        raise InvalidRequestError(f"Invalid input: phone, {error}.", {"field": "phone"}) from error
