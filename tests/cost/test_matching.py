"""Number of items that a read finds if counts are declared for values, for other entities, or not at all."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

import pytest

from keyplan import GSI, Bytes, Entity, F, KeyCondition, Table, Volume, attr, each, key, pk, unique
from keyplan.cost.expected import expected
from keyplan.design.declaring.kinds import QueryOptions
from keyplan.design.declaring.patterns import Pattern


def evaluated_by_pattern(table: Table) -> dict[str, float]:
    """By pattern, how many items it reads."""
    return {pattern.name: pytest.approx(expected(pattern).evaluated) for pattern in table.patterns}  # type: ignore[misc]


def guesses(pattern: Pattern[..., Any]) -> tuple[str, ...]:
    return expected(pattern).guesses


def jobs() -> Table:
    table = Table("jobs", pk="id", indexes=[GSI("by_state", pk="state"), GSI("loud", pk="LoudPK")])

    @table.entity(
        indexes={"loud": key("STATE#{state:upper}")},
        volume=Volume(
            1_000,
            bytes=Bytes(400),
            distinct={"state": {"open": 0.1, "Open": 0.2, "done": 0.7}},
        ),
    )
    class Job(Entity):
        id: str
        state: str

    @table.query(Job, index="by_state")
    def none_of_it() -> KeyCondition:
        return pk(state="gone")

    @table.query(Job, index="by_state")
    def two(state: str) -> KeyCondition:
        return pk(state=each(["open", "done", "gone"]))

    @table.query(Job, index="loud")
    def loud() -> KeyCondition:
        return pk.text("STATE#OPEN")

    @table.query(Job, index="by_state")
    def written() -> KeyCondition:
        return pk.text("open")

    @table.query(Job, index="by_state")
    def of_state(state: str) -> KeyCondition:
        return pk(state=state)

    return table


def test_shares_of_requested_values_are_added_up() -> None:
    assert evaluated_by_pattern(jobs()) == {
        "none_of_it": 0,
        "two": 800,
        "loud": 300,
        "written": 100,
        "of_state": 1_000 / 3,
    }


def test_several_values_select_their_combined_share_up_to_all_items() -> None:
    table = Table("jobs", pk="id", indexes=[GSI("by_kind", pk="kind")])

    @table.entity(volume=Volume(1_000, bytes=Bytes(400), distinct={"kind": 4}))
    class Job(Entity):
        id: str
        kind: str

    @table.query(Job, index="by_kind")
    def three() -> KeyCondition:
        return pk(kind=each(["a", "b", "c"]))

    @table.query(Job, index="by_kind")
    def six() -> KeyCondition:
        return pk(kind=each(["a", "b", "c", "d", "e", "f"]))

    @table.query(Job, index="by_kind")
    def written() -> KeyCondition:
        return pk.text("a")

    assert evaluated_by_pattern(table) == {"three": 750, "six": 1_000, "written": 250}


def test_a_query_for_unknown_values_finds_no_more_than_the_existing_items() -> None:
    table = Table("tools", pk="branch", sk="tool")

    @table.entity(volume=Volume(12, bytes=Bytes(128), distinct={"branch": 3}))
    class Tool(Entity):
        branch: str
        tool: str

    @table.query(Tool)
    def tools(tool: str) -> KeyCondition:
        return pk(tool=tool)

    assert evaluated_by_pattern(table) == {"tools": 12}


@pytest.mark.parametrize("index", [None, "by_state", "by_two"])
@pytest.mark.parametrize("field", ["branch", "state", "colour"])
def test_a_query_for_unknown_values_does_not_read_everything(index: str | None, field: str) -> None:
    indexes = [GSI("by_state", pk="StatePK"), GSI("by_two", pk=("branch", "state"))]
    table = Table("tools", pk="tool", indexes=indexes)

    @table.entity(
        indexes={"by_state": key("IS#{state}")},
        volume=Volume(
            8_000_000, bytes=Bytes(128), distinct={"branch": 12, "state": {"lent": 0.4, "in": 0.6}, "colour": 2}
        ),
    )
    class Tool(Entity):
        tool: str
        branch: str
        state: str
        colour: str

    options: QueryOptions = {} if index is None else {"index": index}

    @table.query(Tool, **options)
    def tools() -> KeyCondition:
        return pk(**{field: "lent"})

    assert evaluated_by_pattern(table) == {"tools": 3_200_000 if (index, field) == ("by_state", "state") else 20}


def test_a_range_between_two_bounds_selects_by_their_common_fields() -> None:
    table = Table("logs", pk="device", sk="SK")

    @table.entity(
        key=key(attr("device"), "{kind}#{at:06d}"),
        volume=Volume(6_000, bytes=Bytes(99), distinct={"device": 10, "kind": 3, "at": 1_000}),
    )
    class Log(Entity):
        device: str
        kind: str
        at: int

    @table.query(Log)
    def of_kind(device: str, kind: str, low: int, high: int) -> KeyCondition:
        return pk(device=device).sk(kind=kind).sk.between(at=(low, high))

    @table.query(Log)
    def at(device: str, kind: str, at: int) -> KeyCondition:
        return pk(device=device).sk(kind=kind, at=at)

    assert evaluated_by_pattern(table) == {"of_kind": 200, "at": 1}


def test_a_key_prefix_selects_by_its_complete_fields() -> None:
    table = Table("logs", pk="device", sk="SK")

    @table.entity(
        key=key(attr("device"), "{kind}#{name}"),
        volume=Volume(6_000, bytes=Bytes(99), distinct={"device": 10, "kind": 3, "name": 100}),
    )
    class Log(Entity):
        device: str
        kind: str
        name: str

    @table.query(Log)
    def of_kind(device: str, kind: str) -> KeyCondition:
        return pk(device=device).sk(kind=kind)

    @table.query(Log)
    def like(device: str, kind: str, start: str) -> KeyCondition:
        return pk(device=device).sk(kind=kind).sk.begins_with(name=start)

    @table.query(Log)
    def written_like(device: str, kind: str, start: str) -> KeyCondition:
        return pk(device=device).sk.text("begins_with", "{kind}#{start}")

    @table.query(Log)
    def written(device: str, kind: str, name: str) -> KeyCondition:
        return pk(device=device).sk.text("begins_with", "{kind}#{name}")

    @table.query(Log)
    def exact(device: str, kind: str, text: str) -> KeyCondition:
        return pk(device=device).sk.text("=", "{kind}#{text}")

    assert evaluated_by_pattern(table) == {"of_kind": 200, "like": 200, "written_like": 200, "written": 2, "exact": 200}
    assert guesses(written_like) == ()
    assert guesses(exact) == ("the number of values of Log.text is not declared",)


def test_only_values_that_a_sparse_index_may_contain_count() -> None:
    table = Table("jobs", pk="id", indexes=[GSI(name, pk="PK_" + name) for name in ("all", "still", "new", "lost")])

    @table.entity(
        indexes={
            "all": key("{state}"),
            "still": key("{state}", only_if=F.state != "done"),
            "new": key("{state}", only_if=F.state == "new"),
            "lost": key("{state}", only_if=F.state == "lost"),
        },
        volume=Volume(1_000, bytes=Bytes(400), distinct={"state": {"new": 0.1, "open": 0.3, "done": 0.6}}),
    )
    class Job(Entity):
        id: str
        state: str

    @table.query(Job, index="all")
    def of_any(state: str) -> KeyCondition:
        return pk(state=state)

    @table.query(Job, index="still")
    def of_two(state: str) -> KeyCondition:
        return pk(state=state)

    @table.query(Job, index="new")
    def of_one(state: str) -> KeyCondition:
        return pk(state=state)

    @table.query(Job, index="lost")
    def of_none(state: str) -> KeyCondition:
        return pk(state=state)

    assert evaluated_by_pattern(table) == {"of_any": 1_000 / 3, "of_two": 200, "of_one": 100, "of_none": 0}


def test_a_field_in_both_key_parts_selects_once() -> None:
    table = Table("jobs", pk="PK", sk="SK")

    @table.entity(
        key=key("IN#{state}", "{state}#{id}"),
        volume=Volume(1_000, bytes=Bytes(400), distinct={"state": {"open": 0.1, "done": 0.9}}),
    )
    class Job(Entity):
        id: str
        state: str

    @table.query(Job)
    def twice() -> KeyCondition:
        return pk(state="open").sk(state="open")

    assert evaluated_by_pattern(table) == {"twice": 100}


def hub(repositories: int | None, **counts: int) -> tuple[Table, Pattern[..., Any]]:
    """Issues of repositories, which are known by owner and name."""
    table = Table("hub", pk="PK", sk="SK")

    @table.entity(
        key=key("REPO#{owner}#{name}", "REPO"),
        volume=None if repositories is None else Volume(repositories, bytes=Bytes(400)),
    )
    class Repo(Entity):
        owner: str
        name: str

    @table.entity(
        key=key("REPO#{owner}#{name}", "ISSUE#{number:06d}"), volume=Volume(20_000, bytes=Bytes(400), distinct=counts)
    )
    class Issue(Entity):
        owner: str
        name: str
        number: int

    @table.query(Issue)
    def issues(owner: str, name: str) -> KeyCondition:
        return pk(owner=owner, name=name)

    (pattern,) = table.patterns
    return table, pattern


@pytest.mark.parametrize(
    ("repositories", "estimate", "evaluated"),
    [
        (1_000, {"owner": 400, "name": 900}, 20),
        (1_000, {"owner": 10, "name": 20}, 100),
        (200, {"owner": 10, "name": 20}, 100),
        (None, {"owner": 10, "name": 20}, 100),
        (1_000, {}, 20),
        (0, {}, 20_000),
    ],
)
def test_combinations_are_limited_by_the_number_of_items_that_they_identify(
    repositories: int | None, estimate: dict[str, int], evaluated: float
) -> None:
    table, _ = hub(repositories, **estimate)
    assert evaluated_by_pattern(table) == {"issues": evaluated}


def test_assumptions_are_listed() -> None:
    assert guesses(hub(1_000)[1]) == ("owner, name of Issue are assumed to have one combination of values per Repo",)
    assert guesses(hub(1_000, owner=10, name=20)[1]) == ()
    assert guesses(hub(1_000, owner=400, name=900)[1]) == ()
    assert guesses(hub(None)[1]) == (
        "the number of values of Issue.owner is not declared",
        "the number of values of Issue.name is not declared",
    )
    assert guesses(hub(1_000, owner=10)[1]) == (
        "owner, name of Issue are assumed to have one combination of values per Repo",
    )


def test_a_field_used_in_full_has_its_own_values_and_not_those_of_its_shard() -> None:
    table = Table("posts", pk="id", indexes=[GSI("spread", pk="GSI1PK"), GSI("shard", pk="GSI2PK")])

    @table.entity(
        indexes={"spread": key("{owner}#{owner:shard(8)}"), "shard": key("{owner:shard(8)}")},
        volume=Volume(800, bytes=Bytes(100), distinct={"owner": 200}),
    )
    class Post(Entity):
        id: str
        owner: str

    @table.query(Post, index="spread")
    def of_owner(owner: str) -> KeyCondition:
        return pk(owner=owner)

    @table.query(Post, index="shard")
    def same_shard(owner: str) -> KeyCondition:
        return pk(owner=owner)

    assert evaluated_by_pattern(table) == {"of_owner": 4, "same_shard": 100}


def test_the_longest_of_nested_keys_determines_the_number_of_values_and_disjoint_keys_combine() -> None:
    table = Table("hub", pk="PK", sk="SK")
    bytes_ = Bytes(400)

    @table.entity(key=key("REPO#{owner}#{name}", "REPO"), volume=Volume(10, bytes=bytes_))
    class Repo(Entity):
        owner: str
        name: str

    @table.entity(key=key("REPO#{owner}#{name}", "ISSUE#{number}"), volume=Volume(200, bytes=bytes_))
    class Issue(Entity):
        owner: str
        name: str
        number: str

    @table.entity(key=key("USER#{realm}#{user}", "USER"), volume=Volume(5, bytes=bytes_))
    class User(Entity):
        realm: str
        user: str

    @table.entity(key=key("ON#{owner}#{name}#{number}", "{comment}"), volume=Volume(6_000, bytes=bytes_))
    class Comment(Entity):
        owner: str
        name: str
        number: str
        comment: str

    @table.entity(key=key("BY#{owner}#{name}#{realm}#{user}", "{at}"), volume=Volume(6_000, bytes=bytes_))
    class Visit(Entity):
        owner: str
        name: str
        realm: str
        user: str
        at: str

    @table.query(Comment)
    def comments(owner: str, name: str, number: str) -> KeyCondition:
        return pk(owner=owner, name=name, number=number)

    @table.query(Visit)
    def visits(owner: str, name: str, realm: str, user: str) -> KeyCondition:
        return pk(owner=owner, name=name, realm=realm, user=user)

    @table.query(Issue)
    def issue(owner: str, name: str, number: str) -> KeyCondition:
        return pk(owner=owner, name=name).sk(number=number)

    assert evaluated_by_pattern(table) == {"comments": 30, "visits": 120, "issue": 1}
    assert guesses(issue) == ()


def test_fields_of_other_types_do_not_identify_an_entity() -> None:
    table = Table("hub", pk="PK", sk="SK")

    @table.entity(key=key("REPO#{owner:06d}#{name}", "REPO"), volume=Volume(1_000, bytes=Bytes(400)))
    class Repo(Entity):
        owner: int
        name: str

    @table.entity(key=key("ISSUES#{owner}#{name}", "{number}"), volume=Volume(20_000, bytes=Bytes(400)))
    class Issue(Entity):
        owner: str
        name: str
        number: str

    @table.query(Issue)
    def issues(owner: str, name: str) -> KeyCondition:
        return pk(owner=owner, name=name)

    assert evaluated_by_pattern(table) == {"issues": 20_000}


def test_another_entity_determines_the_values_of_a_field_only_if_its_count_is_declared() -> None:
    table = Table("shop", pk="PK", sk="SK")

    @table.entity(key=key("CUSTOMER#{customer}", "CUSTOMER"))
    class Customer(Entity):
        customer: str

    @table.entity(key=key("NOTE#{customer}", "{note}"), volume=Volume(60, bytes=Bytes(90), distinct={"customer": 30}))
    class Note(Entity):
        customer: str
        note: str

    @table.entity(key=key("OF#{customer}", "{order}"), volume=Volume(600, bytes=Bytes(90)))
    class Order(Entity):
        customer: str
        order: str

    @table.query(Order)
    def orders(customer: str) -> KeyCondition:
        return pk(customer=customer)

    assert evaluated_by_pattern(table) == {"orders": 20}
    assert guesses(orders) == ("Order.customer is assumed to have as many values as Note.customer",)


def test_a_partition_field_is_matched_by_position_even_if_another_has_its_name() -> None:
    table = Table("shop", pk="PK", sk="SK")

    @table.entity(key=key("IN#{realm}#{name}", "CUSTOMER"), volume=Volume(100, bytes=Bytes(400)))
    class Customer(Entity):
        realm: str
        name: str

    @table.entity(
        key=key("IN#{realm}#{customer}", "ORDER#{number}"),
        volume=Volume(900, bytes=Bytes(400), distinct={"realm": 1, "customer": 100, "name": 3}),
    )
    class Order(Entity):
        realm: str
        customer: str
        number: str
        name: str

    @table.query(Customer, Order)
    def all_of(realm: str, name: str) -> KeyCondition:
        return pk(realm=realm, name=name)

    assert evaluated_by_pattern(table) == {"all_of": 10}


def orders() -> Table:
    names = ("by_order", "by_mail", "by_request", "by_shop", "by_state")
    table = Table("orders", pk="PK", sk="SK", indexes=[GSI(name, pk="PK_" + name) for name in names])

    @table.entity(
        key=key("BUYER#{buyer_id}", "ORDER#{order_id}"),
        indexes={
            "by_order": key("ORDER#{order_id}"),
            "by_mail": key("MAIL#{mail}"),
            "by_request": key("REQUEST#{request}"),
            "by_shop": key("SHOP#{shop}"),
            "by_state": key("STATE#{state}"),
        },
        unique=[unique("mail")],
        volume=Volume(100_000, bytes=Bytes(400), distinct={"buyer_id": 5_000}),
    )
    class Order(Entity):
        buyer_id: str
        order_id: str
        mail: str
        request: UUID
        shop: str
        state: Literal["open", "paid", "sent", "gone"]

    @table.query(Order, index="by_order")
    def of_order(order_id: str) -> KeyCondition:
        return pk(order_id=order_id)

    @table.query(Order, index="by_mail")
    def of_mail(mail: str) -> KeyCondition:
        return pk(mail=mail)

    @table.query(Order, index="by_request")
    def of_request(request: UUID) -> KeyCondition:
        return pk(request=request)

    @table.query(Order, index="by_shop")
    def of_shop(shop: str) -> KeyCondition:
        return pk(shop=shop)

    @table.query(Order, index="by_state")
    def of_state(state: Literal["open", "paid", "sent", "gone"]) -> KeyCondition:
        return pk(state=state)

    return table


def test_an_undeclared_index_partition_key_has_the_values_of_its_field() -> None:
    table = orders()
    # Its own id and a unique value once each, another id as often as usual; of a shop nothing is known.
    assert evaluated_by_pattern(table) == {
        "of_order": 1,
        "of_mail": 1,
        "of_request": 20,
        "of_shop": 100_000,
        "of_state": 25_000,
    }
    assert {pattern.name: guesses(pattern) for pattern in table.patterns} == {
        "of_order": ("Order.order_id is assumed to be different in each Order",),
        "of_mail": (),
        "of_request": ("the number of values of Order.request is not declared: 20 items per value are assumed",),
        "of_shop": ("the number of values of Order.shop is not declared",),
        "of_state": ("the 4 values of Order.state are assumed to be used equally",),
    }
