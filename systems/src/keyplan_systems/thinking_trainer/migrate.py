"""Migration command: `python -m keyplan_systems.thinking_trainer.migrate --url data.db --progress progress.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import keyplan
from keyplan.clock import SystemClock
from keyplan.errors import KeyplanError
from keyplan_systems.thinking_trainer.domain.errors import TrainerError
from keyplan_systems.thinking_trainer.migration import Migration, Progress


def migrate(
    url: Annotated[str, typer.Option(help="The database: a file path, http://host:port or aws://region.")],
    progress: Annotated[
        Path, typer.Option(help="File that stores the progress, so that an interrupted migration can continue.")
    ],
) -> None:
    """Upgrade stored items to the current version. Exit with 1 if some items could not be upgraded."""
    try:
        stored_progress = Progress.read(progress)
        _run(url, stored_progress, progress)
    except (KeyplanError, TrainerError, OSError, ValueError, ImportError) as error:
        typer.echo(f"{error}\nrun the command again to continue from here", err=True)
        raise typer.Exit(2) from error
    for key, reason in stored_progress.skipped.items():
        typer.echo(f"skipped: {key}: {reason}", err=True)
    if stored_progress.skipped:
        raise typer.Exit(1)


def _run(url: str, progress: Progress, path: Path) -> None:
    clock = SystemClock()

    def save_progress(progress: Progress) -> None:
        progress.write(path)
        counts = ", ".join(f"{count} {stage}" for stage, count in progress.upgraded.items())
        typer.echo(f"upgraded {counts}; {'done' if progress.is_done else 'next: ' + progress.stage}")

    with keyplan.connect(url, clock=clock, cursor_key=bytes.fromhex(progress.cursor_key)) as connection:
        migration = Migration(connection, clock, progress, save_progress)
        if not migration.run_once():
            typer.echo(f"already done; delete {path} to start again")
        while migration.run_once():
            pass


if __name__ == "__main__":
    typer.run(migrate)
