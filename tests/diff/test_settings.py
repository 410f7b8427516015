"""What is said of capacity: when it is changed, and how often the service takes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.diff.pairs import BASE, compared, setting

RAISED = "It can be raised at any time, and takes minutes."
LOWERED = (
    "It can be lowered four times per day (UTC) at any time, and once more in each hour without a decrease: at most"
    " 27 times per day."
)


@pytest.mark.parametrize(
    ("read", "write", "how", "phase"),
    [
        (6, 5, RAISED, "prepare"),
        (5, 6, RAISED, "prepare"),
        (6, 6, RAISED, "prepare"),
        (4, 5, LOWERED, "remove"),
        (5, 4, LOWERED, "remove"),
        (6, 4, LOWERED, "prepare"),
        (4, 6, LOWERED, "prepare"),
    ],
)
def test_capacity_is_raised_before_a_backfill_and_lowered_after_it(
    read: int, write: int, how: str, phase: str, tmp_path: Path
) -> None:
    def bought(read: int, write: int) -> str:
        old, new = setting(f"billing=Provisioned(read={read}, write={write})")
        text = BASE.replace(old, new, 1)
        return text.replace('sk="GSI1SK")', 'sk="GSI1SK", billing=Provisioned(read=1, write=1))').replace(
            'pk="state")', 'pk="state", billing=Provisioned(read=1, write=1))'
        )

    (change,) = compared(tmp_path, bought(5, 5), bought(read, write)).changes
    assert change.effects == how
    assert [step.phase for step in change.steps] == [phase]


def test_literal_requests_change_programs_only(tmp_path: Path) -> None:
    literal = BASE.replace(*setting("literal=True"), 1)
    (change,) = [
        found_change
        for found_change in compared(tmp_path, BASE, literal).changes
        if found_change.kind == "setting changed"
    ]
    assert change.verdict == "code"
    assert "requests of table app are literal" in change.summary
    (change,) = [
        found_change
        for found_change in compared(tmp_path, literal, BASE).changes
        if found_change.kind == "setting changed"
    ]
    assert "are no longer literal" in change.summary
