"""A design whose calls need items that generated data does not simply have: few, alike, full, older, bound by rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from keyplan import (
    GSI,
    Entity,
    F,
    ItemKey,
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

club = Table("club", pk="PK", sk="SK", indexes=[GSI("by_end", pk="game", sk="ended_at")])
MOST = 4


@dataclass(frozen=True)
class Seat:
    """Where a player sits."""

    room: str
    place: str


@club.entity(key=key("PLAYER#{player}", "PLAYER"), version="version", volume=Volume(count=60))
class Player(Entity):
    player: str
    games: Annotated[frozenset[str], Field(max_length=MOST)] = frozenset()
    version: int = 0


@club.entity(key=key("ROOM#{room}", "{place}#{player}"), volume=Volume(count=60, distinct={"room": 5, "place": 8}))
class Sitting(Entity):
    room: str
    place: str
    player: str


@club.entity(key=key("OLD#{name}", "OLD"), volume=Volume(count=1))
class Relic(Entity):
    name: str


def _game(opening: str, status: str, **more: Any) -> dict[str, Any]:
    return {"game": "chess", "number": "1", "opening": opening, "status": status, "moves": [], "form": 2, **more}


@club.entity(
    key=key("GAME#{game}", "{number}"),
    indexes={"by_end": key(attr("game"), attr("ended_at"))},
    volume=Volume(count=100, distinct={"game": 4, "status": {"over": 0.5, "running": 0.5}}),
)
class Game(Entity):
    """A game that is over has an end, and its moves are counted; the first form had no `form`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                _game("d4", "running"),
                _game("e4", "over", ended_at="2026-01-01T00:00:00Z", moves=["e4", "e5"], count=2),
                {"game": "chess", "number": "1", "opening": "c4", "status": "running", "moves": []},
            ]
        }
    )
    game: str
    number: str
    opening: str
    status: Literal["running", "over"]
    moves: list[str]
    count: int | None = None
    ended_at: datetime | None = None
    form: Literal[2] = 2

    @model_validator(mode="before")
    @classmethod
    def _of_any_form(cls, values: Any) -> Any:
        return {**values, "form": 2} if isinstance(values, Mapping) else values

    @model_validator(mode="after")
    def _over_or_not(self) -> Self:
        if (self.status == "over") != (self.ended_at is not None) or self.count not in {None, len(self.moves)}:
            raise ValueError("a game has an end once it is over, and as many moves as are counted")
        return self


@club.delete(Relic)
def drop_relic(name: str) -> ItemWrite:
    """There is one, and ten calls."""
    return item(name=name)


@club.update(Player)
def join(player: str, games: Annotated[frozenset[str], Field(max_length=1)]) -> ItemWrite:
    """Only while there is room for one more."""
    room = F.games.missing() | (F.games.size() < MOST)
    return item(player=player).add_to_set(games=games).condition(room)


@club.update(Player)
def crowd(player: str, games: frozenset[str]) -> ItemWrite:
    """Only where it is full."""
    return item(player=player).set(games=games).condition(F.games.size() >= MOST)


@club.delete(Player)
def drop_player(player: str, version: int) -> ItemWrite:
    """Delete a player at the version that was read."""
    return item(player=player).if_version(version)


@club.delete(Sitting)
def stand_up(seat: Seat, player: str) -> ItemWrite:
    """Free a seat."""
    return item(room=seat.room, place=seat.place, player=player)


@transaction()
def leave(
    player: str, version: int, seats: Annotated[list[Seat], Field(max_length=2)]
) -> list[WriteCall[Player | None] | WriteCall[Sitting | None]]:
    """Remove a player from each seat."""
    return [drop_player(player, version), stand_up(each(seats), player)]


@club.get(Game)
def game_by_number(game: str, number: str) -> ItemKey:
    """One game."""
    return item(game=game, number=number)


@club.query(Game, index="by_end", descending=True)
def games_over(game: str) -> KeyCondition:
    """Games that are over."""
    return pk(game=game)


@club.scan(Game)
def games_of_old() -> KeyCondition:
    """Games in the first form."""
    return everything().filter(F.form.missing())


@club.scan(Sitting)
def unplaced() -> KeyCondition:
    """None: a sitting always has a place, and no example says otherwise."""
    return everything().filter(F.place.missing())


@club.replace(Game)
def upgrade_game(game: Game) -> ItemWrite:
    """Store a game of the first form in the current form."""
    return item(game).condition(F.form.missing() & (F.status == game.status))
