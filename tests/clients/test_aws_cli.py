"""The AWS CLI on the HTTP server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def driver() -> Any:
    """Return the program behind `aws`. In separate processes, each command would import it again."""
    from awscli.clidriver import create_clidriver  # noqa: PLC0415 - takes long, and every worker collects this file

    return create_clidriver()


@pytest.fixture
def aws(driver: Any, http_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `aws SERVICE ARGUMENTS...`; arguments other than text become JSON."""
    monkeypatch.setenv("AWS_PAGER", "")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    def run(service: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
        texts = [argument if isinstance(argument, str) else json.dumps(argument) for argument in arguments]
        command = [service, *texts, "--endpoint-url", http_endpoint, "--output", "json"]
        output, errors = StringIO(), StringIO()
        with redirect_stdout(output), redirect_stderr(errors):
            code = driver.main(command)
        return subprocess.CompletedProcess(command, code, output.getvalue(), errors.getvalue())

    return run


@pytest.fixture
def output_of(aws: Run) -> Callable[..., Any]:
    """Return a function that runs a command, requires that it succeeds and returns its parsed output."""

    def run(service: str, *arguments: Any) -> Any:
        process = aws(service, *arguments)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout) if process.stdout.strip() else None

    return run


KEY = {"customer": {"S": "ann"}, "placed": {"N": "1"}}


def test_a_table_is_created_and_deleted(output_of: Callable[..., Any], orders: dict[str, Any]) -> None:
    output_of("dynamodb", "create-table", "--cli-input-json", orders)
    output_of("dynamodb", "wait", "table-exists", "--table-name", "orders")
    assert output_of("dynamodb", "list-tables")["TableNames"] == ["orders"]
    described = output_of("dynamodb", "describe-table", "--table-name", "orders")
    assert described["Table"]["TableStatus"] == "ACTIVE"
    output_of("dynamodb", "delete-table", "--table-name", "orders")
    assert output_of("dynamodb", "list-tables")["TableNames"] == []


def test_items_are_written_and_read(output_of: Callable[..., Any], table: str) -> None:
    named = ("--table-name", table)
    output_of("dynamodb", "put-item", *named, "--item", {**KEY, "total": {"N": "5"}})
    output_of(
        "dynamodb",
        "update-item",
        *named,
        "--key",
        KEY,
        "--update-expression",
        "ADD #t :n",
        "--expression-attribute-names",
        {"#t": "total"},
        "--expression-attribute-values",
        {":n": {"N": "2"}},
    )
    response = output_of("dynamodb", "get-item", *named, "--key", KEY, "--consistent-read")
    assert response["Item"] == {**KEY, "total": {"N": "7"}}
    queried = output_of(
        "dynamodb",
        "query",
        *named,
        "--key-condition-expression",
        "customer = :c",
        "--expression-attribute-values",
        {":c": {"S": "ann"}},
    )
    assert (queried["Count"], queried["Items"]) == (1, [response["Item"]])
    output_of("dynamodb", "delete-item", *named, "--key", KEY)
    assert output_of("dynamodb", "scan", *named)["Items"] == []


def test_batches_and_transactions(output_of: Callable[..., Any], table: str) -> None:
    puts = [{"PutRequest": {"Item": {**KEY, "placed": {"N": str(n)}}}} for n in range(3)]
    output_of("dynamodb", "batch-write-item", "--request-items", {table: puts})
    delete = {"Delete": {"TableName": table, "Key": KEY}}
    output_of("dynamodb", "transact-write-items", "--transact-items", [delete])
    assert output_of("dynamodb", "scan", "--table-name", table, "--select", "COUNT")["Count"] == 2


def test_streams_are_read(output_of: Callable[..., Any], table: str) -> None:
    output_of("dynamodb", "put-item", "--table-name", table, "--item", KEY)
    (stream,) = output_of("dynamodbstreams", "list-streams", "--table-name", table)["Streams"]
    described = output_of("dynamodbstreams", "describe-stream", "--stream-arn", stream["StreamArn"])
    records = []
    for shard in described["StreamDescription"]["Shards"]:
        iterator = output_of(
            "dynamodbstreams",
            "get-shard-iterator",
            "--stream-arn",
            stream["StreamArn"],
            "--shard-id",
            shard["ShardId"],
            "--shard-iterator-type",
            "TRIM_HORIZON",
        )["ShardIterator"]
        records += output_of("dynamodbstreams", "get-records", "--shard-iterator", iterator)["Records"]
    assert [record["dynamodb"]["NewImage"] for record in records] == [KEY]


def test_errors_are_printed_to_the_terminal(aws: Run, table: str) -> None:
    missing = aws("dynamodb", "get-item", "--table-name", "nowhere", "--key", KEY)
    assert missing.returncode != 0
    assert "(ResourceNotFoundException)" in missing.stderr
    condition = ("--condition-expression", "attribute_exists(customer)")
    failed = aws("dynamodb", "put-item", "--table-name", table, "--item", KEY, *condition)
    assert "(ConditionalCheckFailedException)" in failed.stderr
    assert "The conditional request failed" in failed.stderr
