"""Stores in a forked process: the parent continues, the child has to open its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, threading
from keyplan.errors import EngineClosedError
from keyplan.engine.engine import Engine

path, durability = sys.argv[1:]
table = {"TableName": "notes", "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]}


def put(engine, id_):
    engine.call("PutItem", {"TableName": "notes", "Item": {"id": {"S": id_}}})


engine = Engine.open(path, durability=durability)
memory = Engine.memory()
for each in (engine, memory):
    each.call("CreateTable", table)
    put(each, "before")
reading, writing = os.pipe()
child = os.fork()
if not child:
    outcomes = []
    try:
        os.read(reading, 1)  # the parent has closed the database
        for work in (
            lambda: put(engine, "lost"),
            lambda: engine.call("GetItem", {"TableName": "notes", "Key": {"id": {"S": "before"}}}),
            lambda: engine.call("TransactGetItems", {"TransactItems": [
                {"Get": {"TableName": "notes", "Key": {"id": {"S": "before"}}}}]}),
            lambda: engine.call("DeleteTable", {"TableName": "notes"}),
        ):
            try:
                work()
                outcomes.append("done")
            except EngineClosedError as error:
                outcomes.append(str(error).removeprefix(path))
        engine.close()
        put(memory, "own")
        with Engine.open(path) as own:
            put(own, "child")
    except BaseException as error:
        outcomes.append(repr(error))
    print(*sorted(set(outcomes)), sep=" | ", flush=True)
    os._exit(0)
put(engine, "after")
engine.close()
os.write(writing, b"x")
os.waitpid(child, 0)
with Engine.open(path) as again:
    print(sorted(item["id"]["S"] for item in again.call("Scan", {"TableName": "notes"})["Items"]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("durability", ["normal", "full"])
def test_a_child_process_cannot_use_its_parents_database_and_may_open_its_own(durability: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "data.db"), durability]
    lines = subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout.splitlines()
    assert lines == [
        " was opened before this process was forked: open it again in this process",
        "['after', 'before', 'child']",
    ]


CLOSING = """
import os, sys, threading
from keyplan.engine.engine import Engine

engine = Engine.open(sys.argv[1])
looking, forked = threading.Event(), threading.Event()


def look():
    looking.set()
    forked.wait(60)
    return []


engine.backfiller._pending = look
thread = threading.Thread(target=engine.backfiller.wake)
thread.start()
looking.wait(60)
child = os.fork()
if not child:
    engine.close()
    print("closed", flush=True)
    os._exit(0)
os.waitpid(child, 0)
forked.set()
thread.join()
engine.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_child_process_exits_whatever_its_parents_threads_are_doing(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", CLOSING, str(tmp_path / "data.db")]
    assert subprocess.run(command, capture_output=True, check=True, text=True, timeout=30).stdout == "closed\n"
