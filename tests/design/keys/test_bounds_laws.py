"""Laws of ranges: a query gives exactly the items whose fields say so, however their keys are made."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.design.ranges import selects
from tests.laws import examples

from keyplan import GSI, Entity, KeyCondition, Page, Table, attr, key, pk
from keyplan.design.declaring.patterns import Read
from keyplan.design.fields.annotations import AttributeValue
from keyplan.design.keys.encodings import KeyPartError
from keyplan.design.keys.entity_keys import KeySpec
from keyplan.design.parameters import Param
from keyplan.design.requests.items import item_builder

# Separators, characters that sort next to them, braces, control characters, astral characters, look-alikes.
CHARACTERS = 'ab#$"%/:{}~ \0\x7f\u07ff\uffff\U0001f600\U0010ffff'
NAMES = st.text(CHARACTERS, min_size=1, max_size=3)
NUMBERS = st.integers(0, 12) | st.sampled_from([99, 100, 999_999])
TIMESTAMPS = st.builds(
    lambda microseconds, hours: (
        datetime(2026, 5, 4, 12, tzinfo=timezone(timedelta(hours=hours)))
        + timedelta(microseconds=microseconds, hours=hours)
    ),
    st.sampled_from([0, 1, 999, 1000, 1001, 999_999, 1_000_000, 86_400_000_000]),
    st.integers(-2, 2),
)
DAYS = st.dates(date(2025, 12, 30), date(2026, 1, 2))
KINDS = st.sampled_from(["a", "b"])
IDS = st.integers(0, 3).map(lambda number: UUID(int=number))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": NAMES,
    "number": NUMBERS,
    "at": TIMESTAMPS,
    "day": DAYS,
    "kind": KINDS,
    "uid": IDS,
    "score": st.integers(-5, 5),
}

SORTS: list[tuple[Any, ...]] = [
    ("NAME#{name:quote}",),
    ("{name}",),
    ("{name:quote}#{kind}",),
    ("N#{number:06d}#{name}",),
    ("{number:06d}",),
    ("{kind}#{number:06d}",),
    ("K{kind}{number:06d}",),
    ("AT#{at:utc_ms}#{name}",),
    ("{at:utc_ms}",),
    ("{at:utc_s}",),
    ("{at:utc_us}#",),
    ("{kind}/{at:utc_us}/{name}",),
    ("{at:epoch_ms}",),
    ("D#{day}#{kind}#{number:06d}#{name:quote}",),
    ("{uid}#{day}",),
    ("{at:date}#{kind}#{at:utc_us}",),
    (attr("score"),),
    (attr("name"),),
    (attr("kind"), attr("score")),
    (attr("day"), attr("kind"), "N#{number:06d}#{name}"),
    ("A{kind}", "{number:06d}#{day}", attr("name")),
]


def a_table(sort: tuple[Any, ...]) -> tuple[Table, type[Any]]:
    """Return a table whose index has this sort key."""
    table = Table("table", pk="id", indexes=[GSI("index", pk="P", sk=tuple(f"S{n}" for n in range(len(sort))))])
    spec: KeySpec = key("OF#{owner}", sort)

    @table.entity(indexes={"index": spec})
    class Thing(Entity):
        id: str
        owner: str
        name: str
        number: int
        at: datetime
        day: date
        kind: Literal["a", "b"]
        uid: UUID
        score: int

    return table, Thing


TABLES = [(sort, *a_table(sort)) for sort in SORTS]
RANGES: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda value, bound: value < bound,
    "lte": lambda value, bound: value <= bound,
    "gt": lambda value, bound: value > bound,
    "gte": lambda value, bound: value >= bound,
}


def own_order(value: Any) -> Any:
    """How values of a type sort: texts by their UTF-8 bytes, as the service sorts them."""
    return value.encode() if isinstance(value, str) else value


def order_of(table: Table) -> list[str]:
    """Return the fields of the index's sort key, in order."""
    bound = table.entities[0].indexes[0]
    return list(dict.fromkeys(name for part in bound.sort for name in part.fields))


def alike(field: str, first: Any, second: Any, sort: tuple[Any, ...], given_fields: Collection[str]) -> bool:
    """Whether two values are one to an equality: at the precision of the key up to the last field that is given."""
    text = "".join(part for part in sort if isinstance(part, str))
    if text.startswith("{at:date}") and len(given_fields) == 1:
        text = "{at:date}"
    if field == "at":
        first, second = (value.astimezone(UTC).isoformat(timespec="microseconds") for value in (first, second))
        for spec, digits in (("utc_us", 26), ("epoch_ms", 23), ("utc_ms", 23), ("utc_s", 19), ("date", 10)):
            if spec in text:
                return bool(first[:digits] == second[:digits])
    return bool(first == second)


