"""The Design pages in a browser: picture, item collections, patterns, findings, costs, claims and differences."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient
from tests.browser import PHONE, Window
from tests.console.load import small_design

from keyplan import connect
from keyplan.cli.designs import load_design
from keyplan.console import Console, Source, WatchedDesign
from keyplan.design.declaring.design import Design
from keyplan.diff.programs import load_isolated
from keyplan.engine.engine import Engine

ROOT = Path(__file__).parents[2]
PAGES = ("", "items", "items?index=open", "patterns", "patterns/tasks_due", "findings", "rules/KP401", "cost", "claims")
Visit = Callable[..., Window]


@pytest.fixture(scope="module")
def tasks() -> Design:
    return Design.load(str(ROOT / "examples" / "tasks.py"))


@pytest.mark.parametrize("width", [1280, PHONE])
@pytest.mark.parametrize("dark", [False, True])
def test_each_page_is_accessible_and_fits(
    visit: Visit, engine: Engine, tasks: Design, width: int, *, dark: bool
) -> None:
    window = visit(engine, design=tasks, width=width, dark=dark)
    for path in PAGES:
        window.goto(f"/console/design/{path}")
        window.check_accessibility()
        window.check_layout()
        name = path.replace("/", "-").replace("?", "-").replace("=", "-") or "picture"
        window.screenshot(f"{name}-{width}-{'dark' if dark else 'light'}")


def check_at_both_widths(window: Window, name: str) -> None:
    """Check a page that a flow leads to as in a wide window, and as on a phone."""
    for width in (1280, PHONE):
        window.page.set_viewport_size({"width": width, "height": 844})
        window.check_accessibility()
        window.check_layout()
        window.screenshot(f"{name}-{width}")


def test_pointing_at_a_pattern_shows_what_it_touches(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/")
    page.get_by_role("link", name="Pattern tasks_due, Query").hover()
    lit = page.locator("svg.design [data-row].lit")
    expect(lit).to_have_count(1)
    expect(lit).to_contain_text("OPEN#{user_id}")
    expect(page.locator("svg.design .edge.lit")).to_have_count(1)
    page.get_by_role("link", name="Pattern finish, Update").focus()
    expect(page.locator("svg.design [data-row].lit")).to_have_count(2)  # the table's and the index's


def test_pointing_at_an_entity_shows_the_patterns_that_touch_it(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/")
    page.get_by_role("link", name="Task in open").hover()
    lit = page.locator("svg.design [data-touches].lit")
    expect(lit).to_have_text([re.compile("tasks_due"), re.compile("add"), re.compile("finish"), re.compile("postpone")])


@pytest.mark.parametrize(
    "target", [str(ROOT / "examples/guide/online_shop.py"), "keyplan_systems.venue_booking.design"]
)
def test_large_designs_stay_readable(visit: Visit, engine: Engine, target: str) -> None:
    design = Design.load(target)
    window = visit(engine, design=design)
    page = window.goto("/console/design/")
    page.locator("svg.design [data-touches]").nth(5).hover()
    expect(page.locator("svg.design .edge.lit")).not_to_have_count(0)
    window.screenshot(f"console-design-{design.name}", full_page=False)
    window.check_accessibility()
    window.check_layout()
    for path in ("items", "patterns", "cost"):
        window.goto(f"/console/design/{path}")
        window.check_layout()
        window.screenshot(f"console-{path}-{design.name}", full_page=False)


def test_the_picture_leads_to_patterns_and_items_without_scripts(visit: Visit, engine: Engine, tasks: Design) -> None:
    window = visit(engine, design=tasks, scripts=False)
    page = window.goto("/console/design/")
    page.get_by_role("link", name="Pattern tasks_due, Query").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("tasks_due")
    window.goto("/console/design/").get_by_role("link", name="Items of open").click(position={"x": 20, "y": 15})
    expect(page.get_by_role("heading", level=1)).to_have_text("Item collections")
    expect(page.locator(".places [aria-current]")).to_contain_text("open")


def test_the_picture_is_also_there_as_text(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/")
    page.get_by_text("Picture as text").click()
    expect(page.locator(".as-text")).to_contain_text("tasks_due reads (Query): Task in index open")


def test_entities_are_listed_with_numbers_sizes_and_types(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/")
    row = page.get_by_role("region", name="Entities", exact=True).locator("tbody tr")
    expect(row).to_contain_text("PK = USER#{user_id}, SK = TASK#{task_id}")
    expect(row).to_contain_text("not declared")
    row.get_by_role("link", name="Task").click()
    expect(page.get_by_role("columnheader", name="title")).to_be_visible()


def test_consumers_of_streams_are_explained(visit: Visit, engine: Engine) -> None:
    window = visit(engine, design=Design.load("keyplan_systems.forum.design"))
    page = window.goto("/console/design/patterns")
    page.get_by_role("group").filter(has_text="push_watchers").locator("summary").click()
    expect(page.locator("#consumers")).to_contain_text("reads up to")
    window.check_accessibility()
    window.check_layout()


def test_generated_items_are_shown_by_collection(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/items")
    collection = page.locator("table.collections tbody").first
    expect(collection.get_by_role("rowheader")).to_contain_text("USER#")
    expect(collection.locator("tr").first).to_contain_text("TASK#")
    page.get_by_role("link", name="Task", exact=True).click()
    expect(page.get_by_role("columnheader", name="due")).to_be_visible()


def test_missing_tables_are_created_with_generated_items(visit: Visit, engine: Engine, tasks: Design) -> None:
    window = visit(engine, design=tasks)
    page = window.goto("/console/design/items")
    page.get_by_role("link", name="Stored").click()
    expect(page.get_by_role("heading", level=2)).to_contain_text("has no table app")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Create tables with generated items").click()
    expect(page.get_by_role("status").first).to_contain_text("items were written")
    expect(page.locator("table.collections tbody").first).to_contain_text("USER#")
    assert engine.call("Scan", {"TableName": "app", "Select": "COUNT"})["Count"] > 50
    window.goto("/console/design/items?index=open&from=stored")
    expect(page.locator("table.collections tbody").first).to_contain_text("OPEN#")


def test_one_stored_collection_is_queried_by_its_partition_key(visit: Visit, engine: Engine, tasks: Design) -> None:
    store(engine, tasks)
    window = visit(engine, design=tasks, scripts=False)
    page = window.goto("/console/design/items?from=stored&index=open")
    page.get_by_label("GSI1PK").fill("OPEN#ada")
    page.get_by_role("button", name="Show collection").click()
    expect(page.get_by_text("2 items in 1 collection, from one Query")).to_be_visible()
    page.get_by_label("GSI1PK").fill("OPEN#bob")
    page.get_by_role("button", name="Show collection").click()
    expect(page.get_by_text("No item has this partition key.")).to_be_visible()
    window.check_layout()
    window.goto("/console/design/items?from=stored&index=open")
    page.locator("table.collections").get_by_role("link", name="Task").last.click()
    expect(page.locator(".keyline")).to_contain_text("TASK#1")


def test_parameters_may_be_named_like_the_fields_of_the_form(visit: Visit, engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "named.py"
    path.write_text(NAMED)
    design = Design.load(str(path))
    with connect(engine=engine) as db:
        db.create_tables(*design.tables)
    page = visit(engine, design=design, scripts=False).goto("/console/design/patterns/jobs")
    page.get_by_role("textbox", name="run").fill("7")
    page.get_by_role("textbox", name="cursor").fill("x")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("No items match.")).to_be_visible()
    expect(page.get_by_role("textbox", name="run")).to_have_value("7")


NAMED = """
from keyplan import Entity, F, Table, key, pk

