"""Tables as resources: their names in files, what keeps them from being made, what is left out."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.export import shelves
from tests.export.designs import ALL, CREATABLE, REFUSED, tables_of
from tests.export.reading import NAMES

from keyplan import Entity, Inserted, Table
from keyplan.client.tables import create_request
from keyplan.design.declaring.design import Design
from keyplan.design.errors import DesignError
from keyplan.export.cloudformation import logical_id
from keyplan.export.resources import is_prefix, obstacles, omitted_settings, resources
from keyplan.export.terraform import identifier

TABLES = Design.of(shelves).tables


@pytest.mark.slow  # exports whole designs
@pytest.mark.parametrize("name", ALL)
def test_designs_that_connections_reject_are_rejected_with_every_fault(name: str) -> None:
    assert [fault.code for fault in obstacles(tables_of(name))] == REFUSED.get(name, [])


@pytest.mark.parametrize("name", CREATABLE)
def test_a_resource_has_the_request_that_connections_send(name: str) -> None:
    for resource, table in zip(resources(tables_of(name), "dev-"), tables_of(name), strict=True):
        assert resource.name == f"dev-{table.name}"
        assert resource.request == create_request(table, resource.name)


def test_an_invalid_table_is_rejected() -> None:
    with pytest.raises(DesignError, match="the design does not declare the stream view of table odd"):
        resources([Table("odd", pk="pk", stream="UNSTATED")])


def test_two_tables_with_one_name_are_rejected() -> None:
    first, second = Table("same", pk="pk"), Table("same", pk="pk")
    (fault,) = obstacles([first, second])
    assert (fault.code, fault.problem) == ("KP109", "two tables are called same")
    assert fault.other == first.schema.place


def test_faults_of_all_tables_are_reported_together() -> None:
    flags = Table("flags", pk="active")

    @flags.entity()
    class Flag(Entity):
        active: bool

    assert [fault.code for fault in obstacles([flags, Table("no", pk="pk")])] == ["KP101", "KP109"]


@pytest.mark.parametrize(
    ("prefix", "allowed"), [("", True), ("dev-", True), ("a b", False), ("x" * 244, True), ("x" * 245, False)]
)
def test_a_prefix_has_the_characters_of_a_name(prefix: str, allowed: bool) -> None:
    assert is_prefix(prefix, [Table("shelf-books", pk="pk")]) is allowed


def test_every_name_has_room_for_the_prefix() -> None:
    tables = [Table("abc", pk="pk"), Table("x" * 250, pk="pk")]
    assert is_prefix("12345", tables)
    assert not is_prefix("123456", tables)
    assert not is_prefix("123456", tables[::-1])


def test_a_fault_of_the_stream_points_at_its_argument() -> None:
    odd = Table("odd", pk="pk", stream="UNSTATED")
    (fault,) = obstacles([odd])
    assert fault.place == odd.schema.place.at("stream=")
    assert fault.place != odd.schema.place


@pytest.mark.parametrize(
    ("destinations", "expected"),
    [
        ([None, None], "they are not exported"),
        (
            ["late", None, "again", "late"],
            "they are not exported, and neither are the destinations of failed records (again, late)",
        ),
    ],
)
def test_failure_destinations_are_noted_once_in_order(destinations: list[str | None], expected: str) -> None:
    log = Table("log", pk="line", stream="NEW_IMAGE")

    @log.entity()
    class Line(Entity):
        line: str

    def consume(change: Inserted[Line]) -> None: ...

    for number, destination in enumerate(destinations):
        consume.__name__ = f"consumer_{number}"
        log.on_change(Line, on_failure=destination)(consume)
    names = ", ".join(f"consumer_{number}" for number in range(len(destinations)))
    assert list(omitted_settings(resources([log]))) == [
        f"consumers of log ({names}) run in a keyplan.streams.Runner: {expected}",
    ]


def test_settings_that_are_not_exported_are_noted() -> None:
    assert list(omitted_settings(resources(TABLES))) == [
        (
            "consumers of shelf-books (greet) run in a keyplan.streams.Runner: they are not exported, and"
            " neither are the destinations of failed records (dlq)"
        ),
        "index loose of odd.names_1 does not declare its projection: exported as ALL",
        "index loose of odd.names_1 has provisioned capacity, but its table is on demand: omitted",
        "expiry of odd.names_1 is declared to set state: the service only deletes items",
    ]


@pytest.mark.parametrize(
    ("name", "logical"),
    [
        ("orders", "orders"),
        ("Orders", "Orders"),
        ("3d", "3d"),
        ("todo-app-data", "TodoAppDataTable"),
        ("todo_app_data", "TodoAppDataTable5a68ea8e"),
        ("OrdersTable", "OrdersTablec0aaeeb2"),
    ],
)
def test_logical_ids_consist_of_the_words_of_a_name(name: str, logical: str) -> None:
    assert logical_id(name) == logical


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders", "orders"),
        ("todo-app", "todo-app"),
        ("3d", "table_3dda0568a2"),
        ("3" * 255, "table_" + "3" * 241 + "064f5fe0"),
        ("a.b", "table_a_b2e7336dc"),
    ],
)
def test_identifiers_equal_the_names_if_they_are_valid(name: str, expected: str) -> None:
    assert identifier(name) == expected


@given(st.sets(NAMES | st.from_regex(r"[A-Za-z0-9_.-]{3,255}", fullmatch=True), min_size=2, max_size=4))
@example({"a-b", "a.b", "aB", "AB", "ABTable", "a_b", "a--b", "-a-b", "A-B"})
@example({"orders-table", "ordersTable", "OrdersTable", "orders.table"})
def test_exported_names_are_valid_and_unique(names: set[str]) -> None:
    logical, identifiers = {logical_id(name) for name in names}, {identifier(name) for name in names}
    assert len(logical) == len(identifiers) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9]{1,255}", name) for name in logical)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,255}", name) for name in identifiers)


@given(NAMES)
def test_a_changed_name_differs_from_every_unchanged_name(name: str) -> None:
    new_logical_id = logical_id(name)
    if new_logical_id != name:  # a table may be called what this one's id is
        assert logical_id(new_logical_id) != new_logical_id
