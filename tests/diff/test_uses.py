"""Programs that use what a design declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyplan.diff.programs import UnreadableProgramError, uses_of

PROGRAM = """import shop.design
import shop.design as plan
from shop import design
from shop.design import note, other
from .design import note as one
from elsewhere import note as stranger

shop.design.note("1")
plan.note("2")
design.note("3")
other.note("4")
design.keep("5")
"""


def test_imports_and_attributes_of_the_module_are_uses(tmp_path: Path) -> None:
    file = tmp_path / "service.py"
    file.write_text(PROGRAM)
    found = uses_of("design", ["note"], [tmp_path])
    assert sorted(use.place.line for use in found) == [4, 5, 8, 9, 10]
    assert {(use.name, use.place.file) for use in found} == {("note", str(file))}


def test_files_of_the_designs_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "service.py"
    file.write_text(PROGRAM)
    assert uses_of("design", ["note"], [tmp_path], [file]) == ()


@pytest.mark.parametrize(
    ("text", "problem"), [(None, "no such file"), ("x = (", "is no Python"), ("\0", "is no Python")]
)
def test_what_is_no_program_is_refused(text: str | None, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "service.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UnreadableProgramError, match=problem):
        uses_of("design", ["note"], [path])
