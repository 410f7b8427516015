"""Pages of people in a browser: questions, answers, confirmation, states, statistics, leaderboards."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect
from tests.browser import DESKTOP, PHONE, Site, Windows
from tests.systems.ask_a_human.page_site import PageSite, page_site
from tests.systems.ask_a_human.stage import CHOICE, Stage

from keyplan.clock import ManualClock
from keyplan_systems.ask_a_human.domain import scoring

pytestmark = pytest.mark.embedded("the pages are the same wherever the tables are")
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)> javascript:alert(3)'


@pytest.fixture
def site(stage: Stage, windows: Windows) -> Iterator[PageSite]:
    with page_site(stage, windows) as site:
        yield site


@pytest.fixture(scope="module")
def full(serve: Callable[..., Site]) -> Site:
    return serve("ask_a_human")


# Questions.


def test_questions_with_the_most_missing_answers_come_first_with_preview_and_audience(site: PageSite) -> None:
    half = site.create_question("Which of two logos is better?", min_responses=2)
    site.stage.answer(half, "ada")
    site.create_question("Describe " + "a long walk " * 30, min_responses=3, audience=["creative", "general"])
    page = site.open().page
    cards = page.locator("#feed a")
    expect(cards).to_have_count(2)
    first = cards.first
    expect(first).to_contain_text("3 more answers needed")
    expect(first).to_contain_text("Text")
    expect(first).to_contain_text("Creative")
    preview = first.locator(".prompt").inner_text()
    assert preview.startswith("Describe a long walk")
    assert preview.endswith("…")
    assert len(preview) <= 180
    expect(cards.last).to_contain_text("1 more answer needed")


def test_the_list_grows_while_scrolling_without_duplicates(site: PageSite) -> None:
    for number in range(27):
        site.create_question(f"What is question number {number}?", min_responses=3)
    page = site.open().page
    cards = page.locator("#feed > li")
    expect(cards).to_have_count(12)
    while page.locator(".more").count():
        count = cards.count()
        page.mouse.wheel(0, 20_000)
        expect(page.locator(f"#feed > li:nth-child({count + 1})")).to_be_attached()
    expect(cards).to_have_count(27)
    ids = cards.evaluate_all("all => all.map(one => one.dataset.id)")
    assert len(set(ids)) == 27


def test_the_list_has_a_link_to_its_next_page_without_javascript(site: PageSite) -> None:
    for number in range(14):
        site.create_question(f"What is question number {number}?", min_responses=3)
    page = site.open(scripts=False).page
    page.get_by_role("link", name="Show more").click()
    expect(page.locator("#feed > li")).to_have_count(2)


def test_the_list_filters_by_audience_and_has_an_empty_state(site: PageSite) -> None:
    site.create_question("Is this choice fair to everybody?", audience=["ethics"])
    page = site.open().page
    page.get_by_role("link", name="Ethics", exact=True).click()
    expect(page.locator("#feed a")).to_have_count(1)
    page.get_by_role("link", name="Product", exact=True).click()
    expect(page.get_by_role("heading", name="No questions need an answer right now")).to_be_visible()


def test_pulling_down_refreshes_the_list(site: PageSite) -> None:
    page = site.open().page
    site.create_question("What arrived in the meantime?")
    pull = """([type, y]) => dispatchEvent(new TouchEvent(type, {touches: type === "touchend" ? [] :
        [new Touch({identifier: 1, target: document.body, clientX: 100, clientY: y})]}))"""
    page.evaluate(pull, ["touchstart", 80])
    page.evaluate(pull, ["touchmove", 130])
    expect(page.locator("#pull")).to_have_text("Pull to refresh")
    page.evaluate(pull, ["touchmove", 220])
    expect(page.locator("#pull")).to_have_text("Release to refresh")
    page.evaluate(pull, ["touchend", 220])
    expect(page.locator("#feed a")).to_contain_text("What arrived in the meantime?")
    expect(page.locator("#pull")).to_be_hidden()


# Answers.


def test_a_text_answer_earns_points_a_badge_and_a_streak(site: PageSite) -> None:
    question = site.create_question("How do you greet somebody you do not know?", min_responses=3)
    site.create_question("What do you say when you leave?", min_responses=3)
    window = site.open(f"questions/{question}")
    page = window.page
    field = page.get_by_label("Your answer")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("Write at least 3 characters.")).to_be_visible()
    expect(field).to_be_focused()

    low = field.bounding_box()
    field.fill("\n".join(["Hello, and a smile."] * 12))
    high = field.bounding_box()
    assert low is not None
    assert high is not None
    assert high["height"] > low["height"] + 50, "the field grows"
    expect(page.locator("#count")).to_contain_text("of 500 characters")
    field.fill("x" * 501)
    expect(page.locator("#count")).to_contain_text("Shorter answers help more")

    field.fill("Hello, and a smile.")
    page.locator(".confidence").get_by_text("4").click()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_role("heading", name="Thank you!")).to_be_visible()
    expect(page.locator(".earned")).to_have_text("+17 points")
    expect(page.get_by_text("First Steps")).to_be_visible()
    expect(page.locator(".tile", has_text="Total")).to_contain_text("17")
    expect(page.locator(".tile", has_text="Streak")).to_contain_text("1 day")
    (answer,) = site.stage.poll(question)["responses"]
    assert answer == {"answer": "Hello, and a smile.", "confidence": 4}

    page.get_by_role("link", name="Answer another").click()
    expect(page.get_by_role("heading", name="What do you say when you leave?")).to_be_visible()


def test_a_choice_has_large_targets_and_works_without_javascript(site: PageSite) -> None:
    question = site.stage.create_question(**CHOICE, min_responses=3)
    window = site.open(f"questions/{question}", scripts=False)
    window.expected.append("422")
    page = window.page
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("Choose one of the options.")).to_be_visible()
    option = page.locator("label.choice.large", has_text="Submit")
    box = option.bounding_box()
    assert box is not None
    assert box["height"] >= 56
    assert box["width"] >= 340
    option.click()
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".earned")).to_have_text("+10 points")
    assert site.stage.poll(question)["summary"] == {"Send": 0, "Submit": 1, "Done": 0}


def test_the_form_of_a_rejected_answer_keeps_the_typed_text(site: PageSite) -> None:
    question = site.create_question("What is the shortest answer that helps?")
    window = site.open(f"questions/{question}", scripts=False)
    window.expected.append("422")
    page = window.page
    page.get_by_label("Your answer").fill("ok")
    page.locator(".confidence").get_by_text("2").click()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_label("Your answer")).to_have_value("ok")
    expect(page.get_by_text("Write at least 3 characters.")).to_be_visible()
    expect(page.locator('[name="confidence"][value="2"]')).to_be_checked()
    assert site.stage.poll(question)["current_responses"] == 0


def test_a_draft_survives_a_reload(site: PageSite) -> None:
    page = site.open(f"questions/{site.create_question('What do you write down at once?')}").page
    page.get_by_label("Your answer").fill("Half of a thought")
    page.reload()
    expect(page.get_by_label("Your answer")).to_have_value("Half of a thought")


def test_skipped_questions_are_not_shown_again(site: PageSite, clock: ManualClock) -> None:
    first = site.create_question("Which question is the first one?", timeout_seconds=600)
    site.create_question("Which question is the second one?", timeout_seconds=1200)
    page = site.open(f"questions/{first}").page
    page.get_by_role("button", name="Skip").click()
    expect(page.get_by_role("heading", name="Which question is the second one?")).to_be_visible()
    page.get_by_role("button", name="Skip").click()
    expect(page.get_by_text("You have seen every question that needs an answer.")).to_be_visible()


def test_an_answered_question_is_marked_and_cannot_be_answered_again(site: PageSite) -> None:
    question = site.create_question("How often do you ask twice?", min_responses=3)
    page = site.open(f"questions/{question}").page
    other = page.context.new_page()
    other.goto(page.url)
    page.get_by_label("Your answer").fill("Only when I forget the answer.")
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_role("heading", name="Thank you!")).to_be_visible()
    page.get_by_role("link", name="All questions", exact=True).click()
    expect(page.locator("#feed a.answered")).to_contain_text("Answered")

    other.get_by_label("Your answer").fill("Every time.")
    site.windows._open[-1].expected.append("409")
    other.get_by_role("button", name="Send answer").click()
    expect(other.get_by_role("heading", name="You have answered this question")).to_be_visible()
    expect(other.get_by_text("Only your first answer counts.")).to_be_visible()
    assert [response["answer"] for response in site.stage.poll(question)["responses"]] == [
        "Only when I forget the answer."
    ]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_question_that_closes_during_writing_keeps_the_text(site: PageSite, scripts: bool) -> None:
    question = site.create_question("Who answers first?", min_responses=1)
    slow = site.open(f"questions/{question}", scripts=scripts)
    fast = site.open(f"questions/{question}", scripts=scripts)
    slow.page.get_by_label("Your answer").fill("A long and careful answer")
    fast.page.get_by_label("Your answer").fill("Me!")
    fast.page.get_by_role("button", name="Send answer").click()
    expect(fast.page.locator(".earned")).to_be_visible()

    slow.expected.append("410")
    slow.page.get_by_role("button", name="Send answer").click()
    expect(slow.page.get_by_role("heading", name="This question has enough answers")).to_be_visible()
    expect(slow.page.get_by_text("Your answer was not sent")).to_be_visible()
    expect(slow.page.locator("blockquote")).to_have_text("A long and careful answer")
    if scripts:
        slow.check_accessibility()
    assert [response["answer"] for response in site.stage.poll(question)["responses"]] == ["Me!"]
    slow.page.get_by_role("link", name="All questions", exact=True).click()
    expect(slow.page.locator("#feed a")).to_have_count(0)


def test_an_expired_question_shows_its_state(site: PageSite, clock: ManualClock) -> None:
    question = site.create_question("What do you think right now?", timeout_seconds=60)
    window = site.open(f"questions/{question}")
    clock.advance(60)
    window.page.get_by_label("Your answer").fill("That time flies.")
    window.expected.append("410")
    window.page.get_by_role("button", name="Send answer").click()
    expect(window.page.get_by_role("heading", name="The time for this question is over")).to_be_visible()
    window.check_accessibility()


def test_too_many_answers_per_minute_are_rejected_with_their_text_kept(site: PageSite) -> None:
    window = site.open()
    for number in range(6):
        window.goto(f"questions/{site.create_question(f'What is question number {number}?', min_responses=3)}")
        window.page.get_by_label("Your answer").fill(f"Answer number {number}")
        if number == 5:
            window.expected.append("429")
        window.page.get_by_role("button", name="Send answer").click()
        if number < 5:
            expect(window.page.locator(".earned")).to_be_visible()
    expect(window.page.get_by_role("alert")).to_contain_text("try again in 60 s")
    expect(window.page.get_by_label("Your answer")).to_have_value("Answer number 5")


def test_an_unknown_question_is_not_found(site: PageSite) -> None:
    window = site.open()
    window.expected.append("404")
    window.goto("questions/6f1b3c1e-7d7e-4a53-9f0e-3f1d4b1c2a55")
    expect(window.page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(window.page.get_by_text("This question does not exist, or it was removed.")).to_be_visible()
    expect(window.page.get_by_role("link", name="Sign in")).to_have_count(0)


# Identity.


def test_points_belong_to_the_browser_and_another_browser_is_another_person(site: PageSite) -> None:
    question = site.create_question("How long do you remember a question?", min_responses=3)
    ada, ben = site.open(f"questions/{question}"), site.open(f"questions/{question}")
    ada.page.get_by_label("Your answer").fill("A day or two")
    ada.page.get_by_role("button", name="Send answer").click()
    expect(ada.page.locator(".earned")).to_be_visible()
    ada.page.context.clear_cookies(name="keyplan_session")  # the session ends after hours, the device stays
    ada.goto("you")
    expect(ada.page.locator(".tile", has_text="Points")).to_contain_text("15")
    ben.goto("you")
    expect(ben.page.get_by_text("You have not answered a question yet.")).to_be_visible()
    cookies = {cookie["name"]: cookie for cookie in ada.context.cookies()}
    assert cookies["aah_device"]["httpOnly"]
    assert cookies["aah_device"]["sameSite"] == "Lax"


def test_reading_the_list_registers_no_device(site: PageSite) -> None:
    window = site.open()
    assert "aah_device" not in {cookie["name"] for cookie in window.context.cookies()}


def test_a_text_is_answered_and_a_question_skipped_without_javascript(site: PageSite) -> None:
    first = site.create_question("Which question would you skip?", timeout_seconds=600)
    site.create_question("Which question do you answer?", timeout_seconds=1200, min_responses=3)
    page = site.open(f"questions/{first}", scripts=False).page
    page.get_by_role("button", name="Skip").click()
    expect(page.get_by_role("heading", name="Which question do you answer?")).to_be_visible()
    page.get_by_label("Your answer").fill("One without scripts")
    page.locator(".confidence").get_by_text("5").click()
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".earned")).to_be_visible()
    page.get_by_role("link", name="All questions", exact=True).click()
    expect(page.locator("#feed a.answered")).to_have_count(1)


def test_a_day_brings_a_limited_number_of_points(site: PageSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "DAILY_CAP", 12)
    page = site.open().page
    for points in ("+12 points", "+0 points"):
        question = site.create_question("How many points are enough?", min_responses=3)
        page.goto(f"{site.url}/ask_a_human/app/questions/{question}")
        page.get_by_label("Your answer").fill("As many as a day has")
        page.get_by_role("button", name="Send answer").click()
        expect(page.locator(".earned")).to_have_text(points)
    expect(page.get_by_text("Answers still count for badges and your streak.")).to_be_visible()


# Statistics and leaderboards.


def test_a_person_sees_statistics_badges_and_categories(site: PageSite) -> None:
    question = site.create_question("What is a good name for a test?", audience=["technical"], min_responses=3)
    window = site.open(f"questions/{question}")
    page = window.page
    page.get_by_label("Your answer").fill("One that reads like a sentence.")
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".earned")).to_be_visible()
    site.stage.rank()
    window.goto("you")
    expect(page.locator(".tile", has_text="Points")).to_contain_text("15 points today")
    expect(page.locator(".tile", has_text="Rank")).to_contain_text("1")
    expect(page.locator(".badges .won")).to_have_count(2)
    expect(page.locator(".badges .won").first).to_contain_text("First Steps")
    page.get_by_text("16 badges to earn").click()
    expect(page.locator(".badges .missing").first).to_contain_text("10 answers")
    expect(page.get_by_role("img", name="Answers by topic")).to_be_visible()


def test_the_theme_is_light_dark_or_the_systems(site: PageSite) -> None:
    window = site.open("you", dark=True)
    page = window.page
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#themes").get_by_text("Light").click()
    assert page.evaluate(background) != dark
    page.reload()
    assert page.evaluate(background) != dark
    expect(page.locator("#themes").get_by_label("Light")).to_be_checked()
    page.locator("#themes").get_by_text("System").click()
    assert page.evaluate(background) == dark


def test_leaderboards_show_day_week_and_all_time_with_the_own_rank(site: PageSite, clock: ManualClock) -> None:
    question = site.create_question("Who is on the board?", min_responses=4, timeout_seconds=86_400)
    for person in ("ada", "ben"):
        site.stage.answer(question, person, answer="x" * 120, confidence=5)
    window = site.open(f"questions/{question}")
    page = window.page
    page.get_by_label("Your answer").fill("Me, I hope")
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".earned")).to_be_visible()
    site.stage.rank()
    for period in ("Today", "This week", "All time"):
        window.goto("leaderboard")
        page.get_by_role("link", name=period).click()
        expect(page.get_by_text("You are number 3 with 10 points.")).to_be_visible()
        expect(page.locator("tr.me")).to_have_text("3You110")
    clock.advance(86_400)
    window.goto("leaderboard?period=daily")
    expect(page.get_by_text("You have no points here yet.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nobody has answered yet")).to_be_visible()


# What agents write is text.


def test_texts_of_agents_and_people_are_escaped(site: PageSite) -> None:
    question = site.stage.create_question(prompt=f"A question {EVIL}", type="multiple_choice", options=[EVIL, "fine"])
    page = site.open().page
    expect(page.locator("#feed")).to_contain_text("<script>alert(1)</script>")
    page.get_by_role("link", name="A question").click()
    expect(page.get_by_role("heading", name="A question")).to_contain_text("onerror=alert(2)")
    expect(page.locator("label.choice").first).to_contain_text("<img src=x")
    assert page.locator("main img, main script").count() == 0
    page.locator("label.choice").first.click()
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".earned")).to_be_visible()
    page.goto(f"{site.url}/ask_a_human/app/questions/{question}")
    expect(page.locator("main")).to_contain_text("<script>")


# All pages.


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_all_pages_are_accessible_and_fit_the_window(windows: Windows, full: Site, width: int, dark: bool) -> None:
    window = windows.open(f"{full.url}/ask_a_human/app/", width=width, dark=dark)
    window.expected += ["404", "409"]
    page, name = window.page, f"{width}-{'dark' if dark else 'light'}"
    visited: list[str] = []

    def check(label: str) -> None:
        visited.append(page.url.removeprefix(full.url))
        window.check_accessibility()
        window.check_layout()
        window.screenshot(f"{label}-{name}")

    window.goto("")
    weight = window.weight()
    assert weight["bytes"] < 100_000, weight
    print(f"{name}: {weight}")
    check("feed")
    page.locator("#feed a:not(.answered)", has_text="Multiple choice").first.click()
    page.locator("label.choice").nth(1).click()
    check("choice")
    window.goto("")
    page.locator("#feed a:not(.answered)", has_text="Text").first.click()
    page.get_by_label("Your answer").fill("It asked me nothing before it showed me the price.")
    page.locator(".confidence").get_by_text("4").click()
    check("text")
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".earned")).to_be_visible()
    check("thanks")
    page.go_back()
    page.reload()
    check("answered")
    for path in ("leaderboard?period=all_time", "you", "agents", "offline", "questions/unknown"):
        window.goto(path)
        check(path.partition("?")[0].replace("/", "-"))
    window.goto("agents")
    page.get_by_label("Name").fill(f"looker-{name}")
    page.get_by_role("button", name="Register").click()
    check("agents-registered")
    page.get_by_role("link", name="Ask a question").click()
    check("agents-ask")
    page.get_by_label("Question", exact=True).fill("Which of these names is easier to remember?")
    page.get_by_label("Options").fill("Alder\nBirch")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("img", name="Answers by option")).to_be_visible()
    check("agents-question")
    window.goto("agents")
    expect(page.locator("#own a")).to_have_count(1)
    check("agents-own")
    parts = ("manifest.webmanifest", "worker.js", "session", "next", "agents/questions/{question_id}/answers")
    assert full.unvisited(visited, [f"/ask_a_human/app/{part}" for part in parts]) == set()
