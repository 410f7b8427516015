"""The order of a roll-out: what an index is created with comes first, what only cleans up comes last."""

from __future__ import annotations

from pathlib import Path

from tests.diff.pairs import BASE, compared, setting

from keyplan.diff.rollout import rollout


def phases(folder: Path, *edits: tuple[str, str]) -> dict[str, list[str]]:
    """By phase: the texts of its steps."""
    new = BASE
    for one, other in edits:
        assert one in new
        new = new.replace(one, other)
    return {stage.phase: [step.text for step in stage.steps] for stage in rollout(compared(folder, BASE, new))}


def test_nothing_has_no_steps(tmp_path: Path) -> None:
    assert phases(tmp_path) == {}


def test_programs_are_deployed_in_one_step(tmp_path: Path) -> None:
    told = phases(tmp_path, ("points: int = 0", "points: int = 1"), ("average=1)", "average=2)"))
    assert told == {"read": ["the new version: only programs change"]}


def test_a_billing_mode_is_switched_before_indexes_are_created(tmp_path: Path) -> None:
    told = phases(
        tmp_path,
        setting("billing=Provisioned(read=5, write=5)"),
        ('GSI("by_state", pk="state")', 'GSI("x_y", pk="points")'),
    )
    assert told == {
        "prepare": [
            "switch app and its indexes to provisioned capacity",
            "create index x_y, and wait until it is ACTIVE",
        ],
        "read": ["the new version, which reads x_y"],
        "remove": ["delete index by_state, once no version reads it"],
    }


def test_stored_items_are_rewritten_between_two_versions(tmp_path: Path) -> None:
    told = phases(tmp_path, ("    email: str", "    email: str\n    name: str"))
    assert told == {
        "write": ["a version that writes name of User in the new form and reads both"],
        "backfill": ["rewrite name of every stored User"],
        "read": ["the new version, which reads User in the new form only"],
    }


def test_a_table_that_is_copied_is_made_as_the_new_design_has_it(tmp_path: Path) -> None:
    added = 'GSI("by_state", pk="state"), LSI("of_points", sk="points"), GSI("by_points", pk="points")'
    told = phases(tmp_path, ('GSI("by_state", pk="state")', added), setting("deletion_protection=True"))
    assert told == {
        "prepare": ["create table app under another name, as the new design has it"],
        "write": ["a version that writes to app and to the new table"],
        "backfill": ["copy app into the new table: by export and import, or item by item"],
        "read": ["the new version, which reads the new table"],
        "remove": ["delete the old table app, once no version uses it"],
    }
