"""Health of `keyplan up`: liveness, one system, all systems."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import FastAPI
from tests.systems.up import notes_system
from tests.systems.up.running_up import PATIENCE_S, get, running

from keyplan_systems.up import registry
from keyplan_systems.up.launch import Settings
from keyplan_systems.web.health import install_health
from keyplan_systems.web.system import BuiltSystem, Resources, System, Worker

pytestmark = pytest.mark.usefixtures("shelf_only")
WELL = {"status": "ok", "done": 0, "failures": 0, "last_error": ""}


def install(monkeypatch: pytest.MonkeyPatch, *systems: System) -> None:
    by_name = {system.name: system for system in systems}
    monkeypatch.setattr(registry, "NAMES", tuple(by_name))
    monkeypatch.setattr(registry, "load", by_name.__getitem__)


def other(build: Callable[[Resources], BuiltSystem], name: str = "other") -> System:
    return System(name, "Another shelf", notes_system.__name__, build)


@pytest.fixture
def failing_worker() -> tuple[Worker, threading.Event]:
    """Return a worker that fails, and an event that is set after its first failure has been recorded."""
    recorded, calls = threading.Event(), list[int]()

    def run_once() -> int:
        if calls:
            recorded.set()
        calls.append(1)
        raise ValueError("the item of ann@example.org")

    return Worker("other dusting", run_once), recorded


async def down() -> None:
    raise ConnectionError("db.internal refused")


def with_broken_api(resources: Resources) -> BuiltSystem:
    built = notes_system.build(resources)
    assert isinstance(built.app, FastAPI)
    install_health(built.app, {"table": down})
    return built


def test_the_process_is_live_even_if_every_system_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, other(with_broken_api))
    with running(Settings(tmp_path)) as (url, _):
        assert get(f"{url}/health").status_code == 503
        live = get(f"{url}/health/live")
    assert (live.status_code, live.json()) == (200, {"status": "ok"})


def test_health_of_a_system_lists_its_checks_and_workers(tmp_path: Path) -> None:
    with running(Settings(tmp_path)) as (url, _):
        health = get(f"{url}/health/shelf")
    assert health.status_code == 200
    assert health.headers["Cache-Control"] == "no-store"
    assert health.json() == {"status": "ok", "checks": {"table": "ok"}, "workers": {"shelf dusting": WELL}}


def test_one_failed_worker_degrades_its_system_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing_worker: tuple[Worker, threading.Event]
) -> None:
    worker, recorded = failing_worker
    install(
        monkeypatch,
        notes_system.SYSTEM,
        other(lambda resources: replace(notes_system.build(resources), workers=(worker,))),
    )
    with running(Settings(tmp_path)) as (url, _):
        assert recorded.wait(PATIENCE_S)
        well, failed, healthy = (get(f"{url}/health{path}") for path in ("/shelf", "/other", ""))
    assert (well.status_code, well.json()["status"]) == (200, "ok")
    assert (failed.status_code, failed.json()["status"]) == (503, "degraded")
    named = failed.json()["workers"]["other dusting"]
    assert (named["status"], named["last_error"]) == ("failing", "ValueError")
    assert (healthy.status_code, healthy.json()["status"]) == (200, "degraded")
    assert {name: system["status"] for name, system in healthy.json()["systems"].items()} == {
        "shelf": "ok",
        "other": "degraded",
    }
    assert "ann@example.org" not in failed.text + healthy.text


def test_one_system_with_a_failing_api_degrades_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, notes_system.SYSTEM, other(with_broken_api))
    with running(Settings(tmp_path)) as (url, _):
        ill, failed = get(f"{url}/health/other"), get(f"{url}/health")
    assert (ill.status_code, ill.json()["status"], ill.json()["checks"]) == (503, "failing", {"table": "failing"})
    assert (failed.status_code, failed.json()["status"]) == (200, "degraded")
    assert "db.internal" not in ill.text + failed.text


def test_the_process_fails_if_no_system_can_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, other(with_broken_api), other(with_broken_api, "third"))
    with running(Settings(tmp_path)) as (url, _):
        overall = get(f"{url}/health")
    assert (overall.status_code, overall.json()["status"]) == (503, "failing")


def test_health_of_an_unknown_system_is_not_found(tmp_path: Path) -> None:
    with running(Settings(tmp_path)) as (url, _):
        response = get(f"{url}/health/attic")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")
