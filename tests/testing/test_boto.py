"""Who is answered by which engine, and when."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest import mock

import boto3
import pytest
from aiobotocore.client import AioBaseClient
from botocore.client import BaseClient
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from keyplan.testing.boto import answered_by, attach, detach

NO_RETRIES = {"retries": {"total_max_attempts": 1}}
CREDENTIALS: dict[str, Any] = {"aws_access_key_id": "id", "aws_secret_access_key": "secret"}


def named(name: str) -> dict[str, Any]:
    return {"TableNames": [name]}


def table_of(client: Any) -> str:
    name: str = client.list_tables()["TableNames"][0]
    return name


def test_a_client_created_before_the_block_is_answered(client: Any, scripted: Any) -> None:
    with answered_by(scripted(named("a"))):
        assert table_of(client) == "a"


def test_a_client_created_inside_the_block_is_answered(make_client: Any, scripted: Any) -> None:
    with answered_by(scripted(named("a"))):
        assert table_of(make_client()) == "a"


def test_the_block_returns_its_engine(scripted: Any) -> None:
    engine = scripted()
    with answered_by(engine) as answered:
        assert answered is engine


def test_the_innermost_block_answers(client: Any, scripted: Any) -> None:
    with answered_by(scripted(named("outer"))):
        with answered_by(scripted(named("inner"))):
            assert table_of(client) == "inner"
        assert table_of(client) == "outer"


def test_after_the_last_block_botocore_is_restored(client: Any, scripted: Any) -> None:
    before = dict(vars(BaseClient))
    with answered_by(scripted()):
        assert dict(vars(BaseClient)) != before
    assert dict(vars(BaseClient)) == before


def test_after_the_block_requests_are_sent_again(scripted: Any) -> None:
    client = boto3.Session(region_name="eu-west-1", **CREDENTIALS).client("dynamodb", endpoint_url="http://127.0.0.1:9")
    client.meta.events.unregister("needs-retry.dynamodb", unique_id="retry-config-dynamodb")
    with answered_by(scripted(named("a"))):
        assert table_of(client) == "a"
    with pytest.raises(EndpointConnectionError):
        client.list_tables()


def test_a_failing_block_restores_botocore(client: Any, scripted: Any) -> None:
    before = dict(vars(BaseClient))
    with pytest.raises(KeyError), answered_by(scripted()):
        raise KeyError("test")
    assert dict(vars(BaseClient)) == before


def test_other_services_are_not_answered(scripted: Any) -> None:
    engine = scripted()
    client = boto3.Session(region_name="eu-west-1", **CREDENTIALS).client("sts")
    with answered_by(engine), Stubber(client) as stubber:
        stubber.add_response("get_caller_identity", {"Account": "123456789012"})
        assert client.get_caller_identity()["Account"] == "123456789012"
    assert engine.calls == []


def test_streams_are_answered(make_client: Any, scripted: Any) -> None:
    engine = scripted({"Streams": []})
    client = make_client("dynamodbstreams")
    with answered_by(engine):
        assert client.list_streams(Limit=5)["Streams"] == []
    assert engine.calls == [("ListStreams", {"Limit": 5})]


def test_a_decorated_function_runs_in_a_block(client: Any, scripted: Any) -> None:
    @answered_by(scripted(named("a")))
    def work(suffix: str) -> str:
        return table_of(client) + suffix

    assert [work("1"), work("2")] == ["a1", "a2"]


def test_a_decorated_coroutine_function_stays_in_its_block(client: Any, scripted: Any) -> None:
    @answered_by(scripted(named("a")))
    async def work() -> str:
        await asyncio.sleep(0)
        return table_of(client)

    assert asyncio.run(work()) == "a"


def test_a_block_can_be_entered_again(client: Any, scripted: Any) -> None:
    block = answered_by(scripted(named("a")))
    with block, block:
        assert table_of(client) == "a"
    with block:
        assert table_of(client) == "a"


def test_a_thread_outside_any_block_is_answered_by_the_last(client: Any, scripted: Any) -> None:
    with answered_by(scripted(named("a"))), ThreadPoolExecutor(1) as pool:
        assert pool.submit(table_of, client).result() == "a"


def test_the_last_of_two_blocks_answers_a_thread_outside_any(client: Any, scripted: Any) -> None:
    with (
        answered_by(scripted(named("first"))),
        answered_by(scripted(named("second"))),
        ThreadPoolExecutor(1) as pool,
    ):
        assert pool.submit(table_of, client).result() == "second"


def test_a_finished_block_releases_its_engine(client: Any, scripted: Any) -> None:
    engine = scripted(named("a"))
    with answered_by(engine):
        table_of(client)
    left = weakref.ref(engine)
    del engine
    gc.collect()
    assert left() is None


def test_each_thread_is_answered_by_the_block_it_entered(client: Any, scripted: Any) -> None:
    all_inside = threading.Barrier(4)

    def work(name: str) -> str:
        with answered_by(scripted(named(name))):
            all_inside.wait()
            return table_of(client)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, "abcd")) == list("abcd")


def test_each_task_is_answered_by_the_block_it_entered(client: Any, scripted: Any) -> None:
    async def work(name: str) -> str:
        with answered_by(scripted(named(name))):
            await asyncio.sleep(0)
            return table_of(client)

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(work(name) for name in "abc"))

    assert asyncio.run(all_of_them()) == ["a", "b", "c"]


def test_a_task_that_outlives_its_block_is_answered_by_the_outer_one(client: Any, scripted: Any) -> None:
    async def work(left: asyncio.Event) -> str:
        await left.wait()
        return table_of(client)

    async def both() -> str:
        left = asyncio.Event()
        with answered_by(scripted(named("inner"))):
            task = asyncio.create_task(work(left))
        left.set()
        return await task

    with answered_by(scripted(named("outer"))):
        assert asyncio.run(both()) == "outer"


def test_blocks_may_end_in_the_order_they_were_entered(client: Any, scripted: Any) -> None:
    first, second = answered_by(scripted(named("first"))), answered_by(scripted(named("second")))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert table_of(client) == "second"
    second.__exit__(None, None, None)


def test_a_mock_of_the_method_is_restored_after_a_block(client: Any, scripted: Any) -> None:
    with mock.patch.object(BaseClient, "_make_api_call", return_value=named("mock")):
        with answered_by(scripted(named("a"))):
            assert table_of(client) == "a"
        assert table_of(client) == "mock"


def test_an_attached_client_is_answered_until_it_is_detached(make_client: Any, scripted: Any) -> None:
    attached, other = make_client(**NO_RETRIES), make_client(**NO_RETRIES)
    attach(attached, scripted(named("a")))
    with answered_by(scripted(named("b"))):
        assert (table_of(attached), table_of(other)) == ("a", "b")
        detach(attached)
        assert table_of(attached) == "b"


def test_attaching_again_changes_the_engine(client: Any, scripted: Any) -> None:
    attach(client, scripted(named("a")))
    attach(client, scripted(named("b")))
    assert table_of(client) == "b"


def test_a_resource_is_attached_by_its_client(scripted: Any) -> None:
    resource = boto3.Session(region_name="eu-west-1").resource("dynamodb")
    attach(resource, scripted({"Item": {"n": {"N": "1.5"}}}))
    assert str(resource.Table("t").get_item(Key={"id": "7"})["Item"]["n"]) == "1.5"


@contextmanager
def looped(service: str = "dynamodb") -> Iterator[Any]:
    """Yield a client of aiobotocore's class, and the results of its calls; requests are not sent."""
    with mock.patch.object(AioBaseClient, "_make_api_call", new=mock.AsyncMock(return_value=named("sent"))):
        client = AioBaseClient.__new__(AioBaseClient)
        session: Any = boto3.Session(region_name="eu-west-1")
        client.meta = session.client(service).meta
        client._endpoint = mock.Mock(spec=[])
        yield client


