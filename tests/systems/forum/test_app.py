"""Assembled forum: on a folder, with its workers, restarted, after a crash between its two databases.

Its tables are in a file, or behind an endpoint that keeps running while the forum restarts.
"""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.systems.forum.live import ANN, AUDIENCE, PATIENCE_S, TUTOR, Live, MovedClock

import keyplan
from keyplan.client.connection import Connection
from keyplan.clock import Clock, SystemClock
from keyplan.errors import ProvisionedThroughputExceededError
from keyplan.streams import checkpoint_table
from keyplan_systems.forum import app, sample
from keyplan_systems.forum.domain import BadTokenError, LogEntry, LogKind, Status, ThreadUpdate
from keyplan_systems.forum.entities import forum
from keyplan_systems.forum.event_log import EventLog
from keyplan_systems.forum.hub import Hub, Limits
from keyplan_systems.forum.relational.models import OutboxRow
from keyplan_systems.forum.relational.outbox import LEASE_MS
from keyplan_systems.forum.service import place_of
from keyplan_systems.web.development import development_key, issue_development_token
from keyplan_systems.web.files import KeyFileError
from keyplan_systems.web.secret import Secret
from keyplan_systems.web.server import Running
from keyplan_systems.web.system import BuiltSystem, Resources
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys


@contextmanager
def built(
    folder: Path, address: str, clock: SystemClock | None = None, secret: Secret | None = None
) -> Iterator[tuple[BuiltSystem, Connection]]:
    """Build the system on a folder and its tables, as a start of the process finds them."""
    clock = clock or SystemClock()
    verifier = TokenVerifier(TokenRules(AUDIENCE), development_keys(development_key(folder / "keys")), clock)
    with keyplan.connect(address, cursor_key=b"tests") as connection:
        connection.create_tables(forum, checkpoint_table())
        system = app.build(Resources(connection, folder, clock, verifier, secret=secret))
        try:
            yield system, connection
        finally:
            system.close()


def service_of(system: BuiltSystem) -> Any:
    """Return the inner service."""
    return system.app.state.service  # type: ignore[attr-defined]  # a FastAPI application


def work(system: BuiltSystem) -> None:
    """Let every worker finish its pending work."""
    while sum(worker.run_once() for worker in system.workers):
        pass


def logged(connection: Connection) -> list[str]:
    """Return the types of the events of the sample's thread, in the order of their keys."""
    place = sample.THREAD
    response = connection.transport.call(
        "Query",
        {
            "TableName": "forum",
            "KeyConditionExpression": "PK = :p",
            "ExpressionAttributeValues": {":p": {"S": f"THREADEV#{place.participant_id}#{place.item_id}"}},
            "ConsistentRead": True,
        },
    )
    return [item["type"]["S"] for item in response["Items"]]


def test_the_sample_is_loaded_once_and_can_be_read(tmp_path: Path, address: str) -> None:
    with built(tmp_path, address) as (system, connection):
        system.load_sample()
        first = logged(connection)
        system.load_sample()
        work(system)
        assert logged(connection) == first == ["attempt_started", "submission", "thread_opened", "message", "message"]
    with built(tmp_path, address) as (system, connection), Running(system.app) as server:
        system.load_sample()
        assert logged(connection) == first
        token = issue_development_token(development_key(tmp_path / "keys"), ANN, audience=AUDIENCE)
        with httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_S, trust_env=False
        ) as ann:
            assert ann.get("/health").json()["checks"] == {"table": "ok", "database": "ok", "pushes": "ok"}
            result = ann.get("/notifications").json()["notifications"]
            assert [message["author_id"] for message in result] == [TUTOR]
            assert [thread["item_title"] for thread in ann.get("/threads?is_mine=true").json()["threads"]] == ["Loops"]


