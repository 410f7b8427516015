"""Calls find the items they need: more are made where they run out, changed where a condition asks for it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field
from tests.cost.lending import loans
from tests.laws import examples
from tests.verify import club

from keyplan import (
    GSI,
    Entity,
    F,
    ItemWrite,
    KeyCondition,
    Table,
    Volume,
    WriteCall,
    attr,
    each,
    everything,
    item,
    key,
    pk,
    transaction,
)
from keyplan.design.declaring.design import Design
from keyplan.verify import VerificationReport, verify
from keyplan.verify.generate import generators
from keyplan.verify.report import PatternResult
from keyplan.verify.values import SampleError, ValueGenerator

NOW_S = 1_767_225_600.0


@pytest.fixture(scope="module", params=range(examples(3)))
def report(request: pytest.FixtureRequest) -> VerificationReport:
    return verify(Design.of(club), seed=request.param)


def result(report: VerificationReport, name: str) -> PatternResult:
    return next(pattern for pattern in report.patterns if pattern.name == name)


def test_every_pattern_runs_the_planned_number_of_calls_at_the_predicted_cost(report: VerificationReport) -> None:
    for pattern in report.patterns:
        assert pattern.predicted == pattern.measured, pattern.name
        if pattern.name != "unplaced":
            assert (pattern.verdict, pattern.problems) == ("OK", ()), pattern.name
    for name in ("drop_relic", "join", "crowd", "leave", "upgrade_game"):
        assert result(report, name).calls == 10, name


def test_each_step_of_a_transaction_uses_a_different_item(report: VerificationReport) -> None:
    assert result(report, "leave").evaluated == 3, "a player, and as many seats as the list may have"


def test_items_of_an_older_form_are_stored_if_an_example_has_it(report: VerificationReport) -> None:
    assert result(report, "games_of_old").returned == 1


def test_an_unsatisfiable_filter_finds_nothing(report: VerificationReport) -> None:
    (problem,) = result(report, "unplaced").problems
    assert problem.kind == "wrong"
    assert problem.text.startswith("returned no items in 1 calls for stored items")


def test_examples_determine_combinations_and_the_design_their_numbers() -> None:
    by_spec = generators(Design.of(club), 4_000, ValueGenerator(1, NOW_S))
    (maker,) = [generator for spec, generator in by_spec.items() if spec.name == "Game"]
    games = [game for game in maker.make_all() if isinstance(game, club.Game)]
    assert {game.opening for game in games} == {"d4", "e4", "c4"}
    assert {game.game for game in games} != {"chess"}
    over = [game for game in games if game.status == "over"]
    assert len(over) == 50
    assert all((game.opening, game.moves, game.count) == ("e4", ["e4", "e5"], 2) for game in over)
    assert len({game.ended_at for game in over}) > 1, "what an index sorts by differs"
    assert len({(game.game, game.number) for game in games}) == 100


def test_an_invalid_example_is_reported_and_the_rest_runs(tmp_path: Path) -> None:
    path = tmp_path / "ill.py"
    path.write_text(ILL)
    report = verify(Design.load(str(path)))
    (table,) = report.tables
    assert [problem.kind for problem in table.problems] == ["failed"]
    assert "example 1 of Ill is not valid for its model" in table.problems[0].text
    (failed,) = result(report, "add_ill").problems
    assert failed.text.startswith(SampleError.__name__)
    assert result(report, "well").verdict == "OK"


ILL = """
from __future__ import annotations
from pydantic import ConfigDict
from keyplan import *

table = Table("ill", pk="PK")

@table.entity(key=key("ILL#{name}"))
class Ill(Entity):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "a", "size": "large"}]})
    name: str
    size: int

@table.entity(key=key("WELL#{name}"))
class Well(Entity):
    name: str

@table.create(Ill)
def add_ill(ill: Ill) -> ItemWrite:
    return item(ill)

@table.get(Well)
def well(name: str) -> ItemKey:
    return item(name=name)
