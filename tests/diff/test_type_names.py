"""What types are called in sentences."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from keyplan.diff.types import name_of


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (int, "int"),
        (int | None, "int"),
        (Annotated[int, "positive"], "int"),
        (int | str, "int or str"),
        (list[int], "list[int]"),
        (dict[str, int | None], "dict[str, int]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (tuple[int, str], "tuple[int, str]"),
        (Literal["a", 1], "'a', 1"),
    ],
    ids=str,
)
def test_a_type_is_called_as_a_reader_would(kind: Any, name: str) -> None:
    assert name_of(kind) == name
