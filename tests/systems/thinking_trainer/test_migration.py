"""Migration: every item gets its current form, once, despite interruptions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.systems.served_engine import ServedEngine, connected
from tests.systems.thinking_trainer.builders import attempt_id
from tests.systems.thinking_trainer.old_items import old_attempt, old_profile, old_scenario, raw

import keyplan
from keyplan.client.connection import Connection
from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.evaluation.rubric_evaluator import RubricEvaluator
from keyplan_systems.thinking_trainer.migration import Migration, Progress, ProgressUnreadableError
from keyplan_systems.thinking_trainer.service import Service

STATUSES = ("completed", "in-progress", "abandoned")


def fill(db: Connection, attempts: int) -> None:
    """Store items of version 0.9: attempts of five users, a few profiles and scenarios."""
    db.create_tables(design.attempts, design.profiles, design.scenarios)
    for number in range(attempts):
        at = f"2025-12-{1 + number // 1000:02}T{number // 60 % 24:02}:{number % 60:02}:00Z"
        item = old_attempt(
            attemptId=attempt_id(number), userId=f"u{number % 5}", status=STATUSES[number % 3], timestamp=at
        )
        db.transport.call("PutItem", {"TableName": "Attempts", "Item": raw(item)})
    for number in range(7):
        item = old_profile(userId=f"u{number % 2}", timestamp=f"2025-11-0{number + 1}T10:00:00Z")
        db.transport.call("PutItem", {"TableName": "Profiles", "Item": raw(item)})
        item = old_scenario(scenarioId=f"s{number}", active=number % 2 == 0)
        db.transport.call("PutItem", {"TableName": "Scenarios", "Item": raw(item)})


def items(db: Connection, table: str) -> list[dict[str, Any]]:
    collected: list[dict[str, Any]] = []
    request: dict[str, Any] = {"TableName": table, "ConsistentRead": True}
    while True:
        response = db.transport.call("Scan", request)
        collected += response["Items"]
        if not response.get("LastEvaluatedKey"):
            return sorted(collected, key=repr)
        request["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def everything(db: Connection) -> dict[str, list[dict[str, Any]]]:
    return {table: items(db, table) for table in ("Attempts", "Profiles", "Scenarios")}


def check(db: Connection, attempts: int) -> None:
    """Check that all items are in the current form, without items counted twice or lost."""
    stored = everything(db)
    assert all(item["schemaVersion"] == {"S": "1.0"} for table in stored.values() for item in table)
    ledgers = [item for item in stored["Attempts"] if item["attemptId"]["S"].startswith("LEDGER#")]
    counted = sum(int(ledger["attemptCount"]["N"]) for ledger in ledgers)
    completed = len([number for number in range(attempts) if number % 3 == 0])
    assert counted == completed
    assert len(stored["Attempts"]) == attempts + len(ledgers)
    assert len(stored["Profiles"]) == 7 + completed
    service = Service(db, db.context.clock, RubricEvaluator())
    assert {scenario.scenario_id for scenario in service.active_scenarios(None)} == {"s0", "s2", "s4", "s6"}
    drafts = [service.attempts_in_progress(f"u{number}", 100, None).items for number in range(5)]
    assert sum(map(len, drafts)) == len(range(1, attempts, 3))
    in_index = db.transport.call("Scan", {"TableName": "Attempts", "IndexName": "UserAttempts", "Select": "COUNT"})
    assert in_index["Count"] == completed


@pytest.fixture
def db(engine: Engine | ServedEngine, clock: ManualClock) -> Iterator[Connection]:
    with connected(engine, clock) as connection:
        yield connection


def migrate(db: Connection, progress: Progress | None = None) -> Progress:
    at = progress or Progress()
    migration = Migration(db, db.context.clock, at, lambda _: None)
    while migration.run_once():
        pass
    return at


def test_everything_is_upgraded_and_a_second_run_changes_nothing(db: Connection) -> None:
    fill(db, 60)
    progress = migrate(db)
    assert progress.is_done
    assert (progress.upgraded, progress.skipped) == ({"scenarios": 7, "attempts": 60, "profiles": 7}, {})
    check(db, 60)
    before = everything(db)
    assert migrate(db).upgraded == {"scenarios": 0, "attempts": 0, "profiles": 0}
    assert everything(db) == before


class Killed(BaseException):
    """Simulated kill, after which no code of the program runs."""


def dying(db: Connection, after: int) -> None:
    """Raise Killed with the process's n-th request."""
    inner, sent = db.transport.call, iter(range(after))

    def call(operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if next(sent, None) is None:
            raise Killed
        return inner(operation, request)

    db._call = call


@pytest.mark.parametrize("every", [7, 30, 60])
def test_a_migration_killed_at_any_request_continues_with_the_same_result(
    engine: Engine | ServedEngine, clock: ManualClock, every: int
) -> None:
    with connected(engine, clock) as db:
        fill(db, 30)
    progress, kills = Progress(), 0
    saved = json.dumps(progress.__dict__)
    while not progress.is_done:
        progress = Progress(**json.loads(saved))
        with connected(engine, clock) as db:
            dying(db, every + kills)  # a little later each time, so that it terminates

            def keep(at: Progress) -> None:
                nonlocal saved
                saved = json.dumps(at.__dict__)

            migration = Migration(db, clock, progress, keep)
            try:
                while migration.run_once():
                    pass
            except Killed:
                kills += 1
    assert kills > 0
    with connected(engine, clock) as db:
        check(db, 30)


@pytest.mark.embedded("faults on purpose")
@pytest.mark.parametrize("seed", range(3))
def test_under_conflicts_and_lost_responses_nothing_is_counted_twice(
    clock: ManualClock, tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path, clock=clock) as engine, connected(engine, clock) as db:
        fill(db, 30)
    faults = Faults(seed=seed, conflicts=0.05, internal_errors=0.05, stale_reads=0.2)
    with Engine.open(path, clock=clock, faults=faults) as engine, connected(engine, clock) as db:
        migrate(db)
    with Engine.open(path, clock=clock) as engine, connected(engine, clock) as db:
        check(db, 30)


def test_concurrent_changes_by_the_user_are_kept(db: Connection) -> None:
    fill(db, 0)
    db.transport.call("PutItem", {"TableName": "Attempts", "Item": raw(old_attempt(status="in-progress"))})
    (item,) = db.all(design.attempts_of_0_9())
    service = Service(db, db.context.clock, RubricEvaluator())
    service.abandon(item.user_id, item.attempt_id)
    migration = Migration(db, db.context.clock, Progress(), lambda _: None)
    assert migration._upgrade_attempt(item)
    assert service.attempt(item.user_id, item.attempt_id).status == "abandoned"
    (off,) = [scenario for scenario in db.all(design.scenarios_of_0_9()) if scenario.scenario_id == "s0"]
    service.set_active("s0", active=False)
    assert migration._upgrade_scenario(off)
    assert service.scenario("s0").active is False


def test_a_snapshot_that_cannot_be_upgraded_is_kept_and_named(db: Connection) -> None:
    fill(db, 0)
    three = old_profile(userId="u9", dimensions=old_profile()["dimensions"][:3])
    db.transport.call("PutItem", {"TableName": "Profiles", "Item": raw(three)})
    twice = old_profile(userId="u0", timestamp="2025-11-01T10:00:00.000Z")
    db.transport.call("PutItem", {"TableName": "Profiles", "Item": raw(twice)})
    progress = migrate(db)
    assert progress.upgraded["profiles"] == 7
    assert len(progress.skipped) == 2
    assert "version '0.9' has no" in progress.skipped["profile of u9 at 2025-12-22T10:35:00Z"]
    assert "another snapshot has the same timestamp" in str(progress.skipped)


def test_an_invalid_position_is_rejected(tmp_path: Path) -> None:
    for number, text in enumerate(["not json", "[]", '{"stage": "attempts", "colour": "red"}']):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        with pytest.raises(ProgressUnreadableError, match="does not contain the position"):
            Progress.read(path)
    assert Progress.read(tmp_path / "none.json").stage == "scenarios"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "keyplan_systems.thinking_trainer.migrate", *arguments]


