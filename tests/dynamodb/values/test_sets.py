"""Sets come back in order; a message about duplicates lists them in its own."""

from __future__ import annotations

import pytest

from keyplan.dynamodb.values import sets


@pytest.mark.parametrize(
    ("kind", "written", "kept"),
    [
        ("SS", ["b", "", "a", "é", "Z", "\U0001f600", "\uffff"], ["", "Z", "a", "b", "é", "\uffff", "\U0001f600"]),
        ("NS", ["10", "-1", "9", "0.5"], ["-1", "0.5", "9", "10"]),
        ("BS", ["/w==", "AQI=", "AQ==", ""], ["", "AQ==", "AQI=", "/w=="]),
        ("SS", ["one"], ["one"]),
    ],
)
def test_members_are_kept_in_order(kind: str, written: list[str], kept: list[str]) -> None:
    assert sets.in_order(kind, written) == kept


def test_duplicates_are_listed_in_order_up_to_the_first_repeat() -> None:
    assert sets.listed_with_duplicates("SS", ["c", "b", "c", "a", "b"]) == ["b", "c", "c", "a", "b"]
    assert sets.listed_with_duplicates("BS", ["/w==", "AA==", "AA=="]) == ["AA==", "/w==", "AA=="]
