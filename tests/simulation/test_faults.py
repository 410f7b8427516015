"""Clients among faults: an auditor finds nothing lost and nothing doubled, and the same seed gives the same run.

KEYPLAN_SEEDS sets how many seeds each setting is run with.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.engine import tables_of
from tests.simulation.clients import Auditor, Clients, History

from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan.engine.items import transactions
from keyplan.engine.operations import batch_write_item
from keyplan.errors import InternalServerError

SEEDS = int(os.environ.get("KEYPLAN_SEEDS", "2"))
TURNS = 250
LONG_S = 3600.0

EVERYTHING: dict[str, Any] = {
    "gsi_lag": (0.1, 4.0),
    "stale_reads": 0.3,
    "stale_s": 2.0,
    "unprocessed": 0.2,
    "conflicts": 0.1,
    "internal_errors": 0.1,
    "duplicate_stream_records": 0.3,
    "reorder_stream_records": 0.3,
    "ttl_delay": 5.0,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "none": {},
    "lag": {"gsi_lag": (0.0, 5.0)},
    "ambiguous": {"internal_errors": 0.3},
    "conflicts": {"conflicts": 0.3, "unprocessed": 0.3},
    "throttled": {**EVERYTHING, "throttle": True},
    "everything": EVERYTHING,
}


def simulate(seed: int, settings: dict[str, Any], path: Path | None = None) -> tuple[History, list[str]]:
    """One run, audited; what the clients saw, and the stream's changes as they were delivered."""
    clock = tables_of.clock()
    faults = Faults(seed=seed, **settings)
    options: dict[str, Any] = {"clock": clock, "faults": faults}
    with Engine.memory(**options) if path is None else Engine.open(path, **options) as engine:
        tables_of.create(engine, **tables_of.with_index(), **tables_of.with_stream())
        expiry = {"Enabled": True, "AttributeName": "t"}
        engine.call("UpdateTimeToLive", {"TableName": "things", "TimeToLiveSpecification": expiry})
        clients = Clients(engine, clock, seed)
        clients.open_accounts()
        for _ in range(3):
            clients.run(TURNS // 3)
            assert fsck.check(engine) == []  # also with writes of the index still waiting
        clock.advance(LONG_S)
        engine.settle()
        with engine.copy() as sound:
            auditor = Auditor(sound, clients.history)
            auditor.audit()
            auditor.check_index()
            assert fsck.check(sound) == []
            _check_stream(sound, auditor)
        delivered = _delivered(engine)
        assert fsck.check(engine) == []
    return clients.history, delivered


def _check_stream(engine: Engine, auditor: Auditor) -> None:
    """Replaying the stream gives the table."""
    replayed: dict[str, Any] = {}
    for record in tables_of.records(engine, tables_of.stream_arn(engine)):
        change = record["dynamodb"]
        name = change["Keys"]["p"]["S"]
        assert replayed.get(name) == change.get("OldImage")
        replayed[name] = change.get("NewImage")
    assert {name: image for name, image in replayed.items() if image is not None} == auditor.items


def _delivered(engine: Engine) -> list[str]:
    """Return the records as delivered under faults, with retries: each at least once, those of an item in order."""
    arn = tables_of.stream_arn(engine)
    following: str | None = tables_of.iterator(engine, arn)
    entries: list[tuple[str, int]] = []
    while following is not None:
        try:
            response = engine.call("GetRecords", {"ShardIterator": following, "Limit": 50})
        except InternalServerError:
            continue
        entries += [
            (record["dynamodb"]["Keys"]["p"]["S"], int(record["dynamodb"]["SequenceNumber"]))
            for record in response["Records"]
        ]
        following = response.get("NextShardIterator") if response["Records"] else None
    for name in {written_key for written_key, _ in entries}:
        own = [number for key, number in entries if key == name]
        assert own == sorted(own)
    numbers = {number for _, number in entries}
    assert len(numbers) == max(numbers) - min(numbers) + 1
    return [f"{name} {number}" for name, number in entries]


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", SETTINGS)
def test_no_operation_is_lost_or_applied_twice(name: str, seed: int) -> None:
    history, _ = simulate(seed, SETTINGS[name])
    assert bool(history.errors) or name in ("none", "lag")


def test_the_simulation_passes_on_a_file(tmp_path: Path) -> None:
    simulate(77, EVERYTHING, tmp_path / "data.db")


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    first, again = simulate(5, SETTINGS["throttled"]), simulate(5, SETTINGS["throttled"], tmp_path / "data.db")
    assert first[0].trail == again[0].trail
    assert first[1] == again[1]
    assert simulate(6, SETTINGS["throttled"])[0].trail != first[0].trail


def test_an_internal_error_has_an_unknown_outcome() -> None:
    """The doubt that the auditor grants is real: some of those writes were applied and some were not."""
    clock = tables_of.clock()
    with Engine.memory(clock=clock, faults=Faults(seed=1, internal_errors=0.4)) as engine:
        tables_of.create(engine)
        clients = Clients(engine, clock, 1)
        for _ in range(200):
            clients.count()
        with engine.copy() as sound:
            items = sound.call("Scan", {"TableName": "things"})["Items"]
        hits = sum(int(item["hits"]["N"]) for item in items)
        certain, doubtful = clients.history.certain.total(), clients.history.doubtful.total()
        assert certain < hits < certain + doubtful


def simulate_several(settings: dict[str, Any]) -> None:
    """Run several seeds, so that at least one meets the fault."""
    for seed in range(10):
        simulate(seed, settings)


def test_the_auditor_detects_a_transfer_applied_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "repeated_sizes", lambda *arguments: None)
    with pytest.raises(AssertionError):
        simulate_several(SETTINGS["ambiguous"])


def test_the_auditor_detects_a_lost_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_write_item, "_unprocessed", lambda request, left: {})
    with pytest.raises(AssertionError):
        simulate_several(SETTINGS["conflicts"])
