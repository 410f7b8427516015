"""What an independent suite, recorded against the service, expects of each operation: `operations/`.

The form of a case stands in `runner.py`; the tables are those of `operations/tables.json`: "hash" and "range"
are keyed by text, "hash_n" and "range_n" end in a number, "range_b" in binary, and "range" has four indexes. Where the
service's answers have changed since, the cases hold what it answers now.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.runner import SOURCES, cases_of, play_in_process, play_over_http, tables_of

CASES = cases_of("operations")
TABLES = tables_of("operations/tables.json")
SAMPLE = 13  # every so-manieth case goes through the HTTP door too


@pytest.mark.parametrize("case", CASES)
def test_responses_match_the_service(case: dict[str, Any]) -> None:
    assert case["source"] in SOURCES
    play_in_process(case, TABLES)


@pytest.mark.parametrize("case", CASES[::SAMPLE])
def test_responses_match_the_service_over_http(case: dict[str, Any]) -> None:
    play_over_http(case, TABLES)


def test_case_names_are_unique() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
