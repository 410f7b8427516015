"""README and TRACE say what is: made parts are as they are made, every requirement has tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.systems.ask_a_human import readme

TRACE = readme.README.with_name("TRACE.md")
TESTS = Path(__file__).parent
WANTED = [f"AH-{kind}{number}" for kind, last in (("R", 66), ("B", 31), ("W", 39)) for number in range(1, last + 1)]
_ROW = re.compile(r"^\| (AH-[RBW]\d+) \| (.+) \| ((?:`[\w/]+\.py::test_\w+`(?:, )?)+) \|$", re.MULTILINE)


def test_every_requirement_is_there_once_with_words_and_tests_that_exist() -> None:
    found = _ROW.findall(TRACE.read_text())
    assert [row[0] for row in found] == WANTED
    for requirement, words, tests in found:
        assert len(words) > 10, requirement
        for file, name in re.findall(r"`([\w/]+\.py)::(test_\w+)`", tests):
            assert f"def {name}(" in (TESTS / file).read_text(), f"{requirement}: {file} {name}"


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
