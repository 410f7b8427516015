"""Reads as they are planned: every term on every placeholder of a sort key, as operator and rendered texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, Literal

import pytest
from tests.design.ranges import partition_of, residue_of, sort_of

from keyplan import (
    GSI,
    Entity,
    F,
    ItemKey,
    KeyCondition,
    Page,
    Table,
    attr,
    each,
    every_shard,
    everything,
    item,
    key,
    pk,
)
from keyplan.design.declaring.patterns import Read
from keyplan.design.keys.entity_keys import KeySpec

P = Any


def planned(spec: KeySpec, body: Any, *, others: tuple[KeySpec, ...] = (), attributes: tuple[str, ...] = ("SK",)) -> P:
    """Return the plan of a query of an index with this sort key."""
    index = GSI("index", pk="GPK", sk=attributes)
    table = Table("table", pk="id", indexes=[index])
    entities = []
    for number, entity in enumerate((spec, *others)):

        @table.entity(indexes={"index": entity}, name=f"Thing{number}")
        class Thing(Entity):
            id: str
            owner: str
            name: str
            kind: Literal["a", "b"]
            number: int
            at: datetime
            day: date

        entities.append(Thing)
    pattern: Read[..., Page[Any]] = table.query(*entities, index="index")(body)
    return pattern.plan


def under(terms: KeyCondition) -> Any:
    """Return a body that adds these terms to a partition."""
    return lambda owner: replace(terms, partition={"owner": owner})


def named(sort: str) -> KeySpec:
    return key("OF#{owner}", sort)


NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
NAME, NUMBER, AT, DAY = "NAME#{name}", "N#{number:04d}#{name}", "AT#{at:utc_ms}", "{day}#{kind}#{name}"

EQUAL_AND_PREFIX: list[tuple[str, Any, list[tuple[str, ...]]]] = [
    (NAME, lambda owner: pk(owner=owner), [("begins_with", "NAME#")]),
    (NAME, lambda owner: pk(owner=owner).sk(name="x"), [("=", "NAME#x")]),
    ("PROFILE", lambda owner: pk(owner=owner), [("=", "PROFILE")]),
    ("{name}", lambda owner: pk(owner=owner), []),
    (DAY, lambda owner: pk(owner=owner), []),
    (DAY, lambda owner: pk(owner=owner).sk(day=date(2026, 5, 4)), [("begins_with", "2026-05-04#")]),
    (DAY, lambda owner: pk(owner=owner).sk(kind="a", day=date(2026, 5, 4)), [("begins_with", "2026-05-04#a#")]),
    (
        DAY,
        lambda owner: pk(owner=owner).sk(day=date(2026, 5, 4), kind="a", name="x"),
        [("=", "2026-05-04#a#x")],
    ),
    (NUMBER, lambda owner: pk(owner=owner).sk(number=7), [("begins_with", "N#0007#")]),
]


@pytest.mark.parametrize(("sort", "body", "expected"), EQUAL_AND_PREFIX)
def test_leading_fields_are_equal_or_a_prefix(sort: str, body: Any, expected: list[tuple[str, ...]]) -> None:
    plan = planned(named(sort), body)
    assert partition_of(plan, owner="me") == ["OF#me"]
    assert sort_of(plan, owner="me") == expected
    assert plan.faults == ()
    assert plan.residue is None


START, END = "2026-05-04T12:00:00.000Z", "2026-05-04T13:00:00.000Z"
LATER = datetime(2026, 5, 4, 13, tzinfo=UTC)

RANGES: list[tuple[str, Any, tuple[str, ...], tuple[str, ...] | None]] = [
    # The only placeholder, behind literal text: both ends, so that other entities' keys stay out.
    (NAME, pk().sk.gte(name="m"), ("BETWEEN", "NAME#m", "NAME$"), None),
    (NAME, pk().sk.gt(name="m"), ("BETWEEN", "NAME#m\0", "NAME$"), None),
    (NAME, pk().sk.lte(name="m"), ("BETWEEN", "NAME#", "NAME#m"), None),
    (NAME, pk().sk.lt(name="m"), ("BETWEEN", "NAME#", "NAME#m"), ("<", "F.name")),
    (NAME, pk().sk.between(name=("k", "m")), ("BETWEEN", "NAME#k", "NAME#m"), None),
    (NAME, pk().sk.begins_with(name="m"), ("begins_with", "NAME#m"), None),
    # The only placeholder, and nothing before it: one end is enough.
    ("{name}", pk().sk.gte(name="m"), (">=", "m"), None),
    ("{name}", pk().sk.gt(name="m"), (">", "m"), None),
    ("{name}", pk().sk.lte(name="m"), ("<=", "m"), None),
    ("{name}", pk().sk.lt(name="m"), ("<", "m"), None),
    ("{name}", pk().sk.between(name=("k", "m")), ("BETWEEN", "k", "m"), None),
    ("{name}", pk().sk.begins_with(name="m"), ("begins_with", "m"), None),
    # The first of several placeholders: what follows it is inside or outside as a whole.
    (NUMBER, pk().sk.gte(number=7), ("BETWEEN", "N#0007#", "N#:"), None),
    (NUMBER, pk().sk.gt(number=7), ("BETWEEN", "N#0007$", "N#:"), None),
    (NUMBER, pk().sk.lte(number=7), ("BETWEEN", "N#0", "N#0007$"), None),
    (NUMBER, pk().sk.lt(number=7), ("BETWEEN", "N#0", "N#0007"), None),
    (NUMBER, pk().sk.between(number=(7, 9)), ("BETWEEN", "N#0007#", "N#0009$"), None),
    # The middle placeholder, and the last.
    (DAY, pk().sk(day=date(2026, 5, 4)).sk.gt(kind="a"), ("BETWEEN", "2026-05-04#a$", "2026-05-04#c"), None),
    (DAY, pk().sk(day=date(2026, 5, 4)).sk.lt(kind="b"), ("BETWEEN", "2026-05-04#a", "2026-05-04#b"), None),
    (
        DAY,
        pk().sk(day=date(2026, 5, 4), kind="a").sk.gte(name="m"),
        ("BETWEEN", "2026-05-04#a#m", "2026-05-04#a$"),
        None,
    ),
    (DAY, pk().sk.gt(day=date(2026, 5, 4)), (">", "2026-05-04#c"), None),
    # A timestamp shares its text with others of the same millisecond: those at the ends are compared afterwards.
    (AT, pk().sk.gte(at=NOON), ("BETWEEN", f"AT#{START}", "AT#:"), (">=", "F.at")),
    (AT, pk().sk.gt(at=NOON), ("BETWEEN", f"AT#{START}", "AT#:"), (">", "F.at")),
    (AT, pk().sk.lt(at=NOON), ("BETWEEN", "AT#0", f"AT#{START}"), ("<", "F.at")),
    (AT, pk().sk.lte(at=NOON), ("BETWEEN", "AT#0", f"AT#{START}"), ("<=", "F.at")),
    (AT, pk().sk.between(at=(NOON, LATER)), ("BETWEEN", f"AT#{START}", f"AT#{END}"), ("between", "F.at")),
    ("{at:utc_ms}", pk().sk.lt(at=NOON), ("<=", START), ("<", "F.at")),
    ("{at:utc_ms}", pk().sk.gt(at=NOON), (">=", START), (">", "F.at")),
    ("{at:utc_us}", pk().sk.lt(at=NOON), ("<", "2026-05-04T12:00:00.000000Z"), None),
    (AT.replace("ms", "us"), pk().sk.lt(at=NOON), ("BETWEEN", "AT#0", "AT#2026-05-04T12:00:00.000000Y"), None),
]


@pytest.mark.parametrize(("sort", "term", "expected", "residue"), RANGES)
def test_the_bounds_of_a_range_follow_its_template(
    sort: str, term: KeyCondition, expected: tuple[str, ...], residue: tuple[str, ...] | None
) -> None:
    plan = planned(named(sort), under(term))
    assert sort_of(plan, owner="me") == [expected]
    assert residue_of(plan) == residue
    assert plan.faults == ()


def test_the_start_of_a_day_may_be_text() -> None:
    plan = planned(named(DAY), lambda owner, month: pk(owner=owner).sk.begins_with(day=month))
    assert sort_of(plan, owner="me", month="2026-05") == [("begins_with", "2026-05")]


def test_plain_fields_are_compared_in_their_stored_form() -> None:
    spec = key("OF#{owner}", attr("number"))
    assert sort_of(planned(spec, lambda owner: pk(owner=owner)), owner="me") == []
    for term, expected in [
        (pk().sk(number=7), ("=", "7")),
        (pk().sk.gt(number=7), (">", "7")),
        (pk().sk.lte(number=7), ("<=", "7")),
        (pk().sk.between(number=(-1, 7)), ("BETWEEN", "-1", "7")),
    ]:
        plan = planned(spec, under(term))
        assert sort_of(plan, owner="me") == [expected]
        assert plan.residue is None


def test_several_key_attributes_are_equal_from_the_left_with_one_range_at_the_end() -> None:
    spec, three = key("OF#{owner}", (attr("kind"), attr("day"), "N#{number:02d}#{name}")), ("S1", "S2", "S3")
    for terms, expected in [
        (pk().sk(), []),
        (pk().sk(kind="a"), [("=", "a")]),
        (pk().sk.gt(kind="a"), [(">", "a")]),
        (pk().sk(kind="a").sk.gte(day=date(2026, 5, 4)), [("=", "a"), (">=", "2026-05-04")]),
        (pk().sk(day=date(2026, 5, 4), kind="a"), [("=", "a"), ("=", "2026-05-04"), ("begins_with", "N#")]),
        (
            pk().sk(kind="a", day=date(2026, 5, 4), number=3),
            [("=", "a"), ("=", "2026-05-04"), ("begins_with", "N#03#")],
        ),
        (
            pk().sk(kind="a", day=date(2026, 5, 4)).sk.lt(number=3),
            [("=", "a"), ("=", "2026-05-04"), ("BETWEEN", "N#0", "N#03")],
        ),
        (
            pk().sk(kind="a", day=date(2026, 5, 4), number=3, name="x"),
            [("=", "a"), ("=", "2026-05-04"), ("=", "N#03#x")],
        ),
    ]:
        plan = planned(spec, under(terms), attributes=three)
        assert plan.faults == ()
        assert sort_of(plan, owner="me") == expected


@pytest.mark.parametrize(
    "terms",
    [
        pk().sk(day=date(2026, 5, 4)),
        pk().sk(kind="a", number=1),
        pk().sk(day=date(2026, 5, 4)).sk.gt(kind="a"),
        pk().sk.lt(number=3),
    ],
)
def test_gaps_between_key_attributes_are_faults(terms: KeyCondition) -> None:
    spec = key("OF#{owner}", (attr("kind"), attr("day"), attr("number")))
    plan = planned(spec, under(terms), attributes=("S1", "S2", "S3"))
    assert [fault.code for fault in plan.faults] == ["KP308"]


@pytest.mark.parametrize(
    "terms", [pk().sk(kind="a"), pk().sk(kind="a").sk.gt(day=date(2026, 5, 4)), pk().sk.gt(name="x"), pk().sk(number=1)]
)
def test_gaps_within_a_template_are_faults(terms: KeyCondition) -> None:
    plan = planned(named(DAY), under(terms))
    assert [fault.code for fault in plan.faults] == ["KP301"]


def test_a_prefix_without_an_end_is_filtered_afterwards() -> None:
    plan = planned(named("{name}{kind}"), lambda owner: pk(owner=owner).sk(name="x"))
    assert sort_of(plan, owner="me") == [("begins_with", "x")]
    assert residue_of(plan) == ("=", "F.name")


LEVELS = ("L#{day}#{kind}", "L#{day}#{kind}#{name}", "L#{day}#{name}#{number:04d}")


def test_entities_share_the_prefix_of_a_hierarchy() -> None:
    first, *others = map(named, LEVELS)
    plan = planned(first, lambda owner: pk(owner=owner).sk(day=date(2026, 5, 4)), others=tuple(others))
    assert not plan.faults
    assert sort_of(plan) == [("begins_with", "L#2026-05-04#")]


@pytest.mark.parametrize(
    ("other", "body"),
    [
        (LEVELS[1], lambda owner: pk(owner=owner).sk(day=date(2026, 5, 4), kind="a")),  # the first key is complete
        ("L#{kind}#{name}", lambda owner: pk(owner=owner).sk(day=date(2026, 5, 4))),
        ("X#{day}#{kind}", lambda owner: pk(owner=owner).sk(day=date(2026, 5, 4))),
        (LEVELS[1], lambda owner: pk(owner=owner).sk.gte(day=date(2026, 5, 4))),
    ],
)
def test_entities_that_start_differently_share_no_condition(other: str, body: Any) -> None:
    plan = planned(named(LEVELS[0]), body, others=(named(other),))
    assert [fault.code for fault in plan.faults] == ["KP301"]
    assert "would be left out" in plan.faults[0].problem


def test_several_entities_are_read_from_the_whole_partition() -> None:
    plan = planned(named("A#{name}"), lambda owner: pk(owner=owner), others=(named("B#{name}"),))
    assert [entity.name for entity in plan.entities] == ["Thing0", "Thing1"]
    assert sort_of(plan, owner="me") == []
    assert plan.faults == ()


def test_several_entities_share_a_range_if_their_sort_keys_are_alike() -> None:
    plan = planned(named(AT), lambda owner: pk(owner=owner).sk.gte(at=NOON), others=(named(AT),))
    assert sort_of(plan, owner="me") == [("BETWEEN", f"AT#{START}", "AT#:")]
    assert plan.faults == ()


def test_a_sort_key_may_be_written_in_full() -> None:
    plan = planned(named(NAME), lambda owner, end: pk.text("OF#{owner}").sk.text("between", "A#", "NAME#{end}"))
    assert partition_of(plan, owner="me", end="z") == ["OF#me"]
    assert sort_of(plan, owner="me", end="z") == [("BETWEEN", "A#", "NAME#z")]


def test_a_parameter_may_have_another_name_than_its_field_or_be_part_of_an_object() -> None:
    plan = planned(named(NAME), lambda person, least: pk(owner=person.owner).sk.gte(name=least))

    class Person:
        owner = "me"

    assert partition_of(plan, person=Person, least="m") == ["OF#me"]
    assert sort_of(plan, person=Person, least="m") == [("BETWEEN", "NAME#m", "NAME$")]


def test_a_query_of_several_partitions_names_the_varying_field() -> None:
    plan = planned(named(NAME), lambda owners: pk(owner=each(owners)))
    assert plan.walk is not None
    assert plan.walk[0] == "owner"
    shards = planned(key("OF#{owner:shard(4)}", "{name}"), lambda: pk(owner=every_shard()))
    assert repr(shards.walk) == "('owner', every_shard())"


app = Table("app", pk="id", ttl="until", indexes=[GSI("by_owner", pk="owner", sk="number", project=["name"])])


@app.entity()
class Thing(Entity):
    id: str
    owner: str
    number: int
    name: str
    note: str = ""
    until: datetime | None = None


@app.query(Thing, index="by_owner", descending=True, limit=3, page_size=9, expected_items=2)
def things(owner: str) -> KeyCondition:
    """Things of one owner."""
    return pk(owner=owner).filter(F.name != "x")


@app.count(Thing, index="by_owner", expired=True)
def number_of_things(owner: str) -> KeyCondition:
    """How many."""
    return pk(owner=owner)


@app.scan(Thing)
def all_things() -> KeyCondition:
    """All."""
    return everything()


@app.get(Thing, consistent=True)
def thing(id: str) -> ItemKey:
    """One."""
    return item(id=id)


@app.batch_get(Thing)
def some_things(ids: list[str]) -> ItemKey:
    """Return some tasks."""
    return item(id=each(ids))


def test_options_are_part_of_the_plan() -> None:
    plan = things.plan
    assert (plan.operation, plan.descending, plan.limit, plan.page_size) == ("Query", True, 3, 9)
    assert plan.index is app.schema.indexes[0]
    assert plan.filter is not None
    assert things.facts.expected_items == 2
    assert things.doc == "Things of one owner."
    assert number_of_things.plan.select == "count"
    assert number_of_things.plan.expired == "keep"
    assert (all_things.plan.operation, all_things.plan.key) == ("Scan", None)
    assert (thing.plan.operation, thing.plan.consistent) == ("GetItem", True)
    assert (some_things.plan.operation, some_things.plan.walk is not None) == ("BatchGetItem", True)


def test_a_note_about_expiry_needs_an_entity_that_expires() -> None:
    table = Table("shop", pk="PK", ttl="until")

    @table.entity(key=key("ORDER#{number}"))
    class Order(Entity):
        number: int

    @table.get(Order, consistent=True)
    def order(number: int) -> ItemKey:
        return item(number=number)

    assert order.plan.notes == ()


def test_notes_name_attributes_that_an_index_does_not_project() -> None:
    assert "by_owner does not project note, until of Thing: they are returned as their defaults" in things.plan.notes
    assert "by_owner does not project until: expired items of Thing are returned until deleted" in things.plan.notes
    assert not any("hold" in note for note in number_of_things.plan.notes)
    assert thing.plan.notes == (
        "items whose until has passed are left out; the service deletes them within a few days",
    )


def test_plans_and_their_parts_have_a_short_repr() -> None:
    assert repr(things.plan) == "<Plan of things: Query on app by by_owner>"
    assert repr(things.plan.key) == "<<owner: whole with owner=owner>>"
    assert repr(app.entities[0]) == "<Entity Thing of app>"
    assert repr(app.entities[0].indexes[0]) == "<Key of by_owner: owner = {owner}, number = {number}>"
    assert repr(things("me")) == "things(owner='me')"


def test_calls_accept_arguments_like_functions() -> None:
    assert things("me").arguments == things(owner="me").arguments == {"owner": "me"}
    with pytest.raises(TypeError, match=r"things\(\) takes 1 arguments, but 2 were given"):
        things("me", "you")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"things\(\) got an unexpected argument user"):
        things(user="me")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"things\(\) got multiple values for argument owner"):
        things("me", owner="you")  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"things\(\) is missing owner"):
        things()  # type: ignore[call-arg]


def test_a_call_may_return_more_than_a_page_if_it_reads_several_partitions() -> None:
    @app.query(Thing, index="by_owner", limit=100, page_size=10, expected_items=60)
    def many(owner: str) -> KeyCondition:
        return pk(owner=owner)

    @app.query(Thing, index="by_owner", page_size=10, expected_items=60)
    def of_several(owners: list[str]) -> KeyCondition:
        return pk(owner=each(owners))

    assert [pattern.facts.expected_items for pattern in (many, of_several)] == [60, 60]
