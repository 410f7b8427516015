"""`keyplan up`: designs checked, tables created, samples loaded once, everything on one port; clear errors."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import boto3
import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import FileResponse
from starlette.routing import Route
from tests.systems.up import notes_system
from tests.systems.up.running_up import PATIENCE_S, get, post, running

import keyplan
from keyplan import Engine, Table
from keyplan.engine.store import files
from keyplan.errors import UnknownOperationError
from keyplan.server.thread import ThreadedServer
from keyplan_systems.up import registry
from keyplan_systems.up.demo import demo
from keyplan_systems.up.launch import AUDIENCE, Settings, UpError, prepare, up
from keyplan_systems.up.workers import Workers
from keyplan_systems.web.development import (
    DEFAULT_ISSUER,
    DevelopmentKey,
    development_key,
    issue_development_token,
)
from keyplan_systems.web.secret import SECRET_VARIABLE
from keyplan_systems.web.server import Running
from keyplan_systems.web.system import BuiltSystem, DemoStage, Resources, Worker, json_of

pytestmark = pytest.mark.usefixtures("shelf_only")


@contextmanager
def unused_address() -> Iterator[str]:
    """Yield a URL that nothing listens on, and that no other process can bind."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_everything_is_served_on_one_port(tmp_path: Path) -> None:
    with running(Settings(tmp_path)) as (url, messages):
        assert messages == ["shelf: 1 table(s), 3 patterns, checked"]
        assert get(f"{url}/shelf/notes/first").json() == {"text": "a sample"}
        page = get(url)
        assert page.status_code == 200
        for text in ("Notes on a shelf", "note_by_id", "shelf dusting", "/shelf/docs"):
            assert text in page.text
        health = get(f"{url}/health").json()
        assert health["status"] == "ok"
        assert list(health["systems"]) == ["shelf"]
        client = boto3.client(
            "dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
        )
        assert client.list_tables()["TableNames"] == ["shelf"]
        item = client.get_item(TableName="shelf", Key={"note_id": {"S": "first"}})["Item"]
        assert item["text"] == {"S": "a sample"}
        assert get(f"{url}/shelf/openapi.json").json()["info"]["title"] == "Shelf"
    assert (tmp_path / "shelf" / "built").exists()


def test_a_failing_worker_is_reported_without_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed, mended = threading.Event(), threading.Event()

    def stumble() -> int:
        if mended.is_set():
            return 0
        failed.set()
        raise ValueError("the item of ann@example.org")

    def build(resources: Resources) -> BuiltSystem:
        return replace(notes_system.build(resources), workers=(Worker("shelf dusting", stumble),))

    monkeypatch.setattr(registry, "load", lambda _name: replace(notes_system.SYSTEM, build=build))
    with running(Settings(tmp_path)) as (url, _):
        assert failed.wait(PATIENCE_S)
        while (health := get(f"{url}/health/shelf")).status_code == 200:
            threading.Event().wait(0.01)
        assert health.json()["workers"]["shelf dusting"]["last_error"] == "ValueError"
        page = get(url).text
        mended.set()
    assert "ValueError" in page
    assert "ann@example.org" not in health.text + page


def test_an_unknown_system_path_is_reported_in_the_common_error_format(tmp_path: Path) -> None:
    with running(Settings(tmp_path)) as (url, _):
        for path in ("/nothing", "/shelf/%0A/x", "/shelfs"):
            response = get(f"{url}{path}")
            assert response.status_code == 404
            assert response.json() == {"error": {"code": "not_found", "message": "No resource exists at this address."}}
        wrong = post(url)
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")
        assert set(wrong.headers["Allow"].split(", ")) == {"GET", "HEAD"}


