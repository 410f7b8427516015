"""Where a command's document goes: to a file that was named, or out."""

from __future__ import annotations

from pathlib import Path

import typer


def write(command: str, text: str, output: Path | None) -> None:
    """Print a document, or write it to a file; ends the command with 1 where that cannot be written."""
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(f"keyplan {command}: {output} cannot be written: {error.strerror}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{output}: {len(text.splitlines())} lines")
