"""The Home page of a console without systems: tables, design and load of its source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.browser import PHONE, Window
from tests.console.load import small_design as shop

from keyplan import connect
from keyplan.client.errors import NoAnswerError
from keyplan.console import Source
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine

EVIL = '<img src=x onerror="alert(1)">"><script>alert(2)</script>'


@pytest.mark.parametrize("width", [1280, PHONE])
@pytest.mark.parametrize("dark", [False, True])
def test_home_shows_tables_design_and_load(
    engine: Engine, visit: Callable[..., Window], width: int, *, dark: bool
) -> None:
    db = connect(engine=engine)
    db.create_tables(shop.app)
    window = visit(engine, design=Design.of(shop), width=width, dark=dark)
    for number in range(3):
        db.run(shop.task_by_id("ada", str(number)))
    page = window.goto("/console/")
    expect(page.get_by_role("link", name="app", exact=True)).to_be_visible()
    expect(page.locator("main")).to_contain_text("1 table, 2 entities, 9 patterns")
    expect(page.locator("main")).to_contain_text("USER#ada")
    window.check_layout()
    window.check_accessibility()
    window.screenshot(f"console-start-{width}{'-dark' if dark else ''}")
    page.get_by_role("link", name="app", exact=True).click()
    page.wait_for_url("**/console/data/tables/app/")


def test_home_of_an_empty_database_says_what_to_do(engine: Engine, visit: Callable[..., Window]) -> None:
    window = visit(engine)
    page = window.goto("/console/")
    expect(page.get_by_text("No tables yet.")).to_be_visible()
    expect(page.get_by_text("keyplan console my_app.design")).to_be_visible()
    expect(page.get_by_text("No requests in the last hour")).to_be_visible()
    window.check_accessibility()


def test_home_of_a_lost_endpoint_says_so_and_shows_the_rest(visit: Callable[..., Window]) -> None:
    def lost(_operation: str, _request: dict[str, Any]) -> dict[str, Any]:
        raise NoAnswerError(f"could not connect to {EVIL}", sent=False)

    window = visit(Source(EVIL, lost, kind="endpoint", endpoint="http://127.0.0.1:9"), design=Design.of(shop))
    page = window.goto("/console/")
    expect(page.get_by_role("alert")).to_contain_text("could not connect")
    expect(page.get_by_role("heading", level=1)).to_have_text(EVIL)
    expect(page.get_by_role("link", name="Open the design")).to_be_visible()
    assert page.locator("main img, main script").count() == 0


def test_a_table_name_is_quoted_in_its_link(visit: Callable[..., Window]) -> None:
    def tables(_operation: str, _request: dict[str, Any]) -> dict[str, Any]:
        return {"TableNames": [f"a/b?{EVIL}"], "LastEvaluatedTableName": "more"}

    window = visit(Source("other engine", tables, kind="endpoint", endpoint="http://127.0.0.1:9"))
    page = window.goto("/console/")
    link = page.get_by_role("link", name="a/b?")
    expect(link).to_have_text(f"a/b?{EVIL}")
    assert str(link.get_attribute("href")).startswith("/console/data/tables/a%2Fb%3F%3Cimg")
    expect(page.get_by_text("1 table or more")).to_be_visible()
