"""ListTables: names in order, in pages."""

from __future__ import annotations

import pytest
from tests.engine.table_making import create

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine


def test_the_list_is_empty_without_tables(engine: Engine) -> None:
    assert engine.call("ListTables", {}) == {"TableNames": []}


def test_names_are_in_order(engine: Engine) -> None:
    for name in ("beta", "Alpha", "alpha"):
        create(engine, name)
    assert engine.call("ListTables", {}) == {"TableNames": ["Alpha", "alpha", "beta"]}


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
def test_pages_add_up_to_the_list(engine: Engine, limit: int) -> None:
    names = [f"table-{number}" for number in range(4)]
    for name in names:
        create(engine, name)
    table_names, request = [], {"Limit": limit}
    while True:
        page = engine.call("ListTables", request)
        assert len(page["TableNames"]) <= limit
        table_names += page["TableNames"]
        if "LastEvaluatedTableName" not in page:
            break
        assert page["LastEvaluatedTableName"] == page["TableNames"][-1]
        request["ExclusiveStartTableName"] = page["LastEvaluatedTableName"]
    assert table_names == names


def test_a_full_last_page_has_no_continuation(engine: Engine) -> None:
    create(engine)
    assert engine.call("ListTables", {"Limit": 1}) == {"TableNames": ["notes"]}


def test_a_page_may_start_after_a_missing_name(engine: Engine) -> None:
    create(engine, "aaa")
    create(engine, "ccc")
    assert engine.call("ListTables", {"ExclusiveStartTableName": "bbb"}) == {"TableNames": ["ccc"]}


def test_a_table_being_deleted_is_listed_until_it_is_deleted() -> None:
    clock = ManualClock()
    with Engine.memory(clock=clock, state_delay_s=1.0) as engine:
        create(engine)
        clock.advance(1.0)
        engine.call("DeleteTable", {"TableName": "notes"})
        assert engine.call("ListTables", {})["TableNames"] == ["notes"]
        clock.advance(1.0)
        assert engine.call("ListTables", {})["TableNames"] == []
