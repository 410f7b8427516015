"""Tables, buckets and files for the tests of exports and imports."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

NOW = 1_790_000_000.0
BUCKET = "lake"
TABLE_ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/"
Item = dict[str, dict[str, Any]]


class Workshop:
    """An engine with a folder of buckets, and helpers of the tests."""

    def __init__(self, folder: Path, **options: Any) -> None:
        (folder / BUCKET).mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.clock = ManualClock(NOW)
        self.engine = Engine.memory(clock=self.clock, buckets=folder, **options)

    def create(self, name: str = "notes", *, recovery: bool = True, **members: Any) -> None:
        """Create a table keyed by `id`, with point-in-time recovery."""
        self.engine.call("CreateTable", {**table(name), **members})
        if recovery:
            switched = {"PointInTimeRecoveryEnabled": True}
            self.engine.call(
                "UpdateContinuousBackups", {"TableName": name, "PointInTimeRecoverySpecification": switched}
            )

    def put(self, *items: Item, name: str = "notes") -> None:
        """Put items."""
        for item in items:
            self.engine.call("PutItem", {"TableName": name, "Item": item})

    def scan(self, name: str = "notes", **members: Any) -> list[Item]:
        """Return all items, by their id."""
        items: list[Item] = []
        request = {"TableName": name, **members}
        while True:
            page = self.engine.call("Scan", request)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return sorted(items, key=lambda item: str(item["id"]))
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def begin_export(self, name: str = "notes", **members: Any) -> dict[str, Any]:
        """Request an export; return its description."""
        request = {"TableArn": TABLE_ARN + name, "S3Bucket": BUCKET, **members}
        description: dict[str, Any] = self.engine.call("ExportTableToPointInTime", request)["ExportDescription"]
        return description

    def export(self, name: str = "notes", **members: Any) -> dict[str, Any]:
        """Run an export; return its description at the end."""
        description = self.begin_export(name, **members)
        self.engine.jobs.wait()
        return self.described(description["ExportArn"])

    def described(self, arn: str) -> dict[str, Any]:
        """Return the ExportDescription."""
        described: dict[str, Any] = self.engine.call("DescribeExport", {"ExportArn": arn})["ExportDescription"]
        return described

    def begin_import(self, prefix: str = "", name: str = "copy", **members: Any) -> dict[str, Any]:
        """Request an import; return its description."""
        request: dict[str, Any] = {
            "ClientToken": f"import {name}",
            "S3BucketSource": {"S3Bucket": BUCKET, **({"S3KeyPrefix": prefix} if prefix else {})},
            "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": table(name),
            **members,
        }
        description: dict[str, Any] = self.engine.call("ImportTable", request)["ImportTableDescription"]
        return description

    def import_(self, prefix: str = "", name: str = "copy", **members: Any) -> dict[str, Any]:
        """Run an import; return its description at the end."""
        description = self.begin_import(prefix, name, **members)
        self.engine.jobs.wait()
        return self.imported(description["ImportArn"])

    def imported(self, arn: str) -> dict[str, Any]:
        """Return the ImportTableDescription."""
        described: dict[str, Any] = self.engine.call("DescribeImport", {"ImportArn": arn})["ImportTableDescription"]
        return described

    def status(self, name: str = "copy") -> str:
        """Return TableStatus."""
        status: str = self.engine.call("DescribeTable", {"TableName": name})["Table"]["TableStatus"]
        return status

    def write(self, key: str, content: str | bytes, bucket: str = BUCKET) -> None:
        """Put an object into a bucket."""
        path = self.folder / bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def read(self, key: str) -> bytes:
        """Return an object of the bucket."""
        return (self.folder / BUCKET / key).read_bytes()

    def objects(self) -> list[str]:
        """Return all keys of the bucket."""
        base = self.folder / BUCKET
        return sorted(path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file())

    def lines(self, described: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the lines of all data files of an export, as its manifest names them."""
        summary = json.loads(self.read(described["ExportManifest"]))
        manifest = self.read(summary["manifestFilesS3Key"]).splitlines()
        files = [gzip.decompress(self.read(json.loads(line)["dataFileS3Key"])) for line in manifest]
        return [json.loads(line) for file in files for line in file.splitlines()]


def table(name: str) -> dict[str, Any]:
    """Return the CreateTable request of a table keyed by `id`, a string."""
    return {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


def item(id_: str, **attributes: dict[str, Any]) -> Item:
    """Return an item."""
    return {"id": {"S": id_}, **attributes}


def json_lines(*items: Any) -> str:
    """Return lines of DynamoDB JSON."""
    return "".join(json.dumps({"Item": content}) + "\n" for content in items)
