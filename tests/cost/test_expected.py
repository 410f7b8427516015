"""What a pattern is expected to cost: which share of the items an index holds."""

from __future__ import annotations

from enum import StrEnum

import pytest

from keyplan.cost.expected import expected
from keyplan.design import GSI, Bytes, Change, Entity, F, Items, Table, key, put


class Level(StrEnum):
    """What the index sorts by."""

    LOW = "low"
    HIGH = "high"


def test_only_fields_that_the_condition_reads_say_what_share_a_sparse_index_holds() -> None:
    table = Table("lessons", pk="lesson_id", indexes=[GSI("on_offer", pk="offer", sk="level_key")])

    @table.entity(
        indexes={"on_offer": key("ON", "{level:rank(low,high)}#{level}", when=F.active == True)},  # noqa: E712
        items=Items(
            count=100,
            bytes=Bytes(900),
            distinct={"level": {Level.LOW: 0.5, Level.HIGH: 0.5}, "active": {True: 0.75, False: 0.25}},
        ),
    )
    class Lesson(Entity):
        lesson_id: str
        level: Level
        active: bool

    @table.create(Lesson)
    def add(lesson: Lesson) -> Change:
        return put(lesson)

    assert expected(add).units.indexes == {"on_offer": pytest.approx(0.75)}
