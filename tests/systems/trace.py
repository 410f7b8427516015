"""TRACE of a system: a row for each requirement, with words and its tests."""

from __future__ import annotations

import re
from pathlib import Path

from tests.systems.readme_parts import readme_of

_TEST = r"`((?:\.\./)?[\w/]+\.py)::(test_\w+)`"


def check_trace(system: str, ids: str, *, stated: int, behaviour: int, faults: int) -> None:
    """Check that every requirement exists once and in order, has words, and names only existing tests.

    `ids`: the prefix before the dash of each requirement; R, B and W follow with their numbers.
    """
    trace = readme_of(system).with_name("TRACE.md").read_text("utf-8")
    rows = re.findall(rf"^\| ({ids}-\w+) \| (.+) \| ([^|]+) \|$", trace, re.MULTILINE)
    counts = {"R": stated, "B": behaviour, "W": faults}
    assert [row[0] for row in rows] == [f"{ids}-{kind}{n}" for kind, last in counts.items() for n in range(1, last + 1)]
    tests = Path(__file__).parent / system
    for requirement, words, named in rows:
        assert len(words) > 10, requirement
        assert re.fullmatch(f"{_TEST}(, {_TEST})*", named), requirement
        for file, name in re.findall(_TEST, named):
            assert f"def {name}(" in (tests / file).read_text("utf-8"), f"{requirement}: {file} {name}"
