"""Home page of `keyplan up`, and the console that it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect
from tests.browser import PHONE, Site, Window, Windows
from tests.systems.up.running_up import running

from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer
from keyplan_systems.up import registry
from keyplan_systems.up.launch import Settings, UpError, prepare
from keyplan_systems.web.development import development_key
from keyplan_systems.web.server import Running

SYSTEMS = ("todo", "venue_booking")


@pytest.fixture(scope="module")
def site(serve: Callable[..., Site]) -> Site:
    return serve(*SYSTEMS)


def admitted(windows: Windows, site: Site, width: int = 1280, **options: bool) -> Window:
    window = windows.open(site.url, width=width, **options)
    window.page.goto(site.console)
    return window


@pytest.mark.parametrize("width", [1280, PHONE])
@pytest.mark.parametrize("dark", [False, True])
def test_the_home_page_is_accessible_and_fits(site: Site, windows: Windows, width: int, *, dark: bool) -> None:
    window = admitted(windows, site, width, dark=dark)
    for path, name in (("/console/", "console-home"), ("/", "home"), ("/console/design/", "console-designs")):
        window.goto(path)
        window.check_layout()
        window.check_accessibility()
        window.screenshot(f"{name}-{width}{'-dark' if dark else ''}")
        window.screenshot(f"{name}-top-{width}{'-dark' if dark else ''}", full_page=False)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_sample_person_is_one_click_away(site: Site, windows: Windows, *, scripts: bool) -> None:
    window = windows.open(site.url, scripts=scripts)
    window.goto("/").get_by_role("button", name="Carla Neri").click()
    window.page.wait_for_url("**/venue_booking/app/**")
    expect(window.page.locator("body")).to_contain_text("Carla")
    other = admitted(windows, site, scripts=scripts)
    other.page.get_by_role("button", name="Grace").click()
    other.page.wait_for_url("**/todo/app/**")


def test_the_console_leads_to_tables_designs_and_load_of_each_system(site: Site, windows: Windows) -> None:
    page = admitted(windows, site).page
    todo = page.get_by_role("region", name=registry.load("todo").title)
    expect(todo.get_by_role("table", name="Background work")).to_contain_text("up to date")
    for name in ("Design", "Load"):
        page.goto(f"{site.url}/console/")
        todo.get_by_role("link", name=name, exact=True).click()
        page.wait_for_url(f"**/console/designs/todo/{name.lower()}/")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("navigation", name="Main").get_by_role("link", name=name)).to_have_attribute(
            "aria-current", "page"
        )
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Home").click()
        page.wait_for_url(f"{site.url}/console/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Design").click()
    page.get_by_role("link", name="venue").first.click()
    page.wait_for_url("**/console/designs/venue_booking/design/")


def test_load_of_the_systems_is_counted_by_pattern(site: Site, windows: Windows) -> None:
    window = windows.open(site.url)
    window.sign_in("todo", "ada")
    console = admitted(windows, site)
    page = console.goto("/console/load/?span=1h")
    expect(page.get_by_role("region", name="Load by table and index")).to_contain_text("todo-app-data")
    expect(page.get_by_role("region", name="Load by pattern")).to_contain_text("tasks")
    page = console.goto("/console/designs/venue_booking/load/?span=1h")
    expect(page.get_by_role("heading", level=1)).to_have_text("Load of venue_booking")
    places = page.get_by_role("region", name="Load by table and index")
    expect(places).to_contain_text("venue-booking")
    expect(places).not_to_contain_text("todo-app-data")
    for tab in ("partitions", "undeclared", "forecast"):
        page = console.goto(f"/console/designs/venue_booking/load/{tab}?span=1h")
        expect(page.locator("main")).not_to_contain_text("todo-app-data")


def test_strangers_see_the_home_page_and_no_tables(site: Site) -> None:
    home = httpx.get(f"{site.url}/")
    assert home.status_code == 200
    assert "/data/tables/" not in home.text
    assert "contains a token" in home.text
    for path in ("/console/", "/console/data/", "/console/designs/todo/load/", "/console/load/partitions"):
        refused = httpx.get(f"{site.url}{path}")
        assert refused.status_code == 401, path
        assert "todo-app-data" not in refused.text
    rebound = httpx.get(site.console, headers={"Host": "evil.example"})
    assert rebound.status_code == 403


def test_the_console_is_off_where_others_could_open_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEYPLAN_CONSOLE_TOKEN", raising=False)
    (tmp_path / "jwks.json").write_bytes(development_key(tmp_path / "theirs").jwks())
    issuer: dict[str, Any] = {
        "issuer": "https://login.example",
        "audience": "todo",
        "keys": str(tmp_path / "jwks.json"),
    }
    for name, settings in (
        ("public", Settings(tmp_path / "public", host="0.0.0.0", systems=("todo",))),
        ("issuer", Settings(tmp_path / "issuer", systems=("todo",), **issuer)),
    ):
        with running(settings) as (url, _):
            assert httpx.get(f"{url}/console/").status_code == 404, name
            assert httpx.get(f"{url}/console/static/console.css").status_code == 200, name


def test_a_chosen_token_opens_the_console_beyond_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYPLAN_CONSOLE_TOKEN", "a-token-of-many-characters")
    with running(Settings(tmp_path, host="0.0.0.0", systems=("todo",))) as (url, _):
        assert httpx.get(f"{url}/console/").status_code == 401
        opened = httpx.get(f"{url}/console/?token=a-token-of-many-characters")
        assert opened.status_code == 303
    monkeypatch.setenv("KEYPLAN_CONSOLE_TOKEN", "short")
    with pytest.raises(UpError, match="at least 16 characters"), running(Settings(tmp_path, systems=("todo",))):
        pass


def test_load_on_a_remote_database_is_what_the_meter_of_the_systems_counts(
    windows: Windows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    with Engine.memory() as engine, ThreadedServer(engine) as remote, ExitStack() as stack:
        host = prepare(Settings(tmp_path, systems=("todo",), url=remote.url), stack, lambda _line: None)
        stack.callback(host.workers.stop)
        assert host.console is not None
        with Running(host) as server:
            window = windows.open(server.url)
            window.sign_in("todo", "ada")
            window.page.goto(host.console.url(server.url))
            page = window.goto("/console/load/?span=1h")
            expect(page.get_by_role("region", name="Load by pattern")).to_contain_text("tasks")
            expect(page.get_by_role("region", name="Load by table and index")).to_contain_text("todo-app-data")
            expect(page.get_by_text("Reported by 1 program")).to_contain_text("keyplan up")
            expect(page.get_by_text("Reported by 1 program")).to_contain_text("record no keys")
            window.check_accessibility()
            window.check_layout()
            window.screenshot("console-load-of-a-url")
            page = window.goto("/console/designs/todo/load/partitions?span=1h")
            expect(page.get_by_role("heading", name="Partitions are known only for embedded engines")).to_be_visible()
            page = window.goto("/console/designs/todo/load/forecast?span=1h")
            expect(page.get_by_role("region", name="Forecast against measurement")).to_be_visible()
        windows.close()
