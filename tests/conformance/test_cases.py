"""What the service answers, recorded, asked of the engine: every case in process, a sample over HTTP.

The form of a case stands in `runner.py`; a case is in `cases/<operation>/<topic>.json`, its tables in `tables.json`.
"captured" is an answer of the service that a public conformance suite recorded.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.runner import SOURCES, cases_of, play_in_process, play_over_http, tables_of

CASES = cases_of("cases")
TABLES = tables_of("tables.json")
SAMPLE = 7  # every so-manieth case goes through the HTTP door too


@pytest.mark.parametrize("case", CASES)
def test_responses_match_the_service(case: dict[str, Any]) -> None:
    play_in_process(case, TABLES)


@pytest.mark.parametrize("case", CASES[::SAMPLE])
def test_responses_match_the_service_over_http(case: dict[str, Any]) -> None:
    play_over_http(case, TABLES)


@pytest.mark.parametrize("case", CASES)
def test_a_case_names_its_source(case: dict[str, Any]) -> None:
    assert case["source"] in SOURCES


def test_case_names_are_unique() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
