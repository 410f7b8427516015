"""Designs verified: claims, predictions and answers held against what running them shows."""

from __future__ import annotations

import re
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.verify import bank, shop

from keyplan import Entity, F, ItemWrite, Table, Volume, WriteCall, item, transaction
from keyplan.clock import ManualClock
from keyplan.cost import units as cost_units
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine
from keyplan.verify import VerificationReport, predict, verify
from keyplan.verify.arguments import ArgumentGenerator
from keyplan.verify.generate import generators
from keyplan.verify.model import Recorder, StoredEntities
from keyplan.verify.report import PatternResult, as_json
from keyplan.verify.run import START_S, load, store
from keyplan.verify.values import ValueGenerator

AS_WRITTEN = Path(__file__).parents[2] / "examples" / "as_written"


def result(report: VerificationReport, name: str) -> PatternResult:
    return next(pattern for pattern in report.patterns if pattern.name == name)


def texts(report: VerificationReport, name: str, kind: str) -> list[str]:
    return [problem.text for problem in result(report, name).problems if problem.kind == kind]


@pytest.fixture(scope="module")
def whole() -> VerificationReport:
    return verify(Design.of(shop), items=300)


@pytest.fixture(scope="module")
def todo() -> VerificationReport:
    return verify(Design.load(str(AS_WRITTEN / "todo.py")), items=1500)


def test_a_design_without_faults_is_verified_with_every_feature(whole: VerificationReport) -> None:
    assert list(whole.problems) == []
    assert not whole.failed
    assert all(pattern.calls for pattern in whole.patterns)
    assert {pattern.operation for pattern in whole.patterns} == {
        "GetItem", "Query", "Scan", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheck",
        "BatchWriteItem", "TransactWriteItems",
    }  # fmt: skip


def test_predictions_equal_receipts_per_call_and_index(whole: VerificationReport) -> None:
    for pattern in whole.patterns:
        assert pattern.predicted == pattern.measured, pattern.name
    written = result(whole, "place").measured
    assert any("shop/by_status" in call.write for call in written)
    transactional = result(whole, "buy").measured
    assert all({"shop", "products"} <= set(call.write) for call in transactional)
    for name in ("dear_orders", "orders_by_total"):
        assert all(set(call.read) == {"shop", "shop/by_total"} for call in result(whole, name).measured), name


def test_a_call_with_a_page_size_costs_one_page(whole: VerificationReport) -> None:
    paged = result(whole, "all_by_status")
    assert paged.returned == paged.evaluated == 100  # of more, which are read to see that all are right
    assert shop.all_by_status.plan.page_size == 100
    assert result(whole, "orders_with").evaluated > 100


def test_reads_use_existing_items(whole: VerificationReport) -> None:
    for name in ("customer", "customer_with_orders", "due_between", "placed_before", "some_products"):
        assert result(whole, name).returned > 0, name


