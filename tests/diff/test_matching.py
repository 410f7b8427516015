"""What belongs together: by name, and by what it is where only one of each side is so."""

from __future__ import annotations

from dataclasses import dataclass

from keyplan.diff.matching import matched


@dataclass(frozen=True)
class Thing:
    name: str
    shape: str | None = None


def names(pairs: tuple[tuple[Thing, Thing], ...]) -> list[tuple[str, str]]:
    return [(old.name, new.name) for old, new in pairs]


def test_names_come_first() -> None:
    found = matched([Thing("a", "x"), Thing("b", "y")], [Thing("b", "x"), Thing("c", "z")], lambda one: one.shape)
    assert names(found.kept) == [("b", "b")]
    assert [one.name for one in found.removed] == ["a"]
    assert [one.name for one in found.added] == ["c"]


def test_one_of_each_shape_is_renamed() -> None:
    found = matched([Thing("a", "x")], [Thing("b", "x")], lambda one: one.shape)
    assert names(found.renamed) == names(found.pairs) == [("a", "b")]
    assert not found.removed
    assert not found.added


def test_twins_and_what_has_no_shape_are_not() -> None:
    twins = matched([Thing("a", "x")], [Thing("b", "x"), Thing("c", "x")], lambda one: one.shape)
    assert (twins.renamed, len(twins.removed), len(twins.added)) == ((), 1, 2)
    formless = matched([Thing("a")], [Thing("b")], lambda one: one.shape)
    assert not formless.renamed


def test_of_two_of_one_name_the_first_counts() -> None:
    found = matched([Thing("a", "x"), Thing("a", "y")], [Thing("a", "z")])
    assert [(old.shape, new.shape) for old, new in found.kept] == [("x", "z")]
