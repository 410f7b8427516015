"""Tables in the console: list, overview, settings, creation, deletion; lost and incomplete databases."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient
from tests.browser import PHONE, Window, Windows
from tests.console.data import create, fill, get, put

from keyplan.client.errors import NoAnswerError
from keyplan.clock import ManualClock
from keyplan.console import Access, Console, Source
from keyplan.console.access import SESSION_S
from keyplan.engine.engine import Engine
from keyplan.errors import UnknownOperationError
from keyplan.server.thread import ThreadedServer
from keyplan_systems.web.server import Running

Visit = Callable[..., Window]


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (PHONE, False)])
def test_tables_are_listed_with_what_matters_of_them(engine: Engine, visit: Visit, width: int, dark: bool) -> None:
    create(engine)
    fill(engine)
    create(engine, "archive", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})
    ttl = {"Enabled": True, "AttributeName": "expires"}
    engine.call("UpdateTimeToLive", {"TableName": "archive", "TimeToLiveSpecification": ttl})
    recovery = {"PointInTimeRecoveryEnabled": True}
    engine.call("UpdateContinuousBackups", {"TableName": "orders", "PointInTimeRecoverySpecification": recovery})
    window = visit(engine, width=width, dark=dark)
    page = window.goto("/console/data/")
    archive, orders = (
        page.get_by_role("row").filter(has_text="archive"),
        page.get_by_role("row").filter(has_text="orders"),
    )
    expect(archive).to_contain_text("expires")
    expect(archive).to_contain_text("new and old images")
    expect(orders).to_contain_text("by-status")
    expect(orders).to_contain_text("on demand")
    window.check_accessibility()
    window.check_layout()
    window.screenshot(f"console-tables-{width}{'-dark' if dark else ''}")
    orders.get_by_role("link", name="orders").click()
    page.get_by_role("link", name="Overview").click()
    expect(page.locator("main")).to_contain_text("Point-in-time recovery is on.")
    window.check_accessibility()
    window.check_layout()
    window.screenshot(f"console-overview-{width}{'-dark' if dark else ''}")


def test_an_empty_database_offers_the_first_table(engine: Engine, visit: Visit) -> None:
    window = visit(engine)
    page = window.goto("/console/data/")
    expect(page.get_by_role("heading", name="No tables yet")).to_be_visible()
    page.get_by_role("link", name="Create the first table").click()
    window.check_accessibility()
    window.check_layout()
    page.get_by_label("Table name").fill("films")
    page.get_by_label("Partition key", exact=True).fill("director")
    page.get_by_label("Sort key").first.fill("year")
    page.get_by_label("Type of the sort key").select_option("N")
    page.get_by_label("Time to live attribute").fill("expires")
    page.get_by_text("Global secondary index 1").click()
    page.get_by_label("Index name").first.fill("by-genre")
    page.get_by_label("Partition key of the index").first.fill("genre")
    page.get_by_role("button", name="Create table").click()
    expect(page.locator(".notice.good")).to_have_text("Table films created.")
    table = engine.call("DescribeTable", {"TableName": "films"})["Table"]
    assert table["KeySchema"] == [
        {"AttributeName": "director", "KeyType": "HASH"},
        {"AttributeName": "year", "KeyType": "RANGE"},
    ]
    assert table["GlobalSecondaryIndexes"][0]["IndexName"] == "by-genre"
    ttl = engine.call("DescribeTimeToLive", {"TableName": "films"})["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


def test_a_table_that_cannot_be_created_keeps_the_form(engine: Engine, visit: Visit) -> None:
    create(engine)
    window = visit(engine, scripts=False)
    window.expected.append("400")
    page = window.goto("/console/data/create")
    page.get_by_label("Table name").fill("orders")
    page.get_by_role("button", name="Create table").click()
    expect(page.locator("#pk-error")).to_have_text("Enter the name of the partition key.")
    page.get_by_label("Partition key", exact=True).fill("id")
    page.get_by_role("button", name="Create table").click()
    expect(page.get_by_role("alert")).to_contain_text("ResourceInUseException")
    expect(page.get_by_label("Table name")).to_have_value("orders")
    page.locator("summary", has_text="Enter the request as JSON instead").click()
    page.get_by_label("CreateTable request").fill("{")
    page.get_by_role("button", name="Create table").click()
    expect(page.locator("#json-error")).to_contain_text("not valid JSON")


def test_settings_of_a_table_are_changed(engine: Engine, visit: Visit) -> None:
    create(engine)
    window = visit(engine)
    page = window.goto("/console/data/tables/orders/about")
    page.get_by_label("Attribute with the time of expiry").fill("expires")
    page.locator("section", has_text="Time to live").get_by_role("button", name="Turn on").click()
    expect(page.locator(".notice.good")).to_have_text("Time to live is on: expires.")
    page.locator("section", has_text="Stream").get_by_role("button", name="Turn on").click()
    expect(page.locator("section", has_text="Stream").first).to_contain_text("On: new and old images")
    page.get_by_role("button", name="Turn recovery on").click()
    expect(page.locator("main")).to_contain_text("Point-in-time recovery is on.")
    page.get_by_label("Name of the backup").fill("before-change")
    page.get_by_role("button", name="Create backup").click()
    expect(page.locator("section", has_text="Backups")).to_contain_text("before-change")
    page.get_by_label("Key", exact=True).fill("team")
    page.get_by_label("Value", exact=True).fill("orders team")
    page.get_by_role("button", name="Add tag").click()
    expect(page.locator("section", has_text="Tags")).to_contain_text("team")
    page.get_by_role("button", name="Turn protection on").click()
    expect(page.locator("main")).to_contain_text("Turn protection off")
    page.get_by_text("Add a global secondary index").click()
    page.get_by_label("Index name").fill("by-day")
    page.get_by_label("Partition key", exact=True).fill("day")
    page.get_by_role("button", name="Create index").click()
    expect(page.locator("table.dense").last).to_contain_text("by-day")
    page.get_by_role("row").filter(has_text="by-day").get_by_role("link", name="Delete").click()
    page.get_by_label("Type by-day to confirm").fill("by-day")
    page.get_by_role("button", name="Delete index").click()
    expect(page.locator(".notice.good")).to_have_text("Index by-day deleted.")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_backup_is_restored_and_deleted_and_capacity_changed(engine: Engine, visit: Visit, scripts: bool) -> None:
    create(engine)
    fill(engine)
    engine.call("CreateBackup", {"TableName": "orders", "BackupName": "nightly"})
    window = visit(engine, scripts=scripts)
    window.expected.append("400")
    page = window.goto("/console/data/tables/orders/about")
    page.locator("summary", has_text="nightly").click()
    page.get_by_label("Name of the restored table").fill("orders")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator("section", has_text="Backups").get_by_role("alert")).to_contain_text("orders")
    page.locator("summary", has_text="nightly").click()
    page.get_by_label("Name of the restored table").fill("restored")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator(".notice.good")).to_have_text("Table restored is being restored.")
    page = window.goto("/console/data/tables/orders/about")
    page.locator("summary", has_text="nightly").click()
    page.get_by_role("button", name="Delete backup").click()
    expect(page.get_by_role("heading", name="Delete backup nightly?")).to_be_visible()
    page.get_by_role("button", name="Delete backup").click()
    expect(page.locator("section", has_text="Backups")).to_contain_text("No backups on demand.")
    page.locator("summary", has_text="Change capacity").click()
    page.get_by_label("Capacity").select_option("PROVISIONED")
    page.get_by_label("Read units").fill("7")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("section", has_text="Deletion protection")).to_contain_text("provisioned, 7 RCU, 5 WCU")
    page.locator("summary", has_text="Change capacity").click()
    page.get_by_label("Capacity").select_option("PAY_PER_REQUEST")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.locator("section", has_text="Deletion protection")).to_contain_text("on demand")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_table_is_restored_to_a_point_in_time(engine: Engine, visit: Visit, scripts: bool) -> None:
    create(engine)
    fill(engine)
    specification = {"PointInTimeRecoveryEnabled": True}
    engine.call("UpdateContinuousBackups", {"TableName": "orders", "PointInTimeRecoverySpecification": specification})
    window = visit(engine, scripts=scripts)
    window.expected.append("400")
    page = window.goto("/console/data/tables/orders/about")
    expect(page.locator("section", has_text="Backups")).to_contain_text("Restorable to any second from")
    page.locator("summary", has_text="Restore to a point in time").click()
    page.get_by_label("Name of the new table").fill("earlier")
    page.get_by_label("Time in UTC").fill("2001-01-31T09:30:00")
    page.get_by_role("button", name="Restore table").click()
    alert = page.locator("section", has_text="Backups").get_by_role("alert")
    expect(alert).to_contain_text("InvalidRestoreTimeException")
    page.get_by_label("Name of the new table").fill("earlier")
    page.get_by_role("button", name="Restore table").click()
    expect(page.locator(".notice.good")).to_have_text("Table earlier is being restored.")
    assert set(engine.call("ListTables", {})["TableNames"]) == {"earlier", "orders"}


def test_a_table_is_deleted_only_after_its_name_was_typed(engine: Engine, visit: Visit) -> None:
    create(engine)
    window = visit(engine, scripts=False)
    window.expected.append("400")
    page = window.goto("/console/data/tables/orders/about")
    page.get_by_role("link", name="Delete table").click()
    page.get_by_label("Type orders to confirm").fill("order")
    page.get_by_role("button", name="Delete table").click()
    expect(page.locator("#typed-error")).to_have_text("Type orders to confirm.")
    assert engine.call("ListTables", {})["TableNames"] == ["orders"]
    page.get_by_label("Type orders to confirm").fill("orders")
    page.get_by_role("button", name="Delete table").click()
    expect(page.get_by_role("heading", name="No tables yet")).to_be_visible()
    assert engine.call("ListTables", {})["TableNames"] == []


def test_a_table_is_emptied_only_after_its_name_was_typed(engine: Engine, visit: Visit) -> None:
    create(engine)
    fill(engine)
    page = visit(engine).goto("/console/data/tables/orders/about")
    page.get_by_role("link", name="Delete all items").click()
    page.get_by_label("Type orders to confirm").fill("orders")
    page.get_by_role("button", name="Delete all items").click()
    expect(page.locator(".notice.good")).to_have_text("7 items deleted. The table is empty.")
    assert engine.call("Scan", {"TableName": "orders"})["Count"] == 0


def test_tables_of_an_endpoint_are_read_and_changed(engine: Engine, visit: Visit) -> None:
    create(engine)
    fill(engine)
    with ThreadedServer(engine) as server:
        source = Source.endpoint_url(server.url)
        page = visit(source).goto("/console/data/tables/orders/")
        expect(page.locator(".result")).to_have_text("Scan 7 items")
        page.get_by_role("link", name="1000").click()
        page.locator("fieldset", has=page.locator('input[value="status"]')).get_by_label("Value").fill("closed")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".notice.good")).to_have_text("Item saved.")
        item = get(engine, "Ada Lovelace", 1000)
        assert item is not None
        assert item["status"] == {"S": "closed"}
        assert item["label"] == {"B": bytes(range(8))}
        source.close()


def test_a_lost_endpoint_is_a_page_that_says_so(engine: Engine, visit: Visit) -> None:
    create(engine)
    with ThreadedServer(engine) as server:
        source = Source.endpoint_url(server.url)
        window = visit(source)
        page = window.goto("/console/data/")
    window.expected.append("502")
    page.get_by_role("link", name="orders").click()
    expect(page.get_by_role("heading", name="cannot be reached")).to_be_visible()
    window.check_accessibility()
    with ThreadedServer(engine, port=server.port):
        page.get_by_role("link", name="Try again").click()
        expect(page.locator(".result")).to_have_text("Scan 0 items")
        source.close()


def test_what_a_database_does_not_support_is_named_and_the_rest_works(engine: Engine, visit: Visit) -> None:
    create(engine)
    put(engine, "Ada", 1)
    missing = {"DescribeContinuousBackups", "DescribeTimeToLive", "ListTagsOfResource", "ListBackups"}

    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation in missing:
            raise UnknownOperationError("")
        return engine.call(operation, request)

    window = visit(Source("other engine", call, kind="endpoint"))
    page = window.goto("/console/data/")
    expect(page.locator(".notice.warn")).to_contain_text("other engine rejected 2 operations")
    expect(page.get_by_role("row").filter(has_text="orders")).to_contain_text("unknown")
    window.goto("/console/data/tables/orders/about")
    expect(page.locator(".notice.warn")).to_contain_text("DescribeContinuousBackups")
    expect(page.locator("section", has_text="Tags")).to_contain_text("rejected ListTagsOfResource")
    window.check_accessibility()
    window.goto("/console/data/tables/orders/")
    expect(page.locator(".result")).to_have_text("Scan 1 item")


def test_an_engine_that_reports_no_capacity_or_size_is_not_shown_as_free_or_empty(engine: Engine, visit: Visit) -> None:
    create(engine)
    fill(engine)

    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        response = engine.call(operation, request)
        response.pop("ConsumedCapacity", None)
        return {"Table": {**response["Table"], "TableSizeBytes": 0}} if operation == "DescribeTable" else response

    window = visit(Source("other engine", call, kind="endpoint"))
    page = window.goto("/console/data/tables/orders/")
    expect(page.locator(".receipt summary")).to_contain_text("units not reported")
    page.locator(".receipt summary").click()
    expect(page.locator(".receipt").get_by_role("row").filter(has_text="Scan")).to_contain_text("not reported")
    window.goto("/console/data/tables/orders/about")
    expect(page.locator(".tile", has_text="Size")).to_contain_text("not reported")
    expect(window.goto("/console/data/").get_by_role("row").filter(has_text="orders")).to_contain_text("not reported")


def test_a_change_that_a_database_does_not_support_is_named_although_its_form_is_hidden(engine: Engine) -> None:
    create(engine)
    missing = {"ListBackups", "CreateBackup", "RestoreTableFromBackup", "ListTagsOfResource", "TagResource"}

    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation in missing:
            raise UnknownOperationError(f"{operation} is not supported")
        return engine.call(operation, request)

    console = Console(Source("other engine", call, kind="endpoint"))
    table, base = "/console/data/tables/orders", "http://127.0.0.1:8001"
    with TestClient(console.site(), base_url=base, headers={"Origin": base}) as client:
        page = client.get(console.url(base)).text + client.get(f"{table}/about").text
        token = re.search(r'name="csrf" value="([^"]+)"', page)
        assert token is not None
        for path, operation, fields in (
            ("settings", "CreateBackup", {"setting": "backup", "name": "before-release"}),
            ("restore", "RestoreTableFromBackup", {"arn": "arn:backup", "target": "copy"}),
            ("settings", "TagResource", {"setting": "tag", "tag_key": "team", "tag_value": "a"}),
        ):
            response = client.post(f"{table}/{path}", data={"csrf": token[1], **fields})
            assert response.status_code == 400
            assert f"{operation} is not supported" in response.text


def test_an_endpoint_that_fails_during_a_change_is_reported(engine: Engine, visit: Visit) -> None:
    create(engine)
    put(engine, "Ada", 1)
    is_lost = False

    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if is_lost:
            raise NoAnswerError("connection reset", sent=True)
        return engine.call(operation, request)

    window = visit(Source("far away", call, kind="endpoint"))
    window.expected.append("502")
    page = window.goto("/console/data/tables/orders/")
    page.locator(".items td a").click()
    is_lost = True
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="far away cannot be reached")).to_be_visible()


def test_a_form_without_its_token_changes_nothing(engine: Engine, visit: Visit) -> None:
    create(engine)
    window = visit(engine)
    window.expected.append("403")
    page = window.goto("/console/data/tables/orders/delete")
    page.evaluate("document.querySelector('form [name=csrf]').value = 'guessed'")
    page.get_by_label("Type orders to confirm").fill("orders")
    page.get_by_role("button", name="Delete table").click()
    expect(page.locator("main")).to_contain_text("The form has expired")
    assert engine.call("ListTables", {})["TableNames"] == ["orders"]


def test_an_expired_session_is_opened_again_with_the_link(engine: Engine, windows: Windows) -> None:
    create(engine)
    clock = ManualClock()
    console = Console(Source.from_engine(engine), access=Access(clock=clock))
    with Running(console.site()) as server:
        window = windows.open(server.url)
        window.expected.append("401")
        window.page.goto(console.url(server.url))
        page = window.goto("/console/data/")
        expect(page.get_by_role("link", name="orders")).to_be_visible()
        clock.advance(SESSION_S)
        page.reload()
        expect(page.get_by_role("heading", name="Open the console with its link")).to_be_visible()
        page.goto(console.url(server.url))
        window.goto("/console/data/")
        expect(page.get_by_role("link", name="orders")).to_be_visible()


def test_a_session_without_a_valid_token_shows_where_to_find_the_link(engine: Engine, visit: Visit) -> None:
    window = visit(engine)
    window.expected.append("401")
    window.context.clear_cookies()
    page = window.goto("/console/data/")
    expect(page.get_by_role("heading", name="Open the console with its link")).to_be_visible()
    window.check_accessibility()
