"""`keyplan docs`: a design as a Markdown document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def docs(
    design: Annotated[str, typer.Argument(help="A design module (a.b.design) or Python file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write it; printed if left out.")
    ] = None,
    region: Annotated[str, typer.Option("--region", help="The region whose prices are used.")] = "us-east-1",
) -> None:
    """Write a design's documentation: attributes, keys, indexes, access patterns with their cost, findings."""
    from keyplan.check.checking import check  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.cli.designs import load  # noqa: PLC0415
    from keyplan.cost.estimate import estimate  # noqa: PLC0415
    from keyplan.cost.prices import PriceDataError, book  # noqa: PLC0415
    from keyplan.export.markdown import document  # noqa: PLC0415

    loaded = load(design)
    try:
        text = document(loaded, check(loaded).findings, estimate(loaded, book(region)))
    except PriceDataError as error:
        typer.echo(f"keyplan docs: {error}", err=True)
        raise typer.Exit(2) from None
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text)
    except OSError as error:
        typer.echo(f"keyplan docs: {output} cannot be written: {error.strerror}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{output}: {len(text.splitlines())} lines")
