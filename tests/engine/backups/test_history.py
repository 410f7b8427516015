"""Recovery records: every kind of write leaves one, and earlier times can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import NOW, Harness, by_name, items_at, recovery_of, table_of

from keyplan.dynamodb.values import encoding
from keyplan.engine import fsck
from keyplan.engine.backups import history
from keyplan.engine.faults.settings import Faults


def names(harness: Harness, time_s: float) -> list[str]:
    """Return the partition keys as of a time."""
    return sorted(item["p"]["S"] for item in items_at(harness, time_s))


def records(harness: Harness) -> int:
    """Return the number of records."""
    return harness.engine.store.view().totals(recovery_of(harness).tree)[0]


def with_recovery(**members: Any) -> Harness:
    """Return a table with recovery on and the items a and b, put a second before the test begins."""
    harness = Harness(**members)
    harness.enable_recovery()
    harness.put("a", x={"S": "old"})
    harness.put("b", x={"S": "old"})
    harness.clock.advance(1)
    return harness


def put_other(harness: Harness) -> None:
    harness.put("a", x={"S": "new"})
    harness.put("c")


def put_with_condition(harness: Harness) -> None:
    item = {**tables_of.key("a"), "x": {"S": "new"}}
    harness.call("PutItem", TableName="things", Item=item, ConditionExpression="attribute_exists(p)")


def update(harness: Harness) -> None:
    harness.call("UpdateItem", TableName="things", Key=tables_of.key("a"), UpdateExpression="REMOVE x")


def update_to_new(harness: Harness) -> None:
    harness.call("UpdateItem", TableName="things", Key=tables_of.key("c"))


def delete(harness: Harness) -> None:
    harness.delete("a")


def batch(harness: Harness) -> None:
    put = {"PutRequest": {"Item": tables_of.key("c")}}
    removal = {"DeleteRequest": {"Key": tables_of.key("a")}}
    harness.call("BatchWriteItem", RequestItems={"things": [put, removal]})


def transact(harness: Harness) -> None:
    harness.call(
        "TransactWriteItems",
        TransactItems=[
            {"Put": {"TableName": "things", "Item": tables_of.key("c")}},
            {"Delete": {"TableName": "things", "Key": tables_of.key("a")}},
            {"Update": {"TableName": "things", "Key": tables_of.key("b"), "UpdateExpression": "REMOVE x"}},
        ],
    )


def statements(harness: Harness) -> None:
    harness.call("ExecuteStatement", Statement="INSERT INTO things VALUE {'p': 'c', 's': '1'}")
    harness.call("ExecuteStatement", Statement="UPDATE things REMOVE x WHERE p = 'a' AND s = '1'")
    harness.call("BatchExecuteStatement", Statements=[{"Statement": "DELETE FROM things WHERE p = 'b' AND s = '1'"}])


def statements_together(harness: Harness) -> None:
    texts = ["INSERT INTO things VALUE {'p': 'c', 's': '1'}", "DELETE FROM things WHERE p = 'a' AND s = '1'"]
    harness.call("ExecuteTransaction", TransactStatements=[{"Statement": text} for text in texts])


def grouped(harness: Harness) -> None:
    with harness.engine.group():
        harness.put("a")
        harness.delete("b")


WRITES: list[Callable[[Harness], None]] = [
    put_other,
    put_with_condition,
    update,
    update_to_new,
    delete,
    batch,
    transact,
    statements,
    statements_together,
    grouped,
]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
@pytest.mark.parametrize("faults", [None, Faults()], ids=["without faults", "with faults"])
def test_every_kind_of_write_can_be_undone(write: Callable[[Harness], None], faults: Faults | None) -> None:
    harness = with_recovery(faults=faults)
    before = items_at(harness, harness.clock.now())
    write(harness)
    harness.clock.advance(1)
    after = items_at(harness, harness.clock.now())
    assert after != before
    assert by_name(after) == by_name(harness.items())
    assert items_at(harness, NOW) == before
    assert items_at(harness, NOW + 0.5) == before
    assert items_at(harness, NOW + 1) == after
    assert fsck.check(harness.engine) == []


def test_expired_items_can_be_restored() -> None:
    harness = with_recovery()
    harness.call(
        "UpdateTimeToLive", TableName="things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"}
    )
    harness.put("c", t={"N": str(int(NOW) + 5)})
    harness.clock.advance(10)
    assert harness.engine.sweep() == 1
    assert names(harness, harness.clock.now()) == ["a", "b"]
    assert names(harness, harness.clock.now() - 1) == ["a", "b", "c"]


def test_without_recovery_a_write_has_no_extra_work() -> None:
    harness = Harness()
    assert table_of(harness).plain
    assert table_of(harness).blind
    harness.enable_recovery()
    assert not table_of(harness).plain
    assert not table_of(harness).blind
    harness.disable_recovery()
    assert table_of(harness).plain
    assert items_at(harness, 0.0) == []
    assert list(history.changes_between(harness.engine.store.view(), table_of(harness), 0.0, NOW)) == []


def test_a_write_that_changes_nothing_leaves_no_record() -> None:
    harness = with_recovery()
    before = records(harness)
    harness.put("a", x={"S": "old"})
    harness.delete("z")
    assert records(harness) == before


def test_changes_at_one_time_are_undone_together() -> None:
    harness = with_recovery()
    for text in ("1", "2", "3"):
        harness.put("a", x={"S": text})
    harness.delete("a")
    harness.put("a", x={"S": "4"})
    assert {item["p"]["S"]: item["x"]["S"] for item in items_at(harness, NOW)} == {"a": "old", "b": "old"}
    assert [item["x"]["S"] for item in items_at(harness, NOW + 1) if item["p"]["S"] == "a"] == ["4"]
    assert records(harness) == 3


def test_a_clock_set_back_does_not_mix_versions() -> None:
    harness = with_recovery()
    harness.put("a", x={"S": "1"})
    harness.clock._now -= 0.5
    harness.put("a", x={"S": "2"})
    harness.put("b", x={"S": "2"})
    expected = {NOW: ["old", "old"], NOW + 0.5: ["old", "2"], NOW + 1: ["2", "2"]}
    for time_s, texts in expected.items():
        assert [item["x"]["S"] for item in sorted(items_at(harness, time_s), key=lambda item: item["p"]["S"])] == texts
    harness.rewind(None)
    assert by_name(harness.items("restored")) == by_name(harness.items())


def test_no_restore_time_shows_a_part_of_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = with_recovery()

    def ticking() -> float:
        harness.clock.advance(0.001)
        return harness.clock._now

    with monkeypatch.context() as patch:
        patch.setattr(harness.clock, "now", ticking)
        started = harness.clock.now()
        transact(harness)
        ended = harness.clock.now()
    states = {tuple(names(harness, started + (ended - started) * part / 200)) for part in range(201)}
    assert states == {("a", "b"), ("b", "c")}
    changed = [len(items_at(harness, started + (ended - started) * part / 200)[0]) for part in range(201)]
    assert set(changed) == {2, 3}


def test_keys_that_are_prefixes_of_other_keys_are_distinguished() -> None:
    harness = Harness()
    harness.enable_recovery()
    sorts = ["", "\x00", "\x00\x00", "\x00\xff", "a", "a\x00", "a\x00b", "ab", "b"]
    for sort in sorts[1:]:
        harness.put("p", sort, x={"S": "1"})
    harness.clock.advance(1)
    for sort in sorts[1::2]:
        harness.delete("p", sort)
    for sort in sorts[2::2]:
        harness.put("p", sort, x={"S": "2"})
    assert [item["s"]["S"] for item in items_at(harness, NOW)] == sorts[1:]
    assert {item["x"]["S"] for item in items_at(harness, NOW)} == {"1"}
    assert [item["s"]["S"] for item in items_at(harness, NOW + 1)] == sorts[2::2]
    key = table_of(harness).key.of_key({"p": {"S": "p"}, "s": {"S": "a\x00"}})
    assert [item["s"]["S"] for item in items_at(harness, NOW, key)] == sorts[5:]


def test_changes_are_listed_with_the_item_before_and_after() -> None:
    harness = with_recovery()
    harness.put("a", x={"S": "mid"})
    harness.put("c")
    harness.clock.advance(1)
    harness.put("a", x={"S": "new"})
    harness.delete("c")
    harness.delete("b")

    def changes(start: float, end: float) -> dict[str, tuple[str | None, str | None]]:
        view, table = harness.engine.store.view(), table_of(harness)
        pairs_by_name = {}
        for change in history.changes_between(view, table, start, end):
            contents = [
                None if version is None else encoding.decode(version[1]) for version in (change.old, change.new)
            ]
            name = (
                next(content for content in contents or [] if content is not None)["p"]["S"]
                if any(contents)
                else "none"
            )
            pairs_by_name[name] = tuple(
                None if content is None else content.get("x", {}).get("S", "") for content in contents
            )
        return pairs_by_name  # type: ignore[return-value]  # pairs

    assert changes(NOW, NOW + 1) == {"a": ("old", "mid"), "c": (None, "")}
    assert changes(NOW + 1, NOW + 2) == {"a": ("mid", "new"), "b": ("old", None), "c": ("", None)}
    assert changes(NOW, NOW + 2) == {"a": ("old", "new"), "b": ("old", None), "none": (None, None)}
    assert changes(NOW + 2, NOW + 3) == {}


# Trimming.


def test_records_are_trimmed_when_no_restore_time_needs_them() -> None:
    harness = Harness()
    harness.enable_recovery(1)
    harness.put("a", x={"S": "1"})
    harness.clock.advance(3600)
    harness.put("a", x={"S": "2"})
    harness.clock.advance(history.DAY_S - 1800)
    assert records(harness) == 2
    assert harness.engine.trim_history() == 1
    assert records(harness) == 1
    earliest = history.earliest_s(recovery_of(harness), harness.clock.now())
    assert [item["x"]["S"] for item in items_at(harness, earliest)] == ["1"]
    harness.clock.advance(history.DAY_S)
    assert harness.engine.trim_history() == 1
    assert harness.engine.trim_history() == 0
    assert records(harness) == 0
    assert [item["x"]["S"] for item in items_at(harness, harness.clock.now())] == ["2"]


def test_many_records_are_trimmed_in_small_batches() -> None:
    harness = Harness()
    harness.enable_recovery(1)
    for number in range(600):
        harness.put(f"n{number}")
    harness.clock.advance(history.DAY_S + 1)
    harness.put("last")
    assert harness.engine.trim_history() == 600
    assert records(harness) == 1
    assert fsck.check(harness.engine) == []


def test_a_table_dropped_during_trimming_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    harness.enable_recovery(1)
    harness.put("a")
    harness.clock.advance(history.DAY_S + 1)
    write = harness.engine.database.write

    def dropped_first(*arguments: Any) -> Any:
        monkeypatch.setattr(harness.engine.database, "write", write)
        harness.call("DeleteTable", TableName="things")
        return write(*arguments)

    monkeypatch.setattr(harness.engine.database, "write", dropped_first)
    assert harness.engine.trim_history() == 0
