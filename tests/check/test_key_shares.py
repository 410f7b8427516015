"""The share of load that goes to the most used key."""

from __future__ import annotations

from typing import Literal

from keyplan.check.key_shares import field_share, key_share
from keyplan.design import (
    Entity,
    Items,
    Table,
)
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
