"""connect: URLs, names, who owns what, and what is missing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.client import board
from tests.client.board import Counter

import keyplan
from keyplan.client.connect import Target, target_of
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine


@pytest.mark.parametrize(
    ("url", "target"),
    [
        (":memory:", Target(path=":memory:")),
        ("data.db", Target(path="data.db")),
        ("/a b/data.db?table_prefix=x-", Target(path="/a b/data.db", prefix="x-")),
        ("http://127.0.0.1:8000", Target(endpoint="http://127.0.0.1:8000")),
        ("http://127.0.0.1:8000/", Target(endpoint="http://127.0.0.1:8000")),
        ("https://host/path?table_prefix=p.", Target(endpoint="https://host/path", prefix="p.")),
        ("https://host/path/?table_prefix=p.", Target(endpoint="https://host/path/", prefix="p.")),
        ("aws://eu-west-1", Target(region="eu-west-1")),
        ("aws://eu-west-1?table_prefix=dev-", Target(region="eu-west-1", prefix="dev-")),
    ],
)
def test_urls_are_parsed_to_targets(url: str, target: Target) -> None:
    assert target_of(url) == target


@pytest.mark.parametrize(
    "url", ["ftp://x", "aws://", "aws:/eu-west-1", "http:localhost:8000", "http://", "dynamodb://eu-west-1"]
)
def test_unsupported_urls_are_rejected(url: str) -> None:
    with pytest.raises(ValueError, match="is not supported"):
        target_of(url)


def test_an_aws_url_names_the_regional_endpoint_and_disables_boto3_retries() -> None:
    with keyplan.connect("aws://eu-west-1") as db:
        meta = db.transport.client.meta  # type: ignore[attr-defined]  # of boto3
        assert meta.endpoint_url == "https://dynamodb.eu-west-1.amazonaws.com"
        assert meta.config.retries["total_max_attempts"] == 1


def test_unknown_url_options_are_rejected() -> None:
    with pytest.raises(ValueError, match="unknown option in the URL: prefix"):
        target_of("aws://eu-west-1?prefix=x")
    with pytest.raises(ValueError, match="bad query field"):
        target_of("data.db?table_prefix")


def test_connect_requires_exactly_one_of_url_engine_and_client(engine: Engine) -> None:
    for values in ({}, {"url": ":memory:", "engine": engine}):
        with pytest.raises(ValueError, match="exactly one of url, engine and client"):
            keyplan.connect(**values)  # type: ignore[arg-type]  # several kinds of arguments
    with pytest.raises(ValueError, match="1 to 64 bytes"):
        keyplan.connect(engine=engine, cursor_key=b"")


def test_a_file_keeps_written_items(tmp_path: Path) -> None:
    url = str(tmp_path / "data.db")
    with keyplan.connect(url) as db:
        db.run(board.hit("c", 3))
    with keyplan.connect(url) as db:
        assert db.run(board.counter("c")) == Counter(name="c", count=3)


def test_a_passed_engine_is_shared_and_stays_open(engine: Engine) -> None:
    with keyplan.connect(engine=engine) as shared, keyplan.connect(engine=engine) as two:
        shared.run(board.hit("c", 1))
        assert two.run(board.counter("c")) == Counter(name="c", count=1)
    assert engine.call("ListTables", {})["TableNames"] == ["counters"]


def test_tables_use_the_configured_names(engine: Engine) -> None:
    db = keyplan.connect(engine=engine, prefix="dev-", names={board.app: "tasks-7", "readings": "r-7"})
    assert [db.table_name(table) for table in board.TABLES] == ["tasks-7", "r-7", "dev-counters"]
    db.run(board.hit("c", 1))
    assert engine.call("ListTables", {})["TableNames"] == ["dev-counters"]


def test_a_boto3_client_can_be_passed(engine: Engine) -> None:
    pytest.importorskip("boto3")
    from keyplan.testing.boto import make_client  # noqa: PLC0415 - needs boto3

    db = keyplan.connect(client=make_client("dynamodb", engine), clock=ManualClock())
    db.create_tables(board.counters)
    assert db.run(board.hit("c", 1)) == Counter(name="c", count=1)


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_an_event_loop_runs_many_calls_concurrently(tmp_path: Path, durability: str) -> None:
    async def work(engine: Engine) -> int:
        async with await keyplan.connect_async(engine=engine) as db:
            await asyncio.gather(*(db.run(board.hit("c", 1)) for _ in range(20)))
            result = await db.run(board.counter("c"))
            return result.count if result is not None else 0

    with Engine.open(tmp_path / "x.db", durability=durability) as engine:  # type: ignore[arg-type]  # one of two words
        assert asyncio.run(work(engine)) == 20


@pytest.mark.parametrize("few", [0, 1, 2])
def test_an_event_loop_without_more_threads_makes_each_call_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    started, start = list[threading.Thread](), threading.Thread.start

    def start_few(thread: threading.Thread) -> None:
        if len(started) == few:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    async def work(engine: Engine) -> int:
        async with await keyplan.connect_async(engine=engine) as db:
            with monkeypatch.context() as patch:
                patch.setattr(threading.Thread, "start", start_few)
                await asyncio.gather(*(db.run(board.hit("c", 1)) for _ in range(20)))
            result = await db.run(board.counter("c"))
            return result.count if result is not None else 0

    with Engine.open(tmp_path / "x.db", durability="full") as engine:
        assert asyncio.run(work(engine)) == 20


@pytest.mark.slow  # starts a process
def test_importing_keyplan_needs_neither_pydantic_nor_boto3() -> None:
    code = "import sys, keyplan; print(sorted({'pydantic', 'boto3', 'apsw'} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
    code = "import sys, keyplan; keyplan.connect(':memory:'); print(sorted({'boto3', 'botocore'} & set(sys.modules)))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_without_boto3_the_error_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ImportError, match=r"keyplan\[aws\]"):
        keyplan.connect("http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "aiobotocore.session", None)
    with pytest.raises(ImportError, match=r"install keyplan\[async\]"):
        asyncio.run(keyplan.connect_async("http://127.0.0.1:1"))


def test_an_unreachable_endpoint_is_reported_after_the_attempts() -> None:
    from keyplan.client.errors import UnavailableError  # noqa: PLC0415 - only here
    from keyplan.client.requests import Retries  # noqa: PLC0415 - only here

    db = keyplan.connect("http://127.0.0.1:9", retries=Retries(attempts=2, first_s=0.001))
    with pytest.raises(UnavailableError, match=r"after 2 attempts.*Could not connect"):
        db.run(board.hit("c", 1))
