"""Claims read as figures, and held against figures."""

from __future__ import annotations

from typing import Any

import pytest
from tests.verify import shop

from keyplan.cost.estimate import estimate
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.design.workload import Claim
from keyplan.verify.claims import MeasuredPattern, judge, judge_design_claim


def figures(**members: Any) -> MeasuredPattern:
    usual: dict[str, Any] = {
        "reads": (0.5, 0.5), "writes": (0.0,), "items": 1.0, "split": "0.5 RCU (shop 0.5)",
        "at_scale": None, "pages": 0.0,
    }  # fmt: skip
    return MeasuredPattern(**{**usual, **members})


@pytest.mark.parametrize(
    ("text", "expected", "standing"),
    [
        ("0.5 RCU", {}, "holds"),
        ("0.5 RRU", {}, "holds"),
        ("about 0.5 read units each", {}, "holds"),
        ("1-5 RCU", {"reads": (2.0, 3.5)}, "holds"),
        ("1 to 5 RCU", {"reads": (5.0,)}, "holds"),
        ("1\u20135 RCU", {"reads": (6.0,)}, "fails"),
        ("1-5 RCU", {}, "less"),
        ("1,000 RCU", {"reads": (1000.0,)}, "holds"),
        ("0.25 RCU", {}, "fails"),
        ("1 WCU", {"writes": (1.0,)}, "holds"),
        ("1 WCU", {"writes": (1.0, 6.0)}, "fails"),
        ("1.5 WCU per item", {"writes": (15.0,), "items": 10.0}, "holds"),
        ("0.5 WCU per item", {"writes": (10.0,), "items": 10.0}, "fails"),
        ("50-200 RCU", {"reads": (100.0,), "at_scale": 73_000.0}, "fails"),
        ("50-200 RCU", {"reads": (100.0,), "at_scale": 100.0}, "holds"),
        ("50-200 RCU", {"reads": (100.0,), "at_scale": 10.0}, "less"),
        ("single-digit ms", {}, "unproved"),
        ("single-digit milliseconds", {"pages": 500.0}, "fails"),
        ("scales automatically", {}, "unproved"),
    ],
)
def test_a_claim_about_a_pattern_is_judged_by_its_measurements(
    text: str, expected: dict[str, Any], standing: str
) -> None:
    assert judge(Claim(text), figures(**expected)).standing == standing


ASSUMED = ("the number of values of Order.shop is not declared",)


@pytest.mark.parametrize(
    ("text", "expected", "standing"),
    [
        ("0.5 RCU", {"reads": (9.0,)}, "unproved"),
        ("0.5 RCU", {}, "unproved"),
        ("1 RCU", {}, "unproved"),
        ("50-200 RCU", {"reads": (100.0,), "at_scale": 73_000.0}, "unproved"),
        ("single-digit ms", {"pages": 500.0}, "unproved"),
        ("1 WCU", {"writes": (6.0,)}, "fails"),
    ],
)
def test_a_read_that_rests_on_an_assumption_neither_proves_nor_disproves_a_claim(
    text: str, expected: dict[str, Any], standing: str
) -> None:
    judged = judge(Claim(text), figures(assumed=ASSUMED, **expected))
    assert judged.standing == standing
    assert (ASSUMED[0] in judged.reason) == (standing == "unproved")


def test_the_reason_lists_the_units_by_index() -> None:
    judged = judge(Claim("1 WCU"), figures(writes=(5.0,), split="5 WCU (shop 1, shop/due 4)"))
    assert judged.reason == "5 WCU on average: 5 WCU (shop 1, shop/due 4)"


@pytest.mark.slow  # verifies whole designs
@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("$0.125 per million reads", "holds"),
        ("$0.0625 per million reads", "holds"),
        ("$0.25 per million reads", "fails"),
        ("$0.625 a million writes", "holds"),
        ("$1.25 per million writes", "fails"),
        ("under $1,000 a month", "unproved"),
        ("$5 per month", "fails"),
        ("another service costs at least $15 a month", "unproved"),
        ("transactions need a single table", "unproved"),
        ("everything in single-digit milliseconds", "fails"),
    ],
)
def test_a_claim_about_a_design_is_judged_by_prices_and_the_slowest_pattern(text: str, standing: str) -> None:
    prices = book().with_prices({"read_unit": 1.25e-7, "write_unit": 6.25e-7})
    month = estimate(Design.of(shop), prices)
    judged = judge_design_claim(Claim(text), month, prices, [("quick", 0.1), ("slow", 90.0)])
    assert judged.standing == standing
    assert ("slow: " in judged.reason) == text.startswith("everything")


def test_a_slow_pattern_with_assumed_numbers_does_not_hide_one_with_declared_numbers() -> None:
    month = estimate(Design.of(shop), book())
    long = [("declared", 20.0), ("assumed", 90.0)]
    claim = Claim("everything in single-digit milliseconds")
    judged = judge_design_claim(claim, month, book(), long, {"assumed": ASSUMED})
    assert (judged.standing, judged.reason.partition(":")[0]) == ("fails", "declared")
    judged = judge_design_claim(claim, month, book(), long[1:], {"assumed": ASSUMED})
    assert (judged.standing, judged.reason.partition(":")[0]) == ("unproved", "assumed")
