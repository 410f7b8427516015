"""What each use costs in read and write units, measured.

There are 20 questions in the feed, 20 people on the boards and 40 subscribers, and the question has two answers.

python -m tests.systems.ask_a_human.units
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.systems.ask_a_human.stage import Stage, staged
from tests.systems.elsewhere import connected

from keyplan.clock import ManualClock
from keyplan.connections.connection import Connection
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human.pushing import Pusher

NOON_S = 1_770_033_600.0005
_READS = {"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"}
_WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


@dataclass
class Meter:
    """The units of everything that goes through a connection."""

    read: float = 0.0
    write: float = 0.0

    @contextmanager
    def on(self, connection: Connection) -> Iterator[None]:
        """Ask for the receipt of every call."""
        call = connection._call

        def metered(operation: str, request: dict[str, Any]) -> Any:
            if operation not in _READS | _WRITES:
                return call(operation, request)
            answer = call(operation, {**request, "ReturnConsumedCapacity": "TOTAL"})
            receipts = answer.get("ConsumedCapacity")
            for receipt in receipts if isinstance(receipts, list) else [receipts]:
                if operation in _READS:
                    self.read += receipt["CapacityUnits"]
                else:
                    self.write += receipt["CapacityUnits"]
            return answer

        connection._call = metered
        try:
            yield
        finally:
            connection._call = call


def uses(stage: Stage, clock: ManualClock) -> list[tuple[str, str, Callable[[], object]]]:
    """Each use: what it is, which requests it makes of the tables, and how it is done."""
    ids = [stage.asked(agent=f"agent-{number // 10}", audience=["product"]) for number in range(20)]
    for number in range(20):
        clock.advance(60)
        assert stage.answer(ids[number % 10], f"person-{number}", answer=f"words of {number}").status_code == 201
    for number in range(40):
        stage.subscribe(f"token-{number}", f"person-{number}", min_interval_minutes=5)
    stage.rank()
    pusher: Pusher = stage.pusher()
    agent = {"X-Agent-Id": "agent-0"}
    return [
        ("ask", "key record, counter; transaction of 5 items", lambda: stage.ask(key="k", agent="agent-9")),
        ("ask again under the key", "key record, question", lambda: stage.ask(key="k", agent="agent-9")),
        ("poll", "counter, question, its two responses", lambda: stage.poll(ids[0], agent="agent-9")),
        ("the agent's list", "counter, index", lambda: stage.client.get("/agent/questions", headers=agent)),
        ("feed of 20", "counter, 8 shards of the index", lambda: stage.get("/questions")),
        ("look at a question", "counter, question, own response", lambda: stage.get(f"/questions/{ids[0]}", "ada")),
        (
            "answer, a person's first",
            "question, own response, record, notice, 2 counters; transaction of 6 items",
            lambda: stage.answer(ids[0], "ada", answer="words of ada"),
        ),
        (
            "answer, a later one",
            "the same with the record replaced",
            lambda: stage.answer(ids[1], "person-3", answer="other words"),
        ),
        ("answer refused: already answered", "question, own response", lambda: stage.answer(ids[0], "ada")),
        ("own record with rank", "counter, record, row, 8 histograms, 8 counts", lambda: stage.get("/stats", "ada")),
        ("board of 10 with own rank", "counter, 8 shards, row, rank", lambda: stage.get("/leaderboard", "ada")),
        ("subscribe", "counter, subscription; transaction with the token's guard", lambda: stage.subscribe("t", "ada")),
        ("counting two people's moves", "stream's checkpoints, marks, histograms", stage.rank),
        ("push: 21 rounds, 41 subscribers told", "errands, index, 41 claims", pusher.run_once),
    ]


def table(folder: Path) -> str:
    """The measured units as a table."""
    lines = ["| use | read units | write units | what it asks |", "|---|---|---|---|"]
    clock = ManualClock(NOON_S)
    with (
        Engine.memory(clock=clock, ttl_sweep_s=None) as engine,
        connected(engine, clock) as connection,
        staged(connection, clock, folder) as stage,
    ):
        for what, asks, use in uses(stage, clock):
            meter = Meter()
            with meter.on(connection):
                use()
            lines.append(f"| {what} | {meter.read:g} | {meter.write:g} | {asks} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(table(Path(made)))
