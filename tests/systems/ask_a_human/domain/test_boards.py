"""Leaderboards: periods, the order of sort keys and exact ranks."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.ask_a_human.builders import NOON, PERSON, at, facts

from keyplan_systems.ask_a_human.domain import boards, timestamps
from keyplan_systems.ask_a_human.domain.boards import Period, Row
from keyplan_systems.ask_a_human.domain.scoring import apply_answer, new_stats

people = st.text("0123456789abcdef", min_size=64, max_size=64)
rows = st.builds(
    Row,
    people,
    st.integers(0, 3000) | st.integers(0, 9_999_999_999),
    st.integers(1, 9),
    st.integers(0, 9_999_999_999_999),
)
crowds = st.lists(rows, min_size=1, max_size=60, unique_by=lambda row: row.fingerprint_hash)


def ordered(crowd: list[Row]) -> list[Row]:
    """Return the required order of a board, computed without keys."""
    return sorted(crowd, key=lambda row: (-row.points, row.reached_at_ms, row.fingerprint_hash))


def in_shards(crowd: list[Row]) -> list[list[Row]]:
    shards: list[list[Row]] = [[] for _ in range(boards.SHARDS)]
    for row in crowd:
        shards[boards.shard(row.fingerprint_hash)].append(row)
    return [sorted(shard, key=lambda row: row.sort_key) for shard in shards]


@given(crowds)
def test_sort_keys_order_by_descending_points_then_by_time(crowd: list[Row]) -> None:
    assert sorted(crowd, key=lambda row: row.sort_key) == ordered(crowd)


@given(rows)
def test_a_sort_key_can_be_parsed_and_has_a_fixed_width(row: Row) -> None:
    assert boards.parse_sort_key(row.sort_key) == (row.points, row.reached_at_ms, row.fingerprint_hash)
    assert len(row.sort_key) == 10 + 1 + 13 + 1 + 64


@pytest.mark.parametrize(("points", "at_ms"), [(-1, 0), (10_000_000_000, 0), (0, -1), (0, 10_000_000_000_000)])
def test_values_that_would_not_sort_are_rejected(points: int, at_ms: int) -> None:
    with pytest.raises(ValueError, match="a leaderboard row cannot store"):
        boards.sort_key(points, at_ms, PERSON)


@given(crowds)
def test_the_rank_by_buckets_equals_the_position_on_the_whole_board(crowd: list[Row]) -> None:
    shards = in_shards(crowd)
    histograms = [Counter(boards.bucket(row.points) for row in shard) for shard in shards]
    for place, own in enumerate(ordered(crowd), start=1):
        low, high = boards.better_range(own)
        better = sum(low <= row.sort_key <= high for shard in shards for row in shard)
        assert boards.rank(histograms, own, better) == place


def test_the_person_who_reached_the_score_first_ranks_higher() -> None:
    late, early = Row("a" * 64, 50, 9, NOON + 1), Row("b" * 64, 50, 1, NOON)
    entries = boards.entries(sorted([late, early], key=lambda row: row.sort_key), caller="a" * 64)
    assert [(entry.rank, entry.answers, entry.is_current_user) for entry in entries] == [(1, 1, False), (2, 9, True)]


@given(st.integers(0, 9_999_999_998))
def test_buckets_increase_with_points_and_know_their_highest_score(points: int) -> None:
    number = boards.bucket(points)
    assert boards.bucket(points + 1) in {number, number + 1}
    highest = boards.bucket_highest(number)
    assert points <= highest
    assert boards.bucket(highest) == number
    assert boards.bucket(highest + 1) == number + 1


def test_the_scores_of_a_day_fit_21_buckets_and_all_scores_fewer_than_250() -> None:
    assert boards.bucket(500) == 20
    assert boards.bucket(9_999_999_999) < 250


@given(st.none() | st.integers(0, 10**6), st.integers(0, 10**6))
def test_bucket_moves_keep_a_histogram_correct(before: int | None, after: int) -> None:
    histogram = Counter({boards.bucket(before): 1} if before is not None else {})
    histogram.update(boards.bucket_moves(before, after))
    assert {number: count for number, count in histogram.items() if count} == {boards.bucket(after): 1}


@pytest.mark.parametrize(
    ("time", "daily", "weekly"),
    [
        ("2026-02-01T23:59:59.999", "DAILY#2026-02-01", "WEEKLY#2026-01-26"),
        ("2026-02-02T00:00:00", "DAILY#2026-02-02", "WEEKLY#2026-02-02"),
        ("2026-02-08T23:59:59.999", "DAILY#2026-02-08", "WEEKLY#2026-02-02"),
        ("2026-12-31T12:00:00", "DAILY#2026-12-31", "WEEKLY#2026-12-28"),
        ("2027-01-01T00:00:00", "DAILY#2027-01-01", "WEEKLY#2026-12-28"),
    ],
)
def test_boards_change_at_midnight_and_on_mondays_in_utc(time: str, daily: str, weekly: str) -> None:
    assert boards.period_key(Period.DAILY, at(time)) == daily
    assert boards.period_key(Period.WEEKLY, at(time)) == weekly
    assert boards.period_key(Period.ALL_TIME, at(time)) == "ALL_TIME"


@given(st.integers(0, 4_000_000_000_000))
def test_rows_outlive_their_period_by_two_days(now_ms: int) -> None:
    for period, days in ((Period.DAILY, 1), (Period.WEEKLY, 7)):
        ttl_s = boards.ttl_s(period, now_ms)
        assert ttl_s is not None
        end_s = ttl_s - 2 * 86_400
        assert now_ms < end_s * 1000 <= now_ms + days * 86_400_000
        assert boards.period_key(period, end_s * 1000 - 1) == boards.period_key(period, now_ms)
        assert boards.period_key(period, end_s * 1000) != boards.period_key(period, now_ms)
    assert boards.ttl_s(Period.ALL_TIME, now_ms) is None


def test_a_row_has_the_points_of_its_period_and_the_time_of_the_last_points() -> None:
    sunday, monday = at("2026-02-08T12:00:00"), at("2026-02-09T12:00:00")
    stats = new_stats(PERSON, 0)
    for now_ms in (sunday, sunday + 1, monday):
        stats = apply_answer(stats, facts(), now_ms).stats
    assert boards.row(stats, Period.DAILY, monday) == Row(PERSON, 10, 1, monday)
    assert boards.row(stats, Period.WEEKLY, monday) == Row(PERSON, 10, 1, monday)
    assert boards.row(stats, Period.ALL_TIME, monday) == Row(PERSON, 30, 3, monday)


def test_shards_are_stable_and_distribute_people_evenly() -> None:
    counts = Counter(boards.shard(f"{number:064x}") for number in range(8_000))
    assert set(counts) == set(range(boards.SHARDS))
    assert all(850 < count < 1150 for count in counts.values())
    assert boards.partitions("ALL_TIME") == tuple(f"ALL_TIME#{number:02d}" for number in range(8))
    assert timestamps.utc_day(NOON).isoformat() == "2026-02-02"
