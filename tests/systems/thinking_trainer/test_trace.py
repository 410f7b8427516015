"""TRACE names every requirement once, in words, with tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.systems.thinking_trainer import readme

TRACE = readme.README.with_name("TRACE.md")
TESTS = Path(__file__).parent
WANTED = [f"CT-{kind}{number}" for kind, last in (("R", 41), ("B", 10), ("W", 29)) for number in range(1, last + 1)]
_ROW = re.compile(r"^\| (CT-[RBW]\d+) \| (.+) \| ([^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"(\S+\.py) `(test_\w+)`")


def test_every_requirement_is_there_once_with_words_and_tests_that_exist() -> None:
    found = _ROW.findall(TRACE.read_text("utf-8"))
    assert [row[0] for row in found] == WANTED
    for requirement, words, tests in found:
        assert len(words) > 10, requirement
        named = _TEST.findall(tests)
        assert named, requirement
        assert tests == ", ".join(f"{file} `{name}`" for file, name in named), requirement
        for file, name in named:
            assert f"def {name}(" in (TESTS / file).read_text("utf-8"), f"{requirement}: {file} {name}"


def test_the_modules_that_the_readme_names_are_there() -> None:
    text = readme.README.read_text("utf-8")
    for name in re.findall(r"`([a-z_/]+\.py)`", text):
        assert readme.README.with_name("README.md").parent.joinpath(name).exists(), name
