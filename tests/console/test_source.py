"""What the console talks to: engines, endpoints, AWS, and the receipts of their calls."""

from __future__ import annotations

from typing import Any

import pytest
from tests.console.data import create, put

from keyplan.client.errors import NoAnswerError
from keyplan.console import Source
from keyplan.console.source import receipts_of_page, record_calls
from keyplan.engine.engine import Engine
from keyplan.errors import ResourceNotFoundError, UnknownOperationError
from keyplan.server.thread import ThreadedServer


@pytest.mark.parametrize("is_remote", [False, True])
def test_each_call_leaves_a_receipt(engine: Engine, is_remote: bool) -> None:
    create(engine)
    with ThreadedServer(engine) as server:
        source = Source.endpoint_url(server.url) if is_remote else Source.from_engine(engine)
        item = {"customer": {"S": "Ada"}, "number": {"N": "1"}, "status": {"S": "open"}, "raw": {"B": b"\x00"}}
        with record_calls() as receipts:
            source.call("PutItem", {"TableName": "orders", "Item": item})
            items = source.call("Scan", {"TableName": "orders"})["Items"]
            with pytest.raises(ResourceNotFoundError):
                source.call("DescribeTable", {"TableName": "nothing"})
            assert receipts_of_page() == receipts
        source.close()
    assert items == [item]
    written, scanned, failed = receipts
    assert (written.operation, written.table, written.units) == ("PutItem", "orders", 2.0)
    assert written.index_units == {"by-status": 1.0}
    assert (scanned.items, scanned.scanned, scanned.units) == (1, 1, 0.5)
    assert failed.error == "ResourceNotFoundException"
    assert all(receipt.latency_ms > 0 for receipt in receipts)
    assert list(source.receipts) == receipts
    assert receipts_of_page() == []


def test_an_unsupported_operation_is_remembered(engine: Engine) -> None:
    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        raise UnknownOperationError("not here")

    source = Source("other", call, kind="endpoint")
    assert source.supports("ListBackups")
    with pytest.raises(UnknownOperationError):
        source.call("ListBackups", {})
    assert not source.supports("ListBackups")
    assert source.unsupported == {"ListBackups": "not here"}
    assert Source.from_engine(engine).supports("ListBackups")
    assert not Source.from_engine(engine).supports("CreateGlobalTable")


def test_a_lost_endpoint_is_an_error_and_not_an_unsupported_operation(engine: Engine) -> None:
    with ThreadedServer(engine) as server:
        source = Source.endpoint_url(server.url)
    with pytest.raises(NoAnswerError):
        source.call("ListTables", {})
    assert source.supports("ListTables")
    source.close()


def test_dynamodb_in_a_region_needs_no_request_to_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    source = Source.aws("eu-west-1")
    assert (source.name, source.kind, source.region, source.endpoint) == ("DynamoDB eu-west-1", "aws", "eu-west-1", "")
    source.close()


def test_a_url_that_is_not_an_endpoint_is_rejected() -> None:
    with pytest.raises(ValueError, match="expected a URL such as"):
        Source.endpoint_url("data.db")


def test_the_console_option_selects_the_same_database(engine: Engine, tmp_path: Any) -> None:
    opened = Source.file(str(tmp_path / "two words.db"))
    assert opened.option == f" --db '{tmp_path}/two words.db'"
    opened.close()
    served = Source.from_engine(engine, "data.db")
    assert served.option == ""
    served.endpoint = "http://127.0.0.1:8000"
    assert served.option == " --endpoint http://127.0.0.1:8000"


def test_a_file_is_opened_and_closed_with_its_source(tmp_path: Any) -> None:
    path = str(tmp_path / "data.db")
    source = Source.file(path)
    assert source.engine is not None
    create(source.engine)
    put(source.engine, "Ada", 1)
    source.close()
    again = Source.file(path)
    assert again.call("Scan", {"TableName": "orders"})["Count"] == 1
    again.close()
