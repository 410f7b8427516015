"""What is said of an entity's version."""

from __future__ import annotations

from pathlib import Path

from tests.diff.pairs import BASE, compared

VERSIONED = BASE.replace("    until: int", "    version: int = 0\n    until: int").replace(
    "items=Items(count=1_000", 'version="version", items=Items(count=1_000'
)


def test_a_version_that_comes_is_counted_before_it_is_relied_on(tmp_path: Path) -> None:
    (change,) = compared(tmp_path, BASE, VERSIONED).of("version changed")
    assert change.what == "Task counts its changes in version"
    assert [(step.phase, step.text) for step in change.steps] == [
        ("write", "a version that counts the changes of Task in version, and does not rely on it"),
        ("read", "the new version, which relies on version of Task"),
    ]


def test_a_version_that_goes_takes_its_protection_with_it(tmp_path: Path) -> None:
    (change,) = compared(tmp_path, VERSIONED, BASE).of("version changed")
    assert change.what == "Task has no version any more"
    assert change.how == "Writes of both versions may overwrite one another."
    assert change.steps == ()
