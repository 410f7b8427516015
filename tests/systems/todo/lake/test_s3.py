"""Lake on S3, over HTTP against a compatible server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer
from s3fs.errors import translate_boto_error
from tests.systems.todo.lake.queries import gold, rows, sequences, silver
from tests.systems.todo.lake.record_history import History

from keyplan.clock import ManualClock
from keyplan_systems.todo.lake.errors import LakeBusyError
from keyplan_systems.todo.lake.lake import Lake
from keyplan_systems.todo.lake.storage import Bucket, open_storage


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, Any]]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = {"region_name": "us-east-1"}
    members = {"key": "k", "secret": "s", "endpoint_url": f"http://{host}:{port}", "client_kwargs": client}
    open_bucket(members)
    yield members
    server.stop()


def open_bucket(options: dict[str, Any]) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=options["endpoint_url"],
        region_name="us-east-1",
        aws_access_key_id=options["key"],
        aws_secret_access_key=options["secret"],
    )
    client.create_bucket(Bucket="bucket")


def test_a_lake_on_s3_equals_a_lake_in_a_folder(lake: Lake, clock: ManualClock, options: dict[str, Any]) -> None:
    remote = Lake.open("s3://bucket/some/lake", clock=clock, options=options)
    history = History()
    batches = [[history.put_user("ann")], [history.put_task("ann", str(number)) for number in range(5)]]
    batches += [[history.expire_task("ann", "1")], [history.delete_task("ann", "2")]]
    for source in (lake, remote):
        for batch in batches:
            source.bronze.write(batch)
        assert source.bronze.write(batches[1]).stored == 0
        source.refresh()
        assert source.compact(min_files=2).files_after == 1
        assert source.vacuum(retention_s=0).files > 0
    assert rows(remote, "SELECT * FROM bronze.events ORDER BY ALL") == rows(
        lake, "SELECT * FROM bronze.events ORDER BY ALL"
    )
    assert silver(remote) == silver(lake)
    assert gold(remote) == gold(lake)
    assert remote.snapshot.files == lake.snapshot.files


def test_concurrent_writers_on_s3_store_each_event_once(options: dict[str, Any]) -> None:
    history = History()
    records = [history.put_task("ann", str(number)) for number in range(12)]

    def write(at: int) -> int:
        return (
            Lake.open("s3://bucket/many", clock=ManualClock(), options=options)
            .bronze.write(records[at : at + 6])
            .stored
        )

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(write, (0, 3, 6))) == 12
    assert len(sequences(Lake.open("s3://bucket/many", clock=ManualClock(), options=options))) == 12


def test_a_file_is_created_once_and_found_immediately(options: dict[str, Any]) -> None:
    storage = open_storage("s3://bucket/files", options)
    assert storage.list_paths("a") == []
    assert storage.create("a/b", b"1")
    assert not storage.create("a/b", b"2")
    assert storage.read("a/b") == b"1"
    storage.put("a/b", b"3")
    assert storage.read("a/b") == b"3"
    assert storage.list_paths("a") == ["a/b"]
    storage.remove("a/b")
    storage.remove("a/b")
    assert storage.list_paths("a") == []
    with pytest.raises(FileNotFoundError):
        storage.read("a/b")
    assert storage.sweep(0) == 0


@pytest.mark.parametrize("is_created", [False, True])
def test_a_file_created_concurrently_by_another_writer_is_decided_by_retrying(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, is_created: bool
) -> None:
    storage = Bucket(f"s3://bucket/conflict-{is_created}", options)
    conflict = ClientError({"Error": {"Code": "ConditionalRequestConflict", "Message": "try again"}}, "PutObject")
    pipe_file, conflicts = storage._fs.pipe_file, [1, 2]

    def disputed(path: str, body: bytes, **options: Any) -> None:
        if conflicts:
            conflicts.pop()
            if is_created and not conflicts:
                pipe_file(path, b"theirs")
            raise translate_boto_error(conflict)
        pipe_file(path, body, **options)

    monkeypatch.setattr(storage._fs, "pipe_file", disputed)
    assert storage.create("a", b"mine") is not is_created
    assert storage.read("a") == (b"theirs" if is_created else b"mine")


def test_permanent_conflicts_and_a_rejecting_bucket_are_failures(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, operations = Bucket("s3://bucket/disputed", options), list[str]()

    def refused(code: str, error: type[Exception]) -> None:
        def refuse(path: str, body: bytes, **options: Any) -> None:
            operations.append(code)
            raise translate_boto_error(ClientError({"Error": {"Code": code, "Message": code}}, "PutObject"))

        monkeypatch.setattr(storage._fs, "pipe_file", refuse)
        with pytest.raises(error):
            storage.create("a", b"mine")

    refused("ConditionalRequestConflict", LakeBusyError)
    refused("InternalError", OSError)
    assert operations.count("ConditionalRequestConflict") > 10
    assert operations.count("InternalError") == 1


def test_a_query_on_missing_files_reports_them(options: dict[str, Any]) -> None:
    lake = Lake.open("s3://bucket/gone", clock=ManualClock(), options=options)
    lake.bronze.write([History().put_user("ann")])
    open_storage("s3://bucket/gone", options).remove(lake.snapshot.files[0].path)
    with pytest.raises(LakeBusyError, match="use a longer retention"):
        lake.query("SELECT * FROM bronze.events")