"""


def test_nested_values_of_models_maps_and_lists_are_found() -> None:
    class Address(BaseModel):
        street: str
        city: str

    people = Table("people", pk="name")

    @people.entity(volume=Volume(count=200))
    class Person(Entity):
        name: str
        address: Address | None = None
        points: dict[str, int] = Field(examples=[{"may": 3, "june": 4}])
        marks: list[int] = Field(examples=[[7, 8, 9]])

    @people.scan(Person)
    def of_city(city: str) -> KeyCondition:
        return everything().filter(F.address["city"] == city)

    @people.scan(Person)
    def better(least: int, mark: int) -> KeyCondition:
        return everything().filter((F.points["june"] >= least) & (F.marks[2] == mark))

    actual_report = verify(Design("people", (people,)))
    assert [(pattern.name, pattern.verdict) for pattern in actual_report.patterns] == [
        ("of_city", "OK"),
        ("better", "OK"),
    ]


def test_a_filter_may_use_fields_of_only_one_entity() -> None:
    items = Table("things", pk="PK", sk="SK")

    @items.entity(key=key("OWNER#{owner}", "NOTE#{id}"), volume=Volume(count=100))
    class Note(Entity):
        owner: str
        id: str

    @items.entity(key=key("OWNER#{owner}", "TASK#{id}"), volume=Volume(count=100))
    class Task(Entity):
        owner: str
        id: str
        status: Literal["open", "done"] = "open"
        points: int = Field(0, ge=0, le=9)

    @items.query(Note, Task)
    def with_status(owner: str, status: Literal["open", "done"]) -> KeyCondition:
        return pk(owner=owner).filter(F.status == status)

    @items.scan(Note, Task)
    def beyond(least: int) -> KeyCondition:
        return everything().filter(F.points >= least)

    report = verify(Design("things", (items,)), items=200)
    assert [(pattern.name, pattern.calls) for pattern in report.patterns] == [("with_status", 20), ("beyond", 2)]


def test_a_created_item_enters_the_indexes_of_its_defaults() -> None:
    report = verify(Design("loans", (loans(),)), items=200)
    measured = result(report, "begin").measured
    assert [consumed.write for consumed in measured] == [{"loans": 1, "loans/out": 1}] * 10


def test_steps_of_a_transaction_never_increment_the_same_item() -> None:
    people = Table("people", pk="PK", sk="SK")

    @people.entity(key=key("{id}", "COUNT"), volume=Volume(count=4))
    class Count(Entity):
        id: str
        moves: int = 0

    @people.entity(key=key("{id}", "GAVE#{gift}"), volume=Volume(count=50))
    class Gave(Entity):
        id: str
        gift: str

    @people.entity(key=key("{id}", "GOT#{gift}"), volume=Volume(count=50))
    class Got(Entity):
        id: str
        gift: str

    @people.create(Gave)
    def gave(gave: Gave) -> ItemWrite:
        return item(gave)

    @people.create(Got)
    def get_count(get_count: Got) -> ItemWrite:
        return item(get_count)

    @people.update(Count, upsert=True)
    def count(id: str) -> ItemWrite:
        return item(id=id).add(moves=1)

    @transaction()
    def give(given_item: Gave, taken_item: Got) -> list[WriteCall[Count] | WriteCall[Gave] | WriteCall[Got]]:
        return [gave(given_item), get_count(taken_item), count(given_item.id), count(taken_item.id)]

    pattern = result(verify(Design("people", (people,), transactions=(give,)), seed=1), "give")
    assert (pattern.verdict, pattern.calls) == ("OK", 10)


cards = Table("cards", pk="PK", sk="SK")
Slot = Annotated[int, Field(ge=1, le=4)]


@cards.entity(key=key("MEMBER#{member}", "MEMBER"), volume=Volume(count=50))
class Member(Entity):
    member: str


@cards.entity(key=key("MEMBER#{member}", "CARD#{slot}"), volume=Volume(count=100))
class Card(Entity):
    member: str
    slot: Slot


@cards.check(Member)
def is_member(member: str) -> ItemWrite:
    return item(member=member)


@cards.create(Card)
def add_card(card: Card) -> ItemWrite:
    return item(card)


@cards.check(Card, exists="must_not")
def is_free(member: str, slot: Slot) -> ItemWrite:
    return item(member=member, slot=slot)


@transaction()
def issue(card: Card) -> list[WriteCall[None] | WriteCall[Card]]:
    return [is_member(card.member), add_card(card)]


@transaction()
def find_free(member: str, slot: Slot) -> list[WriteCall[None]]:
    return [is_member(member), is_free(member, slot)]


@pytest.mark.parametrize("seed", range(examples(3)))
def test_steps_of_a_transaction_that_require_a_free_key_get_one_with_values_of_other_steps(seed: int) -> None:
    report = verify(Design("cards", (cards,), (issue, find_free)), seed=seed)
    for name in ("issue", "find_free"):
        pattern = result(report, name)
        assert (pattern.verdict, pattern.calls, pattern.problems) == ("OK", 10, ()), name


def test_a_batch_has_the_declared_length() -> None:
    notes = Table("notes", pk="id")

    @notes.entity(volume=Volume(count=100))
    class Note(Entity):
        id: str

    @notes.batch_put(Note, expected_items=4)
    def keep(items: list[Note]) -> ItemWrite:
        return item(items)

    pattern = result(verify(Design("notes", (notes,))), "keep")
    assert (pattern.verdict, pattern.evaluated) == ("OK", 4)


bills = Table("bills", pk="id", indexes=[GSI("by_number", pk="number")])


@bills.entity(volume=Volume(count=60), unique=["number"])
class Bill(Entity):
    id: str
    number: str | None = None
    state: Literal["draft", "sent"] = "draft"


@bills.update(Bill)
def number_it(id: str, number: str) -> ItemWrite:
    return item(id=id).set(state="sent", number=number).condition((F.state == "draft") & F.number.missing())


@bills.update(Bill)
def send(id: str, text: str) -> ItemWrite:
    return item(id=id).set(state="sent").condition((F.state == "draft") & (F.id == text) & (F.id == "none"))


@pytest.mark.parametrize("seed", range(examples(3)))
def test_a_unique_value_is_released_if_a_condition_requires_none(seed: int) -> None:
    report = verify(Design("bills", (bills,)), seed=seed)
    pattern = result(report, "number_it")
    assert (pattern.verdict, pattern.calls, pattern.predicted) == ("OK", 10, pattern.measured)


def test_a_write_without_matching_items_states_the_condition_and_a_fix() -> None:
    pattern = result(verify(Design("bills", (bills,))), "send")
    assert pattern.problems[0].text == (
        "NothingFitsError: no arguments of send match the generated items ((F.state == 'draft') &"
        " (F.id == text) & (F.id == 'none') is false for all of them); add a matching item as an example of its model:"
        ' model_config = ConfigDict(json_schema_extra={"examples": [{...}]})'
    )


@pytest.mark.parametrize("seed", range(examples(3)))
def test_rare_attributes_are_added_to_items_that_a_condition_requires(seed: int) -> None:
    tenants = Table("tenants", pk="id")

    @tenants.entity(volume=Volume(count=50, present={"left_at": 0.01}))
    class Tenant(Entity):
        id: str
        left_at: datetime | None = None

    @tenants.update(Tenant)
    def come_back(id: str) -> ItemWrite:
        return item(id=id).remove("left_at").condition(F.left_at.exists())

    pattern = result(verify(Design("tenants", (tenants,)), seed=seed), "come_back")
    assert (pattern.verdict, pattern.calls) == ("OK", 10)


@pytest.mark.parametrize("seed", range(examples(3)))
def test_an_expiry_required_by_a_condition_is_in_the_future(seed: int) -> None:
    guests = Table("guests", pk="id", ttl="until")

    @guests.entity(volume=Volume(count=60, present={"until": 0.0}), unique=["email"])
    class Guest(Entity):
        id: str
        email: str
        until: datetime | None = None

    @guests.update(Guest)
    def move(id: str, email: str) -> ItemWrite:
        return item(id=id).set(email=email).condition(F.until.exists())

    pattern = result(verify(Design("guests", (guests,)), seed=seed), "move")
    assert (pattern.verdict, pattern.calls, pattern.predicted) == ("OK", 10, pattern.measured)


Code = Annotated[str, Field(pattern=r"^[0-9A-Z]{6}$")]


class Line(BaseModel):
    sku: Code
    quantity: Annotated[int, Field(ge=1, le=99)]


shop = Table("shop", pk="PK")


@shop.entity(key=key("STOCK#{sku}"), volume=Volume(count=60))
class Stock(Entity):
    sku: Code
    free: Annotated[int, Field(ge=0)]
    last_order: Code | None = None


@shop.entity(key=key("ORDER#{order}"), volume=Volume(count=60))
class Order(Entity):
    order: Code
    lines: Annotated[list[Line], Field(min_length=1, max_length=20)]


@shop.create(Order)
def new_order(order: Order) -> ItemWrite:
    return item(order)


@shop.update(Stock)
def reserve(line: Line) -> ItemWrite:
    return item(sku=line.sku).subtract(free=line.quantity).condition(F.free >= line.quantity)


@shop.update(Stock)
def ordered(sku: Code, order: Code) -> ItemWrite:
    return item(sku=sku).set(last_order=order).condition(F.last_order.missing() | (F.last_order < order))


@transaction()
def place(order: Order) -> list[WriteCall[Order] | WriteCall[Stock]]:
    return [new_order(order), reserve(each(order.lines))]


@pytest.mark.parametrize("seed", range(examples(3)))
def test_bounds_of_ranges_satisfy_their_constraints(seed: int) -> None:
    report = verify(Design("shop", (shop,)), seed=seed)
    assert [(name, result(report, name).verdict) for name in ("reserve", "ordered")] == [
        ("reserve", "OK"),
        ("ordered", "OK"),
    ]


@pytest.mark.parametrize("seed", range(examples(3)))
def test_items_put_by_a_transaction_refer_to_items_of_its_other_steps(seed: int) -> None:
    pattern = result(verify(Design("shop", (shop,), (place,)), seed=seed), "place")
    assert (pattern.verdict, pattern.calls, pattern.evaluated) == ("OK", 10, 4), "an order of three lines"


@pytest.mark.parametrize("seed", range(examples(3)))
def test_items_without_a_common_attribute_are_found_in_their_sparse_index(seed: int) -> None:
    alerts = Table("alerts", pk="id", indexes=[GSI("open", pk="Open", sk="id")])

    @alerts.entity(
        indexes={"open": key("OPEN#{room}", attr("id"), only_if=F.closed_at.missing())},
        volume=Volume(count=50, distinct={"room": 3}, present={"closed_at": 0.99}),
    )
    class Alert(Entity):
        id: str
        room: str
        closed_at: datetime | None = None

    @alerts.query(Alert, index="open")
    def open_alerts(room: str) -> KeyCondition:
        return pk(room=room)

    assert result(verify(Design("alerts", (alerts,)), seed=seed), "open_alerts").verdict == "OK"
