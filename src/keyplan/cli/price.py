"""Prices of a region that is named on the command line."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from keyplan.cli.designs import DesignName, Prices, Region, refusal

if TYPE_CHECKING:
    from keyplan.cost.estimate import Estimate, Load, TableCost
    from keyplan.cost.prices import PriceBook
    from keyplan.design.workload import Rate

_LOADS: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Loads of the chart, as factors of the estimate's."""


def book_of(command: str, region: str) -> PriceBook:
    """Return the newest prices of a region. Exit the command with 2 if none are included."""
    from keyplan.cost.prices import PriceDataError, book  # noqa: PLC0415 - `keyplan --help` needs no prices

    try:
        return book(region)
    except PriceDataError as error:
        raise refusal(f"keyplan {command}: {error}") from None


def price(
    design: DesignName,
    region: Region = "us-east-1",
    prices: Prices = None,
    set_price: Annotated[
        list[str] | None, typer.Option("--set", help="Override one price, such as write_unit=0.0000007.")
    ] = None,
    *,
    scale: Annotated[
        str, typer.Option("--scale", help="Multiply all declared rates by this factor, such as 10x.")
    ] = "1x",
    rate: Annotated[
        list[str] | None,
        typer.Option("--rate", help="Override a pattern's declared calls per second, such as tasks_due=200."),
    ] = None,
    items: Annotated[
        str, typer.Option("--items", help="Multiply all declared numbers of items by this factor, such as 10x.")
    ] = "1x",
    size: Annotated[str, typer.Option("--size", help="Multiply all item sizes by this factor, such as 2x.")] = "1x",
    format: Annotated[
        Literal["text", "json"], typer.Option("--format", help="Output format; dollars in JSON are not rounded.")
    ] = "text",
    chart: Annotated[
        bool, typer.Option("--chart", help="Add charts of the cost by pattern and of the cost against the load.")
    ] = False,
) -> None:
    """Estimate a design's monthly cost from its declared call rates, item counts and item sizes."""
    from keyplan.cli.designs import load  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.cost.estimate import Load, estimate  # noqa: PLC0415
    from keyplan.cost.prices import PriceDataError  # noqa: PLC0415
    from keyplan.cost.sizes import Growth  # noqa: PLC0415

    loaded = load(design)
    try:
        book = _book(region, prices, set_price or [])
        rates = dict(_rate(text) for text in rate or [])
        growth = Growth(_factor("--items", items), _factor("--size", size))
        changed = Load(_factor("--scale", scale), rates, growth)
        month = estimate(loaded, book, changed)
    except (PriceDataError, ValueError) as error:
        raise refusal(f"keyplan price: {error}") from None
    if format == "json":
        typer.echo(json.dumps(_json(month, changed), indent=2))
        return
    _print(month)
    if chart:
        against = {
            times: estimate(loaded, book, replace(changed, scale=changed.scale * times)).total for times in _LOADS
        }
        _print_charts(month, against, changed.scale)


def _factor(option: str, text: str) -> float:
    """Parse the value of an option that is a factor. Raises ValueError."""
    try:
        factor = float(text.removesuffix("x"))
    except ValueError:
        factor = math.nan
    if not 0 <= factor < math.inf:
        raise ValueError(f"{option} {text}: write it as a factor, such as 10x or 0.5x")
    return factor


def _rate(text: str) -> tuple[str, Rate]:
    """Parse one `--rate pattern=calls`. Raises ValueError."""
    from keyplan.design.workload import Rate  # noqa: PLC0415

    name, _, value = text.partition("=")
    try:
        calls = float(value)
    except ValueError:
        calls = math.nan
    if not name or not 0 <= calls < math.inf:
        raise ValueError(f"--rate {text}: write it as pattern=calls per second, such as tasks_due=200")
    return name, Rate(calls)


def _json(found: Estimate, load: Load) -> dict[str, object]:
    book = found.book
    return {
        "design": found.design,
        "region": book.region,
        "prices_of": str(book.dated),
        "scale": load.scale,
        "items": load.growth.items,
        "size": load.growth.size,
        "monthly_cost": found.total,
        "point_in_time_recovery": found.point_in_time,
        "free_storage": -found.free_storage,
        "patterns": [
            {
                "name": cost.name,
                "table": cost.table,
                "read_units": cost.expected.units.read,
                "write_units": cost.expected.units.written,
                "is_counted": cost.expected.is_counted,
                "calls": cost.calls,
                "monthly_cost": cost.requests,
                "assumptions": list(cost.expected.guesses),
            }
            for cost in found.patterns
        ],
        "tables": [
            {
                "name": table.name,
                "billing": table.billing,
                "monthly_cost": table.total,
                "parts": [
                    {
                        "name": part.name,
                        "read_units_per_second": part.read,
                        "write_units_per_second": part.write,
                        "on_demand": part.on_demand,
                        "provisioned": part.provisioned,
                        "storage_bytes": part.storage_bytes,
                        "storage": part.storage,
                    }
                    for part in table.parts
                ],
            }
            for table in found.tables
        ],
        "assumptions": list(found.guesses),
        "unproved": bool(found.guesses),
        "unverified_prices": [name for name, price in book.prices.items() if not price.verified],
    }


