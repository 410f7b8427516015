"""Indexes that project some attributes: fetches by local indexes, counts, and reads that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import Field, create_model
from tests.client.conftest import NOW

import keyplan
from keyplan import (
    GSI,
    LSI,
    Attribute,
    DesignError,
    Entity,
    F,
    ItemWrite,
    KeyCondition,
    Table,
    View,
    Volume,
    everything,
    item,
    key,
    pk,
)
from keyplan.client.errors import UnreadableItemError
from keyplan.client.tables import create_request
from keyplan.cost.expected import expected
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.design.requests.build import build
from keyplan.engine.engine import Engine
from keyplan.export.explain import explain
from keyplan.verify.run import verify

notes = Table(
    "notes",
    pk="PK",
    sk="SK",
    ttl="expires_at",
    discriminator="type",
    indexes=[
        LSI("by_size", sk="size", project="keys"),
        LSI("by_rank", sk="rank", project=["text", "tags", "expires_at"]),
        GSI("by_kind", pk="kind", sk="size", project="keys"),
        GSI("by_owner", pk="owner", project="keys"),
    ],
)


@notes.entity(key=key("N#{owner}", "NOTE#{number:03d}"), volume=Volume(count=1000))
class Note(Entity):
    owner: str
    number: int
    size: int
    rank: int = 0
    kind: str = "plain"
    text: str
    tags: list[str] = Field(default_factory=list)
    expires_at: datetime | None = None


@notes.entity(key=key("N#{owner}", "CARD#{number:03d}"))
class Card(Entity):
    owner: str
    number: int
    size: int
    kind: str = "plain"


@notes.create(Note)
def add_note(new: Note) -> ItemWrite:
    return item(new)


@notes.create(Card)
def add_card(new: Card) -> ItemWrite:
    return item(new)


@notes.query(Note, index="by_size", expected_items=10)
def by_size(owner: str) -> KeyCondition:
    return pk(owner=owner)


@notes.query(Note, index="by_rank")
def by_rank(owner: str) -> KeyCondition:
    return pk(owner=owner)


@notes.scan(Note, index="by_size")
def everywhere() -> KeyCondition:
    return everything().filter(F.size > 0)


@notes.count(Note, index="by_kind")
def of_kind(kind: str) -> KeyCondition:
    return pk(kind=kind)


@notes.count(Card, index="by_kind")
def cards_of_kind(kind: str) -> KeyCondition:
    return pk(kind=kind)


@notes.count(Note, index="by_size")
def sized(owner: str) -> KeyCondition:
    return pk(owner=owner)


DESIGN = Design("notes", (notes,))


@pytest.fixture
def local(engine: Engine) -> Iterator[Any]:
    with keyplan.connect(engine=engine) as db:
        for number in range(1, 6):
            db.run(add_note(Note(owner="o", number=number, size=number, text="x" * 5000, tags=["t"])))
            db.run(add_card(Card(owner="o", number=number, size=number)))
        yield db


def test_a_local_index_with_keys_only_returns_whole_entities(local: Any) -> None:
    result = local.run(by_size("o"))
    assert [entry.number for entry in result] == [1, 2, 3, 4, 5]
    assert all(entry.text == "x" * 5000 and entry.tags == ["t"] for entry in result)
    assert len(local.all(everywhere(), at_most=10)) == 5
    assert [entry.text[0] for entry in local.run(by_rank("o"))] == ["x"] * 5


def test_whole_items_are_requested_only_if_the_index_does_not_project_them() -> None:
    assert build(by_size.plan, {"owner": "o"})["Select"] == "ALL_ATTRIBUTES"
    assert build(by_rank.plan, {"owner": "o"})["Select"] == "ALL_ATTRIBUTES", "it lacks size and kind"
    assert build(leaflets_of_kind.plan, {"kind": "plain"})["Select"] == "COUNT"
    assert "Select" not in build(sized.plan, {"owner": "o"}), "whose its entries are, and their expiry, is fetched"
    assert "Select" not in build(all_leaves.plan, {"owner": "o"})


lean = Table("lean", pk="owner", sk="id", indexes=[LSI("by_size", sk="size", project=["text"])])


@lean.entity()
class Leaf(Entity):
    owner: str
    id: str
    size: int
    text: str


@lean.query(Leaf, index="by_size")
def all_leaves(owner: str) -> KeyCondition:
    return pk(owner=owner)


def test_fetches_are_part_of_the_expected_cost_and_the_explanation(engine: Engine, local: Any) -> None:
    receipt = engine.call(
        "Query", {**build(by_size.plan, {"owner": "o"}, now_s=int(NOW)), "ReturnConsumedCapacity": "INDEXES"}
    )["ConsumedCapacity"]
    assert receipt["Table"]["CapacityUnits"] == 5 * 1.0 + 5 * 0.5, "a note of 5 KB and a card, each by itself"
    estimate = expected(DESIGN.pattern("by_size"))
    assert estimate.units.read == estimate.evaluated * 0.5 + 0.5
    assert "by_size does not project rank, kind, text, tags, expires_at" in explain(by_size, book())
    assert "fetches" not in explain(all_leaves, book())


def test_items_are_counted_by_key_if_the_index_does_not_project_the_discriminator(local: Any) -> None:
    assert local.run(of_kind("plain")) == 5
    assert local.run(cards_of_kind("plain")) == 5
    assert local.run(sized("o")) == 5


def test_a_count_of_a_global_index_without_the_expiry_notes_that_expired_items_are_counted() -> None:
    assert any("expired items of Note are counted until deleted" in note for note in of_kind.plan.notes)


def test_an_index_that_cannot_distinguish_two_entities_is_rejected(engine: Engine) -> None:
    table = Table("pets", pk="id", discriminator="type", indexes=[GSI("by_kind", pk="kind", project=["at"])])

    @table.entity()
    class Dog(Entity):
        id: str
        kind: str
        at: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    @table.count(Dog, index="by_kind")
    def dogs(kind: str) -> KeyCondition:
        return pk(kind=kind)

    with keyplan.connect(engine=engine) as db:
        assert db.run(dogs("a")) == 0, "nobody else is there"

    @table.entity()
    class Cat(Entity):
        id: str
        kind: str

    @table.query(Dog, index="by_kind")
    def all_dogs(kind: str) -> KeyCondition:
        return pk(kind=kind)

    with keyplan.connect(engine=engine) as db:
        for call in (dogs("a"), all_dogs("a")):
            with pytest.raises(DesignError, match="entries of Dog and Cat cannot be distinguished") as refused:
                db.run(call)
            assert refused.value.code == "KP306"


old = Table(
    "old",
    pk="owner",
    sk="id",
    ttl="until",
    indexes=[LSI("by_size", sk="size", project="keys"), GSI("by_kind", pk="kind", project="keys")],
)


@old.entity()
class Leaflet(Entity):
    owner: str
    id: str
    size: int
    kind: str
    until: datetime | None = None
    colour: str = "red"


@old.create(Leaflet)
def add_leaflet(new: Leaflet) -> ItemWrite:
    return item(new)


@old.count(Leaflet, index="by_size")
def of_owner(owner: str) -> KeyCondition:
    return pk(owner=owner)


@old.count(Leaflet, index="by_kind")
def leaflets_of_kind(kind: str) -> KeyCondition:
    return pk(kind=kind)


@old.query(Leaflet, index="by_size")
def red(owner: str) -> KeyCondition:
    return pk(owner=owner).filter(F.colour == "red")


@old.scan(Leaflet, index="by_size")
def all_red() -> KeyCondition:
    return everything().filter(F.colour == "red")


def test_a_read_does_not_filter_by_an_expiry_that_the_index_does_not_project(engine: Engine) -> None:
    assert "FilterExpression" not in build(of_owner.plan, {"owner": "o"})
    assert "FilterExpression" not in build(leaflets_of_kind.plan, {"kind": "k"})
    with keyplan.connect(engine=engine) as db:
        for number, until in enumerate((None, datetime(2099, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC))):
            db.run(add_leaflet(Leaflet(owner="o", id=str(number), size=number, kind="k", until=until)))
        assert db.run(of_owner("o")) == 2, "a local index fetches the expiry, so that what has expired is left out"
        assert db.run(leaflets_of_kind("k")) == 3, "a global index cannot, which its plan says"


def test_a_local_index_cannot_filter_by_attributes_that_it_does_not_project() -> None:
    for pattern in (red, all_red):
        (fault,) = pattern.plan.faults
        assert (fault.code, fault.problem) == (
            "KP306",
            f"{pattern.plan.pattern} reads Leaflet from index by_size, which does not project colour",
        )


bills = Table("bills", pk="number", indexes=[GSI("by_payer", pk="payer", project=None)])


@bills.entity()
class Bill(Entity):
    number: str
    payer: str
    cents: int
    remark: str | None
    title: Annotated[str, Attribute("heading")]


@bills.create(Bill)
def write_bill(new: Bill) -> ItemWrite:
    return item(new)


@bills.query(Bill, index="by_payer")
def bills_of(payer: str) -> KeyCondition:
    return pk(payer=payer)


def test_an_index_with_missing_attributes_is_named_with_them(engine: Engine) -> None:
    pytest.importorskip("boto3")
    from keyplan.testing.boto import make_client  # noqa: PLC0415 - needs boto3

    narrow = create_request(bills, "bills")
    narrow["GlobalSecondaryIndexes"][0]["Projection"] = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["cents"]}
    engine.call("CreateTable", narrow)
    with keyplan.connect(client=make_client("dynamodb", engine)) as db:
        db.run(write_bill(Bill(number="1", payer="ann", cents=500, remark=None, title="Rent")))
        errors: list[UnreadableItemError] = []
        assert list(db.iterate(bills_of("ann"), unreadable=errors.append)) == []
        with pytest.raises(UnreadableItemError) as raised:
            db.run(bills_of("ann"))
    assert [error.problem for error in errors] == [raised.value.problem]
    assert raised.value.problem == (
        "Bill number='1' cannot be read as Bill: title: Field required;"
        " by_payer returned no heading: the index does not project it, or the item does not have it"
    )
    assert (raised.value.entity, raised.value.key) == ("Bill", {"number": "1"})


# Views.

letters = Table(
    "letters",
    pk="PK",
    sk="SK",
    discriminator="type",
    ttl="until",
    indexes=[
        GSI("by_sender", pk="sender", sk="at", project=["subject", "type", "until"]),
        LSI("by_subject", sk="subject", project=["type", "until"]),
    ],
)


@letters.entity(key=key("BOX#{box}", "LETTER#{id}"))
class Letter(Entity):
    box: str
    id: str
    sender: str
    at: int
    subject: str
    body: str
    tags: frozenset[str] = frozenset()
    note: str | None = None
    until: datetime | None = None


@letters.entity(key=key("BOX#{box}", "DRAFT#{id}"))
class Draft(Entity):
    box: str
    id: str
    sender: str
    at: int
    subject: str


class Subject(View[Letter]):
    box: str
    id: str
    subject: str


@letters.put(Letter)
def send_letter(letter: Letter) -> ItemWrite:
    return item(letter)


@letters.put(Draft)
def save_draft(draft: Draft) -> ItemWrite:
    return item(draft)


@letters.query(Subject, index="by_sender")
def subjects(sender: str, since: int) -> KeyCondition:
    return pk(sender=sender).sk.gte(at=since)


@letters.scan(Subject, index="by_sender")
def all_subjects() -> KeyCondition:
    return everything().filter(F.subject.contains("x"))


@letters.query(Subject)
def subjects_in(box: str) -> KeyCondition:
    return pk(box=box)


@letters.query(Subject, index="by_subject")
def by_subject(box: str, subject: str) -> KeyCondition:
    return pk(box=box).sk(subject=subject)


def test_a_view_reads_exactly_the_projected_attributes(engine: Engine) -> None:
    assert not any(pattern.plan.faults for pattern in (subjects, all_subjects, subjects_in, by_subject))
    with keyplan.connect(engine=engine) as db:
        for number in range(3):
            db.run(send_letter(Letter(box="b", id=str(number), sender="s", at=number, subject="x", body="long")))
        expired = datetime(2020, 1, 1, tzinfo=UTC)
        db.run(send_letter(Letter(box="b", id="9", sender="s", at=9, subject="x", body="long", until=expired)))
        db.run(save_draft(Draft(box="b", id="1", sender="s", at=5, subject="draft")))
        subjects_expected = tuple(Subject(box="b", id=str(number), subject="x") for number in range(3))
        assert db.run(subjects("s", 1)).items == subjects_expected[1:], "expired letters and drafts are left out"
        assert sorted(db.run(all_subjects()).items, key=lambda view: view.id) == list(subjects_expected)
        assert db.run(subjects_in("b")).items == subjects_expected
        assert db.run(by_subject("b", "x")).items == subjects_expected
    assert "Select" not in build(by_subject.plan, {"box": "b", "subject": "x"}), "nothing is fetched from the table"


def test_a_view_has_fields_of_its_entity_and_its_whole_key() -> None:
    for fields, problem in (
        ({"box": str, "id": str, "author": str}, "has a field author, but Letter has no such field"),
        ({"box": str, "id": str, "at": str}, "has a field at, but Letter has at as <class 'int'>"),
        ({"box": str, "subject": str}, "is missing id, which the key of Letter contains"),
    ):
        definitions: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
        with pytest.raises(DesignError, match=f"view Odd {problem}"):
            create_model("Odd", __base__=View[Letter], **definitions)


def test_a_view_requires_a_declared_entity() -> None:
    class Plain(Entity):
        box: str

    for make, problem in (
        (lambda: create_model("Odd", __base__=View, box=(str, ...)), "view Odd names no entity"),
        (lambda: create_model("Odd", __base__=View[Plain], box=(str, ...)), "view Odd is of Plain, which is not an"),
    ):
        with pytest.raises(DesignError, match=problem):
            make()


def test_a_view_is_the_only_result_of_a_query() -> None:
    with pytest.raises(DesignError, match="Subject and Draft: a view must be the only result, and cannot be counted"):

        @letters.query(Subject, Draft)  # type: ignore[type-var]
        def both(box: str) -> KeyCondition:
            return pk(box=box)

    with pytest.raises(DesignError, match="is a count of Subject: a view must be the only result"):

        @letters.count(Subject)  # type: ignore[arg-type]
        def number(box: str) -> KeyCondition:
            return pk(box=box)

    with pytest.raises(DesignError, match="is a put of Subject: a view must be the only result"):

        @letters.put(Subject)  # type: ignore[type-var]
        def write(subject: Subject) -> ItemWrite:
            return item(subject)

    with pytest.raises(DesignError, match="Subject is not an entity of table letters"):

        @letters.on_change(Subject)  # type: ignore[arg-type]
        def changed(change: Any) -> None: ...


def test_a_view_of_an_index_is_verified_like_an_entity() -> None:
    result = verify(Design("letters", (letters,)), items=100)
    assert [problem for pattern in result.patterns for problem in pattern.problems] == []
