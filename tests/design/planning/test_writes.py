"""Writes as they are planned: index keys are right after every update, or a fault says what is missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, NewType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.laws import examples

from keyplan import GSI, Entity, F, ItemKey, ItemWrite, Table, attr, each, item, key
from keyplan.design.conditions.evaluation import holds
from keyplan.design.parameters import Param, value_of
from keyplan.design.planning.plan import IndexEffect, Plan
from keyplan.design.requests.items import item_builder


class Place(BaseModel):
    city: str


app = Table(
    "app",
    pk="PK",
    sk="SK",
    indexes=[
        GSI("due", pk="DuePK", sk="DueSK"),
        GSI("top", pk="TopPK", sk="points"),
        GSI("plain", pk="owner", sk="rank"),
        GSI("city", pk="CityPK"),
        GSI("tagged", pk="TagPK"),
    ],
)


@app.entity(
    key=key("LIST#{list_id}", "TASK#{task_id}"),
    version="version",
    indexes={
        "due": key("DUE#{list_id}", "{due_at:utc_ms}#{note}", only_if=F.status == "open"),
        "top": key("TOP", attr("points")),
        "city": key("CITY#{list_id}", only_if=F.place["city"] == "Rome"),
        "tagged": key("TAGGED#{list_id}", only_if=F.tags.contains("x")),
    },
)
class Task(Entity):
    list_id: str
    task_id: str
    owner: str = "nobody"
    rank: int | None = None
    points: int | None = None
    status: Literal["open", "done"] = "open"
    due_at: datetime | None = None
    note: str = "-"
    place: Place | None = None
    tags: set[str] = set()  # noqa: RUF012 - pydantic copies it
    log: list[str] = []  # noqa: RUF012 - pydantic copies it
    version: int = 0


SPEC = app.entities[0]
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
P = Param
ME = item(list_id=P("list_id", str), task_id=P("task_id", str))


def planned(change: ItemWrite, *, upsert: bool = False) -> Plan:
    """Return the plan of an update, whose parameters are those that it mentions."""
    pattern = app.update(Task, upsert=upsert)(lambda: replace(change, key=ME.key, places=ME.places))
    app.patterns.clear()
    return pattern.plan


def missing_members(plan: Plan) -> dict[str, str]:
    """By index, what a fault says is missing."""
    members = {}
    for fault in plan.faults:
        assert fault.code == "KP401"
        index = fault.problem.split("index ")[1].split(" ")[0]
        members[index] = fault.problem.split("also needs ")[1].split(":")[0]
    return members


def effects(plan: Plan) -> dict[str, dict[str, str]]:
    """By index, where the fields of its key come from."""
    return {
        effect.key.index.name: {name: repr(source) for name, source in effect.sources.items()}
        for effect in plan.effects
        if effect.key.index is not None
    }


WHO = {"list_id": "list_id"}
DUE = {**WHO, "due_at": "due_at", "note": "note", "status": "'open'"}

CASES: list[tuple[str, ItemWrite, dict[str, dict[str, str]], dict[str, str]]] = [
    ("a field of no key", item().set(owner="me").append(log="x"), {}, {}),
    ("leaving by the condition", item().set(status="done"), {"due": {**WHO, "status": "'done'"}}, {}),
    ("entering by the condition", item().set(status="open"), {}, {"due": "due_at, note"}),
    ("a condition given at the call", item().set(status=P("status", str)), {}, {"due": "due_at, note"}),
    ("a field of the key alone", item().set(due_at=P("due_at", None)), {}, {"due": "note, status"}),
    ("a field of the key as a constant", item().set(due_at=NOON), {}, {"due": "note, status"}),
    ("removing what the key is made of", item().remove("due_at"), {"due": {**WHO, "due_at": "None"}}, {}),
    ("setting it to None", item().set(due_at=None), {"due": {**WHO, "due_at": "None"}}, {}),
    (
        "all of a key",
        item().set(status="open", due_at=P("due_at", None), note=P("note", None)),
        {"due": DUE},
        {},
    ),
    (
        "the rest known",
        item().set(due_at=P("due_at", None)).assuming(status="open", note=P("note", None)),
        {"due": DUE},
        {},
    ),
    (
        "known out of the index",
        item().set(due_at=P("due_at", None)).assuming(status="done"),
        {"due": {**WHO, "due_at": "due_at", "status": "'done'"}},
        {},
    ),
    (
        "known and then changed",
        item().set(due_at=P("due_at", None), status="open").assuming(status="done", note="-"),
        {"due": {**DUE, "note": "'-'"}},
        {},
    ),
    (
        "a condition that keeps it out of the index",
        item().set(due_at=P("due_at", None)).condition((F.status == "done") & (F.points > 3)),
        {"due": {**WHO, "due_at": "due_at", "status": "'done'"}},
        {},
    ),
    (
        "a condition that what the key is made of is missing",
        item().set(status=P("status", str)).condition(F.due_at.missing()),
        {"due": {**WHO, "due_at": "None", "status": "status"}},
        {},
    ),
    (
        "a condition on what it changes",
        item().set(due_at=NOON).condition(F.due_at.missing()),
        {},
        {"due": "note, status"},
    ),
    (
        "a condition of a call",
        item().set(due_at=NOON).condition(F.status == P("status", str)),
        {},
        {"due": "note, status"},
    ),
    (
        "one of two conditions",
        item().set(due_at=NOON).condition((F.status == "done") | (F.rank > 1)),
        {},
        {"due": "note, status"},
    ),
    ("no other value", item().set(due_at=NOON).condition(F.status != "open"), {}, {"due": "note, status"}),
    (
        "a default where it is missing",
        item().set(due_at=NOON).condition(F.status.missing()),
        {},
        {"due": "note, status"},
    ),
    ("set where it is missing", item().set_if_missing(due_at=NOON), {}, {"due": "due_at, note, status"}),
    ("a number added to, beside literal text", item().add(points=1), {"top": {"points": "UNKNOWN"}}, {}),
    ("a number set, beside literal text", item().set(points=P("points", None)), {"top": {"points": "points"}}, {}),
    ("a number removed, beside literal text", item().remove("points"), {"top": {"points": "None"}}, {}),
    ("a number set where it is missing", item().set_if_missing(points=P("points", None)), {}, {"top": "points"}),
    ("fields that are the key themselves", item().set(owner="me", rank=3), {}, {}),
    ("a number that is the key itself added to", item().add(rank=1), {}, {}),
    ("a part of the condition's field", item().set(F.place["city"], "Rome"), {}, {"city": "place"}),
    ("a part removed", item().remove(F.place["city"]), {}, {"city": "place"}),
    (
        "the condition's field as a constant",
        item().set(place=Place(city="Rome")),
        {"city": {**WHO, "place": "Place(city='Rome')"}},
        {},
    ),
    ("the condition's field at the call", item().set(place=P("place", None)), {"city": {**WHO, "place": "place"}}, {}),
    ("the condition's field removed", item().remove("place"), {"city": {**WHO, "place": "None"}}, {}),
    ("a member added to the condition's field", item().add_to_set(tags="x"), {}, {"tagged": "tags"}),
]


@pytest.mark.parametrize(
    ("change", "expected", "missing"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_an_update_plan_describes_the_effect_on_index_keys(
    change: ItemWrite, expected: dict[str, dict[str, str]], missing: dict[str, str]
) -> None:
    plan = planned(change)
    assert missing_members(plan) == missing
    results = effects(plan)
    for index, sources in results.items():
        rule = expected[index]
        assert {name: source for name, source in sources.items() if source != "UNKNOWN" or name in rule} == rule
    assert results.keys() == expected.keys()


def test_an_upsert_that_leaves_a_new_item_out_of_an_index_is_a_fault() -> None:
    table = Table("table", pk="id", indexes=[GSI("by_state", pk="state"), GSI("made", pk="M")])

    @table.entity(indexes={"made": key("M#{kind}")})
    class Thing(Entity):
        id: str
        state: str = "new"
        kind: str | None = None
        count: int = 0

    @table.update(Thing, upsert=True)
    def count(id: str) -> ItemWrite:
        return item(id=id).add(count=1)

    @table.update(Thing, upsert=True)
    def count_in_state(id: str, state: str) -> ItemWrite:
        return item(id=id).add(count=1).set(state=state)

    @table.update(Thing)
    def count_what_is_there(id: str) -> ItemWrite:
        return item(id=id).add(count=1)

    assert [fault.code for fault in count.plan.faults] == ["KP401"]
    assert "also needs state" in count.plan.faults[0].problem
    assert count_in_state.plan.faults == count_what_is_there.plan.faults == ()


def test_an_upsert_may_add_to_the_number_that_sorts_an_index() -> None:
    table = Table("table", pk="id", indexes=[GSI("top", pk="T", sk="points"), GSI("rich", pk="R", sk="points")])

    @table.entity(
        indexes={"top": key("TOP#{id}", attr("points")), "rich": key("RICH#{id}", attr("points"), only_if=F.points > 9)}
    )
    class Score(Entity):
        id: str
        points: int = 0

    @table.update(Score, upsert=True)
    def give(id: str, points: int) -> ItemWrite:
        return item(id=id).add(points=points)

    (fault,) = give.plan.faults  # whether it is rich is unknown
    assert "index rich" in fault.problem


def test_an_upsert_that_could_create_an_unreadable_item_names_every_missing_field() -> None:
    table = Table("table", pk="id")

    @table.entity(version="version")
    class Thing(Entity):
        id: str
        title: str
        state: str
        log: list[str]
        seen: set[str]
        note: str | None
        version: int
        points: int = 0

    @table.update(Thing, upsert=True)
    def half(id: str, title: str) -> ItemWrite:
        return item(id=id).set(title=title).add(points=1)

    @table.update(Thing, upsert=True)
    def whole(id: str, title: str) -> ItemWrite:
        return item(id=id).set(title=title).set_if_missing(state="new").append(log=title)

    @table.update(Thing, upsert=True)
    def never_creates(id: str) -> ItemWrite:
        return item(id=id).add(points=1).condition(F.title == "known")

    (fault,) = half.plan.faults
    assert (fault.code, fault.place.line) == ("KP607", half.place.line)
    assert "without its required state, log" in fault.problem
    assert fault.fix.startswith("add .set_if_missing(state=...)")
    assert whole.plan.faults == never_creates.plan.faults == ()


def test_a_key_with_the_version_becomes_stale_with_every_update() -> None:
    table = Table("table", pk="id", indexes=[GSI("by_version", pk="V")])

    @table.entity(indexes={"by_version": key("V#{version:06d}")}, version="version")
    class Thing(Entity):
        id: str
        name: str = ""
        version: int = 0

    @table.update(Thing)
    def rename(id: str, name: str) -> ItemWrite:
        return item(id=id).set(name=name)

    assert [fault.code for fault in rename.plan.faults] == ["KP401"]


leavers = Table("leavers", pk="id", indexes=[GSI("present", pk="P", sk="S"), GSI("busy", pk="B")])


@leavers.entity(
    indexes={
        "present": key("TEAM#{team}", "{name}", only_if=F.left_at.missing() & F.tags.missing()),
        "busy": key("BUSY#{team}", only_if=F.state.is_in("called", "working")),
    }
)
class Member(Entity):
    id: str
    team: str
    name: str
    state: Literal["called", "working", "resting"] = "resting"
    left_at: datetime | None = None
    tags: set[str] = set()  # noqa: RUF012 - pydantic copies it


UserTimestamp = NewType("UserTimestamp", datetime)


@pytest.mark.parametrize("annotation", [datetime, Annotated[datetime, "a timestamp"], UserTimestamp, datetime | date])
def test_a_required_value_removes_an_item_from_an_index_of_missing_values(annotation: Any) -> None:
    plan = planned_of_member(item().set(left_at=P("at", annotation)))
    assert plan.faults == ()
    assert [effect.key.index.name for effect in plan.effects] == ["present"]


@pytest.mark.parametrize("annotation", [None, datetime | None, Any, object, Literal["x"] | None])
def test_an_optional_value_may_keep_an_item_in_an_index_of_missing_values(annotation: Any) -> None:
    (fault,) = planned_of_member(item().set(left_at=P("at", annotation))).faults
    assert "also needs team, name, tags:" in fault.problem


@pytest.mark.parametrize("annotation", [set[str], frozenset[str], Collection[str]])
def test_a_set_parameter_may_be_empty_and_so_missing(annotation: Any) -> None:
    (fault,) = planned_of_member(item().set(tags=P("tags", annotation))).faults
    assert "also needs team, name, left_at:" in fault.problem


def test_an_item_that_stays_in_an_index_keeps_its_key() -> None:
    plan = planned_of_member(item().set(state="working").condition(F.state == "called"))
    assert (plan.faults, plan.effects) == ((), ())
    plan = planned_of_member(item().set(state="working").condition(F.state.is_in("called", "working")))
    assert (plan.faults, plan.effects) == ((), ())
    plan = planned_of_member(item().set(state="working").condition(F.state.is_in("called") & F.name.is_in("a", "b")))
    assert (plan.faults, plan.effects) == ((), ())
    for choices in [("called", "resting"), ("called", P("other", str)), ("called", each(P("others", list[str])))]:
        (fault,) = planned_of_member(item().set(state="working").condition(F.state.is_in(*choices))).faults
        assert "index busy" in fault.problem
    plan = planned_of_member(item().set(state="resting").condition(F.state.is_in("called", "working")))
    assert (plan.faults, [effect.key.index.name for effect in plan.effects]) == ((), ["busy"])
    (fault,) = planned_of_member(item().set(state="working").condition(F.state == "resting")).faults
    assert "index busy" in fault.problem
    (fault,) = planned_of_member(item().set(state="working")).faults
    assert "index busy" in fault.problem


def planned_of_member(change: ItemWrite) -> Plan:
    """Return the plan of an update of a member."""
    pattern = leavers.update(Member)(lambda: replace(change, key={"id": P("id", str)}))
    leavers.patterns.clear()
    return pattern.plan


def test_a_local_index_needs_no_partition_key_fields() -> None:
    from keyplan import LSI  # noqa: PLC0415 - only this table has one

    table = Table("table", pk="PK", sk="SK", indexes=[LSI("by_points", sk="points")])

    @table.entity(key=key("A#{a}", "B#{b}"))
    class Thing(Entity):
        a: str
        b: str
        points: int = 0

    @table.update(Thing)
    def give(a: str, b: str) -> ItemWrite:
        return item(a=a, b=b).add(points=1)

    assert give.plan.faults == ()
    assert give.plan.effects == ()


# Laws.

TIMESTAMPS = st.sampled_from([NOON, NOON.replace(hour=13), None])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "owner": st.sampled_from(["me", "you"]),
    "rank": st.integers(0, 3) | st.none(),
    "points": st.integers(0, 3) | st.none(),
    "status": st.sampled_from(["open", "done"]),
    "due_at": TIMESTAMPS,
    "note": st.sampled_from(["-", "a", "b"]),
    "place": st.sampled_from([None, Place(city="Rome"), Place(city="Oslo")]),
    "tags": st.sampled_from([set(), {"x"}, {"y"}, {"x", "y"}]),
    "log": st.just(["a"]),
}
OPTIONAL = {"rank", "points", "due_at", "place"}
TASKS = st.fixed_dictionaries(VALUES).map(lambda values: Task(list_id="l", task_id="t", version=3, **values))


@st.composite
def updates(draw: st.DrawFn) -> tuple[ItemWrite, dict[str, Any]]:
    """Draw a change of some fields, each by a constant, a parameter or an operator, and the arguments of a call."""
    change = ItemWrite()
    arguments: dict[str, Any] = {"list_id": "l", "task_id": "t"}
    for name in draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=4)):
        value = draw(VALUES[name])
        how = draw(st.sampled_from(["constant", "parameter", "remove", "known", "operator"]))
        if how == "remove" and name in OPTIONAL:
            change = change.remove(name)
        elif how == "known":
            arguments[f"known_{name}"] = None  # filled in from the item
            change = change.assuming(**{name: P(f"known_{name}", None)})
        elif how == "operator" and name in {"points", "rank"}:
            change = change.add(**{name: 1})
        elif how == "operator" and name == "tags":
            change = change.add_to_set(tags="x")
        elif how == "operator" and name == "place":
            change = change.set(F.place["city"], "Rome")
        elif how == "parameter":
            arguments[name] = value
            change = change.set(**{name: P(name, None)})
        else:
            change = change.set(**{name: value})
    return change, arguments


def after(task: Task, change: ItemWrite, arguments: Mapping[str, Any]) -> Task | None:
    """Return the entity that the update must produce by the meaning of its fields, or None if it must be refused."""
    values = dict(task.__dict__)
    for action in change.actions:
        name, value = action.path.field, value_of(action.source, arguments)
        if len(action.path.parts) > 1:
            if values["place"] is None:
                return None  # a part of what is not there
            values["place"] = Place(city=value)
        elif action.name == "add":
            values[name] = (values[name] or 0) + value
        elif action.name == "add_to_set":
            values[name] = values[name] | {value}
        else:
            values[name] = None if action.name == "remove" else value
    return Task(**{**values, "version": values["version"] + 1})


def apply_effect(item: dict[str, Any], effect: IndexEffect, arguments: Mapping[str, Any]) -> None:
    """Apply the effect of a plan: set the whole key if the entity is in the index, otherwise remove it."""
    values = {name: value_of(source, arguments) for name, source in effect.sources.items()}
    plain = {name: None if value == set() else value for name, value in values.items()}
    inside = all(values[name] is not None for name in effect.key.fields) and holds(effect.key.only_if, plain) is True
    own = {stored.attribute for stored in SPEC.fields.values()}
    for part in effect.key.attributes:
        if part.attribute in own:
            continue
        item.pop(part.attribute, None)
        if inside:
            assert part.template is not None
            item[part.attribute] = {"S": part.template.render(values)}


MADE = {"DuePK", "DueSK", "TopPK", "CityPK", "TagPK"}


@settings(max_examples=examples(600), deadline=None)
@given(task=TASKS, example=updates(), message=st.lists(st.sampled_from(["due_at", "note", "points", "status", "tags"])))
def test_index_keys_after_an_update_are_those_of_the_whole_entity(
    task: Task, example: tuple[ItemWrite, dict[str, Any]], message: list[str]
) -> None:
    change, arguments = example
    for name in message:
        value = getattr(task, name)
        change = change.condition(F[name] == value if value not in (None, set()) else F[name].missing())
    for name in change.assumed:
        arguments[f"known_{name}"] = getattr(task, name)
    plan = planned(change)
    expected = after(task, change, arguments)
    if plan.faults or expected is None:
        return
    maker = item_builder(SPEC)
    item = dict(maker.item(task))
    for effect in plan.effects:
        apply_effect(item, effect, arguments)
    expected_item = maker.item(expected)
    assert {name: item.get(name) for name in MADE} == {name: expected_item.get(name) for name in MADE}


@settings(max_examples=examples(300), deadline=None)
@given(task=TASKS, example=updates())
def test_knowing_every_field_leaves_no_fault(task: Task, example: tuple[ItemWrite, dict[str, Any]]) -> None:
    change, _ = example
    by_operator = {action.path.field for action in change.actions if action.name not in {"set", "remove"}}
    if by_operator or any(len(action.path.parts) > 1 for action in change.actions):
        return
    actual = {name: P(f"known_{name}", None) for name in VALUES if name not in change.assumed}
    assert planned(change.assuming(**actual)).faults == ()


# The other writes.


@app.create(Task)
def add_task(task: Task) -> ItemWrite:
    """Store a new task."""
    return item(task).replace_if(F.status == "done")


@app.put(Task)
def put_task(task: Task) -> ItemWrite:
    """Store a task, new or not."""
    return item(task).condition(F.owner == "me")


@app.replace(Task)
def replace_task(task: Task) -> ItemWrite:
    """Replace a task."""
    return item(task)


@app.update(Task, upsert=True)
def touch(list_id: str, task_id: str, version: int) -> ItemWrite:
    """Count a change."""
    return item(list_id=list_id, task_id=task_id).set(owner="me").if_version(version)


@app.delete(Task)
def drop(list_id: str, task_id: str) -> ItemWrite:
    """Delete a task."""
    return item(list_id=list_id, task_id=task_id).condition(F.status == "done")


@app.check(Task, exists="must_not")
def is_free(list_id: str, task_id: str) -> ItemWrite:
    """Nobody has taken the name."""
    return item(list_id=list_id, task_id=task_id)


@app.batch_delete(Task)
def drop_all(list_id: str, task_ids: list[str]) -> ItemWrite:
    """Delete tasks."""
    return item(list_id=list_id, task_id=each(task_ids))


@app.get(Task)
def task(list_id: str, task_id: str) -> ItemKey:
    """Return a task."""
    return item(list_id=list_id, task_id=task_id)


def test_default_conditions_are_added() -> None:
    assert (add_task.plan.operation, add_task.plan.exists, add_task.plan.version) == ("PutItem", "must_not", None)
    assert add_task.plan.replaceable is not None
    assert (put_task.plan.exists, put_task.plan.condition is not None) == ("may", True)
    assert (replace_task.plan.exists, repr(replace_task.plan.version)) == ("must", "task.version")
    assert (touch.plan.exists, repr(touch.plan.version), touch.plan.returns) == ("may", "version", "new")
    assert (drop.plan.operation, drop.plan.exists, drop.plan.returns) == ("DeleteItem", "may", "old")
    assert (is_free.plan.operation, is_free.plan.exists) == ("ConditionCheck", "must_not")
    assert (drop_all.plan.operation, drop_all.plan.walk is not None) == ("BatchWriteItem", True)


def test_terms_and_plans_of_writes_have_a_short_repr() -> None:
    assert repr(item(a="x").add(F.log[0], 1).subtract(n=2).assuming(b=1).if_version(2).condition(F.c == 1)) == (
        "item(a='x').add(F.log[0], ...).subtract(F.n, ...).assuming(b=1).if_version(2).condition(...)"
    )
    assert repr(drop.plan) == "<Plan of drop: DeleteItem on app>"
    assert repr(planned(item().set(status="done")).effects[0]).startswith("<<Key of due: DuePK = DUE#{list_id}")
