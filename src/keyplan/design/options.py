"""What may be said of a pattern when it is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from keyplan.design.patterns import Facts
from keyplan.design.workload import Claim, Rate

Claims = Claim | Sequence[Claim]


class ReadOptions(TypedDict, total=False):
    """What may be said of a read by key."""

    consistent: bool
    """Whether it must show every write acknowledged before it; twice the price."""
    expired: bool
    """Whether items whose expiry has passed are wanted too."""
    rate: Rate
    claims: Claims
    decides: Literal["uniqueness", "quota", "state"]
    """What the program decides by the answer."""
    after: Sequence[str]
    """Names of patterns whose writes it is expected to show at once."""
    returns: float
    """How many items a call is expected to find."""


class QueryOptions(ReadOptions, total=False):
    """What may be said of a read of many items."""

    index: str
    descending: bool
    """The highest sort key first."""
    limit: int
    """The most results of a call."""
    page_size: int
    """The most items that one request evaluates."""
    evaluates: float
    """How many items a call is expected to read, where a filter makes that more than it returns."""
    ordered_by: str
    """The field the results are expected to be ordered by; "-field" for the highest first."""


class WriteOptions(TypedDict, total=False):
    """What may be said of a write."""

    rate: Rate
    claims: Claims
    returns: float
    """How many items a call is expected to write, of batches."""
    retried: bool
    """Whether callers repeat it when no answer came."""


class UpdateOptions(WriteOptions, total=False):
    """What may be said of an update."""

    upsert: bool
    """Whether it creates the item where none is."""


def facts_of(options: Mapping[str, Any]) -> Facts:
    """What the options say of a pattern beside its plan."""
    claims = options.get("claims", ())
    return Facts(
        rate=options.get("rate"),
        claims=(claims,) if isinstance(claims, Claim) else tuple(claims),
        returns=options.get("returns"),
        evaluates=options.get("evaluates"),
        decides=options.get("decides", ""),
        after=tuple(options.get("after", ())),
        ordered_by=options.get("ordered_by"),
        retried=options.get("retried", False),
    )
