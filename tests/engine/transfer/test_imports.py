"""Imports of files: the table, its items, its counts, and errors."""

from __future__ import annotations

import gzip
import json
import logging
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.engine.table_making import definitions, index
from tests.engine.transfer.making import BUCKET, NOW, Workshop, item, json_lines, table

from keyplan import limits
from keyplan.engine.fsck import check
from keyplan.engine.transfer import import_files, imports
from keyplan.errors import ServiceError

GLOBAL = {
    "AttributeDefinitions": definitions(id="S", group="S"),
    "GlobalSecondaryIndexes": [index("by-group", "group")],
}
COUNTS = ("ProcessedItemCount", "ImportedItemCount", "ErrorCount")


def counts(described: dict[str, Any]) -> tuple[int, ...]:
    return tuple(described[name] for name in COUNTS)


def test_an_import_is_started_and_completed(shop: Workshop) -> None:
    lines = json_lines(item("1", n={"N": "1.50"}), item("2"))
    shop.write("in/a.json", lines)
    job = shop.begin_import("in/")
    assert job == {
        "ImportArn": job["ImportArn"],
        "ImportStatus": "IN_PROGRESS",
        "TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/copy",
        "TableId": job["TableId"],
        "ClientToken": "import copy",
        "S3BucketSource": {"S3BucketOwner": "123456789012", "S3Bucket": BUCKET, "S3KeyPrefix": "in/"},
        "ErrorCount": 0,
        "CloudWatchLogGroupArn": "arn:aws:logs:us-east-1:123456789012:log-group:/aws-dynamodb/imports:*",
        "InputFormat": "DYNAMODB_JSON",
        "InputCompressionType": "NONE",
        "TableCreationParameters": table("copy"),
        "StartTime": NOW,
        "ProcessedItemCount": 0,
        "ImportedItemCount": 0,
    }
    assert re.fullmatch(r".*:table/copy/import/01790000000000-[0-9a-f]{8}", job["ImportArn"])
    shop.engine.jobs.wait()
    assert shop.imported(job["ImportArn"]) == {
        **job,
        "ImportStatus": "COMPLETED",
        "EndTime": NOW,
        "ProcessedItemCount": 2,
        "ImportedItemCount": 2,
        "ProcessedSizeBytes": len(lines),
    }
    assert shop.scan("copy") == [item("1", n={"N": "1.5"}), item("2")]
    described = shop.engine.call("DescribeTable", {"TableName": "copy"})["Table"]
    assert (described["TableStatus"], described["TableId"]) == ("ACTIVE", job["TableId"])
    assert "import" not in json.dumps(described).lower()


