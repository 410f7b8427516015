"""The declared load of a design: request rates, the number and sizes of items, claims, and capacity modes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyplan.design.arguments import check_numbers, check_text, checked_call, invalid_option, is_number
from keyplan.design.errors import UNKNOWN_PLACE, Place, calling_place, refuse


def _is_whole_number(value: object, minimum: float = 0.0) -> bool:
    """Return True if a value is a whole number, such as 1e6 or 1_000_000, that is not less than `minimum`."""
    return is_number(value, minimum) and value == int(value)  # type: ignore[call-overload]


@checked_call
@dataclass(frozen=True)
class Rate:
    """A rate of calls, in calls per second."""

    average: float
    peak: float | None = None
    """The highest sustained rate, in calls per second. The default is the average rate."""

    def __post_init__(self) -> None:
        if not is_number(self.average) or (self.peak is not None and not is_number(self.peak, self.average)):
            refuse(
                f"{self} is not a rate",
                "give calls per second: an average of at least 0, and a peak of at least the average",
            )

    @property
    def highest(self) -> float:
        """The peak rate in calls per second, or the average rate if no peak is declared."""
        return self.average if self.peak is None else self.peak

    def scaled(self, factor: float) -> Rate:
        """Return the rate with the average and the peak multiplied by a factor."""
        return Rate(self.average * factor, None if self.peak is None else self.peak * factor)

    @classmethod
    @checked_call
    def monthly(cls, calls: float, *, peak: float | None = None) -> Rate:
        """Return the rate for a number of calls per month. A month has 730 hours."""
        check_numbers(calls=calls, peak=peak)
        average = calls / (730 * 3600)
        return cls(average, None if peak is None else max(peak, average))


@checked_call
@dataclass(frozen=True)
class Bytes:
    """The sizes of items in bytes. As in DynamoDB, a size includes attribute names and values."""

    average: int
    p99: int | None = None
    """The size in bytes that 99% of items do not exceed."""
    most: int | None = None

    def __post_init__(self) -> None:
        minimum = 0.0
        if self.average is None:
            refuse(f"{self} is not a valid size", "give the average: Bytes(400)")
        for size in (self.average, self.p99, self.most):
            if size is not None and not is_number(size, minimum):
                refuse(f"{self} is not a valid size", "give numbers of bytes in ascending order: average, p99, most")
            minimum = minimum if size is None else size


@checked_call
@dataclass(frozen=True)
class Distinct:
    """The number of distinct values of a field, and the distribution of the load among these values."""

    count: int
    hottest: float | None = None
    """The share of the load that the most frequent value receives, from 0 to 1. By default, the load is distributed
    evenly.
    """

    def __post_init__(self) -> None:
        if not _is_whole_number(self.count) or not (self.hottest is None or is_number(self.hottest, 0, 1)):
            refuse(f"{self} is not a valid distribution of values", "give a number of values, and a share from 0 to 1")
        object.__setattr__(self, "count", int(self.count))

    @property
    def hottest_share(self) -> float:
        """The share of the load that the most frequent value receives, from 0 to 1."""
        return self.hottest if self.hottest is not None else 1 / max(1, self.count)


Shares = Mapping[Any, float]
"""Maps each value of a field to the share of items that have this value, as in {"open": 0.1, "done": 0.9}."""


@checked_call
@dataclass(frozen=True)
class Volume:
    """The number of items of an entity, their sizes, and the distribution of their field values."""

    count: int
    bytes: Bytes | None = None
    distinct: Mapping[str, Distinct | int | Shares] = field(default_factory=dict)
    """Maps each field to the number of its distinct values, or to the share of items with each value."""
    present: Mapping[str, float] = field(default_factory=dict)
    """Maps each optional field to the share of items that have the field."""

    def __post_init__(self) -> None:
        if not _is_whole_number(self.count):
            raise invalid_option(
                "count", self.count, "not a number of items", "give their number: Volume(count=1_000_000)"
            )
        object.__setattr__(self, "count", int(self.count))
        for option in ("distinct", "present"):
            if not isinstance(getattr(self, option), Mapping):
                raise invalid_option(option, getattr(self, option), "not a mapping", f'write {option}={{"field": ...}}')
        if not (self.bytes is None or isinstance(self.bytes, Bytes)):
            refuse(f"bytes={self.bytes!r} is not a Bytes object", f"write bytes=Bytes({self.bytes!r})")
        for name, distribution in self.distinct.items():
            if not (isinstance(distribution, Distinct) or _is_whole_number(distribution) or _are_shares(distribution)):
                refuse(
                    f"distinct[{name!r}]={distribution!r} is not a valid distribution of {name}",
                    'give a number of values, Distinct(...), or the share of each value: {"open": 0.1, "done": 0.9}',
                )
        for name, share in self.present.items():
            if not is_number(share, 0, 1):
                refuse(f"present[{name!r}]={share!r} is not a share of items", "give a number from 0 to 1")

    def values_of(self, name: str) -> Distinct | None:
        """Return the distribution of a field's values, or None if it is not declared."""
        distribution = self.distinct.get(name)
        if distribution is None or isinstance(distribution, Distinct):
            return distribution
        if isinstance(distribution, (int, float)):
            return Distinct(int(distribution))
        return Distinct(len(distribution), max(distribution.values()) / sum(distribution.values()))

    def share_of(self, name: str, value: object) -> float | None:
        """Return the declared share of items that have this value in the field, or None if it is not declared."""
        distribution = self.distinct.get(name)
        if isinstance(distribution, Mapping):
            return distribution.get(value, 0.0) / sum(distribution.values())
        known_values = self.values_of(name)
        return None if known_values is None else 1 / max(1, known_values.count)


