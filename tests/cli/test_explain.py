"""`keyplan explain`: a pattern or consumer named by file or module, and a whole design."""

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


def test_an_invalid_pattern_is_explained_by_its_fault(tmp_path: Path) -> None:
    source = FAULTY.replace("return pk(active=True)", "return pk().sk(flag_id=name)").replace(
        "active_flags()", "named(name: str)"
    )
    result = run("explain", design(tmp_path, source) + ":named")
    assert result.exit_code == 0
    assert "none, because the pattern has a fault (see below)" in result.stdout
    assert "error[KP301]: " in result.stdout


def test_an_unknown_pattern_is_rejected_with_the_known_names(tmp_path: Path) -> None:
    result = run("explain", design(tmp_path, NOTES) + ":nothing")
    assert result.exit_code == 2
    assert "plan has no pattern nothing; it has note, of_owner, keep" in result.stderr


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("note", "note cannot be imported"),
        ("plan.py", "plan.py: file not found"),
        ("folder/plan.py", "folder/plan.py: file not found"),
        ("no.such.pattern", "no.such cannot be imported"),
        ("plan.py:", "give a name after the colon: file.py:pattern"),
    ],
)
def test_a_missing_target_is_rejected(target: str, reason: str) -> None:
    result = run("explain", target)
    assert result.exit_code == 2
    assert reason in result.stderr


def test_a_file_is_explained_as_a_table_of_its_patterns(tmp_path: Path) -> None:
    result = run("explain", design(tmp_path, NOTES))
    assert result.exit_code == 0
    assert result.stdout.startswith("plan: 3 patterns, $5.58 per month (us-east-1, prices of ")
    assert "  of_owner  Query           1.0 R     0.66         -\n" in result.stdout


def test_a_module_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "explained_package"
    folder.mkdir()
    design(folder, NOTES, "shop.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run("explain", "explained_package.shop").stdout.startswith("shop: 3 patterns, ")
    assert run("explain", "explained_package.shop.note").stdout.startswith("note: GetItem on table notes")


CONSUMER = """
@notes.on_change(Note, batch=50, retries=4, on_failure="lost")
def index_text(change: Inserted[Note]) -> None:
    \"\"\"Add the text to the search index.\"\"\"
"""


def test_a_consumer_is_explained(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES + CONSUMER)
    result = run("explain", f"{path}:index_text")
    assert result.exit_code == 0
    assert result.stdout.startswith("index_text: consumer of the stream of table notes (Note)\n")
    refused = run("explain", f"{path}:nothing")
    assert "it has note, of_owner, keep; consumers: index_text" in refused.stderr


@pytest.mark.parametrize("name", ["missing.py", "syntax.py", "empty.py"])
def test_a_target_that_is_not_a_design_is_rejected(name: str, tmp_path: Path) -> None:
    target, code, text = bad_target(tmp_path, name)
    result = run("explain", f"{target}:pattern")
    assert result.exit_code == code
    assert text in result.stderr


def test_a_region_without_prices_is_rejected(tmp_path: Path) -> None:
    result = run("explain", design(tmp_path, NOTES) + ":note", "--region", "mars-1")
    assert result.exit_code == 2
    assert "no prices are included for mars-1" in result.stderr
