"""The console on other engines: each flow works, or the page names the operation that the engine does not support.

`python -m bench http --peers` installs the engines. Tests of an engine that is not installed are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import pytest
from bench.peers import Peer, executable_of, peer_named, running_peer
from playwright.sync_api import expect
from tests.browser import PHONE, Window, Windows
from tests.console.data import create, fill, get, put
from tests.console.load import small_design as shop

from keyplan import connect
from keyplan.client.errors import AlreadyExistsError
from keyplan.client.reporting import reporting
from keyplan.client.requests import Meter
from keyplan.console import Console, Source
from keyplan.design.declaring.design import Design
from keyplan_systems.web.server import Running

Visit = Callable[..., Window]
DESIGN = Design.of(shop)
ORDERS = "/console/data/tables/orders/"
ADA = shop.Task(user_id="ada", task_id="1", due="2026-02-01", title="Write")


@dataclass(frozen=True)
class OtherEngine:
    """A running engine of another maker."""

    name: str
    url: str
    unsupported: frozenset[str]
    """Operations that the engine does not support."""


BACKUPS = frozenset({"DescribeContinuousBackups", "ListBackups"})
STREAMS = ("SERVICES", "dynamodb,dynamodbstreams")
ENGINES = {
    "dynoxide": (peer_named("dynoxide-memory"), BACKUPS),
    "ministack": (
        replace(
            peer_named("ministack"),
            environment=(
                *(variable for variable in peer_named("ministack").environment if variable[0] != STREAMS[0]),
                STREAMS,
            ),
        ),
        frozenset[str](),
    ),
    "ministack, DynamoDB only": (peer_named("ministack"), frozenset({"DescribeStream"})),
}


@pytest.fixture(scope="module", params=ENGINES)
def other(request: pytest.FixtureRequest) -> Iterator[OtherEngine]:
    peer, unsupported = ENGINES[request.param]
    skip_if_missing(peer)
    with running_peer(peer) as server:
        yield OtherEngine(request.param, server.url, unsupported)


def skip_if_missing(peer: Peer) -> None:
    if not executable_of(peer).exists():
        pytest.skip(f"{peer.package} is not installed: `python -m bench http --peers` installs it")


@pytest.fixture
def source(other: OtherEngine) -> Iterator[Source]:
    with closing(Source.endpoint_url(other.url)) as source:
        yield source


def checked(window: Window, name: str, other: OtherEngine) -> None:
    """Check the page in a wide window and on a phone."""
    for width in (1280, PHONE):
        window.page.set_viewport_size({"width": width, "height": 844})
        window.check_accessibility()
        window.check_layout()
        window.screenshot(f"{other.name.replace(', ', '-')}-{name}-{width}")
    window.page.set_viewport_size({"width": 1280, "height": 844})


def test_a_table_is_created_listed_described_and_deleted(other: OtherEngine, source: Source, visit: Visit) -> None:
    window = visit(source)
    page = window.goto("/console/data/create")
    page.get_by_label("Table name").fill("made")
    page.get_by_label("Partition key", exact=True).first.fill("id")
    page.get_by_label("Time to live attribute").fill("expires")
    page.get_by_role("button", name="Create table").click()
    expect(page.get_by_role("status").first).to_contain_text("Table made created.")
    expect(page.get_by_text("On: items expire by expires.")).to_be_visible()
    for operation in other.unsupported & BACKUPS:
        expect(page.locator(".notice.warn")).to_contain_text(f"{operation}: not supported")
        expect(page.locator("main")).to_contain_text(f"rejected {operation} (not supported)")
    if not other.unsupported & BACKUPS:
        expect(page.locator("main")).to_contain_text("Point-in-time recovery is o")
    checked(window, "overview", other)
    page = window.goto("/console/data/")
    row = page.get_by_role("row").filter(has_text="made")
    expect(row).to_contain_text("expires")
    expect(row).to_contain_text("unknown" if other.unsupported & BACKUPS else "on demand")
    checked(window, "tables", other)
    page = window.goto("/console/data/tables/made/about")
    page.get_by_role("link", name="Delete table").click()
    page.get_by_label("Type made to confirm").fill("made")
    page.get_by_role("button", name="Delete table").click()
    expect(page.get_by_role("status").first).to_contain_text("Table made deleted.")


def test_items_are_searched_edited_created_and_deleted(other: OtherEngine, source: Source, visit: Visit) -> None:
    create(source)
    fill(source)
    window = visit(source)
    page = window.goto(ORDERS)
    expect(page.locator(".items tbody").filter(has_text="Ada Lovelace")).to_contain_text("3 items")
    expect(page.locator(".receipt summary")).to_contain_text(re.compile(r"2 calls · [0-9.]+ ms · [0-9.]*[1-9] units"))
    checked(window, "items", other)
    page.get_by_label("customer (partition key, S)").fill("Ada Lovelace")
    page.get_by_text("Filters and options").click()
    page.get_by_label("Attribute of filter 1").fill("address.city")
    page.get_by_label("Value of filter 1").fill("London")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".result")).to_have_text("Query 3 items")
    page = window.goto(f"{ORDERS}?index=by-status&pk=open")
    expect(page.locator(".result")).to_have_text("Query 3 items")
    page.locator(".items td a").first.click()
    page.get_by_role("link", name="JSON", exact=True).click()
    text = page.get_by_label("Item as JSON")
    text.fill(text.input_value().replace("open", "late"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Item saved.")
    expect(text).to_have_value(re.compile('"status": "late"'))
    checked(window, "item", other)
    page = window.goto(f"{ORDERS}new")
    page.get_by_label("customer (partition key, S)").fill("Zoe")
    page.get_by_label("number (sort key, N)").fill("1")
    page.get_by_role("button", name="Create item").click()
    expect(page.get_by_role("status").first).to_contain_text("Item created.")
    window.goto(f"{ORDERS}?pk=Zoe")
    page.get_by_label("Select Zoe / 1").check()
    page.get_by_role("button", name="Delete selected").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("Item deleted.")
    assert get(source, "Zoe", 1) is None
    source.call("DeleteTable", {"TableName": "orders"})


def test_statements_read_and_change_items(other: OtherEngine, source: Source, visit: Visit) -> None:
    create(source)
    put(source, "Ada", 1, status={"S": "open"})
    window = visit(source)
    page = window.goto("/console/data/partiql?table=orders")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("p.result")).to_have_text("1 item")
    checked(window, "partiql", other)
    page.get_by_label("Statement", exact=True).fill(
        "UPDATE \"orders\" SET status = 'late' WHERE customer = 'Ada' AND \"number\" = 1"
    )
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Run and change data").click()
    expect(page.locator("p.result")).to_have_text("The change was made.")
    window.goto("/console/data/partiql?table=orders")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".items td a").first.click()
    expect(page.locator(".keyline")).to_contain_text("Ada")
    expect(page.locator("fieldset", has=page.locator('input[value="status"]')).get_by_label("Value")).to_have_value(
        "late"
    )
    source.call("DeleteTable", {"TableName": "orders"})


def test_a_stream_is_followed_or_its_refusal_is_explained(other: OtherEngine, source: Source, visit: Visit) -> None:
    create(source, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    put(source, "Ada", 1, status={"S": "open"})
    window = visit(source)
    page = window.goto(f"{ORDERS}stream")
    if "DescribeStream" in other.unsupported:
        expect(page.get_by_role("alert")).to_contain_text(f"{source.name} refused DescribeStream")
    else:
        expect(page.locator("#records tr")).to_have_count(1)
        page.get_by_role("button", name="Follow live").click()
        expect(page.locator("#tail-state")).to_have_text("Following: 0 new records.")
        put(source, "Ada", 1, status={"S": "late"})
        expect(page.locator("#records tr")).to_have_count(2)
        page.get_by_role("button", name="Stop").click()
    checked(window, "stream", other)
    source.call("DeleteTable", {"TableName": "orders"})


def test_a_design_is_created_run_and_shown_as_item_collections(
    other: OtherEngine, source: Source, visit: Visit
) -> None:
    window = visit(source, design=DESIGN)
    page = window.goto("/console/design/items?from=stored")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Create tables with generated items").click()
    expect(page.get_by_role("status").first).to_contain_text("items were written")
    expect(page.locator("table.collections tbody").first).to_contain_text("USER#")
    checked(window, "collections", other)
    page = window.goto("/console/design/items?from=stored&index=open")
    key = page.locator("table.collections th .key").first.inner_text()
    page.get_by_label("GSI1PK").fill(key)
    page.get_by_role("button", name="Show collection").click()
    expect(page.locator("table.collections tbody")).to_have_count(1)
    expect(page.locator("table.collections tbody")).to_contain_text(key)
    window.goto("/console/design/patterns/add_task")
    for name, value in ADA.model_dump().items():
        if name != "status":
            page.get_by_label(name, exact=True).fill(value)
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Run PutItem").click()
    result = page.get_by_role("region", name="Result")
    expect(result.locator(".tile", has_text="Measured")).to_contain_text("2 WCU")
    window.goto("/console/design/patterns/open_tasks?_run=yes&user_id=ada&before=2027")
    expect(result.locator(".tile", has_text="Measured")).to_contain_text("0.5 RCU")
    expect(result).to_contain_text("Write")
    checked(window, "pattern", other)
    result.get_by_role("link", name="Task").click()
    expect(page.locator(".keyline")).to_contain_text("TASK#1")
    for path in ("", "findings", "cost", "claims", "compare"):
        expect(window.goto(f"/console/design/{path}").locator("h1")).to_be_visible()
    source.call("DeleteTable", {"TableName": "app"})


def test_load_is_what_programs_report(other: OtherEngine, source: Source, windows: Windows) -> None:
    console = Console(source, design=DESIGN)
    with Running(console.site()) as server:
        window = windows.open(server.url)
        window.page.goto(console.url(server.url))
        page = window.goto("/console/load/")
        expect(page.get_by_role("heading", name="No program has reported load yet")).to_be_visible()
        meter = Meter()
        with (
            connect(other.url, meter=meter) as db,
            reporting(meter, console.url(server.url), program="orders"),
        ):
            db.create_tables(shop.app)
            db.run(shop.add_task(ADA))
            with pytest.raises(AlreadyExistsError):
                db.run(shop.add_task(ADA))
            db.run(shop.open_tasks("ada", before="2027"))
        window.goto("/console/load/")
        row = page.get_by_role("region", name="Load by pattern").get_by_role("row", name="add_task")
        expect(row).to_contain_text("2.0")
        expect(page.get_by_text("Reported by 1 program")).to_contain_text("Meters count requests and units")
        expect(page.get_by_text("Reported by 1 program")).to_contain_text("Units of requests that failed are unknown")
        checked(window, "load", other)
        window.goto("/console/load/partitions")
        expect(page.get_by_role("heading", name="Partitions are known only for embedded engines")).to_be_visible()
        expect(page.locator("main")).to_contain_text("record no keys")
        page = window.goto("/console/load/forecast")
        expect(page.get_by_role("region", name="Forecast against measurement")).to_contain_text("open_tasks")
        checked(window, "forecast", other)
    source.call("DeleteTable", {"TableName": "app"})
