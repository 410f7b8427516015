"""The commands of access patterns, run by the AWS CLI on tables made as the data model says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.export.designs import MADE, loaded
from tests.sdk import alone

from keyplan import Engine
from keyplan.export.cdk_json import model
from keyplan.export.resources import resources
from keyplan.testing.endpoint import serving

UNTRUE = ("(ConditionalCheckFailedException)", "(TransactionCanceledException)")
"""What a write may answer: the example's item is not there, or is."""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    alone(monkeypatch, tmp_path_factory, AWS_DEFAULT_REGION="eu-west-1", AWS_MAX_ATTEMPTS="1")


@pytest.mark.parametrize("name", MADE)
def test_the_cli_accepts_every_command(name: str) -> None:
    design = loaded(name)
    data = json.loads(model(design, resources(design.tables)))
    commands = [entry["implementation"] for entry in data["access_patterns"] if "implementation" in entry]
    with Engine.memory() as engine, serving(engine) as url:
        for table in data["tables"]:
            table.pop("TimeToLiveSpecification", None)
            engine.call("CreateTable", table)
        run = [sys.executable, str(Path(__file__).with_name("aws_cli.py")), url]
        process = subprocess.run(
            run, input="\n".join(commands), capture_output=True, text=True, timeout=240, check=False
        )
    assert process.returncode == 0, process.stderr
    outputs = process.stdout.splitlines()
    assert len(outputs) == len(commands)
    for command, output in zip(commands, outputs, strict=True):
        assert output.startswith("0 ") or any(code in output for code in UNTRUE), f"{command}\n{output}"
