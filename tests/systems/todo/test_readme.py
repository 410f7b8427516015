"""README and TRACE say what is: made parts are as they are made, every requirement has its test, commands work."""

from __future__ import annotations

import re

from tests.systems.todo import readme
from tests.systems.trace import check_trace


def test_every_requirement_is_there_once_with_words_and_a_test_that_exists() -> None:
    check_trace("todo", "TD", stated=69, behaviour=16, faults=41)


def test_the_table_of_patterns_is_that_of_the_design() -> None:
    assert readme.block(readme.README.read_text(), "patterns") == readme.patterns()


def test_the_measured_units_are_those_of_now() -> None:
    assert readme.block(readme.README.read_text(), "costs") == readme.costs()


def test_the_files_that_the_readme_names_are_there() -> None:
    folder = readme.README.parent
    for names in re.findall(r"^\| (`[^|]+`) \|", readme.README.read_text().split("## Requests")[0], re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", names):
            assert list(folder.glob(name)), name
