"""Pages as an installed app: manifest, cached shell, answers that wait for the network and are stored once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser import Windows
from tests.systems.ask_a_human.page_site import PageSite, page_site
from tests.systems.ask_a_human.stage import Stage

pytestmark = pytest.mark.embedded("the pages are the same wherever the tables are")
OFFLINE = ("ERR_INTERNET_DISCONNECTED", "ERR_FAILED")


@pytest.fixture
def site(stage: Stage, windows: Windows) -> Iterator[PageSite]:
    with page_site(stage, windows) as site:
        yield site


def installed(site: PageSite, path: str = "") -> Page:
    """Open a window whose service worker controls its pages."""
    window = site.open(path)
    window.expected += OFFLINE
    page: Page = window.page
    page.evaluate("navigator.serviceWorker.ready")
    page.wait_for_function("navigator.serviceWorker.controller !== null")
    return page


def wait_until_kept(page: Page, question: str) -> None:
    """Wait until a question can be opened offline."""
    path = f"/ask_a_human/app/questions/{question}"
    page.wait_for_function("async (path) => Boolean(await caches.match(location.origin + path))", arg=path)


def test_the_app_can_be_installed(site: PageSite) -> None:
    page = installed(site)
    manifest_url = page.locator('link[rel="manifest"]').get_attribute("href")
    manifest = page.request.get(f"{site.url}{manifest_url}").json()
    assert manifest["display"] == "standalone"
    assert manifest["start_url"] == manifest["scope"] == "/ask_a_human/app/"
    assert {icon["sizes"] for icon in manifest["icons"]} == {"192x192", "512x512"}
    for icon in manifest["icons"]:
        response = page.request.get(f"{site.url}{icon['src']}")
        assert response.headers["content-type"] == "image/png"
    session = page.context.new_cdp_session(page)
    errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [error["errorId"] for error in errors if error["errorId"] != "in-incognito"] == []


def test_an_answer_given_offline_is_sent_once_later(site: PageSite) -> None:
    question = site.create_question("What do you think of on a train without network?", min_responses=3)
    page = installed(site)
    page.reload()
    wait_until_kept(page, question)

    page.context.set_offline(True)
    page.goto(f"{site.url}/ask_a_human/app/")
    page.get_by_role("link", name="What do you think of").click()
    page.get_by_label("Your answer").fill("Of the next station.")
    page.locator(".confidence").get_by_text("3").click()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_role("heading", name="Your answer is saved on this device")).to_be_visible()
    page.get_by_role("link", name="Back to the questions").click()
    expect(page.get_by_text("1 answer waits on this device")).to_be_visible()
    assert site.stage.poll(question)["current_responses"] == 0

    page.context.set_offline(False)
    expect(page.get_by_text("Your saved answer was sent: +17 points.")).to_be_visible()
    expect(page.locator("#queued")).to_be_hidden()
    assert site.stage.poll(question)["responses"] == [{"answer": "Of the next station.", "confidence": 3}]
    page.reload()
    expect(page.locator("#feed a.answered")).to_have_count(1)


def test_an_answer_with_a_lost_reply_counts_once(site: PageSite) -> None:
    question = site.create_question("What was the reply that never arrived?", min_responses=3)
    window = site.open(f"questions/{question}", service_workers="block")
    window.expected += OFFLINE
    page = window.page

    def lose(route: Route) -> None:
        """Let the server store the answer, and lose its reply."""
        if route.request.method == "POST":
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/questions/*", lose)
    page.get_by_label("Your answer").fill("This one, perhaps.")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_role("heading", name="Your answer is saved on this device")).to_be_visible()
    assert site.stage.poll(question)["current_responses"] == 1
    page.unroute("**/questions/*")
    window.goto("")
    expect(page.get_by_text("Your saved answer was sent: +15 points.")).to_be_visible()
    assert site.stage.poll(question)["current_responses"] == 1
    window.goto("you")
    expect(page.locator(".tile", has_text="Points").first).to_contain_text("15")


def test_a_question_closed_in_the_meantime_is_reported_and_leaves_the_queue(site: PageSite) -> None:
    question = site.create_question("Who comes late?", min_responses=1)
    page = installed(site, f"questions/{question}")
    page.context.set_offline(True)
    page.get_by_label("Your answer").fill("Me, probably.")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_role("heading", name="Your answer is saved on this device")).to_be_visible()
    site.stage.answer(question, "ada")
    site.windows._open[-1].expected.append("410")
    page.context.set_offline(False)
    expect(page.get_by_text("Your answer came too late: the question has ended.")).to_be_visible()
    assert json.loads(page.evaluate("localStorage.getItem('aah-outbox')")) == []


def test_a_page_that_was_never_opened_reports_the_missing_network(site: PageSite) -> None:
    page = installed(site)
    page.context.set_offline(True)
    page.goto(f"{site.url}/ask_a_human/app/agents")
    expect(page.get_by_role("heading", name="You are offline")).to_be_visible()
    font: Any = page.evaluate("getComputedStyle(document.body).fontFamily")
    assert "system-ui" in font, "the styles are cached too"
