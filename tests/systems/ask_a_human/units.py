"""Measured cost of each operation in read and write units.

There are 20 questions in the feed, 20 people on the boards and 40 subscribers, and the question has two answers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.systems.ask_a_human.stage import Stage, staged
from tests.systems.metered import metered
from tests.systems.served_engine import connected

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan_systems.ask_a_human.push_worker import PushWorker

NOON_S = 1_770_033_600.0005


def uses(stage: Stage, clock: ManualClock) -> list[tuple[str, str, Callable[[], object]]]:
    """Return each operation: its name, its requests to the tables, and its function."""
    ids = [stage.create_question(agent=f"agent-{number // 10}", audience=["product"]) for number in range(20)]
    for number in range(20):
        clock.advance(60)
        assert stage.answer(ids[number % 10], f"person-{number}", answer=f"words of {number}").status_code == 201
    for number in range(40):
        stage.subscribe(f"token-{number}", f"person-{number}", min_interval_minutes=5)
    stage.rank()
    pusher: PushWorker = stage.pusher()
    agent = stage.agent("agent-0")
    stage.agent("agent-9")
    stage.person("ada")
    return [
        ("ask", "agent, key record, counter; transaction of 5 items", lambda: stage.ask(key="k", agent="agent-9")),
        ("ask again under the key", "agent, key record, question", lambda: stage.ask(key="k", agent="agent-9")),
        ("poll", "agent, counter, question, its two responses", lambda: stage.poll(ids[0])),
        ("the agent's list", "agent, counter, index", lambda: stage.client.get("/agent/questions", headers=agent)),
        ("feed of 20", "counter, 8 shards of the index", lambda: stage.get("/questions")),
        (
            "look at a question",
            "counter, device, question, own response",
            lambda: stage.get(f"/questions/{ids[0]}", "ada"),
        ),
        (
            "answer, a person's first",
            "device, question, own response, record, notice, 3 counters; transaction of 7 items",
            lambda: stage.answer(ids[0], "ada", answer="words of ada"),
        ),
        (
            "answer, a later one",
            "the same with the record replaced",
            lambda: stage.answer(ids[1], "person-3", answer="other words"),
        ),
        ("answer refused: already answered", "device, question, own response", lambda: stage.answer(ids[0], "ada")),
        (
            "own record with rank",
            "counter, device, record, row, 8 histograms, 8 counts",
            lambda: stage.get("/stats", "ada"),
        ),
        ("board of 10 with own rank", "counter, device, 8 shards, row, rank", lambda: stage.get("/leaderboard", "ada")),
        (
            "subscribe",
            "counter, device, subscription; transaction with the token's guard",
            lambda: stage.subscribe("t", "ada"),
        ),
        ("counting two people's moves", "stream's checkpoints, marks, histograms", stage.rank),
        ("push: 21 rounds, 41 notified subscribers", "errands, index, 41 claims", pusher.run_once),
    ]


def table() -> str:
    """Return the measured units as a table."""
    lines = ["| use | read units | write units | what it asks |", "|---|---|---|---|"]
    clock = ManualClock(NOON_S)
    with (
        Engine.memory(clock=clock, ttl_sweep_s=None) as engine,
        connected(engine, clock) as below,
        tempfile.TemporaryDirectory() as folder,
    ):
        connection, meter = metered(below)
        with staged(connection, clock, Path(folder)) as stage:
            for name, asks, use in uses(stage, clock):
                meter.reset()
                use()
                lines.append(f"| {name} | {meter.read:g} | {meter.write:g} | {asks} |")
    return "\n".join(lines) + "\n"
