"""How large and how deep values can get by their types."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from keyplan.check.declared_sizes import is_recursive, max_bytes, nesting


class Answer(BaseModel):
    text: Annotated[str, Field(max_length=10)]


class Comment(BaseModel):
    text: str
    replies: list[Comment] = []


class Pair(BaseModel):
    left: Answer
    right: list[list[Answer]]


@pytest.mark.parametrize(
    ("annotation", "most"),
    [
        (Annotated[str, Field(max_length=10)], 40),
        (Literal["a", "longer"], 6),
        (Annotated[bytes, Field(max_length=7)], 7),
        (Answer, 3 + len("text") + 40 + 1),
        (Annotated[list[Literal["ab"]], Field(max_length=5)], 3 + 5 * 3),
    ],
    ids=str,
)
def test_bounded_types_have_a_maximum_size(annotation: Any, most: int) -> None:
    assert max_bytes(annotation) == most


@pytest.mark.parametrize("annotation", [str, list[int], dict[str, int], Comment, list[Answer], bytes], ids=str)
def test_unbounded_types_have_no_maximum_size(annotation: Any) -> None:
    assert max_bytes(annotation) is None


@pytest.mark.parametrize(
    ("annotation", "levels"),
    [(str, 0), (UUID | None, 0), (list[str], 1), (dict[str, list[int]], 2), (Answer, 1), (Pair, 4), (Comment, None)],
    ids=str,
)
def test_nesting_levels_are_counted_through_models(annotation: Any, levels: int | None) -> None:
    assert nesting(annotation) == levels


def test_a_model_that_contains_itself_is_recursive() -> None:
    assert is_recursive(Comment)
    assert not is_recursive(Pair)
