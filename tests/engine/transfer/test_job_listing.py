"""Exports and imports: repeated, found, listed, expired."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.table_making import failure
from tests.engine.transfer.making import BUCKET, NOW, Workshop, item, json_lines, table

from keyplan import limits
from keyplan.errors import ServiceError


def test_a_repeated_request_with_its_token_is_the_same_export(shop: Workshop) -> None:
    shop.create()
    shop.create("other")
    first = shop.export(ClientToken="t")
    assert shop.begin_export(ClientToken="t") == first
    for name, members in (
        ("notes", {"S3Prefix": "p"}),
        ("notes", {"S3Bucket": "pond"}),
        ("notes", {"ExportTime": NOW}),
        ("notes", {"S3SseAlgorithm": "AES256"}),
        ("other", {}),
    ):
        with pytest.raises(ServiceError) as caught:
            shop.begin_export(name, ClientToken="t", **members)
        assert caught.value.code == "ExportConflictException"
        assert caught.value.message == "Export conflict: Duplicate request detected with conflicting parameters"
    assert shop.begin_export()["ExportArn"] != shop.begin_export()["ExportArn"]
    shop.clock.advance(limits.JOB_TOKEN_S)
    assert shop.begin_export(ClientToken="t", S3Prefix="p")["ExportArn"] != first["ExportArn"]
    shop.engine.jobs.wait()


def test_the_token_of_an_import_belongs_to_its_table(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("a", json_lines(item("1")))
    monkeypatch.setattr(shop.engine.database, "wake_jobs", lambda: None)
    job = shop.begin_import(ClientToken="t")
    assert shop.begin_import("other/prefix", ClientToken="t", InputCompressionType="GZIP") == job
    with pytest.raises(ServiceError) as caught:
        shop.begin_import(name="other", ClientToken="t")
    assert caught.value.code == "ImportConflictException"
    assert caught.value.message == "Import conflict: Duplicate request detected with conflicting parameters"
    with pytest.raises(ServiceError) as caught:
        shop.begin_import(ClientToken="another")
    assert (caught.value.code, caught.value.message) == ("ResourceInUseException", "Table already exists: copy")
    monkeypatch.undo()
    shop.engine.jobs.wake()
    shop.engine.jobs.wait()
    with pytest.raises(ServiceError) as caught:
        shop.begin_import(ClientToken="t")
    assert (caught.value.code, caught.value.message) == ("ResourceInUseException", "Table already exists: copy")
    shop.engine.call("DeleteTable", {"TableName": "copy"})
    repeated = shop.begin_import(ClientToken="t")
    assert (repeated["ImportArn"], repeated["ImportStatus"]) == (job["ImportArn"], "COMPLETED")
    assert shop.engine.call("ListTables", {})["TableNames"] == []
    shop.clock.advance(limits.JOB_TOKEN_S)
    assert shop.import_(ClientToken="t")["ImportArn"] != job["ImportArn"]


def test_exports_are_listed_latest_first_in_pages(shop: Workshop) -> None:
    shop.create()
    shop.create("other")
    arns = []
    for number in range(12):
        shop.clock.advance(1)
        arns.append(shop.begin_export("other" if number == 5 else "notes", S3Bucket="nowhere")["ExportArn"])
    shop.engine.jobs.wait()
    page = shop.engine.call("ListExports", {})
    assert len(page["ExportSummaries"]) == 10
    rest = shop.engine.call("ListExports", {"NextToken": page["NextToken"]})
    assert "NextToken" not in rest
    listed = [summary["ExportArn"] for summary in page["ExportSummaries"] + rest["ExportSummaries"]]
    assert listed == sorted(arns, reverse=True)
    assert page["ExportSummaries"][0] == {
        "ExportArn": arns[5],
        "ExportStatus": "FAILED",
        "ExportType": "FULL_EXPORT",
    }
    of_table = "arn:aws:dynamodb:us-east-1:123456789012:table/other"
    assert [
        summary["ExportArn"] for summary in shop.engine.call("ListExports", {"TableArn": of_table})["ExportSummaries"]
    ] == [arns[5]]
    shop.engine.call("DeleteTable", {"TableName": "other"})
    assert shop.engine.call("ListExports", {"TableArn": of_table})["ExportSummaries"] == []
    shop.create("other")
    assert shop.engine.call("ListExports", {"TableArn": of_table})["ExportSummaries"] == []
    assert shop.described(arns[5])["ExportStatus"] == "FAILED"


def test_imports_are_listed_newest_first_in_pages(shop: Workshop) -> None:
    arns = []
    for name in ("bbb", "ccc", "aaa"):
        shop.clock.advance(1)
        arns.append(shop.import_("none", name)["ImportArn"])
    listed: list[dict[str, Any]] = []
    request: dict[str, Any] = {"PageSize": 1}
    while True:
        page = shop.engine.call("ListImports", request)
        listed += page["ImportSummaryList"]
        if "NextToken" not in page:
            break
        request["NextToken"] = page["NextToken"]
        assert len(request["NextToken"]) >= 112
    assert [summary["ImportArn"] for summary in listed] == arns[::-1]
    assert listed[0].keys() == {
        "ImportArn",
        "ImportStatus",
        "TableArn",
        "S3BucketSource",
        "CloudWatchLogGroupArn",
        "InputFormat",
        "StartTime",
        "EndTime",
    }
    shop.engine.call("DeleteTable", {"TableName": "ccc"})
    of_table = shop.engine.call("ListImports", {"TableArn": listed[1]["TableArn"]})["ImportSummaryList"]
    assert [summary["ImportArn"] for summary in of_table] == [arns[1]]


def test_a_token_of_the_other_list_is_invalid(shop: Workshop) -> None:
    for number in range(2):
        shop.import_("none", f"table{number}")
    token = shop.engine.call("ListImports", {"PageSize": 1})["NextToken"]
    for operation, values in (("ListExports", token), ("ListImports", "0" * 112), ("ListExports", "x")):
        assert failure(shop.engine, operation, {"NextToken": values}) == (
            "ValidationException",
            f"Invalid Request: Provided nextToken is invalid: {values}",
        )


def test_jobs_are_removed_after_90_days(shop: Workshop) -> None:
    old = shop.import_("none", "old")["ImportArn"]
    shop.clock.advance(limits.JOB_RETENTION_S)
    assert shop.engine.call("ListImports", {})["ImportSummaryList"] == []
    shop.import_("none", "new")
    assert failure(shop.engine, "DescribeImport", {"ImportArn": old})[0] == "ImportNotFoundException"


def test_the_number_of_concurrent_jobs_is_limited(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shop.engine.database, "wake_jobs", lambda: None)
    monkeypatch.setattr(limits, "EXPORTS_AT_ONCE", 1)
    monkeypatch.setattr(limits, "IMPORTS_AT_ONCE", 1)
    shop.create()
    shop.begin_export()
    shop.begin_import()
    request = {"TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/notes", "S3Bucket": BUCKET}
    assert failure(shop.engine, "ExportTableToPointInTime", request)[0] == "LimitExceededException"
    importing = {
        "ClientToken": "other",
        "S3BucketSource": {"S3Bucket": BUCKET},
        "InputFormat": "CSV",
        "TableCreationParameters": table("other"),
    }
    assert failure(shop.engine, "ImportTable", importing)[0] == "LimitExceededException"
