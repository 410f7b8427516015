"""The state machine: random operations on an engine and on the model, every answer compared.

`Machine` works on an engine in memory, `FileMachine` on a file that it closes, opens, groups and copies.
"""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.engine import tables_of
from tests.simulation import model_draws as draws
from tests.simulation.model import IndexModel, Record, TableModel, WriteResult, capacity_of, definitions, key_schema
from tests.simulation.model_expressions import (
    CONDITION_FAILED,
    INVALID,
    Clause,
    Condition,
    Placeholders,
    RefusedError,
    expression,
    update_text,
)
from tests.simulation.model_values import Item, canon_item, item_bytes, read_units
from tests.simulation.reading import Read, pages_of

from keyplan.clock import ManualClock
from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.errors import ServiceError, TransactionCanceledError

MOST_LIVE = 2
_REASONS = {INVALID: "ValidationError", CONDITION_FAILED: "ConditionalCheckFailed"}


class Machine(RuleBasedStateMachine):
    """An engine and its model."""

    engine: Engine
    table: TableModel

    def open(self) -> Engine:
        """Open the engine for a new run."""
        return Engine.memory(clock=self.clock)

    @initialize(number=st.integers(0, 3))
    def begin(self, number: int) -> None:
        self.clock = ManualClock(draws.NOW)
        self.engine = self.open()
        self.table = draws.tables()[number]
        table = self.table
        local = [index.request() for index in table.indexes.values() if not index.is_global]
        global_ = [index.request() for index in table.indexes.values() if index.is_global]
        request: dict[str, Any] = {
            "KeySchema": key_schema((table.partition,), (table.sort,) if table.sort else ()),
            "AttributeDefinitions": definitions(
                table.key_attributes, *(index.attributes for index in table.indexes.values())
            ),
        }
        if local:
            request["LocalSecondaryIndexes"] = local
        if global_:
            request["GlobalSecondaryIndexes"] = global_
        self.streamed = table.name != "plain"
        if self.streamed:
            request.update(tables_of.with_stream())
        tables_of.create(self.engine, table.name, **request)
        if table.ttl is not None:
            specification = {"Enabled": True, "AttributeName": table.ttl}
            self.call("UpdateTimeToLive", TimeToLiveSpecification=specification)

    def call(self, operation: str, **members: Any) -> dict[str, Any]:
        """Call the engine on the table."""
        has_no_table = operation.startswith(("Batch", "Transact"))
        named = {} if has_no_table else {"TableName": self.table.name}
        return self.engine.call(operation, {**named, **copy.deepcopy(members)})

    def compare(self, predict: Callable[[], Any], operation: str, **members: Any) -> tuple[Any, dict[str, Any]] | None:
        """Prediction and answer of a call; None where both are the same error."""
        try:
            expected = predict()
        except RefusedError as refused:
            try:
                response = self.call(operation, **members)
            except ServiceError as error:
                _check_code(error, refused.codes)
                return None
            raise AssertionError(f"{operation} should have failed with {refused.codes}: {response}") from None
        return expected, self.call(operation, **members)

    # Single writes.

    def write(
        self,
        predict: Callable[[], WriteResult],
        operation: str,
        placeholders: Placeholders,
        touched: Collection[str] | None = None,
        **members: Any,
    ) -> None:
        """One write, compared with its prediction. `touched`: whole attributes that an update is about."""
        outcome = self.compare(
            predict, operation, **members, **placeholders.members(), ReturnConsumedCapacity="INDEXES"
        )
        if outcome is None:
            return
        result, response = outcome
        assert capacity_of(response["ConsumedCapacity"]) == result.capacity
        return_values = members.get("ReturnValues", "NONE")
        if return_values in ("ALL_OLD", "ALL_NEW"):
            version = result.old if return_values == "ALL_OLD" else result.new
            assert canon_item(response.get("Attributes")) == canon_item(version)
        elif return_values == "NONE":
            assert "Attributes" not in response
        elif touched is not None:
            version = (result.old if return_values == "UPDATED_OLD" else result.new) or {}
            touched_values = {name: version[name] for name in touched if name in version}
            assert canon_item(response.get("Attributes", {})) == canon_item(touched_values)

    @rule(data=st.data(), condition=draws.maybe_condition, returned=st.sampled_from(["NONE", "ALL_OLD"]))
    def put(self, data: st.DataObject, condition: Condition | None, returned: str) -> None:
        item = data.draw(draws.item(self.table))
        placeholders = Placeholders()
        self.write(
            lambda: self.table.put(item, condition),
            "PutItem",
            placeholders,
            Item=item,
            ReturnValues=returned,
            **_conditional(condition, placeholders),
        )

    @rule(data=st.data())
    def put_quietly(self, data: st.DataObject) -> None:
        """Without anything returned, where the engine takes its shortest way."""
        item = data.draw(draws.item(self.table))
        outcome = self.compare(lambda: self.table.put(item), "PutItem", Item=item)
        assert outcome is None or outcome[1] == {}

    @rule(data=st.data())
    def put_again(self, data: st.DataObject) -> None:
        """Put the same item with its attributes in another order, which changes nothing."""
        if self.table.items:
            item = data.draw(st.sampled_from(list(self.table.items.values())))
            turned = dict(reversed(item.items()))
            self.write(lambda: self.table.put(turned), "PutItem", Placeholders(), Item=turned)

    @rule(
        data=st.data(),
        clauses=draws.clauses(),
        condition=draws.maybe_condition,
        returned=st.sampled_from(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]),
    )
    def update(self, data: st.DataObject, clauses: list[Clause], condition: Condition | None, returned: str) -> None:
        key = data.draw(draws.key(self.table))
        placeholders = Placeholders()
        self.write(
            lambda: self.table.update(key, clauses, condition),
            "UpdateItem",
            placeholders,
            touched=None if any(len(path) > 1 for _, path, *_ in clauses) else [path[0] for _, path, *_ in clauses],
            Key=key,
            UpdateExpression=update_text(clauses, placeholders),
            ReturnValues=returned,
            **_conditional(condition, placeholders),
        )

    @rule(data=st.data(), condition=draws.maybe_condition, returned=st.sampled_from(["NONE", "ALL_OLD"]))
    def delete(self, data: st.DataObject, condition: Condition | None, returned: str) -> None:
        key = data.draw(draws.key(self.table))
        placeholders = Placeholders()
        self.write(
            lambda: self.table.delete(key, condition),
            "DeleteItem",
            placeholders,
            Key=key,
            ReturnValues=returned,
            **_conditional(condition, placeholders),
        )

    # Several writes.

    @rule(data=st.data(), count=st.integers(1, 6))
    def batch_write(self, data: st.DataObject, count: int) -> None:
        items = [data.draw(draws.item(self.table)) for _ in range(count)]
        items = list({self.table.place(item): item for item in items}.values())
        puts = [data.draw(st.booleans()) for _ in items]
        writes: list[dict[str, Any]] = [
            {"PutRequest": {"Item": item}} if put else {"DeleteRequest": {"Key": self.table.key_of(item)}}
            for item, put in zip(items, puts, strict=True)
        ]

        def predict() -> dict[str, float]:
            pairs = list(zip(items, puts, strict=True))
            changes = [self.table.decide_put(item) if put else self.table.decide_delete(item) for item, put in pairs]
            return _sum(self.table.apply(change).capacity for change in changes)

        outcome = self.compare(
            predict, "BatchWriteItem", RequestItems={self.table.name: writes}, ReturnConsumedCapacity="INDEXES"
        )
        if outcome is not None:
            capacity, response = outcome
            assert response["UnprocessedItems"] == {}
            assert capacity_of(response["ConsumedCapacity"][0]) == capacity

    @rule(data=st.data(), count=st.integers(1, 5))
    def transact_write(self, data: st.DataObject, count: int) -> None:
        steps: dict[Any, tuple[dict[str, Any], Callable[[], tuple[Item | None, Item | None]]]] = {}
        for _ in range(count):
            place, *step = self._step(data)
            steps[place] = tuple(step)
        actions = [action for action, _ in steps.values()]
        codes: list[tuple[str, ...]] = []
        changes = []
        for _, decide in steps.values():
            try:
                changes.append(decide())
                codes.append(("None",))
            except RefusedError as refused:
                codes.append(tuple(_REASONS[code] for code in refused.codes))
        try:
            response = self.call("TransactWriteItems", TransactItems=actions, ReturnConsumedCapacity="INDEXES")
        except TransactionCanceledError as error:
            actual_codes = [reason["Code"] for reason in error.members["CancellationReasons"]]
            self._check_reasons(actual_codes, codes)
            return
        except ServiceError as error:
            _check_code(error, (INVALID,))
            assert any("ValidationError" in reasons for reasons in codes)
            return
        assert set(codes) == {("None",)}
        consumed = _sum(self._apply_action(action, change) for action, change in zip(actions, changes, strict=True))
        assert capacity_of(response["ConsumedCapacity"][0]) == consumed

    def _check_reasons(self, actual_codes: list[str], codes: list[tuple[str, ...]]) -> None:
        if all(code in reasons for code, reasons in zip(actual_codes, codes, strict=True)):
            return
        # A fault that is seen before any item is looked at cancels at once, the others unseen.
        assert [code for code in actual_codes if code != "None"] == ["ValidationError"]
        assert "ValidationError" in codes[actual_codes.index("ValidationError")]

    def _apply_action(self, action: dict[str, Any], change: tuple[Item | None, Item | None]) -> dict[str, float]:
        if "ConditionCheck" in action:
            return {"": self.table.cost(*change, factor=2)[""]}
        return self.table.apply(change, factor=2).capacity

    def _step(self, data: st.DataObject) -> Any:
        kind = data.draw(st.sampled_from(["Put", "Update", "Delete", "ConditionCheck"]))
        item = data.draw(draws.item(self.table))
        key, placeholders, table = self.table.key_of(item), Placeholders(), self.table
        condition = data.draw(draws.conditions if kind == "ConditionCheck" else draws.maybe_condition)
        members: dict[str, Any] = {"TableName": table.name, "Key": key}
        decide: Callable[[], tuple[Item | None, Item | None]]
        if kind == "Put":
            members = {"TableName": table.name, "Item": item}
            decide = lambda: table.decide_put(item, condition)  # noqa: E731 - one of four
        elif kind == "Update":
            clauses = data.draw(draws.clauses())
            members["UpdateExpression"] = update_text(clauses, placeholders)
            decide = lambda: table.decide_update(key, clauses, condition)  # noqa: E731
        elif kind == "Delete":
            decide = lambda: table.decide_delete(key, condition)  # noqa: E731
        else:
            decide = lambda: (table.decide_delete(key, condition)[0],) * 2  # noqa: E731
        members.update(_conditional(condition, placeholders))
        return table.place(key), {kind: copy.deepcopy({**members, **placeholders.members()})}, decide

    # Reads.

    @rule(data=st.data(), consistent=st.booleans())
    def get(self, data: st.DataObject, consistent: bool) -> None:
        key = data.draw(draws.key(self.table))
        response = self.call("GetItem", Key=key, ConsistentRead=consistent, ReturnConsumedCapacity="INDEXES")
        item = self.table.get(key)
        assert canon_item(response.get("Item")) == canon_item(item)
        assert capacity_of(response["ConsumedCapacity"]) == {"": read_units(item_bytes(item or {}), consistent)}

    @rule(data=st.data(), consistent=st.booleans())
    def get_several(self, data: st.DataObject, consistent: bool) -> None:
        keys = data.draw(st.lists(draws.key(self.table), min_size=1, max_size=8, unique_by=self.table.place))
        block = {"Keys": keys, "ConsistentRead": consistent}
        response = self.call("BatchGetItem", RequestItems={self.table.name: block}, ReturnConsumedCapacity="INDEXES")
        items = [item for item in map(self.table.get, keys) if item is not None]
        assert response["UnprocessedKeys"] == {}
        assert _canon_all(response["Responses"][self.table.name]) == _canon_all(items)
        units = sum(read_units(item_bytes(self.table.get(key) or {}), consistent) for key in keys)
        assert capacity_of(response["ConsumedCapacity"][0]) == {"": units}
        response = self.call(
            "TransactGetItems", TransactItems=[{"Get": {"TableName": self.table.name, "Key": key}} for key in keys]
        )
        assert [canon_item(entry.get("Item")) for entry in response["Responses"]] == [
            canon_item(self.table.get(key)) for key in keys
        ]

    def _index(self, data: st.DataObject) -> IndexModel | None:
        return data.draw(st.sampled_from([None, *self.table.indexes.values()]))

    @rule(data=st.data())
    def query(self, data: st.DataObject) -> None:
        Read(self.table, self._index(data), self.engine.call).query(data)

    @rule(data=st.data(), segments=st.integers(1, 4))
    def scan(self, data: st.DataObject, segments: int) -> None:
        Read(self.table, self._index(data), self.engine.call).scan(data, segments)

    # The table.

    @rule(index=st.sampled_from(draws.LIVE))
    def create_index(self, index: IndexModel) -> None:
        live = [declared for declared in draws.LIVE if declared.name in self.table.indexes]
        if index.name in self.table.indexes or len(live) >= MOST_LIVE:
            return
        self.call(
            "UpdateTable",
            AttributeDefinitions=definitions(index.attributes),
            GlobalSecondaryIndexUpdates=[{"Create": index.request()}],
        )
        self.table.indexes[index.name] = index

    @rule(index=st.sampled_from(draws.LIVE))
    def delete_index(self, index: IndexModel) -> None:
        if self.table.indexes.pop(index.name, None) is not None:
            self.call("UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": index.name}}])

    @rule(seconds=st.integers(0, 900))
    def sweep(self, seconds: int) -> None:
        self.clock.advance(seconds)
        assert self.engine.sweep() == self.table.sweep(self.clock.now())

    @rule()
    def describe(self) -> None:
        description = self.call("DescribeTable")["Table"]
        assert description["ItemCount"] == len(self.table.items)
        assert description["TableSizeBytes"] == sum(map(item_bytes, self.table.items.values()))
        entries = [
            *description.get("GlobalSecondaryIndexes", ()),
            *description.get("LocalSecondaryIndexes", ()),
        ]
        assert {entry["IndexName"]: entry["ItemCount"] for entry in entries} == {
            name: len(self.table.rows(index)) for name, index in self.table.indexes.items()
        }

    @rule()
    def check_copy(self) -> None:
        with self.engine.copy() as other:
            self.check_all(other)

    def check_all(self, engine: Engine) -> None:
        """Check the engine's consistency and compare its content with the model."""
        assert fsck.check(engine) == []
        for index in (None, *self.table.indexes.values()):
            named = {} if index is None else {"IndexName": index.name}
            pages = pages_of(engine.call, "Scan", {"TableName": self.table.name, **named})
            actual_pages = [item for page in pages for item in page["Items"]]
            assert _canon_all(actual_pages) == _canon_all(self.table.rows(index))

    def teardown(self) -> None:
        if not hasattr(self, "table"):
            return
        try:
            self.check_all(self.engine)
            if self.streamed:
                self.check_stream()
        finally:
            self.engine.close()

    def check_stream(self) -> None:
        """Check that stream records are in order and that replaying them yields the table."""
        records = [
            _record(delivered)
            for delivered in tables_of.records(self.engine, tables_of.stream_arn(self.engine, self.table.name))
        ]
        by_service = [record for record in records if record.by_service]
        expected_records = [record for record in self.table.stream if record.by_service]
        assert Counter(record.key for record in by_service) == Counter(record.key for record in expected_records)
        for key in {record.key for record in (*records, *self.table.stream)}:
            assert [delivered for delivered in records if delivered.key == key] == [
                expected for expected in self.table.stream if expected.key == key
            ]
        replayed: dict[Any, Any] = {}
        for record in records:
            assert replayed.get(record.key) == record.old
            replayed[record.key] = record.new
        remaining = Counter(image for image in replayed.values() if image is not None)
        assert remaining == _canon_all(self.table.items.values())


