"""What the Design pages compute without a browser: pictures, item collections, what-if, verification, runs."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from keyplan import connect
from keyplan.cli.designs import load_design
from keyplan.console import Source, WatchedDesign
from keyplan.console.design import collections
from keyplan.console.design.claims import Verification
from keyplan.console.design.costs import WhatIf, costs, money, rate_text
from keyplan.console.design.picture import draw, merge_panels, panels
from keyplan.console.design.running import PatternRunner
from keyplan.console.design.sample import Sample
from keyplan.cost.expected import expected
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.diff.comparison import Comparison
from keyplan.diff.programs import load_isolated
from keyplan.engine.engine import Engine

ROOT = Path(__file__).parents[2]
DESIGNS = (
    "keyplan_systems.todo.design", "keyplan_systems.forum.design", "keyplan_systems.ask_a_human.design",
    "keyplan_systems.thinking_trainer.design", "keyplan_systems.venue_booking.design",
    *(str(path) for path in sorted((ROOT / "examples" / "guide").glob("*.py"))),
)  # fmt: skip
NOW_S = 1_790_000_000.0


@pytest.fixture(scope="module")
def tasks() -> Design:
    return Design.load(str(ROOT / "examples" / "tasks.py"))


@pytest.mark.parametrize("target", DESIGNS)
def test_every_pattern_is_in_the_picture_and_each_line_ends_at_a_row(target: str) -> None:
    design = Design.load(target)
    found_panels = panels(design)
    assert {box.name for panel in found_panels for box in panel.boxes} == {pattern.name for pattern in design.patterns}
    for number, panel in enumerate(found_panels):
        picture = ElementTree.fromstring(str(draw(panel, number)))
        ids = {part.get("id") for part in picture.iter() if part.get("id")}
        touched = {place_name for part in picture.iter() for place_name in (part.get("data-touches") or "").split()}
        assert touched <= ids
        spots = {(section.key, row.name) for section in panel.sections for row in section.rows}
        assert {spot for box in panel.boxes for spot in box.touches} <= spots
        pills = [part for part in picture.iter() if (part.get("class") or "").startswith("pattern ")]
        columns: dict[str, list[float]] = {}
        for pill in pills:
            columns.setdefault(str(pill.get("x")), []).append(float(str(pill.get("y"))))
        for places in columns.values():
            places.sort()
            assert all(below - above >= 30 for above, below in pairwise(places)), "no overlap"
        assert all(float(str(pill.get("y"))) >= 0 for pill in pills)


def test_a_write_touches_the_indexes_that_it_changes(tasks: Design) -> None:
    (panel,) = panels(tasks)
    finish = next(box for box in panel.boxes if box.name == "finish")
    assert finish.links == (("", "Task"),)
    assert finish.touches == {("", "Task"), ("open", "Task")}
    assert [box.name for box in panel.readers("open")] == ["tasks_due"]


def test_equal_versions_have_no_marks(tasks: Design) -> None:
    assert [panel.mark for panel in merge_panels(panels(tasks), panels(tasks))] == [""]


def test_changes_that_the_picture_does_not_show_are_marked(tasks: Design, tmp_path: Path) -> None:
    text = (ROOT / "examples" / "tasks.py").read_text()
    changed = text.replace("    due: date\n", "    due: date\n    note: str | None = None\n", 1)
    changed = changed.replace("Rate(average=5)", "Rate(average=50)", 1)
    path = tmp_path / "tasks_with_notes.py"
    path.write_text(changed)
    comparison = Comparison(tasks, Design.load(str(path)), book())
    (panel,) = merge_panels(panels(comparison.old), panels(comparison.new), comparison.changes)
    rows = {(section.key, row.name): row.mark for section in panel.sections for row in section.rows}
    assert rows == {("", "Task"): "changed", ("open", "Task"): ""}
    assert [box.mark for box in panel.boxes].count("changed") == 1


def test_added_and_removed_tables_are_marked_as_a_whole(tasks: Design) -> None:
    other = panels(Design.load(str(ROOT / "examples" / "guide" / "device_status.py")))
    added, removed = merge_panels(panels(tasks), other)
    assert (added.mark, removed.mark) == ("added", "removed")
    assert {row.mark for section in removed.sections for row in section.rows} == {"removed"}


@pytest.mark.parametrize("target", DESIGNS)
def test_generated_items_fill_the_collections_of_every_table_and_index(target: str) -> None:
    design = Design.load(target)
    sample = Sample(design, NOW_S, items=100)
    assert not sample.problems
    for table in design.tables:
        entities = collections.EntityFinder(table.entities)
        for index in (None, *table.schema.indexes):
            entries = collections.entries(table.schema, index, sample.items(table))
            found_collections = collections.collections(table.schema, index, entries, entities)
            named = {row.entity for collection in found_collections for row in collection.rows}
            expected_entities = {spec.name for spec in table.entities if spec.key_in(index) is not None}
            assert named - {"unique value"} <= expected_entities
            keys = [tuple(part.text for part in collection.partition) for collection in found_collections]
            assert len(keys) == len(set(keys)), "each collection is shown once"


def test_values_are_shown_by_their_type_and_long_ones_are_cut() -> None:
    cell = collections.cell
    assert cell("a", {"BOOL": True}).text == "true"
    assert cell("a", {"NULL": True}).text == "null"
    assert cell("a", {"B": b"\0\1"}).text == "AAE="
    assert cell("a", {"SS": ["x", "y"]}).text == '["x","y"]'
    assert cell("a", {"M": {"n": {"L": [{"N": "1"}, {"BOOL": False}]}}}).text == '{"n":["1",false]}'
    long = cell("a", {"S": "x" * 1_000})
    assert (len(long.text), len(long.tooltip)) == (65, 600)


def test_a_what_if_reads_only_the_offered_factors(tasks: Design) -> None:
    query = {"load": "10.0", "items": "1e9", "size": "much", "rate.add": "3", "rate.none": "2", "rate.finish": "nan"}
    assert WhatIf.from_query(query, tasks) == WhatIf(load=10.0)
    assert WhatIf.from_query({"rate.add": "2", "rate.finish": "0"}, tasks).rates == (("add", 2.0), ("finish", 0.0))
    assert WhatIf().is_declared


def test_a_larger_load_costs_more_and_the_declared_estimate_stays(tasks: Design) -> None:
    declared, larger = (costs(tasks, book(), what) for what in (WhatIf(), WhatIf(load=10.0, items=10.0)))
    assert larger.month.total == pytest.approx(10 * declared.month.total, rel=0.01)
    assert larger.declared.total == declared.month.total


def test_the_rate_of_one_pattern_changes_its_price_and_its_share(tasks: Design) -> None:
    month = costs(tasks, book(), WhatIf(load=2.0, rates=(("tasks_due", 10.0), ("finish", 0.0))))
    rates = {choice.name: choice for choice in month.rates}
    declared = {cost.name: cost.requests for cost in month.declared.patterns}
    assert rates["tasks_due"].cost == pytest.approx(20 * declared["tasks_due"])
    assert rates["add"].cost == pytest.approx(2 * declared["add"])
    assert (rates["finish"].cost, rates["finish"].value) == (0.0, "0")
    assert sum(choice.share for choice in rates.values()) == pytest.approx(1)
    assert dict(rates["tasks_due"].options)["10"] == "10 \u00d7, 200/s"


@pytest.mark.parametrize(
    ("rate", "text"),
    [(2000, "2,000/s"), (1.5, "1.5/s"), (0.1, "6/minute"), (0.01, "36/hour"), (1e-5, "26.3/month"), (0, "0/month")],
)
def test_low_rates_are_shown_per_a_longer_time(rate: float, text: str) -> None:
    assert rate_text(rate) == text


def test_items_that_a_scan_returns_apart_are_one_collection(tasks: Design) -> None:
    (table,) = tasks.tables
    items = [{"PK": {"S": user}, "SK": {"S": f"TASK#{number}"}} for number in range(2) for user in ("a", "b")]
    found_collections = collections.collections(table.schema, None, items, collections.EntityFinder(table.entities))
    assert [(collection.partition[0].text, len(collection.rows)) for collection in found_collections] == [
        ("a", 2),
        ("b", 2),
    ]


def test_a_design_is_loaded_again_only_if_a_file_of_it_has_changed(tmp_path: Path) -> None:
    folder = tmp_path / "watched_shop"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "names.py").write_text('NAME = "app"\n')
    path = folder / "design.py"
    path.write_text(WATCHED)
    watched = WatchedDesign(lambda: load_design(str(path), load_isolated))
    used: list[str] = []

    def refresh() -> None:
        watched.refresh(lambda design: used.append(design.tables[0].name))

    refresh()
    assert (used, watched.problem) == ([], "")
    (folder / "names.py").write_text('NAME = "shop"\n')
    refresh()
    refresh()
    assert used == ["shop"]
    path.write_text(WATCHED.replace("names", "words"))
    refresh()
    assert "cannot be imported" in watched.problem
    assert watched.design.tables[0].name == "shop", "the previous design stays usable"
    (folder / "words.py").write_text('NAME = "words"\n')
    refresh()
    assert (used, watched.problem) == (["shop", "words"], "")
    path.unlink()
    refresh()
    assert "file not found" in watched.problem


WATCHED = """
from keyplan import Entity, Table, key
from watched_shop.names import NAME

