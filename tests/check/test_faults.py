"""Faults of patterns and of the transactions that they are part of: each is reported once, and both are refused."""

from __future__ import annotations

from datetime import datetime

import pytest

import keyplan
from keyplan import GSI, DesignError, Entity, F, ItemWrite, Table, WriteCall, item, key, transaction
from keyplan.check.checking import check
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.export.explain import explain

app = Table("app", pk="PK", sk="SK", indexes=[GSI("due", pk="GSI1PK", sk="GSI1SK")])
AT = datetime.fromisoformat("2026-05-04T12:00:00Z")


@app.entity(
    key=key("USER#{user_id}", "TASK#{task_id}"),
    indexes={"due": key("DUE#{user_id}", "{due_at:utc_ms}", only_if=F.status == "open")},
)
class Task(Entity):
    user_id: str
    task_id: str
    status: str = "open"
    due_at: datetime | None = None


@app.update(Task)
def postpone(user_id: str, task_id: str, due_at: datetime) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(due_at=due_at)


@transaction()
def postpone_two(user_id: str, first: str, second: str, due_at: datetime) -> list[WriteCall[Task]]:
    return [postpone(user_id, first, due_at), postpone(user_id, second, due_at)]


DESIGN = Design("app", (app,), (postpone_two,))


def test_a_fault_of_a_step_is_reported_once_for_all_transactions() -> None:
    findings = [finding for finding in check(DESIGN).findings if finding.code == "KP401"]
    assert [finding.subject for finding in findings] == ["postpone"]
    assert len(postpone_two.plan.faults) == 1


def test_the_explanation_of_a_transaction_states_each_fault_once() -> None:
    text = explain(DESIGN.pattern("postpone_two"), book(), check(DESIGN).findings)
    assert text.count("error[KP401]") == 1


def test_a_transaction_with_an_invalid_step_is_rejected() -> None:
    with keyplan.connect(":memory:") as db:
        for run in (db.run, db.transact):
            with pytest.raises(DesignError, match="also needs status"):
                run(postpone_two("u", "a", "b", AT))
