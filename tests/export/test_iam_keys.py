"""Partition keys as conditions: what is literal stays literal, whatever signs it has."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.export.iam_policies import _matches_pattern

from keyplan import GSI, Entity, ItemKey, ItemWrite, KeyCondition, Table, each, every_shard, item, key, pk
from keyplan.export.iam_keys import BindError, Bindings, Leading, literal, principal_value

HELD = st.characters(min_codepoint=0x20, max_codepoint=0xFF)


@given(st.text(HELD), st.text(HELD))
def test_literal_text_matches_only_itself(text: str, other: str) -> None:
    assert _matches_pattern(literal(text), text, {})
    assert _matches_pattern(literal(text), other, {}) == (text == other)


@given(st.text())
def test_text_not_allowed_in_a_policy_is_still_matched(text: str) -> None:
    pattern = literal(text)
    assert all(" " <= sign <= "\u00ff" for sign in pattern)
    assert _matches_pattern(pattern, text, {})


def test_variables_of_a_principals_value_are_kept_and_the_rest_is_literal() -> None:
    assert principal_value("${aws:PrincipalTag/t}") == "${aws:PrincipalTag/t}"
    assert principal_value("a*${aws:username}?$") == "a${*}${aws:username}${?}${$}"


keys = Table("keys", pk="PK", sk="SK", indexes=[GSI("by_size", pk=("kind", "size")), GSI("by_owner", pk="owner")])


@keys.entity(key=key("A$#{owner}#{number:03d}", "{day}"))
class Thing(Entity):
    owner: str
    number: int
    day: date
    kind: Literal["big", "small"]
    size: int
    token: UUID


@keys.query(Thing)
def of(owner: str, number: int) -> KeyCondition:
    return pk(owner=owner, number=number)


@keys.query(Thing)
def of_seven(owner: str) -> KeyCondition:
    return pk(owner=owner, number=7)


@keys.batch_get(Thing)
def several(owners: list[str], number: int, day: date) -> ItemKey:
    return item(owner=each(owners), number=number, day=day)


@keys.query(Thing, index="by_size")
def big(size: int) -> KeyCondition:
    return pk(kind="big", size=size)


@keys.query(Thing, index="by_owner")
def owned(owner: str) -> KeyCondition:
    return pk(owner=owner)


@keys.batch_get(Thing)
def of_two(number: int, day: date) -> ItemKey:
    return item(owner=each(("ann", "bob")), number=number, day=day)


spread = Table("spread", pk="PK")


@spread.entity(key=key("S#{kind}#{number:03d}{name:shard(4)}"))
class Spread(Entity):
    kind: Literal["only"]
    number: int
    name: str


@spread.query(Spread)
def of_every_shard(number: int) -> KeyCondition:
    return pk(kind="only", number=number, name=every_shard())


@spread.get(Spread)
def of_one_shard(kind: Literal["only"], number: int, name: str) -> ItemKey:
    return item(kind=kind, number=number, name=name)


@spread.batch_put(Spread)
def put_many(items: list[Spread]) -> ItemWrite:
    return item(items)


def leading(pattern: Any, **bound: str) -> Leading:
    return Bindings(bound).for_call(pattern.plan.key.partition)


def test_arguments_become_wildcards_and_constants_stay_literal() -> None:
    assert leading(of).texts == ("A${$}#*#*",)
    assert leading(of_seven).texts == ("A${$}#*#007",)
    assert leading(several).texts == ("A${$}#*#*",)
    assert leading(big).texts == ("big", "*")
    assert leading(owned).is_open
    assert leading(of_two).texts == ("A${$}#*#*",)


def test_adjacent_wildcards_are_merged_and_a_single_choice_is_literal() -> None:
    assert leading(of_every_shard).texts == leading(of_one_shard).texts == ("S#only#*",)


def test_a_shard_is_not_bound() -> None:
    leading_keys = leading(of_one_shard, name="me", number="007")
    assert (leading_keys.texts, leading_keys.bound) == (("S#only#007*",), frozenset({"number"}))


def test_fields_of_items_written_together_are_also_bound_by_their_parameter() -> None:
    for name in ("number", "items.number"):
        leading_keys = Bindings({name: "007"}).for_item(put_many.plan.entity.key.partition, put_many.plan.item)
        assert (leading_keys.texts, leading_keys.bound) == (("S#only#007*",), frozenset({name}))


def test_a_bound_parameter_becomes_the_principals_value() -> None:
    leading_keys = leading(of, owner="${aws:username}")
    assert (leading_keys.texts, leading_keys.bound, leading_keys.notes) == (
        ("A${$}#${aws:username}#*",),
        frozenset({"owner"}),
        (),
    )
    assert leading(several, owners="me").texts == ("A${$}#me#*",)
    assert leading(owned, owner="me").texts == ("me",)


def test_a_bound_value_that_is_encoded_or_follows_others_is_noted() -> None:
    notes = leading(of, number="${aws:PrincipalTag/n}").notes
    assert notes == (
        "A$#{owner}#{number:03d} contains number encoded as 03d: the principal's value must be encoded too",
        "number follows other fields in A$#{owner}#{number:03d}: other keys with the same ending also match",
    )


def test_a_number_cannot_be_bound() -> None:
    with pytest.raises(BindError, match="size is part of size, which is of type N"):
        leading(big, size="1")
