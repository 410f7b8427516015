"""The Load pages in a browser."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import httpx
import pytest
from playwright.sync_api import expect
from tests.browser import PHONE, Window, Windows
from tests.console.load import small_design as shop

from keyplan import connect
from keyplan.client.reporting import reporting
from keyplan.client.requests import Meter
from keyplan.clock import ManualClock
from keyplan.console import Console, Source
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine
from keyplan_systems.web.server import Running

DESIGN = Design.of(shop)
EVIL = '<img src=x onerror="alert(1)">"><script>alert(2)</script>'
TABS = ("", "partitions", "undeclared", "forecast")


@pytest.fixture
def console(engine: Engine) -> Console:
    connect(engine=engine).create_tables(shop.app)
    return Console(Source.from_engine(engine, "shop.db"), design=DESIGN)


def work(engine: Engine) -> None:
    db = connect(engine=engine)
    for user in ("ada", "bob", "eve"):
        for number in range(6):
            db.run(shop.add_task(shop.Task(user_id=user, task_id=str(number), due="2026-02-01", title="x" * 900)))
        db.run(shop.open_tasks(user, before="2027"))
    for _ in range(20):
        db.run(shop.task_by_id("ada", "1"))
    engine.call(
        "Query",
        {
            "TableName": "app",
            "KeyConditionExpression": "PK = :p",
            "FilterExpression": "title = :t",
            "ExpressionAttributeValues": {":p": {"S": f"USER#{EVIL}"}, ":t": {"S": EVIL}},
        },
    )


def opened(windows: Windows, server: Running, console: Console, width: int = 1280, **options: bool) -> Window:
    window = windows.open(server.url, width=width, **options)
    window.page.goto(console.url(server.url))
    return window


@pytest.mark.parametrize("width", [1280, PHONE])
@pytest.mark.parametrize("dark", [False, True])
def test_each_page_of_the_room_is_accessible_and_fits(
    console: Console, engine: Engine, windows: Windows, width: int, *, dark: bool
) -> None:
    work(engine)
    with Running(console.site()) as server:
        window = opened(windows, server, console, width, dark=dark)
        for tab in TABS:
            window.goto(f"/console/load/{tab}")
            window.check_layout()
            window.check_accessibility()
            window.screenshot(f"console-load-{tab or 'overview'}-{width}{'-dark' if dark else ''}")
        assert window.weight()["bytes"] < 100_000


def test_load_is_shown_by_pattern_table_partition_and_key(console: Console, engine: Engine, windows: Windows) -> None:
    work(engine)
    with Running(console.site()) as server:
        window = opened(windows, server, console)
        page = window.goto("/console/load/")
        patterns = page.get_by_role("region", name="Load by pattern")
        expect(patterns.get_by_role("row", name="task_by_id")).to_contain_text("20")
        expect(patterns.get_by_role("row", name="add_task")).to_contain_text("18")
        expect(page.get_by_role("region", name="Load by table and index").get_by_role("row")).to_have_count(3)
        page.get_by_role("link", name="Partitions and keys").click()
        expect(page.get_by_role("img", name="4 partitions of app:")).to_be_visible()
        expect(page.get_by_role("region", name="Hottest keys").get_by_role("row").nth(1)).to_contain_text("USER#ada")


def test_names_lead_to_patterns_tables_and_item_collections(console: Console, engine: Engine, windows: Windows) -> None:
    work(engine)
    with Running(console.site()) as server:
        window = opened(windows, server, console)
        page = window.goto("/console/load/")
        page.get_by_role("link", name="task_by_id").click()
        page.wait_for_url("**/console/design/patterns/task_by_id")
        window.goto("/console/load/")
        page.get_by_role("link", name="app/open").click()
        page.wait_for_url("**/console/data/tables/app/?index=open")
        window.goto("/console/load/partitions")
        page.get_by_role("link", name="USER#ada").click()
        expect(page.locator("main")).to_contain_text("TASK#1")


def test_undeclared_access_shows_values_as_text(console: Console, engine: Engine, windows: Windows) -> None:
    work(engine)
    with Running(console.site()) as server:
        window = opened(windows, server, console)
        page = window.goto("/console/load/undeclared")
        row = page.get_by_role("region", name="Undeclared access").get_by_role("row").nth(1)
        expect(row).to_contain_text(EVIL[:40])
        page.get_by_role("link", name="Partitions and keys").click()
        expect(page.get_by_role("region", name="Hottest keys")).to_contain_text(f"USER#{EVIL}")
        assert page.locator("img").count() == 0


def test_live_figures_follow_the_load_until_they_are_stopped(
    console: Console, engine: Engine, windows: Windows
) -> None:
    with Running(console.site()) as server:
        window = opened(windows, server, console)
        page = window.goto("/console/load/")
        expect(page.get_by_role("heading", name="No requests in the last 5 minutes")).to_be_visible()
        work(engine)
        expect(page.get_by_role("region", name="Load by pattern")).to_be_visible()
        live = page.get_by_role("button", name="Live")
        live.click()
        expect(live).to_have_attribute("aria-pressed", "false")
        page.reload()
        expect(live).to_have_attribute("aria-pressed", "false")


def test_without_javascript_a_link_refreshes_the_figures(console: Console, engine: Engine, windows: Windows) -> None:
    with Running(console.site()) as server:
        window = opened(windows, server, console, scripts=False)
        page = window.goto("/console/load/?span=1h")
        work(engine)
        page.get_by_role("link", name="Refresh").click()
        expect(page.get_by_role("region", name="Load by pattern")).to_be_visible()
        expect(page.get_by_role("link", name="1 hour")).to_have_attribute("aria-current", "true")
        assert not page.get_by_role("button", name="Live").is_visible()


def test_forecast_compares_declared_and_measured_load(console: Console, engine: Engine, windows: Windows) -> None:
    work(engine)
    with Running(console.site()) as server:
        page = opened(windows, server, console).goto("/console/load/forecast")
        row = page.get_by_role("region", name="Forecast against measurement").get_by_role("row", name="add_task")
        expect(row).to_contain_text("10")
        page.get_by_text("without requests in the last").click()
        expect(page.get_by_role("region", name="Patterns without requests")).to_contain_text("rename")


def test_a_console_of_an_endpoint_shows_what_connected_programs_report(
    engine: Engine, visit: Callable[..., Window], windows: Windows
) -> None:
    source = Source("orders on the server", lambda _operation, _request: {}, kind="endpoint", endpoint="http://x")
    console = Console(source, design=DESIGN)
    with Running(console.site()) as server:
        window = opened(windows, server, console)
        page = window.goto("/console/load/")
        expect(page.get_by_role("heading", name="No program has reported load yet")).to_be_visible()
        sample = page.locator("pre").inner_text()
        assert 'url = "http://x"' in sample
        compile(sample, "sample", "exec")
        window.check_accessibility()
        window.screenshot("console-load-connect")
        meter = Meter()
        with reporting(meter, console.url(server.url), program="orders"):
            db = connect(engine=engine, meter=meter)
            db.run(shop.add_task(shop.Task(user_id="ada", task_id="1", due="2026")))
        page.reload()
        expect(page.get_by_role("region", name="Load by pattern")).to_contain_text("add_task")
        expect(page.get_by_text("Reported by 1 program")).to_contain_text("orders")
        page.get_by_role("link", name="Partitions and keys").click()
        expect(page.get_by_role("heading", name="Partitions are known only for embedded engines")).to_be_visible()


def test_reports_need_the_token_and_have_a_limited_size(console: Console) -> None:
    with Running(console.site()) as server:
        url = f"{server.url}/console/load/reports"
        bearer = {"Authorization": f"Bearer {console.access.token}"}
        report = {"program": "orders", "run": "1", "usage": {}}
        assert httpx.post(url, json=report).status_code == 401
        assert httpx.post(url, json=report, headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert httpx.post(url, json=report, headers=bearer).status_code == 204
        refused = httpx.post(url, json={"program": 3}, headers=bearer)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid")
        assert httpx.post(url, content=b"[" * 2_000_000, headers=bearer).status_code == 413
        cross_site = {**bearer, "Origin": "http://evil.example"}
        assert httpx.post(url, json=report, headers=cross_site).status_code == 403


def test_five_minutes_of_load_fill_charts_and_heat_map(windows: Windows) -> None:
    clock, chance = ManualClock(), Random(7)
    with Engine.memory(clock=clock) as engine:
        db = connect(engine=engine)
        db.create_tables(shop.app)
        console = Console(Source.from_engine(engine, "shop.db"), design=DESIGN)
        assert console.load.engine is not None
        engine.observe(console.load.engine.observe, most_per_s=1e9)  # minutes pass faster than requests
        for step in range(60):
            for number in range(chance.randint(4, 9) + step // 6):
                user = chance.choice(["ada", "bob", "eve", "max", "zoe"])
                task = shop.Task(user_id=user, task_id=f"{step}-{number}", due="2026-02-01", title="x" * 400 * number)
                db.run(shop.add_task(task))
                db.run(shop.task_by_id(user, task.task_id))
                if number % 3 == 0:
                    db.run(shop.open_tasks(user, before="2027"))
                    db.run(shop.rename(user, task.task_id, "renamed"))
                if step > 40 and number == 1:
                    engine.call("Scan", {"TableName": "app", "Limit": 30})
            clock.advance(5)
        with Running(console.site()) as server:
            window = opened(windows, server, console)
            page = window.goto("/console/load/")
            expect(page.get_by_role("img", name="Consumed units per second")).to_be_visible()
            window.screenshot("console-load", full_page=False)
            page = window.goto("/console/load/partitions")
            assert page.locator("svg.heat rect:not(.heat-ground)").count() > 150
            window.screenshot("console-heat", full_page=False)
