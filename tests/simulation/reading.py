"""Queries and scans, page by page, compared with what the model says of them."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st
from tests.simulation import model_draws as draws
from tests.simulation.model import PAGE_BYTES, IndexModel, TableModel, capacity_of
from tests.simulation.model_expressions import Condition, Placeholders, condition_text, expression, holds
from tests.simulation.model_values import Item, canon, canon_item, item_bytes, order, read_units

from keyplan.errors import ValidationError

Call = Callable[[str, dict[str, Any]], dict[str, Any]]
_MOST_PAGES = 200


def pages_of(call: Call, operation: str, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the answers of all pages."""
    start: dict[str, Any] = {}
    for _ in range(_MOST_PAGES):
        response = call(operation, copy.deepcopy({**request, **start}))
        yield response
        if "LastEvaluatedKey" not in response:
            return
        start = {"ExclusiveStartKey": response["LastEvaluatedKey"]}
    raise AssertionError("the pages do not end")


def predicted_pages(rows: list[Item], limit: int | None) -> list[list[Item]]:
    """Return the rows that each page evaluates; every page but the last has a continuation key."""
    pages: list[list[Item]] = [[]]
    total = 0
    for row in rows:
        if total >= PAGE_BYTES:
            pages.append([])
            total = 0
        pages[-1].append(row)
        total += item_bytes(row)
        if len(pages[-1]) == limit:
            pages.append([])
            total = 0
    return pages


