"""The command `keyplan price`, which estimates the monthly cost of a design."""

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
"""The multiples of the estimated load that the cost chart shows."""


def book_of(command: str, region: str) -> PriceBook:
    """Return the latest prices for a Region. If keyplan does not include prices for the Region, exit with 2.

    `command` is the name of the command for the error message.
    """
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
        list[str] | None, typer.Option("--set", help="Override a price, such as write_unit=0.0000007. Can be repeated.")
    ] = None,
    *,
    scale: Annotated[
        str, typer.Option("--scale", help="Multiply all declared call rates by this factor, such as 10x.")
    ] = "1x",
    rate: Annotated[
        list[str] | None,
        typer.Option(
            "--rate", help="Override a pattern's declared calls per second, such as tasks_due=200. Can be repeated."
        ),
    ] = None,
    items: Annotated[
        str, typer.Option("--items", help="Multiply all declared item counts by this factor, such as 10x.")
    ] = "1x",
    size: Annotated[str, typer.Option("--size", help="Multiply all item sizes by this factor, such as 2x.")] = "1x",
    format: Annotated[
        Literal["text", "json"], typer.Option("--format", help="Output format. Dollar amounts in JSON are not rounded.")
    ] = "text",
    chart: Annotated[
        bool,
        typer.Option(
            "--chart", help="Also show charts of the cost of each pattern and of the total cost at different loads."
        ),
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
        load_settings = Load(_factor("--scale", scale), rates, growth)
        month = estimate(loaded, book, load_settings)
    except (PriceDataError, ValueError) as error:
        raise refusal(f"keyplan price: {error}") from None
    if format == "json":
        typer.echo(json.dumps(_json(month, load_settings), indent=2))
        return
    typer.echo(_text(month), nl=False)
    if chart:
        totals_by_factor = {
            times: estimate(loaded, book, replace(load_settings, scale=load_settings.scale * times)).total
            for times in _LOADS
        }
        typer.echo("\n" + _charts(month, totals_by_factor, load_settings.scale), nl=False)


def _factor(option: str, text: str) -> float:
    """Parse the value of an option that is a factor. `option` is the name of the option. Raises ValueError if the value
    is invalid.
    """
    try:
        factor = float(text.removesuffix("x"))
    except ValueError:
        factor = math.nan
    if not 0 <= factor < math.inf:
        raise ValueError(f"{option} {text}: write it as a factor, such as 10x or 0.5x")
    return factor


def _rate(text: str) -> tuple[str, Rate]:
    """Parse the value of a `--rate pattern=calls` option. Raises ValueError if it is invalid."""
    from keyplan.design.workload import Rate  # noqa: PLC0415

    name, _, value = text.partition("=")
    try:
        calls = float(value)
    except ValueError:
        calls = math.nan
    if not name or not 0 <= calls < math.inf:
        raise ValueError(f"--rate {text}: write it as pattern=calls per second, such as tasks_due=200")
    return name, Rate(calls)


def _json(estimate: Estimate, load: Load) -> dict[str, object]:
    book = estimate.book
    return {
        "design": estimate.design,
        "region": book.region,
        "prices_of": str(book.dated),
        "scale": load.scale,
        "items": load.growth.items,
        "size": load.growth.size,
        "monthly_cost": estimate.total,
        "point_in_time_recovery": estimate.point_in_time,
        "free_storage": -estimate.free_storage,
        "patterns": [
            {
                "name": cost.name,
                "table": cost.table,
                "read_units": cost.expected.units.read,
                "write_units": cost.expected.units.total_write,
                "is_counted": cost.expected.is_counted,
                "calls": cost.calls,
                "monthly_cost": cost.requests,
                "assumptions": list(cost.expected.guesses),
            }
            for cost in estimate.patterns
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
            for table in estimate.tables
        ],
        "assumptions": list(estimate.guesses),
        "unproved": bool(estimate.guesses),
        "unverified_prices": list(estimate.unverified),
    }


def _charts(estimate: Estimate, totals_by_factor: dict[float, float], factor: float) -> str:
    """Return text charts of the cost of each pattern and of the total cost at different loads.

    `totals_by_factor` maps multiples of the estimated load to the monthly cost. `factor` is the value of `--scale`.
    """
    from keyplan.cost.figures import bars  # noqa: PLC0415

    costs = sorted(estimate.patterns, key=lambda cost: -cost.requests)
    by_pattern = [(cost.name, cost.requests, _money(cost.requests)) for cost in costs]
    rows = [(f"{factor * multiple:g}x", total, _money(total)) for multiple, total in totals_by_factor.items()]
    return (
        f"Monthly cost of requests by pattern, on demand\n{bars(by_pattern)}\n\n"
        f"Monthly cost against the load, storage included\n{bars(rows)}\n"
    )


def _book(region: str, path: Path | None, changes: list[str]) -> PriceBook:
    from keyplan.cost import prices  # noqa: PLC0415

    book = prices.book(region) if path is None else prices.load(path)
    try:
        return book.with_prices(dict(_change(change) for change in changes))
    except ValueError as error:
        raise prices.PriceDataError(str(error)) from None


def _change(text: str) -> tuple[str, float]:
    """Parse the value of a `--set name=price` option. Raises ValueError if it is invalid."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise ValueError(f"--set {text}: write it as name=price, such as write_unit=0.0000007") from None


def _text(estimate: Estimate) -> str:
    """Format a cost estimate as text in lines of up to 80 characters."""
    from keyplan.cost.figures import wrapped  # noqa: PLC0415

    book = estimate.book
    notes = [_sum(estimate), *(_comparison(table) for table in estimate.tables)]
    if estimate.guesses:
        notes += ["the monthly cost depends on these assumptions:", *(f"- {guess}" for guess in estimate.guesses)]
    if estimate.unverified:
        notes.append(f"prices that were not compared with the AWS price list: {', '.join(estimate.unverified)}")
    prices = f"{book.region}, prices of {book.dated} (730 hours, decimal gigabytes)"
    return "\n\n".join((
        wrapped(f"{estimate.design}: {_money(estimate.total)} per month, {prices}"),
        *([_patterns(estimate)] if estimate.patterns else []),
        _tables(estimate),
        "\n".join(map(wrapped, notes)) + "\n",
    ))  # fmt: skip


def _patterns(estimate: Estimate) -> str:
    from keyplan.cost.figures import figure_table  # noqa: PLC0415

    all_counted = all(cost.expected.is_counted for cost in estimate.patterns)
    assumed = "" if all_counted else "\n~: for an assumed number of items, see below"
    title = f"Patterns, at average sizes; WRU in brackets: for indexes{assumed}"
    rows: dict[str, list[tuple[str, ...]]] = {}
    for cost in sorted(estimate.patterns, key=lambda row: -row.requests):
        units = cost.expected.units
        index_units = units.total_write - units.write
        write_text = _number(units.total_write) + (f" ({_number(index_units)})" if index_units else "")
        prefix = "" if cost.expected.is_counted else "~"
        figures = prefix + _number(units.read), write_text, f"{cost.calls:,.0f}"
        dollars = f"{cost.per_million:,.2f}", f"{cost.requests:,.2f}"
        rows.setdefault(cost.table, []).append((cost.name, *figures, *dollars))
    head = ("pattern", "RRU/call", "WRU/call", "calls/month", "$/million", "$/month")
    return f"{title}\n{figure_table(head, rows)}"


def _tables(estimate: Estimate) -> str:
    from keyplan.cost.figures import figure_table  # noqa: PLC0415

    head = ("dollars per month", "reads/s", "writes/s", "on demand", "provisioned", "GB", "storage")
    rows = {
        f"{cost.name} ({cost.billing})": [
            (
                part.name, _number(part.read), _number(part.write), f"{part.on_demand:,.2f}",
                f"{part.provisioned:,.2f}", f"{part.storage_bytes / 1e9:,.2f}", f"{part.storage:,.2f}",
            )
            for part in cost.parts
        ]
        for cost in estimate.tables
    }  # fmt: skip
    return f"Tables and indexes\n{figure_table(head, rows)}"


def _sum(estimate: Estimate) -> str:
    """Format the parts of the monthly cost, and their sum."""
    parts = {
        "requests": sum(table.requests for table in estimate.tables),
        "storage": sum(table.storage for table in estimate.tables),
        "point-in-time recovery": estimate.point_in_time,
    }
    text = " + ".join(f"{name} {_money(amount)}" for name, amount in parts.items() if amount or name == "requests")
    if estimate.free_storage:
        text += f" - free storage {_money(estimate.free_storage)}"
    rounded = sum(round(amount, 2) for amount in (*parts.values(), -estimate.free_storage))
    note = "" if round(rounded, 2) == round(estimate.total, 2) else " (the parts are rounded)"
    return f"{text} = {_money(estimate.total)}{note}"


def _comparison(table: TableCost) -> str:
    """Format the difference between the cost of a table and its cost with other settings."""
    on_demand = sum(part.on_demand for part in table.parts)
    provisioned = sum(part.provisioned for part in table.parts)
    if table.billing == "on demand":
        options = {"capacity provisioned for the peak": provisioned - on_demand}
    else:
        options = {"on-demand capacity": on_demand - provisioned}
    if table.table_class == "STANDARD":
        options["Standard-IA on demand"] = table.requests_ia + table.storage_ia - table.requests - table.storage
    differences = ", ".join(f"{name} {_difference(amount)}" for name, amount in options.items())
    return f"{table.name}, alternatives: {differences}"


def _difference(amount: float) -> str:
    return f"costs {_money(abs(amount))} {'less' if amount < 0 else 'more'}"


def _money(amount: float) -> str:
    return f"${amount:,.2f}"


def _number(value: float) -> str:
    return f"{value:,.1f}" if value and abs(value) < 100 else f"{value:,.0f}"
