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
        ("ask again with the same key", "agent, key record, question", lambda: stage.ask(key="k", agent="agent-9")),
        ("poll", "agent, counter, question and its two responses", lambda: stage.poll(ids[0])),
        (
            "list an agent's questions",
            "agent, counter, index",
            lambda: stage.client.get("/agent/questions", headers=agent),
        ),
        ("list 20 questions", "counter, 8 index partitions", lambda: stage.get("/questions")),
        (
            "view a question",
            "counter, device, question, own response",
            lambda: stage.get(f"/questions/{ids[0]}", "ada"),
        ),
        (
            "answer for the first time",
            "device, question, own response, record, notice, 3 counters; transaction of 7 items",
            lambda: stage.answer(ids[0], "ada", answer="words of ada"),
        ),
        (
            "answer again later",
            "as above, but the user's record is replaced",
            lambda: stage.answer(ids[1], "person-3", answer="other words"),
        ),
        ("answer a question twice (rejected)", "device, question, own response", lambda: stage.answer(ids[0], "ada")),
        (
            "view one's record with the rank",
            "counter, device, record, row, 8 histograms, 8 counts",
            lambda: stage.get("/stats", "ada"),
        ),
        (
            "view a leaderboard of 10 rows with one's rank",
            "counter, device, 8 index partitions, row, rank",
            lambda: stage.get("/leaderboard", "ada"),
        ),
        (
            "subscribe",
            "counter, device, subscription; transaction with the uniqueness guard item for the token",
            lambda: stage.subscribe("t", "ada"),
        ),
        (
            "count two users in the histograms",
            "checkpoints of the stream, records of counted changes, histograms",
            stage.rank,
        ),
        ("run 21 rounds of pushes to 41 subscribers", "tasks, index, 41 claims", pusher.run_once),
    ]


def table() -> str:
    """Return the measured units as a table."""
    lines = ["| operation | read units | write units | items and requests |", "|---|---|---|---|"]
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
