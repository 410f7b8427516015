"""README and TRACE say what is: made parts are as they are made, every requirement has its test, names are there."""

from __future__ import annotations

import re

from graphql import parse, validate
from tests.systems.trace import check_trace
from tests.systems.venue_booking import readme

from keyplan_systems.venue_booking.api.schema import make_schema


def test_every_requirement_is_there_once_with_words_and_tests_that_exist() -> None:
    check_trace("venue_booking", "BK", stated=60, behaviour=11, faults=31)


def test_the_table_of_patterns_is_that_of_the_design() -> None:
    assert readme.block(readme.README.read_text(), "patterns") == readme.patterns()


def test_the_measured_units_are_those_of_now() -> None:
    assert readme.block(readme.README.read_text(), "costs") == readme.costs()


def test_the_files_that_the_readme_names_are_there() -> None:
    folder = readme.README.parent
    named = re.findall(r"^\| (`[^|]+`) \|", readme.README.read_text().split("## Slots")[0], re.MULTILINE)
    for name in re.findall(r"`([^`]+)`", " ".join(named)):
        assert list(folder.glob(name)), name


def test_the_queries_of_the_readme_are_good_ones() -> None:
    found = re.search(r"```graphql\n(.*?)```", readme.README.read_text(), re.DOTALL)
    assert found is not None
    schema = make_schema()._schema
    for query in re.split(r"\n(?=mutation|query)", found[1]):
        assert validate(schema, parse(query)) == [], query
