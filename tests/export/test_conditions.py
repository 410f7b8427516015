"""Conditions in words."""

from __future__ import annotations

from enum import StrEnum

from keyplan.design import F
from keyplan.export.conditions import condition


class State(StrEnum):
    """Of a thing."""

    DONE = "done"


def test_a_member_of_an_enumeration_is_shown_as_it_is_stored() -> None:
    assert condition(F.state == State.DONE) == condition(F.state == "done") == "state = 'done'"
