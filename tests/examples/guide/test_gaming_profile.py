"""The access patterns of the guide's gaming profile, on sample items like the guide's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from examples.guide.gaming_profile import Activity, Equipment, Friends, GameItem, Player, Task

from examples.guide import gaming_profile as guide
from keyplan.client.connection import Connection
from keyplan.client.errors import ConditionFailedError, TransactionFailedError

PLAYER = Player(
    player_id="player001",
    nickname="Ann",
    email="ann@example.com",
    currency=1_000,
    created_at=datetime(2023, 5, 1, tzinfo=UTC),
)
FRIENDS = Friends(player_id="player001", friends=["player002", "player003"])
SWORD = GameItem(player_id="player001", item_id="001", name="Sword", type="Weapon", count=5, attributes={"Attack": 10})
POTION = GameItem(player_id="player001", item_id="002", name="Potion", type="Potion", count=3, attributes={"Heal": 20})
HELMET = Equipment(player_id="player001", equipment_id="001", name="Helmet", type="Head", attributes={"Defense": 5})
TASK = Task(player_id="player001", task_id="001", name="First steps", reward=50)
ACTIVITY = Activity(
    player_id="player001",
    activity_id="001",
    name="Spring festival",
    type="Seasonal",
    starts_at=datetime(2023, 5, 1, tzinfo=UTC),
    ends_at=datetime(2023, 5, 8, tzinfo=UTC),
)


@pytest.fixture(autouse=True)
def played(db: Connection) -> None:
    db.run(guide.add_player(PLAYER))
    db.run(guide.set_friends(FRIENDS))
    for item in (SWORD, POTION, SWORD.model_copy(update={"player_id": "player002"})):
        db.run(guide.add_item(item))
    db.run(guide.add_equipment(HELMET))
    db.run(guide.add_task(TASK))
    db.run(guide.add_activity(ACTIVITY))


def test_the_keys_match_the_guide(stored: Callable[..., list[dict[str, Any]]]) -> None:
    results = {item["SK"]: item["Type"] for item in stored(guide.profiles) if item["PK"] == "player001"}
    assert results == {
        "#METADATA#player001": "Metadata",
        "ACTIVITY#001": "Activity",
        "EQUIPMENTS#001": "Equipment",
        "FRIENDS#player001": "Friends",
        "ITEMS#001": "Item",
        "ITEMS#002": "Item",
        "TASK#001": "Task",
    }


def test_1_the_friend_list_is_one_item(db: Connection) -> None:
    assert db.run(guide.player_friends("player001")) == FRIENDS


def test_2_everything_about_a_player_is_one_query(db: Connection) -> None:
    profile = db.run(guide.player_profile("player001"))
    assert profile == [PLAYER, ACTIVITY, HELMET, FRIENDS, SWORD, POTION, TASK]
    assert profile.of(GameItem) == [SWORD, POTION]


def test_3_the_items_of_a_player_are_a_range(db: Connection) -> None:
    assert db.run(guide.player_items("player001")).items == (SWORD, POTION)


def test_4_the_items_of_one_type_are_filtered(db: Connection) -> None:
    assert db.run(guide.player_items_of_type("player001", "Weapon")).items == (SWORD,)


def test_5_currency_is_spent_only_above_the_minimum(db: Connection) -> None:
    assert db.run(guide.spend("player001", 300, 300)).currency == 700
    with pytest.raises(ConditionFailedError):
        db.run(guide.spend("player001", 800, 800))


def test_6_the_count_of_an_item_is_decremented(db: Connection) -> None:
    assert db.run(guide.use_item("player001", "001", 1)).count == 4


def test_an_item_is_bought_only_if_the_currency_is_enough(db: Connection) -> None:
    shield = GameItem(player_id="player001", item_id="003", name="Shield", type="Armor", attributes={})
    with pytest.raises(TransactionFailedError):
        db.run(guide.buy_item(shield, 1_500))
    assert db.run(guide.player_items("player001")).items == (SWORD, POTION)
    db.run(guide.buy_item(shield, 400))
    assert db.run(guide.player_items("player001")).items == (SWORD, POTION, shield)
    assert db.run(guide.player_profile("player001")).of(Player)[0].currency == 600
