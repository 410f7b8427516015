"""`keyplan verify`: a design's patterns run on generated data; claimed, predicted and measured cost side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import typer

from keyplan.cli.arguments import DesignName, Prices, Region
from keyplan.cli.output import refusal

Format = Literal["text", "json"]


def verify(  # noqa: PLR0917 - each is an option on the command line
    design: DesignName,
    items: Annotated[int, typer.Option("--items", min=1, help="About how many items to generate in all.")] = 4000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed generates the same items and calls.")] = 0,
    pattern: Annotated[str | None, typer.Option("--pattern", help="Run only this pattern.")] = None,
    format: Annotated[Format, typer.Option("--format", help="How the result is printed.")] = "text",
    region: Region = "us-east-1",
    prices: Prices = None,
) -> None:
    """Run a design on generated data, and hold its claims, its answers and its predicted cost against what happens.

    Exit code 1 if anything does not hold, 2 if it could not be tried.
    """
    from keyplan.cli.designs import load, pattern_of  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.cost import prices as books  # noqa: PLC0415
    from keyplan.verify.errors import MissingGeneratorError  # noqa: PLC0415
    from keyplan.verify.report import as_json  # noqa: PLC0415
    from keyplan.verify.verifying import verify as run  # noqa: PLC0415

    loaded = load(design)
    if pattern is not None:
        pattern_of("verify", loaded, pattern)
    try:
        book = books.book(region) if prices is None else books.load(prices)
        with _bar() as progress:
            report = run(loaded, items=items, seed=seed, pattern=pattern, book=book, progress=progress)
    except (books.PriceDataError, MissingGeneratorError) as error:
        raise refusal(f"keyplan verify: {error}") from None
    if format == "json":
        import orjson  # noqa: PLC0415

        typer.echo(orjson.dumps(as_json(report), option=orjson.OPT_INDENT_2).decode())
    else:
        from rich.console import Console  # noqa: PLC0415

        from keyplan.verify.showing import show  # noqa: PLC0415

        show(report, Console(width=None if Console().is_terminal else 180))
    if report.failed:
        raise typer.Exit(1)


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on the terminal, which shows itself where loading takes longer than a moment."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("loading", total=None)

        def told(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"loading {what}", completed=done, total=total)

        yield told
