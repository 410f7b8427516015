"""Tables as resources: their names in files, what keeps them from being made, what is left out."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.export import shelves
from tests.export.designs import ALL, MADE, REFUSED, tables_of
from tests.export.reading import NAMES

from keyplan.connections.tables import create_request
from keyplan.design import Entity, Table
from keyplan.design.design import Design
from keyplan.design.places import DesignError
from keyplan.export.cloudformation import logical_id
from keyplan.export.resources import is_prefix, left_out, obstacles, resources
from keyplan.export.terraform import identifier

TABLES = Design.of(shelves).tables


@pytest.mark.parametrize("name", ALL)
def test_designs_that_connections_refuse_are_refused_with_every_fault(name: str) -> None:
    assert [fault.code for fault in obstacles(tables_of(name))] == REFUSED.get(name, [])


@pytest.mark.parametrize("name", MADE)
def test_a_resource_is_asked_for_as_connections_ask(name: str) -> None:
    for resource, table in zip(resources(tables_of(name), "dev-"), tables_of(name), strict=True):
        assert resource.name == f"dev-{table.name}"
        assert resource.request == create_request(table, resource.name)


def test_what_cannot_be_made_is_raised() -> None:
    with pytest.raises(DesignError, match="the design does not say what the stream of table odd holds"):
        resources([Table("odd", pk="pk", stream="UNSTATED")])


def test_two_tables_of_one_name_are_refused() -> None:
    one, two = Table("same", pk="pk"), Table("same", pk="pk")
    (fault,) = obstacles([one, two])
    assert (fault.code, fault.problem) == ("KP109", "two tables are called same")
    assert fault.other == one.schema.place


def test_faults_of_all_tables_are_told_together() -> None:
    flags = Table("flags", pk="active")

    @flags.entity()
    class Flag(Entity):
        active: bool

    assert [fault.code for fault in obstacles([flags, Table("no", pk="pk")])] == ["KP101", "KP109"]


@pytest.mark.parametrize(
    ("prefix", "allowed"), [("", True), ("dev-", True), ("a b", False), ("x" * 244, True), ("x" * 245, False)]
)
def test_a_prefix_is_part_of_a_name(prefix: str, allowed: bool) -> None:
    assert is_prefix(prefix, [Table("shelf-books", pk="pk")]) is allowed


def test_what_no_file_says_is_told() -> None:
    assert list(left_out(resources(TABLES))) == [
        (
            "consumers of shelf-books (greet) run in a keyplan.changes.Runner: nothing is written for them, nor for"
            " where failed records go (dlq)"
        ),
        "index loose of odd.names_1 does not say what it holds: written as ALL",
        "index loose of odd.names_1 buys capacity, and its table is paid by the request: left out",
        "expiry of odd.names_1 is to set state: the service deletes, and sets nothing",
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
def test_logical_ids_are_made_of_the_words_of_a_name(name: str, logical: str) -> None:
    assert logical_id(name) == logical


@pytest.mark.parametrize(
    ("name", "expected"), [("orders", "orders"), ("todo-app", "todo-app"), ("3d", "table_3dda0568a2")]
)
def test_identifiers_are_the_names_where_these_may_be_identifiers(name: str, expected: str) -> None:
    assert identifier(name) == expected


@given(st.sets(NAMES | st.from_regex(r"[A-Za-z0-9_.-]{3,255}", fullmatch=True), min_size=2, max_size=4))
@example({"a-b", "a.b", "aB", "AB", "ABTable", "a_b", "a--b", "-a-b", "A-B"})
@example({"orders-table", "ordersTable", "OrdersTable", "orders.table"})
def test_names_in_files_are_allowed_and_as_many_as_names_of_tables(names: set[str]) -> None:
    logical, identifiers = {logical_id(name) for name in names}, {identifier(name) for name in names}
    assert len(logical) == len(identifiers) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9]{1,255}", one) for one in logical)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,255}", one) for one in identifiers)


@given(NAMES)
def test_the_name_that_a_name_gets_is_none_that_another_may_have(name: str) -> None:
    made = logical_id(name)
    if made != name:  # a table may be called what this one's id is
        assert logical_id(made) != made
