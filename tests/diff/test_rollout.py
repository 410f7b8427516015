"""The order of a roll-out: of two versions that run side by side each reads what the other writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.diff.pairs import BASE, PAIRS, Pair, compared, setting
from tests.diff.samples import is_read, pairs_of, written

from keyplan.client.codec import Reader
from keyplan.design.entities import EntitySpec
from keyplan.design.requests.items import ItemBuilder
from keyplan.diff.changes import DesignChange
from keyplan.diff.comparison import rollout


def phases(folder: Path, *edits: tuple[str, str]) -> dict[str, list[str]]:
    """By phase: the texts of its steps."""
    new = BASE
    for before, other in edits:
        assert before in new
        new = new.replace(before, other)
    return {stage.phase: [step.text for step in stage.steps] for stage in rollout(compared(folder, BASE, new))}


def test_equal_designs_have_no_steps(tmp_path: Path) -> None:
    assert phases(tmp_path) == {}


def test_programs_are_deployed_in_one_step(tmp_path: Path) -> None:
    stages = phases(tmp_path, ("points: int = 0", "points: int = 1"), ("average=1)", "average=2)"))
    assert stages == {"read": ["the new version: only programs change"]}


def test_a_billing_mode_is_switched_before_indexes_are_created(tmp_path: Path) -> None:
    stages = phases(
        tmp_path,
        setting("billing=Provisioned(read=5, write=5)"),
        ('GSI("by_state", pk="state")', 'GSI("x_y", pk="points")'),
    )
    assert stages == {
        "prepare": [
            "switch app and its indexes to provisioned capacity",
            "create index x_y, and wait until it is ACTIVE",
        ],
        "read": ["the new version, which reads x_y"],
        "remove": ["delete index by_state when no version reads it"],
    }


def test_stored_items_are_rewritten_between_two_versions(tmp_path: Path) -> None:
    stages = phases(tmp_path, ("    email: str", "    email: str\n    name: str"))
    assert stages == {
        "write": ["a version that writes name of User in the new form, and reads both"],
        "backfill": ["rewrite name of every stored User"],
        "read": ["the new version, which reads name of User only in the new form"],
    }


_NAMED = ('GSI("by_state", pk="state")', 'GSI("by_state", pk="state"), GSI("by_name", pk="name")')
_NAME = ("    email: str", "    email: str\n    name: str")


@pytest.mark.parametrize("old", [BASE, BASE.replace(*_NAMED)], ids=["of a new index", "of one that is there"])
def test_a_new_field_that_is_a_key_of_an_index_is_written_once(old: str, tmp_path: Path) -> None:
    new = BASE.replace(*_NAMED).replace(*_NAME)
    actual = {stage.phase: [step.text for step in stage.steps] for stage in rollout(compared(tmp_path, old, new))}
    assert actual["write"] == ["a version that writes name of User in the new form, and reads both"]
    assert actual["backfill"] == ["rewrite name of every stored User"]


def test_a_required_field_with_fewer_values_is_written_once(tmp_path: Path) -> None:
    stages = phases(tmp_path, ("note: str | None = None", "note: Annotated[str, Field(max_length=5)]"))
    assert stages == {
        "write": ["a version that writes note of Task in the new form, and reads both"],
        "backfill": ["rewrite note of every stored Task"],
        "read": ["the new version, which reads note of Task only in the new form"],
    }


COPY = (
    "put each item of app into the new table as the new version writes it, in one transaction, if it does not"
    " exist there and still exists in app"
)


def test_a_copied_table_is_created_as_the_new_design_declares_it(tmp_path: Path) -> None:
    added = 'GSI("by_state", pk="state"), LSI("of_points", sk="points"), GSI("by_points", pk="points")'
    stages = phases(tmp_path, ('GSI("by_state", pk="state")', added), setting("deletion_protection=True"))
    assert stages == {
        "prepare": ["create table app under a new name, as the new design declares it"],
        "write": ["a version that writes to app and to the new table in one transaction, and reads app"],
        "backfill": [
            COPY,
        ],
        "switch": ["a version that reads the new table, and still writes to both"],
        "read": ["the new version, which uses only the new table"],
        "remove": ["delete the old table app when no version uses it"],
    }


NEWLY_WRITTEN: dict[tuple[str, str], dict[str, Any]] = {
    ("None is allowed", ""): {"email": None},
    ("no more None", ""): {"note": "x"},
    ("a field is required", ""): {"name": "Ada"},
    ("another name", ""): {"mail": "ada@example.org"},
    ("a part is required", ""): {"place": {"city": "Ulm", "street": "Neue"}},
    ("a part is required", "back"): {"place": {"city": "Ulm"}},
    ("a value more", ""): {"state": "late"},
    ("a narrower range", ""): {"points": 5},
    ("the key's type", ""): {"log_id": "7"},
    ("another type", ""): {"points": "5"},
    ("another type", "back"): {"points": 5},
}
"""By pair and direction: values that only the new version writes, or needs."""
READ_OTHERWISE = {
    ("another attribute", ""),
    ("another attribute", "back"),
    ("another type", ""),
    ("another type", "back"),
    ("unique", ""),
}
"""Where the old version reads new items, and misses something: a value that it compares, a sentinel that it leaves."""


@pytest.mark.parametrize("way", ["", "back"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_values_that_the_old_version_cannot_read_are_written_after_it_stops(
    pair: Pair, way: str, tmp_path: Path
) -> None:
    """A version that reads both forms is between the old one and the first that writes the new form, and only then."""
    sources = (pair.source, BASE) if way else (BASE, pair.source)
    comparison = compared(tmp_path, *sources)
    for old, new in pairs_of(comparison):
        names = [new.name, *(bound.index.name for bound in old.indexes if bound.index is not None)]
        changes = [change for change in comparison.changes if change.subject in names]
        items = written(new, **NEWLY_WRITTEN.get((pair.name, way), {}))
        assert items, "the samples say nothing"
        if any(change.verdict == "new table" for change in comparison.changes if change.table == new.schema.name):
            continue
        expected = not (is_read(old, items) and all(is_found(old, item) for item in items))
        expected |= bool(changes) and (pair.name, way) in READ_OTHERWISE
        assert is_accepted_first(changes) == expected, new.name


def is_found(spec: EntitySpec, item: dict[str, Any]) -> bool:
    """Whether an item lies where an entity looks for it, in the table and in each index."""
    again = ItemBuilder(spec).item(Reader(spec).entity(item))
    names = [part.attribute for bound in (spec.key, *spec.indexes) for part in bound.attributes]
    return all(again.get(name) == item.get(name) for name in names)


def is_accepted_first(changes: list[DesignChange]) -> bool:
    return any(step.phase == "accept" for change in changes for step in change.steps)
