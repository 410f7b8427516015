"""The command that loads the seed scenarios, and can be repeated."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import keyplan
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.scenarios.loader import seed_scenarios


def seed(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "keyplan_systems.thinking_trainer.seed", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_twenty_scenarios_are_loaded_and_a_second_run_adds_none_and_keeps_changes(address: str) -> None:
    first = seed("--url", address, "--create-table")
    assert (first.returncode, first.stdout) == (0, "20 scenarios added, 0 existed already\n"), first.stderr
    chosen = seed_scenarios()[0]
    with keyplan.connect(address) as db:
        assert len(db.all(design.active_scenarios())) == 20
        db.run(design.set_active(chosen.scenario_id, active=False, difficulty=chosen.difficulty))
    assert seed("--url", address).stdout == "0 scenarios added, 20 existed already\n"
    with keyplan.connect(address) as db:
        scenario = db.run(design.scenario_by_id(chosen.scenario_id))
        assert scenario is not None
        assert not scenario.active


def test_custom_scenarios_are_loaded_from_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    document = seed_scenarios()[0].model_dump(mode="json", by_alias=True) | {"scenarioId": "mine"}
    (folder / "mine.json").write_text(json.dumps(document))
    result = seed("--url", str(tmp_path / "data.db"), "--folder", str(folder))
    assert result.stdout == "1 scenarios added, 0 existed already\n", result.stderr


def test_loading_errors_are_reported_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    bad = seed("--url", str(tmp_path / "data.db"), "--folder", str(tmp_path))
    assert (bad.returncode, bad.stdout) == (1, "")
    assert "bad.json: not JSON" in bad.stderr
    wrong = seed("--url", "ftp://x")
    assert wrong.returncode == 1
    assert "ftp://x" in wrong.stderr
    assert "Traceback" not in wrong.stderr
