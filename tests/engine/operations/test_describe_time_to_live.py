"""DescribeTimeToLive: missing tables, and tables that are not active; see also test_update_time_to_live."""

from __future__ import annotations

from tests.engine.table_making import create, failure

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine

REQUEST = {"TableName": "notes"}


def test_a_missing_table_is_rejected(engine: Engine) -> None:
    assert failure(engine, "DescribeTimeToLive", REQUEST) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: notes not found",
    )


def test_a_table_without_time_to_live(engine: Engine) -> None:
    create(engine)
    assert engine.call("DescribeTimeToLive", REQUEST) == {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}


def test_a_table_being_created_or_deleted_is_rejected() -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=1.0) as engine:
        create(engine)
        assert failure(engine, "DescribeTimeToLive", REQUEST) == (
            "ValidationException",
            "Cannot describe time to live while table is in CREATING state: Current table state is CREATING",
        )
        clock.advance(1.0)
        engine.call("DeleteTable", REQUEST)
        assert failure(engine, "DescribeTimeToLive", REQUEST) == (
            "ValidationException",
            "Cannot describe time to live while table is in DELETING state: Current table state is DELETING",
        )
