"""Keys taken apart: what samples tell without doubt, and what they do not."""

from __future__ import annotations

import pytest

from keyplan.importers.entities import is_telling, shape_of


@pytest.mark.parametrize(
    ("texts", "alias", "shape", "called"),
    [
        (["USER#1", "USER#2"], "", "USER#{}", ("user_id",)),
        (["USER#1"], "", "USER#{}", ("user_id",)),
        (["c#12"], "", "c#{}", ("c_id",)),
        (["#META#a1", "#META#b2"], "", "#META#{}", ("meta_id",)),
        (["USER#1#ORDER#7"], "", "USER#{}#ORDER#{}", ("user_id", "order_id")),
        (["USER#1#PROFILE", "USER#2#PROFILE"], "", "USER#{}#PROFILE", ("user_id",)),
        (["ITEMS#001"], "ITEMS#ItemID", "ITEMS#{}", ("ItemID",)),
        (["ITEMS#001"], "ITEMS#<ItemID>", "ITEMS#{}", ("ItemID",)),
        (["SUB#1#SKU#9"], "SubId#SKU", "SUB#{}#SKU#{}", ("SubId", "SKU")),
        (["PROFILE", "PROFILE"], "", "PROFILE", ()),
        (["profile"], "profile", "profile", ()),
        (["ORG#acme#admins"], "ORG#Org#admins", "ORG#{}#admins", ("Org",)),
        (["USER#1#PROFILE"], "", "USER#{}#{}", ("user_id", "")),
        (["USER#1#profile", "USER#2#profile"], "", "USER#{}#profile", ("user_id",)),
        (["USER#1#v1", "USER#2#v1"], "", "USER#{}#{}", ("user_id", "")),
        (["A#1#2", "A#3#4"], "", "A#{}#{}", ("a_id", "")),
        (["A#x#1", "A#y#2"], "", "A#{}#{}", ("a_id", "")),
        (["S#o1#1", "S#o1#2"], "", "S#{}#{}", ("s_id", "")),
        (["A##1", "A##2"], "A#x#id", "A##{}", ("id",)),
        (["c#12"], "Client#Id", "c#{}", ("Id",)),
        (["SUB#1#SKU#9"], "sub#Id#code#Sku", "SUB#{}#SKU#{}", ("Id", "Sku")),
        (["S#open#1"], "S#State#Id", "S#{}#{}", ("State", "Id")),
        (["ITEM#1"], "ITEM#[$Id]", "ITEM#{}", ("Id",)),
    ],
)
def test_what_is_told(texts: list[str], alias: str, shape: str, called: tuple[str, ...]) -> None:
    found = shape_of(texts, alias)
    assert found is not None
    assert (found.text, found.called) == (shape, called)


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([], "there is no sample"),
        (["alice", "bob"], "there is no separator"),
        (["PROFILE"], "one item does not show that all have this text"),
        (["USER#1", "ORDER#2"], "the first word differs"),
        (["USER#1", "USER#1#x"], "they have not the same number of parts"),
        (["2026#1", "2026#2"], "a number is no word"),
        (["STATUS#open#1", "STATUS#open#2"], "open may be a value that happens to be the same"),
        (["USER#", "USER#2"], "a value is empty"),
        (["USER#{x}"], "braces mean something in templates"),
        (["USER#{x"], "so does one of them"),
        (["USER#1", "USER#x}"], "and the other"),
        (["1#A", "2#A"], "the first part is a value"),
        (["#1", "#2"], "there is no word"),
        (["#", "#"], "there is nothing"),
    ],
)
def test_what_is_in_doubt_is_no_shape(texts: list[str], why: str) -> None:
    assert shape_of(texts) is None, why


def test_the_values_of_each_part_are_kept() -> None:
    found = shape_of(["A#1#B#x", "A#2#B#y"])
    assert found is not None
    assert found.values == (("1", "2"), ("x", "y"))


@pytest.mark.parametrize(
    ("column", "telling"), [(["1", "2"], True), (["abcdef"], True), (["abcde"], False), (["1"], False)]
)
def test_equal_values_tell_if_they_are_several_or_long(column: list[str], telling: bool) -> None:
    assert is_telling(column) is telling
