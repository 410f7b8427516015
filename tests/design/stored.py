"""Models and timestamps that the tests of stored fields write and read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, NamedTuple, NewType

from hypothesis import strategies as st
from pydantic import BaseModel
from typing_extensions import TypedDict

from keyplan.design.fields.annotations import Attribute

UserId = NewType("UserId", str)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Word(StrEnum):
    YES = "yes"


class Point(NamedTuple):
    x: int
    y: int


class Shape(TypedDict):
    sides: int


class Street(BaseModel):
    name: Annotated[str, Attribute("n")]
    built: Annotated[datetime, Attribute(stored="epoch_s")] | None = None
    marks: set[str] = set()


class Town(BaseModel):
    streets: list[Street]
    main: Annotated[Street, Attribute("m")] | None = None
    names: set[str]
    by_name: dict[str, Street] = {}
    pair: tuple[str, Street]


ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-11))])
TIMESTAMPS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=ZONES)
