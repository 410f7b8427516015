"""Exports to S3 and imports from it, by HTTP against a server that is compatible with S3."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from tests.engine.transfer.making import BUCKET, Workshop, item, json_lines

from keyplan.engine.transfer.buckets import BucketError, S3Buckets, open_buckets


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(url: str) -> Any:
    client = boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s"
    )
    client.create_bucket(Bucket=BUCKET)
    for found_object in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        client.delete_object(Bucket=BUCKET, Key=found_object["Key"])
    return client


@pytest.fixture
def shop(url: str, tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path)
    workshop.engine.buckets = workshop.engine.database.buckets = S3Buckets(
        key="k", secret="s", endpoint_url=url, client_kwargs={"region_name": "us-east-1"}
    )
    yield workshop
    workshop.engine.close()


def test_an_export_to_s3_can_be_imported_from_it(shop: Workshop, s3: Any) -> None:
    shop.create()
    shop.put(*(item(str(number), b={"B": bytes([number])}) for number in range(30)))
    ended = shop.export(S3Prefix="out", S3SseAlgorithm="AES256")
    assert ended["ExportStatus"] == "COMPLETED", ended
    folder = ended["ExportManifest"].rpartition("/")[0]
    listed = {stored_object["Key"]: stored_object for stored_object in s3.list_objects_v2(Bucket=BUCKET)["Contents"]}
    assert listed[f"{folder}/_started"]["Size"] == 0
    data = [key for key in listed if key.startswith(f"{folder}/data/")]
    assert len(data) == 4
    manifest = s3.get_object(Bucket=BUCKET, Key=f"{folder}/manifest-files.json")["Body"].read().decode()
    assert all(listed[key]["ETag"].strip('"') in manifest for key in data)
    assert s3.head_object(Bucket=BUCKET, Key=data[0])["ServerSideEncryption"] == "AES256"
    imported = shop.import_(f"{folder}/data/", InputCompressionType="GZIP")
    assert (imported["ImportStatus"], imported["ImportedItemCount"]) == ("COMPLETED", 30)
    assert shop.scan("copy") == shop.scan("notes")


def test_a_missing_bucket_fails_export_and_import(shop: Workshop, s3: Any) -> None:
    shop.create()
    assert shop.export(S3Bucket="nowhere")["FailureCode"] == "S3NoSuchBucket"
    assert shop.import_(S3BucketSource={"S3Bucket": "nowhere"})["FailureCode"] == "S3NoSuchBucket"
    empty = shop.import_("no/such/prefix", "empty")
    assert (empty["ImportStatus"], empty["ImportedItemCount"]) == ("COMPLETED", 0)


def test_objects_are_listed_over_all_pages_and_streamed(
    shop: Workshop, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        s3.put_object(Bucket=BUCKET, Key=f"in/{number}", Body=json_lines(item(str(number))).encode())
    s3.put_object(Bucket=BUCKET, Key="in/empty", Body=b"")
    s3.put_object(Bucket=BUCKET, Key="in2", Body=json_lines(item("9")).encode())
    buckets = shop.engine.buckets
    assert isinstance(buckets, S3Buckets)
    call = buckets._files.call_s3
    monkeypatch.setattr(buckets._files, "call_s3", lambda name, **file: call(name, **file, MaxKeys=2))
    assert list(buckets.keys(BUCKET, "in/")) == [f"in/{number}" for number in range(5)]
    monkeypatch.undo()
    assert shop.import_("in")["ImportedItemCount"] == 6


def test_errors_of_s3_are_reported(shop: Workshop, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    buckets = shop.engine.buckets
    assert isinstance(buckets, S3Buckets)

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError("Access Denied")

    monkeypatch.setattr(buckets._files, "put_file", refuse)
    shop.create()
    ended = shop.export()
    assert (ended["FailureCode"], ended["FailureMessage"]) == ("S3AccessDenied", "Access Denied")
    with pytest.raises(BucketError):
        buckets.etag(BUCKET, "missing")


def test_the_endpoint_is_read_from_the_environment_variables_of_aws(
    url: str, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("AWS_ENDPOINT_URL_S3", url),
        ("AWS_ACCESS_KEY_ID", "k"),
        ("AWS_SECRET_ACCESS_KEY", "s"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    s3.put_object(Bucket=BUCKET, Key="a", Body=b"x")
    buckets = open_buckets("s3://")
    assert list(buckets.keys(BUCKET, "")) == ["a"]
    buckets.check_key("/any/../key")
