"""What belongs together: by name, and by what it is where only one of each side is so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.diff.pairs import BASE, compared

from keyplan.diff.matching import find_counterparts, match_declarations


@dataclass(frozen=True)
class Thing:
    name: str
    shape: str | None = None


def names(pairs: tuple[tuple[Thing, Thing], ...]) -> list[tuple[str, str]]:
    return [(old.name, new.name) for old, new in pairs]


def test_equal_names_match_first() -> None:
    matching = match_declarations(
        [Thing("a", "x"), Thing("b", "y")], [Thing("b", "x"), Thing("c", "z")], lambda table: table.shape
    )
    assert names(matching.same_name) == [("b", "b")]
    assert [table.name for table in matching.removed] == ["a"]
    assert [table.name for table in matching.added] == ["c"]


def test_a_single_lookalike_is_a_rename() -> None:
    matching = match_declarations([Thing("a", "x")], [Thing("b", "x")], lambda table: table.shape)
    assert names(matching.renamed) == names(matching.pairs) == [("a", "b")]
    assert not matching.removed
    assert not matching.added


def test_several_lookalikes_and_items_without_a_shape_are_not_renames() -> None:
    twins = match_declarations([Thing("a", "x")], [Thing("b", "x"), Thing("c", "x")], lambda table: table.shape)
    assert (twins.renamed, len(twins.removed), len(twins.added)) == ((), 1, 2)
    formless = match_declarations([Thing("a")], [Thing("b")], lambda table: table.shape)
    assert not formless.renamed


def test_the_first_of_two_equal_names_counts() -> None:
    matching = match_declarations([Thing("a", "x"), Thing("a", "y")], [Thing("a", "z")])
    assert [(old.shape, new.shape) for old, new in matching.same_name] == [("x", "z")]


def test_a_lookalike_is_the_only_one_with_its_shape() -> None:
    old, new = [Thing("a", "x"), Thing("b", "y"), Thing("c", "y")], [Thing("d", "x"), Thing("e", "y")]
    assert find_counterparts(old, new, lambda table: table.shape) == {"d": old[0]}


SAME = "It equals the removed by_state: an index cannot be renamed, so keep that name."
FIELD = "If this is {} renamed, add Attribute({!r}) to its annotation to keep the stored attribute."
LIKE = {
    "a required field": ("    email: str", "    mail: str", "User.mail was added", FIELD.format("email", "email")),
    "a field with a default": (
        "    note: str | None = None", "    remark: str | None = None",
        "Task.remark was added", FIELD.format("note", "note"),
    ),
    "an index": ('GSI("by_state"', 'GSI("of_state"', "index of_state was added", SAME),
    "a local index": (
        'GSI("by_state", pk="state"', 'LSI("of_state", sk="state"', "index of_state was added", SAME,
    ),
    "an entity of other fields": (
        "class User(Entity):\n", "class Person(Entity):\n    name: str\n", "entity Person was added",
        "If this is User renamed, rename it in one version",
    ),
    "an entity of another key": (
        '"META"), volume=Volume(count=100, bytes=Bytes(200)))\nclass User(', '"X"))\nclass Person(',
        "entity Person was added", "If this is User renamed, rename it in one version",
    ),
    "a table": (
        'Table("logs", pk="log_id")\n\n\n@logs.entity()\nclass Log(',
        'Table("lines", pk="log_id")\n\n\n@logs.entity()\nclass Line(',
        "table lines was added",
        "If this is logs renamed: a table cannot be renamed, so its items must be copied",
    ),
    "a pattern": (
        (
            "def due(user: str, day: date) -> KeyCondition:\n"
            "    \"\"\"What is due on a day.\"\"\"\n    return pk(user=user)"
        ),
        (
            "def of_day(who: str, day: date) -> KeyCondition:\n"
            "    \"\"\"What is due on a day.\"\"\"\n    return pk(user=who)"
        ),
        "pattern of_day was added",
        "If this is due renamed, its callers must change too. The new version rejects cursors",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LIKE)
def test_a_possible_rename_is_reported_with_the_required_steps(case: str, tmp_path: Path) -> None:
    was, now, message, hint = LIKE[case]
    old, new = BASE, BASE.replace(was, now).replace("(User)", "(Person)" if "class Person" in now else "(User)")
    if case == "a local index":
        old = old.replace('GSI("by_state", pk="state"', 'LSI("by_state", sk="state"')
    new = new.replace("[User]", "[Person]" if "class Person" in now else "[User]")
    (change,) = (candidate for candidate in compared(tmp_path, old, new).changes if message in candidate.summary)
    assert hint in change.effects


def test_several_lookalikes_are_not_guessed(tmp_path: Path) -> None:
    new = BASE.replace("    email: str", "    mail: str\n    name: str")
    assert "under another name" not in "".join(change.effects for change in compared(tmp_path, BASE, new).changes)


def test_a_field_with_the_same_position_in_the_key_is_renamed(tmp_path: Path) -> None:
    new = BASE.replace('key("USER#{user}", "META")', 'key("USER#{person}", "META")').replace(
        "class User(Entity):\n    user: str", "class User(Entity):\n    person: str"
    )
    new = new.replace("def user(user: str) -> ItemKey", "def user(person: str) -> ItemKey").replace(
        "item(user=user)\n\n\n@app.update", "item(person=person)\n\n\n@app.update"
    )
    assert "under another name" not in "".join(
        change.effects for change in compared(tmp_path, BASE, new).changes if change.subject == "User"
    )
