"""`keyplan explain`: what a pattern asks of the service, what it costs, what must be true."""

from __future__ import annotations

from typing import Annotated

import typer

from keyplan.cli.arguments import Region
from keyplan.cli.output import refusal
from keyplan.cli.prices import book_of


def explain(
    pattern: Annotated[str, typer.Argument(help="A pattern: module.pattern, or file.py:pattern.")],
    region: Region = "us-east-1",
) -> None:
    """Explain a pattern: request, plan, cost, findings."""
    from keyplan.check.checking import check  # noqa: PLC0415 - `keyplan --help` needs no designs
    from keyplan.cli.designs import load, pattern_of  # noqa: PLC0415
    from keyplan.export.explain import explain as explained  # noqa: PLC0415

    target, _, name = pattern.rpartition(":" if ":" in pattern else ".")
    if not target or name == "py":
        raise refusal("keyplan explain: name a pattern as module.pattern or file.py:pattern")
    design = load(target)
    found = pattern_of("explain", design, name)
    typer.echo(explained(found, book_of("explain", region), check(design).findings), nl=False)
