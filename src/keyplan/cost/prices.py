"""Prices by Region, which are loaded from files that state the date and the sources of the prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from keyplan.errors import KeyplanError

HOURS_PER_MONTH = 730
GB = 1_000_000_000
"""Bytes per billed gigabyte. DynamoDB bills decimal gigabytes."""


class PriceDataError(KeyplanError):
    """Raised if a price file is missing, unreadable or incomplete."""


@dataclass(frozen=True)
class Price:
    """A price in the currency of its price book."""

    price: float
    per: str
    source: str
    verified: bool

    def __post_init__(self) -> None:
        """Raise ValueError if the price is negative or not finite."""
        if not (isinstance(self.price, (int, float)) and 0 <= self.price < math.inf):
            raise ValueError(f"{self.price!r} is not a price: expected a finite number of at least 0")


@dataclass(frozen=True)
class PriceBook:
    """The prices in one Region on one date."""

    region: str
    dated: date
    currency: str
    prices: Mapping[str, Price]
    free: Mapping[str, float]

    def __getitem__(self, name: str) -> float:
        if name not in self.prices:
            raise PriceDataError(f"the price file for {self.region} does not contain {name}")
        return self.prices[name].price

    def price_in_class(self, name: str, table_class: str) -> float:
        """Return the price with the given name, such as "read_unit", in a table class."""
        return self[name if table_class == "STANDARD" else f"{name}_ia"]

    def on_demand(self, read: float, write: float, table_class: str) -> float:
        """Return the on-demand price of `read` read units and `write` write units in a table class."""
        return read * self.price_in_class("read_unit", table_class) + write * self.price_in_class(
            "write_unit", table_class
        )

    def with_prices(self, changes: Mapping[str, float]) -> PriceBook:
        """Return a copy of the price book in which the prices named in `changes` are replaced. Raises PriceDataError if
        a name is unknown.
        """
        unknown = [name for name in changes if name not in self.prices]
        if unknown:
            raise PriceDataError(f"unknown price {', '.join(unknown)}; known prices: {', '.join(self.prices)}")
        new_prices = {
            name: replace(self.prices[name], price=price, source="given", verified=True)
            for name, price in changes.items()
        }
        return replace(self, prices={**self.prices, **new_prices})


def book(region: str = "us-east-1") -> PriceBook:
    """Return the newest prices for a Region that are included with keyplan.

    Raises PriceDataError if no prices for the Region are included.
    """
    names = sorted(
        entry.name
        for entry in files("keyplan.cost").joinpath("data").iterdir()
        if entry.name.startswith(f"{region}-20")
    )
    if not names:
        raise PriceDataError(f"no prices are included for {region}: pass a price file (included: us-east-1)")
    return _read(files("keyplan.cost").joinpath("data", names[-1]).read_bytes(), names[-1])


def load(path: Path) -> PriceBook:
    """Load prices from a file with the format of the included files.

    Raises PriceDataError if the file cannot be read or is not a price file.
    """
    try:
        return _read(path.read_bytes(), str(path))
    except OSError as error:
        raise PriceDataError(f"{path} cannot be read: {error.strerror}") from None


def _read(data: bytes, name: str) -> PriceBook:
    try:
        document: dict[str, Any] = orjson.loads(data)
        prices = {key: Price(**value) for key, value in document["prices"].items()}
        return PriceBook(
            document["region"], date.fromisoformat(document["date"]), document["currency"], prices, document["free"]
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PriceDataError(f"{name} is not a price file: {error}") from None
