"""The share of load that goes to the most used key."""

from __future__ import annotations

from typing import Literal

import pytest

from keyplan.check.partition_load import field_share, key_share
from keyplan.design import Distinct, Entity, Items, Table, key
from keyplan.design.entities import EntitySpec, spec_of


def flags() -> EntitySpec:
    table = Table("flags", pk="flag_id")

    @table.entity(items=Items(count=400, distinct={"region": 8, "plan": {"free": 3, "paid": 1}}))
    class Flag(Entity):
        flag_id: str
        on: bool
        colour: Literal["red", "green", "blue"]
        region: str
        plan: str
        name: str

    return spec_of(Flag)


def test_shares_come_from_numbers_types_and_keys() -> None:
    flag = flags()
    told = {name: field_share(flag, name) for name in flag.fields}
    assert told == {"flag_id": 1 / 400, "on": 1 / 2, "colour": 1 / 3, "region": 1 / 8, "plan": 3 / 4, "name": None}


def test_the_share_of_a_key_is_that_of_its_fields_together_and_of_no_field_all() -> None:
    flag = flags()
    assert key_share(flag.key.partition, flag, {}) == 1 / 400
    assert key_share(flag.key.partition, flag, {"flag_id": "beta"}) == 1.0
    assert key_share((), flag, {}) == 1.0


@pytest.mark.parametrize(
    ("template", "share"),
    [
        ("{topic:shard(4)}", 1 / 4),
        ("{room:shard(4)}", 0.5),
        ("{city:shard(4)}", 1 / 4),
        ("{city}#{city:shard(4)}", 1 / 10),
        ("{city:shard(4)}#{city}", 1 / 10),
        ("{topic}#{topic:shard(4)}", None),
        ("{room}#{city}", 0.5 / 10),
        ("{room}#{topic}", None),
    ],
)
def test_shards_make_no_more_keys_than_there_are_and_no_fewer_of_one_value(template: str, share: float | None) -> None:
    table = Table("posts", pk="PK")

    @table.entity(key=key(template + "#{post_id}"), items=Items(100, distinct={"room": Distinct(9, 0.5), "city": 10}))
    class Post(Entity):
        post_id: str
        topic: str
        room: str
        city: str

    post = spec_of(Post)
    assert key_share(post.key.partition, post, {"post_id": "1"}) == (None if share is None else pytest.approx(share))


def repositories() -> tuple[EntitySpec, ...]:
    """Repositories of owners, what lies in them, and what is only named alike."""
    table = Table("hub", pk="PK", sk="SK")

    @table.entity(key=key("OWNER#{owner}", "OWNER"), items=Items(20))
    class Owner(Entity):
        owner: str

    @table.entity(key=key("REPO#{owner}#{name}", "REPO"), items=Items(50))
    class Repo(Entity):
        owner: str
        name: str

    @table.entity(key=key("REPO#{owner}#{name}", "ISSUE#{number}"), items=Items(1_000))
    class Issue(Entity):
        owner: str
        name: str
        number: int

    @table.entity(key=key("NUMBER#{number}", "NUMBER"), items=Items(7))
    class Named(Entity):
        number: str

    @table.entity(key=key("NAME#{name}", "NAME"))
    class Name(Entity):
        name: str

    return spec_of(Owner), spec_of(Repo), spec_of(Issue), spec_of(Named), spec_of(Name)


def test_fields_that_are_the_key_of_another_have_as_many_combinations_as_there_are_of_it() -> None:
    owner, repo, issue, named, name = repositories()
    assert key_share(issue.key.partition, issue, {}) is None
    assert key_share(issue.key.partition, issue, {}, (owner, name)) is None, "the name alone is not known"
    assert key_share(issue.key.partition, issue, {}, (owner, repo)) == 1 / 50, "the larger key tells more"
    assert key_share(issue.key.attributes, issue, {}, (owner, repo, named)) == 1 / 1_000


def test_a_value_that_is_always_the_same_makes_no_combinations() -> None:
    owner, repo, issue, _, _ = repositories()
    assert key_share(issue.key.partition, issue, {"owner": "me"}, (repo,)) is None
    assert key_share(issue.key.partition, issue, {"name": "main"}, (owner,)) == 1 / 20
    assert key_share(issue.key.partition, issue, {"owner": "me", "name": "main"}, (repo,)) == 1


def test_a_field_of_another_type_is_another_field() -> None:
    table = Table("app", pk="PK")

    @table.entity(key=key("ORDER#{number}"), items=Items(7))
    class Order(Entity):
        number: str

    @table.entity(key=key("BILL#{bill}"), items=Items(9))
    class Bill(Entity):
        bill: str
        number: int

    order, bill = spec_of(Order), spec_of(Bill)
    assert key_share(order.key.partition, bill, {}, (order,)) is None


def test_where_some_of_a_key_is_told_it_is_as_varied_as_there_are_items() -> None:
    table = Table("tasks", pk="user", sk="task")

    @table.entity(items=Items(1_000, distinct={"user": 10}))
    class Task(Entity):
        user: str
        task: str

    @table.entity(items=Items(1_000, distinct={"user": 10, "task": 20}))
    class Step(Entity):
        user: str
        task: str

    task, step = spec_of(Task), spec_of(Step)
    assert key_share(task.key.attributes, task, {}) == 1 / 1_000
    assert key_share(step.key.attributes, step, {}) == pytest.approx(1 / 10 / 20)


def test_none_are_as_good_as_one() -> None:
    table = Table("empty", pk="PK", sk="SK")

    @table.entity(key=key("A#{a}", "{b}"), items=Items(0))
    class Nothing(Entity):
        a: str
        b: str

    @table.entity(key=key("C#{c}", "C"), items=Items(0))
    class Neither(Entity):
        c: str

    nothing, neither = spec_of(Nothing), spec_of(Neither)
    assert key_share(nothing.key.attributes, nothing, {}) == 1
    assert field_share(neither, "c") == 1
    assert field_share(nothing, "a") is None
