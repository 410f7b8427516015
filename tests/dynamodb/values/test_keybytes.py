"""Key bytes: order, self-delimitation, partitions and segments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.dynamodb.values.keybytes import (
    HASH_SPACE,
    after_value,
    escape,
    hash_of,
    join_parts,
    partition_prefix,
    segment_bounds,
    successor,
    tie_hash,
)

NASTY = st.binary(max_size=12) | st.lists(st.sampled_from([b"\x00", b"\x01", b"\xff", b"a"]), max_size=6).map(b"".join)


@given(NASTY, NASTY)
def test_escaping_keeps_order(left: bytes, right: bytes) -> None:
    assert (escape(left) < escape(right)) == (left < right)


@given(NASTY, NASTY, NASTY, NASTY)
def test_escaped_parts_never_run_into_the_next_part(
    left: bytes, left_end: bytes, right: bytes, right_end: bytes
) -> None:
    if left < right:
        assert escape(left) + left_end < escape(right) + right_end
    if left == right:
        assert (escape(left) + left_end < escape(right) + right_end) == (left_end < right_end)


@given(NASTY, NASTY, NASTY)
def test_after_value_is_above_one_value_and_below_the_next(value: bytes, other: bytes, rest: bytes) -> None:
    bound = after_value(escape(value))
    assert escape(value) + rest < bound
    if other > value:
        assert bound < escape(other)


@given(st.lists(NASTY, min_size=1, max_size=4), st.lists(NASTY, min_size=1, max_size=4))
def test_joined_parts_are_unambiguous(left: list[bytes], right: list[bytes]) -> None:
    assert (join_parts(left) == join_parts(right)) == (left == right)


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_a_partition_contains_exactly_the_keys_with_its_prefix(part: bytes, rest: bytes) -> None:
    prefix = partition_prefix(part)
    assert prefix <= prefix + rest < successor(prefix)


@given(st.binary(min_size=1, max_size=8), st.binary(max_size=8))
def test_the_successor_is_above_every_extension(prefix: bytes, rest: bytes) -> None:
    if prefix.strip(b"\xff"):
        assert prefix + rest < successor(prefix)


@pytest.mark.parametrize("total", [1, 2, 3, 7, 1000, 1_000_000])
def test_segments_are_disjoint_and_complete(total: int) -> None:
    segments = range(total) if total <= 1000 else (0, 1, total // 2, total - 2, total - 1)
    for segment in segments:
        low, high = segment_bounds(segment, total)
        following = segment_bounds(segment + 1, total)[0] if segment + 1 < total else None
        assert high == following
        assert high is None or low < high
    assert segment_bounds(0, total)[0] == b"\x00" * 4


def test_hashes_spread_over_the_whole_space() -> None:
    hashes = [hash_of(partition_prefix(b"user#%d" % number)) for number in range(4000)]
    counts = [0] * 16
    for value in hashes:
        counts[value * 16 // HASH_SPACE] += 1
    assert min(counts) > 150
    assert max(counts) < 350


def test_equal_index_keys_have_the_order_seen_on_the_service() -> None:
    keys = [partition_prefix(pair) + other for pair, other in ((b"a", b"a"), (b"b", b"b"), (b"c", b"d"), (b"c", b"e"))]
    assert sorted(keys, key=tie_hash) == [keys[1], keys[0], keys[3], keys[2]]
