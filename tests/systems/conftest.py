"""Fixtures: every test of a system that uses `engine` runs twice, in this process and over an endpoint in another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import httpx
import pytest
from httpx._transports import default
from tests.browser import browser, prompt_servers, serve, windows
from tests.systems.served_engine import ServedEngine, served

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.web import health

__all__ = ["browser", "prompt_servers", "serve", "windows"]  # fixtures
PLACES = ("embedded", "served")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "embedded(why): needs an engine in this process; says what for")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "place" in metafunc.fixturenames:
        places = PLACES[:1] if metafunc.definition.get_closest_marker("embedded") else PLACES
        metafunc.parametrize("place", places, indirect=True)


@pytest.fixture(scope="session", autouse=True)
def patient_health() -> Iterator[None]:
    """Allow health checks more time, because a busy machine must not make a part fail."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(health, "DEFAULT_TIMEOUT_S", 60.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_tls_context() -> Iterator[None]:
    """Share one TLS context, because each HTTP client would load all certificate authorities, which takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "create_ssl_context", cache(httpx.create_ssl_context))
        yield


@pytest.fixture
def place(request: pytest.FixtureRequest) -> str:
    """Return the location of the tables."""
    location: str = request.param
    return location


@pytest.fixture
def engine(place: str, clock: ManualClock, tmp_path: Path) -> Iterator[Engine | ServedEngine]:
    """Yield an engine that removes nothing by itself, or an endpoint; without any tables."""
    if place == "served":
        with served(tmp_path) as endpoint:
            yield endpoint
    else:
        with Engine.memory(clock=clock, ttl_sweep_s=None) as engine:
            yield engine


@pytest.fixture
def address(place: str, tmp_path: Path) -> Iterator[str]:
    """Yield an address for several processes: a database file, or an endpoint."""
    if place == "served":
        with served(tmp_path) as endpoint:
            yield endpoint.url
    else:
        yield str(tmp_path / "data.db")
