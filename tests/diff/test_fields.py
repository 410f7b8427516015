"""What is said of a field: what is read, by which version, and what stored items are read with."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.diff.pairs import compared

from keyplan.diff.changes import DesignChange

LOANS = """from __future__ import annotations

from typing import Annotated, Literal

from pydantic import field_validator

from keyplan import *

loans = Table("loans", pk="PK", sk="SK")


@loans.entity(
    key=key("LOAN#{state}", "{number}"),
    volume=Volume(count=1_000, bytes=Bytes(500), distinct={"state": {"out": 0.25, "back": 0.75}}),
)
class Loan(Entity):
    number: int
    state: Literal["out", "back"]
    FIELDS


@loans.replace(Loan)
def keep(loan: Loan) -> ItemWrite:
    '''Keep a loan.'''
    return item(loan)
"""


def change_of(folder: Path, old: str, new: str, *edits: tuple[str, str]) -> DesignChange:
    after = LOANS.replace("FIELDS", new)
    for before, other in edits:
        assert before in after
        after = after.replace(before, other)
    (change,) = compared(folder, LOANS.replace("FIELDS", old), after).changes
    return change


@pytest.mark.parametrize(
    ("old", "new", "without"),
    [
        ("note: str | None = None", 'note: str = "none"', "are read with 'none'"),
        ("fee: int = 1", "fee: int = 2", "are read with 2"),
        ("fee: int = 1", "fee: int", "cannot be read"),
    ],
)
def test_an_item_without_a_value_is_read_with_the_new_default(old: str, new: str, without: str, tmp_path: Path) -> None:
    assert change_of(tmp_path, old, new).effects == f"Stored items keep their value; items without one {without}."


def test_a_key_with_a_removed_value_is_moved(tmp_path: Path) -> None:
    change = change_of(tmp_path, "...", "...", ('Literal["out", "back"]', 'Literal["back", "kept"]'))
    assert (change.kind, change.verdict) == ("values narrowed", "backfill")
    assert [step.phase for step in change.steps] == ["accept", "write", "backfill", "read"]
    find = change.steps[2]
    assert find.operation == "TransactWriteItems"
    assert find.text.endswith("put the item under another key and delete it under the old one, in one transaction")


def test_stored_values_that_a_new_validator_may_reject_are_searched(tmp_path: Path) -> None:
    validator = (
        "fee: int = 1\n\n    @field_validator('fee')\n    def fits(cls, value: int) -> int:\n        return value"
    )
    change = change_of(tmp_path, "fee: int = 1", validator)
    assert (change.kind, change.verdict) == ("values narrowed", "code")
    assert [step.phase for step in change.steps] == ["write", "backfill", "read"]


def test_a_field_that_whole_item_writes_would_lose_is_kept_before_it_is_written(tmp_path: Path) -> None:
    change = change_of(tmp_path, "...", "fee: int = 1")
    assert "its keep put whole items without the field" in change.effects
    assert [(step.phase, step.text) for step in change.steps] == [
        ("accept", "a version that keeps fee of Loan if an item has it"),
        ("read", "the new version, which writes fee of Loan"),
    ]


def test_a_field_that_writes_set_from_now_on_changes_programs_only(tmp_path: Path) -> None:
    plain, timed = "made: datetime", "made: datetime = Created()"
    header = ("from typing import", "from datetime import datetime\nfrom typing import")
    loans = LOANS.replace(*header)
    (change,) = compared(tmp_path, loans.replace("FIELDS", plain), loans.replace("FIELDS", timed)).changes
    assert (change.kind, change.verdict) == ("field changed", "code")
    assert change.summary == "Loan.made is now set to the time when the item was created, instead of set by programs"
    assert change.effects.endswith("While the old version runs, its writes do not set made.")
    (change,) = compared(tmp_path, loans.replace("FIELDS", timed), loans.replace("FIELDS", plain)).changes
    assert change.summary == "Loan.made is now set by programs, instead of set to the time when the item was created"


def test_a_new_field_that_writes_set_must_be_written_into_stored_items_first(tmp_path: Path) -> None:
    loans = LOANS.replace("from typing import", "from datetime import datetime\nfrom typing import")
    added = loans.replace("FIELDS", "made: datetime = Created()")
    (change,) = compared(tmp_path, loans.replace("FIELDS", ""), added).changes
    assert (change.kind, change.verdict) == ("field missing", "backfill")
