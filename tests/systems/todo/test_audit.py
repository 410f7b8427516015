"""Short audits of random traffic, and proof that the auditor finds faults; `python -m ...audit 30` is the long one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.systems.todo import audit
from tests.systems.todo.stage import Stage

from keyplan.client.errors import TransactionFailedError
from keyplan.clock import SystemClock
from keyplan.design.declaring.patterns import Call
from keyplan_systems.todo import design
from keyplan_systems.todo.idempotency import Answer, IdempotencyKeys, Request, WritePlan


@pytest.fixture
def clock() -> SystemClock:
    """Return the system clock."""
    return SystemClock(1)


@pytest.mark.parametrize("doubled", [False, True])
def test_traffic_of_eight_threads_loses_and_duplicates_nothing(place: str, tmp_path: Path, doubled: bool) -> None:
    auditor, _ = audit.run(tmp_path, 2, doubled=doubled, http=place == "served")
    assert auditor.has_recorded(audit.MIN_CHANGES)


@pytest.mark.embedded("faults on purpose")
def test_traffic_under_faults_loses_and_duplicates_nothing(tmp_path: Path) -> None:
    auditor, faults = audit.run(tmp_path, 3, doubled=True, faults=True)
    assert auditor.has_recorded(audit.MIN_CHANGES)
    assert faults["TransactionConflict"] + faults["ProvisionedThroughputExceeded"] > 0


def test_the_auditor_detects_duplicate_effects(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Canary: answers that are looked up, but not stored in the transaction of the write."""

    def careless(self: IdempotencyKeys, request: Request, work: Any) -> Answer:
        stored_response = self.stored_answer(request)
        if stored_response is not None:
            return stored_response
        while True:
            result: WritePlan = work()
            try:
                self._connection.transact(*result.calls)
                break
            except TransactionFailedError:
                continue
        return Answer(result.status, orjson.dumps(result.body) if result.body is not None else b"")

    monkeypatch.setattr(IdempotencyKeys, "answer", careless)
    with pytest.raises(AssertionError, match=r"two answers|without an acknowledged|came twice|acknowledged twice"):
        audit.audit(stage, 1, doubled=True)


def test_the_auditor_detects_lost_effects(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Canary: a task that is deleted without an acknowledged request."""
    run = stage.connection.run

    def losing(call: Call[Any], **options: Any) -> Any:
        page = run(call, **options)
        if call.pattern.name == "every_task_of_user" and page.items:
            run(design.remove_task(page.items[0].user_id, page.items[0].task_id))
            return run(call, **options)
        return page

    monkeypatch.setattr(stage.connection, "run", losing)
    with pytest.raises(AssertionError, match="is gone, deletions: 0"):
        audit.audit(stage, 1, doubled=False)