app = Table(NAME, pk="PK", sk="SK")


@app.entity(key=key("A#{name}", "B"))
class Thing(Entity):
    name: str
"""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "$0.00"),
        (1234.5, "$1,234.50"),
        (0.00123, "$0.0012"),
        (2e-7, "$2.0e-07"),
        (4.4e-16, "$0.00"),
        (-30.06, "-$30.06"),
    ],
)
def test_small_amounts_keep_their_first_digits(value: float, text: str) -> None:
    assert money(value) == text


def test_a_verification_can_be_stopped_and_started_again(tasks: Design) -> None:
    reached, goes_on = threading.Event(), threading.Event()

    def run(design: Design, *, progress: Any, running: Any, **_options: Any) -> Any:
        running("tasks_due", 1, 20)
        reached.set()
        goes_on.wait(30)
        running("tasks_due", 2, 20)
        return "report"

    verification = Verification(tasks, book(), run)
    assert verification.start(400)
    assert reached.wait(30)
    assert not verification.start(400), "one run at a time"
    assert (verification.progress.state, verification.progress.activity) == ("running", "running tasks_due")
    verification.stop()
    goes_on.set()
    verification.wait(30)
    assert str(verification.progress.state) == "stopped"
    assert verification.start(400)
    verification.wait(30)
    assert str(verification.progress.state) == "done"
    assert str(verification.report) == "report"


def test_an_error_of_a_verification_is_kept(tasks: Design) -> None:
    def run(design: Design, **_options: Any) -> Any:
        raise ZeroDivisionError("of the design")

    verification = Verification(tasks, book(), run)
    verification.start(400)
    verification.wait(30)
    assert (verification.progress.state, verification.progress.error) == ("failed", "ZeroDivisionError: of the design")


@pytest.mark.parametrize("target", DESIGNS)
def test_every_pattern_runs_on_its_generated_items_or_says_why_not(target: str) -> None:
    design = Design.load(target)
    with Engine.memory() as engine:
        source = Source.from_engine(engine)
        sample = Sample(design, NOW_S, items=100)
        assert sample.store(design, source) > 0
        runner = PatternRunner(source, book(), b"key")
        for pattern in design.patterns:
            rehearsed = runner.run(pattern, sample.arguments(pattern), expected(pattern), rehearses=True)
            assert not rehearsed.error, (pattern.name, rehearsed.error)
            assert rehearsed.is_complete is pattern.plan.reading, pattern.name
            assert all(request.text for request in rehearsed.requests)


def test_a_rehearsal_writes_nothing_and_the_run_has_a_receipt(tasks: Design) -> None:
    with Engine.memory() as engine, connect(engine=engine) as db:
        db.create_tables(*tasks.tables)
        (spec,) = tasks.entities
        task = spec.model.model_validate({"user_id": "a", "task_id": "1", "title": "t", "due": "2026-01-01"})
        runner = PatternRunner(Source.from_engine(engine), book(), b"key")
        pattern = tasks.pattern("add")
        rehearsed = runner.run(pattern, {"task": task}, expected(pattern), rehearses=True)
        assert [request.operation for request in rehearsed.requests] == ["PutItem"]
        assert engine.call("Scan", {"TableName": "app"})["Count"] == 0
        outcome = runner.run(pattern, {"task": task}, expected(pattern))
        assert outcome.consumed.write == {"app": 1.0, "app/open": 1.0}
        assert outcome.cost == pytest.approx(2 * book()["write_unit"])
        again = runner.run(pattern, {"task": task}, expected(pattern))
        assert "exists" in again.error
        assert again.requests[-1].error.startswith("ConditionalCheckFailedException")
