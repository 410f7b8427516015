"""Copies in chunks: as of one point in time during concurrent writes, across crashes, without orphaned data."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash.failing_store import INDEX, LOCAL
from tests.engine import tables_of
from tests.engine.backup_making import Harness, stored_trees
from tests.engine.table_making import failure
from tests.engine.test_no_threads import no_threads
from tests.laws import examples

from keyplan.engine import fsck
from keyplan.engine.backups import backups, copies, history
from keyplan.engine.engine import Engine
from keyplan.engine.tables import backfill
from keyplan.engine.tables.catalog import stored_tables

Items = dict[str, dict[str, Any]]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use two rows a chunk, and one chunk in the operation itself."""
    monkeypatch.setattr(copies, "CHUNK_ROWS", 2)
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)


@pytest.fixture
def by_hand(small_chunks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no thread: the test copies each chunk."""
    monkeypatch.setattr(backfill.Backfiller, "_pending", lambda _: [])


@pytest.fixture(params=["memory", "file"])
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    new_backups = Harness()
    if request.param == "file":
        new_backups.engine.close()
        new_backups.engine = Engine.open(tmp_path / "data.db", clock=new_backups.clock)
        tables_of.create(new_backups.engine)
    with new_backups.engine:
        yield new_backups


def fill(harness: Harness, count: int = 20) -> None:
    for number in range(count):
        harness.put(f"{number:03}", x={"S": "first"})


def content(harness: Harness, table: str = "things") -> Items:
    return {item["p"]["S"]: item for item in harness.items(table)}


def rows_of(harness: Harness, arn: str) -> int:
    view = harness.engine.store.view()
    return view.totals(backups.tree_of(backups.find(harness.engine.database, view, arn)))[0]


def status(harness: Harness, arn: str) -> str:
    description: str = harness.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"][
        "BackupStatus"
    ]
    return description


def work_off(harness: Harness) -> None:
    """Run all pending work in this thread."""
    while pending := backfill.pending_backfills(harness.engine.database):
        backfill.fill_chunks(harness.engine.database, *pending[0], 1)


def restored(harness: Harness, arn: str, target: str = "restored") -> Items:
    harness.restore(arn, target)
    work_off(harness)
    return content(harness, target)


def check_trees(harness: Harness) -> None:
    """Assert that every tree belongs to an existing table or backup."""
    view, expected = harness.engine.store.view(), set()
    for table in stored_tables(view):
        trees = [table.tree, *(index.tree for index in table.indexes.values()), *table.copies]
        expected |= {tree.number for tree in trees}
        expected |= {each.tree.number for each in (table.recovery, table.expiry) if each is not None}
    expected |= {document["tree"] for document in backups.all_backups(view)}
    assert {name for name in stored_trees(harness.engine) if name.startswith("tree_")} == {
        f"tree_{n}" for n in expected
    }


# Content of a backup.


@pytest.mark.usefixtures("by_hand")
def test_a_backup_contains_the_items_of_its_request_time(harness: Harness) -> None:
    fill(harness)
    before = content(harness)
    arn = harness.back_up()
    names = list(before)
    for number, name in enumerate(names):
        if number % 3 == 0:
            harness.delete(name)
        elif number % 3 == 1:
            harness.put(name, x={"S": "second"})
            harness.put(name, x={"S": "third"})
        harness.put(f"new {number}")
        if number % 3 == 0 and number % 2:
            harness.put(name, x={"S": "again"})
        if number < 8:
            backfill.fill_chunks(harness.engine.database, arn, backfill.ROWS, 1)
    now = content(harness)
    assert status(harness, arn) == "CREATING"
    work_off(harness)
    assert status(harness, arn) == "AVAILABLE"
    assert restored(harness, arn) == before
    assert content(harness) == now
    description = harness.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
    assert description["SourceTableDetails"]["ItemCount"] == 20
    assert fsck.check(harness.engine) == []
    check_trees(harness)


@pytest.mark.usefixtures("by_hand")
def test_a_transaction_is_in_a_backup_completely_or_not_at_all(harness: Harness) -> None:
    fill(harness, 6)
    arn = harness.back_up()
    keys = [{"p": {"S": f"{number:03}"}, "s": {"S": "1"}} for number in range(6)]
    puts = [{"Put": {"TableName": "things", "Item": {**key, "x": {"S": "second"}}}} for key in keys]
    harness.call("TransactWriteItems", TransactItems=puts)
    work_off(harness)
    assert {item["x"]["S"] for item in restored(harness, arn).values()} == {"first"}


@pytest.mark.usefixtures("by_hand")
def test_concurrent_backups_each_show_their_own_time(harness: Harness) -> None:
    fill(harness)
    first, backup = content(harness), harness.back_up()
    harness.put("001", x={"S": "second"})
    harness.delete("011")
    second, other = content(harness), harness.back_up()
    for number, name in enumerate(second):
        harness.put(name, x={"S": "third"})
        if number < 10:
            backfill.fill_chunks(harness.engine.database, (backup, other)[number % 2], backfill.ROWS, 1)
    work_off(harness)
    assert (restored(harness, backup, "one"), restored(harness, other, "other")) == (first, second)
    check_trees(harness)


@pytest.mark.usefixtures("small_chunks")
def test_the_engines_thread_completes_a_backup() -> None:
    harness = Harness()
    fill(harness)
    before = content(harness)
    arn = harness.back_up()
    harness.engine.backfiller.wait()
    assert status(harness, arn) == "AVAILABLE"
    assert restored(harness, arn) == before


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("look", ["DescribeBackup", "ListBackups"])
def test_without_a_thread_describing_the_backup_completes_it(monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    harness = Harness()
    fill(harness)
    with no_threads(monkeypatch):
        arn = harness.back_up()
        assert status(harness, arn) == "CREATING"
    harness.call(look, **({"BackupArn": arn} if look == "DescribeBackup" else {}))
    harness.engine.backfiller.wait()
    assert status(harness, arn) == "AVAILABLE"


@pytest.mark.usefixtures("by_hand")
def test_an_unfinished_backup_is_in_use(harness: Harness) -> None:
    fill(harness)
    arn = harness.back_up()
    for operation, more in (("DeleteBackup", {}), ("RestoreTableFromBackup", {"TargetTableName": "restored"})):
        assert failure(harness.engine, operation, {"BackupArn": arn, **more})[0] == "BackupInUseException"
    assert fsck.check(harness.engine) == []


def test_large_items_are_copied_in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)
    monkeypatch.setattr(backfill.Backfiller, "_pending", lambda _: [])
    harness = Harness()
    for number in range(10):
        harness.put(str(number), x={"S": "x" * 300_000})
    arn = harness.back_up()
    assert rows_of(harness, arn) == 4  # the fourth exceeds the mebibyte
    work_off(harness)
    assert rows_of(harness, arn) == 10


# Tables and backups dropped during a copy.


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("recovery", [False, True])
def test_a_table_may_be_deleted_and_recreated_during_its_backup(harness: Harness, recovery: bool) -> None:
    if recovery:
        harness.enable_recovery()
    fill(harness)
    before = content(harness)
    arn = harness.back_up()
    harness.delete("003")
    harness.delete("017")
    harness.call("DeleteTable", TableName="things")
    tables_of.create(harness.engine)
    harness.put("other")
    work_off(harness)
    assert restored(harness, arn) == before
    assert list(content(harness)) == ["other"]
    assert fsck.check(harness.engine) == []
    check_trees(harness)


@pytest.mark.usefixtures("by_hand")
def test_two_backups_outlive_their_table(harness: Harness) -> None:
    fill(harness)
    before = content(harness)
    arns = harness.back_up(), harness.back_up()
    harness.call("DeleteTable", TableName="things")
    work_off(harness)
    assert [restored(harness, arn, f"restored-{number}") for number, arn in enumerate(arns)] == [before, before]
    check_trees(harness)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("gone", ["recovery", "table"])
def test_a_restore_keeps_the_history_that_it_needs(harness: Harness, gone: str) -> None:
    harness.enable_recovery()
    fill(harness)
    then, before = harness.clock.now(), content(harness)
    harness.clock.advance(10)
    for name in list(before)[::2]:
        harness.delete(name)
    harness.put("new")
    harness.rewind(then)
    harness.clock.advance(10)
    harness.put("001", x={"S": "later"})
    if gone == "recovery":
        harness.disable_recovery()
    else:
        harness.call("DeleteTable", TableName="things")
    work_off(harness)
    assert content(harness, "restored") == before
    assert fsck.check(harness.engine) == []
    check_trees(harness)


@pytest.mark.usefixtures("by_hand")
def test_a_restore_ends_even_if_an_item_changes_faster_than_its_records_are_read(harness: Harness) -> None:
    harness.enable_recovery()
    fill(harness)
    change_often(harness, "010", times=50)
    then, before = harness.clock.now(), content(harness)
    change_often(harness, "010", times=50)
    harness.rewind(then)
    chunks = 0
    while backfill.pending_backfills(harness.engine.database):
        backfill.fill_chunks(harness.engine.database, "restored", backfill.ROWS, 1)
        change_often(harness, "010", times=5)
        chunks += 1
    assert content(harness, "restored") == before
    assert chunks < 2 * len(before)


def change_often(harness: Harness, name: str, times: int) -> None:
    for number in range(times):
        harness.clock.advance(0.01)
        harness.put(name, x={"N": str(number)})


@pytest.mark.usefixtures("by_hand")
def test_history_is_not_trimmed_during_a_restore(harness: Harness) -> None:
    harness.enable_recovery(days=1)
    fill(harness)
    then, before = harness.clock.now(), content(harness)
    harness.clock.advance(10)
    for name in before:
        harness.put(name, x={"S": "second"})
    harness.clock.advance(history.DAY_S - 20)
    harness.rewind(then)
    harness.clock.advance(100)
    assert harness.engine.trim_history() == 0
    work_off(harness)
    assert content(harness, "restored") == before
    assert harness.engine.trim_history() == 40


@pytest.mark.usefixtures("by_hand")
def test_only_the_first_change_after_the_restore_time_counts_for_an_item(harness: Harness) -> None:
    harness.enable_recovery()
    harness.put("a", x={"S": "0"})
    instants = [harness.clock.now()]
    for number in range(1, 10):
        harness.clock.advance(10)
        harness.put("a", x={"S": str(number)})
        harness.put("b", x={"S": str(number)})
        instants.append(harness.clock.now())
    for number, time_s in enumerate(instants):
        target = f"past-{number}"
        harness.rewind(time_s, target)
        work_off(harness)
        expected = {"a": str(number), **({"b": str(number)} if number else {})}
        assert {name: item["x"]["S"] for name, item in content(harness, target).items()} == expected


@pytest.mark.usefixtures("by_hand")
def test_a_restored_table_is_creating_until_its_rows_are_copied(harness: Harness) -> None:
    fill(harness)
    arn = harness.back_up()
    work_off(harness)
    response = harness.restore(arn)
    assert response["TableStatus"] == "CREATING"
    assert harness.call("DescribeTable", TableName="restored")["Table"]["RestoreSummary"]["RestoreInProgress"]
    assert failure(harness.engine, "Scan", {"TableName": "restored"})[0] == "ResourceNotFoundException"
    assert failure(harness.engine, "DeleteTable", {"TableName": "restored"})[0] == "ResourceInUseException"
    assert failure(harness.engine, "DeleteBackup", {"BackupArn": arn})[0] == "BackupInUseException"
    work_off(harness)
    assert harness.call("DescribeTable", TableName="restored")["Table"]["TableStatus"] == "ACTIVE"
    harness.call("DeleteBackup", BackupArn=arn)
    check_trees(harness)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("last", [False, True])
def test_indexes_are_filled_after_all_rows_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 3)
    harness = Harness()
    path = tmp_path / "data.db"
    with Engine.open(path, clock=harness.clock) as harness.engine, Engine.open(path, clock=harness.clock) as other:
        tables_of.create(
            harness.engine,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "psgl"],
            GlobalSecondaryIndexes=[{"IndexName": "by_g", **INDEX}],
            LocalSecondaryIndexes=[LOCAL],
        )
        for number in range(20):
            harness.put(f"{number:03}", g={"S": "g"}, l={"S": "l"})
        arn = harness.back_up()
        work_off(harness)
        harness.restore(arn)
        engines = [harness.engine, other]
        while pending := backfill.pending_backfills(engines[0].database):
            backfill.fill_chunks(engines[0].database, *pending[-1 if last else 0], 1)
            engines.reverse()
            engines[0].catalog.reload(engines[0].store.view())
            assert fsck.check(harness.engine) == []
        assert harness.names("restored") == harness.names("restored", IndexName="by_g") == harness.names()
        assert harness.names("restored", IndexName="by_l") == harness.names()
        assert fsck.check(harness.engine) == []


def test_a_deleted_table_with_recovery_leaves_its_rows_to_its_backup() -> None:
    harness = Harness(state_delay_s=5)
    expiry = {"Enabled": True, "AttributeName": "until"}
    harness.call("UpdateTimeToLive", TableName="things", TimeToLiveSpecification=expiry)
    harness.enable_recovery()
    harness.put("a", until={"N": str(int(harness.clock.now()) + 1)})
    before, tree = content(harness), harness.engine.database.table("things").tree
    harness.call("DeleteTable", TableName="things")
    harness.clock.advance(2)
    assert harness.engine.sweep() == 0  # items of a backup do not change
    harness.clock.advance(10)
    tables_of.create(harness.engine)
    (system,) = harness.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    stored = backups.find(harness.engine.database, harness.engine.store.view(), system["BackupArn"])
    assert backups.tree_of(stored) == tree
    harness.restore(system["BackupArn"])
    harness.clock.advance(5)
    assert content(harness, "restored") == before
    assert fsck.check(harness.engine) == []
    check_trees(harness)


# Killed processes.


@pytest.mark.usefixtures("small_chunks")
def test_opening_the_file_completes_unfinished_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.db"
    harness = Harness()
    with monkeypatch.context() as patch:
        patch.setattr(backfill.Backfiller, "_pending", lambda _: [])
        harness.engine = Engine.open(path, clock=harness.clock)
        tables_of.create(harness.engine)
        harness.enable_recovery()
        fill(harness)
        before = content(harness)
        done = harness.back_up("done")
        work_off(harness)
        arn = harness.back_up()
        harness.restore(done, "restored")
        harness.rewind(None, "rewound")
        for name in before:
            harness.put(name, x={"S": "second"})
        harness.engine.close()
    with Engine.open(path, clock=harness.clock) as harness.engine:
        harness.engine.backfiller.wait()
        assert status(harness, arn) == "AVAILABLE"
        assert content(harness, "restored") == content(harness, "rewound") == before
        harness.restore(arn, "again")
        harness.engine.backfiller.wait()
        assert content(harness, "again") == before
        assert fsck.check(harness.engine) == []
        check_trees(harness)


@pytest.mark.usefixtures("by_hand")
def test_several_processes_share_a_copy(tmp_path: Path) -> None:
    harness = Harness()
    path = tmp_path / "data.db"
    with Engine.open(path, clock=harness.clock) as harness.engine, Engine.open(path, clock=harness.clock) as other:
        tables_of.create(harness.engine)
        fill(harness)
        before = content(harness)
        arn = harness.back_up()
        engines = [harness.engine, other] * 20
        for name, engine in zip(before, engines, strict=False):
            put = {"TableName": "things", "Item": {**tables_of.key(name), "x": {"S": "second"}}}
            engine.call("PutItem", put)
            backfill.fill_chunks(engine.database, arn, backfill.ROWS, 1)
        assert backfill.pending_backfills(harness.engine.database) == backfill.pending_backfills(other.database) == []
        assert restored(harness, arn) == before


# Random sequences of steps.


class Chance:
    """Random writes, backups, restores and chunks, and the expected content of each copy."""

    def __init__(self, harness: Harness, seed: int) -> None:
        self.harness, self.chance = harness, random.Random(seed)
        self.instants: list[tuple[float, Items]] = []
        self.backups: dict[str, Items] = {}
        self.restored: dict[str, Items] = {}

    def step(self) -> None:
        harness, chance = self.harness, self.chance
        action = chance.choices(("put", "delete", "chunk", "back up", "rewind", "restore"), (10, 6, 10, 1, 1, 1))[0]
        name = f"{chance.randrange(25):03}"
        if action == "put":
            harness.put(name, x={"S": str(chance.randrange(3))})
        elif action == "delete":
            harness.delete(name)
        elif action == "back up":
            self.backups[harness.back_up()] = content(harness)
        elif action == "rewind":
            target = f"restored-{len(self.restored)}"
            latest = chance.random() < 0.3
            time_s, expected = (None, content(harness)) if latest else chance.choice(self.instants)
            harness.rewind(time_s, target)
            self.restored[target] = expected
        elif action == "restore":
            ready = [arn for arn in self.backups if status(harness, arn) == "AVAILABLE"]
            if ready and not self._is_restoring():
                target, arn = f"restored-{len(self.restored)}", chance.choice(ready)
                harness.restore(arn, target)
                self.restored[target] = self.backups[arn]
        elif pending := backfill.pending_backfills(harness.engine.database):
            backfill.fill_chunks(harness.engine.database, *chance.choice(pending), 1)
        if chance.random() < 0.3:
            self.instants.append((harness.clock.now(), content(harness)))
            harness.clock.advance(1)

    def _is_restoring(self) -> bool:
        described = (self.harness.call("DescribeTable", TableName=name)["Table"] for name in self.restored)
        return any(table["TableStatus"] == "CREATING" for table in described)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("seed", range(examples(12)))
def test_copies_match_a_model(seed: int) -> None:
    harness = Harness()
    harness.enable_recovery()
    fill(harness, 10)
    run = Chance(harness, seed)
    run.instants.append((harness.clock.now(), content(harness)))
    harness.clock.advance(1)
    for _ in range(150):
        run.step()
    assert fsck.check(harness.engine) == []
    work_off(harness)
    assert {name: content(harness, name) for name in run.restored} == run.restored
    for number, (arn, expected) in enumerate(run.backups.items()):
        assert restored(harness, arn, f"last-{number}") == expected
    assert fsck.check(harness.engine) == []
    check_trees(harness)
