"""Schema: revisions equal the models, on both databases, however often and concurrently they run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, select

from keyplan_systems.forum.migrations import config, upgrade
from keyplan_systems.forum.relational.models import Base, OutboxLeaseRow
from keyplan_systems.forum.relational.session import Database


def within(url: str, act: Callable[[Connection], Any]) -> Any:
    database = Database(url)
    try:
        with database.write() as session:
            return act(session.connection())
    finally:
        database.close()


def tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


def constraints(connection: Connection) -> dict[str, set[str | None]]:
    """Return the names of all check constraints, by table."""
    look = inspect(connection)
    return {
        table: {constraint["name"] for constraint in look.get_check_constraints(table)}
        for table in look.get_table_names()
    }


def primary_keys(connection: Connection) -> dict[str, list[str]]:
    """Return the columns of each primary key, by table, which a comparison of metadata omits."""
    look = inspect(connection)
    return {table: look.get_pk_constraint(table)["constrained_columns"] for table in look.get_table_names()}


def test_the_revisions_create_exactly_the_models(empty_url: str) -> None:
    upgrade(empty_url)
    results = within(
        empty_url, lambda connection: compare_metadata(MigrationContext.configure(connection), Base.metadata)
    )
    assert results == []


def test_the_revisions_create_the_check_constraints_of_the_models(empty_url: str) -> None:
    within(empty_url, Base.metadata.create_all)
    modelled = within(empty_url, constraints)
    within(empty_url, Base.metadata.drop_all)
    upgrade(empty_url)
    assert within(empty_url, constraints) == modelled | {"alembic_version": set()}
    assert {"status_is_known", "message_count_is_no_debt"} <= modelled["threads"]


def test_the_revisions_create_the_primary_keys_of_the_models(empty_url: str) -> None:
    upgrade(empty_url)
    results = within(empty_url, primary_keys)
    assert results.pop("alembic_version") == ["version_num"]
    assert results == {
        name: [column.name for column in table.primary_key] for name, table in Base.metadata.tables.items()
    }
    assert results["threads"] == ["item_id", "participant_id"], "one thread of a task and a participant"


def test_upgrading_again_changes_nothing_and_keeps_the_data(url: str) -> None:
    upgrade(url)
    upgrade(url)
    rows = within(url, lambda connection: connection.execute(select(OutboxLeaseRow.id)).all())
    assert [row.id for row in rows] == [1]


def test_several_processes_may_upgrade_concurrently(empty_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(upgrade, [empty_url] * 4))
    assert within(empty_url, tables) == {*Base.metadata.tables, "alembic_version"}


def test_a_revision_that_fails_halfway_leaves_nothing_behind(empty_url: str) -> None:
    def half(connection: Connection) -> None:
        command.upgrade(config(connection), "head")
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        within(empty_url, half)
    assert within(empty_url, tables) == set()


def test_the_first_revision_can_be_downgraded(empty_url: str) -> None:
    upgrade(empty_url)
    within(empty_url, lambda connection: command.downgrade(config(connection), "base"))
    assert within(empty_url, tables) == {"alembic_version"}


def test_the_revisions_are_included_in_the_package() -> None:
    folder = files("keyplan_systems.forum.migrations")
    assert folder.joinpath("script.py.mako").is_file()
    assert folder.joinpath("versions", "r0001_first_schema.py").is_file()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite://", "use a file"),
        ("sqlite:///:memory:", "use a file"),
        ("mysql://localhost/forum", "not on mysql"),
    ],
)
def test_an_unsupported_database_is_rejected(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        upgrade(url)
