"""Statements that race: an INSERT succeeds once, an update's condition holds when it writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.races.threads import together

from keyplan.engine.engine import Engine
from keyplan.errors import ConditionalCheckFailedError, DuplicateItemError, TransactionCanceledError

TURNS = 40


@pytest.fixture(params=["memory", "normal", "full"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """One engine of each kind, with a table."""
    new_engine = (
        Engine.memory() if request.param == "memory" else Engine.open(tmp_path / "data.db", durability=request.param)
    )
    with new_engine:
        new_engine.call(
            "CreateTable",
            {
                "TableName": "race",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            },
        )
        yield new_engine


def run(engine: Engine, statement: str, *parameters: Any) -> Any:
    values = {"Parameters": list(parameters)} if parameters else {}
    return engine.call("ExecuteStatement", {"Statement": statement, **values})["Items"]


def test_one_of_many_inserts_succeeds(engine: Engine) -> None:
    def insert(number: int) -> int:
        won = 0
        for turn in range(TURNS):
            try:
                run(engine, "INSERT INTO race VALUE {'pk': ?, 'by': ?}", {"S": str(turn)}, {"N": str(number)})
            except DuplicateItemError:
                continue
            won += 1
        return won

    assert sum(together(insert)) == TURNS
    assert len(run(engine, "SELECT * FROM race")) == TURNS


def test_conditions_are_evaluated_atomically_with_the_write(engine: Engine) -> None:
    run(engine, "INSERT INTO race VALUE {'pk': 'stock', 'n': 50}")

    def take(_number: int) -> int:
        withdrawn = 0
        for _ in range(TURNS):
            try:
                run(engine, "UPDATE race SET n = n - 1 WHERE pk = 'stock' AND n > 0")
            except ConditionalCheckFailedError:
                continue
            withdrawn += 1
        return withdrawn

    assert sum(together(take)) == 50
    assert run(engine, "SELECT n FROM race WHERE pk = 'stock'") == [{"n": {"N": "0"}}]


def test_a_transaction_moves_all_or_nothing(engine: Engine) -> None:
    for name, amount in (("a", 30), ("b", 0)):
        run(engine, "INSERT INTO race VALUE {'pk': ?, 'n': ?}", {"S": name}, {"N": str(amount)})
    take = {"Statement": "UPDATE race SET n = n - 1 WHERE pk = 'a' AND n > 0"}
    give = {"Statement": "UPDATE race SET n = n + 1 WHERE pk = 'b'"}

    def move(_number: int) -> int:
        moved = 0
        for _ in range(TURNS):
            try:
                engine.call("ExecuteTransaction", {"TransactStatements": [take, give]})
            except TransactionCanceledError:
                continue
            moved += 1
        return moved

    assert sum(together(move)) == 30
    reads = [{"Statement": f"SELECT n FROM race WHERE pk = '{name}'"} for name in "ab"]
    response = engine.call("ExecuteTransaction", {"TransactStatements": reads})
    assert response["Responses"] == [{"Item": {"n": {"N": "0"}}}, {"Item": {"n": {"N": "30"}}}]
