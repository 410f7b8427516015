"""Pages of agents: connect, ask, and watch answers arrive in a second window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from tests.browser import Window, Windows
from tests.systems.ask_a_human.page_site import PageSite, page_site
from tests.systems.ask_a_human.stage import CHOICE, Stage
from tests.systems.ask_a_human.test_pages import EVIL

pytestmark = pytest.mark.embedded("the pages are the same wherever the tables are")


@pytest.fixture
def site(stage: Stage, windows: Windows) -> Iterator[PageSite]:
    with page_site(stage, windows) as site:
        yield site


def connected(site: PageSite, agent: str = "agent", **options: object) -> Window:
    """Open a window that is connected as an agent."""
    secret = site.stage.agent(agent)["Authorization"].removeprefix("Bearer ")
    window = site.open("agents", **options)
    window.page.get_by_label("Agent", exact=True).fill(agent)
    window.page.get_by_label("Secret").fill(secret)
    window.page.get_by_role("button", name="Connect").click()
    expect(window.page.get_by_role("heading", name=f"Questions of {agent}")).to_be_visible()
    return window


def test_answers_appear_live_on_the_agents_page(site: PageSite) -> None:
    question = site.create_question("What should we call the new button?", min_responses=2)
    agent, person = connected(site), site.open(f"questions/{question}")
    agent.page.get_by_role("link", name="What should we call").click()
    expect(agent.page.get_by_text("Waiting for the first answer.")).to_be_visible()

    person.page.get_by_label("Your answer").fill(f"Go {EVIL}")
    person.page.locator(".confidence").get_by_text("5").click()
    person.page.get_by_role("button", name="Send answer").click()
    first = agent.page.locator(".answers li").first
    expect(first).to_contain_text('Go "><script>alert(1)</script>')
    expect(first).to_contain_text("Confidence 5 of 5")
    assert agent.page.locator("main script, main img").count() == 0

    site.stage.answer(question, "ada", answer="Start")
    expect(agent.page.locator(".answers li")).to_have_count(2)
    expect(agent.page.get_by_text("Closed")).to_be_visible()
    agent.check_accessibility()
    agent.check_layout()
    agent.screenshot("agent-question")


def test_an_agent_asks_a_choice_and_sees_its_bar_chart(site: PageSite) -> None:
    window = connected(site, scripts=False)
    page = window.page
    page.get_by_role("link", name="Ask a question").click()
    window.expected.append("422")
    page.get_by_label("Question", exact=True).fill("Which label is clearer for the last step?")
    page.get_by_label("Options").fill("Send")
    page.get_by_label("Product").check()
    page.get_by_label("Answers needed").fill("3")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#options-error")).to_be_visible()
    expect(page.get_by_label("Product")).to_be_checked()
    page.get_by_label("Options").fill("Send\nSubmit")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="Which label is clearer for the last step?")).to_be_visible()
    expect(page.get_by_role("img", name="Answers by option")).to_be_visible()
    (question,) = site.stage.client.get("/human/questions").json()["questions"]
    assert (question["options"], question["audience"]) == (["Send", "Submit"], ["product"])
    site.stage.answer(question["question_id"], "ada", selected_option=1)
    page.reload()
    expect(page.get_by_text("1 of 3 answers")).to_be_visible()


def test_a_new_agent_registers_and_sees_its_secret_once(site: PageSite) -> None:
    window = site.open("agents")
    page = window.page
    page.get_by_label("Name").fill("release-bot")
    page.get_by_role("button", name="Register").click()
    secret = page.locator("#secret").inner_text()
    assert site.stage.service.agents.authenticate("release-bot", secret)
    window.goto("agents")
    expect(page.get_by_text("No questions yet")).to_be_visible()
    expect(page.get_by_text(secret)).to_have_count(0)
    cookie = next(cookie for cookie in window.context.cookies() if cookie["name"] == "aah_agent")
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    page.get_by_role("button", name="Disconnect").click()
    expect(page.get_by_role("heading", name="Connect an agent")).to_be_visible()
    window.expected += ["409", "403"]
    page.get_by_label("Name").fill("release-bot")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_text("This name is taken.")).to_be_visible()
    page.get_by_label("Agent", exact=True).fill("release-bot")
    page.get_by_label("Secret").fill("wrong")
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_text("This secret is not valid for this agent.")).to_be_visible()


def test_a_question_of_another_agent_is_not_found(site: PageSite) -> None:
    question = site.stage.create_question(**CHOICE, agent="other")
    window = connected(site)
    window.expected.append("404")
    window.goto(f"agents/questions/{question}")
    expect(window.page.get_by_role("heading", name="Not found")).to_be_visible()


def test_the_name_of_an_agent_is_shown_as_text(site: PageSite) -> None:
    name = '"><script>alert(1)</script>'
    window = site.open("agents")
    page = window.page
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Register").click()
    expect(page.locator("code").first).to_have_text(name)
    window.goto("agents")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Questions of {name}")
    assert page.locator("main script").count() == 0
    page.get_by_role("button", name="Disconnect").click()
    window.expected.append("409")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_label("Name")).to_have_value(name)
    assert page.locator("main script").count() == 0
