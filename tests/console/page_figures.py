"""First contentful paint and weight of the console's pages, on this machine and on a slow phone.

    python -m tests.console.page_figures --items 100000

An embedded engine with one table of so many items, and the design of tests/console/load/small_design.py. Paths
are below /console. The phone is that of tests/systems/page_figures.py.
"""

from __future__ import annotations

from contextlib import ExitStack
from statistics import median
from typing import Annotated

import typer
from playwright.sync_api import sync_playwright
from rich.console import Console as Terminal
from rich.table import Table
from tests.browser import PHONE, Windows, launched
from tests.console.load import small_design as shop
from tests.systems.page_figures import measure_page

from keyplan import connect
from keyplan.console import Console, Source
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine
from keyplan_systems.web.server import Running

PAGES = (
    "",
    "data/",
    "data/tables/app/",
    "data/tables/app/?pk=USER%23user-500",
    "data/tables/app/?index=open",
    "data/tables/app/?index=open&pk=OPEN%23user-500",
    "data/tables/app/?f_name=title&f_op=%3D&f_type=S&f_value=none",
    "data/tables/app/about",
    "data/partiql?run=yes&statement=SELECT+*+FROM+%22app%22",
    "design/",
    "design/items?from=stored",
    "design/patterns",
    "design/cost",
    "load/",
    "load/partitions",
    "load/forecast",
)
_USERS = 1000
_BATCH = 1000


def fill(engine: Engine, count: int) -> None:
    """Store so many tasks."""
    db = connect(engine=engine)
    db.create_tables(shop.app)
    for start in range(0, count, _BATCH):
        with engine.group():
            for number in range(start, min(count, start + _BATCH)):
                task = shop.Task(
                    user_id=f"user-{number % _USERS}", task_id=f"{number:08}", due="2026-02-01", title="Task"
                )
                db.run(shop.add_task(task))


def main(
    items: Annotated[int, typer.Option(help="Items of the table.")] = 100_000,
    repeats: Annotated[int, typer.Option(help="Visits of each page; median and fastest are reported.")] = 5,
) -> None:
    table = Table("page", "first paint, ms", "fastest", "slow phone", "scripts and styles, KB")
    with ExitStack() as stack:
        engine = stack.enter_context(Engine.memory())
        fill(engine, items)
        console = Console(Source.from_engine(engine, f"{items:,} items"), design=Design.of(shop))
        server = stack.enter_context(Running(console.site()))
        browser = stack.enter_context(launched(stack.enter_context(sync_playwright())))
        desktop = Windows(browser).open(server.url)
        phone = Windows(browser).open(server.url, width=PHONE)
        for window in (desktop, phone):
            window.page.goto(console.url(server.url))
        for path in PAGES:
            paints = [measure_page(desktop, f"/console/{path}", is_slow=False)[0] for _ in range(repeats)]
            slow_ms, size = measure_page(phone, f"/console/{path}", is_slow=True)
            figures = (median(paints), min(paints), slow_ms)
            table.add_row(f"/{path}", *(f"{paint:,.0f}" for paint in figures), f"{size / 1000:.1f}")
    Terminal().print(table)


if __name__ == "__main__":
    typer.run(main)
