"""Each kind of change gets its verdict, one by one; every kind that there is comes up."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from tests.diff.pairs import BASE, PAIRS, Pair, compared

from keyplan.diff.changes import Kind


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_change_gets_its_verdict(pair: Pair, tmp_path: Path) -> None:
    changes = compared(tmp_path, BASE, pair.source).changes
    assert sorted((change.kind, change.verdict, change.subject) for change in changes) == sorted(pair.expected)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_reverse_change_is_reported_too(pair: Pair, tmp_path: Path) -> None:
    back = compared(tmp_path, pair.source, BASE).changes
    assert bool(back) == bool(pair.expected)


def test_every_kind_of_change_is_tested(tmp_path: Path) -> None:
    pairs = {kind for pair in PAIRS for kind, _, _ in pair.expected}
    back = {change.kind for pair in PAIRS for change in compared(tmp_path, pair.source, BASE).changes}
    assert pairs | back == set(get_args(Kind))
