"""The commands of access patterns, run by the AWS CLI on tables made as the data model says."""

from __future__ import annotations

import json

import pytest
from tests.export.aws_cli import run
from tests.export.designs import CREATABLE, loaded
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


@pytest.mark.parametrize("name", CREATABLE)
def test_the_cli_accepts_every_command(name: str) -> None:
    design = loaded(name)
    data = json.loads(model(design, resources(design.tables)))
    commands = [entry["implementation"] for entry in data["access_patterns"] if "implementation" in entry]
    with Engine.memory() as engine, serving(engine) as url:
        for table in data["tables"]:
            table.pop("TimeToLiveSpecification", None)
            engine.call("CreateTable", table)
        outputs = list(run(commands, url))
    assert len(outputs) == len(commands)
    for command, (code, message) in zip(commands, outputs, strict=True):
        assert code == 0 or any(untrue in message for untrue in UNTRUE), f"{command}\n{message}"
