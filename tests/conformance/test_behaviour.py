"""Behaviour that takes several requests to see, one topic a file: the cases of `behaviour/` asked of the engine.

The form of a case stands in `runner.py`; the tables are those of `behaviour/tables.json`. "captured" here is
what an independent suite expects of the service itself, "documented" what the guide says, "inferred" what follows.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.runner import SOURCES, cases_of, play_in_process, play_over_http, tables_of

CASES = cases_of("behaviour")
TABLES = tables_of("behaviour/tables.json")
SAMPLE = 11  # every so-manieth case goes through the HTTP door too


@pytest.mark.parametrize("case", CASES)
def test_behaviour_matches_the_service(case: dict[str, Any]) -> None:
    assert case["source"] in SOURCES
    play_in_process(case, TABLES)


@pytest.mark.parametrize("case", CASES[::SAMPLE])
def test_behaviour_matches_the_service_over_http(case: dict[str, Any]) -> None:
    play_over_http(case, TABLES)


def test_case_names_are_unique() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
