"""What a design says of its load: rates, numbers and sizes of items, claims, how capacity is bought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from keyplan.design.places import UNKNOWN, Place, caller


@dataclass(frozen=True)
class Rate:
    """Calls per second."""

    average: float
    peak: float | None = None
    """The highest sustained rate; the average when not said."""

    def __post_init__(self) -> None:
        if self.average < 0 or (self.peak is not None and self.peak < self.average):
            raise ValueError(f"a rate is at least 0 and its peak at least its average, not {self}")

    @property
    def highest(self) -> float:
        """The peak, or the average where no peak is said."""
        return self.average if self.peak is None else self.peak

    @classmethod
    def monthly(cls, calls: float, *, peak: float | None = None) -> Rate:
        """So many calls in a month of 730 hours."""
        average = calls / (730 * 3600)
        return cls(average, None if peak is None else max(peak, average))


@dataclass(frozen=True)
class Bytes:
    """Sizes of items as the service counts them, in bytes of names and values."""

    average: int
    p99: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Distinct:
    """How many different values a field has, and how unevenly they are used."""

    count: int
    hottest: float | None = None
    """The share of the load that goes to the most used value, 0 to 1; even use when not said."""

    @property
    def hottest_share(self) -> float:
        """The share of the load of the most used value."""
        return self.hottest if self.hottest is not None else 1 / max(1, self.count)


Shares = Mapping[object, float]
"""The share of each value of a field with few values: {"open": 0.1, "done": 0.9}."""


@dataclass(frozen=True)
class Items:
    """How many items of an entity there are, how large they are, how their fields vary."""

    count: int
    bytes: Bytes | None = None
    distinct: Mapping[str, Distinct | int | Shares] = field(default_factory=dict)
    """By field: how many values it has, or which with which shares."""
    present: Mapping[str, float] = field(default_factory=dict)
    """By optional field: the share of items that have it."""

    def values_of(self, name: str) -> Distinct | None:
        """How a field varies, if that is said."""
        told = self.distinct.get(name)
        if told is None or isinstance(told, Distinct):
            return told
        if isinstance(told, int):
            return Distinct(told)
        return Distinct(len(told), max(told.values()) / sum(told.values()))

    def share_of(self, name: str, value: object) -> float | None:
        """The share of items whose field has this value, if that is said."""
        told = self.distinct.get(name)
        if isinstance(told, Mapping):
            return told.get(value, 0.0) / sum(told.values())
        known = self.values_of(name)
        return None if known is None else 1 / max(1, known.count)


@dataclass(frozen=True)
class Claim:
    """What a document says of a pattern: "0.5 RCU", "1-5 RCU", "single-digit ms", "$0.25 per million reads"."""

    text: str
    source: str = ""
    """Where it says so."""
    place: Place = field(default=UNKNOWN, compare=False, repr=False)
    """Where it is declared."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", caller() if self.place is UNKNOWN else self.place)


@dataclass(frozen=True)
class OnDemand:
    """Capacity paid by the request."""

    warm_read: int = 12_000
    """Read units a second that a new table serves at once."""
    warm_write: int = 4_000
    """Write units a second that a new table serves at once."""


@dataclass(frozen=True)
class Provisioned:
    """Capacity bought by the hour."""

    read: int
    """Read units a second."""
    write: int
    """Write units a second."""


Billing = OnDemand | Provisioned
