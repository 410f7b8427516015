"""Who may open the console: the token, its cookie, forms, Host and Origin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from keyplan.clock import ManualClock
from keyplan.console import Access, Console, Source
from keyplan.console.access import SESSION_S, is_read
from keyplan.engine.engine import Engine
from keyplan.errors import AccessDeniedError

TOKEN = "a-token-that-is-long-enough"
BASE = "http://127.0.0.1:8001"
PAGE = "/console/data/"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def client(engine: Engine, clock: ManualClock) -> Iterator[TestClient]:
    console = Console(Source.from_engine(engine), access=Access(TOKEN, clock=clock))
    with TestClient(console.site(), base_url=BASE, follow_redirects=False) as client:
        yield client


def test_the_printed_link_is_exchanged_for_a_strict_cookie_that_scripts_cannot_read(client: TestClient) -> None:
    response = client.get(f"/console/?token={TOKEN}&tab=items")
    assert (response.status_code, response.headers["location"]) == (303, "/console/?tab=items")
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/console" in cookie
    assert TOKEN not in cookie
    assert client.get(PAGE).status_code == 200


def test_a_page_without_the_cookie_is_refused(client: TestClient) -> None:
    response = client.get(PAGE)
    assert response.status_code == 401
    assert "printed in its terminal" in response.text


def test_a_wrong_token_is_refused(client: TestClient) -> None:
    response = client.get("/console/?token=of-an-earlier-start")
    assert response.status_code == 401
    assert "set-cookie" not in response.headers


def test_an_expired_session_is_refused(client: TestClient, clock: ManualClock) -> None:
    client.get(f"/console/?token={TOKEN}")
    clock.advance(SESSION_S - 1)
    assert client.get(PAGE).status_code == 200
    clock.advance(1)
    assert client.get(PAGE).status_code == 401


def test_a_forged_cookie_is_refused(client: TestClient) -> None:
    for forged in ("9999999999." + "0" * 64, "9999999999.", ".", "never.é", "²." + "0" * 64):
        cookie = f"keyplan_console_8001={forged}".encode("latin-1")
        assert client.get(PAGE, headers={b"Cookie": cookie}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8001", "", "192.168.0.1"])
def test_a_foreign_host_is_refused_even_with_the_token(client: TestClient, host: str) -> None:
    response = client.get(f"/console/?token={TOKEN}", headers={"Host": host})
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize("host", ["localhost:8001", "[::1]:8001", "127.0.0.1:8001"])
def test_each_loopback_name_is_accepted(client: TestClient, host: str) -> None:
    assert client.get(f"/console/?token={TOKEN}", headers={"Host": host}).status_code == 303


def test_beyond_loopback_a_chosen_token_is_required() -> None:
    with pytest.raises(ValueError, match="set a token"):
        Access(host="0.0.0.0")
    Access(TOKEN, host="0.0.0.0")


def test_a_short_token_is_rejected() -> None:
    with pytest.raises(ValueError, match="at least 16 characters, got 5"):
        Access("short")


def test_beyond_loopback_a_site_whose_name_resolves_here_is_refused(engine: Engine) -> None:
    console = Console(Source.from_engine(engine), access=Access(TOKEN, host="0.0.0.0", names=["db.example.org"]))
    with TestClient(console.site(), follow_redirects=False) as client:
        for host, status in (("rebound.example", 403), ("db.example.org", 303), ("10.1.2.3:8001", 303)):
            assert client.get(f"/console/?token={TOKEN}", headers={"Host": host}).status_code == status


def test_files_of_the_pages_need_no_session_and_other_files_are_not_served(client: TestClient) -> None:
    assert client.get("/console/static/console.css").status_code == 200
    assert client.get("/console/static/../access.py").status_code != 200
    assert client.get("/console/static/..%2faccess.py").status_code != 200


@pytest.mark.parametrize(
    ("operation", "request_", "expected"),
    [
        ("Query", {}, True),
        ("DescribeTable", {}, True),
        ("PutItem", {}, False),
        ("DeleteTable", {}, False),
        ("OperationOfTheFuture", {}, False),
        ("ExecuteStatement", {"Statement": " \n select * from t"}, True),
        ("ExecuteStatement", {"Statement": "SELECTED"}, False),
        ("ExecuteStatement", {"Statement": "DELETE FROM t WHERE id = 'select'"}, False),
        ("BatchExecuteStatement", {"Statements": [{"Statement": "SELECT 1"}, {"Statement": "INSERT"}]}, False),
        ("ExecuteTransaction", {"TransactStatements": [{"Statement": "SELECT 1"}]}, True),
    ],
)
def test_only_known_reads_are_reads(operation: str, request_: dict[str, object], expected: bool) -> None:
    assert is_read(operation, request_) is expected


def test_a_read_only_source_refuses_writes_before_they_are_sent(engine: Engine) -> None:
    console = Console(Source.from_engine(engine), read_only=True)
    with pytest.raises(AccessDeniedError, match="read-only: DeleteTable is not allowed"):
        console.source.call("DeleteTable", {"TableName": "films"})
    assert console.source.call("ListTables", {}) == {"TableNames": []}


def test_a_failure_of_the_console_is_a_page(engine: Engine) -> None:
    def call(operation: str, request: dict[str, object]) -> dict[str, object]:
        raise RuntimeError("out of order <b>")

    console = Console(Source("broken", call, kind="endpoint"))
    with TestClient(console.site(), base_url=BASE, raise_server_exceptions=False) as client:
        response = client.get(console.url(BASE).replace("/console/?", "/console/data/?"))
    assert response.status_code == 500
    assert "RuntimeError: out of order &lt;b&gt;" in response.text
