"""Player profiles of a game, from the data modeling examples of the DynamoDB developer guide.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/data-modeling-schema-gaming-profile.html

Everything about a player is one item collection: the profile, friends, items, equipment, tasks and activities. The
patterns are in the order of the guide's table, and each docstring starts with the guide's name. `buy_item` is the
purchase that the guide's text describes.

Differences from the guide: attributes that hold a date have a time zone, and money and counts are numbers.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from keyplan import (
    Attribute,
    Bytes,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Rate,
    Table,
    Volume,
    WriteCall,
    item,
    key,
    pk,
    transaction,
)

Id = Annotated[str, Field(min_length=1, max_length=64)]

profiles = Table(
    "GamePlayerProfiles",
    pk="PK",
    sk="SK",
    discriminator="Type",
    point_in_time_recovery=True,
    deletion_protection=True,
)


@profiles.entity(
    name="Metadata",
    key=key("{player_id}", "#METADATA#{player_id}"),
    volume=Volume(count=500_000, bytes=Bytes(500)),
    store_key_fields=False,
)
class Player(Entity):
    player_id: Id
    nickname: Annotated[str, Attribute("Nickname")]
    email: Annotated[str, Attribute("Email")]
    currency: Annotated[int, Attribute("Currency")] = 0
    level: Annotated[int, Attribute("PlayerLevel")] = 1
    health: Annotated[int, Attribute("PlayerHealth")] = 100
    experience: Annotated[int, Attribute("PlayerExperience")] = 0
    created_at: Annotated[datetime, Attribute("CreatedAt", stored="iso_s")]


@profiles.entity(
    name="Friends",
    key=key("{player_id}", "FRIENDS#{player_id}"),
    volume=Volume(count=500_000, bytes=Bytes(300)),
    store_key_fields=False,
)
class Friends(Entity):
    player_id: Id
    friends: Annotated[list[Id], Attribute("FriendList"), Field(max_length=200)]


@profiles.entity(
    name="Item",
    key=key("{player_id}", "ITEMS#{item_id}"),
    volume=Volume(count=10_000_000, bytes=Bytes(200), distinct={"player_id": 500_000, "type": 5}),
    store_key_fields=False,
)
class GameItem(Entity):
    player_id: Id
    item_id: Id
    name: Annotated[str, Attribute("ItemName")]
    type: Annotated[str, Attribute("ItemType")]
    count: Annotated[int, Attribute("ItemCount")] = 1
    attributes: Annotated[dict[str, int], Attribute("ItemAttributes")]


@profiles.entity(
    name="Equipment",
    key=key("{player_id}", "EQUIPMENTS#{equipment_id}"),
    volume=Volume(count=2_500_000, bytes=Bytes(200), distinct={"player_id": 500_000}),
    store_key_fields=False,
)
class Equipment(Entity):
    player_id: Id
    equipment_id: Id
    name: Annotated[str, Attribute("EquipmentName")]
    type: Annotated[str, Attribute("EquipmentType")]
    attributes: Annotated[dict[str, int], Attribute("EquipmentAttributes")]


@profiles.entity(
    name="Task",
    key=key("{player_id}", "TASK#{task_id}"),
    volume=Volume(count=2_500_000, bytes=Bytes(300), distinct={"player_id": 500_000}),
    store_key_fields=False,
)
class Task(Entity):
    player_id: Id
    task_id: Id
    name: Annotated[str, Attribute("TaskName")]
    description: Annotated[str, Attribute("TaskDescription")] = ""
    status: Annotated[str, Attribute("TaskStatus")] = "Open"
    reward: Annotated[int, Attribute("TaskReward")] = 0


@profiles.entity(
    name="Activity",
    key=key("{player_id}", "ACTIVITY#{activity_id}"),
    volume=Volume(count=1_500_000, bytes=Bytes(250), distinct={"player_id": 500_000}),
    store_key_fields=False,
)
class Activity(Entity):
    player_id: Id
    activity_id: Id
    name: Annotated[str, Attribute("ActivityName")]
    type: Annotated[str, Attribute("ActivityType")]
    starts_at: Annotated[datetime, Attribute("ActivityStartTime", stored="iso_s")]
    ends_at: Annotated[datetime, Attribute("ActivityEndTime", stored="iso_s")]
    reward: Annotated[int, Attribute("ActivityReward")] = 0


@profiles.get(Friends, rate=Rate(average=50, peak=200))
def player_friends(player_id: Id) -> ItemKey:
    """getPlayerFriends: get the friend list of a player, which is one item."""
    return item(player_id=player_id)


@profiles.query(Player, Friends, GameItem, Equipment, Task, Activity, rate=Rate(average=100, peak=500))
def player_profile(player_id: Id) -> KeyCondition:
    """getPlayerAllProfile: get all items of a player's item collection with one query."""
    return pk(player_id=player_id)


@profiles.query(GameItem, rate=Rate(average=100, peak=500))
def player_items(player_id: Id) -> KeyCondition:
    """getPlayerAllItems: list the items that a player owns."""
    return pk(player_id=player_id)


@profiles.query(GameItem, rate=Rate(average=10, peak=50))
def player_items_of_type(player_id: Id, type: str) -> KeyCondition:
    """getPlayerSpecificItem: list a player's items of one type, such as "Weapon", by reading all items of
    the player.
    """
    return pk(player_id=player_id).filter(F.type == type)


@profiles.update(Player, rate=Rate(average=50, peak=200))
def spend(player_id: Id, amount: int, minimum: int) -> ItemWrite:
    """updateCharacterAttributes: deduct currency from a player who has at least the minimum."""
    return item(player_id=player_id).subtract(currency=amount).condition(F.currency >= minimum)


@profiles.update(GameItem, rate=Rate(average=50, peak=200))
def use_item(player_id: Id, item_id: Id, count: int) -> ItemWrite:
    """updateItemCount: reduce the count of an item."""
    return item(player_id=player_id, item_id=item_id).subtract(count=count)


@profiles.create(GameItem)
def add_item(new: GameItem) -> ItemWrite:
    """Store a new item that a player owns."""
    return item(new)


@transaction(rate=Rate(average=5, peak=20))
def buy_item(new: GameItem, price: int) -> list[WriteCall[Player] | WriteCall[GameItem]]:
    """Deduct the price and store the item in one transaction."""
    return [spend(new.player_id, price, price), add_item(new)]


@profiles.create(Player, rate=Rate(average=1))
def add_player(player: Player) -> ItemWrite:
    """Store a new player."""
    return item(player)


@profiles.put(Friends, rate=Rate(average=1))
def set_friends(friends: Friends) -> ItemWrite:
    """Set the friend list of a player."""
    return item(friends)


@profiles.create(Equipment, rate=Rate(average=1))
def add_equipment(equipment: Equipment) -> ItemWrite:
    """Store new equipment of a player."""
    return item(equipment)


@profiles.create(Task, rate=Rate(average=5))
def add_task(task: Task) -> ItemWrite:
    """Store a new task of a player."""
    return item(task)


@profiles.create(Activity, rate=Rate(average=5))
def add_activity(activity: Activity) -> ItemWrite:
    """Store a new activity of a player."""
    return item(activity)
