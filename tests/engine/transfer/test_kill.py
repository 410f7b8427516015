"""An import of a killed process: the next process that opens the database ends it, and counts each item once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engine.table_making import definitions, index
from tests.engine.transfer.making import BUCKET, item, json_lines, table

from keyplan.engine.engine import Engine
from keyplan.engine.fsck import check
from keyplan.engine.transfer import worker

OBJECTS, ITEMS = 3, 400
CHILD = """
import json, sys
from keyplan.engine.transfer import imports
from keyplan.engine.engine import Engine

write = imports._write
imports.BATCH_ITEMS = 50

def reported(*arguments):
    write(*arguments)
    print("batch", flush=True)

imports._write = reported
engine = Engine.open(sys.argv[1] + "/data.db", buckets=sys.argv[1])
engine.call("ImportTable", json.loads(sys.argv[2]))
engine.jobs.wait()
"""


def test_an_import_survives_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / BUCKET).mkdir()
    for number in range(OBJECTS):
        items = (item(f"{number}-{part}", g={"S": str(part % 7)}) for part in range(ITEMS))
        (tmp_path / BUCKET / str(number)).write_text(json_lines(*items) + '{"Item": {}}\n')
    request: dict[str, object] = {
        "ClientToken": "t",
        "S3BucketSource": {"S3Bucket": BUCKET},
        "InputFormat": "DYNAMODB_JSON",
        "TableCreationParameters": {
            **table("copy"),
            "AttributeDefinitions": definitions(id="S", g="S"),
            "GlobalSecondaryIndexes": [index("by-g", "g")],
        },
    }
    begin_and_kill(tmp_path, request, batches=3)
    monkeypatch.setattr(worker, "LEASE_S", 0.0)
    with Engine.open(tmp_path / "data.db", buckets=tmp_path) as engine:
        engine.jobs.wait()
        arn = engine.call("ListImports", {})["ImportSummaryList"][0]["ImportArn"]
        ended = engine.call("DescribeImport", {"ImportArn": arn})["ImportTableDescription"]
        assert (ended["ImportedItemCount"], ended["ErrorCount"]) == (OBJECTS * ITEMS, OBJECTS)
        size = sum((tmp_path / BUCKET / str(number)).stat().st_size for number in range(OBJECTS))
        assert ended["ProcessedSizeBytes"] == size
        assert engine.call("Scan", {"TableName": "copy", "Select": "COUNT"})["Count"] == OBJECTS * ITEMS
        assert check(engine) == []


def begin_and_kill(folder: Path, request: dict[str, object], batches: int) -> None:
    """Have a process begin an import, and kill it in the middle."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), json.dumps(request)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for _ in range(batches):
        assert child.stdout.readline() == "batch\n"
    child.kill()
    child.stdout.close()
    child.wait()
