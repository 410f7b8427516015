"""The configuration of a venue: slots and their times, durations, booking window, time zone and limits.

Slots are the parts of the day that can be reserved. A duration is a named list of slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Final, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from keyplan_systems.venue_booking.domain.refusals import DateNotBookableError, InvalidRequestError

MINUTES_PER_DAY: Final = 24 * 60
MAX_DAYS: Final = 36_500
"""Maximum number of days between today and a bookable date. The limit of 100 years ensures that all computed dates are
valid.
"""
MAX_SLOTS: Final = 24
"""Maximum number of slots per booking. The number is limited because one transaction writes all slots together with
other items.
"""
NAME_PATTERN: Final = r"^[A-Z][A-Z0-9_]{0,39}$"

SlotName = Annotated[str, Field(pattern=NAME_PATTERN)]


class Slot(BaseModel):
    """A part of the day that can only be booked as a whole. Times are in minutes since midnight, where 1440 is midnight
    at the end of the day.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: SlotName
    starts_minute: Annotated[int, Field(ge=0, lt=MINUTES_PER_DAY)]
    ends_minute: Annotated[int, Field(gt=0, le=MINUTES_PER_DAY)]

    @model_validator(mode="after")
    def _has_length(self) -> Self:
        if self.ends_minute <= self.starts_minute:
            raise ValueError(f"slot {self.name} ends before it starts")
        return self


DEFAULT_SLOTS: Final = (
    Slot(name="MORNING", starts_minute=6 * 60 + 30, ends_minute=13 * 60 + 30),
    Slot(name="AFTERNOON", starts_minute=14 * 60, ends_minute=20 * 60),
    Slot(name="EVENING", starts_minute=20 * 60 + 30, ends_minute=MINUTES_PER_DAY),
)

DEFAULT_DURATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "HALF_DAY_MORNING": ("MORNING",),
    "HALF_DAY_AFTERNOON": ("AFTERNOON",),
    "EVENING": ("EVENING",),
    "FULL_DAY": ("MORNING", "AFTERNOON", "EVENING"),
}