class FileMachine(Machine):
    """The same on a file, which is closed and opened, and copied while it is open."""

    def open(self) -> Engine:
        self.folder = Path(tempfile.mkdtemp(prefix="keyplan-machine-"))
        return Engine.open(self.folder / "data.db", clock=self.clock)

    @rule()
    def reopen(self) -> None:
        self.engine.close()
        self.engine = Engine.open(self.folder / "data.db", clock=self.clock)

    @rule(data=st.data(), count=st.integers(1, 4))
    def group(self, data: st.DataObject, count: int) -> None:
        with self.engine.group():
            for _ in range(count):
                item = data.draw(draws.item(self.table))
                self.compare(partial(self.table.put, item), "PutItem", Item=item)

    @rule()
    def snapshot(self) -> None:
        path = self.folder / "copy.db"
        self.engine.snapshot(path)
        with Engine.open(path, clock=self.clock) as other:
            self.check_all(other)
        path.unlink()

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            if hasattr(self, "folder"):
                shutil.rmtree(self.folder)


def _check_code(error: ServiceError, codes: Collection[str]) -> None:
    assert error.code in codes, error


def _conditional(condition: Condition | None, placeholders: Placeholders) -> dict[str, Any]:
    return {} if condition is None else {"ConditionExpression": expression(condition, placeholders)}


def _sum(consumed: Any) -> dict[str, float]:
    total: dict[str, float] = {}
    for capacity in consumed:
        for name, units in capacity.items():
            total[name] = total.get(name, 0) + units
    return total


def _canon_all(items: Any) -> Counter[Any]:
    return Counter(map(canon_item, items))


def _record(record: dict[str, Any]) -> Record:
    change = record["dynamodb"]
    return Record(
        record["eventName"],
        canon_item(change["Keys"]),
        canon_item(change.get("OldImage")),
        canon_item(change.get("NewImage")),
        by_service="userIdentity" in record,
    )