def test_the_table_is_creating_until_the_end(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("a", json_lines(item("1")))
    monkeypatch.setattr(shop.engine.database, "wake_jobs", lambda: None)
    job = shop.begin_import()
    assert shop.status() == "CREATING"
    for operation, members in (
        ("PutItem", {"Item": item("1")}),
        ("Scan", {}),
        ("DeleteTable", {}),
        ("UpdateTable", {"DeletionProtectionEnabled": True}),
    ):
        with pytest.raises(ServiceError) as caught:
            shop.engine.call(operation, {"TableName": "copy", **members})
        assert caught.value.code in {"ResourceNotFoundException", "ResourceInUseException"}
    assert shop.imported(job["ImportArn"])["ImportStatus"] == "IN_PROGRESS"
    monkeypatch.undo()
    shop.engine.jobs.wake()
    shop.engine.jobs.wait()
    assert shop.status() == "ACTIVE"


def test_the_state_delay_counts_from_the_end(shop: Workshop) -> None:
    shop.engine.database.settings = replace(shop.engine.database.settings, state_delay_s=5.0)
    shop.write("a", json_lines(item("1")))
    assert shop.import_()["ImportStatus"] == "COMPLETED"
    assert shop.status() == "CREATING"
    shop.clock.advance(5)
    assert shop.status() == "ACTIVE"


def test_indexes_are_filled_and_duplicates_overwrite(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "BATCH_ITEMS", 2)
    groups = ["x", "y", "x", "z", "y"]
    first = [item(str(number % 3), group={"S": group}, v={"N": str(number)}) for number, group in enumerate(groups)]
    shop.write("1", json_lines(*first))
    shop.write("2", json_lines(item("2"), item("3", group={"S": "x"})))
    ended = shop.import_(TableCreationParameters={**table("copy"), **GLOBAL})
    assert (ended["ImportStatus"], counts(ended)) == ("COMPLETED", (7, 7, 0))
    assert shop.scan("copy") == [first[3], first[4], item("2"), item("3", group={"S": "x"})]
    entries = shop.engine.call("Scan", {"TableName": "copy", "IndexName": "by-group"})["Items"]
    assert sorted(entry["group"]["S"] for entry in entries) == ["x", "y", "z"]
    assert check(shop.engine) == []
    described = shop.engine.call("DescribeTable", {"TableName": "copy"})["Table"]
    assert described["ItemCount"] == 4
    assert described["GlobalSecondaryIndexes"][0]["ItemCount"] == 3


def test_all_objects_with_the_prefix_are_imported(shop: Workshop) -> None:
    shop.write("data/1.json", json_lines(item("1")))
    shop.write("data2/x", json_lines(item("2")))
    shop.write("date", json_lines(item("3")))
    shop.write("data/empty", "")
    shop.write("data/deep/4", json_lines(item("4")))
    assert counts(shop.import_("data")) == (3, 3, 0)
    assert [row["id"]["S"] for row in shop.scan("copy")] == ["1", "2", "4"]
    lines = json_lines(item("1"), item("2")).encode()
    shop.write("zip/a", gzip.compress(lines[:20]) + gzip.compress(lines[20:]))
    shop.write("zip/empty", "")
    ended = shop.import_("zip", "zipped", InputCompressionType="GZIP")
    assert (counts(ended), ended["ProcessedSizeBytes"]) == ((2, 2, 0), len(lines))


def test_zstandard_is_read_if_a_module_is_installed(shop: Workshop) -> None:
    zstd = pytest.importorskip("backports.zstd")
    lines = json_lines(*(item(str(number)) for number in range(100))).encode()
    shop.write("a", zstd.compress(lines[:1000]) + zstd.compress(lines[1000:]))
    ended = shop.import_(InputCompressionType="ZSTD")
    assert (counts(ended), ended["ProcessedSizeBytes"]) == ((100, 100, 0), len(lines))
    shop.write("damaged/a", zstd.compress(lines)[:-5])
    assert shop.import_("damaged", "other", InputCompressionType="ZSTD")["ImportStatus"] == "FAILED"


def test_without_a_zstandard_module_the_request_is_rejected(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyplan.engine.transfer.import_files._ZSTD_MODULES", ("no_such_module",))
    with pytest.raises(ServiceError, match="install keyplan"):
        shop.begin_import(InputCompressionType="ZSTD")


def test_an_item_that_is_invalid_for_the_table_is_skipped(shop: Workshop, caplog: pytest.LogCaptureFixture) -> None:
    large = {"S": "x" * limits.ITEM_BYTES}
    bad = [{"n": {"N": "1"}}, {"id": {"N": "1"}}, item(""), item("1", n={"N": "1e400"}), item("1", x=large)]
    bad += [item("1", **{"": {"S": ""}}), item("1", group={"N": "1"}), item("1", s={"SS": ["a", "a"]})]
    shop.write("in", json_lines(item("good"), *bad, item("last")))
    with caplog.at_level(logging.WARNING, "keyplan.engine.transfer.imports"):
        ended = shop.import_(TableCreationParameters={**table("copy"), **GLOBAL})
    assert (ended["ImportStatus"], ended["FailureCode"]) == ("FAILED", "ItemValidationError")
    assert counts(ended) == (10, 2, 8)
    assert ended["FailureMessage"].startswith(
        "Some of the items failed validation checks and were not imported. Please check CloudWatch error logs for "
        "more details. Here that log is the logger keyplan.engine.transfer.imports; the first error: "
        "s3://lake/in, item 1: One or more parameter values were invalid: Missing the key id in the item"
    )
    assert (shop.status(), shop.scan("copy")) == ("ACTIVE", [item("good"), item("last")])
    logged = [json.loads(record.getMessage()) for record in caplog.records]
    assert logged[0] == {
        "itemS3Pointer": {"bucket": BUCKET, "key": "in", "itemIndex": 1},
        "importArn": ended["ImportArn"],
        "errorMessages": ["One or more parameter values were invalid: Missing the key id in the item"],
    }
    assert [entry["itemS3Pointer"]["itemIndex"] for entry in logged] == list(range(1, 9))


@pytest.mark.parametrize(
    "line",
    [
        '{"Item": ',
        "garbage",
        '{"NotAnItem": {"id": {"S": "x"}}}',
        '{"Item": "text"}',
        '{"Item": {"id": "text"}}',
        '{"Item": {"id": {"S": 5}}}',
        '["Item"]',
        '{"Item": {"id": {"B": "no base64"}}}',
        "[" * 2000,
        '{"Item": {"id": {"S": "\\ud800"}}}',
        "\u00ff\u00fe",
    ],
)
def test_an_invalid_line_ends_its_file(shop: Workshop, line: str) -> None:
    shop.write("1", json_lines(item("1")) + line + "\n" + json_lines(item("2")))
    shop.write("2", json_lines(item("3")))
    ended = shop.import_()
    assert (ended["ImportStatus"], counts(ended)) == ("FAILED", (3, 2, 1))
    assert [row["id"]["S"] for row in shop.scan("copy")] == ["1", "3"]


def test_a_row_of_many_lines_is_limited_to_the_size_of_an_item(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_files, "LINE_BYTES", 1000)
    many = b"".join(b'%d,"%b\n"\n' % (number, b"x" * 400) for number in range(10))
    endless = b'10,"' + b'\n","'.join([b"x" * 90] * 20) + b'\n"\n'
    shop.write("a.csv", b"id,text\n" + many + endless + b"11,y\n")
    described = shop.import_(InputFormat="CSV")
    assert counts(described) == (11, 10, 1)
    assert "The line is longer than any item can be" in described["FailureMessage"]


def test_blank_lines_are_ignored_and_a_line_may_contain_several_items(shop: Workshop) -> None:
    several = "  ".join(json.dumps({"Item": item(str(number))}) for number in range(5))
    shop.write("a", "\n  \r\n" + several + "\r\n\n" + json.dumps({"Item": item("9")}))
    assert counts(shop.import_()) == (6, 6, 0)


def test_a_file_with_invalid_compression_is_one_error(shop: Workshop) -> None:
    shop.write("1", json_lines(item("1")))
    shop.write("2", gzip.compress(json_lines(item("2")).encode())[:-6])
    shop.write("3", gzip.compress(json_lines(item("3")).encode()))
    ended = shop.import_(InputCompressionType="GZIP")
    assert (ended["ImportStatus"], ended["FailureCode"], ended["ErrorCount"]) == ("FAILED", "ItemValidationError", 2)
    assert item("3") in shop.scan("copy")
    other = shop.import_(name="other")
    assert (other["ImportStatus"], counts(other)) == ("FAILED", (3, 1, 2))


def test_an_object_that_disappears_is_one_error(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("1", json_lines(item("1")))
    shop.write("2", json_lines(item("2")))
    buckets = shop.engine.buckets
    assert buckets is not None
    monkeypatch.setattr(type(buckets), "keys", lambda *_: iter(["0", "1", "2"]))
    ended = shop.import_()
    assert (ended["FailureCode"], counts(ended)) == ("ItemValidationError", (3, 2, 1))


def test_a_missing_bucket_leaves_no_table(shop: Workshop) -> None:
    ended = shop.import_(S3BucketSource={"S3Bucket": "nowhere"})
    assert (ended["ImportStatus"], ended["FailureCode"], counts(ended)) == ("FAILED", "S3NoSuchBucket", (0, 0, 0))
    assert ended["FailureMessage"].startswith("The specified bucket does not exist")
    assert shop.engine.call("ListTables", {})["TableNames"] == []


def test_an_empty_import_succeeds(shop: Workshop) -> None:
    ended = shop.import_("none/")
    assert (ended["ImportStatus"], counts(ended), ended["ProcessedSizeBytes"]) == ("COMPLETED", (0, 0, 0), 0)
    assert (shop.status(), shop.scan("copy")) == ("ACTIVE", [])


def test_too_many_objects_are_rejected(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IMPORT_OBJECTS", 2)
    for name in "abc":
        shop.write(name, json_lines(item(name)))
    ended = shop.import_()
    assert (ended["ImportStatus"], ended["FailureMessage"]) == (
        "FAILED",
        "There are more than 2 objects under the prefix",
    )
    assert shop.engine.call("ListTables", {})["TableNames"] == []


def test_the_data_folder_of_an_export_can_be_imported(shop: Workshop) -> None:
    shop.create()
    items = [item(str(number), b={"B": bytes([number])}, l={"L": [{"NULL": True}]}) for number in range(50)]
    shop.put(*items)
    folder = shop.export(S3Prefix="out")["ExportManifest"].rpartition("/")[0]
    ended = shop.import_(f"{folder}/data/", InputCompressionType="GZIP")
    assert (ended["ImportStatus"], counts(ended)) == ("COMPLETED", (50, 50, 0))
    assert shop.scan("copy") == shop.scan("notes")
    root = shop.import_(f"{folder}/", "root", InputCompressionType="GZIP")
    assert (root["ImportStatus"], counts(root)) == ("FAILED", (54, 50, 4))  # its manifests and their checksums
    incremental = shop.import_(f"{folder}/data/", "plain")
    assert incremental["ErrorCount"] == len([key for key in shop.objects() if "/data/" in key])


def test_injected_faults_do_not_affect_imports(tmp_path: Any) -> None:
    from keyplan import Faults  # noqa: PLC0415

    shop = Workshop(tmp_path, faults=Faults(seed=1, throttle=True, gsi_lag=60.0))
    shop.write("a", json_lines(*(item(str(number), group={"S": "g"}) for number in range(10))))
    job = shop.begin_import(TableCreationParameters={**table("copy"), **GLOBAL})
    shop.engine.jobs.wait()
    assert counts(shop.imported(job["ImportArn"])) == (10, 10, 0)
    assert check(shop.engine) == []
    shop.engine.close()
