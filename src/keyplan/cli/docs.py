"""The command `keyplan docs`, which writes a design as a Markdown document or an HTML page."""

from __future__ import annotations

from typing import Annotated

import typer

from keyplan.cli.designs import DesignName, Output, Region, write
from keyplan.cli.price import book_of


def docs(
    design: DesignName,
    output: Output = None,
    region: Region = "us-east-1",
    html: Annotated[
        bool, typer.Option("--html", help="Write a single HTML page with diagrams instead of Markdown.")
    ] = False,
) -> None:
    """Write a document that describes a design: its attributes, keys, indexes, access patterns, costs and findings."""
    from keyplan.check.checking import check  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.cli.designs import load  # noqa: PLC0415
    from keyplan.cost.estimate import estimate  # noqa: PLC0415
    from keyplan.export.html import page  # noqa: PLC0415
    from keyplan.export.markdown import document  # noqa: PLC0415

    loaded = load(design)
    text = page if html else document
    month = estimate(loaded, book_of("docs", region))
    write("docs", text(loaded, check(loaded).findings, month), output)
