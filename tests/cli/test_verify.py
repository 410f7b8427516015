"""`keyplan verify`: as text and JSON, and its exit codes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from tests.cli.running import FAULTY, NOTES, design, run


def test_a_verified_design_exits_with_0(tmp_path: Path) -> None:
    result = run("verify", design(tmp_path, NOTES), "--items", "300", "--seed", "7")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "plan: generated data: 300 Note, seed 7"
    (at,) = [number for number, line in enumerate(lines) if line.startswith("  note ")]
    assert lines[at - 1] == "notes", "the table"
    assert re.split(r"\s{2,}", lines[at].strip()) == ["note", "20", "1.0", "1.0", "0.5 RCU", "OK"]
    assert lines[at + 1].strip() == "claimed 0.5 RCU"
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "3 of 3 patterns run, 3 passed: no problems"


def test_a_false_claim_exits_with_1(tmp_path: Path) -> None:
    path = design(tmp_path, NOTES.replace("0.5 RCU", "0.25 RCU"))
    result = run("verify", path, "--items", "100", "--pattern", "note")
    assert result.exit_code == 1
    assert 'note: claim: "0.25 RCU": 0.5 RCU on average' in result.stdout
    assert result.stdout.endswith("1 of 1 patterns run, 0 passed: 1 problem\n")


def test_json_output_is_complete(tmp_path: Path) -> None:
    result = run("verify", design(tmp_path, NOTES), "--items", "100", "--format", "json")
    document = json.loads(result.stdout)
    assert document["holds"] is True
    assert (document["data"], document["incomplete"]) == ("generated", "")
    assert [pattern["verdict"] for pattern in document["patterns"]] == ["OK", "OK", "OK"]
    keep = document["patterns"][2]
    assert keep["measured"] == keep["predicted"] == {"read": {}, "write": {"notes": 1.0, "notes/by_owner": 1.0}}


def test_a_pattern_that_cannot_run_is_reported_with_its_fault(tmp_path: Path) -> None:
    result = run("verify", design(tmp_path, FAULTY))
    assert result.exit_code == 1
    assert "flags: not run: KP101: " in result.stdout
    assert "active_flags: not run: table flags cannot be created" in result.stdout


def test_an_unknown_pattern_is_rejected(tmp_path: Path) -> None:
    result = run("verify", design(tmp_path, NOTES), "--pattern", "nothing")
    assert result.exit_code == 2
    assert "plan has no pattern nothing; it has note, of_owner, keep" in result.stderr


def test_a_missing_generator_names_the_extra_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polyfactory.factories.pydantic_factory", None)
    result = run("verify", design(tmp_path, NOTES))
    assert result.exit_code == 2
    assert "pip install keyplan[verify]" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("value", [["--items", "0"], ["--format", "xml"], ["--region", "mars-1"]])
def test_invalid_options_are_rejected(value: list[str], tmp_path: Path) -> None:
    assert run("verify", design(tmp_path, NOTES), *value).exit_code == 2


def test_progress_is_printed_as_lines_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyplan.cli.verify._EVERY_S", 0.0)
    result = run("verify", design(tmp_path, NOTES), "--items", "100", "--pattern", "note")
    assert "keyplan verify: running note, 0 of 20\n" in result.stderr
    assert "keyplan verify: loading Note, " in result.stderr


def test_a_time_limit_stops_an_incomplete_run(tmp_path: Path) -> None:
    result = run("verify", design(tmp_path, NOTES), "--items", "100", "--time-limit", "0")
    assert result.exit_code == 1
    assert "note: not run: the time limit was reached" in result.stdout
    text = " ".join(result.stdout.split())
    assert "incomplete: the time limit of 0 seconds was reached; loaded " in text
    assert " of about 100 items; not verified: note, of_owner, keep " in text


def test_a_claim_about_an_assumed_number_of_items_is_unproved(tmp_path: Path) -> None:
    source = NOTES.replace(', distinct={"owner": 50}', "").replace(
        "rate=Rate(average=2)", 'rate=Rate(average=2), claims=Claim("0.5 RCU")'
    )
    result = run("verify", design(tmp_path, source), "--items", "100", "--pattern", "of_owner")
    assert result.exit_code == 0, result.output
    assert 'of_owner: "0.5 RCU" unproved: ' in result.stdout
    assert "OK, claim unproved" in result.stdout
