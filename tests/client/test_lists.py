"""Conditions that compare with as many values as a call gives."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import Field

import keyplan
from keyplan import (
    Attribute,
    Entity,
    F,
    ItemWrite,
    KeyCondition,
    Table,
    WriteCall,
    each,
    everything,
    item,
    key,
    pk,
    transaction,
)
from keyplan.client.errors import ConditionFailedError
from keyplan.client.failures import condition_text
from keyplan.design.requests.build import build
from keyplan.engine.engine import Engine


class State(Enum):
    OPEN = "open"
    HELD = "held"
    DONE = "done"


jobs = Table("jobs", pk="PK", sk="SK")


@jobs.entity(key=key("TEAM#{team}", "JOB#{number:03d}"))
class Job(Entity):
    team: str
    number: int
    state: State = State.OPEN
    state_1: str | None = None
    due_at: Annotated[datetime | None, Attribute(stored="epoch_s")] = None
    places: list[str] = Field(default_factory=list)


@jobs.batch_put(Job)
def write(new: list[Job]) -> ItemWrite:
    return item(new)


@jobs.query(Job)
def in_states(teams: list[str], states: list[State]) -> KeyCondition:
    return pk(team=each(teams)).filter(F.state.is_in(each(states)))


@jobs.count(Job)
def count_not_in(team: str, states: list[State]) -> KeyCondition:
    return pk(team=team).filter(~F.state.is_in(State.DONE, each(states)) & F.number.is_in(1, 2, 3))


@jobs.scan(Job)
def due(timestamps: list[datetime], places: list[str]) -> KeyCondition:
    return everything().filter(F.due_at.is_in(each(timestamps)) | F.places[0].is_in(each(places)))


@jobs.query(Job)
def alike(team: str, states: list[State], names: list[str], name: str) -> KeyCondition:
    return pk(team=team).filter(F.state.is_in(each(states)) & F.state_1.is_in(each(names)) & (F.state_1 == name))


@jobs.update(Job)
def finish(team: str, number: int, states: list[State]) -> ItemWrite:
    return item(team=team, number=number).set(state=State.DONE).condition(F.state.is_in(each(states)))


@transaction()
def finish_all(team: str, numbers: list[int], states: list[State]) -> list[WriteCall[Any]]:
    return [finish(team, each(numbers), states)]


@pytest.fixture
def board(engine: Engine) -> Iterator[Any]:
    with keyplan.connect(engine=engine) as db:
        db.create_tables(jobs)
        states = list(State)
        noon = datetime(2026, 5, 4, 12, 0, 0, 999, tzinfo=UTC)
        db.run(write([Job(team="a", number=number, state=states[number % 3]) for number in range(6)]))
        db.run(write([Job(team="b", number=9, state=State.HELD, due_at=noon, places=["x", "y"])]))
        yield db


def test_a_filter_accepts_as_many_values_as_the_call_passes(board: Any) -> None:
    tasks = board.run(in_states(["a", "b"], [State.HELD, State.DONE]))
    assert [(job.team, job.number) for job in tasks] == [("a", 1), ("a", 2), ("a", 4), ("a", 5), ("b", 9)]
    assert [job.number for job in board.run(in_states(["a"], [State.HELD]))] == [1, 4]
    assert board.run(count_not_in("a", [State.HELD])) == 1
    assert board.run(count_not_in("a", [State.HELD, State.OPEN, State.HELD])) == 0


def test_list_values_are_stored_like_values_of_the_field(board: Any) -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    assert [job.number for job in board.run(due([noon.replace(hour=3), noon], ["z"]))] == [9]
    assert [job.number for job in board.run(due([noon.replace(hour=3)], ["y", "x"]))] == [9]
    assert list(board.run(due([noon.replace(hour=3)], ["y"]))) == []


def test_a_write_accepts_a_list_and_its_error_shows_the_values(board: Any) -> None:
    states = [State.OPEN, State.HELD]
    assert board.run(finish("a", 1, states)).state is State.DONE
    with pytest.raises(ConditionFailedError, match=r"state\.is_in\('open', 'held'\) \(item has state 'done'\)"):
        board.run(finish("a", 1, states))
    board.run(finish_all("a", [0, 3, 4], states))
    assert [job.number for job in board.run(in_states(["a"], [State.DONE]))] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("states", "problem"),
    [
        ([], r"state is compared with 0 values of each\(states\): 1 to 100 are allowed"),
        ([State.OPEN] * 101, r"state is compared with 101 values of each\(states\): 1 to 100 are allowed"),
        ([State.OPEN, None], "state is compared with None, which equals no stored value: leave it out"),
    ],
)
def test_invalid_lists_are_rejected(board: Any, states: list[State], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        board.run(in_states(["a"], states))


def test_a_string_is_not_accepted_as_a_list(board: Any) -> None:
    with pytest.raises(TypeError, match=r"in_states\(\) expects teams as list\[str\], got str: 'ab'"):
        board.run(in_states("ab", [State.OPEN]))  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(TypeError, match=r"alike\(\) expects names as list\[str\], got str: 'ab'"):
        board.run(alike("a", [State.OPEN], "ab", "x"))  # type: ignore[arg-type]  # wrong on purpose


def test_a_hundred_values_are_accepted(board: Any) -> None:
    assert len(list(board.run(in_states(["a"], [State.OPEN] * 100)))) == 2
    with pytest.raises(ValueError, match="1 to 99 are allowed"):
        board.run(count_not_in("a", [State.OPEN] * 100))


def test_each_value_has_its_own_placeholder() -> None:
    call = alike("a", [State.OPEN, State.HELD], ["p", "q"], "r")
    request = build(call.pattern.plan, call.arguments)
    values = {name: value["S"] for name, value in request["ExpressionAttributeValues"].items()}
    assert sorted(values.values()) == ["JOB#", "TEAM#a", "held", "open", "p", "q", "r"]
    written = request["FilterExpression"]
    for name, value in request["ExpressionAttributeNames"].items():
        written = written.replace(name, value) if name == "#state_1" else written
    for name in sorted(values, key=len, reverse=True):
        written = written.replace(name, repr(values[name]))
    assert written == "#state IN ('open', 'held') AND state_1 IN ('p', 'q') AND state_1 = 'r'"


def test_the_text_of_a_condition_without_a_call_names_the_list() -> None:
    condition = finish.plan.condition
    assert condition is not None
    assert condition_text(condition) == "F.state.is_in(each(states))"
