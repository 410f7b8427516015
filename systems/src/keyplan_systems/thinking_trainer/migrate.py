"""Migration command: `python -m keyplan_systems.thinking_trainer.migrate --url data.db --place place.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import keyplan
from keyplan.clock import SystemClock
from keyplan.errors import KeyplanError
from keyplan_systems.thinking_trainer.domain.errors import TrainerError
from keyplan_systems.thinking_trainer.migration import Migration, Place


def migrate(
    url: Annotated[str, typer.Option(help="A database file, http://host:port or aws://region.")],
    place: Annotated[Path, typer.Option(help="File with the position, for the next start after an interruption.")],
) -> None:
    """Upgrade stored items to the current version; exit code 1 if some items could not be upgraded."""
    try:
        kept = Place.read(place)
        _run(url, kept, place)
    except (KeyplanError, TrainerError, OSError, ValueError, ImportError) as error:
        typer.echo(f"{error}\nrun the command again to continue from here", err=True)
        raise typer.Exit(2) from error
    for key, reason in kept.left.items():
        typer.echo(f"left as it is: {key}: {reason}", err=True)
    if kept.left:
        raise typer.Exit(1)


def _run(url: str, kept: Place, path: Path) -> None:
    clock = SystemClock()

    def keep(place: Place) -> None:
        place.write(path)
        done = ", ".join(f"{count} {stage}" for stage, count in place.upgraded.items())
        typer.echo(f"upgraded {done}; {'done' if place.is_done else 'next: ' + place.stage}")

    with keyplan.connect(url, clock=clock, cursor_key=bytes.fromhex(kept.cursor_key)) as connection:
        migration = Migration(connection, clock, kept, keep)
        if not migration.run_once():
            typer.echo(f"done already; delete {path} to start again")
        while migration.run_once():
            pass


if __name__ == "__main__":
    typer.run(migrate)
