"""The history of former rows: content, order and duration."""

from __future__ import annotations

from keyplan.engine.faults.stale_reads import History
from keyplan.engine.store import statements

TREE = statements.tree(1)


def content(number: int) -> tuple[int, bytes]:
    return 1, b"%d" % number


def test_a_row_between_two_changes_has_its_old_content() -> None:
    history = History(100)
    history.record(TREE, b"k", None, 10)
    history.record(TREE, b"k", content(1), 20)
    now = content(2)
    assert history.content_at(TREE, b"k", 5, now) is None
    assert history.content_at(TREE, b"k", 10, now) == content(1)
    assert history.content_at(TREE, b"k", 15, now) == content(1)
    assert history.content_at(TREE, b"k", 20, now) == now
    assert history.content_at(TREE, b"other", 5, now) == now


def test_old_changes_are_discarded() -> None:
    history = History(100)
    history.record(TREE, b"k", content(1), 0)
    history.record(TREE, b"other", content(1), 101)
    assert history.content_at(TREE, b"k", -1, content(2)) == content(2)
    assert history.changed_rows(TREE, b"", None, -1) == {b"other": content(1)}


def test_changes_are_found_by_span() -> None:
    history = History(100)
    for key in (b"a", b"b", b"c"):
        history.record(TREE, key, None, 10)
    assert history.changed_rows(TREE, b"a", b"c", 5) == {b"a": None, b"b": None}
    assert history.changed_rows(TREE, b"a", b"c", 10) == {}
    assert history.changed_rows(statements.tree(2), b"", None, 5) == {}
