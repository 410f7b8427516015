"""Items in the console: reading, searching, editing, creating and deleting them in a browser."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.browser import PHONE, Window
from tests.console.data import PICTURES, create, fill, get, put

from keyplan.engine.engine import Engine

Visit = Callable[..., Window]
ORDERS = "/console/data/tables/orders/"


@pytest.fixture
def orders(engine: Engine) -> Engine:
    create(engine)
    fill(engine)
    return engine


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (PHONE, False)])
def test_items_are_shown_as_collections(orders: Engine, visit: Visit, width: int, dark: bool) -> None:
    window = visit(orders, width=width, dark=dark)
    page = window.goto(ORDERS)
    groups = page.locator(".items tbody")
    expect(groups).to_have_count(3)
    expect(groups.filter(has_text="Ada Lovelace")).to_contain_text("3 items")
    expect(page.locator(".result")).to_have_text("Scan 7 items")
    expect(page.locator(".receipt")).to_contain_text("2 calls")
    window.check_accessibility()
    window.check_layout()
    window.screenshot(f"console-items-{width}{'-dark' if dark else ''}", full_page=width == PHONE)
    for menu in (".receipt", ".menu:has-text('Export')", ".menu:has-text('Columns')"):
        page.locator(f"{menu} > summary").click()
        box = page.locator(f"{menu} > div").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        window.check_accessibility()
        page.keyboard.press("Escape")


def test_the_group_of_a_partition_key_leads_to_its_query(orders: Engine, visit: Visit) -> None:
    window = visit(orders)
    page = window.goto(ORDERS)
    page.locator(".pk").filter(has_text="Grace Hopper").get_by_role("link").click()
    expect(page.locator(".result")).to_have_text("Query 2 items")
    page.get_by_text("Query as code").click()
    expect(page.locator("pre").first).to_contain_text("client.query(")
    expect(page.locator("pre").nth(1)).to_contain_text("aws dynamodb query")
    window.check_accessibility()


def test_a_query_by_sort_key_and_a_filter_is_built_by_the_form(orders: Engine, visit: Visit) -> None:
    window = visit(orders)
    page = window.goto(ORDERS)
    page.get_by_label("customer (partition key, S)").fill("Ada Lovelace")
    page.get_by_label("number (sort key, N)").select_option("between")
    page.get_by_label("Value of number").fill("1001")
    page.get_by_label("and (for between)").fill("1006")
    page.get_by_text("Filters and options").click()
    page.get_by_label("Attribute of filter 1").fill("address.city")
    page.get_by_label("Value of filter 1").fill("London")
    page.get_by_role("button", name="Add filter").click()
    page.get_by_label("Attribute of filter 2").fill("express")
    page.get_by_label("Type of filter 2").select_option("BOOL")
    page.get_by_label("Value of filter 2").fill("true")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".result")).to_have_text("Query 1 item of 2 read")
    expect(page.locator(".items tbody tr")).to_have_count(1)
    expect(page.get_by_label("Attribute of filter 2")).to_have_value("express")
    window.check_accessibility()


def test_an_index_is_read_with_its_own_keys(orders: Engine, visit: Visit) -> None:
    page = visit(orders).goto(ORDERS)
    page.get_by_label("Read from").select_option("by-status")
    expect(page.get_by_label("status (partition key, S)")).to_be_visible()
    page.get_by_label("status (partition key, S)").fill("open")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".result")).to_have_text("Query 3 items")
    expect(page.locator(".items")).not_to_contain_text("London")


def test_a_key_of_the_wrong_type_is_explained_next_to_its_field(orders: Engine, visit: Visit) -> None:
    window = visit(orders)
    window.expected.append("400")
    page = window.goto(f"{ORDERS}?pk=Ada+Lovelace&sk=many&sk_op=%3D")
    expect(page.locator("#sk-error")).to_have_text("expected a number, got 'many'")
    expect(page.get_by_label("Value of number")).to_have_value("many")


def test_a_request_that_the_database_refuses_keeps_the_form(orders: Engine, visit: Visit) -> None:
    page = visit(orders).goto(f"{ORDERS}?index=by-status&consistent=yes")
    expect(page.get_by_role("alert")).to_contain_text("ValidationException")
    expect(page.get_by_label("Consistent read")).to_be_checked()


def test_the_page_is_sorted_and_its_columns_are_chosen(orders: Engine, visit: Visit) -> None:
    page = visit(orders).goto(ORDERS)
    page.get_by_role("link", name="total").click()
    expect(page.locator(".items tbody tr").first).to_contain_text("19.9")
    page.get_by_role("link", name="total ↑").click()
    expect(page.locator(".items tbody tr").first).to_contain_text("61.9")
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="label").uncheck()
    page.get_by_role("checkbox", name="address").uncheck()
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".items thead")).not_to_contain_text("address")
    expect(page.locator(".items tbody tr").first).to_contain_text("61.9")


def test_a_page_reads_only_its_items(engine: Engine, visit: Visit) -> None:
    create(engine)
    for place in range(120):
        put(engine, f"customer-{place % 5}", place)
    page = visit(engine).goto(ORDERS)
    expect(page.locator(".result")).to_have_text("Scan 50 items, more follow")
    page.get_by_role("link", name="Next page").click()
    page.get_by_role("link", name="Next page").click()
    expect(page.locator(".result")).to_have_text("Scan 20 items")
    page.get_by_role("link", name="First page").click()
    expect(page.locator(".result")).to_have_text("Scan 50 items, more follow")
    page.goto(f"{page.url.partition('?')[0]}?f_name=number&f_op=%3D&f_type=N&f_value=119&limit=25")
    expect(page.get_by_role("heading", name="No match yet")).to_be_visible()
    page.get_by_role("link", name="Continue reading").click()
    expect(page.locator("main")).to_contain_text("items read so far")


def test_matching_items_are_counted_when_asked(engine: Engine, visit: Visit) -> None:
    create(engine)
    for place in range(120):
        put(engine, f"customer-{place % 5}", place, status={"S": "open" if place % 2 else "paid"})
    page = visit(engine).goto(ORDERS)
    page.get_by_role("link", name="Count all").click()
    expect(page.locator("#total")).to_have_text("120 items")
    page.goto(f"{page.url.partition('?')[0]}?f_name=status&f_op=%3D&f_type=S&f_value=paid&limit=25&attributes=status")
    expect(page.locator(".items thead")).to_contain_text("status")
    page.get_by_role("link", name="Count all").click()
    expect(page.locator("#total")).to_have_text("60 match of 120 read")


def test_an_item_is_edited_by_its_form(orders: Engine, visit: Visit) -> None:
    window = visit(orders)
    page = window.goto(f"{ORDERS}?pk=Ada+Lovelace")
    page.get_by_role("link", name="1000").click()
    total = page.locator("fieldset", has=page.locator('input[value="total"]'))
    total.get_by_label("Value").fill("12345678901234567890123456789012345678")
    page.locator("fieldset", has=page.locator('input[value="express"]')).get_by_label("Remove").check()
    page.get_by_role("button", name="Add attribute").click()
    added = page.locator("fieldset").last
    added.get_by_label("Name").fill("note")
    added.get_by_label("Value").fill("first line\nsecond line")
    window.check_accessibility()
    window.check_layout()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice.good")).to_have_text("Item saved.")
    item = get(orders, "Ada Lovelace", 1000)
    assert item is not None
    assert item["total"] == {"N": "12345678901234567890123456789012345678"}
    assert item["note"] == {"S": "first line\nsecond line"}
    assert "express" not in item
    assert item["label"] == {"B": bytes(range(8))}
    assert item["tags"] == {"SS": ["gift"]}
    window.screenshot("console-item")


@pytest.mark.parametrize("scripts", [True, False])
def test_json_keeps_sets_binary_and_digits(orders: Engine, visit: Visit, scripts: bool) -> None:
    page = visit(orders, scripts=scripts).goto(f"{ORDERS}?pk=Ada+Lovelace")
    page.get_by_role("link", name="1000").click()
    page.get_by_role("link", name="JSON", exact=True).click()
    text = page.get_by_label("Item as JSON")
    value = text.input_value()
    assert '"label": "AAECAwQFBgc="' in value
    text.fill(value.replace("19.9", "-1.5E-100").replace("gift", "present").replace("London", "Paris"))
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice.good")).to_have_text("Item saved.")
    item = get(orders, "Ada Lovelace", 1000)
    assert item is not None
    assert float(item["total"]["N"]) == -1.5e-100
    assert item["tags"] == {"SS": ["present"]}
    assert item["label"] == {"B": bytes(range(8))}
    assert item["address"]["M"]["city"] == {"S": "Paris"}


def test_deep_nesting_and_sets_inside_lists_are_edited_as_dynamodb_json(engine: Engine, visit: Visit) -> None:
    create(engine)
    nested: dict[str, object] = {"SS": ["leaf"]}
    for _ in range(28):
        nested = {"M": {"a": {"L": [nested]}}} if "L" not in nested else {"M": {"b": nested}}
    deep: dict[str, object] = {"S": "bottom"}
    for _ in range(30):
        deep = {"L": [deep]}
    put(engine, "deep", 1, deep=deep, mixed={"L": [{"BS": [b"\x00\xff"]}, {"NULL": True}]})
    page = visit(engine).goto(f"{ORDERS}?pk=deep")
    page.locator(".items td a").click()
    expect(page.locator("fieldset", has=page.locator('input[value="mixed"]')).locator("select")).to_have_value("JSON")
    page.get_by_role("link", name="DynamoDB JSON").click()
    text = page.get_by_label("Item as DynamoDB JSON")
    text.fill(text.input_value().replace("bottom", "ground"))
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice.good")).to_have_text("Item saved.")
    item = get(engine, "deep", 1)
    assert item is not None
    assert "ground" in str(item["deep"])
    assert item["mixed"] == {"L": [{"BS": [b"\x00\xff"]}, {"NULL": True}]}


def test_a_change_by_someone_else_is_not_overwritten(orders: Engine, visit: Visit) -> None:
    window = visit(orders)
    window.expected.append("409")
    page = window.goto(f"{ORDERS}?pk=Ada+Lovelace")
    page.get_by_role("link", name="1000").click()
    total = page.locator("fieldset", has=page.locator('input[value="total"]')).get_by_label("Value")
    total.fill("5")
    key = {"customer": {"S": "Ada Lovelace"}, "number": {"N": "1000"}}
    change = {"TableName": "orders", "Key": key, "UpdateExpression": "SET #s = :s"}
    orders.call(
        "UpdateItem",
        {**change, "ExpressionAttributeNames": {"#s": "status"}, "ExpressionAttributeValues": {":s": {"S": "late"}}},
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("changed by someone else")
    expect(page.get_by_role("alert")).to_contain_text("status, total")
    item = get(orders, "Ada Lovelace", 1000)
    assert item is not None
    assert item["total"] == {"N": "19.9"}
    expect(page.locator("fieldset", has=page.locator('input[value="total"]')).get_by_label("Value")).to_have_value("5")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice.good")).to_have_text("Item saved.")


def test_an_item_that_was_deleted_concurrently_is_not_created_again(orders: Engine, visit: Visit) -> None:
    window = visit(orders)
    window.expected.append("409")
    page = window.goto(f"{ORDERS}?pk=Ada+Lovelace")
    page.get_by_role("link", name="1000").click()
    orders.call(
        "DeleteItem",
        {"TableName": "orders", "Key": {"customer": {"S": "Ada Lovelace"}, "number": {"N": "1000"}}},
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="This item does not exist")).to_be_visible()
    assert get(orders, "Ada Lovelace", 1000) is None


def test_errors_in_an_edited_item_keep_the_text(orders: Engine, visit: Visit) -> None:
    window = visit(orders)
    window.expected.append("400")
    page = window.goto(f"{ORDERS}?pk=Ada+Lovelace")
    page.get_by_role("link", name="1000").click()
    item_url = page.url
    page.locator("fieldset", has=page.locator('input[value="total"]')).get_by_label("Value").fill("a lot")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_have_text("total: expected a number, got 'a lot'")
    page.goto(f"{item_url}&as=dynamodb")
    page.get_by_label("Item as DynamoDB JSON").fill('{"customer": {"S": "x"}, }')
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid JSON: line 1")
    page.get_by_label("Item as DynamoDB JSON").fill('{"customer": {"S": "someone else"}}')
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("a key attribute cannot change")


@pytest.mark.parametrize("scripts", [True, False])
def test_an_item_is_created_and_never_replaces_another(orders: Engine, visit: Visit, scripts: bool) -> None:
    window = visit(orders, scripts=scripts)
    window.expected.append("409")
    page = window.goto(f"{ORDERS}new")
    page.get_by_label("customer (partition key, S)").fill("Ada Lovelace")
    page.get_by_label("number (sort key, N)").fill("1000")
    page.get_by_label("Name").fill("status")
    page.get_by_label("Value").fill("new")
    page.get_by_role("button", name="Create item").click()
    expect(page.get_by_role("alert")).to_contain_text("An item with this key already exists")
    page.get_by_label("number (sort key, N)").fill("2000")
    page.get_by_role("button", name="Create item").click()
    expect(page.locator(".notice.good")).to_have_text("Item created.")
    assert get(orders, "Ada Lovelace", 2000) == {
        "customer": {"S": "Ada Lovelace"},
        "number": {"N": "2000"},
        "status": {"S": "new"},
    }
    item = get(orders, "Ada Lovelace", 1000)
    assert item is not None
    assert item["status"] == {"S": "open"}


def test_a_copy_of_an_item_needs_another_key(orders: Engine, visit: Visit) -> None:
    page = visit(orders).goto(f"{ORDERS}?pk=Ada+Lovelace")
    page.get_by_role("link", name="1000").click()
    page.get_by_role("link", name="Copy").click()
    page.get_by_label("number (sort key, N)").fill("3000")
    page.get_by_role("button", name="Create item").click()
    expect(page.locator(".notice.good")).to_have_text("Item created.")
    copy = get(orders, "Ada Lovelace", 3000)
    assert copy is not None
    assert copy["label"] == {"B": bytes(range(8))}


@pytest.mark.parametrize("scripts", [True, False])
def test_selected_items_are_deleted_after_a_confirmation(orders: Engine, visit: Visit, scripts: bool) -> None:
    window = visit(orders, scripts=scripts)
    page = window.goto(ORDERS)
    page.get_by_label("Select Ada Lovelace / 1000").check()
    page.get_by_label("Select Ada Lovelace / 1003").check()
    page.get_by_role("button", name="Delete selected").click()
    expect(page.get_by_role("heading", name="Delete 2 items?")).to_be_visible()
    assert get(orders, "Ada Lovelace", 1000) is not None
    page.get_by_role("button", name="Delete 2 items").click()
    expect(page.locator(".notice.good")).to_have_text("2 items deleted.")
    assert get(orders, "Ada Lovelace", 1000) is None
    assert get(orders, "Ada Lovelace", 1006) is not None


def test_all_items_of_a_page_can_be_selected(orders: Engine, visit: Visit) -> None:
    page = visit(orders).goto(ORDERS)
    delete, everything = page.get_by_role("button", name="Delete selected"), page.get_by_label("Select all items")
    expect(delete).to_be_disabled()
    everything.check()
    expect(page.locator("input[name=key]:checked")).to_have_count(7)
    page.get_by_label("Select Ada Lovelace / 1000").uncheck()
    expect(everything).not_to_be_checked()
    delete.click()
    expect(page.get_by_role("heading", name="Delete 6 items?")).to_be_visible()


def test_a_long_partition_key_takes_four_lines_at_most(orders: Engine, visit: Visit) -> None:
    put(orders, "x" * 900, 1)
    page = visit(orders).goto(ORDERS)
    row = page.get_by_role("row").filter(has_text="xxxx").bounding_box()
    assert row is not None
    assert row["height"] < 200


def test_an_existing_item_is_linked_instead_of_replaced(orders: Engine, visit: Visit) -> None:
    window = visit(orders, scripts=False)
    window.expected.append("409")
    page = window.goto(f"{ORDERS}new")
    page.get_by_label("customer (partition key, S)").fill("Ada Lovelace")
    page.get_by_label("number (sort key, N)").fill("1000")
    page.get_by_role("button", name="Create item").click()
    page.get_by_role("link", name="Open the item").click()
    expect(page.locator(".keyline")).to_contain_text("1000")


def test_texts_of_items_never_run_as_scripts(engine: Engine, visit: Visit) -> None:
    create(engine)
    for place, text in enumerate(PICTURES):
        nested: dict[str, Any] = {"M": {text: {"L": [{"S": text}]}}}
        attributes: dict[str, Any] = {text: {"S": text}, "map": nested, "set": {"SS": [text]}, "status": {"S": text}}
        put(engine, text, place, **attributes)
    window = visit(engine)
    page = window.goto(ORDERS)
    alerts: list[str] = []
    page.on("dialog", lambda dialog: alerts.append(dialog.message))
    expect(page.locator("main")).to_contain_text(PICTURES[0])
    assert page.locator("main img").count() == 0
    window.goto(f"{ORDERS}?index=by-status")
    for place in range(len(PICTURES)):
        window.goto(ORDERS)
        page.locator(".items td a", has_text=re.compile(f"^N{place}$")).click()
        for view in ("JSON", "DynamoDB JSON"):
            page.get_by_role("link", name=view, exact=True).click()
            expect(page.locator("textarea")).to_have_value(re.compile(re.escape(json.dumps(PICTURES[place]))))
        page.get_by_role("button", name="Delete").click()
        expect(page.locator(".subjects")).to_contain_text(PICTURES[place])
    assert alerts == []
    assert page.locator("main img, main script").count() == 0


def test_an_item_of_400_kb_is_edited_as_json(engine: Engine, visit: Visit) -> None:
    create(engine)
    binary = base64.b64encode(bytes(range(256)) * 700).decode()
    put(engine, "big", 1, text={"S": 'é"\\\n' * 40_000}, raw={"B": base64.b64decode(binary)})
    window = visit(engine)
    page = window.goto(f"{ORDERS}?pk=big")
    assert len(page.content()) < 40_000
    page.locator(".items td a").click()
    expect(page.locator("main")).to_contain_text("This item is large")
    text = page.get_by_label("Item as DynamoDB JSON")
    text.evaluate("(field) => { field.value = field.value.replace('\"N\": \"1\"', '\"N\": \"1\"').replace('é', 'E'); }")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice.good")).to_have_text("Item saved.")
    item = get(engine, "big", 1)
    assert item is not None
    assert item["text"]["S"] == 'E"\\\n' + 'é"\\\n' * 39_999
    assert len(item["raw"]["B"]) == 256 * 700


def test_a_read_only_console_offers_and_accepts_no_change(orders: Engine, visit: Visit) -> None:
    window = visit(orders, read_only=True)
    window.expected += ["400"]
    page = window.goto(ORDERS)
    expect(page.get_by_text("read-only")).to_be_visible()
    for text in ("New item", "Delete selected"):
        expect(page.get_by_text(text)).to_have_count(0)
    page.get_by_role("link", name="1000").click()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    page.evaluate(
        """() => { const form = document.querySelector(".editor");
        form.querySelector('[name="a_value"]').value = "{}"; form.submit(); }"""
    )
    expect(page.get_by_role("alert")).to_contain_text("the console is read-only: UpdateItem is not allowed")
    window.goto(f"{ORDERS}about")
    expect(page.get_by_role("button", name="Turn")).to_have_count(0)
    expect(page.get_by_text("Delete table")).to_have_count(0)
