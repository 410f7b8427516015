"""Recovery records: every kind of write leaves one, and earlier times can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.engine import tables_of
from tests.engine.backup_making import NOW, Kept, by_name, recovery_of, seen, table_of

from keyplan.dynamodb.values import encoding
from keyplan.engine import fsck
from keyplan.engine.backups import history
from keyplan.engine.faults.settings import Faults


def names(kept: Kept, time_s: float) -> list[str]:
    """Return the partition keys as of a time."""
    return sorted(item["p"]["S"] for item in seen(kept, time_s))


def records(kept: Kept) -> int:
    """Return the number of records."""
    return kept.engine.store.view().totals(recovery_of(kept).tree)[0]


def keeping(**members: Any) -> Kept:
    """Return a table with recovery on and the items a and b, put a second before the test begins."""
    kept = Kept(**members)
    kept.keep()
    kept.put("a", x={"S": "old"})
    kept.put("b", x={"S": "old"})
    kept.clock.advance(1)
    return kept


def put_other(kept: Kept) -> None:
    kept.put("a", x={"S": "new"})
    kept.put("c")


def put_with_condition(kept: Kept) -> None:
    item = {**tables_of.key("a"), "x": {"S": "new"}}
    kept.call("PutItem", TableName="things", Item=item, ConditionExpression="attribute_exists(p)")


def update(kept: Kept) -> None:
    kept.call("UpdateItem", TableName="things", Key=tables_of.key("a"), UpdateExpression="REMOVE x")


def update_to_new(kept: Kept) -> None:
    kept.call("UpdateItem", TableName="things", Key=tables_of.key("c"))


def delete(kept: Kept) -> None:
    kept.delete("a")


def batch(kept: Kept) -> None:
    put = {"PutRequest": {"Item": tables_of.key("c")}}
    gone = {"DeleteRequest": {"Key": tables_of.key("a")}}
    kept.call("BatchWriteItem", RequestItems={"things": [put, gone]})


def transact(kept: Kept) -> None:
    kept.call(
        "TransactWriteItems",
        TransactItems=[
            {"Put": {"TableName": "things", "Item": tables_of.key("c")}},
            {"Delete": {"TableName": "things", "Key": tables_of.key("a")}},
            {"Update": {"TableName": "things", "Key": tables_of.key("b"), "UpdateExpression": "REMOVE x"}},
        ],
    )


def statements(kept: Kept) -> None:
    kept.call("ExecuteStatement", Statement="INSERT INTO things VALUE {'p': 'c', 's': '1'}")
    kept.call("ExecuteStatement", Statement="UPDATE things REMOVE x WHERE p = 'a' AND s = '1'")
    kept.call("BatchExecuteStatement", Statements=[{"Statement": "DELETE FROM things WHERE p = 'b' AND s = '1'"}])


def statements_together(kept: Kept) -> None:
    texts = ["INSERT INTO things VALUE {'p': 'c', 's': '1'}", "DELETE FROM things WHERE p = 'a' AND s = '1'"]
    kept.call("ExecuteTransaction", TransactStatements=[{"Statement": text} for text in texts])


def grouped(kept: Kept) -> None:
    with kept.engine.group():
        kept.put("a")
        kept.delete("b")


WRITES: list[Callable[[Kept], None]] = [
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
def test_every_kind_of_write_can_be_undone(write: Callable[[Kept], None], faults: Faults | None) -> None:
    kept = keeping(faults=faults)
    before = seen(kept, kept.clock.now())
    write(kept)
    kept.clock.advance(1)
    after = seen(kept, kept.clock.now())
    assert after != before
    assert by_name(after) == by_name(kept.items())
    assert seen(kept, NOW) == before
    assert seen(kept, NOW + 0.5) == before
    assert seen(kept, NOW + 1) == after
    assert fsck.check(kept.engine) == []


def test_expired_items_can_be_restored() -> None:
    kept = keeping()
    kept.call("UpdateTimeToLive", TableName="things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "t"})
    kept.put("c", t={"N": str(int(NOW) + 5)})
    kept.clock.advance(10)
    assert kept.engine.sweep() == 1
    assert names(kept, kept.clock.now()) == ["a", "b"]
    assert names(kept, kept.clock.now() - 1) == ["a", "b", "c"]


def test_without_recovery_a_write_has_no_extra_work() -> None:
    kept = Kept()
    assert table_of(kept).plain
    assert table_of(kept).blind
    kept.keep()
    assert not table_of(kept).plain
    assert not table_of(kept).blind
    kept.forget()
    assert table_of(kept).plain
    assert seen(kept, 0.0) == []
    assert list(history.changes_between(kept.engine.store.view(), table_of(kept), 0.0, NOW)) == []


def test_a_write_that_changes_nothing_leaves_no_record() -> None:
    kept = keeping()
    before = records(kept)
    kept.put("a", x={"S": "old"})
    kept.delete("z")
    assert records(kept) == before


def test_changes_at_one_time_are_undone_together() -> None:
    kept = keeping()
    for text in ("1", "2", "3"):
        kept.put("a", x={"S": text})
    kept.delete("a")
    kept.put("a", x={"S": "4"})
    assert {item["p"]["S"]: item["x"]["S"] for item in seen(kept, NOW)} == {"a": "old", "b": "old"}
    assert [item["x"]["S"] for item in seen(kept, NOW + 1) if item["p"]["S"] == "a"] == ["4"]
    assert records(kept) == 3


def test_a_clock_set_back_does_not_mix_versions() -> None:
    kept = keeping()
    kept.put("a", x={"S": "1"})
    kept.clock._now -= 0.5
    kept.put("a", x={"S": "2"})
    kept.put("b", x={"S": "2"})
    expected = {NOW: ["old", "old"], NOW + 0.5: ["old", "2"], NOW + 1: ["2", "2"]}
    for time_s, texts in expected.items():
        assert [item["x"]["S"] for item in sorted(seen(kept, time_s), key=lambda item: item["p"]["S"])] == texts
    kept.rewind(None)
    assert by_name(kept.items("restored")) == by_name(kept.items())


def test_no_restore_time_shows_a_part_of_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = keeping()

    def ticking() -> float:
        kept.clock.advance(0.001)
        return kept.clock._now

    with monkeypatch.context() as patch:
        patch.setattr(kept.clock, "now", ticking)
        begun = kept.clock.now()
        transact(kept)
        ended = kept.clock.now()
    states = {tuple(names(kept, begun + (ended - begun) * part / 200)) for part in range(201)}
    assert states == {("a", "b"), ("b", "c")}
    changed = [len(seen(kept, begun + (ended - begun) * part / 200)[0]) for part in range(201)]
    assert set(changed) == {2, 3}


def test_keys_that_are_prefixes_of_other_keys_are_distinguished() -> None:
    kept = Kept()
    kept.keep()
    sorts = ["", "\x00", "\x00\x00", "\x00\xff", "a", "a\x00", "a\x00b", "ab", "b"]
    for sort in sorts[1:]:
        kept.put("p", sort, x={"S": "1"})
    kept.clock.advance(1)
    for sort in sorts[1::2]:
        kept.delete("p", sort)
    for sort in sorts[2::2]:
        kept.put("p", sort, x={"S": "2"})
    assert [item["s"]["S"] for item in seen(kept, NOW)] == sorts[1:]
    assert {item["x"]["S"] for item in seen(kept, NOW)} == {"1"}
    assert [item["s"]["S"] for item in seen(kept, NOW + 1)] == sorts[2::2]
    key = table_of(kept).key.of_key({"p": {"S": "p"}, "s": {"S": "a\x00"}})
    assert [item["s"]["S"] for item in seen(kept, NOW, key)] == sorts[5:]


def test_changes_are_listed_with_the_item_before_and_after() -> None:
    kept = keeping()
    kept.put("a", x={"S": "mid"})
    kept.put("c")
    kept.clock.advance(1)
    kept.put("a", x={"S": "new"})
    kept.delete("c")
    kept.delete("b")

    def changes(start: float, end: float) -> dict[str, tuple[str | None, str | None]]:
        view, table = kept.engine.store.view(), table_of(kept)
        pairs_by_name = {}
        for change in history.changes_between(view, table, start, end):
            contents = [None if each is None else encoding.decode(each[1]) for each in (change.old, change.new)]
            name = next(each for each in contents or [] if each is not None)["p"]["S"] if any(contents) else "none"
            pairs_by_name[name] = tuple(None if each is None else each.get("x", {}).get("S", "") for each in contents)
        return pairs_by_name  # type: ignore[return-value]  # pairs

    assert changes(NOW, NOW + 1) == {"a": ("old", "mid"), "c": (None, "")}
    assert changes(NOW + 1, NOW + 2) == {"a": ("mid", "new"), "b": ("old", None), "c": ("", None)}
    assert changes(NOW, NOW + 2) == {"a": ("old", "new"), "b": ("old", None), "none": (None, None)}
    assert changes(NOW + 2, NOW + 3) == {}


# Trimming.


def test_records_are_trimmed_when_no_restore_time_needs_them() -> None:
    kept = Kept()
    kept.keep(1)
    kept.put("a", x={"S": "1"})
    kept.clock.advance(3600)
    kept.put("a", x={"S": "2"})
    kept.clock.advance(history.DAY_S - 1800)
    assert records(kept) == 2
    assert kept.engine.trim_history() == 1
    assert records(kept) == 1
    earliest = history.earliest_s(recovery_of(kept), kept.clock.now())
    assert [item["x"]["S"] for item in seen(kept, earliest)] == ["1"]
    kept.clock.advance(history.DAY_S)
    assert kept.engine.trim_history() == 1
    assert kept.engine.trim_history() == 0
    assert records(kept) == 0
    assert [item["x"]["S"] for item in seen(kept, kept.clock.now())] == ["2"]


def test_many_records_are_trimmed_in_small_batches() -> None:
    kept = Kept()
    kept.keep(1)
    for number in range(600):
        kept.put(f"n{number}")
    kept.clock.advance(history.DAY_S + 1)
    kept.put("last")
    assert kept.engine.trim_history() == 600
    assert records(kept) == 1
    assert fsck.check(kept.engine) == []


def test_a_table_dropped_during_trimming_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept()
    kept.keep(1)
    kept.put("a")
    kept.clock.advance(history.DAY_S + 1)
    write = kept.engine.database.write

    def dropped_first(*arguments: Any) -> Any:
        monkeypatch.setattr(kept.engine.database, "write", write)
        kept.call("DeleteTable", TableName="things")
        return write(*arguments)

    monkeypatch.setattr(kept.engine.database, "write", dropped_first)
    assert kept.engine.trim_history() == 0
