"""Conditions and updates are refused at the declaration where the service's parser refuses them, and not before."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyplan import GSI, DesignError, Entity, F, ItemWrite, KeyCondition, Table, everything, item, key, limits, pk
from keyplan.design.conditions.conditions import AndCondition, Condition, NotCondition, OrCondition
from keyplan.design.requests.build import count_operators, range_request, write_request
from keyplan.design.requests.writer import ExpressionWriter, RequestPlaceholders
from keyplan.design.requests.writes import NOW
from keyplan.dynamodb.expressions.parser import parse_condition
from keyplan.dynamodb.expressions.parser import parse_update as read_update
from keyplan.errors import ValidationError

things = Table("things", pk="id")


@things.entity(version="version")
class Thing(Entity):
    id: str
    n: int
    text: str = ""
    version: int = 0


(SPEC,) = things.entities
simple = st.sampled_from(
    [
        F.n == 1,
        F.n != 1,
        F.n.between(1, 2),
        F.n.is_in(1, 2, 3),
        F.text.size() >= 3,
        F.text.begins_with("a"),
        F.text.exists(),
    ]
)
conditions = st.recursive(
    simple,
    lambda inner: st.one_of(
        inner.map(NotCondition),
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: AndCondition(tuple(parts))),
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: OrCondition(tuple(parts))),
    ),
    max_leaves=12,
)


def is_parsed(text: str) -> bool:
    try:
        parse_condition(text, "FilterExpression")
    except ValidationError as error:
        return "operators" not in str(error)
    return True


@settings(deadline=None)
@given(conditions)
def test_operators_are_counted_as_the_service_counts_them(condition: Condition) -> None:
    text = ExpressionWriter(RequestPlaceholders(), SPEC.fields).condition(condition)
    room = limits.EXPRESSION_OPERATORS - count_operators(text)
    assert is_parsed("NOT " * room + f"({text})")
    assert not is_parsed("NOT " * (room + 1) + f"({text})")


def numbers(count: int) -> Condition:
    return reduce(or_, (F.n == number for number in range(count)))


def test_a_filter_accepts_as_many_operators_as_the_service() -> None:
    @things.scan(Thing)
    def most() -> KeyCondition:
        return everything().filter(~numbers(150))  # 150 comparisons, 149 OR, one NOT

    text = range_request(most.plan).request({}, "things")["FilterExpression"]
    assert count_operators(text) == limits.EXPRESSION_OPERATORS
    assert is_parsed(text)
    with pytest.raises(DesignError, match="the filter of more has 301 operators and functions, but the limit is"):

        @things.scan(Thing)
        def more() -> KeyCondition:
            return everything().filter(numbers(151))


def test_conditions_added_by_keyplan_count_as_operators() -> None:
    def changed(of: int) -> ItemWrite:
        return item(id="a").set(n=1).condition(numbers(of)).assuming(text="a")

    @things.update(Thing)
    def most() -> ItemWrite:  # next to them: the item exists, the text is known, and two AND
        return changed(148)

    text = write_request(most.plan).request({}, "things")["ConditionExpression"]
    assert count_operators(text) == 2 * 148 - 1 + 4
    assert is_parsed(text)
    with pytest.raises(DesignError, match="the condition of more has 301 operators"):

        @things.update(Thing)
        def more() -> ItemWrite:
            return changed(149)


def test_an_expression_is_limited_to_four_kilobytes() -> None:
    def several(lists: int) -> Condition:
        return reduce(and_, (F.n.is_in(*range(of * 100, of * 100 + 100)) for of in range(lists)))

    @things.query(Thing)
    def most() -> KeyCondition:
        return pk(id="a").filter(several(5))

    assert is_parsed(range_request(most.plan).request({}, "things")["FilterExpression"])
    with pytest.raises(DesignError, match=r"the filter of more has \d,\d+ bytes, but the limit is 4,096"):

        @things.query(Thing)
        def more() -> KeyCondition:
            return pk(id="a").filter(several(7))


def test_the_expiry_filter_of_a_count_counts_as_operators() -> None:
    expiring = Table("expiring", pk="id", sk="n", ttl="expires_at")

    @expiring.entity()
    class Short(Entity):
        id: str
        n: int
        number: int
        expires_at: int

    def several(count: int) -> Condition:
        return reduce(or_, (F.number == number for number in range(count)))

    @expiring.count(Short)
    def most() -> KeyCondition:  # next to them: an item without an expiry or with a later one, and an AND
        return pk(id="a").filter(several(148))

    text = range_request(most.plan).request({NOW: 0}, "expiring")["FilterExpression"]
    assert count_operators(text) == 2 * 148 - 1 + 4
    assert is_parsed(text)
    with pytest.raises(DesignError, match="the filter of more has 301 operators"):

        @expiring.count(Short)
        def more() -> KeyCondition:
            return pk(id="a").filter(several(149))


FIELDS = [f"field_{number}" for number in range(330)]
FIELD_TYPES = {"id": str, "version": int, **dict.fromkeys(FIELDS, int | None)}
Wide = type("Wide", (Entity,), {"__annotations__": FIELD_TYPES, "__module__": __name__, "version": 0})
wide = Table("wide", pk="id", indexes=[GSI("by-field", pk="gsi")])
wide.entity(version="version", indexes={"by-field": key("F#{field_1}")})(Wide)


def test_an_update_is_limited_to_four_kilobytes() -> None:
    def changed(count: int, value: int | None) -> ItemWrite:
        return item(id="a").set(**dict.fromkeys(FIELDS[:count], value))

    @wide.update(Wide)
    def most(value: int) -> ItemWrite:
        return changed(300, value)

    text = write_request(most.plan).request({"value": 1}, "wide")["UpdateExpression"]
    assert limits.EXPRESSION_BYTES - 12 < len(text) <= limits.EXPRESSION_BYTES  # one more has 12
    assert text.endswith(", #603 = :604 ADD #601 :602")  # the key of the index, and the version
    assert read_update(text, "UpdateExpression")
    with pytest.raises(DesignError, match=r"the update of more has \d,\d+ bytes, but the limit is 4,096"):

        @wide.update(Wide)
        def more(value: int) -> ItemWrite:
            return changed(301, value)

    @wide.update(Wide)
    def removing() -> ItemWrite:  # what is set to nothing is removed, in fewer bytes
        return changed(330, None)

    assert read_update(write_request(removing.plan).request({}, "wide")["UpdateExpression"], "UpdateExpression")
