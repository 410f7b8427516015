"""What may be said of a pattern when it is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from keyplan.design.given import all_of, check_flags, check_text, no_option
from keyplan.design.patterns import Facts, claims_of
from keyplan.design.places import DesignError, caller
from keyplan.design.schema import check_choice
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
    after: str | Sequence[str]
    """Names of patterns whose writes it is expected to show at once."""
    returns: float
    """How many items a call is expected to find."""


class CountOptions(ReadOptions, total=False):
    """What may be said of a count: it reads all that there is, in any order."""

    index: str
    evaluates: float
    """How many items a call is expected to read, where a filter makes that more than it returns."""


class ScanOptions(CountOptions, total=False):
    """What may be said of a read of many items."""

    limit: int
    """The most results of a call."""
    page_size: int
    """The most items that one request evaluates."""
    ordered_by: str
    """The field the results are expected to be ordered by; "-field" for the highest first."""


class QueryOptions(ScanOptions, total=False):
    """What may be said of a read of a range."""

    descending: bool
    """The highest sort key first."""


class WriteOptions(TypedDict, total=False):
    """What may be said of a write."""

    rate: Rate
    claims: Claims
    retried: bool
    """Whether callers repeat it when no answer came."""


class BatchOptions(WriteOptions, total=False):
    """What may be said of a write of many items."""

    returns: float
    """How many items a call is expected to write."""


class UpdateOptions(WriteOptions, total=False):
    """What may be said of an update."""

    upsert: bool
    """Whether it creates the item where none is."""


class CheckOptions(TypedDict, total=False):
    """What may be said of a condition."""

    exists: Literal["must", "must_not", "may"]
    """Whether the item must be there."""


def check_options(options: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse options that a kind of pattern does not have, and limits that leave nothing."""
    for name in options:
        if name not in known:
            raise no_option(name, known)
    for name in ("limit", "page_size"):
        value = options.get(name)
        if value is not None and not (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
            raise DesignError(f"{name}={value!r} is no number of items", place=caller(), fix="give an int, at least 1")
    check_flags(
        **{name: options[name] for name in ("consistent", "expired", "descending", "upsert") if name in options}
    )
    check_text("index", options.get("index"), may_be_none=True)
    check_choice("exists", options.get("exists"), Literal["must", "must_not", "may"])


def facts_of(options: Mapping[str, Any]) -> Facts:
    """What the options say of a pattern beside its plan."""
    after = all_of("after", options.get("after", ()), str, 'write after="save", the name of a pattern, or several')
    return Facts(
        rate=options.get("rate"),
        claims=claims_of(options.get("claims", ())),
        returns=options.get("returns"),
        evaluates=options.get("evaluates"),
        decides=options.get("decides", ""),
        after=after,
        ordered_by=options.get("ordered_by"),
        retried=options.get("retried", False),
    )
