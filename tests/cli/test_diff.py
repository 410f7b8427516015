"""`keyplan diff`: changes by verdict, the roll-out, prices, findings; an invalid design is refused in one line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.running import HEAD, NOT_DESIGNS, NOTES, bad_target, design, run

from keyplan.cost.prices import book

STATE = NOTES.replace("    text: str\n", '    text: str\n    state: Literal["open", "done"] = "open"\n')
KEYS = NOTES.replace("note_id: str", "note_id: int")
INDEX = NOTES.replace(
    'GSI("by_owner", pk="owner", sk="at")', 'GSI("by_owner", pk="owner", sk="at"), GSI("by_time", pk="at")'
)
EXPECTED = """needs a backfill:
  + notes: index by_time was added: at; projects all attributes
      The service fills it while the table stays available, and bills the writes but not the reads.
      It can be queried when it is ACTIVE.
      Backfill by the service: 1,000 entries, 1,000 write units, $0.00, 1 s at best.

only code:
  - notes: pattern of_owner was removed
      In the old design, its rate is 2 calls per second (2 at the peak).

roll-out:
  1. change tables
     - create index by_time, and wait until it is ACTIVE (UpdateTable)
       index by_time: backfill by the service: 1,000 entries, 1,000 write units, $0.00, 1 s at best
  2. deploy the new version
     - the new version, which reads by_time

