"""Exports and imports through boto3 and over HTTP, and a round trip of all items as a property."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.transfer.making import BUCKET, TABLE_ARN, Workshop, item, table
from tests.laws import examples

from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer
from keyplan.testing.boto import answered_by

NAMES = st.text(min_size=1, max_size=8).filter(lambda name: name != "id")
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-(10**9), max_value=10**9).map(str)


def values(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.lists(inner, max_size=3).map(lambda members: {"L": members}) | st.dictionaries(
        NAMES, inner, max_size=3
    ).map(lambda members: {"M": members})


VALUES = st.recursive(
    st.text(max_size=20).map(lambda text: {"S": text})
    | NUMBERS.map(lambda number: {"N": number})
    | st.binary(max_size=20).map(lambda content: {"B": content})
    | st.booleans().map(lambda truth: {"BOOL": truth})
    | st.just({"NULL": True})
    | st.sets(st.text(max_size=5), min_size=1, max_size=4).map(lambda members: {"SS": sorted(members)})
    | st.sets(st.integers(-999, 999), min_size=1, max_size=4).map(
        lambda members: {"NS": [str(n) for n in sorted(members)]}
    )
    | st.sets(st.binary(max_size=5), min_size=1, max_size=4).map(lambda members: {"BS": sorted(members)}),
    values,
    max_leaves=6,
)
ITEMS = st.dictionaries(st.text(min_size=1, max_size=10), st.dictionaries(NAMES, VALUES, max_size=4), max_size=6)


@settings(max_examples=examples(60))
@given(ITEMS)
def test_imported_items_equal_the_exported_ones(
    tmp_path_factory: pytest.TempPathFactory, items: dict[str, dict[str, Any]]
) -> None:
    shop = Workshop(tmp_path_factory.mktemp("law"))
    try:
        shop.create()
        shop.put(*(item(id_, **attributes) for id_, attributes in items.items()))
        folder = shop.export()["ExportManifest"].rpartition("/")[0]
        ended = shop.import_(f"{folder}/data/", InputCompressionType="GZIP")
        assert (ended["ImportStatus"], ended["ImportedItemCount"]) == ("COMPLETED", len(items))
        assert shop.scan("copy") == shop.scan("notes")
    finally:
        shop.engine.close()


def round_trip(client: Any, wait: Any) -> None:
    """Run an export and an import by an SDK."""
    client.create_table(**table("notes"))
    client.update_continuous_backups(
        TableName="notes", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    for number in range(10):
        client.put_item(TableName="notes", Item=item(str(number), b={"B": b"\x00\xff"}))
    with pytest.raises(client.exceptions.TableNotFoundException):
        client.export_table_to_point_in_time(TableArn=f"{TABLE_ARN}nothing", S3Bucket=BUCKET)
    job = client.export_table_to_point_in_time(TableArn=f"{TABLE_ARN}notes", S3Bucket=BUCKET)["ExportDescription"]
    assert isinstance(job["StartTime"], datetime.datetime)
    assert job["ClientToken"]
    wait()
    ended = client.describe_export(ExportArn=job["ExportArn"])["ExportDescription"]
    assert (ended["ExportStatus"], ended["ItemCount"]) == ("COMPLETED", 10)
    assert client.list_exports()["ExportSummaries"][0]["ExportArn"] == job["ExportArn"]
    folder = ended["ExportManifest"].rpartition("/")[0]
    imported = client.import_table(
        S3BucketSource={"S3Bucket": BUCKET, "S3KeyPrefix": f"{folder}/data/"},
        InputFormat="DYNAMODB_JSON",
        InputCompressionType="GZIP",
        TableCreationParameters=table("copy"),
    )["ImportTableDescription"]
    wait()
    client.get_waiter("table_exists").wait(TableName="copy", WaiterConfig={"Delay": 0, "MaxAttempts": 3})
    ended = client.describe_import(ImportArn=imported["ImportArn"])["ImportTableDescription"]
    assert (ended["ImportStatus"], ended["ImportedItemCount"]) == ("COMPLETED", 10)
    assert isinstance(ended["EndTime"], datetime.datetime)
    assert client.list_imports()["ImportSummaryList"][0]["ImportArn"] == imported["ImportArn"]
    copied, notes = (client.scan(TableName=name)["Items"] for name in ("copy", "notes"))
    assert copied == notes
    with pytest.raises(client.exceptions.ImportNotFoundException):
        client.describe_import(ImportArn=imported["ImportArn"][:-1] + "x")
    with pytest.raises(client.exceptions.ExportNotFoundException):
        client.describe_export(ExportArn=job["ExportArn"][:-1] + "x")
    with pytest.raises(client.exceptions.InvalidExportTimeException):
        client.export_table_to_point_in_time(
            TableArn=f"{TABLE_ARN}notes", S3Bucket=BUCKET, ExportTime=datetime.datetime(2020, 1, 1)
        )


def test_boto3_exports_and_imports_in_process(shop: Workshop) -> None:
    with answered_by(shop.engine):
        round_trip(boto3.client("dynamodb", region_name="us-east-1"), shop.engine.jobs.wait)


def test_boto3_exports_and_imports_over_http(tmp_path: Path) -> None:
    (tmp_path / BUCKET).mkdir()
    with Engine.open(tmp_path / "data.db", buckets=tmp_path) as engine, ThreadedServer(engine) as server:
        client = boto3.client(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{server.port}",
            region_name="us-east-1",
            aws_access_key_id="k",
            aws_secret_access_key="s",
        )
        round_trip(client, engine.jobs.wait)
        client.close()
