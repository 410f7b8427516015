"""The command `keyplan snapshot`, which makes a consistent copy of a database that may be in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keyplan.cli.designs import refusal
from keyplan.errors import StorageError


def snapshot(
    file: Annotated[Path, typer.Argument(help="The database file.", exists=True, dir_okay=False, readable=True)],
    target: Annotated[Path, typer.Argument(help="Path of the copy. The file must not exist yet.")],
) -> None:
    """Make a consistent point-in-time copy of a database file. Other processes can keep using the file.

    Progress is printed to standard error after two seconds, and then every ten seconds.
    """
    from keyplan.cli.elapsed import report_progress  # noqa: PLC0415
    from keyplan.engine.engine import Engine  # noqa: PLC0415 - `keyplan --help` needs no engine

    def progress_text() -> str:
        copied_bytes = target.stat().st_size if target.exists() else 0
        return f"{copied_bytes:,} of about {file.stat().st_size:,} bytes"

    try:
        with Engine.open(file) as engine, report_progress("keyplan snapshot: copying", progress_text):
            engine.snapshot(target)
    except (StorageError, FileExistsError) as error:
        raise refusal(f"keyplan snapshot: {error}", code=1) from None
    typer.echo(f"{target}: {target.stat().st_size} bytes")
