"""The file that is generated from a template, word by word; and that it is laid out as formatters do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.importers.tables import NASTY, of_design

from keyplan.importers.cloudformation import cloudformation
from keyplan.importers.documents import documents
from keyplan.importers.nodes import ImportSourceError
from keyplan.importers.nosql_workbench import nosql_workbench
from keyplan.importers.schemas import ImportSource
from keyplan.importers.writing import design_text

HERE = Path(__file__).parent


def shelves() -> ImportSource:
    return cloudformation(documents("shelves.yaml", (HERE / "shelves.yaml").read_text()), {})


def test_the_file_of_a_template_is_as_expected() -> None:
    assert design_text(shelves()) == (HERE / "shelves.py").read_text()


def test_the_file_of_a_model_is_as_expected() -> None:
    source = nosql_workbench(documents("shop.json", (HERE / "shop.json").read_text()))
    assert design_text(source) == (HERE / "shop.py").read_text()


@pytest.mark.parametrize("width", ["88", "120"])
def test_files_are_formatted_like_ruff_does(tmp_path: Path, width: str) -> None:
    for number, name in enumerate(NASTY):
        table: dict[str, Any] = {"TableName": "a-" + "x" * (number * 3 % 120), "BillingMode": "PAY_PER_REQUEST"}
        names = [name, f"{name}2", "y" * (number * 5 % 90 + 1)]
        table["AttributeDefinitions"] = [{"AttributeName": attribute, "AttributeType": "N"} for attribute in names]
        keys = [
            {"AttributeName": attribute, "KeyType": kind}
            for attribute, kind in zip(names, ("HASH", "RANGE"), strict=False)
        ]
        index = {
            "IndexName": "by-all",
            "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"} for attribute in names],
        }
        table |= {"KeySchema": keys, "GlobalSecondaryIndexes": [{**index, "Projection": {"ProjectionType": "ALL"}}]}
        resources = {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": table}}}
        text = design_text(cloudformation(documents("t.json", json.dumps(resources)), {}))
        (tmp_path / f"made{number}.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--isolated",
        "--no-cache",
        "--diff",
        "--line-length",
        width,
        ".",
    ]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout


def test_two_tables_with_one_name_are_rejected() -> None:
    (table, _) = shelves().tables
    with pytest.raises(ImportSourceError, match="two tables are called 'books-prod'"):
        design_text(ImportSource("twice", (table, table)))


def test_the_written_file_is_a_valid_design(tmp_path: Path) -> None:
    _, design = of_design(shelves(), tmp_path)
    assert [table.name for table in design.tables] == ["books-prod", "Drafts"]
    assert [pattern.plan.faults for pattern in design.patterns] == [()] * 8
