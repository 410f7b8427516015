"""The command `keyplan verify`, which runs the patterns of a design on generated data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import typer

from keyplan.cli.designs import DesignName, Prices, Region, refusal
from keyplan.clock import SystemClock

Format = Literal["text", "json"]
OnProgress = Callable[[str, int, int], None]
_FIRST_S, _EVERY_S = 2.0, 10.0
"""Seconds before the first progress line and between later lines, if standard error is not a terminal."""
_TIME_LIMIT_S = 600.0


def verify(  # noqa: PLR0917 - each is an option on the command line
    design: DesignName,
    items: Annotated[int, typer.Option("--items", min=1, help="Approximate total number of items to generate.")] = 4000,
    seed: Annotated[
        int, typer.Option("--seed", help="Random seed. The same seed generates the same items and calls.")
    ] = 0,
    pattern: Annotated[str | None, typer.Option("--pattern", help="Run only this pattern.")] = None,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            min=0,
            help="Time limit in seconds, after which no more items are loaded and no more patterns are called.",
        ),
    ] = _TIME_LIMIT_S,
    format: Annotated[Format, typer.Option("--format", help="Output format.")] = "text",
    region: Region = "us-east-1",
    prices: Prices = None,
) -> None:
    """Run the patterns of a design on generated data, and check that their results and costs are as predicted.

    The exit code is 1 if the design is invalid, a check fails, or a pattern was not called before the time limit, and
    2 if the verification cannot start.
    """
    from keyplan.cli.designs import load, pattern_of  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.cost import prices as books  # noqa: PLC0415
    from keyplan.verify.report import as_json, as_text  # noqa: PLC0415
    from keyplan.verify.run import verify as run  # noqa: PLC0415
    from keyplan.verify.values import MissingGeneratorError  # noqa: PLC0415

    loaded = load(design)
    if pattern is not None:
        pattern_of("verify", loaded, pattern)
    try:
        book = books.book(region) if prices is None else books.load(prices)
        with _progress_bar() as (progress, running):
            report = run(
                loaded,
                items=items,
                seed=seed,
                pattern=pattern,
                book=book,
                progress=progress,
                running=running,
                seconds=time_limit,
            )
    except (books.PriceDataError, MissingGeneratorError) as error:
        raise refusal(f"keyplan verify: {error}") from None
    if format == "json":
        import orjson  # noqa: PLC0415

        typer.echo(orjson.dumps(as_json(report), option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo(as_text(report), nl=False)
    if report.failed:
        raise typer.Exit(1)


@contextmanager
def _progress_bar() -> Iterator[tuple[OnProgress, OnProgress]]:
    """Show the progress of a verification on standard error, as a bar in a terminal and as lines otherwise.

    Yield two functions that report progress: one for loading data, and one for running patterns.
    """
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    console = Console(stderr=True)
    clock = SystemClock()
    next_s = clock.monotonic() + min(_FIRST_S, _EVERY_S)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("loading", total=None)

        def show_progress(activity: str, completed: int, total: int) -> None:
            nonlocal next_s
            bar.update(task, description=activity, completed=completed, total=total)
            if not console.is_terminal and clock.monotonic() >= next_s:
                next_s = clock.monotonic() + _EVERY_S
                typer.echo(f"keyplan verify: {activity}, {completed:,} of {total:,}", err=True)

        yield (
            lambda name, completed, total: show_progress(f"loading {name}", completed, total),
            lambda name, completed, total: show_progress(f"running {name}", completed, total),
        )
