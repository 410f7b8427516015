"""Pages of the trainer in a browser: scenarios, an attempt with drafts, its evaluation, profile and history."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser import DESKTOP, PHONE, Site, Window, Windows

from keyplan_systems.web.development import development_key, issue_development_token

HOSTILE = '<img src=x onerror="document.title=1"> "><script>document.title=2</script>'
ANSWER = "The neighbour remembers the late days, for example, while the company counts all lines of the city. "


@pytest.fixture(scope="module")
def site(serve: Callable[..., Site]) -> Site:
    """Return a server on which Ada has solved four scenarios, whose scores rise."""
    site = serve("thinking_trainer")
    token = issue_development_token(development_key(site.folder / "keys"), "ada", audience="keyplan")
    with httpx.Client(base_url=f"{site.url}/thinking_trainer", timeout=60) as ada:
        ada.headers["Authorization"] = f"Bearer {token}"
        for attempt in json.loads(Path(__file__).with_name("attempts_of_a_learner.json").read_text("utf-8")):
            answers = [{"questionId": f"q{n}", "answer": text} for n, text in enumerate(attempt["answers"], 1)]
            ada.post("/attempts", json={"scenarioId": attempt["scenario"], "answers": answers}).raise_for_status()
    return site


def signed_in(windows: Windows, site: Site, subject: str = "ben", path: str = "", **options: Any) -> Window:
    window = windows.open(site.url, **options)
    window.sign_in("thinking_trainer", subject, f"/thinking_trainer/app/{path}")
    return window


def open_attempt(window: Window, scenario: str = "late-bus") -> Page:
    """Start an attempt, and return its page."""
    page = window.goto(f"/thinking_trainer/app/scenarios/{scenario}")
    page.get_by_role("button", name="Start an attempt").click()
    page.get_by_role("button", name="Submit").wait_for()
    return page


def answer_all(page: Page, text: str = ANSWER * 5) -> None:
    for field in page.locator("textarea").all():
        field.fill(text)


PATHS = {
    "": "ada",
    "?difficulty=advanced": "ada",
    "profile": "ada",
    "history": "ada",
    "scenarios/late-bus": "ada",
    "scenarios/wind-turbines": "cleo",
    "attempts/{evaluated}": "ada",
    "attempts/{begun}": "ada",
    "scenarios/unknown": "ben",
    "profile?empty": "cleo",
    "history?empty": "cleo",
}
"""Pages, with the people who look at them; Cleo has no attempts."""


def test_no_page_is_left_out_of_the_checks(site: Site) -> None:
    assert site.unvisited(f"/thinking_trainer/app/{path}" for path in PATHS) == set()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("path", PATHS)
def test_pages_are_accessible_and_fit_the_window(
    windows: Windows, site: Site, path: str, width: int, dark: bool
) -> None:
    window = signed_in(windows, site, PATHS[path], width=width, dark=dark)
    window.expected.append("404")
    window.goto(f"/thinking_trainer/app/{with_ids(window, path)}")
    if path == "profile":
        window.page.reload()  # the consumer of the stream may just have stored the sample's last snapshot
    window.check_accessibility()
    window.check_layout()
    window.screenshot(f"trainer-{re.sub(r'[^a-z]+', '-', path) or 'list'}-{width}-{'dark' if dark else 'light'}")
    assert window.weight()["bytes"] < 100_000


def with_ids(window: Window, path: str) -> str:
    """Return a path with the ID of an attempt in place of its state."""
    if "{evaluated}" in path:
        page = window.goto("/thinking_trainer/app/history")
        card = page.locator('main a[href*="/attempts/"]').filter(has_text=re.compile("of 100|points")).first
        return f"attempts/{(card.get_attribute('href') or '').rpartition('/')[2]}"
    if "{begun}" in path:
        page = window.goto("/thinking_trainer/app/scenarios/speed-cameras")
        start = page.get_by_role("button", name="Start an attempt")
        (start if start.count() else page.get_by_role("link", name="Continue your attempt")).click()
        page.get_by_role("button", name="Submit").wait_for()
        return f"attempts/{page.url.rpartition('/')[2]}"
    return path


def test_scenarios_are_grouped_by_difficulty_and_filtered(windows: Windows, site: Site) -> None:
    page = signed_in(windows, site).page
    expect(page.get_by_role("heading", level=2)).to_have_text(["Beginner", "Intermediate", "Advanced"])
    expect(page.locator("main li > a.card")).to_have_count(20)
    page.get_by_role("link", name="Advanced").click()
    expect(page.get_by_role("heading", level=2)).to_have_text(["Advanced"])


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_an_attempt_is_written_submitted_and_evaluated(windows: Windows, site: Site, width: int) -> None:
    window = signed_in(windows, site, width=width)
    page = open_attempt(window)
    answer_all(page)
    expect(page.get_by_text("85 of about 110 words")).to_be_visible()
    window.check_accessibility()
    window.check_layout()
    window.screenshot(f"trainer-attempt-{width}")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("of 100")).to_be_visible()
    expect(page.get_by_role("heading", name="Humility and uncertainty")).to_be_visible()
    window.check_accessibility()
    window.check_layout()
    window.screenshot(f"trainer-result-{width}")


def test_an_attempt_is_submitted_without_javascript(windows: Windows, site: Site) -> None:
    page = open_attempt(signed_in(windows, site, scripts=False))
    answer_all(page)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("status").first).to_contain_text("evaluated")


def test_drafts_are_saved_during_writing(windows: Windows, site: Site) -> None:
    page = open_attempt(signed_in(windows, site), "dog-park")
    page.locator("textarea").first.fill(ANSWER)
    expect(page.locator("#saved")).to_contain_text("Saved at")
    page.reload()
    expect(page.locator("textarea").first).to_have_value(ANSWER.strip())
    page.goto(f"{site.url}/thinking_trainer/app/")
    expect(page.locator("a.card", has_text="Dogs, Children and a Lawn")).to_contain_text("In progress")


def test_a_draft_written_offline_is_saved_later(windows: Windows, site: Site) -> None:
    window = signed_in(windows, site)
    window.expected.append("ERR_INTERNET_DISCONNECTED")
    page = open_attempt(window, "influencer-sleep")
    window.context.set_offline(True)
    page.locator("textarea").first.fill(ANSWER)
    expect(page.locator("#saved")).to_contain_text("cannot be reached")
    window.context.set_offline(False)
    expect(page.locator("#saved")).to_contain_text("Saved at")


def test_short_answers_are_rejected_and_kept(windows: Windows, site: Site) -> None:
    window = signed_in(windows, site, scripts=False)
    window.expected.append("422")
    page = open_attempt(window, "miracle-tea")
    answer_all(page)
    page.locator("textarea").first.fill("No.")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text("question 1 has 3 characters")
    expect(page.locator("textarea").first).to_have_value("No.")
    expect(page.locator("textarea").last).to_have_value((ANSWER * 5).strip())


def test_an_abandoned_attempt_keeps_its_answers(windows: Windows, site: Site) -> None:
    page = open_attempt(signed_in(windows, site, scripts=False), "recycled-notebook")
    answer_all(page)
    page.get_by_role("button", name="Save draft").click()
    url = page.url
    page.get_by_role("button", name="Abandon").click()
    page.goto(url)
    expect(page.get_by_text("This attempt was abandoned")).to_be_visible()
    expect(page.locator(".answer")).to_have_count(3)


def test_a_submitted_attempt_in_another_window_rejects_changes(windows: Windows, site: Site) -> None:
    first = open_attempt(signed_in(windows, site, scripts=False), "shop-loyalty")
    second = signed_in(windows, site, path=first.url.partition("/app/")[2], scripts=False)
    second.expected.append("409")
    answer_all(first)
    first.get_by_role("button", name="Submit").click()
    answer_all(second.page)
    second.page.get_by_role("button", name="Save draft").click()
    expect(second.page.get_by_text("is completed: only an attempt in progress")).to_be_visible()


def test_another_persons_attempt_is_not_shown(windows: Windows, site: Site) -> None:
    path = open_attempt(signed_in(windows, site), "school-phone-ban").url.partition("/app/")[2]
    other = signed_in(windows, site, "ada")
    other.expected.append("403")
    assert other.goto(f"/thinking_trainer/app/{path}").get_by_role("heading", name="Not allowed").is_visible()


def test_the_profile_shows_trends_weaknesses_and_scenarios_that_train_them(windows: Windows, site: Site) -> None:
    page = signed_in(windows, site, "ada", "profile").page

    def has_all_attempts() -> bool:
        page.reload()
        return page.locator(".tile", has_text="Attempts").get_by_text("4", exact=True).count() == 1

    wait_until(page, has_all_attempts)
    expect(page.get_by_role("img", name="Overall average after each attempt")).to_be_visible()
    expect(page.get_by_role("img", name="Moving average by dimension")).to_be_visible()
    page.get_by_role("link", name="All scenarios that train this").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Scenarios that train")


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        page.wait_for_timeout(100)
    raise AssertionError("the condition does not hold")


def test_stored_answers_are_escaped(windows: Windows, site: Site) -> None:
    page = open_attempt(signed_in(windows, site, scripts=False), "late-bus")
    answer_all(page, HOSTILE + " " + ANSWER)
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".answer").first).to_contain_text("onerror")
    assert page.locator("img").count() == 0


def test_only_administrators_activate_scenarios(windows: Windows, site: Site) -> None:
    page = signed_in(windows, site, "cleo", "scenarios/wind-turbines").page
    page.get_by_role("button", name="Stop offering it").click()
    expect(page.get_by_text("Learners cannot start this scenario.")).to_be_visible()
    page.get_by_role("button", name="Offer it").click()
    expect(page.get_by_text("Learners can start this scenario.")).to_be_visible()
    learner = signed_in(windows, site, "ben", "scenarios/wind-turbines").page
    expect(learner.get_by_text("Administration")).to_have_count(0)