def _are_shares(shares: object) -> bool:
    return isinstance(shares, Mapping) and all(map(is_number, shares.values())) and sum(shares.values()) > 0


@checked_call
@dataclass(frozen=True)
class Claim:
    """A published claim about a pattern, such as "0.5 RCU", "single-digit ms" or "$0.25 per million reads"."""

    text: str
    source: str = ""
    """The document and section that contain the claim."""
    place: Place = field(default=UNKNOWN_PLACE, compare=False, repr=False)
    """The source location at which the claim is declared."""

    def __post_init__(self) -> None:
        check_text("text", self.text)
        check_text("source", self.source)
        object.__setattr__(self, "place", calling_place() if self.place is UNKNOWN_PLACE else self.place)


@checked_call
@dataclass(frozen=True)
class OnDemand:
    """On-demand capacity, charged per request."""

    warm_read: int = 12_000
    """The number of read capacity units per second that a new table can serve immediately."""
    warm_write: int = 4_000
    """The number of write capacity units per second that a new table can serve immediately."""

    def __post_init__(self) -> None:
        _check_units(warm_read=self.warm_read, warm_write=self.warm_write)

    @property
    def served(self) -> tuple[int, int]:
        """The read and write capacity units per second that a new table can serve immediately. They are never less than
        DynamoDB's defaults.
        """
        return max(self.warm_read, OnDemand.warm_read), max(self.warm_write, OnDemand.warm_write)


@checked_call
@dataclass(frozen=True)
class Provisioned:
    """Provisioned capacity, charged per hour."""

    read: int
    """The provisioned read capacity, in read capacity units."""
    write: int
    """The provisioned write capacity, in write capacity units."""

    def __post_init__(self) -> None:
        _check_units(read=self.read, write=self.write)


def _check_units(**units: object) -> None:
    for option, value in units.items():
        if not (_is_whole_number(value, 1) and isinstance(value, int)):
            raise invalid_option(
                option, value, "not a number of capacity units", "give a whole number of units per second, at least 1"
            )


Billing = OnDemand | Provisioned