class Read:
    """Reads of a table or an index."""

    def __init__(self, table: TableModel, index: IndexModel | None, call: Call) -> None:
        self.table = table
        self.index = index
        self.call = call
        self.request: dict[str, Any] = {"TableName": table.name}
        if index is not None:
            self.request["IndexName"] = index.name

    def query(self, data: st.DataObject) -> None:
        """One partition: all of it, then a part in some way."""
        placeholders = Placeholders()
        partition = self.index.partition if self.index is not None else (self.table.partition,)
        rows = self.table.rows(self.index)
        # Mostly a partition that is there.
        if rows and data.draw(st.integers(0, 5)) > 0:
            sample = data.draw(st.sampled_from(rows))
            values = [sample[name] for name, _ in partition]
        else:
            values = [data.draw(draws.key_value(kind)) for _, kind in partition]
        conditions = zip(partition, values, strict=True)
        terms = [f"{placeholders.path((name,))} = {placeholders.value(value)}" for (name, _), value in conditions]
        selected = self.table.collection(self.index, values)
        bounds, selected = self._sort_terms(data, placeholders, selected)
        self.request["KeyConditionExpression"] = " AND ".join(terms + bounds)
        ordered = self._all_rows("Query", placeholders, selected)
        orders = [self.table.sort_order(self.index, row) for row in ordered]
        assert orders == sorted(orders)
        if data.draw(st.booleans()):
            self.request["ScanIndexForward"] = False
            ordered.reverse()
        self._vary(data, "Query", placeholders, ordered)

    def _sort_terms(
        self, data: st.DataObject, placeholders: Placeholders, rows: list[Item]
    ) -> tuple[list[str], list[Item]]:
        """Conditions on the leading sort attributes: equal on all but the last of those that are named."""
        table_sort = (self.table.sort,) if self.table.sort is not None else ()
        attributes = self.index.sort if self.index is not None else table_sort
        terms: list[str] = []
        for name, kind in attributes[: data.draw(st.integers(0, len(attributes)))]:
            if terms and " = " not in terms[-1]:
                break
            operators = ["=", "<", "<=", ">", ">=", "between"] + ["begins_with"] * (kind != "N")
            operator = data.draw(st.sampled_from(operators))
            low, high = sorted((data.draw(draws.key_value(kind)) for _ in range(2)), key=order)
            condition: Condition = (operator, (name,), low, high) if operator == "between" else (operator, (name,), low)
            terms.append(condition_text(condition, placeholders))
            rows = [row for row in rows if holds(condition, row)]
        return terms, rows

    def scan(self, data: st.DataObject, segments: int) -> None:
        """Everything, then one segment in some way; the segments are disjoint and complete."""
        ordered = self._all_rows("Scan", Placeholders(), self.table.rows(self.index))
        parts = []
        for segment in range(segments):
            self.request.update(Segment=segment, TotalSegments=segments)
            pages = pages_of(self.call, "Scan", self.request)
            parts.append([item for page in pages for item in page["Items"]])
        assert [canon_item(item) for part in parts for item in part] == list(map(canon_item, ordered))
        chosen = data.draw(st.integers(0, segments - 1))
        self.request["Segment"] = chosen
        self._vary(data, "Scan", Placeholders(), parts[chosen])

    def _all_rows(self, operation: str, placeholders: Placeholders, expected: list[Item]) -> list[Item]:
        """All rows in the engine's order, after checking that they are the expected ones."""
        pages = [
            item
            for page in pages_of(self.call, operation, {**self.request, **placeholders.members()})
            for item in page["Items"]
        ]
        assert Counter(map(self.table.place, pages)) == Counter(map(self.table.place, expected))
        by_place = {self.table.place(item): canon_item(item) for item in expected}
        assert all(canon_item(item) == by_place[self.table.place(item)] for item in pages)
        return pages

    def _vary(self, data: st.DataObject, operation: str, placeholders: Placeholders, rows: list[Item]) -> None:
        limit = data.draw(st.sampled_from([None, 1, 2, 3, 65]))
        if limit is not None:
            self.request["Limit"] = limit
        is_global = self.index is not None and self.index.is_global
        consistent = not is_global and data.draw(st.booleans())
        if consistent:
            self.request["ConsistentRead"] = True
        projected, fetching = self._projection(data, placeholders)
        test = self._filter(data, placeholders)
        self.request.update(placeholders.members(), ReturnConsumedCapacity="INDEXES")
        filtered = set() if test is None else {str(test[1][0])}
        if self._is_incomplete(projected) or (
            operation == "Query" and self._is_part() and not filtered <= self._stored_names()
        ):
            self._check_refused(operation)
            return
        # Nothing can follow the one item of a table without a sort key: its query names no last key.
        finds_one = operation == "Query" and self.index is None and self.table.sort is None
        pages = predicted_pages(rows, None if finds_one else limit)
        responses = list(pages_of(self.call, operation, self.request))
        assert len(responses) == len(pages)
        for evaluated, response in zip(pages, responses, strict=True):
            complete = [self._table_item(row) for row in evaluated] if fetching else evaluated
            matching = [row for row in complete if test is None or holds(test, row)]
            assert (response["ScannedCount"], response["Count"]) == (len(evaluated), len(matching))
            if self.request.get("Select") == "COUNT":
                assert "Items" not in response
            else:
                projected_rows = [_cut(row, projected) for row in matching]
                assert list(map(canon_item, response["Items"])) == list(map(canon_item, projected_rows))
            self._check_end(evaluated, response)
            consumed = self.table.read_cost(self.index, evaluated, consistent)
            if fetching:
                consumed[""] += sum(read_units(item_bytes(row), consistent) for row in complete)
            assert capacity_of(response["ConsumedCapacity"]) == consumed

    def _projection(self, data: st.DataObject, placeholders: Placeholders) -> tuple[set[str] | None, bool]:
        """Return the attributes in the answer, None for all; and whether items are fetched from the table for them."""
        kind = data.draw(st.sampled_from(["", "", "COUNT", "ALL_ATTRIBUTES", "paths"]))
        if kind == "paths":
            names = set(data.draw(st.lists(st.sampled_from(["p", "n", "x", "m", "g"]), min_size=1, unique=True)))
            self.request["ProjectionExpression"] = ", ".join(placeholders.path((name,)) for name in sorted(names))
            return names, self._is_local_part() and not names <= self._stored_names()
        if kind:
            self.request["Select"] = kind
        return None, kind == "ALL_ATTRIBUTES" and self._is_local_part()

    def _is_part(self) -> bool:
        return self.index is not None and self.index.projection != "ALL"

    def _is_local_part(self) -> bool:
        return self.index is not None and not self.index.is_global and self._is_part()

    def _stored_names(self) -> set[str]:
        assert self.index is not None
        return {name for name, _ in self.table.key_attributes + self.index.attributes} | set(self.index.included)

    def _is_incomplete(self, projected: set[str] | None) -> bool:
        """Whether a global index is asked to show what it does not hold."""
        if not self._is_part() or self._is_local_part():
            return False
        if projected is None:
            return self.request.get("Select") == "ALL_ATTRIBUTES"
        return not projected <= self._stored_names()

    def _filter(self, data: st.DataObject, placeholders: Placeholders) -> Condition | None:
        if not data.draw(st.booleans()):
            return None
        path = data.draw(st.sampled_from([("m", "k"), ("w",), ("l", 0), ("any",)]))
        operator = data.draw(st.sampled_from(["attribute_exists", "attribute_not_exists"]))
        condition: Condition = (operator, path)
        self.request["FilterExpression"] = expression(condition, placeholders)
        return condition

    def _check_refused(self, operation: str) -> None:
        try:
            self.call(operation, copy.deepcopy(self.request))
        except ValidationError:
            return
        raise AssertionError("what the index does not hold was not refused")

    def _table_item(self, row: Item) -> Item:
        item = self.table.get(self.table.key_of(row))
        assert item is not None
        return item

    def _check_end(self, evaluated: list[Item], response: dict[str, Any]) -> None:
        if "LastEvaluatedKey" not in response:
            return
        names = [name for name, _ in self.table.key_attributes]
        names += [name for name, _ in (self.index.attributes if self.index is not None else ()) if name not in names]
        last_evaluated_key = response["LastEvaluatedKey"]
        assert {name: canon(value) for name, value in last_evaluated_key.items()} == {
            name: canon(evaluated[-1][name]) for name in names
        }


def _cut(row: Item, projected: set[str] | None) -> Item:
    return row if projected is None else {name: value for name, value in row.items() if name in projected}
