"""The command that loads the seed scenarios: `python -m keyplan_systems.thinking_trainer.seed --url data.db`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import keyplan
from keyplan.clock import SystemClock
from keyplan.errors import KeyplanError
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.domain.errors import TrainerError
from keyplan_systems.thinking_trainer.evaluation.rubric_evaluator import RubricEvaluator
from keyplan_systems.thinking_trainer.scenarios.loader import scenarios_in, seed_scenarios
from keyplan_systems.thinking_trainer.service import Service


def seed(
    url: Annotated[str, typer.Option(help="The database: a file path, http://host:port or aws://region.")],
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder with your own scenarios as JSON files, to load instead of the included scenarios."),
    ] = None,
    create_table: Annotated[
        bool, typer.Option("--create-table", help="Create the table if it does not exist.")
    ] = False,
) -> None:
    """Load the scenarios that are not in the table yet."""
    clock = SystemClock()
    try:
        scenarios = seed_scenarios() if folder is None else scenarios_in(folder)
        with keyplan.connect(url, clock=clock) as connection:
            if create_table:
                connection.create_tables(design.scenarios)
            count = Service(connection, clock, RubricEvaluator()).add_scenarios(scenarios)
    except (KeyplanError, TrainerError, OSError, ValueError, ImportError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo(f"{count} scenarios added, {len(scenarios) - count} existed already")


if __name__ == "__main__":
    typer.run(seed)