app = Table("named", pk="PK", sk="SK")


@app.entity(key=key("RUN#{run}", "JOB#{fill}"))
class Job(Entity):
    run: int
    fill: str
    cursor: str


@app.query(Job)
def jobs(run: int, cursor: str):
    return pk(run=run).filter(F.cursor == cursor)
"""


def test_a_missing_table_of_a_run_leads_to_its_creation(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/patterns/tasks_due?_run=yes&user_id=a&before=2030-01-01")
    page.get_by_role("link", name="Create the design's tables").click()
    expect(page.get_by_role("button", name="Create tables", exact=True)).to_be_visible()


def test_a_lost_endpoint_is_reported_and_the_design_stays_visible(visit: Visit, tasks: Design) -> None:
    window = visit(Source.endpoint_url("http://127.0.0.1:9"), design=tasks)
    window.expected.append("502")
    page = window.goto("/console/design/items?from=stored")
    expect(page.get_by_role("heading", level=1)).to_contain_text("cannot be reached")
    window.goto("/console/design/patterns/tasks_due?_run=yes&user_id=a&before=2030-01-01")
    expect(page.get_by_role("alert")).to_be_visible()
    window.goto("/console/design/")
    expect(page.locator("svg.design")).to_be_visible()


def test_pages_are_light(visit: Visit, engine: Engine, tasks: Design) -> None:
    window = visit(engine, design=tasks)
    for path in PAGES:
        page = window.goto(f"/console/design/{path}")
        page.evaluate(PAINTED)
        measured = window.weight()
        assert measured["bytes"] < 100_000
        print(f"{path or 'picture'}: {measured}")


PAINTED = """() => new Promise((resolve) => {
  const painted = () => performance.getEntriesByName("first-contentful-paint").length;
  const look = () => painted() ? resolve() : requestAnimationFrame(look);
  look();
})"""
"""Script that ends when the page is painted."""


def test_a_read_shows_items_and_measured_units_next_to_predicted_ones(
    visit: Visit, engine: Engine, tasks: Design
) -> None:
    store(engine, tasks)
    window = visit(engine, design=tasks)
    page = window.goto("/console/design/patterns/tasks_due")
    page.get_by_label("user_id").fill("ada")
    page.get_by_label("before").fill("2030-01-01")
    page.get_by_role("button", name="Run", exact=True).click()
    result = page.get_by_role("region", name="Result")
    expect(result).to_contain_text("Write the tests")
    expect(result.locator(".tile", has_text="Measured")).to_contain_text("0.5 RCU")
    expect(result.locator(".tile", has_text="Predicted")).to_contain_text("RCU")
    result.get_by_text("Query", exact=True).click()
    expect(result.locator("pre").first).to_contain_text("KeyConditionExpression")
    check_at_both_widths(window, "run-read")
    result.get_by_role("link", name="Task").last.click()
    expect(page.locator(".keyline")).to_contain_text("TASK#1")


def store(engine: Engine, design: Design) -> None:
    """Create the table of tasks and two tasks."""
    with connect(engine=engine) as db:
        db.create_tables(*design.tables)
        (spec,) = design.entities
        for number, title in enumerate(("Write the tests", "Read the screenshots")):
            due = f"2026-12-0{number + 1}"
            fields = {"user_id": "ada", "task_id": str(number), "title": title, "due": due}
            db.create(spec.model.model_validate(fields))


def test_wrong_values_are_reported_next_to_their_fields(visit: Visit, engine: Engine, tasks: Design) -> None:
    window = visit(engine, design=tasks, scripts=False)
    page = window.goto("/console/design/patterns/tasks_due?_run=yes&user_id=&before=someday")
    expect(page.locator(".field", has=page.get_by_label("user_id")).locator(".error")).to_have_text("Enter a value.")
    expect(page.locator(".field", has=page.get_by_label("before")).locator(".error")).to_contain_text("valid date")
    expect(page.get_by_role("region", name="Result")).to_have_count(0)
    window.expected.append("422")
    window.check_layout()


def test_a_write_runs_only_after_its_confirmation(visit: Visit, engine: Engine, tasks: Design) -> None:
    store(engine, tasks)
    window = visit(engine, design=tasks, scripts=False)
    page = window.goto("/console/design/patterns/finish")
    page.get_by_label("user_id").fill("ada")
    page.get_by_label("task_id").fill("0")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("This changes items in")).to_be_visible()
    expect(page.locator(".run pre")).to_contain_text("UpdateExpression")
    assert status_of_task(engine) == "open"
    window.check_layout()
    window.screenshot("confirm")
    page.get_by_role("button", name="Run UpdateItem").click()
    result = page.get_by_role("region", name="Result")
    expect(result.locator(".tile", has_text="Measured")).to_contain_text("WCU")
    assert status_of_task(engine) == "done"


def status_of_task(engine: Engine) -> str:
    """Return the stored status of the first task."""
    key = {"PK": {"S": "USER#ada"}, "SK": {"S": "TASK#0"}}
    item = engine.call("GetItem", {"TableName": "app", "Key": key})["Item"]
    return str(item["status"]["S"])


def test_an_entity_is_written_by_a_form_of_its_fields(visit: Visit, engine: Engine, tasks: Design) -> None:
    store(engine, tasks)
    page = visit(engine, design=tasks).goto("/console/design/patterns/add")
    for label, value in (("user_id", "bob"), ("task_id", "7"), ("title", "<b>Plain text</b>"), ("due", "2026-12-24")):
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("status").select_option("open")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Run PutItem").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text("<b>Plain text</b>")


def test_a_failed_condition_is_shown_with_its_request(visit: Visit, engine: Engine, tasks: Design) -> None:
    store(engine, tasks)
    window = visit(engine, design=tasks)
    page = window.goto("/console/design/patterns/finish")
    page.get_by_label("user_id").fill("nobody")
    page.get_by_label("task_id").fill("0")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Run UpdateItem").click()
    expect(page.get_by_role("alert")).to_contain_text("does not exist")
    expect(page.locator(".sent")).to_contain_text("ConditionalCheckFailedException")


def test_read_only_consoles_run_reads_but_no_writes(visit: Visit, engine: Engine, tasks: Design) -> None:
    store(engine, tasks)
    window = visit(engine, design=tasks, read_only=True)
    page = window.goto("/console/design/patterns/finish")
    expect(page.get_by_text("The console is read-only: this pattern writes")).to_be_visible()
    expect(page.get_by_role("button", name="Run")).to_have_count(0)
    window.goto("/console/design/patterns/tasks_due?_run=yes&user_id=ada&before=2030-01-01")
    expect(page.get_by_role("region", name="Result")).to_contain_text("Read the screenshots")


def test_a_form_is_filled_with_generated_values(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/patterns/tasks_due")
    page.get_by_role("link", name="Fill with generated values").click()
    expect(page.get_by_label("user_id")).not_to_have_value("")
    expect(page.get_by_label("before")).not_to_have_value("")


def test_findings_lead_to_their_pattern_and_the_page_of_their_rule(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/findings")
    finding = page.get_by_role("article").filter(has_text="postpone").first
    expect(finding).to_contain_text("Fix")
    code = finding.get_by_role("link").first.inner_text()
    finding.get_by_role("link", name=code).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(code)
    expect(page.locator(".prose")).to_contain_text("Why is this bad?")
    page.go_back()
    finding.get_by_role("link", name="postpone").click()
    expect(page.get_by_role("heading", name="Findings")).to_be_visible()


def test_sliders_change_the_estimate_as_they_move(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/cost")
    before = page.locator(".tile", has_text="Requests").inner_text()
    slider = page.get_by_role("slider", name="Load")
    slider.press("End")
    expect(page.locator(".tile", has_text="Per month")).to_contain_text("as declared $")
    expect(page.locator(".what-if output").first).to_have_text("100 \u00d7")
    assert page.locator(".tile", has_text="Requests").inner_text() != before
    assert "load=100.0" in page.url


def test_the_rate_of_a_pattern_has_a_slider_that_shows_its_share_of_the_bill(
    visit: Visit, engine: Engine, tasks: Design
) -> None:
    window = visit(engine, design=tasks)
    page = window.goto("/console/design/cost")
    page.get_by_text("Rate of each pattern").click()
    slider = page.get_by_role("slider", name="tasks_due")
    share = page.get_by_role("meter", name="Share of tasks_due in the cost of all requests")
    before = float(share.get_attribute("value") or 0)
    slider.press("End")
    expect(page.locator(".rate", has_text="tasks_due").locator("output")).to_have_text("100 \u00d7, 2,000/s")
    expect(page.locator(".tile", has_text="Per month")).to_contain_text("as declared $")
    assert float(share.get_attribute("value") or 0) > before
    assert "rate.tasks_due=100" in page.url
    slider.press("Home")
    expect(page.locator(".rate", has_text="tasks_due")).to_contain_text("$0.00 per month")
    check_at_both_widths(window, "rates")
    page.get_by_role("link", name="Reset to declared").click()
    assert page.url.endswith("/cost")


def test_a_pattern_without_a_declared_rate_can_be_given_one(visit: Visit, engine: Engine) -> None:
    design = Design.of(small_design)
    window = visit(engine, design=design, scripts=False)
    page = window.goto("/console/design/cost")
    page.get_by_text("Rate of each pattern").click()
    page.get_by_label("tasks", exact=True).select_option(label="100/s")
    page.get_by_role("button", name="Estimate").click()
    expect(page.get_by_label("tasks", exact=True)).to_have_value("100")
    expect(page.locator(".rate", has=page.get_by_label("tasks", exact=True))).not_to_contain_text("$0.00")
    window.check_layout()


def test_the_what_if_form_works_without_scripts(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks, scripts=False).goto("/console/design/cost")
    page.get_by_label("Load", exact=True).select_option(label="10 \u00d7")
    page.get_by_role("button", name="Estimate").click()
    expect(page.locator(".tile", has_text="Per month")).to_contain_text("as declared $")


def test_a_verification_shows_progress_and_then_its_report(visit: Visit, engine: Engine, tasks: Design) -> None:
    window = visit(engine, design=tasks)
    page = window.goto("/console/design/claims")
    page.get_by_label("Generated items").select_option(label="about 1,000")
    page.get_by_role("button", name="Verify").click()
    report = page.get_by_role("region", name="Measured patterns")
    expect(report).to_contain_text("tasks_due")
    expect(report).to_contain_text("RCU")
    assert engine.call("ListTables", {})["TableNames"] == [], "it never runs on the source"
    check_at_both_widths(window, "claims-report")


def test_patterns_are_filtered_and_sorted(visit: Visit, engine: Engine, tasks: Design) -> None:
    page = visit(engine, design=tasks).goto("/console/design/patterns")
    rows = page.locator("#patterns tbody tr:visible")
    page.get_by_role("button", name="Per month").click()
    costs = [float(text.replace("$", "")) for text in page.locator("#patterns tbody td:nth-child(7)").all_inner_texts()]
    assert costs == sorted(costs, reverse=True)
    page.get_by_label("Filter patterns").fill("query open")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("tasks_due")


def test_two_versions_are_compared_as_a_picture(visit: Visit, engine: Engine, tasks: Design, tmp_path: Path) -> None:
    text = (ROOT / "examples" / "tasks.py").read_text()
    old = tmp_path / "tasks.py"
    old.write_text(
        text.replace("def postpone", "def move").replace('"OPEN#{user_id}", "{due}"', '"O#{user_id}", "{due}"')
    )
    window = visit(engine, design=tasks, against={"production": Design.load(str(old))})
    page = window.goto("/console/design/compare")
    picture = page.locator("svg.design")
    expect(picture).to_contain_text("+ postpone")
    expect(picture).to_contain_text("\u2212 move")
    expect(picture).to_contain_text("~ Task")
    expect(picture).to_contain_text("~ tasks_due")
    expect(page.get_by_text("needs a backfill").first).to_be_visible()
    expect(page.get_by_role("heading", name="Roll-out")).to_be_visible()
    check_at_both_widths(window, "compare")


def test_each_of_several_designs_has_its_own_room(visit: Visit, engine: Engine, tasks: Design) -> None:
    shop = Design.load(str(ROOT / "examples" / "guide" / "online_shop.py"))
    window = visit(engine, designs={"tasks": tasks, "shop": shop})
    page = window.goto("/console/designs/tasks/design/")
    page.get_by_role("link", name="Pattern tasks_due, Query").click()
    expect(page).to_have_url(f"{window.url}/console/designs/tasks/design/patterns/tasks_due")
    page.on("dialog", lambda dialog: dialog.accept())
    window.goto("/console/designs/tasks/design/items?from=stored")
    page.get_by_role("button", name="Create tables", exact=True).click()
    expect(page).to_have_url(f"{window.url}/console/designs/tasks/design/items?from=stored")
    expect(page.get_by_role("heading", name="No items")).to_be_visible()
    assert engine.call("ListTables", {})["TableNames"] == ["app"]
    expect(window.goto("/console/designs/shop/design/").get_by_role("heading", level=1)).to_have_text("online_shop")


def test_a_changed_design_is_shown_without_a_restart(visit: Visit, engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "tasks.py"
    text = (ROOT / "examples" / "tasks.py").read_text()
    path.write_text(text)
    window = visit(engine, design=WatchedDesign(lambda: load_design(str(path), load_isolated)))
    page = window.goto("/console/design/")
    expect(page.get_by_role("link", name="Pattern tasks_due, Query")).to_be_visible()
    path.write_text(text.replace("def tasks_due", "def due_soon"))
    page.reload()
    expect(page.get_by_role("link", name="Pattern due_soon, Query")).to_be_visible()
    path.write_text(text.replace("def finish", "def finish("))
    page.reload()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The changed design cannot be loaded.")
    expect(alert).to_contain_text("is not valid Python")
    expect(page.get_by_role("link", name="Pattern due_soon, Query")).to_be_visible()
    check_at_both_widths(window, "design-with-error")
    expect(window.goto("/console/").get_by_text("The changed design cannot be loaded.")).to_be_visible()
    path.write_text(text.replace("def finish", "def close_task"))
    expect(window.goto("/console/design/patterns/close_task").get_by_role("heading", level=1)).to_have_text(
        "close_task"
    )
    expect(alert).to_have_count(0)


def test_a_changed_design_stops_the_work_on_the_previous_one(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "tasks.py"
    text = (ROOT / "examples" / "tasks.py").read_text()
    path.write_text(text)
    console = Console(Source.from_engine(engine), design=WatchedDesign(lambda: load_design(str(path), load_isolated)))
    stopped: list[str] = []
    with TestClient(console.site(), base_url="http://127.0.0.1:8001") as client:
        client.get(console.url(""))
        console.frame.stop_work = lambda: stopped.append("previous")
        path.write_text(text.replace("tasks_due", "due_soon"))
        assert "due_soon" in client.get("/console/design/patterns").text
    assert stopped == ["previous"]


def test_without_a_design_the_room_says_how_to_give_one(visit: Visit, engine: Engine) -> None:
    window = visit(engine)
    for path in ("", "items", "patterns", "findings", "cost", "claims", "compare"):
        page = window.goto(f"/console/design/{path}")
        expect(page.get_by_role("heading", level=1)).to_have_text("No design is loaded")
    window.check_accessibility()
    window.check_layout()
    window.goto("/console/design/rules/KP401")
    expect(page.get_by_role("heading", level=1)).to_contain_text("KP401")


HOSTILE = '''
"""<img src=x onerror=alert(1)> "><script>alert(2)</script>"""
from typing import Annotated, Literal
from keyplan import Attribute, Claim, Entity, GSI, Table, item, key, pk, suppress

