"""An index with a changed key is created again, and both keys are written until the old one is deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.diff.pairs import BASE, compared

DUE = 'GSI("due", pk="GSI1PK", sk="GSI1SK")'
BY_STATE = 'GSI("by_state", pk="state")'
KEYS = '"due": key("DUE#{user}", "{due}")'


@pytest.mark.parametrize(
    ("edits", "index", "write"),
    [
        (
            [(DUE, 'GSI("due", pk="GSI2PK", sk="GSI2SK")')],
            "due",
            "GSI2PK, GSI2SK of Task, and still writes GSI1PK, GSI1SK",
        ),
        ([(DUE, 'GSI("due", pk="GSI1PK", sk="GSI2SK")')], "due", "GSI2SK of Task, and still writes GSI1SK"),
        (
            [(BY_STATE, 'GSI("by_state", pk="GSI3PK")'), (KEYS, f'{KEYS}, "by_state": key("S#{{state}}")')],
            "by_state",
            "GSI3PK of Task",
        ),
    ],
    ids=["both", "one", "of a field"],
)
def test_keys_of_a_recreated_index_are_written_next_to_the_old_ones(
    edits: list[tuple[str, str]], index: str, write: str, tmp_path: Path
) -> None:
    text = BASE
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    comparison = compared(tmp_path, BASE, text)
    (created,) = comparison.changes_of("index changed in place")
    assert created.subject == index
    (keys,) = (change for change in comparison.changes_of("key changed") if change.facts["index"] == index)
    missing, _, kept_part = write.partition(" of Task")
    assert keys.summary == f"stored items of Task do not have {missing}, their key in index {index}"
    assert [(step.phase, step.text) for step in keys.steps] == [
        ("write", f"a version that writes {write}"),
        ("backfill", f"set {missing} of every stored Task"),
        *(
            [
                (
                    "read",
                    f"the new version, which no longer writes {kept_part.removeprefix(', and still writes ')} of Task",
                )
            ]
            if kept_part
            else ()
        ),
    ]
