"""Transactions under contention: threads and processes move money, turn a ring and repeat their calls.

Invariants that must hold at all times, not only at the end: the total of the accounts, the shape of the ring,
and one effect for each token. Readers look through TransactGetItems while the writers are at work.
"""

from __future__ import annotations

import multiprocessing
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from keyplan.engine.engine import Engine
from keyplan.errors import TransactionCanceledError

ACCOUNTS = 6
OPENING = 100
TRANSFERS = 60
WORKERS = 3
NODES = 7
TABLES = ("left", "right")


@pytest.fixture(params=["file", "memory", "full"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    opened = (
        Engine.memory()
        if request.param == "memory"
        else Engine.open(tmp_path / "data.db", durability="full" if request.param == "full" else "normal")
    )
    with opened:
        fill(opened)
        yield opened


def fill(engine: Engine) -> None:
    """Accounts in two tables, and a ring of nodes that each name their successor."""
    for table in TABLES:
        engine.call(
            "CreateTable",
            {
                "TableName": table,
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
    accounts = [
        {"Put": {"TableName": table_of(number), "Item": account(number, OPENING)}} for number in range(ACCOUNTS)
    ]
    nodes = [{"Put": {"TableName": "left", "Item": node(number, (number + 1) % NODES)}} for number in range(NODES)]
    engine.call("TransactWriteItems", {"TransactItems": accounts + nodes})


def table_of(number: int) -> str:
    return TABLES[number % len(TABLES)]


def account(number: int, amount: int) -> dict[str, Any]:
    return {"id": {"S": f"account{number}"}, "amount": {"N": str(amount)}}


def node(number: int, successor: int) -> dict[str, Any]:
    return {"id": {"S": f"node{number}"}, "next": {"N": str(successor)}}


def change(number: int, by: int) -> dict[str, Any]:
    """Return an update of an account that must not go below zero."""
    return {
        "Update": {
            "TableName": table_of(number),
            "Key": {"id": {"S": f"account{number}"}},
            "UpdateExpression": "SET amount = amount + :by",
            "ConditionExpression": "amount >= :least",
            "ExpressionAttributeValues": {":by": {"N": str(by)}, ":least": {"N": str(max(0, -by))}},
        }
    }


def transfer(engine: Engine, chance: random.Random) -> bool:
    """Move some money between two accounts of any tables, if there is enough; whether it was moved."""
    source, target = chance.sample(range(ACCOUNTS), 2)
    amount = chance.randint(1, OPENING)
    try:
        engine.call("TransactWriteItems", {"TransactItems": [change(source, -amount), change(target, amount)]})
    except TransactionCanceledError as error:
        codes = [reason["Code"] for reason in error.members["CancellationReasons"]]
        assert codes == ["ConditionalCheckFailed", "None"]
        return False
    return True


def amounts(engine: Engine) -> list[int]:
    """Return all amounts at one point in time."""
    gets = [
        {"Get": {"TableName": table_of(number), "Key": {"id": {"S": f"account{number}"}}}} for number in range(ACCOUNTS)
    ]
    responses = engine.call("TransactGetItems", {"TransactItems": gets})["Responses"]
    return [int(response["Item"]["amount"]["N"]) for response in responses]


def check_amounts(engine: Engine) -> None:
    actual_amounts = amounts(engine)
    assert sum(actual_amounts) == ACCOUNTS * OPENING
    assert min(actual_amounts) >= 0


def successors(engine: Engine) -> list[int]:
    """Return every node's successor at one point in time."""
    gets = [{"Get": {"TableName": "left", "Key": {"id": {"S": f"node{number}"}}}} for number in range(NODES)]
    responses = engine.call("TransactGetItems", {"TransactItems": gets})["Responses"]
    return [int(response["Item"]["next"]["N"]) for response in responses]


def check_ring(engine: Engine) -> None:
    """From node 0 the successors lead through every node and back."""
    following = successors(engine)
    visited, at = [], 0
    for _ in range(NODES):
        visited.append(at)
        at = following[at]
    assert at == 0
    assert sorted(visited) == list(range(NODES))


def turn(engine: Engine, chance: random.Random) -> bool:
    """Move the node behind a chosen one a place further back; whether nobody was faster.

    a -> b -> c -> d becomes a -> c -> b -> d, only if all three still point where they did.
    """
    following = successors(engine)
    a = chance.randrange(NODES)
    b = following[a]
    c = following[b]
    d = following[c]
    moves = [
        {
            "Update": {
                "TableName": "left",
                "Key": {"id": {"S": f"node{number}"}},
                "UpdateExpression": "SET #n = :new",
                "ConditionExpression": "#n = :old",
                "ExpressionAttributeNames": {"#n": "next"},
                "ExpressionAttributeValues": {":new": {"N": str(new)}, ":old": {"N": str(old)}},
            }
        }
        for number, old, new in ((a, b, c), (b, c, d), (c, d, b))
    ]
    try:
        engine.call("TransactWriteItems", {"TransactItems": moves})
    except TransactionCanceledError:
        return False
    return True


def in_threads(*works: Callable[[], None]) -> None:
    """Run all at once; a failure of one is raised here."""
    with ThreadPoolExecutor(len(works)) as pool:
        for future in [pool.submit(work) for work in works]:
            future.result()


def reading(engine: Engine, look: Callable[[Engine], None], writing: Callable[[], None]) -> Callable[[], None]:
    """Run the writers, and a reader next to them that reads until they are done."""
    done = threading.Event()

    def write() -> None:
        try:
            writing()
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            look(engine)

    return lambda: in_threads(write, read)


def test_transfers_by_threads_keep_the_total(engine: Engine) -> None:
    moved = []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        moved.append(sum(transfer(engine, chance) for _ in range(TRANSFERS)))

    works = [lambda seed=seed: work(seed) for seed in range(WORKERS)]
    reading(engine, check_amounts, lambda: in_threads(*works))()
    check_amounts(engine)
    assert sum(moved) > 0


def test_rotations_by_threads_keep_the_ring_intact(engine: Engine) -> None:
    turned = []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        turned.append(sum(turn(engine, chance) for _ in range(TRANSFERS)))

    works = [lambda seed=seed: work(seed) for seed in range(WORKERS)]
    reading(engine, check_ring, lambda: in_threads(*works))()
    check_ring(engine)
    assert sum(turned) > 0


def test_threads_with_one_token_have_one_effect(engine: Engine) -> None:
    barrier = threading.Barrier(WORKERS, timeout=240)

    def work() -> None:
        for number in range(TRANSFERS):
            barrier.wait()
            engine.call("TransactWriteItems", deposit(f"token{number}"))

    in_threads(*[work] * WORKERS)
    assert amounts(engine)[0] == OPENING + TRANSFERS


def deposit(token: str) -> dict[str, Any]:
    return {"ClientRequestToken": token, "TransactItems": [change(0, 1)]}


# Processes. They are spawned, so that no connection of this process is shared.


def transfer_in_process(path: str, seed: int) -> None:
    chance = random.Random(seed)
    with Engine.open(path) as engine:
        for number in range(TRANSFERS):
            transfer(engine, chance)
            turn(engine, chance)
            if not number % 10:
                check_amounts(engine)
                check_ring(engine)


def deposit_in_process(path: str, _seed: int) -> None:
    with Engine.open(path) as engine:
        for number in range(TRANSFERS):
            engine.call("TransactWriteItems", deposit(f"token{number}"))


def in_processes(work: Callable[[str, int], None], path: Path) -> list[multiprocessing.process.BaseProcess]:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work, args=(str(path), seed)) for seed in range(WORKERS)]
    for process in processes:
        process.start()
    return list(processes)


def test_transfers_and_rotations_by_processes_keep_total_and_ring(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path) as engine:
        fill(engine)
        before = amounts(engine)
        processes = in_processes(transfer_in_process, path)
        while any(process.is_alive() for process in processes):
            check_amounts(engine)
            check_ring(engine)
        assert [process.exitcode for process in processes] == [0] * WORKERS
        assert amounts(engine) != before


def test_processes_with_one_token_have_one_effect(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with Engine.open(path) as engine:
        fill(engine)
        for process in in_processes(deposit_in_process, path):
            process.join()
            assert process.exitcode == 0
        assert amounts(engine)[0] == OPENING + TRANSFERS
