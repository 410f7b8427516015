"""Fail at the first call of the store, then at the second, until a run completes; and files that fail by themselves.

After every failure the caller has got a clear error, the database is exactly as before or exactly as
after the operation, it agrees with itself, and it goes on working.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.crash.failing_store import attributes, fill, set_trap, state, without_ids
from tests.engine import tables_of

from keyplan.clock import ManualClock
from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.engine.store import sync
from keyplan.errors import (
    DatabaseCorruptError,
    DatabaseFullError,
    DatabaseLockedError,
    DatabaseReadOnlyError,
    DatabaseVersionError,
    KeyplanError,
    StorageError,
)

MOST_CALLS = 400
Operation = Callable[[Engine], object]


def _transact(engine: Engine) -> None:
    engine.call(
        "TransactWriteItems",
        {
            "ClientRequestToken": "once",
            "TransactItems": [
                {"Put": {"TableName": "things", "Item": {**tables_of.key("new"), **attributes("new")}}},
                {"Delete": {"TableName": "things", "Key": tables_of.key("b")}},
                {"Update": {"TableName": "things", "Key": tables_of.key("a"), "UpdateExpression": "REMOVE g"}},
                {
                    "ConditionCheck": {
                        "TableName": "things",
                        "Key": tables_of.key("c"),
                        "ConditionExpression": "attribute_exists(p)",
                    }
                },
            ],
        },
    )


def _update(engine: Engine) -> None:
    values = {":g": {"S": "other"}, ":l": {"S": "other"}, ":t": {"N": "1700000099"}}
    engine.call(
        "UpdateItem",
        {
            "TableName": "things",
            "Key": tables_of.key("a"),
            "UpdateExpression": "SET g = :g, l = :l, t = :t REMOVE x",
            "ExpressionAttributeValues": values,
        },
    )


def _batch(engine: Engine) -> None:
    put = {"PutRequest": {"Item": {**tables_of.key("new"), **attributes("new")}}}
    delete = {"DeleteRequest": {"Key": tables_of.key("b")}}
    engine.call("BatchWriteItem", {"RequestItems": {"things": [put, delete]}})


def _create_index(engine: Engine) -> None:
    created = {
        "IndexName": "by_x",
        "KeySchema": [{"AttributeName": "x", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    engine.call(
        "UpdateTable",
        {
            "TableName": "things",
            "AttributeDefinitions": [{"AttributeName": "x", "AttributeType": "S"}],
            "GlobalSecondaryIndexUpdates": [{"Create": created}],
        },
    )


def _delete_index(engine: Engine) -> None:
    engine.call(
        "UpdateTable",
        {"TableName": "things", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by_g"}}]},
    )


def _stop_stream(engine: Engine) -> None:
    engine.call("UpdateTable", {"TableName": "things", "StreamSpecification": {"StreamEnabled": False}})


def _sweep(engine: Engine) -> None:
    assert isinstance(engine.clock, ManualClock)
    if engine.clock.now() < tables_of.NOW + 100:
        engine.clock.advance(100)
    engine.sweep()


def _group(engine: Engine) -> None:
    with engine.group():
        tables_of.put(engine, "new", **attributes("new"))
        _update(engine)
        tables_of.delete(engine, "b")


OPERATIONS: dict[str, Operation] = {
    "put": lambda engine: tables_of.put(engine, "a", **attributes("other")),
    "update": _update,
    "delete": lambda engine: tables_of.delete(engine, "a"),
    "batch": _batch,
    "transaction": _transact,
    "sweep": _sweep,
    "group": _group,
    "create table": lambda engine: tables_of.create(engine, "more", **tables_of.with_stream()),
    "delete table": lambda engine: engine.call("DeleteTable", {"TableName": "things"}),
    "create index": _create_index,
    "delete index": _delete_index,
    "stop stream": _stop_stream,
}

FAILURES: list[tuple[apsw.Error, type[StorageError], bool]] = [
    (apsw.FullError("database or disk is full"), DatabaseFullError, True),
    (apsw.IOError("disk I/O error"), StorageError, False),
    (apsw.BusyError("database is locked"), DatabaseLockedError, False),
]


def opened(path: Path) -> Engine:
    """Open the engine on a file, with a clock that does not advance."""
    return Engine.open(path, clock=tables_of.clock())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with a table, which tests copy."""
    path = tmp_path_factory.mktemp("prepared") / "data.db"
    with opened(path) as engine:
        fill(engine)
    return path


def fresh(prepared: Path, folder: Path, number: int) -> Path:
    """Copy the database and return the path of the copy."""
    path = folder / f"{number}.db"
    path.write_bytes(prepared.read_bytes())
    return path


def settled(engine: Engine) -> dict[str, Any]:
    """Return the observable state after interrupted backfills are complete."""
    for name in engine.call("ListTables", {})["TableNames"]:
        engine.call("DescribeTable", {"TableName": name})
    engine.backfiller.wake()
    engine.backfiller.wait()
    return state(engine)