def test_a_second_start_continues_with_the_stored_data(tmp_path: Path) -> None:
    with running(Settings(tmp_path)) as (url, _):
        assert post(f"{url}/shelf/notes/mine", params={"text": "kept"}).status_code == 200
    with running(Settings(tmp_path)) as (url, _):
        assert get(f"{url}/shelf/notes/mine").json() == {"text": "kept"}
        assert get(f"{url}/shelf/notes/first").json() == {"text": "a sample"}


def test_a_folder_of_an_earlier_version_is_a_clear_error_and_stays_as_it_is(tmp_path: Path) -> None:
    with keyplan.connect(str(tmp_path / "keyplan.db")) as db:
        db.create_tables(Table("shelf", pk="old_id"))
    for _ in range(2):
        with ExitStack() as stack, pytest.raises(UpError) as refused:
            prepare(Settings(tmp_path), stack, lambda _line: None)
        assert "table shelf exists, but differs from its declaration" in str(refused.value)
        assert "Start with another folder (--folder)" in str(refused.value)


def test_cursors_survive_a_restart(tmp_path: Path) -> None:
    with running(Settings(tmp_path)) as (url, _):
        post(f"{url}/shelf/notes/second", params={"text": "two"})
        first = get(f"{url}/shelf/notes").json()
    with running(Settings(tmp_path)) as (url, _):
        second = get(f"{url}/shelf/notes", params={"cursor": first["cursor"]}).json()
    assert sorted(first["notes"] + second["notes"]) == ["first", "second"]


@pytest.mark.parametrize("shares", [True, False], ids=["with a secret", "without"])
def test_replicas_with_separate_folders_accept_each_others_cursors_with_a_shared_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: bool
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setenv(SECRET_VARIABLE, "a secret of thirty-two characters" if shares else "")
    with Engine.memory() as engine, ThreadedServer(engine) as remote:
        with running(Settings(tmp_path / "one", url=remote.url)) as (url, _):
            post(f"{url}/shelf/notes/second", params={"text": "two"})
            first = get(f"{url}/shelf/notes").json()
        with running(Settings(tmp_path / "other", url=remote.url)) as (url, _):
            second = get(f"{url}/shelf/notes", params={"cursor": first["cursor"]})
    assert second.status_code == (200 if shares else 500)  # the shelf translates no errors
    if shares:
        assert sorted(first["notes"] + second.json()["notes"]) == ["first", "second"]


def test_a_short_secret_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, "short")
    with ExitStack() as stack, pytest.raises(UpError, match="at least 32 are needed"):
        prepare(Settings(tmp_path), stack, lambda _line: None)


def test_keys_that_others_can_read_are_a_clear_error(tmp_path: Path) -> None:
    with running(Settings(tmp_path)):
        pass
    (tmp_path / "keys" / "development-key.pem").chmod(0o644)
    with ExitStack() as stack, pytest.raises(UpError, match="is readable by other users"):
        prepare(Settings(tmp_path), stack, lambda _line: None)


@pytest.mark.parametrize("algorithm", ["file", "address"])
def test_only_tokens_of_the_configured_issuer_are_accepted(tmp_path: Path, algorithm: str) -> None:
    theirs, file = development_key(tmp_path / "theirs"), tmp_path / "jwks.json"
    file.write_bytes(theirs.jwks())
    with Running(Starlette(routes=[Route("/jwks.json", lambda _request: FileResponse(file))])) as login:
        keys = str(file) if algorithm == "file" else f"{login.url}/jwks.json"
        named = Settings(tmp_path / "data", issuer="https://login.example", audience="venue", keys=keys)
        with running(named) as (url, _):

            def get_as(key: DevelopmentKey, audience: str, issuer: str) -> httpx.Response:
                token = issue_development_token(key, "ada", audience=audience, issuer=issuer)
                return get(f"{url}/shelf/me", headers={"Authorization": f"Bearer {token}"})

            assert get_as(theirs, "venue", "https://login.example").json() == "ada"
            assert get_as(theirs, "keyplan", "https://login.example").status_code == 401
            assert get_as(theirs, "venue", DEFAULT_ISSUER).status_code == 401
            own = development_key(tmp_path / "data" / "keys")
            assert get_as(own, "venue", "https://login.example").status_code == 401
            assert get_as(own, AUDIENCE, DEFAULT_ISSUER).status_code == 401


