"""READMEs and TRACEs of the systems are current: generated parts match, every requirement has its tests."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tests.browser import Site
from tests.systems.readme_parts import SYSTEMS, block, costs_of, patterns_of, readme_of
from tests.systems.trace import check_pages, check_trace


@pytest.mark.parametrize(
    ("system", "ids", "stated", "behaviour", "faults"),
    [
        ("ask_a_human", "AH", 66, 31, 39),
        ("forum", "FO", 18, 21, 20),
        ("thinking_trainer", "CT", 41, 10, 29),
        ("todo", "TD", 69, 16, 41),
        ("venue_booking", "BK", 60, 11, 31),
    ],
)
def test_every_requirement_is_listed_once_with_existing_tests(
    system: str, ids: str, stated: int, behaviour: int, faults: int
) -> None:
    check_trace(system, ids, stated=stated, behaviour=behaviour, faults=faults)


@pytest.fixture(scope="module")
def site(serve: Callable[..., Site]) -> Site:
    return serve(*SYSTEMS, sample=False)


@pytest.mark.parametrize(
    ("system", "ids"),
    [("ask_a_human", "AH"), ("forum", "FO"), ("thinking_trainer", "CT"), ("todo", "TD"), ("venue_booking", "BK")],
)
def test_every_requirement_that_people_can_see_has_a_page_and_a_browser_test(site: Site, system: str, ids: str) -> None:
    check_pages(system, ids, {route for route in site.pages if route.startswith(f"/{system}/")})


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_table_of_patterns_matches_the_design(system: str) -> None:
    assert block(system, "patterns") == patterns_of(system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_costs_are_current(system: str) -> None:
    assert block(system, "costs") == costs_of(system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_files_named_in_the_readme_exist(system: str) -> None:
    folder = readme_of(system).parent
    files = re.findall(r"`([a-z][\w*/]*(?:\.py|/))`", readme_of(system).read_text("utf-8"))
    assert len(files) > 8
    assert [name for name in files if not [*folder.glob(name), *folder.parents[3].glob(name)]] == []
