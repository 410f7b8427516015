"""Exports: full and incremental, filtered, as of any time; and failures."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode

import pytest
from tests.engine.table_making import failure
from tests.engine.transfer.making import BUCKET, NOW, Workshop, item

from keyplan.engine import progress
from keyplan.engine.transfer import export_files, exports
from keyplan.errors import ServiceError


def md5(content: bytes) -> str:
    return b64encode(hashlib.md5(content).digest()).decode()


def test_an_export_is_started_and_completed(shop: Workshop) -> None:
    shop.create()
    shop.put(item("1"), item("2"))
    job = shop.begin_export(ClientToken="t", S3Prefix="out")
    assert job == {
        "ExportArn": job["ExportArn"],
        "ExportStatus": "IN_PROGRESS",
        "StartTime": NOW,
        "TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/notes",
        "TableId": job["TableId"],
        "ClientToken": "t",
        "S3Bucket": BUCKET,
        "S3Prefix": "out",
        "S3SseAlgorithm": "AES256",
        "ExportFormat": "DYNAMODB_JSON",
        "ExportTime": NOW,
    }
    assert re.fullmatch(r".*:table/notes/export/01790000000000-[0-9a-f]{8}", job["ExportArn"])
    shop.engine.jobs.wait()
    ended = shop.described(job["ExportArn"])
    folder = f"out/AWSDynamoDB/{job['ExportArn'].rpartition('/')[2]}"
    assert ended == {
        **job,
        "ExportStatus": "COMPLETED",
        "EndTime": NOW,
        "ExportManifest": f"{folder}/manifest-summary.json",
        "ItemCount": 2,
        "BilledSizeBytes": 6,
    }


def test_a_long_export_is_reported(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 0.0)
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    caplog.set_level("INFO", progress.LOGGER)
    shop.create()
    shop.put(item("1"), item("2"))
    shop.export()
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "exporting notes: 0 %"
    assert lines[-1].startswith("exporting notes: done after ")


def test_the_files_equal_those_of_the_service(shop: Workshop) -> None:
    shop.create()
    shop.put(*(item(str(number)) for number in range(20)))
    ended = shop.export()
    folder = ended["ExportManifest"].rpartition("/")[0]
    own = {f"{folder}/{name}" for name in ("_started", "manifest-files.json", "manifest-files.md5")}
    own |= {f"{folder}/{name}" for name in ("manifest-summary.json", "manifest-summary.md5")}
    data = [key for key in shop.objects() if key.startswith(f"{folder}/data/")]
    assert set(shop.objects()) == own | set(data)
    assert all(re.fullmatch(r"[a-z2-7]{26}\.json\.gz", key.rpartition("/")[2]) for key in data)
    assert shop.read(f"{folder}/_started") == b""
    for name in ("manifest-files", "manifest-summary"):
        assert shop.read(f"{folder}/{name}.md5").decode() == md5(shop.read(f"{folder}/{name}.json"))
    summary = json.loads(shop.read(ended["ExportManifest"]))
    assert summary == {
        "version": "2020-06-30",
        "exportArn": ended["ExportArn"],
        "startTime": "2026-09-21T14:13:20.000Z",
        "endTime": "2026-09-21T14:13:20.000Z",
        "tableArn": ended["TableArn"],
        "tableId": ended["TableId"],
        "exportTime": "2026-09-21T14:13:20.000Z",
        "s3Bucket": BUCKET,
        "s3Prefix": None,
        "s3SseAlgorithm": "AES256",
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": f"{folder}/manifest-files.json",
        "billedSizeBytes": ended["BilledSizeBytes"],
        "itemCount": 20,
        "outputFormat": "DYNAMODB_JSON",
    }
    manifest = [json.loads(line) for line in shop.read(f"{folder}/manifest-files.json").splitlines()]
    assert [file["dataFileS3Key"] for file in manifest] == sorted(
        data, key=[e["dataFileS3Key"] for e in manifest].index
    )
    assert sum(file["itemCount"] for file in manifest) == 20
    for part in manifest:
        content = shop.read(part["dataFileS3Key"])
        assert part["md5Checksum"] == md5(content)
        assert part["etag"] == hashlib.md5(hashlib.md5(content).digest()).hexdigest() + "-1"


def test_every_partition_has_a_file_even_if_it_is_empty(shop: Workshop) -> None:
    shop.create()
    shop.put(item("1"))
    ended = shop.export()
    summary = json.loads(shop.read(ended["ExportManifest"]))
    manifest = [json.loads(line) for line in shop.read(summary["manifestFilesS3Key"]).splitlines()]
    assert sorted(part["itemCount"] for part in manifest) == [0, 0, 0, 1]
    assert shop.lines(ended) == [{"Item": {"id": {"S": "1"}}}]


def test_a_full_file_is_followed_by_another(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_files, "FILE_BYTES", 200)
    monkeypatch.setattr(exports, "CHUNK_ROWS", 3)
    shop.create()
    shop.put(*(item(f"{number:03}", text={"S": "x" * 50}) for number in range(40)))
    ended = shop.export()
    summary = json.loads(shop.read(ended["ExportManifest"]))
    manifest = [json.loads(line) for line in shop.read(summary["manifestFilesS3Key"]).splitlines()]
    assert len(manifest) > 8
    assert max(part["itemCount"] for part in manifest) == 3
    assert sorted(line["Item"]["id"]["S"] for line in shop.lines(ended)) == [f"{number:03}" for number in range(40)]


def test_an_export_shows_the_table_at_its_time(shop: Workshop) -> None:
    shop.create()
    shop.put(item("1", n={"N": "1"}), item("2"))
    shop.clock.advance(10)
    shop.put(item("1", n={"N": "2"}), item("3"))
    shop.engine.call("DeleteItem", {"TableName": "notes", "Key": item("2")})
    ended = shop.export(ExportTime=NOW + 5)
    assert ended["ExportTime"] == NOW + 5
    items = sorted((line["Item"] for line in shop.lines(ended)), key=str)
    assert items == [item("1", n={"N": "1"}), item("2")]
    assert {line["Item"]["id"]["S"] for line in shop.lines(shop.export())} == {"1", "3"}


def test_items_written_during_an_export_are_not_in_it(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "CHUNK_ROWS", 2)
    shop.create()
    shop.put(*(item(str(number), n={"N": "0"}) for number in range(10)))
    item_line = export_files.item_line

    def writing(body: bytes) -> bytes:
        shop.clock.advance(1)
        shop.put(*(item(str(number), n={"N": "1"}) for number in range(12)))
        return item_line(body)

    monkeypatch.setattr(export_files, "item_line", writing)
    lines = shop.lines(shop.export())
    assert sorted(line["Item"]["id"]["S"] for line in lines) == [str(number) for number in range(10)]
    assert all(line["Item"]["n"] == {"N": "0"} for line in lines)


def test_a_missing_bucket_fails_the_export(shop: Workshop) -> None:
    shop.create()
    ended = shop.export(S3Bucket="nowhere")
    assert (ended["ExportStatus"], ended["FailureCode"]) == ("FAILED", "S3NoSuchBucket")
    assert ended["FailureMessage"].startswith("The specified bucket does not exist")
    assert not {"ExportManifest", "ItemCount", "BilledSizeBytes"} & ended.keys()


def test_a_table_deleted_before_it_is_read_fails_the_export(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.create()
    shop.put(item("1"))
    monkeypatch.setattr(shop.engine.database, "wake_jobs", lambda: None)
    job = shop.begin_export()
    shop.engine.call("DeleteTable", {"TableName": "notes"})
    monkeypatch.undo()
    assert shop.described(job["ExportArn"])["ExportStatus"] == "IN_PROGRESS"
    shop.engine.jobs.wait()
    ended = shop.described(job["ExportArn"])
    assert (ended["ExportStatus"], ended["FailureCode"]) == ("FAILED", "TableNotFoundException")


def test_an_internal_error_fails_the_export_and_is_logged(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(body: bytes) -> bytes:
        raise ZeroDivisionError

    shop.create()
    shop.put(item("1"))
    monkeypatch.setattr(export_files, "item_line", broken)
    ended = shop.export()
    assert (ended["ExportStatus"], ended["FailureCode"]) == ("FAILED", "InternalServerError")
    assert "ZeroDivisionError" in caplog.text
    assert [key for key in shop.objects() if "data" in key and ".keyplan" in key] == []


def test_without_buckets_the_error_names_the_option(shop: Workshop) -> None:
    with shop.engine.copy() as engine:
        request = {"TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/notes", "S3Bucket": BUCKET}
        code, message = failure(engine, "ExportTableToPointInTime", request)
    assert code == "ValidationException"
    assert "keyplan serve --buckets FOLDER" in message


@pytest.mark.parametrize("prefix", ["../out", "/out", "a/../../b", "a//b", "a\\b", "."])
def test_a_prefix_cannot_leave_its_bucket(shop: Workshop, prefix: str) -> None:
    shop.create()
    with pytest.raises(ServiceError) as caught:
        shop.begin_export(S3Prefix=prefix)
    assert caught.value.code == "ValidationException"
    assert prefix in caught.value.message


def test_a_prefix_may_end_in_a_slash(shop: Workshop) -> None:
    shop.create()
    assert shop.export(S3Prefix="out/")["ExportManifest"].startswith("out/AWSDynamoDB/0179")