def test_without_an_issuer_tokens_of_the_folder_are_accepted(tmp_path: Path) -> None:
    with running(Settings(tmp_path)) as (url, _):
        token = issue_development_token(development_key(tmp_path / "keys"), "ada", audience=AUDIENCE)
        assert get(f"{url}/shelf/me", headers={"Authorization": f"Bearer {token}"}).json() == "ada"


def test_an_issuer_without_its_keys_is_a_clear_error(tmp_path: Path) -> None:
    with ExitStack() as stack, pytest.raises(UpError, match="--issuer, --audience and --keys must be given together"):
        prepare(Settings(tmp_path, issuer="https://login.example", audience="venue"), stack, lambda _line: None)
    missing = Settings(tmp_path, issuer="https://login.example", audience="venue", keys=str(tmp_path / "none.json"))
    with ExitStack() as stack, pytest.raises(UpError, match="cannot read the key set"):
        prepare(missing, stack, lambda _line: None)


def test_another_endpoint_is_used_and_none_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with Engine.memory() as engine, ThreadedServer(engine) as remote:
        with running(Settings(tmp_path, url=remote.url)) as (url, _):
            assert get(f"{url}/shelf/notes/first").json() == {"text": "a sample"}
            assert not (tmp_path / "keyplan.db").exists()
            response = post(url, headers={"X-Amz-Target": "DynamoDB_20120810.ListTables"}, content=b"{}")
            assert response.status_code in {404, 405}
        assert engine.call("ListTables", {})["TableNames"] == ["shelf"]


class Without:
    """Engine of another vendor: it does not support some operations."""

    def __init__(self, engine: Engine, *missing: str) -> None:
        self.operations = engine.operations - set(missing)
        self.region, self.group, self.call_wire = engine.region, engine.group, engine.call_wire
        self.waits_for_disk = engine.waits_for_disk


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("operation", "purpose"),
    [
        (
            "DescribeTable",
            r"DescribeTable, which is needed for comparing tables with their declarations \(table shelf\)",
        ),
        ("CreateTable", r"CreateTable, which is needed for creating the declared tables \(table shelf\)"),
        ("PutItem", "cannot load the sample data of shelf: add_note: .* PutItem, which is needed for this call"),
    ],
)
def test_an_unsupported_operation_of_the_endpoint_is_named_with_its_purpose(
    tmp_path: Path, operation: str, purpose: str
) -> None:
    with Engine.memory() as engine, ThreadedServer(Without(engine, operation)) as remote, ExitStack() as stack:
        with pytest.raises(UpError, match=purpose) as refused:
            prepare(Settings(tmp_path, url=remote.url), stack, lambda _line: None)
        assert f"the endpoint {remote.url} does not support {operation}" in str(refused.value)


def test_an_unsupported_operation_of_a_worker_is_logged_without_a_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    missing = UnknownOperationError("the endpoint http://there does not support ListStreams")

    def run_once() -> int:
        raise missing

    workers = Workers([Worker("letters", run_once)])
    with caplog.at_level(logging.ERROR, "keyplan_systems.workers"):
        workers.start()
        assert workers.stop()
    assert caplog.records[0].getMessage() == f"worker failed: {missing}"
    assert all(record.exc_info is None for record in caplog.records)


