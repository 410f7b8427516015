"""TRACE names every requirement once, in words, with tests that exist."""

from __future__ import annotations

import re

from tests.systems.thinking_trainer import readme
from tests.systems.trace import check_trace


def test_every_requirement_is_there_once_with_words_and_tests_that_exist() -> None:
    check_trace("thinking_trainer", "CT", stated=41, behaviour=10, faults=29)


def test_the_modules_that_the_readme_names_are_there() -> None:
    text = readme.README.read_text("utf-8")
    for name in re.findall(r"`([a-z_/]+\.py)`", text):
        assert readme.README.with_name("README.md").parent.joinpath(name).exists(), name