async def awaited(client: Any) -> str:
    name: str = (await client._make_api_call("ListTables", {}))["TableNames"][0]
    return name


def test_an_attached_asynchronous_client_is_awaited(scripted: Any) -> None:
    with looped() as client:
        attach(client, scripted(named("a")))
        assert asyncio.run(awaited(client)) == "a"
        detach(client)
        assert asyncio.run(awaited(client)) == "sent"


def test_asynchronous_clients_are_answered_in_blocks_only(scripted: Any) -> None:
    with looped() as client:
        with answered_by(scripted(named("a"))):
            assert asyncio.run(awaited(client)) == "a"
        assert asyncio.run(awaited(client)) == "sent"


def test_asynchronous_clients_for_other_services_are_not_answered(scripted: Any) -> None:
    with looped("sts") as client, answered_by(scripted(named("a"))):
        assert asyncio.run(awaited(client)) == "sent"


def test_asynchronous_clients_are_answered_if_their_package_is_imported_inside_the_block(
    scripted: Any, make_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = sys.modules["aiobotocore.client"]
    with looped() as client:
        monkeypatch.delitem(sys.modules, "aiobotocore.client")
        with answered_by(scripted(named("a"))):
            assert asyncio.run(awaited(client)) == "sent"
            monkeypatch.setitem(sys.modules, "aiobotocore.client", package)
            make_client()  # whichever it is: making one looks again
            assert asyncio.run(awaited(client)) == "a"
        assert asyncio.run(awaited(client)) == "sent"


def test_detaching_a_client_that_was_never_attached_does_nothing(client: Any) -> None:
    detach(client)
    assert "_make_api_call" not in vars(client)


def test_a_client_of_another_service_cannot_be_attached(scripted: Any) -> None:
    client = boto3.Session(region_name="eu-west-1").client("sts")
    with pytest.raises(ValueError, match="a client for sts"):
        attach(client, scripted())


@pytest.mark.parametrize(
    ("missing", "module"),
    [("botocore", "keyplan.testing.boto"), ("boto3", "keyplan.testing.boto")],
)
def test_without_boto3_the_error_names_the_extra_to_install(missing: str, module: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.rstrip().endswith("install keyplan[aws]")