@pytest.mark.parametrize(
    ("host", "signs_in_elsewhere", "is_there"),
    [("127.0.0.1", False, True), ("localhost", False, True), ("0.0.0.0", False, False), ("127.0.0.1", True, False)],
)
def test_only_local_users_get_the_endpoint_without_authentication(
    tmp_path: Path, host: str, signs_in_elsewhere: bool, is_there: bool
) -> None:
    settings = Settings(tmp_path, host=host)
    if signs_in_elsewhere:
        keys = tmp_path / "jwks.json"
        keys.write_bytes(development_key(tmp_path / "theirs").jwks())
        settings = replace(settings, issuer="https://login.example", audience="shelf", keys=str(keys))
    with running(settings) as (url, _):
        target = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
        signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request"}
        response = post(url, content=b"{}", headers={**target, **signed})
        assert ("x-amzn-requestid" in response.headers) is is_there
        assert ("DynamoDB endpoint: " in get(url).text) is is_there
        assert get(f"{url}/shelf/notes/first").json() == {"text": "a sample"}


def test_a_page_with_a_rebound_host_name_cannot_access_the_tables(tmp_path: Path) -> None:
    with running(Settings(tmp_path)) as (url, _):
        target = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
        signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request"}
        for foreign in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            response = post(url, content=b"{}", headers={**target, **signed, **foreign})
            assert response.status_code == 403
            assert "evil.example" in response.json()["Message"]


def test_a_port_in_use_is_a_clear_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(UpError, match=f"port {port} is in use"):
            up(Settings(tmp_path, port=port), lambda _line: None)


def test_an_unknown_system_is_a_clear_error(tmp_path: Path) -> None:
    with ExitStack() as stack, pytest.raises(UpError, match="unknown system attic; available: shelf"):
        prepare(Settings(tmp_path, systems=("attic",)), stack, lambda _line: None)


def test_invalid_settings_of_a_system_are_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(_resources: Resources) -> BuiltSystem:
        raise ValueError("SHELF_BOARDS is a whole number, not 'many'")

    monkeypatch.setattr(registry, "load", lambda _name: replace(notes_system.SYSTEM, build=build))
    with ExitStack() as stack, pytest.raises(UpError, match="shelf cannot start: SHELF_BOARDS is a whole number"):
        prepare(Settings(tmp_path), stack, lambda _line: None)


def test_an_unreadable_sample_item_does_not_prevent_startup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(resources: Resources) -> BuiltSystem:
        def sample() -> None:
            resources.connection.run(notes_system.note_by_id("odd"))

        return replace(notes_system.build(resources), load_sample=sample)

    with running(Settings(tmp_path)) as (url, _):
        client = boto3.client(
            "dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
        )
        client.put_item(TableName="shelf", Item={"note_id": {"S": "odd"}, "text": {"N": "1"}})
    monkeypatch.setattr(registry, "load", lambda _name: replace(notes_system.SYSTEM, build=build))
    with running(Settings(tmp_path)) as (url, messages):
        assert get(f"{url}/shelf/notes/first").json() == {"text": "a sample"}
    assert messages[1].startswith(
        "shelf: the sample data is incomplete: Note note_id='odd' cannot be read as Note: text:"
    )


@pytest.mark.skipif(os.name != "posix", reason="files have no modes")
def test_stored_files_are_private_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with ExitStack() as stack:
        prepare(Settings(folder), stack, lambda _line: None)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name != "posix", reason="files have no modes")
def test_an_existing_folder_keeps_its_permissions(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with ExitStack() as stack:
        prepare(Settings(tmp_path), stack, lambda _line: None)
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_folder_that_cannot_be_created_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with ExitStack() as stack, pytest.raises(UpError, match="cannot create the folder"):
        prepare(Settings(tmp_path / "file" / "data"), stack, lambda _line: None)


def test_a_file_that_is_not_a_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "keyplan.db").write_text("this is not a database, but it is long enough to read" * 30)
    with ExitStack() as stack, pytest.raises(UpError, match="not a keyplan database"):
        prepare(Settings(tmp_path), stack, lambda _line: None)