def _print_charts(found: Estimate, against: dict[float, float], factor: float) -> None:
    from rich.console import Console  # noqa: PLC0415

    console = Console(width=None if Console().is_terminal else 140)
    costs = sorted(found.patterns, key=lambda cost: -cost.requests)
    by_pattern = [(cost.name, cost.requests) for cost in costs]
    console.print(_bars("Monthly cost of requests by pattern, on demand", by_pattern))
    rows = [(f"{factor * times:g}x", total) for times, total in against.items()]
    console.print(_bars("Monthly cost against the load, storage included", rows))


def _bars(title: str, rows: list[tuple[str, float]]) -> object:
    from rich.bar import Bar  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_column(width=40)
    most = max((value for _, value in rows), default=0.0) or 1.0
    for name, value in rows:
        table.add_row(name, _money(value), Bar(most, 0, value, width=40))
    return table


def _book(region: str, path: Path | None, changes: list[str]) -> PriceBook:
    from keyplan.cost import prices  # noqa: PLC0415

    book = prices.book(region) if path is None else prices.load(path)
    try:
        return book.with_prices(dict(_change(change) for change in changes))
    except ValueError as error:
        raise prices.PriceDataError(str(error)) from None


def _change(text: str) -> tuple[str, float]:
    """Parse one `--set name=price`. Raises ValueError."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise ValueError(f"--set {text}: write it as name=price, such as write_unit=0.0000007") from None


def _print(found: Estimate) -> None:
    from rich.console import Console  # noqa: PLC0415

    console = Console(width=None if Console().is_terminal else 140)
    book = found.book
    console.print(
        f"{found.design}: {_money(found.total)} per month, {book.region}, prices of {book.dated}"
        " (730 hours, decimal gigabytes)",
        highlight=False,
    )
    console.print(_patterns(found))
    console.print(_tables(found))
    for table in found.tables:
        console.print(_comparison(table), highlight=False)
    if found.point_in_time:
        console.print(f"point-in-time recovery adds {_money(found.point_in_time)}", highlight=False)
    if found.free_storage:
        console.print(f"the free tier of storage saves {_money(found.free_storage)}", highlight=False)
    if found.guesses:
        console.print("unproved: the monthly cost rests on these assumptions", highlight=False)
    for guess in found.guesses:
        console.print(f"assumed: {guess}", highlight=False)
    unverified = [name for name, price in book.prices.items() if not price.verified]
    console.print(f"not verified against the price list: {', '.join(unverified) or 'none'}", highlight=False)


def _patterns(found: Estimate) -> object:
    from rich.table import Table  # noqa: PLC0415

    counted = all(cost.expected.is_counted for cost in found.patterns)
    title = f"Patterns, at average sizes{'' if counted else ' (~: for an assumed number of items, see below)'}"
    table = Table("pattern", "table", title=title, title_justify="left")
    for name in ("RRU/call", "WRU/call", "of it indexes", "calls/month", "$/million", "$/month"):
        table.add_column(name, justify="right")
    for cost in sorted(found.patterns, key=lambda one: -one.requests):
        units = cost.expected.units
        mark = "" if cost.expected.is_counted else "~"
        table.add_row(
            cost.name, cost.table, mark + _number(units.read), _number(units.written),
            _number(units.written - units.write),
            f"{cost.calls:,.0f}", f"{cost.per_million:,.2f}", f"{cost.requests:,.2f}",
        )  # fmt: skip
    return table


def _tables(found: Estimate) -> object:
    from rich.table import Table  # noqa: PLC0415

    table = Table("table or index", "billing", title="Tables and indexes, per month", title_justify="left")
    for name in ("reads/s", "writes/s", "on demand $", "provisioned $", "storage GB", "storage $"):
        table.add_column(name, justify="right")
    for cost in found.tables:
        for part in cost.parts:
            table.add_row(
                part.name, cost.billing, _number(part.read), _number(part.write), f"{part.on_demand:,.2f}",
                f"{part.provisioned:,.2f}", f"{part.storage_bytes / 1e9:,.2f}", f"{part.storage:,.2f}",
            )  # fmt: skip
    return table


def _comparison(table: TableCost) -> str:
    on_demand = sum(part.on_demand for part in table.parts)
    provisioned = sum(part.provisioned for part in table.parts)
    return (
        f"{table.name}: on demand {_money(on_demand)}, provisioned for the peak {_money(provisioned)},"
        f" Standard-IA {_money(table.requests_ia + table.storage_ia)} against"
        f" {_money(on_demand + table.storage)} (requests and storage)"
    )


def _money(amount: float) -> str:
    return f"${amount:,.2f}"


def _number(value: float) -> str:
    return f"{value:,.1f}" if value and abs(value) < 100 else f"{value:,.0f}"
