"""Loads and validates scenarios from JSON files, either from the `data` folder of this package or from a
given folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable

from ..domain.errors import ItemUnreadable, ScenarioFileInvalid
from ..domain.scenarios import Scenario, difficulty_key
from ..domain.versions import Kind, read


def seed_scenarios() -> tuple[Scenario, ...]:
    """Return the twenty seed scenarios in the `data` folder of this package, sorted by difficulty (easiest first) and
    then by ID.
    """
    return scenarios_in(resources.files(__package__) / "data")


def scenarios_in(folder: Traversable) -> tuple[Scenario, ...]:
    """Return the scenarios in all `.json` files of a folder, sorted by difficulty (easiest first) and then by ID.

    `folder` can be a `pathlib.Path`. Files of older versions are upgraded. Raises ScenarioFileInvalid if any file is
    invalid. The error lists all invalid files.
    """
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".json")), key=lambda file: file.name)
    if not files:
        raise ScenarioFileInvalid(f"{folder} contains no scenario: it has no .json file")
    scenarios, problems = _load_all(files)
    if problems:
        raise ScenarioFileInvalid("\n".join(problems))
    return tuple(sorted(scenarios, key=lambda scenario: (difficulty_key(scenario.difficulty), scenario.scenario_id)))


def _load_all(files: Iterable[Traversable]) -> tuple[list[Scenario], list[str]]:
    scenarios, problems = [], []
    for file in files:
        try:
            scenarios.append(load_scenario(file))
        except ScenarioFileInvalid as error:
            problems.append(str(error))
    return scenarios, problems


def load_scenario(file: Traversable) -> Scenario:
    """Return the scenario in a file. The name of the file must be the `scenarioId` of the scenario.

    Raises ScenarioFileInvalid if the file is invalid. The message contains the file, the field and the violated rule.
    """
    try:
        item = json.loads(file.read_text("utf-8"))
    except ValueError as error:  # invalid JSON or invalid UTF-8
        raise ScenarioFileInvalid(f"{file.name}: not JSON in UTF-8: {error}") from error
    if not isinstance(item, dict):
        raise ScenarioFileInvalid(f"{file.name}: a scenario must be a JSON object")
    try:
        scenario = read(Scenario, Kind.SCENARIO, item)
    except ItemUnreadable as error:
        raise ScenarioFileInvalid(f"{file.name}: {error}") from error
    if file.name != f"{scenario.scenario_id}.json":
        raise ScenarioFileInvalid(f"{file.name}: contains scenario {scenario.scenario_id!r}; name the file after it")
    return scenario
