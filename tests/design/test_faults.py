"""What cannot work is declared all the same, and each fault says where, why and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.design.declared import Case, cases, declare, faults_of

from keyplan import DesignError
from keyplan.design.keys.overlaps import keys_overlap

HERE = Path(__file__).parent / "faults"
CASES = [(page.stem, case) for page in sorted(HERE.glob("*.md")) for case in cases(page)]


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{page}: {case.name}") for page, case in CASES])
def test_an_invalid_design_is_reported(case: Case, tmp_path: Path) -> None:
    assert faults_of(case.code, tmp_path) == case.told


def test_every_fault_has_a_code_a_caret_and_a_fix() -> None:
    assert len(CASES) > 25
    for _, case in CASES:
        for part in case.told.split("\n\n"):
            assert part.startswith("error[KP")
            assert "^" in part
            assert part.strip().splitlines()[-1].startswith("fix: ")


TWO_KEYS = """
app = Table("app", pk="PK", sk="SK")

@app.entity(key=key("USER#{name}", "{what}"))
class Note(Entity):
    name: str
    what: str

@app.entity(key=key("USER#{user_id}", "PROFILE"))
class User(Entity):
    user_id: str

@app.entity(key=key("TEAM#{team_id}", "PROFILE"))
class Team(Entity):
    team_id: str
"""


def test_the_algebra_finds_entities_that_can_have_the_same_key(tmp_path: Path) -> None:
    module = declare(TWO_KEYS, tmp_path / "design.py")
    note, user, team = ([part.template for part in module.app.entities[number].key.attributes] for number in range(3))
    overlap = keys_overlap(note, user)
    assert overlap is not None
    assert overlap.texts[1] == "PROFILE"
    assert keys_overlap(user, team) is None
    assert keys_overlap(note, team) is None


def test_a_fault_is_an_error_with_its_code(tmp_path: Path) -> None:
    module = declare(CASES[0][1].code, tmp_path / "design.py")
    (fault,) = module.app.patterns[0].plan.faults
    error = fault.error()
    assert isinstance(error, DesignError)
    assert (error.code, error.problem, error.fix, error.other) == (fault.code, fault.problem, fault.fix, fault.other)
