"""Counts of load in time buckets of bounded memory."""

from __future__ import annotations

import tracemalloc
from threading import Thread

import pytest

from keyplan.clock import ManualClock
from keyplan.console.load.recorder import OTHER, SPANS, TOTAL, LoadPart, LoadRecorder, key_text


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def recorder(clock: ManualClock) -> LoadRecorder:
    return LoadRecorder(clock)


def count(recorder: LoadRecorder, name: str = "tasks", read: float = 1.0, weight: int = 1) -> None:
    recorder.add([LoadPart(TOTAL, read), LoadPart(("pattern", name), read)], elapsed_s=0.002, weight=weight)


def test_a_request_counts_once_in_each_window(recorder: LoadRecorder, clock: ManualClock) -> None:
    count(recorder)
    clock.advance(7)
    count(recorder, read=2.0)
    for span in SPANS:
        window = recorder.window(span.name)
        assert (window.total.requests, window.total.read) == (2, 3.0), span.name
        assert window.totals("pattern")["tasks"].mean_ms == pytest.approx(2.0)


def test_old_requests_leave_the_short_window_and_stay_in_the_long_one(
    recorder: LoadRecorder, clock: ManualClock
) -> None:
    count(recorder)
    clock.advance(SPANS[0].seconds + 5)
    assert recorder.window("5m").total.requests == 0
    assert recorder.window("1h").total.requests == 1
    clock.advance(SPANS[2].seconds)
    assert recorder.window("1d").total.requests == 0


def test_a_series_has_rates_per_second_and_zeros_for_quiet_times(recorder: LoadRecorder, clock: ManualClock) -> None:
    clock.advance(-clock.now() % 5)
    count(recorder, weight=10)
    clock.advance(10)
    series = recorder.window("5m").series(("pattern", "tasks"), "requests")
    assert (len(series), series[-3:]) == (60, [2.0, 0.0, 0.0])


def test_a_sampled_request_stands_for_others(recorder: LoadRecorder) -> None:
    recorder.add([LoadPart(TOTAL, read=0.5, throttled=True)], weight=4, keys=[("app", "ada", 0.5)])
    total = recorder.window().total
    assert (total.requests, total.read, total.throttled) == (4, 2.0, 4)
    assert recorder.hottest_keys()[0][:4] == ("app", "ada", 2.0, 4)


def test_more_names_than_a_bucket_holds_count_as_others(recorder: LoadRecorder) -> None:
    for number in range(1000):
        count(recorder, f"pattern {number}")
    totals = recorder.window().totals("pattern")
    assert len(totals) <= 151
    assert totals[OTHER].requests + len(totals) - 1 == 1000


def test_the_hottest_keys_are_found_among_many_and_say_how_much_may_be_others(recorder: LoadRecorder) -> None:
    for number in range(5000):
        recorder.add([], keys=[("app", f"rare {number}", 1.0), ("app", "hot", 1.0)])
    first = recorder.hottest_keys(1)[0]
    assert (first.key, first.requests) == ("hot", 5000)
    assert first.units - first.excess <= 5000 <= first.units


def test_keys_cool_down(recorder: LoadRecorder, clock: ManualClock) -> None:
    recorder.add([], keys=[("app", "ada", 1.0)])
    clock.advance(301)
    assert [use.key for use in recorder.hottest_keys()] == ["ada"]
    clock.advance(601)
    assert recorder.hottest_keys() == []


def test_undeclared_requests_are_kept_by_form_and_the_oldest_makes_room(
    recorder: LoadRecorder, clock: ManualClock
) -> None:
    part = LoadPart(("undeclared", ""), read=1.0)
    for number in range(200):
        recorder.add_undeclared(f"Scan t{number}", "", part)
        clock.advance(1)
    forms = {use.summary for use in recorder.undeclared()}
    assert len(forms) == 150
    assert "Scan t199" in forms
    assert "Scan t0" not in forms


def test_a_day_of_requests_needs_bounded_memory(recorder: LoadRecorder, clock: ManualClock) -> None:
    def day(start: int) -> None:
        for number in range(3000):
            name = f"p{(start + number) % 500}"
            parts = [LoadPart(TOTAL, 1.0), LoadPart(("pattern", name), 1.0), LoadPart(("resource", name), 1.0)]
            recorder.add(parts, keys=[("app", f"key {start + number}", 1.0)])
            clock.advance(30)

    day(0)
    tracemalloc.start()
    day(3000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 20_000_000, "a second day replaces the first"


def test_threads_share_a_recorder_without_losing_counts(recorder: LoadRecorder, clock: ManualClock) -> None:
    def work() -> None:
        for number in range(500):
            count(recorder, f"p{number % 5}")
            recorder.add_undeclared("Scan app", "", LoadPart(("undeclared", "Scan app"), 1.0))
            if number % 100 == 0:
                recorder.window("1h")
                recorder.hottest_keys()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    clock.advance(6)
    for thread in threads:
        thread.join()
    assert recorder.window("1h").total.requests == 2000
    assert recorder.undeclared()[0].counts.requests == 2000


def test_key_text_joins_attributes() -> None:
    assert key_text([{"S": "eu"}, {"N": "7"}, {"B": b"\x01\xff"}]) == "eu · 7 · 01ff"
