"""PartiQL, exports, the stream and large tables in the console."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient
from tests.browser import PHONE, Window
from tests.console.data import create, fill, get, put

from keyplan.console import Console, Source
from keyplan.engine.engine import Engine
from keyplan.errors import ServiceError

Visit = Callable[..., Window]
ORDERS = "/console/data/tables/orders/"
PAINTED = """() => new Promise((done) => new PerformanceObserver(
  (list) => list.getEntriesByName("first-contentful-paint").length && done(),
).observe({type: "paint", buffered: true}))"""
"""Script that waits for the first paint of the page."""


@pytest.mark.parametrize("width", [1280, PHONE])
def test_a_statement_reads_pages_and_asks_before_it_changes_data(engine: Engine, visit: Visit, width: int) -> None:
    create(engine)
    for place in range(60):
        put(engine, "Ada", place, status={"S": "open"})
    window = visit(engine, width=width)
    page = window.goto("/console/data/partiql?table=orders")
    expect(page.get_by_label("Statement")).to_have_value('SELECT * FROM "orders"')
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".result")).to_have_text("50 items, more follow")
    window.check_accessibility()
    window.check_layout()
    window.screenshot(f"console-partiql-{width}", full_page=False)
    page.get_by_role("button", name="Next page").click()
    expect(page.locator(".result")).to_have_text("10 items")
    page.get_by_label("Statement").fill('UPDATE "orders" SET status = ? WHERE customer = ? AND number = ?')
    page.get_by_label("Parameters").fill('[{"S": "late"}, {"S": "Ada"}, {"N": "7"}]')
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("This statement changes data.")
    item = get(engine, "Ada", 7)
    assert item is not None
    assert item["status"] == {"S": "open"}
    page.get_by_role("button", name="Run and change data").click()
    expect(page.locator(".result")).to_have_text("The change was made.")
    item = get(engine, "Ada", 7)
    assert item is not None
    assert item["status"] == {"S": "late"}


def test_a_misspelled_statement_is_an_error_and_not_a_change_to_confirm(engine: Engine, visit: Visit) -> None:
    window = visit(engine)
    window.expected.append("400")
    page = window.goto("/console/data/partiql")
    page.get_by_label("Statement").fill('SELCT * FROM "orders"')
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#statement-error")).to_contain_text("must start with SELECT, INSERT, UPDATE or DELETE")
    expect(page.get_by_role("button", name="Run and change data")).to_have_count(0)


@pytest.mark.parametrize("scripts", [True, False])
def test_several_statements_run_as_a_transaction_or_a_batch(engine: Engine, visit: Visit, scripts: bool) -> None:
    create(engine)
    window = visit(engine, scripts=scripts)
    window.expected.append("400")
    page = window.goto("/console/data/partiql")
    insert = """INSERT INTO "orders" VALUE {'customer': 'Ada; Grace', 'number': %d}"""
    page.get_by_label("Statement", exact=True).fill(f"{insert % 1};\n{insert % 2};")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("These statements change data.")
    page.get_by_role("button", name="Run and change data").click()
    expect(page.locator("p.result")).to_contain_text("The change was made.")
    assert {item["number"]["N"] for item in engine.call("Scan", {"TableName": "orders"})["Items"]} == {"1", "2"}
    page.get_by_label("Statement", exact=True).fill(f"{insert % 3};\n{insert % 2}")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Run and change data").click()
    expect(page.get_by_role("alert")).to_contain_text("TransactionCanceledException")
    page.get_by_label("Execute as").select_option("batch")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Run and change data").click()
    expect(page.get_by_role("alert")).to_contain_text("Statement 2: DuplicateItem")
    select = """SELECT * FROM "orders" WHERE customer = 'Ada; Grace' AND "number" = %d"""
    page.get_by_label("Statement", exact=True).fill(f"{select % 3}; {select % 4}; {select % 1}")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("p.result")).to_contain_text("2 items")
    page.get_by_label("Parameters").fill('[{"S": "a"}]')
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("#parameters-error")).to_contain_text("single statement")


def test_rows_of_a_statement_lead_to_their_items(engine: Engine, visit: Visit) -> None:
    create(engine)
    fill(engine)
    page = visit(engine, scripts=False).goto("/console/data/partiql")

    def run(statement: str) -> None:
        page.get_by_label("Statement", exact=True).fill(statement)
        page.get_by_role("button", name="Run", exact=True).click()

    run('SELECT total, customer, "number" FROM "orders" WHERE customer = \'Ada Lovelace\'')
    expect(page.locator(".items thead th").first).to_have_text("customer")
    page.locator(".items td a").nth(1).click()
    expect(page.locator(".keyline")).to_contain_text("1003")
    page.go_back()
    run('SELECT total, "number" FROM "orders"')
    expect(page.locator(".items tbody tr")).to_have_count(7)
    expect(page.locator(".items td a")).to_have_count(0)
    select = 'SELECT * FROM "orders" WHERE customer = \'Ada Lovelace\' AND "number" = %d'
    run(f"{select % 1000}; {select % 1}; {select % 1006}")
    page.locator(".items td a").last.click()
    expect(page.locator(".keyline")).to_contain_text("1006")


@pytest.mark.parametrize("selected", ['address.customer, "number"', "total"])
def test_a_nested_value_with_the_name_of_a_key_leads_to_no_item(engine: Engine, selected: str) -> None:
    create(engine)
    put(engine, "Ada", 1, address={"M": {"customer": {"S": "Bob"}}}, total={"N": "1"})
    console = Console(Source.from_engine(engine))
    with TestClient(console.site(), base_url="http://127.0.0.1:8001") as client:
        page = client.get(console.url("")).text
        csrf = page.partition('name="csrf" content="')[2].partition('"')[0]
        statement = f'SELECT {selected} FROM "orders"'
        response = client.post("/console/data/partiql", data={"csrf": csrf, "statement": statement})
    assert "1 item" in response.text
    assert "item?key=" not in response.text


def test_a_wrong_statement_or_parameter_is_explained(engine: Engine, visit: Visit) -> None:
    create(engine)
    window = visit(engine, scripts=False)
    window.expected.append("400")
    page = window.goto("/console/data/partiql")
    page.get_by_label("Statement").fill("SELEC")
    page.get_by_label("Parameters").fill("[1]")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#parameters-error")).to_contain_text("value 1: expected one type")
    page.get_by_label("Parameters").fill("")
    page.get_by_label("Statement").fill("SELECT *")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("ValidationException")


def test_a_read_only_console_refuses_statements_that_write(engine: Engine, visit: Visit) -> None:
    create(engine)
    put(engine, "Ada", 1)
    window = visit(engine, read_only=True, scripts=False)
    window.expected.append("400")
    page = window.goto("/console/data/partiql")
    page.get_by_label("Statement").fill("DELETE FROM \"orders\" WHERE customer = 'Ada' AND number = 1")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("the console is read-only: ExecuteStatement is not allowed")
    assert get(engine, "Ada", 1) is not None


def downloaded(window: Window, page_name: str, kind: str) -> str:
    page = window.page
    page.locator("summary", has_text="Export").click()
    link = page.locator("details[open]").get_by_role("link", name=kind, exact=True)
    with page.expect_download() as download:
        (link.first if page_name == "page" else link.last).click()
    page.locator("summary", has_text="Export").click()
    return Path(download.value.path()).read_bytes().decode()


def test_a_result_is_exported_as_json_lines_and_csv(engine: Engine, visit: Visit) -> None:
    create(engine)
    fill(engine)
    put(engine, "Zoe", 1, formula={"S": "=HYPERLINK('http://x')"}, loss={"N": "-5"}, note={"S": '-5 degrees, "cold"'})
    window = visit(engine)
    window.goto(f"{ORDERS}?f_name=customer&f_op=%3D&f_type=S&f_value=Zoe&limit=300")
    window.goto(f"{ORDERS}?pk=Zoe")
    assert json.loads(downloaded(window, "page", "JSON")) == [
        {
            "customer": "Zoe",
            "number": 1,
            "formula": "=HYPERLINK('http://x')",
            "loss": -5,
            "note": '-5 degrees, "cold"',
        }
    ]
    line = json.loads(downloaded(window, "page", "DynamoDB JSON lines"))
    assert line["Item"]["loss"] == {"N": "-5"}
    (row,) = csv.DictReader(io.StringIO(downloaded(window, "page", "CSV")))
    assert row["formula"] == "'=HYPERLINK('http://x')"
    assert row["loss"] == "-5"
    assert row["note"] == '\'-5 degrees, "cold"'


def test_an_export_is_imported_again(engine: Engine, visit: Visit, tmp_path: Path) -> None:
    create(engine)
    fill(engine)
    put(engine, "Zoe", 1, formula={"S": "=1+1"}, unlike={"BOOL": True})
    create(engine, "copies")
    window = visit(engine)
    window.expected.append("400")
    window.goto(ORDERS)
    lines, table = downloaded(window, "page", "DynamoDB JSON lines"), downloaded(window, "page", "CSV")
    (tmp_path / "items.csv").write_text(table, newline="")
    page = window.goto("/console/data/tables/copies/")
    page.get_by_role("link", name="Import").click()
    window.check_accessibility()
    window.check_layout()
    page.get_by_label("File").set_input_files(tmp_path / "items.csv")
    expect(page.get_by_label("Format")).to_have_value("csv")
    page.get_by_role("button", name="Import").click()
    expect(page.locator(".notice")).to_have_text("8 items written.")
    zoe = {"customer": {"S": "Zoe"}, "number": {"N": "1"}, "formula": {"S": "=1+1"}, "unlike": {"BOOL": True}}
    assert get(engine, "Zoe", 1, "copies") == zoe
    page.get_by_label("Items", exact=True).fill(lines)
    page.get_by_label("Format").select_option("json")
    page.get_by_role("button", name="Import").click()
    expect(page.locator(".notice")).to_contain_text(
        "0 items written. 8 skipped, because an item with the same key exists."
    )
    page.get_by_label("Items", exact=True).fill(lines + '{"customer": "key is missing"}')
    page.get_by_label("Replace existing items").check()
    page.get_by_role("button", name="Import").click()
    expect(page.locator(".notice")).to_contain_text("8 items written. 1 rejected:")
    expect(page.locator(".notice li")).to_contain_text("item 9: ")
    assert get(engine, "Ada Lovelace", 1000, "copies") == get(engine, "Ada Lovelace", 1000)
    page.get_by_label("Items", exact=True).fill('{"customer": "a", "number": 1}\n{')
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#text-error")).to_contain_text("line 2: not valid JSON")
    expect(page.get_by_label("Items", exact=True)).to_have_value('{"customer": "a", "number": 1}\n{')


def test_all_pages_are_exported_only_when_asked(engine: Engine, visit: Visit) -> None:
    create(engine)
    for place in range(120):
        attributes: dict[str, Any] = {f"only-{place}": {"S": "x"}}
        put(engine, "Ada", place, **attributes)
    window = visit(engine)
    window.goto(ORDERS)
    assert len(json.loads(downloaded(window, "page", "JSON"))) == 50
    assert len(json.loads(downloaded(window, "all", "JSON"))) == 120


def test_new_records_of_a_stream_appear_while_one_watches(engine: Engine, visit: Visit) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    create(engine, StreamSpecification=stream)
    put(engine, "Ada", 1, status={"S": "open"})
    window = visit(engine)
    page = window.goto(f"{ORDERS}stream")
    expect(page.locator("#records tr")).to_have_count(1)
    page.get_by_role("button", name="Follow live").click()
    expect(page.locator("#tail-state")).to_have_text("Following: 0 new records.")
    long = {"L": [{"N": str(number)} for number in range(60)]}
    put(engine, "Ada", 1, status={"S": "<img src=x onerror=alert(1)>"}, long=long)
    expect(page.locator("#records tr")).to_have_count(2)
    expect(page.locator("#records tr").first).to_contain_text("modify")
    expect(page.locator("#records tr").first).to_contain_text("status")
    page.locator("#records tr").first.get_by_text("New image").click()
    expect(page.locator("#records pre").first).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("main img").count() == 0
    window.check_accessibility()
    window.check_layout()
    window.screenshot("console-stream")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#tail-state")).to_have_text("Stopped.")


class NoStreamsError(ServiceError):
    """An error of an engine without streams, which has neither a name nor a message."""

    code = "400"


def test_a_stream_that_the_database_does_not_serve_names_the_refused_operation(engine: Engine) -> None:
    create(engine, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})

    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "DescribeStream":
            raise NoStreamsError
        return engine.call(operation, request)

    console = Console(Source("other engine", call, kind="endpoint"))
    base = "http://127.0.0.1:8001"
    with TestClient(console.site(), base_url=base) as client:
        client.get(console.url(base))
        response = client.get(f"{ORDERS}stream")
    assert response.status_code == 200
    assert "The stream cannot be read: other engine rejected DescribeStream (400)." in response.text
    assert "Follow live" not in response.text


def test_a_button_shows_that_its_request_is_running(engine: Engine, visit: Visit) -> None:
    create(engine)
    page = visit(engine).goto(f"{ORDERS}import")
    page.locator("#text").fill("[]")
    page.route("**/import", lambda _route: None)  # never answered
    state = """() => new Promise((done) => {
      const button = document.querySelector("main form button.primary");
      button.click();
      setTimeout(() => setTimeout(() => done([button.ariaBusy, button.disabled])));
    })"""
    assert page.evaluate(state) == ["true", True]


def test_a_page_of_a_table_without_a_stream_shows_how_to_enable_it(engine: Engine, visit: Visit) -> None:
    create(engine)
    page = visit(engine, scripts=False).goto(f"{ORDERS}stream")
    page.get_by_role("link", name="Turn it on in the overview").click()
    expect(page.get_by_role("heading", name="Stream")).to_be_visible()


def test_a_table_of_100_000_items_opens_at_once(engine: Engine, visit: Visit) -> None:
    create(engine)
    for start in range(0, 100_000, 25):
        puts: list[Any] = [
            {
                "PutRequest": {
                    "Item": {
                        "customer": {"S": f"customer-{place % 1000:04}"},
                        "number": {"N": str(place)},
                        "status": {"S": "open"},
                        "total": {"N": "12.50"},
                    }
                }
            }
            for place in range(start, start + 25)
        ]
        engine.call("BatchWriteItem", {"RequestItems": {"orders": puts}})
    window = visit(engine)
    for path in (
        "/console/data/",
        ORDERS,
        f"{ORDERS}?pk=customer-0500",
        f"{ORDERS}?f_name=total&f_value=1&f_type=N&f_op=%3C",
    ):
        window.goto(path)
        window.page.evaluate(PAINTED)
        weight = window.weight()
        print(path, weight)
        assert 0 < weight["paint_ms"] < 3000, path  # 60 to 150 ms on an idle machine
        assert weight["bytes"] < 100_000, path
    expect(window.page.get_by_role("heading", name="No match yet")).to_be_visible()
    expect(window.page.locator("main")).to_contain_text("300 items read so far")
