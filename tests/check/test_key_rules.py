"""Laws of the rules that rest on the algebra of templates: what they do not find cannot happen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import Field
from tests.laws import examples

from keyplan import Entity, KeyCondition, Table, key, pk
from keyplan.check.rules.keys.identity import key_collision
from keyplan.check.rules.keys.references import prefix_capture
from keyplan.check.rules.patterns.access_paths import mixed_entity_read
from keyplan.check.rules.patterns.conditions import impossible_condition
from keyplan.check.rules.patterns.results import range_end_excluded
from keyplan.check.subject import Subject
from keyplan.design.declaring.design import Design
from keyplan.design.entities import EntitySpec, spec_of
from keyplan.design.keys.encodings import KeyPartError
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.items import key_value_maker


class Fields(Entity):
    """Fields of all kinds that templates take."""

    text: Annotated[str, Field(min_length=1, max_length=8)]
    number: Annotated[int, Field(ge=0, le=999)]
    kind: Literal["a", "ab", "b"]
    day: date
    at: datetime


HOLES = ("{text}", "{number}", "{number:04d}", "{kind}", "{day}", "{at:utc_s}", "{text:quote}")
LITERALS = ("A#", "AB#", "#", "USER#", "META", "a", "-")
ALNUM = ("a", "ab", "b", "A", "META", "7")
TEXTS = (*ALNUM, "a#b", "b#", "A#a", "#")

templates = st.lists(st.sampled_from(HOLES + LITERALS), min_size=1, max_size=4).map("".join)


def values(texts: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "text": st.sampled_from(texts),
            "number": st.sampled_from([0, 1, 7, 10, 42, 999]),
            "kind": st.sampled_from(["a", "ab", "b"]),
            "day": st.sampled_from([date(2025, 10, 31), date(2025, 11, 1)]),
            "at": st.sampled_from([datetime(2025, 10, 31, 12, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)]),
        }
    )


def declared(table: Table, name: str, partition: str, sort: str) -> type[Fields]:
    return table.entity(key=key(partition, sort))(type(name, (Fields,), {"__annotations__": {}}))


def rendered(spec: EntitySpec, with_values: Mapping[str, Any]) -> list[str] | None:
    """Return the primary key of these values, or None if they cannot be in a key."""
    try:
        return [part.template.render(with_values) for part in spec.key.attributes if part.template is not None]
    except KeyPartError:
        return None


@settings(max_examples=examples(60), deadline=None)
@given(
    keys=st.tuples(templates, templates, templates, templates),
    left_values=values(TEXTS),
    right_values=values(TEXTS),
)
def test_entities_without_a_collision_finding_never_share_a_key(
    keys: tuple[str, str, str, str], left_values: dict[str, Any], right_values: dict[str, Any]
) -> None:
    table = Table("app", pk="PK", sk="SK")
    first, second = declared(table, "First", *keys[:2]), declared(table, "Second", *keys[2:])
    findings = [
        finding
        for finding in key_collision.check(Subject(Design("app", (table,))))
        if "overwrite each other" in finding.problem
    ]
    texts = rendered(spec_of(first), left_values), rendered(spec_of(second), right_values)
    if not findings and None not in texts:
        assert texts[0] != texts[1]


Asks = Literal["all", "first", "below", "above", "between", "prefix"]


def plan_of(table: Table, entity: type[Fields], asks: Asks) -> Plan:
    """Return the plan of a query of an entity, with a parameter for each field of the partition key."""
    spec = spec_of(entity)
    needed = list(dict.fromkeys(spec.key.partition[0].fields))
    order = list(spec.key.sort[0].fields)
    assume(asks in {"all", "prefix"} or order)

    def body(text: str, number: int, kind: Literal["a", "ab", "b"], day: date, at: datetime) -> KeyCondition:
        arguments = {"text": text, "number": number, "kind": kind, "day": day, "at": at}
        partition = pk(**{name: arguments[name] for name in needed})
        if asks == "all":
            return partition
        if asks == "prefix":
            template = spec.key.sort[0].template
            assert template is not None
            return partition.sk.text("begins_with", template.literal_prefix or "A")
        name = order[0]
        ranges = {
            "first": partition.sk(**{name: arguments[name]}),
            "below": partition.sk.lt(**{name: arguments[name]}),
            "above": partition.sk.gt(**{name: arguments[name]}),
            "between": partition.sk.between(**{name: (arguments[name], arguments[name])}),
        }
        return ranges[asks]

    return table.query(entity)(body).plan


def takes_in(plan: Plan, arguments: Mapping[str, Any], item: list[str]) -> bool:
    """Whether a query with these arguments reads an item with this key."""
    assert plan.key is not None
    partition = key_value_maker(plan.key.partition[0])(arguments)["S"]
    if partition != item[0]:
        return False
    for attribute in plan.key.sort:
        low = key_value_maker(attribute.low)(arguments)["S"]
        high = key_value_maker(attribute.high)(arguments)["S"] if attribute.high is not None else ""
        text, low_bytes, high_bytes = item[1].encode(), low.encode(), high.encode()
        inside = {
            "=": text == low_bytes,
            "begins_with": text.startswith(low_bytes),
            "<": text < low_bytes,
            "<=": text <= low_bytes,
            ">": text > low_bytes,
            ">=": text >= low_bytes,
            "BETWEEN": low_bytes <= text <= high_bytes,
        }
        if not inside[attribute.op]:
            return False
    return True


@settings(max_examples=examples(60), deadline=None)
@given(
    keys=st.tuples(templates, templates, templates, templates),
    asks=st.sampled_from(["all", "first", "below", "above", "between", "prefix"]),
    arguments=values(ALNUM),
    other=values(ALNUM),
)
def test_queries_without_a_finding_never_read_another_entity(
    keys: tuple[str, str, str, str], asks: Asks, arguments: dict[str, Any], other: dict[str, Any]
) -> None:
    table = Table("app", pk="PK", sk="SK")
    first, second = declared(table, "First", *keys[:2]), declared(table, "Second", *keys[2:])
    plan = plan_of(table, first, asks)
    subject = Subject(Design("app", (table,)))
    assume(not plan.faults)
    entries = [*prefix_capture.check(subject), *mixed_entity_read.check(subject)]
    item = rendered(spec_of(second), other)
    if not entries and item is not None:
        try:
            assert not takes_in(plan, arguments, item)
        except ValueError:
            assume(False)  # the arguments make no request at all


@settings(max_examples=examples(60), deadline=None)
@given(
    keys=st.tuples(templates, templates),
    op=st.sampled_from(["=", "begins_with"]),
    words=templates.filter(lambda text: "utc_s" not in text),
    arguments=values(ALNUM),
    item_values=values(ALNUM),
)
def test_a_condition_reported_as_never_true_matches_no_item(
    keys: tuple[str, str],
    op: Literal["=", "begins_with"],
    words: str,
    arguments: dict[str, Any],
    item_values: dict[str, Any],
) -> None:
    table = Table("app", pk="PK", sk="SK")
    entity = declared(table, "First", *keys)
    needed = list(dict.fromkeys(spec_of(entity).key.partition[0].fields))

    def body(text: str, number: int, kind: Literal["a", "ab", "b"], day: date, at: datetime) -> KeyCondition:
        arguments = {"text": text, "number": number, "kind": kind, "day": day, "at": at}
        return pk(**{name: arguments[name] for name in needed}).sk.text(op, words)

    plan = table.query(entity)(body).plan
    assume(not plan.faults)
    findings = list(impossible_condition.check(Subject(Design("app", (table,)))))
    item = rendered(spec_of(entity), item_values)
    if findings and item is not None:
        try:
            assert not takes_in(plan, {**arguments, **{name: item_values[name] for name in needed}}, item)
        except ValueError:
            assume(False)  # the arguments make no request at all


@settings(max_examples=examples(60), deadline=None)
@given(keys=st.tuples(templates, templates), words=templates, arguments=values(ALNUM), item_values=values(ALNUM))
def test_a_range_reported_as_losing_its_end_ends_at_no_key(
    keys: tuple[str, str], words: str, arguments: dict[str, Any], item_values: dict[str, Any]
) -> None:
    table = Table("app", pk="PK", sk="SK")
    entity = declared(table, "First", *keys)
    needed = list(dict.fromkeys(spec_of(entity).key.partition[0].fields))

    def body(text: str, number: int, kind: Literal["a", "ab", "b"], day: date, at: datetime) -> KeyCondition:
        arguments = {"text": text, "number": number, "kind": kind, "day": day, "at": at}
        return pk(**{name: arguments[name] for name in needed}).sk.text("<=", words)

    plan = table.query(entity)(body).plan
    assume(not plan.faults)
    subject = Subject(Design("app", (table,)))
    item = rendered(spec_of(entity), item_values)
    assert plan.key is not None
    if item is not None and list(range_end_excluded.check(subject)):
        try:
            assert key_value_maker(plan.key.sort[0].low)(arguments)["S"] != item[1]
        except ValueError:
            assume(False)  # the arguments make no request at all
