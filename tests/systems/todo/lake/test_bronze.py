"""Bronze contains each event once, despite repeated deliveries by any consumer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import examples
from tests.systems.todo.lake.queries import rows, sequences
from tests.systems.todo.lake.record_history import NOON_S, History

from keyplan.clock import ManualClock
from keyplan_systems.todo.lake.errors import BadRecordError
from keyplan_systems.todo.lake.lake import Lake


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.parquet")}


def test_a_batch_becomes_one_file_of_its_date(lake: Lake, tmp_path: Path) -> None:
    history = History()
    written = lake.bronze.write([history.put_user("ann"), history.put_task("ann", "1")])
    assert (written.received, written.dropped, written.repeated, written.stored) == (2, 0, 0, 2)
    (name,) = files(tmp_path / "lake")
    assert name.startswith("bronze/date=2025-11-20/100000000000000000001-")
    table = pq.read_table(tmp_path / "lake" / name, partitioning=None)
    assert table["sequence"].to_pylist() == [f"{10**20 + 1:040d}", f"{10**20 + 2:040d}"]


def test_dates_are_the_utc_dates_of_the_events(lake: Lake) -> None:
    midnight = NOON_S + 12 * 3600
    history = History(now_s=midnight - 0.001)
    records = [history.put_user("ann")]
    history.now_s = midnight
    records.append(history.put_user("bob"))
    lake.bronze.write(records)
    actual_rows = rows(lake, "SELECT date, user_id FROM bronze.events ORDER BY ALL")
    assert actual_rows == [{"date": "2025-11-20", "user_id": "ann"}, {"date": "2025-11-21", "user_id": "bob"}]


def test_a_batch_written_again_changes_nothing(lake: Lake, tmp_path: Path) -> None:
    history = History()
    records = [history.put_task("ann", str(number)) for number in range(10)]
    lake.bronze.write(records)
    before = files(tmp_path / "lake")
    again = lake.bronze.write(records)
    assert (again.stored, again.repeated, again.version) == (0, 10, 1)
    assert files(tmp_path / "lake") == before


def test_the_same_batch_gives_the_same_file_in_another_lake(tmp_path: Path) -> None:
    history = History()
    records = [history.put_task("ann", str(number)) for number in range(10)]
    for name, batch in (("one", records), ("other", records[::-1] + records[:3])):
        Lake.open(tmp_path / name, clock=ManualClock()).bronze.write(batch)
    assert files(tmp_path / "one") == files(tmp_path / "other")


def test_only_the_new_events_of_an_overlapping_batch_are_stored(lake: Lake) -> None:
    history = History()
    records = [history.put_task("ann", str(number)) for number in range(10)]
    lake.bronze.write(records[:6])
    written = lake.bronze.write(records[4:] + records[7:9])
    assert (written.stored, written.repeated) == (4, 4)
    assert sequences(lake) == [10**20 + number for number in range(1, 11)]


def test_compacted_events_are_still_recognized(lake: Lake) -> None:
    history = History()
    records = [history.put_task("ann", str(number)) for number in range(30)]
    for at in range(0, 30, 3):
        lake.bronze.write(records[at : at + 3])
    assert lake.compact().files_after == 1
    assert lake.bronze.write(records).stored == 0


def test_events_of_two_shards_with_the_same_number_are_two_events(lake: Lake) -> None:
    lake.bronze.write([History().put_task("ann", "1")])
    assert lake.bronze.write([History().put_task("bob", "1")]).stored == 1
    assert len(sequences(lake)) == 2


def test_events_of_a_later_stream_are_new_even_if_sequence_numbers_restart(lake: Lake) -> None:
    first, second = History(stream="2025-11-19T00:00:00.000"), History(stream="2025-11-20T00:00:00.000")
    lake.bronze.write([first.put_task("ann", "1"), first.put_task("ann", "1", status="completed")])
    second.items = first.items
    assert lake.bronze.write([second.put_task("ann", "1", status="cancelled")]).stored == 1
    lake.refresh()
    assert rows(lake, "SELECT status FROM silver.tasks") == [{"status": "cancelled"}]


def test_a_batch_with_a_bad_record_stores_nothing(lake: Lake) -> None:
    history = History()
    records = [history.put_user("ann"), history.put_user("bob") | {"eventName": "?"}]
    with pytest.raises(BadRecordError, match="record 1 of the batch"):
        lake.bronze.write(records)
    assert lake.snapshot.version == 0
    assert sequences(lake) == []


def test_idempotency_items_leave_no_trace(lake: Lake, tmp_path: Path) -> None:
    history = History()
    secret = history.put("IDEMPOTENCY#ann:k", "METADATA", {"response_data": "very secret"})
    written = lake.bronze.write([secret, history.delete("IDEMPOTENCY#ann:k", "METADATA")])
    assert (written.dropped, written.stored, written.version) == (2, 0, 0)
    assert files(tmp_path / "lake") == {}


def test_an_empty_batch_stores_nothing(lake: Lake) -> None:
    assert lake.bronze.write([]).version == 0


def test_threads_that_write_overlapping_batches_store_each_event_once(lake: Lake) -> None:
    history = History()
    records = [history.put_task("ann", str(number)) for number in range(60)]
    batches = [records[at : at + 10] for at in range(0, 51, 5)] * 2
    with ThreadPoolExecutor(4) as pool:
        stored = sum(written.stored for written in pool.map(lake.bronze.write, batches))
    assert stored == 60
    assert sequences(lake) == [10**20 + number for number in range(1, 61)]


@settings(max_examples=examples(15), deadline=None)
@given(st.data())
def test_any_split_repetition_and_order_of_batches_stores_each_event_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lake = Lake.open(tmp_path_factory.mktemp("lake"), clock=ManualClock())
    history = History()
    records = [history.put_task(f"u{number % 3}", str(number % 5), title=str(number)) for number in range(12)]
    spans = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)
    batches = [records[low:high] for low, high in data.draw(st.lists(spans, max_size=6))]
    for batch in data.draw(st.permutations([*batches, records[:7], records[7:]])):
        lake.bronze.write(data.draw(st.permutations(batch)))
        if data.draw(st.booleans()):
            lake.compact(min_files=2)
    assert sequences(lake) == [10**20 + number for number in range(1, 13)]
