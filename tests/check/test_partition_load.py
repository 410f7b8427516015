"""The load of the most used key, and its share of all calls."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from keyplan import (
    GSI,
    LSI,
    Bytes,
    Design,
    Distinct,
    Entity,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    Volume,
    attr,
    every_shard,
    everything,
    item,
    key,
    pk,
)
from keyplan.check.partition_load import HotKey, field_share, key_share
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec, spec_of


def subject(*tables: Table) -> Subject:
    return Subject(Design("d", tables))


def one_key(keys: tuple[HotKey, ...], name: str) -> HotKey:
    (hot,) = [hot for hot in keys if hot.name == name]
    return hot


def board(shards: int, average: float, peak: float) -> tuple[Table, type[Entity]]:
    template = "ALL" if shards == 1 else f"ALL#{{player:shard({shards})}}"
    table = Table("board", pk="player", indexes=[GSI("top", pk="board", sk="points")])

    @table.entity(indexes={"top": key(template, attr("points"))}, volume=Volume(count=50_000, bytes=Bytes(200)))
    class Score(Entity):
        player: str
        points: int

    @table.update(Score, rate=Rate(average=average, peak=peak))
    def add_points(player: str, points: int) -> ItemWrite:
        return item(player=player).add(points=points)

    return table, Score


@given(shards=st.integers(1, 200), average=st.integers(1, 500), more=st.integers(0, 5_000))
def test_shards_divide_the_load_of_an_index_whose_key_changes(shards: int, average: int, more: int) -> None:
    table, _ = board(shards, average, average + more)
    hot = one_key(subject(table).hot_keys, "top")
    share = max(1 / shards, 1 / 50_000)
    assert hot.write(peak=False) == pytest.approx(2 * average * share)
    assert hot.write(peak=True) == pytest.approx(2 * (average + more) * share)
    assert hot.shard_count == (0 if shards == 1 else shards)
    assert hot.is_constant == (shards == 1)


def test_a_read_of_every_shard_loads_each_shard() -> None:
    table, score = board(4, 10, 10)

    @table.query(score, index="top", expected_items=1, rate=Rate(average=100))
    def top() -> KeyCondition:
        return pk(player=every_shard())

    hot = one_key(subject(table).hot_keys, "top")
    # Four reads of half a unit a call, a hundred calls a second: fifty units on each shard.
    assert hot.read(peak=True) == pytest.approx(50)


def tasks() -> tuple[Table, type[Entity]]:
    table = Table("tasks", pk="user_id", sk="task_id", indexes=[LSI("by_state", sk="state")])

    @table.entity(volume=Volume(count=1_000, bytes=Bytes(900), distinct={"user_id": Distinct(100, hottest=0.25)}))
    class Task(Entity):
        user_id: str
        task_id: str
        state: Literal["open", "done"]
        note: str | None = None

    return table, Task


def test_a_local_index_adds_to_the_partition_of_its_table() -> None:
    table, task = tasks()

    @table.update(task, rate=Rate(average=40))
    def finish(user_id: str, task_id: str) -> ItemWrite:
        return item(user_id=user_id, task_id=task_id).set(state="done")

    (hot,) = subject(table).hot_keys
    assert hot.name == "tasks"
    assert hot.write(peak=True) == pytest.approx(40 * 0.25 * 3)


def test_loads_on_one_key_are_added_up_and_named_largest_first() -> None:
    table, task = tasks()

    @table.create(task, rate=Rate(average=10))
    def create(new: Any) -> ItemWrite:
        return item(new)

    @table.update(task, rate=Rate(average=20))
    def annotate(user_id: str, task_id: str, note: str) -> ItemWrite:
        return item(user_id=user_id, task_id=task_id).set(note=note)

    (hot,) = subject(table).hot_keys
    assert hot.write(peak=True) == pytest.approx(0.25 * (10 * 2 + 20 * 2))
    assert hot.main_patterns("write") == ["annotate", "create"]
    assert hot.share_of("write") == 0.25
    assert hot.main_patterns("read") == []


def test_a_constant_argument_uses_the_same_key_in_every_call() -> None:
    table, task = tasks()

    @table.query(task, expected_items=1, rate=Rate(average=8))
    def of_admin() -> KeyCondition:
        return pk(user_id="admin")

    (hot,) = subject(table).hot_keys
    assert hot.read(peak=True) == pytest.approx(8 * 0.5)


def test_fields_without_numbers_and_patterns_without_a_rate_add_no_load() -> None:
    table = Table("notes", pk="user_id", sk="note_id")

    @table.entity(volume=Volume(count=1_000))
    class Note(Entity):
        user_id: str
        note_id: str

    @table.create(Note, rate=Rate(average=5_000))
    def create(note: Note) -> ItemWrite:
        return item(note)

    @table.create(Note)
    def create_rarely(note: Note) -> ItemWrite:
        return item(note)

    assert subject(table).hot_keys == ()


def test_an_index_queried_for_one_key_receives_the_writes_of_entities_expected_in_it() -> None:
    table = Table("stats", pk="user_id", indexes=[GSI("top", pk="board", sk="points")])

    @table.entity(volume=Volume(count=1_000, bytes=Bytes(1_500)))
    class Stats(Entity):
        user_id: str
        points: int
        name: str

    @table.query(Stats, index="top")
    def top() -> KeyCondition:
        return pk.text("board")

    @table.update(Stats, rate=Rate(average=10))
    def add_points(user_id: str) -> ItemWrite:
        return item(user_id=user_id).add(points=1)

    @table.update(Stats, rate=Rate(average=1))
    def rename(user_id: str, name: str) -> ItemWrite:
        return item(user_id=user_id).set(name=name)

    hot = one_key(subject(table).hot_keys, "top")
    assert hot.is_constant
    assert hot.shape == "board = board"
    assert hot.write(peak=True) == pytest.approx(10 * 2 * 2 + 1 * 2)


@pytest.mark.parametrize(
    ("key_text", "share"),
    [
        ("{room}#{sent_at:year}", 0.5),
        ("{room}#{sent_at:month}", 0.5),
        ("{room}#{sent_at:date}", 0.5),
        ("{room}#{sent_at:hour}", 0.5),
        ("{room}#{sent_at:date}#{sent_at:hour}", 0.5),
        ("{room}#{sent_at:utc_ms}", 0.5 / 1_000),
        ("{room}#{sent_at:date}#{sent_at:utc_ms}", 0.5 / 1_000),
        ("{room}#{due_at:date}", 0.5 / 10),
    ],
)
@pytest.mark.parametrize("of_index", [False, True])
def test_new_items_use_the_current_period(key_text: str, share: float, of_index: bool) -> None:
    table = Table("chat", pk="PK", sk="SK", indexes=[GSI("other", pk="GSI1PK")])
    rest = {"indexes": {"other": key(key_text)}} if of_index else {}

    @table.entity(
        key=key("MESSAGE#{message_id}" if of_index else key_text, "{message_id}"),
        volume=Volume(
            100_000,
            bytes=Bytes(500),
            distinct={"room": Distinct(100, hottest=0.5), "sent_at": 1_000, "due_at": 10, "message_id": 100_000},
        ),
        **rest,  # type: ignore[arg-type]
    )
    class Message(Entity):
        room: str
        sent_at: datetime
        due_at: datetime
        message_id: str

    @table.create(Message, rate=Rate(average=100))
    def send(message: Message) -> ItemWrite:
        return item(message)

    hot = one_key(subject(table).hot_keys, "other" if of_index else "chat")
    assert hot.write(peak=True) == pytest.approx(100 * share)


def levels() -> tuple[Table, type[Entity]]:
    by_level = [GSI("by_level", pk="level"), GSI("by_name", pk="name")]
    table = Table("players", pk="player", sk="part", indexes=by_level)

    @table.entity(volume=Volume(1_000, bytes=Bytes(500), distinct={"player": 500, "part": 2, "level": 10, "name": 400}))
    class Player(Entity):
        player: str
        part: str
        level: int
        name: str

    return table, Player


def test_setting_a_constant_uses_one_key_and_adding_does_not() -> None:
    table, player = levels()

    @table.update(player, rate=Rate(average=5))
    def rise(player: str, part: str) -> ItemWrite:
        return item(player=player, part=part).add(level=1)

    assert one_key(subject(table).hot_keys, "by_level").write(peak=True) == pytest.approx(5 * 2 / 10)

    @table.update(player, rate=Rate(average=3))
    def start_again(player: str, part: str) -> ItemWrite:
        return item(player=player, part=part).set(level=1)

    hot = one_key(subject(table).hot_keys, "by_level")
    assert hot.write(peak=True) == pytest.approx(5 * 2 / 10 + 3 * 2)
    assert hot.share_of("write") == 1


def test_writes_outside_an_index_do_not_load_it_and_a_global_index_does_not_load_the_table() -> None:
    table, player = levels()

    @table.update(player, rate=Rate(average=5))
    def rename(player: str, part: str, name: str) -> ItemWrite:
        return item(player=player, part=part).set(name=name)

    hot = {hot_key.name: hot_key.write(peak=True) for hot_key in subject(table).hot_keys}
    # The other index has all attributes, so that it changes too, but not its key.
    assert hot == {
        "players": pytest.approx(5 / 500),
        "by_level": pytest.approx(5 / 10),
        "by_name": pytest.approx(10 / 400),
    }


def test_a_constant_part_of_a_key_adds_no_keys() -> None:
    table, player = levels()

    @table.get(player, rate=Rate(average=100))
    def profile(player: str) -> ItemKey:
        return item(player=player, part="profile")

    @table.query(player, expected_items=1, rate=Rate(average=1_000))
    def parts(player: str) -> KeyCondition:
        return pk(player=player)

    (hot_item,) = subject(table).hot_items
    assert hot_item.read(peak=True) == pytest.approx(100 * 0.5 / 500), "queries read partitions, not items"
    (hot,) = subject(table).hot_keys
    assert hot.read(peak=True) == pytest.approx(1_100 * 0.5 / 500)


def test_a_scan_loads_no_key() -> None:
    table, player = levels()

    @table.scan(player, rate=Rate(average=100))
    def all_players() -> KeyCondition:
        return everything()

    @table.scan(player, index="by_level", rate=Rate(average=100))
    def all_levels() -> KeyCondition:
        return everything()

    assert (subject(table).hot_keys, subject(table).hot_items) == ((), ())


def test_a_read_of_an_index_loads_neither_the_table_nor_another_index() -> None:
    table, player = levels()

    @table.query(player, index="by_level", expected_items=1, rate=Rate(average=100))
    def of_level(level: int) -> KeyCondition:
        return pk(level=level)

    (hot,) = subject(table).hot_keys
    assert (hot.name, hot.write(peak=True)) == ("by_level", 0)
    assert hot.read(peak=True) == pytest.approx(100 * 0.5 / 10)
    assert subject(table).hot_items == ()


def test_a_read_of_two_entities_counts_once_for_their_key() -> None:
    table = Table("shop", pk="PK", sk="SK", indexes=[GSI("by_day", pk="day", sk="SK")])
    days = {"day": 10}

    @table.entity(key=key("ORDER#{number}", "ORDER"), volume=Volume(100, bytes=Bytes(500), distinct=days))
    class Order(Entity):
        number: str
        day: str

    @table.entity(key=key("BILL#{number}", "BILL"), volume=Volume(100, bytes=Bytes(500), distinct=days))
    class Bill(Entity):
        number: str
        day: str

    @table.query(Order, Bill, index="by_day", expected_items=2, rate=Rate(average=100))
    def on(day: str) -> KeyCondition:
        return pk(day=day)

    hot = one_key(subject(table).hot_keys, "by_day")
    assert hot.read(peak=True) == pytest.approx(100 * 0.5 / 10)


def test_only_the_three_largest_loads_are_named() -> None:
    table, player = levels()
    for number, rate in enumerate((3, 9, 1, 7)):

        def read(player: str, part: str) -> ItemKey:
            return item(player=player, part=part)

        read.__name__ = f"read_{number}"
        table.get(player, rate=Rate(average=rate))(read)

    (hot,) = subject(table).hot_keys
    assert hot.main_patterns("read") == ["read_1", "read_3", "read_0"]
    assert hot.share_of("write") == 0


def test_a_table_is_loaded_only_by_its_own_patterns() -> None:
    (first, player), (second, other) = levels(), tasks()

    @first.get(player, rate=Rate(average=100))
    def profile(player: str, part: str) -> ItemKey:
        return item(player=player, part=part)

    @first.get(player)
    def rarely(player: str, part: str) -> ItemKey:
        return item(player=player, part=part)

    @second.get(other, rate=Rate(average=10))
    def task(user_id: str, task_id: str) -> ItemKey:
        return item(user_id=user_id, task_id=task_id)

    table_subject = subject(first, second)
    assert [(hot.name, hot.main_patterns("read")) for hot in table_subject.hot_keys] == [
        ("players", ["profile"]),
        ("tasks", ["task"]),
    ]
    assert [item.shape for item in table_subject.hot_items] == [
        "player = {player}, part = {part}",
        "user_id = {user_id}, task_id = {task_id}",
    ]
    assert [hot_item.read(peak=True) for hot_item in table_subject.hot_items] == pytest.approx(
        [50 / 500 / 2, 5 / 1_000]
    )


@pytest.mark.parametrize("named", ["OWNER#{owner}", "OWNER#{of}"])
def test_a_read_of_two_entities_counts_once_if_their_fields_have_other_names(named: str) -> None:
    table = Table("parts", pk="id", indexes=[GSI("by_owner", pk="G", sk="id")])
    items = Volume(1_000, bytes=Bytes(100), distinct={"owner": 10, "of": 10})

    @table.entity(indexes={"by_owner": key("OWNER#{owner}", attr("id"))}, volume=items)
    class Whole(Entity):
        id: str
        owner: str

    @table.entity(indexes={"by_owner": key(named, attr("id"))}, volume=items)
    class Part(Entity):
        id: str
        owner: str
        of: str

    @table.query(Whole, Part, index="by_owner", expected_items=400, rate=Rate(average=100))
    def all_of(owner: str) -> KeyCondition:
        return pk(owner=owner)

    read = [hot.read(peak=True) for hot in subject(table).hot_keys]
    assert read == [pytest.approx(100 / 10 * 5)] * len({"OWNER#{owner}", named})


def test_shards_after_another_field_are_recognized() -> None:
    table = Table("scores", pk="PK", sk="points")

    @table.entity(
        key=key("GAME#{game}#{player:shard(8)}", attr("points")),
        volume=Volume(8_000, bytes=Bytes(100), distinct={"game": 10, "player": 4_000}),
    )
    class Score(Entity):
        game: str
        player: str
        points: int

    @table.create(Score, rate=Rate(average=80))
    def record(score: Score) -> ItemWrite:
        return item(score)

    (hot,) = subject(table).hot_keys
    assert (hot.shard_count, hot.is_constant) == (8, False)
    assert hot.write(peak=True) == pytest.approx(80 / 10 / 8)


def test_uncalled_patterns_and_indexes_of_unknown_values_have_no_load() -> None:
    table = Table("notes", pk="note_id", indexes=[GSI("by_topic", pk="topic")])

    @table.entity(volume=Volume(count=1_000))
    class Note(Entity):
        note_id: str
        topic: str

    @table.get(Note)
    def look(note_id: str) -> ItemKey:
        return item(note_id=note_id)

    @table.create(Note)
    def create_rarely(note: Note) -> ItemWrite:
        return item(note)

    assert (subject(table).hot_keys, subject(table).hot_items) == ((), ())

    @table.create(Note, rate=Rate(average=10))
    def create(note: Note) -> ItemWrite:
        return item(note)

    (hot,) = subject(table).hot_keys
    assert (hot.name, hot.main_patterns("write")) == ("notes", ["create"])


def test_a_get_of_items_without_a_declared_size_counts_and_a_query_of_an_assumed_number_does_not() -> None:
    table = Table("notes", pk="note_id", sk="part")

    @table.entity(volume=Volume(count=1_000, distinct={"note_id": 10, "part": 100}))
    class Note(Entity):
        note_id: str
        part: str

    @table.query(Note, rate=Rate(average=1_000))
    def parts(note_id: str) -> KeyCondition:
        return pk(note_id=note_id)

    @table.get(Note, rate=Rate(average=100))
    def look(note_id: str, part: str) -> ItemKey:
        return item(note_id=note_id, part=part)

    (hot,) = subject(table).hot_keys
    assert hot.main_patterns("read") == ["look"]


def test_writes_of_other_entities_do_not_load_an_index_queried_for_one_key() -> None:
    table = Table("stats", pk="PK", indexes=[GSI("top", pk="board", sk="points"), GSI("by_name", pk="name")])

    @table.entity(key=key("USER#{user_id}"), volume=Volume(count=1_000, bytes=Bytes(1_500)))
    class Stats(Entity):
        user_id: str
        points: int

    @table.entity(key=key("NEWS#{news_id}"), volume=Volume(count=1_000, bytes=Bytes(900)))
    class News(Entity):
        news_id: str
        name: str

    @table.get(Stats, rate=Rate(average=1_000))
    def stats(user_id: str) -> ItemKey:
        return item(user_id=user_id)

    @table.query(News, index="by_name")
    def named(name: str) -> KeyCondition:
        return pk(name=name)

    @table.query(Stats, index="top")
    def top() -> KeyCondition:
        return pk.text("board")

    @table.create(Stats, rate=Rate(average=3))
    def join(stats: Stats) -> ItemWrite:
        return item(stats)

    @table.update(Stats, rate=Rate(average=10))
    def add_points(user_id: str) -> ItemWrite:
        return item(user_id=user_id).add(points=1)

    @table.delete(Stats, rate=Rate(average=1))
    def leave(user_id: str) -> ItemKey:
        return item(user_id=user_id)

    @table.create(News, rate=Rate(average=500))
    def tell(news: News) -> ItemWrite:
        return item(news)

    hot = one_key(subject(table).hot_keys, "top")
    assert hot.write(peak=True) == pytest.approx(3 * 2 + 10 * 2 * 2 + 1 * 2)
    assert hot.main_patterns("write") == ["add_points", "join", "leave"]
    assert (hot.read(peak=True), hot.is_constant, hot.shard_count) == (0, True, 0)
    assert hot.place == table.schema.index("top").place  # type: ignore[union-attr]
    assert [
        hot_key.index.name for hot_key in subject(table).hot_keys if hot_key.index is not None and hot_key.bound is None
    ] == ["top"]


def test_a_multi_attribute_key_has_as_many_values_as_its_attributes_combined() -> None:
    table = Table("games", pk="game_id", indexes=[GSI("listed", pk=("kind", "city"))])

    @table.entity(
        indexes={"listed": key(("GAME", attr("city")))},
        volume=Volume(1_000, bytes=Bytes(500), distinct={"city": Distinct(20, hottest=0.3)}),
    )
    class Game(Entity):
        game_id: str
        city: str

    @table.create(Game, rate=Rate(average=10))
    def announce(game: Game) -> ItemWrite:
        return item(game)

    hot = one_key(subject(table).hot_keys, "listed")
    assert not hot.is_constant
    assert hot.write(peak=True) == pytest.approx(3)


def flags() -> EntitySpec:
    table = Table("flags", pk="flag_id")

    @table.entity(volume=Volume(count=400, distinct={"region": 8, "plan": {"free": 3, "paid": 1}}))
    class Flag(Entity):
        flag_id: str
        on: bool
        colour: Literal["red", "green", "blue"]
        region: str
        plan: str
        name: str

    return spec_of(Flag)


def test_shares_follow_from_numbers_types_and_keys() -> None:
    flag = flags()
    actual = {name: field_share(flag, name) for name in flag.fields}
    assert actual == {"flag_id": 1 / 400, "on": 1 / 2, "colour": 1 / 3, "region": 1 / 8, "plan": 3 / 4, "name": None}


def test_the_bounds_of_an_int_determine_its_number_of_shards() -> None:
    table = Table("posts", pk="id")

    @table.entity()
    class Post(Entity):
        id: str
        shard: Annotated[int, Field(ge=0, lt=4)]
        first: Annotated[int, Field(ge=1, le=1_000)]
        many: Annotated[int, Field(ge=1, le=1_001)]
        open: Annotated[int, Field(ge=0)]
        price: Annotated[float, Field(ge=0, le=3)]

    post = spec_of(Post)
    shares = {name: field_share(post, name) for name in post.fields}
    assert shares == {"id": None, "shard": 1 / 4, "first": 1 / 1_000, "many": None, "open": None, "price": None}


def test_the_share_of_a_key_is_the_product_of_its_fields_and_one_without_fields() -> None:
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
def test_shards_split_a_value_up_to_its_number_of_keys(template: str, share: float | None) -> None:
    table = Table("posts", pk="PK")

    @table.entity(key=key(template + "#{post_id}"), volume=Volume(100, distinct={"room": Distinct(9, 0.5), "city": 10}))
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

    @table.entity(key=key("OWNER#{owner}", "OWNER"), volume=Volume(20))
    class Owner(Entity):
        owner: str

    @table.entity(key=key("REPO#{owner}#{name}", "REPO"), volume=Volume(50))
    class Repo(Entity):
        owner: str
        name: str

    @table.entity(key=key("REPO#{owner}#{name}", "ISSUE#{number}"), volume=Volume(1_000))
    class Issue(Entity):
        owner: str
        name: str
        number: int

    @table.entity(key=key("NUMBER#{number}", "NUMBER"), volume=Volume(7))
    class Named(Entity):
        number: str

    @table.entity(key=key("NAME#{name}", "NAME"))
    class Name(Entity):
        name: str

    return spec_of(Owner), spec_of(Repo), spec_of(Issue), spec_of(Named), spec_of(Name)


def test_fields_that_form_another_entitys_key_have_as_many_combinations_as_its_items() -> None:
    owner, repo, issue, named, name = repositories()
    assert key_share(issue.key.partition, issue, {}) is None
    assert key_share(issue.key.partition, issue, {}, (owner, name)) is None, "the name alone is not known"
    assert key_share(issue.key.partition, issue, {}, (owner, repo)) == 1 / 50, "the larger key tells more"
    assert key_share(issue.key.attributes, issue, {}, (owner, repo, named)) == 1 / 1_000


def test_a_constant_value_adds_no_combinations() -> None:
    owner, repo, issue, _, _ = repositories()
    assert key_share(issue.key.partition, issue, {"owner": "me"}, (repo,)) is None
    assert key_share(issue.key.partition, issue, {"name": "main"}, (owner,)) == 1 / 20
    assert key_share(issue.key.partition, issue, {"owner": "me", "name": "main"}, (repo,)) == 1


def test_a_field_of_another_type_is_a_different_field() -> None:
    table = Table("app", pk="PK")

    @table.entity(key=key("ORDER#{number}"), volume=Volume(7))
    class Order(Entity):
        number: str

    @table.entity(key=key("BILL#{bill}"), volume=Volume(9))
    class Bill(Entity):
        bill: str
        number: int

    order, bill = spec_of(Order), spec_of(Bill)
    assert key_share(order.key.partition, bill, {}, (order,)) is None


def test_a_partly_declared_key_has_as_many_values_as_items() -> None:
    table = Table("tasks", pk="user", sk="task")

    @table.entity(volume=Volume(1_000, distinct={"user": 10}))
    class Task(Entity):
        user: str
        task: str

    @table.entity(volume=Volume(1_000, distinct={"user": 10, "task": 20}))
    class Step(Entity):
        user: str
        task: str

    task, step = spec_of(Task), spec_of(Step)
    assert key_share(task.key.attributes, task, {}) == 1 / 1_000
    assert key_share(step.key.attributes, step, {}) == pytest.approx(1 / 10 / 20)


def test_zero_items_count_as_one() -> None:
    table = Table("empty", pk="PK", sk="SK")

    @table.entity(key=key("A#{a}", "{b}"), volume=Volume(0))
    class Nothing(Entity):
        a: str
        b: str

    @table.entity(key=key("C#{c}", "C"), volume=Volume(0))
    class Neither(Entity):
        c: str

    nothing, neither = spec_of(Nothing), spec_of(Neither)
    assert key_share(nothing.key.attributes, nothing, {}) == 1
    assert field_share(neither, "c") == 1
    assert field_share(nothing, "a") is None
