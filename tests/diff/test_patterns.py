"""What is said of patterns that change: cursors that are out, uses of what is gone, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.diff.pairs import BASE, compared

REFUSED = " The new version rejects cursors of the old version: their readers start again."
QUERY = '@app.query(Task, index="due", rate=Rate(average=2))'
BODY = "pk(user=user).sk(due=day)"


ANOTHER = '''@app.get(User)
def another(user: str) -> ItemKey:
    """Another."""
    return item(user=user)


@app.on_change'''


def edited(*edits: tuple[str, str]) -> str:
    text = BASE
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize(
    ("edits", "refused"),
    [
        ([(QUERY, QUERY.replace("rate", "descending=True, rate"))], True),
        ([('index="due", ', ""), (BODY, "pk(user=user).filter(F.due == day)")], True),
        ([("def due(", "def due_on(")], True),
        ([(BODY, "pk(user=user).sk.lte(due=day)")], False),
        ([(BODY, f"{BODY}.filter(F.points > 3)")], False),
        ([(QUERY, QUERY.replace("rate", "limit=5, rate"))], False),
        ([("def user(user: str)", "def a_user(user: str)")], False),
        ([("@app.get(User)", "@app.get(User, consistent=True)")], False),
    ],
    ids=["direction", "index", "name", "range", "filter", "limit", "name of a get", "a get"],
)
def test_cursors_of_a_changed_pattern_are_rejected(edits: list[tuple[str, str]], refused: bool, tmp_path: Path) -> None:
    (change,) = compared(tmp_path, BASE, edited(*edits)).changes
    assert change.kind in {"pattern changed", "pattern renamed"}
    assert change.effects.endswith(REFUSED) is refused


def test_a_pattern_that_no_longer_has_pages_has_no_cursors(tmp_path: Path) -> None:
    (change,) = compared(tmp_path, BASE, edited((QUERY, QUERY.replace("query", "count")))).changes
    assert "kind (query to count)" in change.summary
    assert REFUSED not in change.effects


def test_a_removed_pattern_is_reported_at_its_table_with_its_uses(tmp_path: Path) -> None:
    user = BASE[BASE.index("@app.get(User)") : BASE.index("@app.update(Task")]
    comparison = compared(tmp_path, BASE, edited((user, "")))
    (removed,) = comparison.changes_of("pattern removed")
    assert removed.effects == "Nothing in the old design uses it."
    assert removed.place == comparison.new.tables[0].schema.place
    assert removed.other == comparison.old.pattern("user").place
    due = BASE[BASE.index("@app.query(Task") : BASE.index("@app.get(User)")]
    (removed,) = compared(tmp_path, BASE, edited((due, ""))).changes_of("pattern removed")
    assert removed.effects == "In the old design, its rate is 2 calls per second (2 at the peak)."


def test_a_new_pattern_is_reported_at_its_own_line(tmp_path: Path) -> None:
    comparison = compared(tmp_path, BASE, edited(("@app.on_change", ANOTHER)))
    (added,) = comparison.changes_of("pattern added")
    assert added.place == comparison.new.pattern("another").place


def test_changing_add_to_subtract_is_a_pattern_change(tmp_path: Path) -> None:
    old, new = (edited(('.set(state="held")', f".{word}(points=2)")) for word in ("add", "subtract"))
    (change,) = compared(tmp_path, old, new).changes
    assert (change.kind, change.subject) == ("pattern changed", "hold")
    assert "changes" in change.summary
    assert not compared(tmp_path, new, new).changes
