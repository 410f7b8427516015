"""README and TRACE say what is: made parts are as they are made, every requirement has its test, names are there."""

from __future__ import annotations

import json
import re

from tests.systems.forum import readme
from tests.systems.trace import check_trace

from keyplan_systems.forum.sockets import _asked
from keyplan_systems.forum.wire import ACTIONS


def test_every_requirement_is_there_once_with_words_and_a_test_that_exists() -> None:
    check_trace("forum", "FO", stated=18, behaviour=21, faults=20)


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