def test_a_database_of_a_newer_version_is_a_clear_error(tmp_path: Path) -> None:
    Engine.open(tmp_path / "keyplan.db").close()
    with closing(apsw.Connection(str(tmp_path / "keyplan.db"))) as file:
        file.pragma("user_version", 999)
    with ExitStack() as stack, pytest.raises(UpError, match="open it with a newer version of keyplan"):
        prepare(Settings(tmp_path), stack, lambda _line: None)


def test_a_locked_database_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BUSY_MS", 50)
    with closing(apsw.Connection(str(tmp_path / "keyplan.db"))) as file:
        file.execute("BEGIN EXCLUSIVE")
        with ExitStack() as stack, pytest.raises(UpError, match="is locked by another process"):
            prepare(Settings(tmp_path), stack, lambda _line: None)


def test_an_unreachable_endpoint_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with unused_address() as url, ExitStack() as stack, pytest.raises(UpError) as raised:
        prepare(Settings(tmp_path, url=url), stack, lambda _line: None)
    assert url in str(raised.value)


def test_missing_credentials_are_reported_with_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    with ExitStack() as stack, pytest.raises(UpError, match="no AWS credentials found"):
        prepare(Settings(tmp_path, url="aws://us-east-1"), stack, lambda _line: None)


def test_the_command_starts_prints_its_address_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "keyplan", "up", "--folder", str(tmp_path), "--port", "0"]
    command += ["--system", "thinking_trainer"]
    (tmp_path / "jwks.json").write_bytes(development_key(tmp_path / "theirs").jwks())
    issuer = ["--issuer", "https://login.example", "--audience", "trainer", "--keys", str(tmp_path / "jwks.json")]
    for level, options in (("info", []), ("warning", issuer)):
        started = [*command, "--log-level", level, *options]
        with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if "stop with Ctrl-C" in line:
                    break
            output = "".join(lines)
            url = output.partition("home page ")[2].partition("\n")[0].rstrip("/")
            assert ("tokens: issued by https://login.example for audience trainer" in output) == bool(options)
            assert (re.search(r"token: .*keyplan token SUBJECT", output) is not None) != bool(options)
            assert ("AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any aws dynamodb" in output) != bool(options)
            assert ("no DynamoDB endpoint" in output) == bool(options)
            assert list(get(f"{url}/health").json()["systems"]) == ["thinking_trainer"]
            assert get(f"{url}/thinking_trainer/nothing").status_code == 404
            process.send_signal(signal.SIGINT)
            rest = process.stdout.read()
            assert process.wait(PATIENCE_S) == 0
            assert rest.endswith("stopped\n")
            assert ('"message":"request"' in rest) == (level == "info")


def test_the_demo_plays_every_part() -> None:
    command = [sys.executable, "-m", "keyplan", "demo", "--system", "thinking_trainer"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert result.returncode == 0, result.stderr
    assert "the stream has built her profile: 1 attempt(s)" in result.stdout
    assert "bob may not read it: 403" in result.stdout


def test_a_demo_without_a_running_server_is_a_clear_error(tmp_path: Path) -> None:
    with unused_address() as url:
        command = [sys.executable, "-m", "keyplan", "demo", "--url", url, "--folder", str(tmp_path)]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert result.returncode == 1
    assert f"no `keyplan up` responds at {url}" in result.stderr


def test_a_demo_with_the_key_of_another_folder_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(stage: DemoStage) -> None:
        with stage.client("ada") as ada:
            stage.say(f"{json_of(ada.get('/me'))} in {stage.folder}")

    monkeypatch.setattr(registry, "load", lambda _name: replace(notes_system.SYSTEM, demo=play))
    lines: list[str] = []
    with running(Settings(tmp_path)) as (url, _):
        demo(url, tmp_path, [], lines.append)
        with pytest.raises(UpError, match=r"other is not the server's data folder: .*401 Unauthorized"):
            demo(url, tmp_path / "other", [], lines.append)
    assert lines == ["-- Notes on a shelf", f"   ada in {tmp_path}", "-- Notes on a shelf"]
