"""Claims of documents are parsed as units, prices, times and dates."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan import Claim
from keyplan.check.claims import (
    ClaimedPrice,
    ClaimedUnits,
    parse_milliseconds,
    parse_price,
    parse_units,
    parse_year_and_month,
)
from keyplan.design.errors import line_number


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("0.5 RCU", ClaimedUnits("read", 0.5, 0.5)),
        ("~1-5 RCU depending on result size", ClaimedUnits("read", 1, 5)),
        ("1\u20135 RCU", ClaimedUnits("read", 1, 5)),
        ("50 to 1,200 RRU", ClaimedUnits("read", 50, 1200)),
        ("1.5 WCU per item", ClaimedUnits("write", 1.5, 1.5, per_item=True)),
        ("2 write units", ClaimedUnits("write", 2, 2)),
        ("1 write capacity unit", ClaimedUnits("write", 1, 1)),
    ],
)
def test_units_are_parsed_in_common_notations(text: str, units: ClaimedUnits) -> None:
    assert parse_units(text) == units


@pytest.mark.parametrize("text", ["", "fast", "5 requests", "RCU", "about two units", "$0.25 per million reads"])
def test_text_without_units_is_not_a_claim_of_units(text: str) -> None:
    assert parse_units(text) is None


@given(
    low=st.decimals(0, 10_000, places=1),
    more=st.decimals(0, 10_000, places=1),
    words=st.sampled_from([("RCU", "read"), ("WCU", "write"), ("WRU", "write"), ("read units", "read")]),
)
def test_a_range_of_units_is_parsed(low: float, more: float, words: tuple[str, str]) -> None:
    high = low + more
    units = parse_units(f"costs {low:,} - {high:,} {words[0]} each")
    assert units is not None
    assert (units.kind, units.low, units.high) == (words[1], float(low), float(high))


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("$0.25 per million reads", ClaimedPrice("read", 0.25)),
        ("pay-per-request: $1.25 per million write requests", ClaimedPrice("write", 1.25)),
        ("$0.625/million writes", ClaimedPrice("write", 0.625)),
        ("$ 0.125 for 1 million read request units", ClaimedPrice("read", 0.125)),
        ("$10 a month", None),
        ("a million reads", None),
    ],
)
def test_prices_per_million_requests_are_parsed(text: str, price: ClaimedPrice | None) -> None:
    assert parse_price(text) == price


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("single-digit ms", 10),
        ("all patterns in single-digit milliseconds", 10),
        ("single digit millisecond latency", 10),
        ("under 200 ms", 200),
        ("< 5ms", 5),
        ("200 ms of network", None),
        ("fast", None),
    ],
)
def test_the_longest_claimed_time_is_parsed(text: str, most: float | None) -> None:
    assert parse_milliseconds(text) == most


@pytest.mark.parametrize(
    ("source", "when"),
    [("pricing page, 2023-05", (2023, 5)), ("a blog of 2022", (2022, 12)), ("page 12", None), ("", None)],
)
def test_the_date_of_a_source_is_parsed(source: str, when: tuple[int, int] | None) -> None:
    assert parse_year_and_month(source) == when


def test_a_claim_has_the_line_of_its_declaration() -> None:
    here = inspect.currentframe()
    assert here is not None
    claim, line = Claim("0.5 RCU"), here.f_lineno
    assert claim.place.file == __file__
    assert line_number(claim.place) == line


def test_claims_with_equal_text_are_equal() -> None:
    first = Claim("0.5 RCU", "page 3")
    other = Claim("0.5 RCU", "page 3")
    assert first == other
    assert hash(first) == hash(other)
