"""How many items a filter lets through, by the declared numbers."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan import GSI, Distinct, Entity, F, Table, Volume, each, key
from keyplan.cost.selectivity import matching_share, share_in_index, shares_of
from keyplan.design.conditions.conditions import Condition
from keyplan.design.entities import spec_of
from keyplan.design.parameters import Param

table = Table("app", pk="id")


@table.entity(
    volume=Volume(
        1000,
        distinct={
            "status": {"open": 0.2, "held": 0.3, "done": 0.5},
            "owner": Distinct(50),
            "kind": 4,
            "stage": {"draft": 0.75, "final": 0.25},
            "place": 8,
        },
        present={"due": 0.25, "stage": 0.4, "place": 0.4, "details": 0.5},
    )
)
class Task(Entity):
    id: UUID
    status: Literal["open", "held", "done"]
    owner: str
    kind: str
    due: str | None = None
    stage: Literal["draft", "final"] | None = None
    title: str = ""
    place: str | None = None
    details: dict[str, str] | None = None


SPEC = spec_of(Task)


@pytest.mark.parametrize(
    ("condition", "share"),
    [
        (F.status == "open", 0.2),
        (F.status == Param("status", str), 1 / 3),
        (F.stage == Param("stage", str), 0.2),
        (F.status != "open", 0.8),
        (F.status.is_in("open", "held"), 0.5),
        (~(F.status == "done"), 0.5),
        ((F.status == "open") | (F.status == "held"), 0.5),
        ((F.status == "open") & (F.owner == Param("owner", str)), 0.2 / 50),
        ((F.status == "open") & F.title.contains("x"), 0.2),
        ((F.status != "open") & (F.status != "held"), 0.5),
        (F.status < "held", 0.5),
        (F.status.begins_with("o"), 0.2),
        (F.kind == "a", 0.25),
        (F.kind.is_in("a", "b"), 0.5),
        (F.due.exists(), 0.25),
        (F.due.missing(), 0.75),
        (~F.due.exists(), 0.75),
        (~(F.kind == "a"), 0.75),
        (F.stage == "draft", 0.3),
        (F.stage != "draft", 0.7),
        (F.stage < "final", 0.3),
        (F.kind != "a", 0.75),
        (F.owner != Param("owner", str), 0.98),
        (F.due.exists() | (F.kind == "a"), 0.5),
        ((F.kind == "a") | (F.status == "done"), 0.75),
        ((F.kind == "a") | (F.status != "open"), 1.0),
        (F.place == Param("place", str), 0.4 / 8),
        (F.place == "here", 0.4 / 8),
    ],
    ids=str,
)
def test_shares_follow_from_declarations(condition: Condition, share: float) -> None:
    assert matching_share(condition, SPEC) == pytest.approx(share)


@pytest.mark.parametrize(
    "condition",
    [
        F.title == "x",
        F.title == Param("title", str),
        F.kind > "a",
        F.title.exists(),
        F.details["size"].exists(),
        F.kind.size() == 4,
        F.title.contains("x") & F.title.contains("y"),
        F.kind.size().is_in(1, 2),
        F.status.is_in("open", each(Param("others", list[str]))),
        F.kind["part"] == "a",
        F.title.contains("x"),
        (F.status == "open") | F.title.contains("x"),
        ~((F.kind == "a") & F.title.contains("x")),
    ],
    ids=str,
)
def test_undeclared_shares_are_unknown(condition: Condition) -> None:
    assert matching_share(condition, SPEC) is None


def test_the_condition_of_an_index_is_not_counted_twice() -> None:
    app = Table("lists", pk="id", indexes=[GSI("by_due", pk="GSI1PK", sk="GSI1SK")])

    @app.entity(
        indexes={"by_due": key("{due}", "{stage}", only_if=F.due.exists())},
        volume=Volume(100, present={"due": 0.25, "stage": 0.5}),
    )
    class Entry(Entity):
        id: str
        due: str | None = None
        stage: str | None = None

    spec = spec_of(Entry)
    assert share_in_index(spec, spec.indexes[0]) == 0.125


def test_values_that_no_item_has_get_no_share() -> None:
    app = Table("states", pk="id")

    @app.entity(volume=Volume(100, distinct={"state": {"open": 1.0, "gone": 0.0}}))
    class Entry(Entity):
        id: str
        state: Literal["open", "gone"]

    assert shares_of(spec_of(Entry), "state", F.state == "gone") == {"gone": 0.0}


statuses = st.sampled_from(["open", "held", "done"])
leaves = st.one_of(
    statuses.map(lambda value: F.status == value),
    statuses.map(lambda value: F.status != value),
    st.lists(statuses, min_size=1, max_size=3, unique=True).map(lambda some: F.status.is_in(*some)),
    st.just(F.due.exists()),
)
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        inner.map(lambda value: ~value),
    ),
    max_leaves=6,
)


@given(conditions)
def test_a_share_is_between_zero_and_one(condition: Condition) -> None:
    share = matching_share(condition, SPEC)
    assert share is None or -1e-9 <= share <= 1 + 1e-9


def test_optional_fields_of_one_key_are_present_together() -> None:
    cases = Table("cases", pk="id", indexes=[GSI("escalated", pk="to", sk="since")])

    @cases.entity(volume=Volume(1000, present={"to": 0.03, "since": 0.05}))
    class Case(Entity):
        id: str
        to: str | None = None
        since: int | None = None

    (bound,) = spec_of(Case).indexes
    assert share_in_index(spec_of(Case), bound) == 0.03


def test_shares_are_unknown_without_declared_numbers() -> None:
    unsaid = Table("unsaid", pk="id", indexes=[GSI("done", pk="GSI1PK")])

    @unsaid.entity(indexes={"done": key("DONE#{id}", only_if=F.done == True)})  # noqa: E712
    class Entry(Entity):
        id: str
        done: bool

    spec = spec_of(Entry)
    assert matching_share(F.done == True, spec) is None  # noqa: E712
    assert shares_of(spec, "done", None) is None
    assert share_in_index(spec, spec.indexes[0]) == 1


def test_an_index_contains_items_with_its_fields_and_all_items_if_they_are_required() -> None:
    cases = Table("cases", pk="id", indexes=[GSI("by_team", pk="team", sk="since"), GSI("all", pk="team", sk="id")])

    @cases.entity(volume=Volume(1000, present={"since": 0.05}))
    class Case(Entity):
        id: str
        team: str
        since: int | None = None

    by_team, everything = spec_of(Case).indexes
    assert share_in_index(spec_of(Case), by_team) == 0.05
    assert share_in_index(spec_of(Case), everything) == 1
