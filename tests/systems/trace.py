"""TRACE of a system: a row for each requirement, with words and its tests."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from tests.systems.readme_parts import readme_of

_TEST = r"`((?:\.\./)?[\w/]+\.py)::(test_\w+)`"
_BROWSER_TEST = re.compile(r"`(?:test_pages\w*|test_web_push)\.py::test_\w+`")
_PAGE = re.compile(r"`(app/[^`]*)`")
UNSEEN = {
    "ask_a_human": "R1-6 R14-15 R18-23 R27 R29-33 R35-36 R38-40 R43 R46-47 R54 R57-62 R64-65"
    " B1 B11-12 B14 B16 B19 B21-23 B29-30",
    "forum": "R1 R3 R6-8 R14 R16 R18 B8-13 B18-19 B21",
    "thinking_trainer": "R1-4 R6 R10-11 R13-16 R19 R21 R24 R27-28 R32-36 R39-41 B6 B8 B10",
    "todo": "R1 R3-21 R23-24 R40-41 R48-54 R56-57 R60-69 B1 B3-4 B9-10 B12-14 B16",
    "venue_booking": "R1 R7-21 R23-24 R26-32 R43-45 R48 R50-60 B4 B10",
}
"""Requirements without a page, because they are about keys, costs, protocols, agents' requests, or administration."""


def check_trace(system: str, ids: str, *, stated: int, behaviour: int, faults: int) -> None:
    """Check that every requirement exists once and in order, has words, and names only existing tests.

    `ids`: the prefix before the dash of each requirement; R, B and W follow with their numbers.
    """
    trace = readme_of(system).with_name("TRACE.md").read_text("utf-8")
    rows = re.findall(rf"^\| ({ids}-\w+) \| (.+) \| ([^|]+) \|$", trace, re.MULTILINE)
    counts = {"R": stated, "B": behaviour, "W": faults}
    assert [row[0] for row in rows] == [f"{ids}-{kind}{n}" for kind, last in counts.items() for n in range(1, last + 1)]
    tests = Path(__file__).parent / system
    for requirement, words, test_names in rows:
        assert len(words) > 10, requirement
        assert re.fullmatch(f"{_TEST}(, {_TEST})*", test_names), requirement
        for file, name in re.findall(_TEST, test_names):
            assert f"def {name}(" in (tests / file).read_text("utf-8"), f"{requirement}: {file} {name}"


def check_pages(system: str, ids: str, routes: Collection[str]) -> None:
    """Check that every requirement that people can see names a page of these routes and a test in the browser.

    `routes`: paths of the system's pages, such as /todo/app/tasks/{task_id}.
    """
    trace = readme_of(system).with_name("TRACE.md").read_text("utf-8")
    rows = re.findall(rf"^\| {ids}-([RB]\d+) \| (.+) \| ([^|]+) \|$", trace, re.MULTILINE)
    without_page = set(_numbered(UNSEEN[system]))
    assert without_page <= {number for number, _, _ in rows}
    patterns = [re.compile(re.sub(r"{\w+}", "[^/]+", route)) for route in routes]
    for number, words, tests in rows:
        pages = _PAGE.findall(words)
        if number in without_page:
            assert not pages, f"{number} has a page: remove it from UNSEEN"
            continue
        assert pages, f"{number} names no page"
        assert _BROWSER_TEST.search(tests), f"{number} names no test in the browser"
        for page in pages:
            path = f"/{system}/{page.partition('?')[0]}"
            assert any(pattern.fullmatch(path) for pattern in patterns), f"{number}: no page {page}"


def _numbered(text: str) -> Iterator[str]:
    """Return R1, R2, R3 for "R1-3"."""
    for kind, first, last in re.findall(r"([RB])(\d+)(?:-(\d+))?", text):
        yield from (f"{kind}{number}" for number in range(int(first), int(last or first) + 1))
