"""Lagging indexes under random work: they end correct for any writer and any number of restarts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.tables_of import delete, put
from tests.laws import examples

from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.engine.faults import lag
from keyplan.engine.faults.settings import Faults

LAGS: tuple[Faults | None, ...] = (Faults(gsi_lag=(0, 5)), Faults(gsi_lag=3), None)


@pytest.mark.parametrize("seed", range(examples(5)))
def test_indexes_agree_with_their_table_when_no_writes_are_pending(tmp_path: Path, seed: int) -> None:
    path, clock, source = tmp_path / "data.db", tables_of.clock(), random.Random(seed)
    with Engine.open(path, clock=clock) as engine:
        tables_of.create(engine, **tables_of.with_index())
    for _ in range(6):
        engines = [Engine.open(path, clock=clock, faults=source.choice(LAGS)) for _ in range(2)]
        for number in range(60):
            engine, name = source.choice(engines), str(source.randrange(6))
            clock.advance(source.random())
            if source.random() < 0.3:
                delete(engine, name)
            else:
                attributes: dict[str, Any] = {"g": {"S": source.choice("xyz")}} if source.random() < 0.8 else {}
                put(engine, name, v={"N": str(number)}, **attributes)
            if number % 20 == 0:
                # Only where all engines lag is every difference a waiting write.
                findings = fsck.check(engine)
                assert not findings or any(copy.faults is None for copy in engines)
        for engine in engines:
            engine.close()
    with Engine.open(path, clock=clock) as engine:
        assert fsck.check(engine) == []
        trees = lag.find(engine.store.view())
        assert trees is None or engine.store.view().totals(trees.waiting) == (0, 0)


def test_a_database_without_index_lag_has_no_pending_writes() -> None:
    with Engine.memory() as engine:
        tables_of.create(engine, **tables_of.with_index())
        put(engine, "a", g={"S": "g"})
        assert lag.find(engine.store.view()) is None
        assert lag.settle(engine.database, all_writes=True) == 0
