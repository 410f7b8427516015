"""Property: every earlier time can be restored, with all items and index entries, after any writes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.engine import tables_of
from tests.engine.backup_making import Harness, by_name, items_at, recovery_of

from keyplan.engine import fsck
from keyplan.engine.backups import history

KEYS = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.sampled_from(["1", "2", "3"])
STEP = st.one_of(
    st.tuples(st.just("put"), KEYS, TEXTS),
    st.tuples(st.just("put"), KEYS, st.none()),
    st.tuples(st.just("update"), KEYS, TEXTS),
    st.tuples(st.just("delete"), KEYS, st.none()),
    st.tuples(st.just("move"), KEYS, KEYS),
    st.tuples(st.just("wait"), st.sampled_from([0.25, 1.0, 20_000.5]), st.none()),
    st.tuples(st.just("trim"), st.none(), st.none()),
)
Items = dict[str, dict[str, Any]]


def take(harness: Harness, model: Items, step: tuple[str, Any, Any]) -> None:
    """Apply a step to the engine and to the model."""
    kind, name, text = step
    if kind == "wait":
        harness.clock.advance(name)
    elif kind == "trim":
        harness.engine.trim_history()
    elif kind == "delete":
        harness.delete(name)
        model.pop(name, None)
    elif kind == "put":
        attributes: dict[str, Any] = {} if text is None else {"g": {"S": text}}
        harness.put(name, **attributes)
        model[name] = {**tables_of.key(name), **attributes}
    elif kind == "update":
        harness.call(
            "UpdateItem",
            TableName="things",
            Key=tables_of.key(name),
            UpdateExpression="SET g = :g ADD n :one",
            ExpressionAttributeValues={":g": {"S": text}, ":one": {"N": "1"}},
        )
        before = model.get(name, tables_of.key(name))
        count = int(before.get("n", {"N": "0"})["N"]) + 1
        model[name] = {**before, "g": {"S": text}, "n": {"N": str(count)}}
    elif name != text:  # move
        item = {**tables_of.key(text), "g": {"S": "moved"}}
        steps = [
            {"Delete": {"TableName": "things", "Key": tables_of.key(name)}},
            {"Put": {"TableName": "things", "Item": item}},
        ]
        harness.call("TransactWriteItems", TransactItems=steps)
        model.pop(name, None)
        model[text] = item


@given(st.lists(STEP, min_size=1, max_size=40), st.integers(min_value=0, max_value=20))
def test_any_earlier_time_can_be_restored_including_indexes(steps: list[tuple[str, Any, Any]], begin: int) -> None:
    harness = Harness(**tables_of.with_index(), **LOCAL)
    model: Items = {}
    states: list[tuple[float, Items]] = []
    for number, step in enumerate(steps):
        if number == min(begin, len(steps) - 1):
            harness.enable_recovery(1)
            states = [(harness.clock.now(), dict(model))]
        take(harness, model, step)
        states.append((harness.clock.now(), dict(model)))
    earliest = history.earliest_s(recovery_of(harness), harness.clock.now())
    for time_s, expected in dict(states).items():  # the last state at each time
        if time_s < earliest:
            continue
        assert by_name(items_at(harness, time_s)) == expected
        harness.rewind(time_s)
        assert by_name(harness.items("restored")) == expected
        indexed = {name: item for name, item in expected.items() if "g" in item}
        assert by_name(harness.items("restored", IndexName="by_g")) == indexed
        assert by_name(harness.items("restored", IndexName="by_l")) == indexed
        assert fsck.check(harness.engine) == []
        harness.call("DeleteTable", TableName="restored")
    harness.engine.close()


LOCAL = {
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by_l",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "g", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ]
}
