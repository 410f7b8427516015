"""README and TRACE say what is: made parts are as they are made, every requirement has tests that exist."""

from __future__ import annotations

import re

from tests.systems.ask_a_human import readme
from tests.systems.trace import check_trace


def test_every_requirement_is_there_once_with_words_and_tests_that_exist() -> None:
    check_trace("ask_a_human", "AH", stated=66, behaviour=31, faults=39)


def test_the_table_of_patterns_is_that_of_the_design() -> None:
    assert readme.block(readme.README.read_text(), "patterns") == readme.patterns()


def test_the_measured_units_are_those_of_now() -> None:
    assert readme.block(readme.README.read_text(), "costs") == readme.costs()


def test_the_files_that_the_readme_names_are_there() -> None:
    folder = readme.README.parent
    rows = re.findall(r"^\| (`[^|]+`) \|", readme.README.read_text().split("## How")[0], re.MULTILINE)
    assert len(rows) > 8
    for names in rows:
        for name in re.findall(r"`([^`]+)`", names):
            assert list(folder.glob(name)), name