def test_the_same_seed_gives_the_same_report_and_another_does_not() -> None:
    design = Design.load(str(AS_WRITTEN / "venue_booking.py"))
    first, again, other = (verify(design, items=200, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first.patterns != other.patterns


def test_one_pattern_can_be_run_alone() -> None:
    report = verify(Design.of(shop), items=100, pattern="customer")
    assert [pattern.name for pattern in report.patterns] == ["customer"]
    with pytest.raises(KeyError):
        verify(Design.of(shop), items=100, pattern="customers")


def test_an_equality_on_a_key_prefix_returns_nothing_and_is_reported(todo: VerificationReport) -> None:
    (problem,) = texts(todo, "tasks_by_specific_status", "wrong")
    assert problem.startswith("returns 0 items, ")
    assert "user_id = " in problem
    assert "status = " in problem
    assert "(20 of 20 calls)" in problem


def test_a_between_that_loses_the_last_day_is_reported(todo: VerificationReport) -> None:
    (problem,) = texts(todo, "tasks_by_date_range", "wrong")
    assert "due_date between " in problem
    assert "all items with the last due_date of the range are missing" in problem


def test_words_sorted_alphabetically_are_reported_as_out_of_order(todo: VerificationReport) -> None:
    (problem,) = texts(todo, "tasks_by_priority", "wrong")
    assert "high, low, medium, urgent" in problem


def test_claims_are_compared_with_measurements(todo: VerificationReport) -> None:
    assert result(todo, "fetch_user").verdict == "OK"
    (few,) = texts(todo, "all_tasks", "claim")
    assert '"1-5 RCU" (access pattern table): 7.' in few
    (write,) = texts(todo, "create_task", "claim")
    assert "todo-app-data/GSI1 1" in write, "the claim forgot the indexes"
    (batch,) = texts(todo, "bulk_delete_completed", "claim")
    assert "WCU per item on average" in batch


def test_a_scan_is_judged_by_the_declared_numbers_and_not_by_the_generated_ones(
    todo: VerificationReport,
) -> None:
    (problem,) = texts(todo, "count_by_status", "claim")
    assert "73,242.5 RCU at the declared numbers" in problem
    assert any(
        judged.standing == "fails" and "572 sequential requests of 1 MB" in judged.reason
        for judged in todo.claims
        if "single-digit" in judged.claim.text
    )


def test_patterns_with_faults_are_not_run_and_the_others_are(todo: VerificationReport) -> None:
    (problem,) = texts(todo, "fetch_task_by_task_id", "not run")
    assert problem.startswith("KP301: ")
    assert result(todo, "fetch_task_by_task_id").calls == 0
    assert result(todo, "all_tasks").calls == 20


def test_a_table_with_a_fault_is_used_if_it_can_be_created_and_the_fault_reported(todo: VerificationReport) -> None:
    (table,) = todo.tables
    assert [problem.kind for problem in table.problems] == ["wrong"]
    assert table.problems[0].text.startswith("KP703: ")
    assert {name: count for name, count, _ in table.loaded}["Task"] > 1000


def test_a_table_that_cannot_be_created_is_reported_and_the_others_run() -> None:
    report = verify(Design.load(str(AS_WRITTEN / "ask_a_human.py")), items=400)
    tables = {table.name: table for table in report.tables}
    assert tables["aah-subscriptions"].problems[0].kind == "not run"
    assert "Boolean" in tables["aah-subscriptions"].problems[0].text
    assert texts(report, "notified", "not run") == ["table aah-subscriptions cannot be created"]
    assert result(report, "question_by_id").verdict == "OK"
    assert result(report, "open_questions").returned > 0


def test_a_key_that_no_item_can_have_returns_nothing_and_is_reported() -> None:
    report = verify(Design.load(str(AS_WRITTEN / "venue_booking.py")), items=400, pattern="events_by_date")
    (problem,) = texts(report, "events_by_date", "wrong")
    assert problem.startswith("returned no items in 20 calls for stored items")
    assert "none has slot = 'MORNING/AFTERNOON'" in problem


def test_claimed_prices_are_compared_with_the_price_list() -> None:
    report = verify(Design.load(str(AS_WRITTEN / "venue_booking.py")), items=100)
    actual = {judged.claim.text: judged for judged in report.claims}
    assert actual["$0.25 per million reads"].standing == "fails"
    assert "$0.125 per million" in actual["$0.25 per million reads"].reason
    assert actual["transactions across tables are not easy"].standing == "unproved"


def test_a_wrong_prediction_is_reported_as_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """The canary: were the cost model to forget a unit, verifying must say so."""

    def forgetful(*args: Any, **named: Any) -> cost_units.Units:
        actual = cost_units.page_read(*args, **named)
        return cost_units.Units(read=actual.read + 0.5)

    monkeypatch.setattr(predict, "page_read", forgetful)
    report = verify(Design.of(shop), items=100, pattern="customer_with_orders")
    (problem,) = texts(report, "customer_with_orders", "defect")
    assert "was predicted" in problem
    assert report.failed


def test_the_json_report_is_complete(todo: VerificationReport) -> None:
    report = as_json(todo)
    assert report["holds"] is False
    assert {pattern["name"] for pattern in report["patterns"]} == {pattern.name for pattern in todo.patterns}
    entry = next(pattern for pattern in report["patterns"] if pattern["name"] == "create_task")
    assert entry["predicted"] == entry["measured"]
    assert entry["measured"]["write"]["todo-app-data"] == 1.0
    assert entry["claims"][0]["standing"] == "fails"


def test_more_than_a_page_is_predicted_page_by_page(tmp_path: Path) -> None:
    path = tmp_path / "large.py"
    path.write_text(LARGE)
    report = verify(Design.load(str(path)), items=200)
    assert list(report.problems) == []
    (call,) = result(report, "everything_there").measured
    assert call.reads > 3 * 128, "several pages of 1 MB"
    assert result(report, "of_owner").measured[0].reads > 128


LARGE = """
from __future__ import annotations
from keyplan import *

files = Table("files", pk="owner", sk="name", indexes=[GSI("by_kind", pk="kind", sk="name")])

@files.entity(volume=Volume(count=200, bytes=Bytes(20_000, p99=60_000), distinct={"owner": 2, "kind": 3}))
class File(Entity):
    owner: str
    name: str
    kind: str
    content: str

@files.scan(File)
def everything_there() -> KeyCondition:
    return everything()

@files.query(File)
def of_owner(owner: str) -> KeyCondition:
    return pk(owner=owner)

@files.query(File, index="by_kind", descending=True)
def of_kind(kind: str) -> KeyCondition:
    return pk(kind=kind)
"""


def test_a_limit_that_does_not_return_the_first_items_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "scores.py"
    path.write_text(SCORES)
    report = verify(Design.load(str(path)))
    (text,) = texts(report, "best_of_player", "wrong")
    assert re.match(r"returns \d+ where points \d+ comes first \(\d+ of 20 calls\)", text), text
    assert all("returns True where done False comes first" in text for text in texts(report, "not_done", "wrong"))
    assert texts(report, "not_done", "wrong")
    assert texts(report, "lowest_word", "wrong")
    assert [result(report, name).verdict for name in ("best", "worst_two", "best_of_all", "maybe")] == ["OK"] * 4


SCORES = """
from __future__ import annotations
from typing import Literal
from keyplan import *

scores = Table("scores", pk="player", sk="game", indexes=[GSI("by_points", pk="player", sk="points")])

@scores.entity(volume=Volume(count=60, distinct={"player": 5}))
class Score(Entity):
    player: str
    game: str
    points: int
    word: Literal["low", "high"]
    done: bool
    rank: int | None = None

@scores.query(Score, limit=1, ordered_by="-points")
def best_of_player(player: str) -> KeyCondition:
    return pk(player=player)

@scores.query(Score, limit=1, ordered_by="word")
def lowest_word(player: str) -> KeyCondition:
    return pk(player=player)

@scores.query(Score, limit=1, ordered_by="done")
def not_done(player: str) -> KeyCondition:
    return pk(player=player)

@scores.query(Score, limit=1, ordered_by="rank")
def maybe(player: str) -> KeyCondition:
    return pk(player=player)

@scores.query(Score, index="by_points", limit=1, descending=True, ordered_by="-points")
def best(player: str) -> KeyCondition:
    return pk(player=player)

@scores.query(Score, index="by_points", limit=2, ordered_by="points")
def worst_two(player: str) -> KeyCondition:
    return pk(player=player)

@scores.query(Score, index="by_points", limit=3, descending=True, ordered_by="-points")
def best_of_all(players: list[str]) -> KeyCondition:
    return pk(player=each(players))
"""


def test_items_that_cannot_be_generated_are_reported_and_the_rest_runs(tmp_path: Path) -> None:
    path = tmp_path / "few.py"
    path.write_text(FEW)
    report = verify(Design.load(str(path)))
    (table,) = report.tables
    assert table.loaded == (("Flag", 2, 50), ("Note", 30, 30))
    assert [problem.kind for problem in table.problems] == ["failed"]
    assert "too few declared values" in table.problems[0].text
    assert result(report, "note").verdict == "OK"


FEW = """
from __future__ import annotations
from typing import Literal
from keyplan import *

table = Table("few", pk="PK")

@table.entity(key=key("FLAG#{name}"), volume=Volume(count=50))
class Flag(Entity):
    name: Literal["on", "off"]

@table.entity(key=key("NOTE#{note_id}"), volume=Volume(count=30))
class Note(Entity):
    note_id: str

@table.get(Note)
def note(note_id: str) -> ItemKey:
    return item(note_id=note_id)
"""


def test_a_value_with_different_names_in_parent_and_child_is_one_value() -> None:
    report = verify(Design.of(bank), items=400, pattern="whole")
    (pattern,) = report.patterns
    assert pattern.problems == ()
    assert pattern.returned > 2  # a transaction and its lines


def test_children_are_generated_for_existing_parents() -> None:
    new_generators = generators(Design.of(bank), 400, ValueGenerator(0, START_S))
    by_name = {spec.name: [entity.__dict__ for entity in maker.make_all()] for spec, maker in new_generators.items()}
    parents = {values["id"] for values in by_name["Transaction"]}
    assert {values["TransactionID"] for values in by_name["Line"]} <= parents
    assert len({values["id"] for values in by_name["Line"]}) == len(by_name["Line"])


def test_a_pattern_with_long_batches_is_called_less_often() -> None:
    entries: list[tuple[str, int, int]] = []
    report = verify(Design.of(bank), items=100, pattern="add_all", running=lambda *args: entries.append(args))
    (batch,) = report.patterns
    assert (batch.calls, batch.problems) == (1, ())
    assert batch.evaluated > 3_000
    assert entries == [("add_all", 0, 1)]


def test_no_call_starts_after_the_time_limit() -> None:
    report = verify(Design.of(bank), items=100, seconds=0)
    assert [(pattern.calls, [problem.text for problem in pattern.problems]) for pattern in report.patterns] == [
        (0, ["the time limit was reached"])
    ] * len(report.patterns)
    assert report.failed
    names = ", ".join(pattern.name for pattern in report.patterns)
    assert report.incomplete.startswith("the time limit of 0 seconds was reached; loaded ")
    assert report.incomplete.endswith(f" items; not verified: {names}")


def test_the_report_names_patterns_verified_with_fewer_or_no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    monkeypatch.setattr("keyplan.verify.run._CLOCK", clock)
    report = verify(Design.of(bank), items=100, running=lambda *_: clock.advance(1), seconds=25)
    first, second, *others = report.patterns
    assert [pattern.calls for pattern in report.patterns] == [20, 5, *(0 for _ in others)]
    assert report.incomplete == (
        f"the time limit of 25 seconds was reached; not verified: {', '.join(pattern.name for pattern in others)};"
        f" with fewer calls: {second.name} (5 of 20)"
    )
    assert (first.verdict, second.verdict, others[0].verdict) == ("OK", "OK", "not run")


def test_a_run_within_its_time_limit_is_complete() -> None:
    report = verify(Design.of(bank), items=100, seconds=3_600)
    assert (report.incomplete, report.failed) == ("", False)


def test_progress_is_reported_while_loading() -> None:
    entries: list[tuple[str, int, int]] = []
    verify(Design.of(shop), items=200, pattern="customer", progress=lambda *args: entries.append(args))
    assert entries[-1][1] <= entries[-1][2]
    assert {stage for stage, _, _ in entries} == {"Customer", "Order", "Product"}


def test_a_kept_unique_value_expires_with_its_item_and_a_released_one_is_available() -> None:
    guests = Table("guests", pk="id", ttl="until")

    @guests.entity(unique=["email", "phone"], volume=Volume(count=1))
    class Guest(Entity):
        id: str
        email: str
        phone: str
        until: datetime | None = None

    design = Design("guests", (guests,))
    (spec,) = guests.entities
    with closing(Engine.memory()) as engine:
        recorder, stock = Recorder(engine), StoredEntities([spec])
        load(design, generators(design, 1, ValueGenerator(1, 0.0)), recorder, stock, lambda *_: None)
        stored: Any
        (stored,) = stock.all(spec)
        until = datetime(2026, 1, 1, tzinfo=UTC)
        store(spec, stored.model_copy(update={"phone": "5", "until": until}), recorder, stock)
        items = engine.call("Scan", {"TableName": "guests"})["Items"]
    assert {item["id"]["S"]: item["until"]["N"] for item in items} == {
        stored.id: "1767225600",
        f"UNIQUE#Guest#email#{stored.email}": "1767225600",
        "UNIQUE#Guest#phone#5": "1767225600",
    }
    assert len(recorder.model_tables["guests"].entries(None)) == 3


counters = Table("counters", pk="id")


@counters.entity(volume=Volume(count=20))
class Counter(Entity):
    id: str
    hits: int = 0


@counters.update(Counter)
def hit(id: str) -> ItemWrite:
    return item(id=id).add(hits=1)


@counters.check(Counter)
def is_high(id: str) -> ItemWrite:
    return item(id=id).condition((F.hits > 5) & (F.hits < 5))


@transaction()
def hit_both(id: str, other: str) -> list[WriteCall[Counter]]:
    return [hit(id), hit(other)]


@transaction()
def hit_if_high(id: str, other: str) -> list[WriteCall[Any]]:
    return [hit(id), is_high(other)]


def test_a_rejected_transaction_names_its_steps_and_the_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ArgumentGenerator, "draw", lambda *_: {"id": "a", "other": "a"})
    report = verify(Design("counters", (counters,), transactions=(hit_both,)), pattern="hit_both")
    (text,) = texts(report, "hit_both", "failed")
    assert text == (
        "RequestRefusedError: hit_both: the service refused the request: multiple operations on one item:"
        " step 1 hit(id='a') and step 2 hit(id='a'): Counter id='a'"
    )


def test_a_cancelled_transaction_names_the_failed_step_and_its_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ArgumentGenerator, "draw", lambda *_: {"id": "a", "other": "b"})
    report = verify(Design("counters", (counters,), transactions=(hit_both,)), pattern="hit_both")
    (text,) = texts(report, "hit_both", "failed")
    assert text.startswith("TransactionFailedError: no write was applied: step 1 hit(id='a'): Counter id='a'")


def test_a_transaction_without_suitable_items_names_the_step() -> None:
    report = verify(Design("counters", (counters,), transactions=(hit_if_high,)))
    (text,) = texts(report, "hit_if_high", "failed")
    assert text.startswith(
        "NothingFitsError: no arguments of hit_if_high, step 2 is_high on Counter, match the generated items"
    )
