"""Pages of the to-do system in a browser: lists, quick add, edits, bulk changes with undo, offline, dashboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.sync_api import APIResponse, Page, Route, expect
from tests.browser import DESKTOP, PHONE, Site, Window, Windows

from keyplan_systems.todo.quick_add import read_line
from keyplan_systems.web.development import development_key, issue_development_token

TUESDAY = date(2026, 11, 24)
HOSTILE = '<img src=x onerror="document.title=1">"><script>document.title=2</script>'


@pytest.fixture(scope="module")
def site(serve: Callable[..., Site]) -> Site:
    return serve("todo")


def as_ada(windows: Windows, site: Site, path: str = "/todo/app/", **options: Any) -> Window:
    window = windows.open(site.url, **options)
    window.sign_in("todo", "ada", path)
    return window


def add(page: Page, line: str) -> None:
    page.get_by_label("New task").fill(line)
    page.get_by_role("button", name="Add").click()


PATHS = ["", "?view=all", "?view=all&status=completed", "?view=overdue", "dashboard", "tasks/{task}", "tasks/unknown"]


def test_no_page_is_left_out_of_the_checks(site: Site) -> None:
    assert site.unvisited(f"/todo/app/{path}" for path in PATHS) == set()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("path", PATHS)
def test_pages_are_accessible_and_fit_the_window(
    windows: Windows, site: Site, path: str, width: int, dark: bool
) -> None:
    window = as_ada(windows, site, width=width, dark=dark)
    window.expected.append("404")
    task = window.page.locator(".task a").first.get_attribute("href") or ""
    window.goto(f"/todo/app/{path.replace('{task}', task.rpartition('/')[2].partition('?')[0])}")
    expect(window.page.locator("h1")).to_be_attached()
    window.check_accessibility()
    window.check_layout()
    name = re.sub(r"\W+", "-", path).strip("-") or "tasks"
    window.screenshot(f"todo-{name}-{width}-{'dark' if dark else 'light'}")
    assert window.weight()["bytes"] < 100_000


def test_a_person_without_a_session_signs_in_first_and_is_redirected_back(windows: Windows, site: Site) -> None:
    page = windows.open(site.url).goto("/todo/app/?view=all")
    page.get_by_role("button", name="Sign in as Grace").click()
    expect(page).to_have_url(f"{site.url}/todo/app/?view=all")


def test_quick_add_reads_date_priority_and_category(windows: Windows, site: Site) -> None:
    page = as_ada(windows, site).page
    add(page, "Call the plumber tomorrow !urgent #kitchen")
    row = page.locator(".task", has_text="Call the plumber")
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    expect(row).to_contain_text(f"Due {tomorrow:%d %b %Y}")
    expect(row).to_contain_text("Urgent")
    expect(row).to_contain_text("#kitchen")


def test_forms_work_without_javascript(windows: Windows, site: Site) -> None:
    page = as_ada(windows, site, scripts=False).page
    add(page, "Sort the papers in 3 days")
    expect(page.get_by_role("status").first).to_contain_text("Added “Sort the papers”")
    page.get_by_role("button", name="Complete “Sort the papers”").click()
    expect(page.locator(".task", has_text="Sort the papers")).to_have_count(0)


def test_edits_and_bulk_changes_work_without_javascript(windows: Windows, site: Site) -> None:
    page = as_ada(windows, site, scripts=False).page
    for number in (1, 2, 3):
        add(page, f"By form {number}")
    page.get_by_role("link", name="By form 3").click()
    page.get_by_label("Title").fill("By form, changed")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved")
    page.goto(f"{site.url}/todo/app/?view=all&q=By form")
    for number in (1, 2):
        page.get_by_label(f"Select “By form {number}”").check()
    page.get_by_role("button", name="Complete", exact=True).click()
    expect(page.locator(".task.done", has_text="By form")).to_have_count(2)
    page.get_by_label("Select “By form, changed”").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.goto(f"{site.url}/todo/app/?view=all&q=By form")
    expect(page.locator(".task", has_text="By form, changed")).to_have_count(0)


def test_a_completed_task_can_be_undone(windows: Windows, site: Site) -> None:
    page = as_ada(windows, site).page
    add(page, "Clean the windows")
    page.get_by_role("button", name="Complete “Clean the windows”").click()
    expect(page.locator(".task", has_text="Clean the windows")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".task", has_text="Clean the windows")).to_have_count(1)


def test_selected_tasks_are_deleted_together_unless_undone(windows: Windows, site: Site) -> None:
    page = as_ada(windows, site).page
    for number in range(2):
        add(page, f"Disposable {number}")
        page.get_by_label(f"Select “Disposable {number}”").wait_for()
    for number in range(2):
        page.get_by_label(f"Select “Disposable {number}”").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.locator(".task:visible", has_text="Disposable")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".task:visible", has_text="Disposable")).to_have_count(2)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.goto(f"{site.url}/todo/app/")  # leaving the page sends the deletion at once
    page.reload()
    expect(page.locator(".task", has_text="Disposable")).to_have_count(0)


def test_an_edit_is_saved_and_a_stale_edit_is_rejected(windows: Windows, site: Site) -> None:
    first = as_ada(windows, site).page
    add(first, "Plan the trip")
    first.get_by_role("link", name="Plan the trip").click()
    second = as_ada(windows, site, first.url.removeprefix(site.url))
    first.get_by_label("Title").fill("Plan the journey")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_role("status").first).to_contain_text("Saved")
    second.expected.append("409")
    second.page.get_by_label("Description").fill("By train")
    second.page.get_by_role("button", name="Save").click()
    expect(second.page.locator(".error")).to_contain_text("changed this task")
    expect(second.page.get_by_label("Description")).to_have_value("By train")


def test_an_error_is_shown_next_to_its_field(windows: Windows, site: Site) -> None:
    window = as_ada(windows, site)
    window.expected.append("422")
    page = window.page
    add(page, "Has a category")
    page.get_by_role("link", name="Has a category").click()
    page.get_by_label("Category").fill("a#b")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#category-error")).to_be_visible()
    expect(page.get_by_label("Category")).to_have_value("a#b")
    window.check_accessibility()


def test_changes_made_offline_are_sent_once_when_the_server_responds(windows: Windows, site: Site) -> None:
    window = as_ada(windows, site)
    page = window.page
    window.expected += ["ERR_INTERNET_DISCONNECTED"]
    window.context.set_offline(True)
    add(page, "Written offline")
    add(page, "Also written offline")
    expect(page.locator("#outbox")).to_contain_text("2 changes are saved on this device")
    window.context.set_offline(False)
    expect(page.locator(".task", has_text="ritten offline")).to_have_count(2)
    expect(page.locator("#outbox")).to_be_hidden()
    page.reload()
    expect(page.locator(".task", has_text="ritten offline")).to_have_count(2)


def test_a_request_with_a_lost_response_is_processed_once(windows: Windows, site: Site) -> None:
    window = as_ada(windows, site)
    page = window.page
    window.expected += ["ERR_FAILED"]
    lost_requests: list[APIResponse] = []

    def lose(route: Route) -> None:
        if lost_requests:
            route.continue_()
            return
        lost_requests.append(route.fetch(max_redirects=0))  # the server processes it
        route.abort()  # and its answer is lost

    page.route("**/todo/app/tasks", lose)
    add(page, "Sent twice, made once")
    expect(page.locator(".task", has_text="Sent twice")).to_have_count(1)
    page.reload()
    expect(page.locator(".task", has_text="Sent twice")).to_have_count(1)


def test_stored_text_is_escaped(windows: Windows, site: Site) -> None:
    page = as_ada(windows, site).page
    add(page, HOSTILE)
    page.locator(".task", has_text="onerror").wait_for()
    page.reload()
    page.get_by_role("link", name="onerror").first.click()
    expect(page.get_by_label("Title")).to_have_value(HOSTILE)
    page.get_by_label("Description").fill(HOSTILE)
    page.get_by_label("Category").fill('"><img src=x onerror=alert(1)>')
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved")
    for query in ("view=all", f"view=all&q={HOSTILE}&category={HOSTILE}&status={HOSTILE}"):
        page.goto(f"{site.url}/todo/app/?{query}")
        assert page.locator("main img, main script").count() == 0
    assert page.title() not in {"1", "2"}


def test_tasks_are_found_by_text_status_priority_category_and_date(windows: Windows, site: Site) -> None:
    page = as_ada(windows, site, scripts=False).page
    add(page, "Find the compass tomorrow !urgent #hiking")
    add(page, "Find the map !low #hiking")
    for query, titles in {
        "q=compass": ["Find the compass"],
        "category=hiking&priority=low": ["Find the map"],
        "category=hiking&priority=urgent&status=pending": ["Find the compass"],
        "category=hiking&status=completed": [],
    }.items():
        page.goto(f"{site.url}/todo/app/?view=all&{query}")
        expect(page.locator(".task .title")).to_have_text(titles)
    page.goto(f"{site.url}/todo/app/?view=all")
    page.get_by_label("Search").fill("the map")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator(".task .title")).to_have_text(["Find the map"])
    page.goto(f"{site.url}/todo/app/?view=week")
    expect(page.locator(".task", has_text="Find the compass")).to_have_count(1)
    expect(page.locator(".task", has_text="Find the map")).to_have_count(0)


def test_completed_tasks_are_reopened_or_deleted_together(windows: Windows, site: Site) -> None:
    grace = windows.open(site.url)
    page = grace.sign_in("todo", "grace")
    for title in ("Sweep the yard", "Rake the leaves"):
        add(page, title)
        page.get_by_role("button", name=f"Complete “{title}”").click()
        expect(page.locator(".task:visible", has_text=title)).to_have_count(0)
    page.goto(f"{site.url}/todo/app/?view=all&status=completed")
    page.get_by_label("Select “Sweep the yard”").check()
    page.get_by_role("button", name="Reopen", exact=True).click()
    expect(page.locator(".task:visible", has_text="Sweep the yard")).to_have_count(0)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete completed tasks").click()
    expect(page.get_by_role("status").first).to_contain_text("eleted")
    page.goto(f"{site.url}/todo/app/?view=all")
    expect(page.locator(".task", has_text="Rake the leaves")).to_have_count(0)
    expect(page.locator(".task", has_text="Sweep the yard")).to_have_count(1)


def test_categories_are_escaped_on_the_dashboard(windows: Windows, site: Site) -> None:
    window = as_ada(windows, site)
    page, category = window.page, "<img/src=x/onerror=alert(1)>"
    add(page, "Has a strange category")
    page.get_by_role("link", name="Has a strange category").click()
    page.get_by_label("Category").fill(category)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved")
    window.goto("/todo/app/dashboard")
    row = page.locator("tbody th", has_text=category)
    for _ in range(600):  # the lake follows within seconds
        if row.count():
            break
        page.wait_for_timeout(100)
        page.reload()
    expect(row).to_have_count(1)
    expect(page.get_by_role("img", name="New tasks per week and category")).to_contain_text(category)
    assert page.locator("main img").count() == 0
    window.check_accessibility()


def test_the_overdue_list_shows_the_samples_task(windows: Windows, site: Site) -> None:
    page = as_ada(windows, site, "/todo/app/?view=overdue").page
    expect(page.locator(".task", has_text="Return the books")).to_contain_text("Overdue")


def test_another_persons_task_is_not_found(windows: Windows, site: Site) -> None:
    page = as_ada(windows, site).page
    add(page, "Private")
    path = page.get_by_role("link", name="Private").get_attribute("href")
    grace = windows.open(site.url)
    grace.expected.append("404")
    grace.sign_in("todo", "grace")
    assert grace.goto(path or "").get_by_role("heading", name="Not found").is_visible()


def test_long_lists_grow_while_scrolling(windows: Windows, site: Site) -> None:
    token = issue_development_token(
        development_key(site.folder / "keys"), "grace", audience="keyplan", claims={"name": "Grace"}
    )
    with httpx.Client(base_url=site.url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as api:
        for number in range(70):
            task = {"title": f"Errand {number}", "category": "errands"}
            response = api.post("/todo/api/v1/tasks", json=task, headers={"Idempotency-Key": f"errand-{number}"})
            assert response.status_code == 201
    window = windows.open(site.url)
    page = window.sign_in("todo", "grace", "/todo/app/?view=all&category=errands")
    expect(page.locator(".task")).to_have_count(50)
    page.mouse.wheel(0, 20_000)
    expect(page.locator(".task")).to_have_count(70)


@pytest.mark.parametrize(
    ("line", "title", "due"),
    [
        ("Pay the rent friday", "Pay the rent", date(2026, 11, 27)),
        ("Pay the rent on tuesday", "Pay the rent", date(2026, 12, 1)),
        ("today buy milk", "buy milk", TUESDAY),
        ("Buy milk tomorrow", "Buy milk", date(2026, 11, 25)),
        ("Review in 2 weeks", "Review", date(2026, 12, 8)),
        ("Renew in a month", "Renew", date(2026, 12, 24)),
        ("Party 12 Dec", "Party", date(2026, 12, 12)),
        ("Party dec 12, 2027", "Party", date(2027, 12, 12)),
        ("Tax return 1 march", "Tax return", date(2027, 3, 1)),
        ("Party 2026-12-12", "Party", date(2026, 12, 12)),
        ("Read 12 chapters", "Read 12 chapters", None),
        ("Party 31 feb", "Party 31 feb", None),
        ("Read The Day After Tomorrowland", "Read The Day After Tomorrowland", None),
    ],
)
def test_a_line_of_text_becomes_a_task(line: str, title: str, due: date | None) -> None:
    fields = read_line(line, TUESDAY)
    assert (fields["title"], fields.get("due_date")) == (title, due)


def test_priority_and_category_may_be_anywhere_in_a_line() -> None:
    fields = read_line("!high Water #home the plants", TUESDAY)
    assert fields == {"title": "Water the plants", "priority": "high", "category": "home"}