class Venue(BaseModel):
    """The rules of a venue.

    A date can be requested if it is at least `lead_days` and at most `horizon_days` after today in `time_zone`.
    `availability_days` is the maximum number of days in one query for availability. `letters_per_user` and
    `letters_per_address` limit the number of emails per UTC day. Only emails about new requests and emails with codes
    are counted, because every other email is about a request that was already counted. Slots can be added at any time,
    but a slot that events still hold must keep its name. If a duration is removed, bookings with this duration cannot
    be approved, and emails about them are delayed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    name: Annotated[str, Field(min_length=1, max_length=100)] = "The venue"
    time_zone: str = "Europe/Rome"
    country: Annotated[str, Field(pattern="^[A-Z]{2}$")] = "IT"
    capacity: Annotated[int, Field(ge=1)] = 100
    lead_days: Annotated[int, Field(ge=0, le=MAX_DAYS)] = 3
    horizon_days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 730
    availability_days: Annotated[int, Field(ge=1, le=366)] = 62
    letters_per_user: Annotated[int, Field(ge=1)] = 20
    letters_per_address: Annotated[int, Field(ge=1)] = 10
    slots: Annotated[tuple[Slot, ...], Field(max_length=MAX_SLOTS)] = DEFAULT_SLOTS
    durations: Mapping[SlotName, tuple[str, ...]] = Field(default_factory=lambda: dict(DEFAULT_DURATIONS))

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # OSError: a folder, such as Europe
            raise ValueError(f"{name!r} is not an IANA time zone") from error
        return name

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_slots(self.slots)
        for duration, names in self.durations.items():
            _check_duration(duration, names, self.slot_names)
        if not self.durations:
            raise ValueError("a venue needs at least one duration")
        if self.horizon_days < self.lead_days:
            raise ValueError("horizon_days must not be below lead_days, or no date can be booked")
        return self

    @cached_property
    def zone(self) -> ZoneInfo:
        """The time zone of the venue."""
        return ZoneInfo(self.time_zone)

    @property
    def slot_names(self) -> tuple[str, ...]:
        """The names of all slots in chronological order."""
        return tuple(slot.name for slot in self.slots)

    def slot(self, name: str) -> Slot:
        """Return the slot with the given name. Raises InvalidRequestError if the slot is unknown."""
        for slot in self.slots:
            if slot.name == name:
                return slot
        raise InvalidRequestError(
            f"Unknown slot {name}: available are {', '.join(self.slot_names)}.", {"field": "slot"}
        )

    def slots_of(self, duration: str) -> tuple[str, ...]:
        """Return the names of the slots of a duration, in chronological order.

        Raises InvalidRequestError if the duration is unknown.
        """
        names = self.durations.get(duration)
        if names is None:
            message = f"Unknown duration {duration}: available are {', '.join(self.durations)}."
            raise InvalidRequestError(message, {"field": "duration"})
        return tuple(name for name in self.slot_names if name in names)

    def today(self, now: datetime) -> date:
        """Return the date in the venue's time zone at the given time."""
        return now.astimezone(self.zone).date()

    def earliest_date(self, now: datetime) -> date:
        """Return the first date of the booking window at the given time."""
        return self.today(now) + timedelta(days=self.lead_days)

    def latest_date(self, now: datetime) -> date:
        """Return the last date of the booking window at the given time."""
        return self.today(now) + timedelta(days=self.horizon_days)

    def is_bookable(self, day: date, now: datetime) -> bool:
        """Return True if the date is in the booking window. The slots of the date may nevertheless be reserved."""
        return self.earliest_date(now) <= day <= self.latest_date(now)

    def check_bookable(self, day: date, now: datetime) -> None:
        """Raise DateNotBookableError if the date is outside the booking window. The error contains the first and last
        date of the window.
        """
        if not self.is_bookable(day, now):
            first, last = self.earliest_date(now).isoformat(), self.latest_date(now).isoformat()
            message = f"Requests are accepted for {first} to {last}, not for {day.isoformat()}."
            raise DateNotBookableError(message, {"field": "date", "earliest": first, "latest": last})

    def check_not_past(self, day: date, now: datetime) -> None:
        """Raise DateNotBookableError if the date is in the past in the venue's time zone."""
        if day < self.today(now):
            raise DateNotBookableError(f"{day.isoformat()} is over.", {"field": "date"})

    def span(self, day: date, slots: tuple[str, ...]) -> tuple[datetime, datetime]:
        """Return the start of the first slot and the end of the last slot on a date, both in the venue's time zone."""
        span_slots = [self.slot(name) for name in slots]
        start_minute = min(slot.starts_minute for slot in span_slots)
        end_minute = max(slot.ends_minute for slot in span_slots)
        return self._local_datetime(day, start_minute), self._local_datetime(day, end_minute)

    def _local_datetime(self, day: date, minute: int) -> datetime:
        """Return a local time at the venue. `minute` is the wall-clock time in minutes since midnight, so minute 390
        is 06:30 even on days when the clocks change.
        """
        days, rest = divmod(minute, MINUTES_PER_DAY)
        return datetime.combine(day + timedelta(days=days), time(rest // 60, rest % 60), self.zone)


def _check_slots(slots: tuple[Slot, ...]) -> None:
    if not slots:
        raise ValueError("a venue needs at least one slot")
    if len({slot.name for slot in slots}) != len(slots):
        raise ValueError("slot names must differ")
    for before, after in pairwise(slots):
        if after.starts_minute < before.ends_minute:
            raise ValueError(f"slot {after.name} must start after {before.name} ends: list slots in the day's order")


def _check_duration(duration: str, names: tuple[str, ...], slot_names: tuple[str, ...]) -> None:
    """Raise ValueError unless the slots of a duration are contiguous. With a gap between the slots, the start and the
    end of the duration would not describe which slots it contains.
    """
    for start in range(len(slot_names)):
        if names and names == slot_names[start : start + len(names)]:
            return
    raise ValueError(f"duration {duration} must list neighbouring slots in the day's order: {', '.join(slot_names)}")


def utc_datetime(now_s: float) -> datetime:
    """Convert epoch seconds to a time-zone-aware datetime in UTC."""
    return datetime.fromtimestamp(now_s, UTC)
