"""Copies in chunks: as of one point in time during concurrent writes, across crashes, without orphaned data."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash.failing_store import INDEX, LOCAL
from tests.engine import tables_of
from tests.engine.backup_making import Kept, stored_trees
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
    monkeypatch.setattr(backfill.Backfiller, "wake", lambda self: None)


@pytest.fixture(params=["memory", "file"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    new_backups = Kept()
    if request.param == "file":
        new_backups.engine.close()
        new_backups.engine = Engine.open(tmp_path / "data.db", clock=new_backups.clock)
        tables_of.create(new_backups.engine)
    with new_backups.engine:
        yield new_backups


def fill(kept: Kept, count: int = 20) -> None:
    for number in range(count):
        kept.put(f"{number:03}", x={"S": "first"})


def content(kept: Kept, table: str = "things") -> Items:
    return {item["p"]["S"]: item for item in kept.items(table)}


def rows_of(kept: Kept, arn: str) -> int:
    view = kept.engine.store.view()
    return view.totals(backups.tree_of(backups.find(kept.engine.database, view, arn)))[0]


def status(kept: Kept, arn: str) -> str:
    description: str = kept.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"]
    return description


def work_off(kept: Kept) -> None:
    """Run all pending work in this thread."""
    while pending := backfill.pending(kept.engine.database):
        backfill.fill_some(kept.engine.database, *pending[0], 1)


def restored(kept: Kept, arn: str, target: str = "restored") -> Items:
    kept.restore(arn, target)
    work_off(kept)
    return content(kept, target)


def check_trees(kept: Kept) -> None:
    """Assert that every tree belongs to an existing table or backup."""
    view, expected = kept.engine.store.view(), set()
    for table in stored_tables(view):
        trees = [table.tree, *(index.tree for index in table.indexes.values()), *table.copies]
        expected |= {tree.number for tree in trees}
        expected |= {each.tree.number for each in (table.recovery, table.expiry) if each is not None}
    expected |= {document["tree"] for document in backups.stored(view)}
    assert {name for name in stored_trees(kept.engine) if name.startswith("tree_")} == {f"tree_{n}" for n in expected}


# Content of a backup.


@pytest.mark.usefixtures("by_hand")
def test_a_backup_contains_the_items_of_its_request_time(kept: Kept) -> None:
    fill(kept)
    before = content(kept)
    arn = kept.back_up()
    names = list(before)
    for number, name in enumerate(names):
        if number % 3 == 0:
            kept.delete(name)
        elif number % 3 == 1:
            kept.put(name, x={"S": "second"})
            kept.put(name, x={"S": "third"})
        kept.put(f"new {number}")
        if number % 3 == 0 and number % 2:
            kept.put(name, x={"S": "again"})
        if number < 8:
            backfill.fill_some(kept.engine.database, arn, backfill.ROWS, 1)
    now = content(kept)
    assert status(kept, arn) == "CREATING"
    work_off(kept)
    assert status(kept, arn) == "AVAILABLE"
    assert restored(kept, arn) == before
    assert content(kept) == now
    description = kept.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
    assert description["SourceTableDetails"]["ItemCount"] == 20
    assert fsck.check(kept.engine) == []
    check_trees(kept)


@pytest.mark.usefixtures("by_hand")
def test_a_transaction_is_in_a_backup_completely_or_not_at_all(kept: Kept) -> None:
    fill(kept, 6)
    arn = kept.back_up()
    keys = [{"p": {"S": f"{number:03}"}, "s": {"S": "1"}} for number in range(6)]
    puts = [{"Put": {"TableName": "things", "Item": {**key, "x": {"S": "second"}}}} for key in keys]
    kept.call("TransactWriteItems", TransactItems=puts)
    work_off(kept)
    assert {item["x"]["S"] for item in restored(kept, arn).values()} == {"first"}


@pytest.mark.usefixtures("by_hand")
def test_concurrent_backups_each_show_their_own_time(kept: Kept) -> None:
    fill(kept)
    first, one = content(kept), kept.back_up()
    kept.put("001", x={"S": "second"})
    kept.delete("011")
    second, other = content(kept), kept.back_up()
    for number, name in enumerate(second):
        kept.put(name, x={"S": "third"})
        if number < 10:
            backfill.fill_some(kept.engine.database, (one, other)[number % 2], backfill.ROWS, 1)
    work_off(kept)
    assert (restored(kept, one, "one"), restored(kept, other, "other")) == (first, second)
    check_trees(kept)


@pytest.mark.usefixtures("small_chunks")
def test_the_engines_thread_completes_a_backup() -> None:
    kept = Kept()
    fill(kept)
    before = content(kept)
    arn = kept.back_up()
    kept.engine.backfiller.wait()
    assert status(kept, arn) == "AVAILABLE"
    assert restored(kept, arn) == before


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("look", ["DescribeBackup", "ListBackups"])
def test_without_a_thread_describing_the_backup_completes_it(monkeypatch: pytest.MonkeyPatch, look: str) -> None:
    kept = Kept()
    fill(kept)
    with no_threads(monkeypatch):
        arn = kept.back_up()
        assert status(kept, arn) == "CREATING"
    kept.call(look, **({"BackupArn": arn} if look == "DescribeBackup" else {}))
    kept.engine.backfiller.wait()
    assert status(kept, arn) == "AVAILABLE"


@pytest.mark.usefixtures("by_hand")
def test_an_unfinished_backup_is_in_use(kept: Kept) -> None:
    fill(kept)
    arn = kept.back_up()
    for operation, more in (("DeleteBackup", {}), ("RestoreTableFromBackup", {"TargetTableName": "restored"})):
        assert failure(kept.engine, operation, {"BackupArn": arn, **more})[0] == "BackupInUseException"
    assert fsck.check(kept.engine) == []


def test_large_items_are_copied_in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backfill, "CHUNKS_AT_ONCE", 1)
    monkeypatch.setattr(backfill.Backfiller, "wake", lambda self: None)
    kept = Kept()
    for number in range(10):
        kept.put(str(number), x={"S": "x" * 300_000})
    arn = kept.back_up()
    assert rows_of(kept, arn) == 4  # the fourth exceeds the mebibyte
    work_off(kept)
    assert rows_of(kept, arn) == 10


# Tables and backups dropped during a copy.


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("recovery", [False, True])
def test_a_table_may_be_deleted_and_recreated_during_its_backup(kept: Kept, recovery: bool) -> None:
    if recovery:
        kept.keep()
    fill(kept)
    before = content(kept)
    arn = kept.back_up()
    kept.delete("003")
    kept.delete("017")
    kept.call("DeleteTable", TableName="things")
    tables_of.create(kept.engine)
    kept.put("other")
    work_off(kept)
    assert restored(kept, arn) == before
    assert list(content(kept)) == ["other"]
    assert fsck.check(kept.engine) == []
    check_trees(kept)


@pytest.mark.usefixtures("by_hand")
def test_two_backups_outlive_their_table(kept: Kept) -> None:
    fill(kept)
    before = content(kept)
    arns = kept.back_up(), kept.back_up()
    kept.call("DeleteTable", TableName="things")
    work_off(kept)
    assert [restored(kept, arn, f"restored-{number}") for number, arn in enumerate(arns)] == [before, before]
    check_trees(kept)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("gone", ["recovery", "table"])
def test_a_restore_keeps_the_history_that_it_needs(kept: Kept, gone: str) -> None:
    kept.keep()
    fill(kept)
    then, before = kept.clock.now(), content(kept)
    kept.clock.advance(10)
    for name in list(before)[::2]:
        kept.delete(name)
    kept.put("new")
    kept.rewind(then)
    kept.clock.advance(10)
    kept.put("001", x={"S": "later"})
    if gone == "recovery":
        kept.forget()
    else:
        kept.call("DeleteTable", TableName="things")
    work_off(kept)
    assert content(kept, "restored") == before
    assert fsck.check(kept.engine) == []
    check_trees(kept)


@pytest.mark.usefixtures("by_hand")
def test_a_restore_ends_even_if_an_item_changes_faster_than_its_records_are_read(kept: Kept) -> None:
    kept.keep()
    fill(kept)
    change_often(kept, "010", times=50)
    then, before = kept.clock.now(), content(kept)
    change_often(kept, "010", times=50)
    kept.rewind(then)
    chunks = 0
    while backfill.pending(kept.engine.database):
        backfill.fill_some(kept.engine.database, "restored", backfill.ROWS, 1)
        change_often(kept, "010", times=5)
        chunks += 1
    assert content(kept, "restored") == before
    assert chunks < 2 * len(before)


def change_often(kept: Kept, name: str, times: int) -> None:
    for number in range(times):
        kept.clock.advance(0.01)
        kept.put(name, x={"N": str(number)})


@pytest.mark.usefixtures("by_hand")
def test_history_is_not_trimmed_during_a_restore(kept: Kept) -> None:
    kept.keep(days=1)
    fill(kept)
    then, before = kept.clock.now(), content(kept)
    kept.clock.advance(10)
    for name in before:
        kept.put(name, x={"S": "second"})
    kept.clock.advance(history.DAY_S - 20)
    kept.rewind(then)
    kept.clock.advance(100)
    assert kept.engine.trim_history() == 0
    work_off(kept)
    assert content(kept, "restored") == before
    assert kept.engine.trim_history() == 40


@pytest.mark.usefixtures("by_hand")
def test_only_the_first_change_after_the_restore_time_counts_for_an_item(kept: Kept) -> None:
    kept.keep()
    kept.put("a", x={"S": "0"})
    instants = [kept.clock.now()]
    for number in range(1, 10):
        kept.clock.advance(10)
        kept.put("a", x={"S": str(number)})
        kept.put("b", x={"S": str(number)})
        instants.append(kept.clock.now())
    for number, time_s in enumerate(instants):
        target = f"past-{number}"
        kept.rewind(time_s, target)
        work_off(kept)
        expected = {"a": str(number), **({"b": str(number)} if number else {})}
        assert {name: item["x"]["S"] for name, item in content(kept, target).items()} == expected


@pytest.mark.usefixtures("by_hand")
def test_a_restored_table_is_creating_until_its_rows_are_copied(kept: Kept) -> None:
    fill(kept)
    arn = kept.back_up()
    work_off(kept)
    answer = kept.restore(arn)
    assert answer["TableStatus"] == "CREATING"
    assert kept.call("DescribeTable", TableName="restored")["Table"]["RestoreSummary"]["RestoreInProgress"]
    assert failure(kept.engine, "Scan", {"TableName": "restored"})[0] == "ResourceNotFoundException"
    assert failure(kept.engine, "DeleteTable", {"TableName": "restored"})[0] == "ResourceInUseException"
    assert failure(kept.engine, "DeleteBackup", {"BackupArn": arn})[0] == "BackupInUseException"
    work_off(kept)
    assert kept.call("DescribeTable", TableName="restored")["Table"]["TableStatus"] == "ACTIVE"
    kept.call("DeleteBackup", BackupArn=arn)
    check_trees(kept)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("last", [False, True])
def test_indexes_are_filled_after_all_rows_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    monkeypatch.setattr(backfill, "CHUNK_ROWS", 3)
    kept = Kept()
    path = tmp_path / "data.db"
    with Engine.open(path, clock=kept.clock) as kept.engine, Engine.open(path, clock=kept.clock) as other:
        tables_of.create(
            kept.engine,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in "psgl"],
            GlobalSecondaryIndexes=[{"IndexName": "by_g", **INDEX}],
            LocalSecondaryIndexes=[LOCAL],
        )
        for number in range(20):
            kept.put(f"{number:03}", g={"S": "g"}, l={"S": "l"})
        arn = kept.back_up()
        work_off(kept)
        kept.restore(arn)
        engines = [kept.engine, other]
        while pending := backfill.pending(engines[0].database):
            backfill.fill_some(engines[0].database, *pending[-1 if last else 0], 1)
            engines.reverse()
            engines[0].catalog.reload(engines[0].store.view())
            assert fsck.check(kept.engine) == []
        assert kept.names("restored") == kept.names("restored", IndexName="by_g") == kept.names()
        assert kept.names("restored", IndexName="by_l") == kept.names()
        assert fsck.check(kept.engine) == []


def test_a_deleted_table_with_recovery_leaves_its_rows_to_its_backup() -> None:
    kept = Kept(state_delay_s=5)
    expiry = {"Enabled": True, "AttributeName": "until"}
    kept.call("UpdateTimeToLive", TableName="things", TimeToLiveSpecification=expiry)
    kept.keep()
    kept.put("a", until={"N": str(int(kept.clock.now()) + 1)})
    before, tree = content(kept), kept.engine.database.table("things").tree
    kept.call("DeleteTable", TableName="things")
    kept.clock.advance(2)
    assert kept.engine.sweep() == 0  # items of a backup do not change
    kept.clock.advance(10)
    tables_of.create(kept.engine)
    (system,) = kept.call("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    stored = backups.find(kept.engine.database, kept.engine.store.view(), system["BackupArn"])
    assert backups.tree_of(stored) == tree
    kept.restore(system["BackupArn"])
    kept.clock.advance(5)
    assert content(kept, "restored") == before
    assert fsck.check(kept.engine) == []
    check_trees(kept)


# Killed processes.


@pytest.mark.usefixtures("small_chunks")
def test_opening_the_file_completes_unfinished_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.db"
    kept = Kept()
    with monkeypatch.context() as patch:
        patch.setattr(backfill.Backfiller, "wake", lambda self: None)
        kept.engine = Engine.open(path, clock=kept.clock)
        tables_of.create(kept.engine)
        kept.keep()
        fill(kept)
        before = content(kept)
        done = kept.back_up("done")
        work_off(kept)
        arn = kept.back_up()
        kept.restore(done, "restored")
        kept.rewind(None, "rewound")
        for name in before:
            kept.put(name, x={"S": "second"})
        kept.engine.close()
    with Engine.open(path, clock=kept.clock) as kept.engine:
        kept.engine.backfiller.wait()
        assert status(kept, arn) == "AVAILABLE"
        assert content(kept, "restored") == content(kept, "rewound") == before
        kept.restore(arn, "again")
        kept.engine.backfiller.wait()
        assert content(kept, "again") == before
        assert fsck.check(kept.engine) == []
        check_trees(kept)


@pytest.mark.usefixtures("by_hand")
def test_several_processes_share_a_copy(tmp_path: Path) -> None:
    kept = Kept()
    path = tmp_path / "data.db"
    with Engine.open(path, clock=kept.clock) as kept.engine, Engine.open(path, clock=kept.clock) as other:
        tables_of.create(kept.engine)
        fill(kept)
        before = content(kept)
        arn = kept.back_up()
        engines = [kept.engine, other] * 20
        for name, engine in zip(before, engines, strict=False):
            put = {"TableName": "things", "Item": {**tables_of.key(name), "x": {"S": "second"}}}
            engine.call("PutItem", put)
            backfill.fill_some(engine.database, arn, backfill.ROWS, 1)
        assert backfill.pending(kept.engine.database) == backfill.pending(other.database) == []
        assert restored(kept, arn) == before


# Random sequences of steps.


class Chance:
    """Random writes, backups, restores and chunks, and the expected content of each copy."""

    def __init__(self, kept: Kept, seed: int) -> None:
        self.kept, self.chance = kept, random.Random(seed)
        self.instants: list[tuple[float, Items]] = []
        self.backups: dict[str, Items] = {}
        self.restored: dict[str, Items] = {}

    def step(self) -> None:
        kept, chance = self.kept, self.chance
        what = chance.choices(("put", "delete", "chunk", "back up", "rewind", "restore"), (10, 6, 10, 1, 1, 1))[0]
        name = f"{chance.randrange(25):03}"
        if what == "put":
            kept.put(name, x={"S": str(chance.randrange(3))})
        elif what == "delete":
            kept.delete(name)
        elif what == "back up":
            self.backups[kept.back_up()] = content(kept)
        elif what == "rewind":
            target = f"restored-{len(self.restored)}"
            latest = chance.random() < 0.3
            time_s, expected = (None, content(kept)) if latest else chance.choice(self.instants)
            kept.rewind(time_s, target)
            self.restored[target] = expected
        elif what == "restore":
            ready = [arn for arn in self.backups if status(kept, arn) == "AVAILABLE"]
            if ready and not self._is_restoring():
                target, arn = f"restored-{len(self.restored)}", chance.choice(ready)
                kept.restore(arn, target)
                self.restored[target] = self.backups[arn]
        elif pending := backfill.pending(kept.engine.database):
            backfill.fill_some(kept.engine.database, *chance.choice(pending), 1)
        if chance.random() < 0.3:
            self.instants.append((kept.clock.now(), content(kept)))
            kept.clock.advance(1)

    def _is_restoring(self) -> bool:
        described = (self.kept.call("DescribeTable", TableName=name)["Table"] for name in self.restored)
        return any(each["TableStatus"] == "CREATING" for each in described)


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("seed", range(examples(12)))
def test_copies_match_a_model(seed: int) -> None:
    kept = Kept()
    kept.keep()
    fill(kept, 10)
    run = Chance(kept, seed)
    run.instants.append((kept.clock.now(), content(kept)))
    kept.clock.advance(1)
    for _ in range(150):
        run.step()
    assert fsck.check(kept.engine) == []
    work_off(kept)
    assert {name: content(kept, name) for name in run.restored} == run.restored
    for number, (arn, expected) in enumerate(run.backups.items()):
        assert restored(kept, arn, f"last-{number}") == expected
    assert fsck.check(kept.engine) == []
    check_trees(kept)