monthly cost (us-east-1, prices of {dated}):
"""


def both(folder: Path, old: str, new: str) -> tuple[str, str]:
    return design(folder, old, "old.py"), design(folder, new, "new.py")


def without_query(source: str) -> str:
    return source[: source.index("@notes.query")] + source[source.index("@notes.put") :]


def test_changes_steps_prices_and_findings_are_printed(tmp_path: Path) -> None:
    result = run("diff", *both(tmp_path, NOTES, without_query(INDEX)))
    assert result.exit_code == 0
    assert result.stdout.startswith(EXPECTED.format(dated=book().dated))
    assert [line.partition(":")[0] for line in result.stdout.splitlines() if line.startswith("warning[")] == [
        "warning[KP909]",
        "warning[KP910]",
    ]
    assert result.stdout.endswith("new: 0 errors, 2 warnings, 0 advice\n")
    prices = [line.split() for line in result.stdout.splitlines() if line.startswith("  total")]
    assert [len(cells) for cells in prices] == [4]


def test_equal_designs_have_no_changes(tmp_path: Path) -> None:
    result = run("diff", *both(tmp_path, NOTES, NOTES))
    assert (result.exit_code, result.stdout) == (
        0,
        "new: the two designs are the same.\n\nnew: 0 errors, 0 warnings, 0 advice\n",
    )


def test_errors_exit_with_1(tmp_path: Path) -> None:
    result = run("diff", *both(tmp_path, NOTES, KEYS))
    assert result.exit_code == 1
    assert "error[KP902]: the primary key of table notes changed from note_id (S) to note_id (N)" in result.stdout


def test_json_contains_changes_backfills_and_steps(tmp_path: Path) -> None:
    result = run("diff", "--format", "json", *both(tmp_path, NOTES, INDEX))
    document = json.loads(result.stdout)
    (change,) = document["changes"]
    assert (change["kind"], change["verdict"], change["subject"]) == ("index added", "backfill", "by_time")
    assert change["place"] == {"file": str(tmp_path / "new.py"), "line": 6}
    assert document["backfills"][0]["index_write_units"] == {"by_time": 1_000}
    request = document["rollout"][0]["steps"][0]["request"]
    assert request["GlobalSecondaryIndexUpdates"][0]["Create"]["IndexName"] == "by_time"
    assert document["prices"]["total"]["difference"] == pytest.approx(
        document["prices"]["total"]["new"] - document["prices"]["total"]["old"]
    )
    assert [finding["code"] for finding in document["findings"]] == ["KP909"]


def test_sarif_has_the_rules_of_changes(tmp_path: Path) -> None:
    result = run("diff", "--format", "sarif", *both(tmp_path, NOTES, KEYS))
    (log,) = json.loads(result.stdout)["runs"]
    assert [rule["id"] for rule in log["tool"]["driver"]["rules"]] == ["KP902", "KP907"]
    assert log["results"][0]["relatedLocations"]


def test_findings_are_suppressed_in_the_new_design(tmp_path: Path) -> None:
    reason = 'suppressed = [suppress("KP909", on="by_time", reason="it is filled at night, by hand")]\n'
    old, new = both(tmp_path, NOTES, reason + INDEX)
    assert run("diff", old, new).stdout.endswith("new: 0 errors, 0 warnings, 0 advice, 1 suppressed\n")
    assert "KP909" not in run("check", new).stdout, "whether it is of use shows when two designs are compared"
    assert "KP909 is suppressed for by_time, but the rule finds nothing there" in run("diff", new, new).stdout


def test_programs_that_use_a_dropped_pattern_are_errors(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "service.py").write_text("from shop.new import note, of_owner\n")
    result = run("diff", *both(tmp_path, NOTES, without_query(NOTES)), "--uses", str(programs))
    assert result.exit_code == 1
    assert "error[KP910]: pattern of_owner was removed, and is still used" in result.stdout
    assert f"{programs / 'service.py'}:1" in result.stdout


def test_unreadable_programs_are_rejected(tmp_path: Path) -> None:
    result = run("diff", *both(tmp_path, NOTES, NOTES), "--uses", str(tmp_path / "none"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"keyplan diff: {tmp_path / 'none'}: file or folder not found\n"


@pytest.mark.parametrize("name", NOT_DESIGNS)
@pytest.mark.parametrize("is_old", [True, False])
def test_a_target_that_is_not_a_design_is_rejected(name: str, is_old: bool, tmp_path: Path) -> None:
    target, code, text = bad_target(tmp_path, name)
    good = design(tmp_path, NOTES)
    result = run("diff", *([target, good] if is_old else [good, target]))
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_a_region_without_prices_is_rejected(tmp_path: Path) -> None:
    result = run("diff", *both(tmp_path, NOTES, NOTES), "--region", "mars-1")
    assert result.exit_code == 2
    assert result.stderr.startswith("keyplan diff: no prices are included for mars-1")


def test_a_design_file_that_shares_its_table_module_with_the_old_version_is_rejected(tmp_path: Path) -> None:
    entities, _, patterns = NOTES.partition("@notes.get")
    (tmp_path / "entities.py").write_text(HEAD + entities)
    imports = "from entities import Note, notes\n\n@notes.get"
    result = run("diff", *both(tmp_path, imports + patterns, imports + patterns))
    assert result.exit_code == 2
    assert result.stderr == (
        f"keyplan diff: both designs import table notes from {tmp_path / 'entities.py'}: check out the whole old"
        " version (git worktree add ../old HEAD), and pass the design in it\n"
    )


def test_files_imported_by_both_designs_are_reported(tmp_path: Path) -> None:
    (tmp_path / "kinds.py").write_text('from typing import Literal\n\nKind = Literal["a", "b"]\n')
    source = "from kinds import Kind\n" + NOTES.replace("text: str", "text: Kind")
    result = run("diff", *both(tmp_path, source, source))
    assert result.exit_code == 0
    assert result.stderr == f"keyplan diff: both designs import {tmp_path / 'kinds.py'}: its changes are not compared\n"


def test_the_old_version_of_a_file_is_read_from_git(tmp_path: Path) -> None:
    path = Path(design(tmp_path, NOTES, "design.py"))
    git = [
        "git",
        "-C",
        str(tmp_path),
        "-c",
        "user.name=ada",
        "-c",
        "user.email=ada@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    for arguments in (["init", "-q"], ["add", "design.py"], ["commit", "-q", "-m", "a design"]):
        subprocess.run([*git, *arguments], check=True)
    path.write_text(HEAD + STATE)
    old = subprocess.run([*git, "show", "HEAD:design.py"], check=True, capture_output=True, text=True).stdout
    (tmp_path / "old.py").write_text(old)
    result = run("diff", str(tmp_path / "old.py"), str(path))
    assert result.exit_code == 0
    assert "  ~ notes: Note.state was added\n" in result.stdout


def test_a_diff_rule_cannot_be_selected_in_check(tmp_path: Path) -> None:
    result = run("check", design(tmp_path, NOTES), "--select", "KP901")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "keyplan check: KP901 compares two designs: `keyplan diff OLD NEW`\n"
    assert run("rule", "kp901").stdout.startswith("KP901 local-index-changed (error)")
    assert "KP913 warning" in run("rule").stdout


def test_output_printed_by_a_design_is_not_in_the_report(tmp_path: Path) -> None:
    old, new = both(tmp_path, NOTES, NOTES + "print('loading')\n")
    result = run("diff", old, new, "--format", "json")
    assert json.loads(result.stdout)["changes"] == []
    assert result.stderr == "loading\n"


def test_a_program_that_is_nested_too_deeply_is_rejected(tmp_path: Path) -> None:
    program = tmp_path / "deep.py"
    program.write_text("x = " + "-" * 100_000 + "1\n")
    result = run("diff", *both(tmp_path, NOTES, without_query(NOTES)), "--uses", str(program))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "deep.py" in result.stderr
