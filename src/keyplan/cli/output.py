"""Where a command's document goes: to a file that was named, or out; and how a command ends that cannot go on."""

from __future__ import annotations

from pathlib import Path

import typer


def refusal(text: str, *, code: int = 2) -> typer.Exit:
    """The end of a command that cannot do what it is asked, once that is told."""
    typer.echo(text, err=True)
    return typer.Exit(code)


def write(command: str, text: str, output: Path | None) -> None:
    """Print a document, or write it to a file; ends the command with 1 where that cannot be written."""
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise refusal(f"keyplan {command}: {output} cannot be written: {error.strerror}", code=1) from None
    typer.echo(f"{output}: {len(text.splitlines())} lines")