@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(data=st.data())
@pytest.mark.parametrize("number", range(len(TABLES)), ids=[str(sort) for sort in SORTS])
def test_a_query_returns_exactly_the_requested_items(number: int, data: st.DataObject) -> None:
    sort, table, model = TABLES[number]
    order = order_of(table)
    equal = data.draw(st.integers(0, len(order)))
    ranged = order[equal] if equal < len(order) and data.draw(st.booleans()) else None
    op = data.draw(st.sampled_from([*RANGES, "between"]))
    given_values = {name: data.draw(VALUES[name]) for name in order[:equal]}
    bounds = [data.draw(VALUES[ranged]) for _ in range(2 if op == "between" else 1)] if ranged else []
    if op == "between":
        bounds.sort(key=own_order)

    terms: KeyCondition = pk(owner=Param("owner", str)).sk(**{name: Param(name, None) for name in given_values})
    if ranged is not None:
        low, high = Param("low", None), Param("high", None)
        bound = {ranged: (low, high) if op == "between" else low}
        terms = getattr(terms.sk, op)(**bound)

    pattern: Read[..., Page[Any]] = table.query(model, index="index")(_body(terms, given_values, len(bounds)))
    table.patterns.clear()
    if pattern.plan.faults:
        assert [fault.code for fault in pattern.plan.faults] == ["KP206"]
        assert ranged is not None
        return  # refused: the texts sort unlike the values
    arguments = {"owner": "me", **given_values, **dict(zip(("low", "high"), bounds, strict=False))}

    maker = item_builder(table.entities[0])
    for _ in range(8):
        asked_for = {name: [given_values.get(name), *(bounds if name == ranged else [])] for name in VALUES}
        values = {name: data.draw(_near(name, choices)) for name, choices in asked_for.items()}
        owner = data.draw(st.sampled_from(["me", "you"]))
        entity = model(id="1", owner=owner, **values)
        expected = owner == "me" and all(
            alike(name, values[name], given_values[name], sort, given_values) for name in given_values
        )
        if ranged is not None and op == "between":
            expected &= own_order(bounds[0]) <= own_order(values[ranged]) <= own_order(bounds[1])
        elif ranged is not None:
            expected &= RANGES[op](own_order(values[ranged]), own_order(bounds[0]))
        try:
            item: dict[str, AttributeValue] = maker.item(entity)
            selected = selects(pattern.plan, item, values, arguments)
        except KeyPartError:
            continue  # a value that would forge another key cannot be stored, nor asked for
        assert selected == expected, (values, arguments, item)


def _body(terms: KeyCondition, given_values: dict[str, Any], bounds: int) -> Any:
    names = ["owner", *given_values, *("low", "high")[:bounds]]
    members: dict[str, Any] = {"terms": terms}
    exec(f"def things({', '.join(names)}):\n    return terms", members)  # a pattern's parameters are its function's
    return members["things"]


def _near(name: str, choices: list[Any]) -> st.SearchStrategy[Any]:
    """Values of a field, often those that are asked for."""
    values = [value for value in choices if value is not None]
    return VALUES[name] if not values else st.sampled_from(values) | VALUES[name]


PREFIXES = [("NAME#{name}",), ("{name:quote}#{kind}",), ("{kind}#{name}",), (attr("kind"), attr("name"))]


@settings(max_examples=examples(50), deadline=None)
@given(data=st.data(), prefix=NAMES, kind=KINDS)
@pytest.mark.parametrize("sort", PREFIXES, ids=str)
def test_begins_with_returns_exactly_the_texts_with_the_prefix(
    sort: tuple[Any, ...], data: st.DataObject, prefix: str, kind: str
) -> None:
    table, entity = a_table(sort)
    terms = pk(owner="me").sk.begins_with(name=prefix)
    if order_of(table)[0] == "kind":
        terms = pk(owner="me").sk(kind=kind).sk.begins_with(name=prefix)
    plan = table.query(entity, index="index")(lambda: terms).plan
    for _ in range(6):
        name = data.draw(NAMES | NAMES.map(lambda rest: prefix + rest) | st.just(prefix))
        values = {other: data.draw(VALUES[other]) for other in VALUES} | {"name": name}
        expected = name.startswith(prefix) and ("kind" not in repr(terms) or values["kind"] == kind)
        try:
            item = item_builder(table.entities[0]).item(entity(id="1", owner="me", **values))
            selected = selects(plan, item, values, {})
        except KeyPartError:
            continue
        assert selected == expected