X = '"><img src=x onerror=alert(3)>'
app = Table("hostile", pk="<b>PK", sk="'SK", indexes=[GSI("i.1", pk="G\\"PK")])
claims = [Claim('<script>alert(4)</script>', '<img src=x onerror=alert(5)>')]
suppressed = [suppress("KP807", reason="<img src=x onerror=alert(6)> three words")]


@app.entity(key=key("A#{name}", "<i>#{name}"), indexes={"i.1": key("<u>{name}")}, name="<s>Thing")
class Thing(Entity):
    name: str
    kind: Literal['"><img src=x onerror=alert(7)>', "b"] = "b"
    text: Annotated[str, Attribute("<script>a")] = '<script>alert(8)</script>'


@app.query(Thing, claims=Claim('<img src=x onerror=alert(9)>'))
def things(name: str):
    """<script>alert(10)</script><img src=x onerror=alert(11)>"""
    return pk(name=name)


@app.put(Thing)
def save(thing: Thing):
    """javascript:alert(12)"""
    return item(thing)
'''


SCRIPT = "%22%3E%3Cscript%3Ealert(15)%3C/script%3E"
HOSTILE_PATHS = (
    "", "items", "items?from=stored", "items?from=stored&entity=%3Cs%3EThing", "items?from=stored&index=i.1",
    "patterns", "patterns/things", "patterns/things?_run=yes&name=<img src=x onerror=alert(14)>", "findings", "cost",
    "claims", "compare", f"patterns/things?name={SCRIPT}", f"items?table={SCRIPT}", f"items?index={SCRIPT}",
    f"patterns/{SCRIPT}", f"rules/{SCRIPT}", f"items?from=stored&start={SCRIPT}", f"items?entity={SCRIPT}",
)  # fmt: skip


def test_hostile_texts_of_a_design_and_its_items_stay_text(visit: Visit, engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "hostile.py"
    path.write_text(HOSTILE)
    design = Design.load(str(path))
    window = visit(engine, design=design, against={'"><img src=x onerror=alert(13)>': design})
    page = window.page
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    value = "<img src=x onerror=alert(14)>"
    window.goto(f"/console/design/patterns/save?thing.name={value}")
    page.get_by_label("name").fill(value)
    with connect(engine=engine) as db:
        db.create_tables(*design.tables)
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Run PutItem").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text(value)
    key = {"<b>PK": {"S": value}, "'SK": {"S": value}}
    engine.call("PutItem", {"TableName": "hostile", "Item": {**key, value: {"M": {value: {"SS": [value]}}}}})
    for path_ in HOSTILE_PATHS:
        window.goto(f"/console/design/{path_}")
        assert page.locator("main img, main script, main b, main s, main u").count() == 0, path_
    window.expected += ["404", "400"]