def test_an_entry_that_cannot_be_written_does_not_prevent_startup(tmp_path: Path, address: str) -> None:
    with built(tmp_path, address) as (system, _):
        system.load_sample()
        service_of(system).update(ANN, sample.THREAD, ThreadUpdate(Status.CLOSED))
    with built(tmp_path, address) as (system, connection):
        call = connection._call

        def refusing(operation: str, request: dict[str, Any]) -> Any:
            if operation == "TransactWriteItems":
                raise ProvisionedThroughputExceededError("more than the table can take")
            return call(operation, request)

        connection._call = refusing
        system.load_sample()
        connection._call = call
        work(system)
        assert logged(connection)[-1] == "thread_closed"


def test_messages_reach_watchers_and_followers(tmp_path: Path, address: str) -> None:
    clock = MovedClock()
    with built(tmp_path, address, clock) as (system, connection):
        system.load_sample()
        work(system)
        with Running(system.app) as server:
            live = Live(connection, clock, service_of(system), tmp_path, server.url)

            async def story() -> None:
                async with live.socket(TUTOR) as tutor:
                    await tutor.watch(live.token(TUTOR), since=0)
                    assert live.service.connections.users(place_of(sample.THREAD)) == {TUTOR}
                    top = live.service.log.last_seq(place_of(sample.THREAD))
                    assert [(await tutor.receive())["seq"] for _ in range(top)] == list(range(1, top + 1))
                    message = live.writer(TUTOR).write("to both")
                    assert (await tutor.receive())["seq"] == message["seq"]

            asyncio.run(story())
            work(system)
            result = live.person(ANN).get("/notifications").json()["notifications"]
            assert result[0]["excerpt"] == "to both"
            for client in live.clients:
                client.close()


CRASH = """
import os, sys
from pathlib import Path
from tests.systems.forum.test_app import built, service_of
from keyplan_systems.forum import sample
from keyplan_systems.forum.domain import Status, ThreadUpdate

with built(Path(sys.argv[1]), sys.argv[3]) as (system, _):
    service = service_of(system)
    service.update(sample.ANN, sample.THREAD, ThreadUpdate(Status.CLOSED))
    if sys.argv[2] == "logged":
        append = service.log.append
        def append_and_die(draft):
            append(draft)
            os._exit(9)
        object.__setattr__(service.log, "append", append_and_die)
        service.transfer_log()
    os._exit(9)
"""


@pytest.mark.parametrize("time", ["committed", "logged"])
def test_a_crash_between_the_two_databases_is_repaired_on_the_next_start(
    tmp_path: Path, address: str, time: str
) -> None:
    with built(tmp_path, address) as (system, _):
        system.load_sample()
        work(system)
    died = subprocess.run([sys.executable, "-c", CRASH, str(tmp_path), time, address], check=False, cwd=Path.cwd())
    assert died.returncode == 9
    clock = MovedClock()
    with built(tmp_path, address, clock) as (system, connection):
        assert service_of(system).thread(ANN, sample.THREAD).status == "closed"
        assert logged(connection).count("thread_closed") == (1 if time == "logged" else 0)
        # The killed process still holds the carrier's lease, for half a minute at most.
        clock.advance(LEASE_MS / 1000)
        work(system)
        assert logged(connection).count("thread_closed") == 1
        work(system)
        assert logged(connection).count("thread_closed") == 1


def test_processed_entries_are_removed_after_a_while(tmp_path: Path, address: str) -> None:
    clock = MovedClock()
    with built(tmp_path, address, clock) as (system, _):
        system.load_sample()
        database = service_of(system).database

        def stored_letters() -> int:
            with database.read() as session:
                return int(session.query(OutboxRow).count())

        work(system)
        assert stored_letters() == 1
        clock.advance(app.TRANSFERRED_ENTRY_SECONDS + 1)
        work(system)
        assert stored_letters() == 0


