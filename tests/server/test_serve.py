"""`keyplan serve` as a process: its address, its stop, and its refusals."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.server.plain_http import Client, get, headers_for, put, raw
from typer.testing import CliRunner

from keyplan.cli.serve import serve
from keyplan.server.hosts import is_loopback

COMMAND = [sys.executable, "-c", "import typer; from keyplan.cli.serve import serve; typer.run(serve)"]
CREATE = (
    b'{"TableName":"tab","BillingMode":"PAY_PER_REQUEST",'
    b'"KeySchema":[{"AttributeName":"p","KeyType":"HASH"}],'
    b'"AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"}]}'
)
ITEM = b'{"TableName":"tab","Item":{"p":{"S":"a"},"n":{"N":"1"}}}'
KEY = b'{"TableName":"tab","Key":{"p":{"S":"a"}}}'


class Process:
    """A server in a separate process that listens."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline().rstrip("\n")
        if not self.first_line:
            raise AssertionError(self.process.communicate()[1])
        self.port = int(self.first_line.rsplit(":", 1)[1])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal; return exit code, standard output and error."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=240)
        return self.process.returncode, out, err


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "data.db")


@pytest.fixture
def process(database: str) -> Iterator[Process]:
    running = Process("--db", database, "--port", "0")
    yield running
    if running.process.poll() is None:
        running.stop(signal.SIGKILL)


def call(port: int, operation: str, body: bytes) -> object:
    with Client(port) as client:
        reply = client.ask(raw(headers_for(operation), body))
        assert reply.status == 200, reply.body
        return reply.json()


def refused(*arguments: str) -> tuple[int, str]:
    """Return exit code and error text of a command that must end without a signal."""
    app = typer.Typer()
    app.command()(serve)
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


def test_the_first_line_names_the_address(process: Process) -> None:
    assert process.first_line == f"keyplan serve: listening on http://127.0.0.1:{process.port}"
    with Client(process.port) as client:
        assert client.ask(raw({}, method=b"GET")).status == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_the_server_cleanly(process: Process, number: signal.Signals) -> None:
    with Client(process.port) as idle:
        assert idle.ask(raw({}, method=b"GET")).status == 200
        code, out, err = process.stop(number)
        assert (code, err) == (0, "")
        assert out.endswith("keyplan serve: stopped\n")
        assert idle.closed_by_server()


def test_acknowledged_writes_exist_after_a_kill(process: Process, database: str) -> None:
    call(process.port, "CreateTable", CREATE)
    call(process.port, "PutItem", ITEM)
    process.stop(signal.SIGKILL)
    again = Process("--db", database, "--port", "0")
    assert call(again.port, "GetItem", KEY) == {"Item": {"p": {"S": "a"}, "n": {"N": "1"}}}
    again.stop()


def test_a_page_with_a_rebound_host_name_cannot_access_the_tables() -> None:
    running = Process("--db", ":memory:", "--port", "0", "--allow-host", "host.docker.internal")
    body = raw(headers_for("ListTables"), b"{}")
    responses = {}
    for host in (b"localhost", b"host.docker.internal:8000", b"evil.example"):
        with Client(running.port) as client:
            responses[host] = client.ask(body.replace(b"Host: localhost", b"Host: " + host)).status
    assert responses == {b"localhost": 200, b"host.docker.internal:8000": 200, b"evil.example": 403}
    running.stop()


def test_any_host_is_accepted_beyond_loopback_and_with_credentials(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("[a]\naws_access_key_id = AKID\naws_secret_access_key = s\n")
    for options, status in ((("--host", "0.0.0.0", "--force-open"), 200), (("--credentials", str(keys)), 400)):
        running = Process("--db", ":memory:", "--port", "0", *options)
        with Client(running.port) as client:
            request = raw(headers_for("ListTables"), b"{}").replace(b"Host: localhost", b"Host: dynamodb")
            assert client.ask(request).status == status  # 400: the signature is wrong
        running.stop()


def test_buckets_must_be_an_existing_folder(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    running = Process("--db", ":memory:", "--port", "0", "--buckets", str(tmp_path))
    table = {"TableCreationParameters": json.loads(CREATE)}
    request = {"ClientToken": "t", "InputFormat": "CSV", "S3BucketSource": {"S3Bucket": "lake"}}
    assert isinstance(call(running.port, "ImportTable", json.dumps({**request, **table}).encode()), dict)
    running.stop()
    code, complaint = refused("--db", ":memory:", "--port", "0", "--buckets", str(tmp_path / "missing"))
    assert (code, "the folder does not exist" in complaint) == (2, True)


def test_an_unknown_key_is_rejected_by_a_server_with_credentials(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("[a]\naws_access_key_id = OTHER\naws_secret_access_key = s\n")
    running = Process("--db", ":memory:", "--port", "0", "--host", "0.0.0.0", "--credentials", str(keys))
    with Client(running.port) as client:
        assert client.ask(put("a")).json()["__type"].startswith("com.amazon.coral.service#")
    assert running.stop()[0] == 0


def test_signed_requests_are_served(tmp_path: Path) -> None:
    boto3 = pytest.importorskip("boto3")
    keys = tmp_path / "keys"
    keys.write_text("[a]\naws_access_key_id = AKID\naws_secret_access_key = s\n")
    running = Process("--db", ":memory:", "--port", "0", "--credentials", str(keys))

    def client(secret: str) -> object:
        return boto3.client(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{running.port}",
            region_name="eu-west-1",
            aws_access_key_id="AKID",
            aws_secret_access_key=secret,
        )

    assert client("s").list_tables()["TableNames"] == []  # type: ignore[attr-defined]
    with pytest.raises(Exception, match="InvalidSignatureException"):
        client("t").list_tables()  # type: ignore[attr-defined]
    running.stop()


def test_a_port_in_use_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        code, message = refused("--db", ":memory:", "--port", str(port))
    assert code == 1
    assert f"port {port} on 127.0.0.1 is in use" in message


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_listening_beyond_loopback_requires_credentials_or_force_open(host: str, database: str) -> None:
    code, message = refused("--host", host, "--port", "0", "--db", database)
    assert code == 2
    assert "--credentials" in message
    assert "--force-open" in message
    assert not Path(database).exists()


def test_force_open_allows_unauthenticated_access() -> None:
    running = Process("--db", ":memory:", "--host", "0.0.0.0", "--port", "0", "--force-open")
    with Client(running.port) as client:
        assert client.ask(get("a")).status == 400  # a missing table, but served
    running.stop()


def test_a_foreign_address_is_reported() -> None:
    code, message = refused("--db", ":memory:", "--host", "192.0.2.1", "--port", "0", "--force-open")
    assert code == 1
    assert "cannot listen on 192.0.2.1" in message


def test_an_invalid_credentials_file_is_reported(tmp_path: Path) -> None:
    code, message = refused("--credentials", str(tmp_path / "none"), "--port", "0")
    assert code == 2
    assert "cannot read the credentials file" in message


def test_a_file_that_is_not_a_database_is_reported(database: str) -> None:
    Path(database).write_bytes(b"not a database at all" * 1000)
    code, message = refused("--db", database, "--port", "0")
    assert code == 1
    assert "keyplan serve:" in message
    assert database in message
    assert "Traceback" not in message


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    code, message = refused("--db", str(tmp_path / "none" / "data.db"), "--port", "0")
    assert code == 1
    assert "cannot open the database" in message


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example.com", False),
        ("", False),
    ],
)
def test_loopback_addresses_are_recognized(host: str, here: bool) -> None:
    assert is_loopback(host) is here
