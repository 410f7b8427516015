"""README and TRACE say what is: made parts are as they are made, every requirement has its test, names are there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.systems.forum import readme

from keyplan_systems.forum.sockets import _asked
from keyplan_systems.forum.wire import ACTIONS

TRACE = readme.README.with_name("TRACE.md")
TESTS = Path(__file__).parent
WANTED = [f"FO-{kind}{number}" for kind, last in (("R", 18), ("B", 21), ("W", 20)) for number in range(1, last + 1)]
_ROW = re.compile(r"^\| (FO-[RBW]\d+) \| (.+) \| (\S+\.py) `(test_\w+)` \|$", re.MULTILINE)


def test_every_requirement_is_there_once_with_words_and_a_test_that_exists() -> None:
    found = _ROW.findall(TRACE.read_text())
    assert [row[0] for row in found] == WANTED
    for requirement, words, file, name in found:
        assert len(words) > 10, requirement
        assert f"def {name}(" in (TESTS / file).read_text(), f"{requirement}: {file} {name}"


def test_the_table_of_patterns_is_that_of_the_design() -> None:
    assert readme.block(readme.README.read_text(), "patterns") == readme.patterns()


def test_the_measured_units_are_those_of_now() -> None:
    assert readme.block(readme.README.read_text(), "costs") == readme.costs()


def test_the_files_that_the_readme_names_are_there() -> None:
    folder = readme.README.parent
    rows = re.findall(r"^\| (`[^|]+`) \|", readme.README.read_text().split("## Status and log")[0], re.MULTILINE)
    assert len(rows) > 8
    for names in rows:
        for name in re.findall(r"`([^`]+)`", names):
            assert (folder / name).exists(), name


def test_the_actions_that_the_readme_shows_are_understood_and_all_that_is_pushed_is_named() -> None:
    text = readme.README.read_text()
    asked = re.findall(r"^\| `(\{.*?\})` \|", text, re.MULTILINE)
    assert len(asked) == 3
    for action in asked:
        told = json.loads(action)
        if "item_id" in told:
            told |= {"item_id": "1", "participant_id": "2"}
        assert _asked(json.dumps(told)).action == told["action"]
    for action in (*ACTIONS.values(), "forum.notification.new"):
        assert f"`{action}`" in text
