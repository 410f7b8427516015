"""UpdateTimeToLive: switched on and off, with existing items."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engine.table_making import IN_USE, create, failure, put, update

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.engine.tables import backfill

ON = {"Enabled": True, "AttributeName": "until"}
OFF = {"Enabled": False, "AttributeName": "until"}


def request(specification: dict[str, Any]) -> dict[str, Any]:
    return {"TableName": "notes", "TimeToLiveSpecification": specification}


def switch(engine: Engine, specification: dict[str, Any]) -> dict[str, Any]:
    return engine.call("UpdateTimeToLive", request(specification))


def described(engine: Engine) -> dict[str, Any]:
    description: dict[str, Any] = engine.call("DescribeTimeToLive", {"TableName": "notes"})["TimeToLiveDescription"]
    return description


def expiries(engine: Engine) -> int:
    expiry = engine.database.table("notes").expiry
    return 0 if expiry is None else engine.store.view().totals(expiry.tree)[0]


def test_expiry_is_enabled_and_disabled(engine: Engine) -> None:
    create(engine)
    assert described(engine) == {"TimeToLiveStatus": "DISABLED"}
    assert switch(engine, ON) == {"TimeToLiveSpecification": ON}
    assert described(engine) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "until"}
    assert switch(engine, OFF) == {"TimeToLiveSpecification": OFF}
    assert described(engine) == {"TimeToLiveStatus": "DISABLED"}


@pytest.mark.parametrize(
    ("before", "change", "message"),
    [
        ([], OFF, "TimeToLive is already disabled"),
        ([ON], ON, "TimeToLive is already enabled"),
        (
            [ON],
            {"Enabled": True, "AttributeName": "other"},
            "TimeToLive is active on a different AttributeName: current AttributeName is until",
        ),
        (
            [ON],
            {"Enabled": False, "AttributeName": "other"},
            "TimeToLive is active on a different AttributeName: current AttributeName is until",
        ),
        ([ON, OFF], OFF, "TimeToLive is already disabled"),
    ],
)
def test_invalid_changes_are_rejected(
    engine: Engine, before: list[dict[str, Any]], change: dict[str, Any], message: str
) -> None:
    create(engine)
    for earlier in before:
        switch(engine, earlier)
    assert failure(engine, "UpdateTimeToLive", request(change)) == ("ValidationException", message)


def test_existing_items_expire_too(engine: Engine) -> None:
    create(engine)
    put(engine, "a", until={"N": "1700000000"})
    put(engine, "b", until={"S": "never"})
    put(engine, "c")
    switch(engine, ON)
    assert expiries(engine) == 1
    put(engine, "d", until={"N": "1700000001"})
    assert expiries(engine) == 2


def test_many_items_are_scanned_by_the_thread(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 2)
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)
    create(engine)
    for number in range(7):
        put(engine, str(number), until={"N": "9000000000"})
    switch(engine, ON)
    engine.backfiller.wait()
    assert expiries(engine) == 7
    assert described(engine)["TimeToLiveStatus"] == "ENABLED"


def test_expiry_can_be_disabled_during_the_scan(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 2)
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)
    monkeypatch.setattr(backfill.Backfiller, "_pending", lambda _: [])
    create(engine)
    for number in range(7):
        put(engine, str(number), until={"N": "9000000000"})
    switch(engine, ON)
    assert described(engine)["TimeToLiveStatus"] == "ENABLING"
    switch(engine, OFF)
    assert engine.store.view().documents(backfill.DOCUMENT_PREFIX) == []
    switch(engine, {"Enabled": True, "AttributeName": "other"})
    assert backfill.fill_chunks(engine.database, "notes", backfill.EXPIRY, 10)
    assert expiries(engine) == 0


def test_the_change_takes_as_long_as_the_delay() -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=4.0) as engine:
        create(engine)
        assert failure(engine, "UpdateTimeToLive", request(ON)) == (
            "ResourceInUseException",
            IN_USE + "Table notes is being created",
        )
        clock.advance(4.0)
        switch(engine, ON)
        assert described(engine) == {"TimeToLiveStatus": "ENABLING", "AttributeName": "until"}
        clock.advance(4.0)
        assert described(engine)["TimeToLiveStatus"] == "ENABLED"
        switch(engine, OFF)
        assert described(engine) == {"TimeToLiveStatus": "DISABLING", "AttributeName": "until"}
        clock.advance(4.0)
        assert described(engine) == {"TimeToLiveStatus": "DISABLED"}


def test_a_change_during_a_table_update_is_rejected() -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=4.0) as engine:
        create(engine)
        clock.advance(4.0)
        update(engine, TableClass="STANDARD_INFREQUENT_ACCESS")
        switch(engine, ON)


def test_a_change_during_table_deletion_is_accepted() -> None:
    # Observed on the service, 8 and 9 October 2026: accepted, then shown, until the table is gone.
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=4.0) as engine:
        create(engine)
        clock.advance(4.0)
        put(engine, "a", until={"N": "9000000000"})
        engine.call("DeleteTable", {"TableName": "notes"})
        switch(engine, ON)
        assert failure(engine, "UpdateTimeToLive", request(ON)) == (
            "ValidationException",
            "TimeToLive is already enabled",
        )
        clock.advance(4.0)
        assert failure(engine, "UpdateTimeToLive", request(ON))[0] == "ResourceNotFoundException"
        create(engine)
        clock.advance(4.0)
        assert described(engine) == {"TimeToLiveStatus": "DISABLED"}


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    assert failure(engine, "UpdateTimeToLive", request(ON)) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: notes not found",
    )