def test_openings_and_closings_are_written_once_by_their_key(tmp_path: Path, address: str) -> None:
    with built(tmp_path, address) as (system, connection):
        system.load_sample()
        service = service_of(system)
        closed = LogEntry("thread_closed-11-1001-9", LogKind.THREAD_CLOSED, sample.THREAD, ANN, 1_600_000_000_000)
        opened = LogEntry("thread_opened-11-1001-8", LogKind.THREAD_OPENED, sample.THREAD, TUTOR, 1_500_000_000_000)
        for entry in (opened, closed, opened, closed):
            service.write_entry(entry)
        assert logged(connection)[:2] == ["thread_opened", "thread_closed"]
        assert logged(connection).count("thread_closed") == 1
        oldest = service.log.history(place_of(sample.THREAD), 100, None).items[-2:]
        assert [(event.type, event.user_id) for event in oldest] == [("thread_closed", ANN), ("thread_opened", TUTOR)]


@pytest.mark.parametrize("secret", [Secret(b"shared by replicas"), None], ids=["with a secret", "without"])
def test_replicas_with_separate_folders_accept_each_others_thread_tokens_with_a_shared_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secret: Secret | None
) -> None:
    monkeypatch.setenv(app.DATABASE, f"sqlite:///{tmp_path / 'shared.db'}")
    tokens = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        with built(tmp_path / name, str(tmp_path / "data.db"), secret=secret) as (system, _):
            system.load_sample()
            service = service_of(system)
            tokens.append(service.thread(ANN, sample.THREAD).token)
            for token in tokens[: 2 if secret else 0]:
                assert service.checker.check_for(token, sample.THREAD).user_id == ANN
            if secret is None and len(tokens) == 2:
                with pytest.raises(BadTokenError):
                    service.checker.check(tokens[0])
        assert (tmp_path / name / app.KEY_FILE).exists() == (secret is None)


def test_the_status_comes_from_sql_and_not_from_the_log(tmp_path: Path, address: str) -> None:
    with built(tmp_path, address) as (system, _):
        system.load_sample()
        service = service_of(system)
        service.write_entry(LogEntry("k", LogKind.THREAD_CLOSED, sample.THREAD, ANN, 1_600_000_000_000))
        assert service.thread(ANN, sample.THREAD).status == "waiting_for_trainer"
        service.update(ANN, sample.THREAD, ThreadUpdate(Status.CLOSED))
        assert service.thread(ANN, sample.THREAD).status == "closed"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        (app.IDLE, "0"),
        (app.IDLE, "soon"),
        (app.TOTAL, "-1"),
        (app.SOCKETS, "0"),
        (app.ACTIONS_VARIABLE, "many"),
        (app.DATABASE, "mysql://x/y"),
        (app.DATABASE, "sqlite://"),
    ],
)
def test_invalid_settings_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match=r"seconds|SQLite|connections|REQUESTS/SECONDS"), built(tmp_path, ":memory:"):
        pass


def test_connections_have_the_configured_or_default_lifetime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = list[Limits]()

    def noted(log: EventLog, clock: Clock, limits: Limits) -> Hub:
        results.append(limits)
        return Hub(log, clock, limits)

    monkeypatch.setattr(app, "Hub", noted)
    for value in (None, "", "30"):
        for variable in (app.IDLE, app.TOTAL):
            if value is not None:
                monkeypatch.setenv(variable, value)
        with built(tmp_path, ":memory:"):
            pass
    assert [(settings.idle_s, settings.total_s) for settings in results] == [(600, 7200), (600, 7200), (30, 30)]


def test_the_relational_database_may_be_postgresql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_url: str
) -> None:
    monkeypatch.setenv(app.DATABASE, empty_url)
    with built(tmp_path, ":memory:") as (system, connection):
        system.load_sample()
        assert logged(connection)[-1] == "message"


def test_the_key_of_thread_tokens_is_created_once_and_private(tmp_path: Path) -> None:
    file = tmp_path / app.KEY_FILE
    with built(tmp_path, ":memory:"):
        first = file.read_bytes()
    with built(tmp_path, ":memory:"):
        assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (first, 0o600)
    file.chmod(0o644)
    with pytest.raises(KeyFileError, match="is readable by other users"), built(tmp_path, ":memory:"):
        pass
