"""Paths that cannot stand together."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.expressions.overlap import clash
from keyplan.dynamodb.expressions.resolve import ResolvedPath

steps = st.one_of(st.sampled_from("ab"), st.integers(0, 1))
paths = st.builds(lambda first, rest: (first, *rest), st.sampled_from("ab"), st.lists(steps, max_size=3))


def overlap(one: ResolvedPath, other: ResolvedPath) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def conflict(one: ResolvedPath, other: ResolvedPath) -> bool:
    for left, right in zip(one, other, strict=False):
        if isinstance(left, int) != isinstance(right, int):
            return True
        if left != right:
            return False
    return False


@given(st.lists(paths, max_size=6))
def test_the_tree_finds_what_comparing_every_pair_finds(given_paths: list[ResolvedPath]) -> None:
    pairs = list(combinations(given_paths, 2))
    problem = clash(given_paths)
    if any(overlap(*pair) for pair in pairs):
        assert problem is not None
        assert "overlap" in problem
    elif any(conflict(*pair) for pair in pairs):
        assert problem is not None
        assert "conflict" in problem
    else:
        assert problem is None


def test_a_long_list_of_paths_takes_no_quadratic_time() -> None:
    assert clash([(f"a{index}", "b") for index in range(20_000)]) is None