def _is_equivalent(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Return True if two states are the same except for random names."""
    return bool(without_ids(left) == without_ids(right))


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure[0]).__name__)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_failure_at_any_call_applies_all_or_nothing(
    name: str,
    failure: tuple[apsw.Error, type[StorageError], bool],
    prepared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operation = OPERATIONS[name]
    trap = set_trap(monkeypatch)
    trap.error, told_as, trap.rolls_back = failure
    with opened(fresh(prepared, tmp_path, 0)) as engine:
        before = settled(engine)
        operation(engine)
        after = settled(engine)
    assert not _is_equivalent(before, after)
    messages: list[str] = []
    for number in range(1, MOST_CALLS):
        path = fresh(prepared, tmp_path, number)
        with opened(path) as engine:
            try:
                with trap.failing(number):
                    operation(engine)
                if not trap.sprung:
                    return
            except told_as as error:
                messages.append(str(error))
            assert fsck.check(engine) == []
            left = settled(engine)
            assert _is_equivalent(left, before) or _is_equivalent(left, after), (
                f"half done after failing at call {number}"
            )
            if _is_equivalent(left, before):
                operation(engine)
                assert _is_equivalent(settled(engine), after)
            assert fsck.check(engine) == []
        with opened(path) as engine:
            assert _is_equivalent(settled(engine), after)
        assert str(path) in messages.pop()
        path.unlink()
    raise AssertionError("the operation never came to an end")


# A group in which one call fails.


def test_a_group_that_sqlite_rolled_back_acknowledges_nothing(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = set_trap(monkeypatch)
    trap.error, trap.rolls_back = apsw.FullError("database or disk is full"), True
    with opened(fresh(prepared, tmp_path, 0)) as engine:
        before = state(engine)
        with pytest.raises(StorageError), engine.group():  # noqa: PT012 - the group's end is what must fail
            tables_of.put(engine, "first")
            with pytest.raises(DatabaseFullError), trap.failing(3):
                tables_of.put(engine, "second")
            with pytest.raises(StorageError):
                tables_of.put(engine, "third")
        assert state(engine) == before
        tables_of.put(engine, "fourth")
        assert tables_of.get(engine, "fourth") is not None
        assert fsck.check(engine) == []


def test_a_group_continues_after_a_failure_that_undid_only_its_call(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = set_trap(monkeypatch)
    with opened(fresh(prepared, tmp_path, 0)) as engine:
        with engine.group():
            tables_of.put(engine, "first")
            with pytest.raises(StorageError), trap.failing(3):
                tables_of.put(engine, "second")
            tables_of.put(engine, "third")
        assert [tables_of.get(engine, name) is not None for name in ("first", "second", "third")] == [True, False, True]
        assert fsck.check(engine) == []


# A full disk.


@pytest.mark.parametrize("grouped", [False, True])
def test_a_full_disk_raises_an_error_and_nothing_is_half_written(prepared: Path, tmp_path: Path, grouped: bool) -> None:
    with opened(fresh(prepared, tmp_path, 0)) as engine:
        connection = engine.store._writer.connection
        connection.pragma("max_page_count", connection.pragma("page_count") + 20)
        acknowledged: list[str] = []
        with pytest.raises(DatabaseFullError):  # noqa: PT012 - which of the writes fails is not known
            for number in range(100):
                names = [f"{number}-{index}" for index in range(3)]
                if grouped:
                    with engine.group():
                        for name in names:
                            tables_of.put(engine, name, x={"S": "x" * 3000})
                else:
                    names = names[:1]
                    tables_of.put(engine, names[0], g={"S": "g"}, x={"S": "x" * 9000})
                acknowledged += names
        assert acknowledged
        items = {item["p"]["S"] for item in engine.call("Scan", {"TableName": "things"})["Items"]}
        assert items == {*acknowledged, "a", "b", "c"}
        assert fsck.check(engine) == []
        assert tables_of.get(engine, "a") is not None
        tables_of.delete(engine, acknowledged[0])
        connection.pragma("max_page_count", 1 << 30)
        tables_of.put(engine, "room again", x={"S": "x" * 9000})
        assert fsck.check(engine) == []


# Files that cannot be used.


def test_a_read_only_database_rejects_writes_and_can_be_read(prepared: Path, tmp_path: Path) -> None:
    with opened(fresh(prepared, tmp_path, 0)) as engine:
        connection = engine.store._writer.connection
        connection.pragma("query_only", 1)
        with pytest.raises(DatabaseReadOnlyError, match=r"0\.db"):
            tables_of.put(engine, "new")
        assert tables_of.get(engine, "a") is not None
        connection.pragma("query_only", 0)
        tables_of.put(engine, "new")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
@pytest.mark.parametrize("folder", [False, True])
def test_a_file_or_folder_without_permission_raises_an_error(prepared: Path, tmp_path: Path, folder: bool) -> None:
    path = fresh(prepared, tmp_path, 0)
    locked = tmp_path if folder else path
    locked.chmod(0o500 if folder else 0o400)
    try:
        with pytest.raises(StorageError), opened(path) as engine:
            tables_of.put(engine, "new")
    finally:
        locked.chmod(0o700)


def test_a_folder_in_place_of_the_file_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(DatabaseReadOnlyError):
        opened(tmp_path)


def test_a_corrupt_file_always_raises_a_clear_error(prepared: Path, tmp_path: Path) -> None:
    content = prepared.read_bytes()
    page = 4096
    noticed = 0
    for number in range(len(content) // page):
        path = tmp_path / f"{number}.db"
        middle = number * page + page // 2
        damaged = bytearray(content)
        damaged[number * page + 100 : number * page + 120] = bytes(20)
        damaged[middle : middle + page // 2] = bytes(255 - byte for byte in damaged[middle : middle + page // 2])
        path.write_bytes(damaged)
        try:
            with opened(path) as engine:
                noticed += _exercise(engine)
        except StorageError:
            noticed += 1
    assert noticed > 2


def _exercise(engine: Engine) -> bool:
    """Use everything; whether damage was noticed. Whatever is raised must be keyplan's."""
    noticed = False
    for operation in (state, *OPERATIONS.values()):
        try:
            operation(engine)
        except KeyplanError:
            noticed = True
    try:
        return bool(fsck.check(engine)) or noticed
    except StorageError:
        return True


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_truncated_file_raises_an_error(prepared: Path, tmp_path: Path, share: float) -> None:
    content = prepared.read_bytes()
    path = tmp_path / "short.db"
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DatabaseCorruptError), opened(path) as engine:  # noqa: PT012 - whichever notices first
        problems = fsck.check(engine)
        assert problems
        raise DatabaseCorruptError(str(problems[0]))


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with opened(path) as engine:
        fill(engine)
        assert fsck.check(engine) == []


