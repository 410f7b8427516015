"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

DesignName: TypeAlias = Annotated[str, typer.Argument(help="A design module (a.b.design) or Python file.")]
Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write it; printed if left out.")
]
Prices: TypeAlias = Annotated[
    Path | None, typer.Option("--prices", help="A file of prices of your own, in place of those of --region.")
]
Region: TypeAlias = Annotated[str, typer.Option("--region", help="The region whose prices are used.")]
Prefix: TypeAlias = Annotated[
    str, typer.Option("--prefix", help="What stands before each table's name, as table_prefix in a connection's URL.")
]
