"""A design that once could not be tried: singletons, shared parts of repetitions, ranks, and arguments of any class."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, NamedTuple

from pydantic import Field

from keyplan import (
    GSI,
    Entity,
    F,
    ItemWrite,
    KeyCondition,
    Table,
    Volume,
    WriteCall,
    each,
    everything,
    item,
    key,
    pk,
    transaction,
)


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Seat(NamedTuple):
    room: str
    row: int


class Desk:
    """A type for which no value can be generated."""

    room: str
    row: int


oddments = Table("oddments", pk="PK", sk="SK", indexes=[GSI("flagged", pk="flag")])


@oddments.entity(key=key("TOTALS", "ALL"))
class Totals(Entity):
    seats: int = 0


@oddments.entity(key=key("PRICE#{size}", "{day}"))
class Price(Entity):
    size: Size
    day: Literal["weekday", "weekend"]
    cents: int


@oddments.entity(
    key=key("ROOM#{room}", "{rank:rank(low,high)}#{row:03d}"), volume=Volume(1_000, present={"flag": 0.0001})
)
class Place(Entity):
    room: str
    row: int
    rank: Literal["high", "low"]
    flag: str | None = None
    held: bool = False
    names: list = Field(default_factory=list)  # type: ignore[type-arg]  # of anything


@oddments.update(Totals)
def count() -> ItemWrite:
    return item().add(seats=1)


@oddments.query(Place)
def from_rank(room: str, rank: Literal["high", "low"]) -> KeyCondition:
    return pk(room=room).sk.gte(rank=rank)


@oddments.query(Place)
def up_to_rank(room: str, rank: Literal["high", "low"]) -> KeyCondition:
    return pk(room=room).sk.lt(rank=rank)


@oddments.scan(Place, index="flagged")
def flagged() -> KeyCondition:
    return everything()


@oddments.query(Place)
def in_row(seat: Seat) -> KeyCondition:
    return pk(room=seat.room).filter(F.row == seat.row)


@oddments.query(Place)
def in_rows(room: str, rows: list[int]) -> KeyCondition:
    return pk(room=room).filter(F.row.is_in(each(rows)))


@oddments.query(Place)
def with_first_name(room: str, names: list[str]) -> KeyCondition:
    return pk(room=room).filter(F.names[0].is_in(each(names)) | F.flag.is_in("x", each(names)))


@oddments.update(Place)
def release(room: str, rank: Literal["high", "low"], row: int, flags: list[str]) -> ItemWrite:
    return item(room=room, rank=rank, row=row).set(held=False).condition(~F.flag.is_in(each(flags)))


@oddments.query(Place)
def at_desk(self: Desk) -> KeyCondition:
    return pk(room=self.room).filter(F.row == self.row)


@oddments.query(Place)
def of_untyped(who) -> KeyCondition:  # type: ignore[no-untyped-def]  # nothing is said of it
    return pk(room=who.place.room)


@oddments.create(Place)
def save(place: Place) -> ItemWrite:
    return item(place)


@oddments.update(Place)
def hold(room: str, rank: Literal["high", "low"], row: int, is_held: bool) -> ItemWrite:
    return item(room=room, rank=rank, row=row).set(held=is_held)


@transaction()
def hold_low(room: str, rows: list[int]) -> list[WriteCall[Any]]:
    return [hold(room, "low", each(rows), True)]