KILLED = """
import os
import typer
from keyplan_systems.thinking_trainer import migrate
keep = migrate.Progress.write
def killed(progress, path):
    keep(progress, path)
    if "attempts" in progress.upgraded:
        os.kill(os.getpid(), 9)
migrate.Progress.write = killed
typer.run(migrate.migrate)
"""


def test_the_command_is_killed_restarted_and_finishes(address: str, tmp_path: Path) -> None:
    progress = tmp_path / "progress.json"
    with keyplan.connect(address) as db:
        fill(db, 150)
    arguments = ("--url", address, "--progress", str(progress))
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    killed_at = json.loads(progress.read_text())
    assert (killed_at["stage"], killed_at["upgraded"]["scenarios"]) == ("attempts", 7)
    again = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[-1].endswith("7 profiles; done")
    with keyplan.connect(address) as db:
        check(db, 150)
    third = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    assert "already done" in third.stdout


def test_the_command_reports_skipped_items_and_unreachable_databases(address: str, tmp_path: Path) -> None:
    progress = tmp_path / "progress.json"
    with keyplan.connect(address) as db:
        fill(db, 0)
        three = old_profile(userId="u9", dimensions=old_profile()["dimensions"][:3])
        db.transport.call("PutItem", {"TableName": "Profiles", "Item": raw(three)})
    result = subprocess.run(
        command("--url", address, "--progress", str(progress)), capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "skipped: profile of u9 at 2025-12-22T10:35:00Z" in result.stderr
    nowhere = subprocess.run(
        command("--url", "ftp://x", "--progress", str(progress)), capture_output=True, text=True, check=False
    )
    assert nowhere.returncode == 2
    assert "ftp://x" in nowhere.stderr
