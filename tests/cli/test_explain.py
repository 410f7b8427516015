"""`keyplan explain`: a pattern named by file or module."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.running import FAULTY, NOTES, bad_target, design, run


def test_a_pattern_of_a_file_is_explained(tmp_path: Path) -> None:
    result = run("explain", design(tmp_path, NOTES) + ":of_owner")
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "of_owner: Query on index by_owner of table notes (Note)\n  The notes of somebody.\n"
    )
    assert '"KeyConditionExpression": "#owner = :owner"' in result.stdout
    assert "20.0 items read for 20.0 returned" in result.stdout


def test_a_pattern_of_a_module_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design(tmp_path, NOTES, "explained_notes.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run("explain", "explained_notes.note").stdout.startswith("note: GetItem on table notes")


def test_a_pattern_that_cannot_work_says_why(tmp_path: Path) -> None:
    source = FAULTY.replace("return pk(active=True)", "return pk().sk(flag_id=name)").replace(
        "active_flags()", "named(name: str)"
    )
    result = run("explain", design(tmp_path, source) + ":named")
    assert result.exit_code == 0
    assert "none, because the pattern has a fault (see below)" in result.stdout
    assert "error[KP301]: " in result.stdout


def test_a_pattern_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    result = run("explain", design(tmp_path, NOTES) + ":nothing")
    assert result.exit_code == 2
    assert "plan has no pattern nothing; it has note, of_owner, keep" in result.stderr


@pytest.mark.parametrize("target", ["note", "plan.py", "folder/plan.py"])
def test_a_target_without_a_pattern_is_refused(target: str) -> None:
    result = run("explain", target)
    assert result.exit_code == 2
    assert "name a pattern as module.pattern or file.py:pattern" in result.stderr


@pytest.mark.parametrize("name", ["missing.py", "syntax.py", "empty.py"])
def test_a_target_that_is_no_design_is_refused(name: str, tmp_path: Path) -> None:
    target, code, text = bad_target(tmp_path, name)
    result = run("explain", f"{target}:pattern")
    assert result.exit_code == code
    assert text in result.stderr


def test_a_region_without_prices_is_refused(tmp_path: Path) -> None:
    result = run("explain", design(tmp_path, NOTES) + ":note", "--region", "mars-1")
    assert result.exit_code == 2
    assert "no prices are included for mars-1" in result.stderr
