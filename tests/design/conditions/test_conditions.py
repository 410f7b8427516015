"""Conditions as they are written: joined, read, and refused where they have no meaning."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan import DesignError, F
from keyplan.design.conditions.conditions import paths_of, sources_of
from keyplan.design.parameters import Param


def test_joined_conditions_are_flat_and_list_their_paths() -> None:
    condition = (F.a == Param("x", None)) & (F.b.size() > 3) & F.c["d"].exists()
    assert len(condition.operands()) == 3
    assert [path.field for path in paths_of(condition)] == ["a", "b", "c"]
    assert [repr(source) for source in sources_of(condition)] == ["x", "3"]
    assert repr(F.c["d"][0]) == "F.c['d'][0]"


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        (lambda: F.a == None, "F.field.missing()"),  # noqa: E711 - that is the point
        (lambda: F.a != None, "F.field.exists()"),  # noqa: E711 - that is the point
        (lambda: (F.a == 1) & True, "parentheses"),  # type: ignore[operator]  # wrong on purpose
        (lambda: F.a & F.b, "parentheses"),
        (lambda: bool(F.a == 1), "&, | and ~"),
    ],
)
def test_an_invalid_condition_is_rejected_with_a_fix(wrong: Any, fix: str) -> None:
    with pytest.raises(DesignError) as caught:
        wrong()
    assert fix in caught.value.fix
    assert caught.value.place.file == __file__
