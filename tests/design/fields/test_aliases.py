"""Models with pydantic aliases: they are stored under the names that they go out under, and read by either."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

import keyplan
from keyplan import GSI, Attribute, DesignError, Entity, F, ItemKey, ItemWrite, KeyCondition, Table, attr, item, key, pk
from keyplan.engine.engine import Engine

CAMEL = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Step(BaseModel):
    model_config = CAMEL
    of_day: int
    seen_by: set[str] = Field(default_factory=set)


boards = Table("boards", pk="boardId", sk="SK", indexes=[GSI("by_team", pk="teamName", sk="openSteps")])


@boards.entity(key=key(attr("board_id"), "BOARD#{team_name}"), unique=("short_name",))
class Board(Entity):
    model_config = CAMEL
    board_id: str
    team_name: str
    short_name: str
    open_steps: int = 0
    first_step: Step
    steps: list[Step] = Field(default_factory=list)
    tallies: dict[str, int] = Field(default_factory=dict)
    kept_name: Annotated[str, Attribute("kept")] = "its own"


@boards.create(Board)
def add_board(new: Board) -> ItemWrite:
    return item(new)


@boards.get(Board)
def board(board_id: str, team_name: str) -> ItemKey:
    return item(board_id=board_id, team_name=team_name)


@boards.query(Board, index="by_team")
def with_day(team_name: str, of_day: int) -> KeyCondition:
    return pk(team_name=team_name).filter(F.first_step["of_day"] == of_day)


@boards.update(Board)
def work(board_id: str, team_name: str, open_steps: int, of_day: int) -> ItemWrite:
    return (
        item(board_id=board_id, team_name=team_name)
        .set(open_steps=open_steps)
        .set(F.steps[0]["of_day"], of_day)
        .add(F.tallies["works"], 1)
    )


def a_board(**fields: Any) -> Board:
    values = {
        "board_id": "b",
        "team_name": "t",
        "short_name": "s",
        "first_step": Step(of_day=1),
        "steps": [Step(of_day=2)],
    }
    return Board(**{**values, **fields})


def test_an_item_uses_the_serialization_aliases_of_its_model(engine: Engine) -> None:
    with keyplan.connect(engine=engine) as db:
        db.run(add_board(a_board(tallies={"works": 1})))
        items = engine.call("Scan", {"TableName": "boards"})["Items"]
    (item,) = [stored for stored in items if "teamName" in stored]
    assert set(item) == {
        "boardId", "SK", "teamName", "shortName", "openSteps", "firstStep", "steps", "tallies", "kept",
    }  # fmt: skip
    assert item["firstStep"] == {"M": {"ofDay": {"N": "1"}}}
    assert item["steps"] == {"L": [{"M": {"ofDay": {"N": "2"}}}]}


def test_entities_are_read_filtered_and_updated_by_field_name(engine: Engine) -> None:
    with keyplan.connect(engine=engine) as db:
        new_board = a_board(tallies={"works": 1})
        db.run(add_board(new_board))
        assert db.run(board("b", "t")) == new_board
        assert [event.board_id for event in db.run(with_day("t", 1))] == ["b"]
        assert not db.run(with_day("t", 2)).items
        worked = db.run(work("b", "t", 3, 9))
    assert (worked.open_steps, worked.steps[0].of_day, worked.tallies) == (3, 9, {"works": 2})
    assert worked.kept_name == "its own"


def test_only_a_validation_alias_is_rejected() -> None:
    table = Table("table", pk="id")
    with pytest.raises(DesignError, match=r"Read\.name has an alias, and only the alias is read") as refused:

        @table.entity()
        class Read(Entity):
            id: str
            name: str = Field(alias="Name")

    assert "populate_by_name=True" in str(refused.value)
    assert refused.value.problem.startswith("Read.name cannot be stored: ")

    class Part(BaseModel):
        label: str = Field(validation_alias=AliasChoices("label", "Label"))

    with pytest.raises(DesignError, match=r"Part\.label has an alias"):

        @table.entity()
        class Whole(Entity):
            id: str
            parts: list[Part]

    @table.entity()
    class Written(Entity):
        id: str
        name: str = Field(serialization_alias="Name")

    (spec,) = table.entities
    assert spec.fields["name"].attribute == "Name"


def test_two_fields_with_one_alias_are_rejected() -> None:
    table = Table("table", pk="id")
    with pytest.raises(DesignError, match="Name"):

        @table.entity()
        class Twice(Entity):
            id: str
            one: str = Field(serialization_alias="Name")
            two: Annotated[str, Attribute("Name")]