def test_a_file_that_is_not_a_database_raises_an_error(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("not a database, but a text that is long enough to be looked at" * 100)
    with pytest.raises(DatabaseCorruptError, match=r"text\.db"):
        opened(path)
    assert path.read_text().startswith("not a database")


def test_without_its_log_a_database_has_an_earlier_complete_state(prepared: Path, tmp_path: Path) -> None:
    path = fresh(prepared, tmp_path, 0)
    with opened(path) as engine:
        before = state(engine)
        for name in "defgh":
            tables_of.put(engine, name, **attributes(name))
        other = tmp_path / "other.db"
        other.write_bytes(path.read_bytes())  # what a copy without the log is: nothing of it is in the file yet
        actual_state = state(engine)
    assert actual_state != before
    with opened(other) as engine:
        assert fsck.check(engine) == []
        assert state(engine) == before


def test_a_truncated_log_yields_complete_commits(prepared: Path, tmp_path: Path) -> None:
    path = fresh(prepared, tmp_path, 0)
    with opened(path) as engine:
        for number in range(20):
            tables_of.put(engine, f"n{number:02}", **attributes(str(number)))
        content, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    counts = set()
    for part in range(12):
        other = tmp_path / f"cut{part}.db"
        other.write_bytes(content)
        Path(f"{other}-wal").write_bytes(log[: len(log) * part // 11 + (part % 3) * 7])
        with opened(other) as engine:
            assert fsck.check(engine) == []
            names = [item["p"]["S"] for item in engine.call("Scan", {"TableName": "things"})["Items"]]
            added = sorted(name for name in names if name.startswith("n"))
            assert added == [f"n{number:02}" for number in range(len(added))]
            counts.add(len(added))
    assert {0, 20} < counts


def test_a_file_of_a_newer_version_is_rejected_and_not_changed(prepared: Path, tmp_path: Path) -> None:
    path = fresh(prepared, tmp_path, 0)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(DatabaseVersionError, match="99"):
        opened(path)
    assert path.read_bytes() == content


# A disk that does not take what it is given.


def test_after_a_failed_sync_nothing_is_acknowledged_until_reopened(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fresh(prepared, tmp_path, 0)

    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Engine.open(path, durability="full", clock=tables_of.clock()) as engine:
        tables_of.put(engine, "before")
        with monkeypatch.context() as patch:
            patch.setattr(sync, "_sync_data", failing)
            with pytest.raises(StorageError, match="could not be synced"):
                tables_of.put(engine, "during")
        for again in range(3):
            with pytest.raises(StorageError, match="reopen"):
                tables_of.put(engine, f"after{again}")
        with pytest.raises(StorageError, match="reopen"), engine.group():
            tables_of.put(engine, "grouped")
        with pytest.raises(StorageError, match="reopen"):
            tables_of.create(engine, "more")
        assert tables_of.get(engine, "before") is not None
    with Engine.open(path, durability="full", clock=tables_of.clock()) as engine:
        tables_of.put(engine, "at last")
        assert fsck.check(engine) == []
        assert tables_of.get(engine, "before") is not None


def test_a_snapshot_into_a_missing_folder_raises_an_error(prepared: Path, tmp_path: Path) -> None:
    with opened(fresh(prepared, tmp_path, 0)) as engine:
        target = tmp_path / "missing" / "copy.db"
        with pytest.raises(StorageError, match=r"copy\.db, a copy of .*, cannot be opened"):
            engine.snapshot(target)
        assert not target.exists()
        tables_of.put(engine, "still working")
