"""`keyplan docs`: a design as a document, printed or written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.running import NOT_DESIGNS, NOTES, bad_target, design, run


def test_the_document_is_printed(tmp_path: Path) -> None:
    result = run("docs", design(tmp_path, NOTES))
    assert result.exit_code == 0
    assert result.stdout.startswith("# plan\n\n## Table `notes`\n")
    for heading in (
        "### Indexes",
        "### Entity chart",
        "### Note",
        "## Access patterns",
        "## Monthly cost",
        "## Findings",
    ):
        assert f"\n{heading}\n" in result.stdout
    assert "| `note`: One note. | GetItem | notes | note_id = {note_id} |  | 0.5 read | 0.5 RCU |" in result.stdout


def test_the_document_is_written_to_a_file(tmp_path: Path) -> None:
    path, target = design(tmp_path, NOTES), tmp_path / "notes.md"
    printed = run("docs", path).stdout
    result = run("docs", path, "--output", str(target))
    assert target.read_text() == printed
    assert result.stdout == f"{target}: {len(printed.splitlines())} lines\n"


def test_the_page_is_written_to_a_file(tmp_path: Path) -> None:
    path, target = design(tmp_path, NOTES), tmp_path / "notes.html"
    printed = run("docs", path, "--html").stdout
    assert printed.startswith("<!DOCTYPE html>\n")
    assert printed.endswith("</html>\n")
    assert '<svg class="diagram" role="img"' in printed
    assert run("docs", path, "--html", "--output", str(target)).exit_code == 0
    assert target.read_text(encoding="utf-8") == printed


@pytest.mark.parametrize("name", NOT_DESIGNS)
def test_a_target_that_is_not_a_design_has_no_page(name: str, tmp_path: Path) -> None:
    target, code, text = bad_target(tmp_path, name)
    result = run("docs", target, "--html")
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr


def test_an_unwritable_file_is_an_error(tmp_path: Path) -> None:
    result = run("docs", design(tmp_path, NOTES), "-o", str(tmp_path / "no" / "notes.md"))
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


def test_a_region_without_prices_is_rejected(tmp_path: Path) -> None:
    assert run("docs", design(tmp_path, NOTES), "--region", "mars-1").exit_code == 2
