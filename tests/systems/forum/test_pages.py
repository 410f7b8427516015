"""Pages of the forum in a browser: threads, live timelines of several people, permissions, notifications."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from tests.browser import DESKTOP, PHONE, Site, Window, Windows
from websockets import Origin
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import keyplan
from keyplan_systems.forum import design
from keyplan_systems.forum.entities import Notification
from keyplan_systems.forum.relational.session import LOCK_WAIT_S
from keyplan_systems.forum.sample import (
    ANN,
    BEN,
    CLEO,
    DICTIONARIES,
    DINA,
    FUNCTIONS,
    LISTS,
    LOOPS,
    RECURSION,
    SORTING,
    TEACHER,
    TEACHERS,
    TEAM,
    TUTOR,
    VARIABLES,
)
from keyplan_systems.web.development import development_key, issue_development_token

PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def site(serve: Callable[..., Site]) -> Site:
    return serve("forum")


def open_thread(
    windows: Windows, site: Site, person: str, item: str = LOOPS, participant: str = ANN, **options: Any
) -> Window:
    """Open a window of a signed-in person at a thread."""
    window = windows.open(site.url, **options)
    window.sign_in("forum", person, f"/forum/app/threads/{item}/{participant}")
    return window


def wait_until_live(page: Page) -> None:
    expect(page.locator("body")).to_have_attribute("data-connection", "live")


def say(page: Page, text: str) -> None:
    page.get_by_label("Message").fill(text)
    page.get_by_role("button", name="Send").click()


PAGES = {
    "threads": (BEN, "/forum/app/"),
    "others": (TEACHER, "/forum/app/others"),
    "ask": (BEN, "/forum/app/ask"),
    "thread": (BEN, f"/forum/app/threads/{LISTS}/{BEN}"),
    "closed": (BEN, "/forum/app/threads/13/1002"),
    "notifications": (BEN, "/forum/app/notifications"),
    "permissions": (TEACHER, "/forum/app/permissions"),
    "refused": (BEN, f"/forum/app/threads/{LOOPS}/{ANN}"),
    "nothing": (ANN, "/forum/app/others?status=closed"),
}
PARTS = ("unread", "threads/{item_id}/{participant_id}/state", "threads/{item_id}/{participant_id}/people")
"""Routes that answer with a part of a page, or with JSON."""


def test_no_page_is_left_out_of_the_checks(site: Site) -> None:
    paths = [path for _, path in PAGES.values()]
    assert site.unvisited(paths, [f"/forum/app/{part}" for part in PARTS]) == set()


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_accessible_and_fits_the_window(windows: Windows, site: Site, name: str, width: int) -> None:
    person, path = PAGES[name]
    for dark in (False, True):
        window = windows.open(site.url, width=width, dark=dark)
        if name == "refused":
            window.expected.append("403")
        window.sign_in("forum", person, path)
        if name != "refused":
            wait_until_live(window.page)
        window.check_accessibility()
        window.check_layout()
        window.screenshot(f"forum-{name}-{width}-{'dark' if dark else 'light'}")
        assert window.weight()["bytes"] < 100_000


def test_two_people_see_each_others_messages_immediately(windows: Windows, site: Site) -> None:
    ben = open_thread(windows, site, BEN, LISTS, BEN)
    teacher = open_thread(windows, site, TEACHER, LISTS, BEN, width=PHONE)
    wait_until_live(ben.page)
    wait_until_live(teacher.page)
    expect(ben.page.locator("#state")).to_contain_text("Watching now: you, Ms Grey")
    say(teacher.page, "Count from 0: which index has the last of ten?")
    expect(ben.page.locator(".message").last).to_contain_text("which index has the last of ten?")
    expect(ben.page.locator(".message").last).to_contain_text("Ms Grey")
    expect(ben.page.locator("#state")).to_contain_text("Answered")
    say(ben.page, "Nine!")
    expect(teacher.page.locator(".message").last).to_contain_text("Nine!")
    expect(ben.page.locator(".message", has_text="Nine!")).to_have_count(1)
    expect(ben.page.locator(".message.pending")).to_have_count(0)
    ben.screenshot("forum", full_page=False)
    teacher.goto("/forum/app/")
    expect(ben.page.locator("#state")).to_have_text(re.compile("Watching now: you\\s"))


def test_a_lost_connection_is_resumed_without_loss_or_repetition(windows: Windows, site: Site) -> None:
    ann = open_thread(windows, site, ANN)
    tutor = open_thread(windows, site, TUTOR)
    ann.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to load resource"]
    wait_until_live(ann.page)
    wait_until_live(tutor.page)
    ann.context.set_offline(True)
    expect(ann.page.locator("#connection")).to_contain_text("You are offline")
    say(ann.page, "written while offline")
    say(ann.page, "and one more")
    expect(ann.page.locator(".message.pending")).to_have_count(2)
    for number in range(1, 4):
        say(tutor.page, f"sent to nobody {number}")
        expect(tutor.page.locator(".message:not(.pending)").last).to_contain_text(f"sent to nobody {number}")
    ann.context.set_offline(False)
    wait_until_live(ann.page)
    expect(ann.page.locator("#connection")).to_be_hidden()
    expect(ann.page.locator(".message.pending")).to_have_count(0)
    expected = [*(f"sent to nobody {number}" for number in range(1, 4)), "written while offline", "and one more"]
    for window in (ann, tutor):
        expect(window.page.locator(".message", has_text="and one more")).to_have_count(1)
        texts = window.page.locator(".message .text").all_text_contents()
        assert texts[-5:] == expected
        sequence = [int(entry.get_attribute("data-seq") or 0) for entry in window.page.locator("[data-seq]").all()]
        assert len(set(sequence)) == len(sequence)
    ann.page.reload()
    assert ann.page.locator(".message .text").all_text_contents()[-5:] == expected


def test_attempts_and_submissions_appear_in_the_timeline_at_their_time(windows: Windows, site: Site) -> None:
    teacher = open_thread(windows, site, TEACHER, RECURSION, CLEO)
    wait_until_live(teacher.page)
    expect(teacher.page.locator(".note").first).to_contain_text("Started attempt 605")
    expect(teacher.page.locator(".note").nth(1)).to_contain_text("0 points, not solved yet")
    first_ms = int(teacher.page.locator("[data-ms]").first.get_attribute("data-ms") or 0)
    facts = [
        {"type": "attempt_started", "time": first_ms - 60_000, "attempt_id": "700"},
        {"type": "submission", "time": first_ms + 86_400_000 * 2, "attempt_id": "700", "answer_id": "1", "score": 100,
         "validated": True},
    ]  # fmt: skip
    report_as_platform(site, RECURSION, CLEO, facts)
    expect(teacher.page.locator(".note", has_text="attempt 700: 100 points, solved")).to_have_count(1)
    expect(teacher.page.locator(".note").first).to_contain_text("Started attempt 700")
    times = [int(entry.get_attribute("data-ms") or 0) for entry in teacher.page.locator("[data-ms]").all()]
    assert times == sorted(times)


def report_as_platform(site: Site, item: str, participant: str, facts: list[dict[str, Any]]) -> None:
    """Report events as the platform does."""
    key = development_key(site.folder / "keys")
    token = issue_development_token(key, "9", audience="keyplan", roles=("platform",))
    url = f"{site.url}/forum/thread/{item}/{participant}/events"
    headers = {"Authorization": f"Bearer {token}"}
    httpx.post(url, json={"events": facts}, headers=headers, timeout=60, trust_env=False).raise_for_status()


def test_unsent_text_survives_a_reload(windows: Windows, site: Site) -> None:
    ann = open_thread(windows, site, ANN)
    ann.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to load resource"]
    wait_until_live(ann.page)
    ann.page.route("**/messages", lambda route: route.abort())
    say(ann.page, "kept over a reload")
    expect(ann.page.locator(".message.pending")).to_contain_text("Not sent yet")
    ann.page.unroute("**/messages")
    ann.page.reload()
    expect(ann.page.locator(".message", has_text="kept over a reload")).to_have_count(1)
    expect(ann.page.locator(".message.pending")).to_have_count(0)


def test_a_participant_asks_and_a_helper_answers_without_javascript(windows: Windows, site: Site) -> None:
    ben = windows.open(site.url, scripts=False, width=PHONE)
    ben.sign_in("forum", BEN, "/forum/app/ask")
    ben.page.get_by_role("link", name="Recursion").click()
    ben.page.get_by_label("Whom to ask").select_option("Tutors")
    ben.page.get_by_label("What do you need help with?").fill("What is a base case?")
    ben.page.get_by_role("button", name="Ask").click()
    expect(ben.page.locator(".message .text")).to_have_text(["What is a base case?"])
    expect(ben.page.locator("#state")).to_contain_text("Waiting for an answer")
    tutor = windows.open(site.url, scripts=False)
    tutor.sign_in("forum", TUTOR, "/forum/app/others")
    tutor.page.get_by_role("link", name="Recursion · Ben").click()
    say(tutor.page, "The case that needs no further call.")
    expect(tutor.page.locator("#state")).to_contain_text("Answered")
    ben.page.reload()
    expect(ben.page.locator(".message .text")).to_have_text(
        ["What is a base case?", "The case that needs no further call."]
    )
    ben.page.get_by_role("button", name="Solved: close").click()
    expect(ben.page.locator("#state")).to_contain_text("Closed")
    expect(ben.page.get_by_role("status").first).to_contain_text("Status: closed.")


def test_a_form_that_is_sent_twice_stores_one_message(windows: Windows, site: Site) -> None:
    ann = open_thread(windows, site, ANN, scripts=False)
    fields = {
        name: str(ann.page.locator(f"#composer [name={name}]").get_attribute("value")) for name in ("csrf", "uuid")
    }
    url = f"{site.url}/forum/app/threads/{LOOPS}/{ANN}/messages"
    for _ in range(2):
        assert ann.context.request.post(url, form={**fields, "text": "once only"}).status == 200
    ann.page.reload()
    expect(ann.page.locator(".message", has_text="once only")).to_have_count(1)
    refused = ann.context.request.post(url, form={**fields, "text": "another text"}, headers={"Accept": "text/html"})
    assert (refused.status, "Send again to send this text too." in refused.text()) == (409, True)
    assert (fields["uuid"] in refused.text(), ">another text</textarea>" in refused.text()) == (False, True)
    fields["csrf"] = "0" * 64
    assert ann.context.request.post(url, form={**fields, "text": "forged"}).status == 403


def test_a_user_who_may_not_read_a_thread_gets_an_error_page(windows: Windows, site: Site) -> None:
    ben = windows.open(site.url)
    ben.expected += ["400", "403"]
    ben.sign_in("forum", BEN)
    for path in (f"/forum/app/threads/{LOOPS}/{ANN}", f"/forum/app/threads/{LOOPS}/{ANN}/state"):
        response = ben.page.goto(f"{site.url}{path}")
        assert response is not None
        assert response.status == 403
        expect(ben.page.get_by_role("heading")).to_have_text("Not allowed")
        expect(ben.page.locator("main")).not_to_contain_text("My loop never ends")
    for path in ("threads/abc/1001", "others?group=101", "ask?participant=1001"):
        response = ben.page.goto(f"{site.url}/forum/app/{path}")
        assert response is not None
        assert response.status in (400, 403), path


def test_a_reader_who_may_not_write_sees_no_form(windows: Windows, site: Site) -> None:
    tutor = open_thread(windows, site, TUTOR, "16", "1005")
    wait_until_live(tutor.page)
    expect(tutor.page.locator("#state")).to_contain_text("You may read this thread. Teachers may answer.")
    expect(tutor.page.get_by_label("Message")).to_have_count(0)


XSS = [
    "<img src=x onerror=\"document.title='bad'\">",
    "\"'><script>document.title='bad'</script>",
    "javascript:alert(1)",
]


@pytest.mark.parametrize("text", XSS)
def test_markup_in_a_message_is_escaped_everywhere(windows: Windows, site: Site, text: str) -> None:
    ben = open_thread(windows, site, BEN, FUNCTIONS, BEN)
    tutor = open_thread(windows, site, TUTOR, FUNCTIONS, BEN)
    wait_until_live(ben.page)
    wait_until_live(tutor.page)
    ben.goto("/forum/app/")
    expect(tutor.page.locator("#state")).to_contain_text(re.compile("Watching now: you\\s"))
    say(tutor.page, text)
    expect(tutor.page.locator(".message .text").last).to_have_text(text)
    page = ben.goto("/forum/app/notifications")
    expect(page.locator(".excerpt", has_text=text).first).to_be_visible()
    page = ben.goto(f"/forum/app/threads/{FUNCTIONS}/{BEN}")
    expect(page.locator(".message .text").last).to_have_text(text)
    for window in (ben, tutor):
        assert "bad" not in window.page.title()
        assert window.page.locator(".message img, .message script, .message a").count() == 0


def test_notifications_are_counted_live_and_cleared_when_the_thread_is_opened(windows: Windows, site: Site) -> None:
    ben = windows.open(site.url)
    ben.sign_in("forum", BEN, "/forum/app/notifications")
    wait_until_live(ben.page)
    ben.page.get_by_role("button", name="Mark all as read").click()
    expect(ben.page.locator("#unread")).to_be_hidden()
    wait_until_live(ben.page)
    cleo = ben.page.locator("#rows")
    tutor = open_thread(windows, site, TUTOR, SORTING, TEAM)
    say(tutor.page, "There is: sort two halves, then merge them.")
    expect(ben.page.locator("#unread")).to_have_text("1")
    expect(cleo).to_contain_text("sort two halves")
    assert ben.page.title().startswith("(1) ")
    tab = ben.context.new_page()
    tab.goto(f"{site.url}/forum/app/")
    expect(tab.locator("a.unread")).to_have_count(1)
    expect(tab.locator("a.unread")).to_contain_text("1 new")
    tab.locator("a.unread").click()
    expect(tab.locator("#new")).to_be_visible()
    expect(tab.locator("#unread")).to_be_hidden()
    expect(ben.page.locator("#unread")).to_be_hidden()
    ben.page.reload()
    ben.page.get_by_role("button", name="Mark as unread").first.click()
    expect(ben.page.locator("#unread")).to_have_text("1")
    ben.page.get_by_role("button", name="Delete", exact=True).first.click()
    expect(ben.page.locator("#unread")).to_be_hidden()


def test_a_thread_closed_during_writing_keeps_the_text(windows: Windows, site: Site) -> None:
    dina, lists = "1006", LISTS
    teacher = open_thread(windows, site, TEACHER, lists, dina)
    wait_until_live(teacher.page)
    teacher.page.get_by_label("Message").fill("half a sentence")
    close_as(site, dina, lists)
    expect(teacher.page.locator("#state")).to_contain_text("Closed")
    expect(teacher.page.locator("#composer")).to_contain_text("closed while you were writing")
    expect(teacher.page.get_by_label("Message")).to_have_value("half a sentence")
    expect(teacher.page.get_by_role("button", name="Send")).to_be_disabled()


def test_a_stale_page_does_not_accidentally_open_a_closed_thread(windows: Windows, site: Site) -> None:
    emil = "1007"
    tutor = open_thread(windows, site, TUTOR, LOOPS, emil, scripts=False)
    writer = open_thread(windows, site, TUTOR, LOOPS, emil, scripts=False)
    for window in (tutor, writer):
        window.expected += ["403", "409"]
    close_as(site, emil, LOOPS)
    tutor.page.get_by_role("button", name="Mark as answered").click()
    expect(tutor.page.get_by_role("alert")).to_have_text("This is not possible: the thread is now closed.")
    say(writer.page, "too late")
    expect(writer.page.get_by_role("alert")).to_have_text("The thread is closed.")
    expect(writer.page.locator("#state")).to_contain_text("Closed")


def test_the_list_to_answer_starts_with_the_longest_wait(windows: Windows, site: Site) -> None:
    teacher = windows.open(site.url, scripts=False)
    page = teacher.sign_in("forum", TEACHER, "/forum/app/others")
    expect(page.locator("a.thread").first).to_contain_text("Conditions · Cleo")
    page.get_by_label("Participants of").select_option("Class 7b")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("a.thread").first).to_contain_text("Conditions · Cleo")
    page.get_by_role("link", name="Closed").click()
    expect(page.get_by_role("link", name="Functions · Fay")).to_be_visible()
    tutor = windows.open(site.url)
    page = tutor.sign_in("forum", TUTOR, "/forum/app/others?status=waiting_for_participant")
    expect(page.get_by_role("link", name="Recursion · Cleo")).to_contain_text("read only")
    expect(page.get_by_role("link", name="Functions · Ben")).not_to_contain_text("read only")


def test_a_new_question_appears_in_an_open_list(windows: Windows, site: Site) -> None:
    teacher = windows.open(site.url)
    page = teacher.sign_in("forum", TEACHER, "/forum/app/others")
    wait_until_live(page)
    ben = windows.open(site.url, scripts=False)
    ben.sign_in("forum", BEN, f"/forum/app/threads/{DICTIONARIES}/{BEN}")
    ben.page.get_by_label("Whom to ask").select_option("Teachers")
    ben.page.get_by_label("What do you need help with?").fill("How do I look up a key that may be missing?")
    ben.page.get_by_role("button", name="Ask").click()
    expect(ben.page.locator(".message")).to_have_count(1)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # as when the teacher returns to the tab
    expect(page.get_by_role("link", name="Dictionaries · Ben")).to_be_visible()


def test_a_teacher_opens_a_thread_for_a_pupil(windows: Windows, site: Site) -> None:
    teacher = windows.open(site.url, width=PHONE)
    page = teacher.sign_in("forum", TEACHER, "/forum/app/ask")
    page.get_by_label("Participant").select_option("Fay")
    expect(page.get_by_role("heading", name="Threads of Fay")).to_be_visible()
    page.get_by_role("link", name="Variables").click()
    page.get_by_label("Who helps").select_option("Tutors")
    page.get_by_label("Message").fill("Fay, your names are hard to read. Which would you choose today?")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#state")).to_contain_text("Answered")
    expect(page.locator(".message")).to_contain_text("your names are hard to read")


def test_an_ended_session_leads_to_the_sign_in_page(windows: Windows, site: Site) -> None:
    ann = open_thread(windows, site, ANN)
    ann.expected += ["401", "WebSocket"]
    wait_until_live(ann.page)
    ann.context.clear_cookies()
    ann.page.evaluate("forum.drop()")
    ann.page.wait_for_url(f"{site.url}/sign-in?next=*")


def test_a_status_change_in_one_window_appears_in_the_other(windows: Windows, site: Site) -> None:
    teacher = open_thread(windows, site, TEACHER, "18", "1006")
    tutor = open_thread(windows, site, TUTOR, "18", "1006")
    wait_until_live(teacher.page)
    wait_until_live(tutor.page)
    teacher.page.get_by_role("button", name="Mark as answered").click()
    expect(tutor.page.locator("#state")).to_contain_text("Answered")
    tutor.page.get_by_role("button", name="Mark as unanswered").click()
    expect(teacher.page.locator("#state")).to_contain_text("Waiting for an answer")


def test_a_teacher_gives_the_permission_to_ask(windows: Windows, site: Site) -> None:
    teacher = windows.open(site.url, scripts=False)
    teacher.sign_in("forum", TEACHER, "/forum/app/permissions")
    teacher.page.get_by_label("Who may ask").select_option("Class 7b")
    teacher.page.get_by_label("Task").select_option("Conditions")
    teacher.page.get_by_label("Whom").select_option("Class 7b")
    teacher.page.get_by_role("button", name="Give permission").click()
    expect(teacher.page.locator("tbody")).to_contain_text("Conditions")
    ben = windows.open(site.url)
    ben.sign_in("forum", BEN, "/forum/app/ask")
    expect(ben.page.get_by_role("link", name="Conditions")).to_contain_text("Class 7b")
    ben.goto("/forum/app/permissions")
    expect(ben.page.locator("main")).to_contain_text("You manage none.")


def test_a_foreign_page_cannot_connect_with_the_session(windows: Windows, site: Site) -> None:
    ann = windows.open(site.url)
    ann.sign_in("forum", ANN)
    cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in ann.context.cookies())
    address = f"{site.url.replace('http', 'ws', 1)}/forum/ws"
    with connect(address, origin=Origin(site.url), additional_headers={"Cookie": cookies}, proxy=None) as connection:
        connection.send('{"action": "heartbeat"}')
        assert json.loads(connection.recv()) == {"action": "heartbeat"}
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(address, origin=Origin("https://evil.example"), additional_headers={"Cookie": cookies}, proxy=None),
    ):
        pass
    assert refused.value.response.status_code == 401


def test_markup_in_names_and_titles_is_escaped(windows: Windows, site: Site) -> None:
    markup = "<img src=x onerror=alert(1)>'\"><b>"
    with closing(sqlite3.connect(site.folder / "forum" / "forum.db", timeout=LOCK_WAIT_S)) as database, database:
        database.execute("UPDATE groups SET name = ? WHERE id IN (?, ?, ?)", (markup, TEAM, CLEO, TEACHERS))
        database.execute("UPDATE items SET title = ? WHERE id = ?", (markup, SORTING))
    ben = windows.open(site.url)
    ben.sign_in("forum", BEN)
    paths = ("", "notifications", "ask", f"threads/{SORTING}/{TEAM}")
    for path in paths:
        page = ben.goto(f"/forum/app/{path}")
        expect(page.locator("main")).to_contain_text("onerror=alert(1)")
        assert page.locator("main img, main b").count() == 0, path
    teacher = windows.open(site.url)
    teacher.sign_in("forum", TEACHER)
    for path in ("others", "ask", "permissions", f"threads/{SORTING}/{TEAM}"):
        page = teacher.goto(f"/forum/app/{path}")
        assert "onerror=alert(1)" in page.locator("main").inner_text(), path
        assert page.locator("main img, main b").count() == 0, path
    wait_until_live(ben.page)
    write_as(site, CLEO, SORTING, TEAM, "named by markup")
    expect(ben.page.locator(".message").last).to_contain_text(markup)
    assert ben.page.locator("main img, main b").count() == 0


def write_as(site: Site, user: str, item: str, participant: str, text: str) -> None:
    """Write into a thread over the API."""
    identity = issue_development_token(development_key(site.folder / "keys"), user, audience="keyplan")
    with httpx.Client(base_url=f"{site.url}/forum", timeout=60, trust_env=False) as client:
        headers = {"Authorization": f"Bearer {identity}"}
        view = client.get(f"/items/{item}/participant/{participant}/thread", headers=headers).raise_for_status().json()
        body = {"text": text, "uuid": str(uuid.uuid4())}
        headers = {"Authorization": f"Bearer {view['token']}"}
        client.post(f"/thread/{item}/{participant}/messages", json=body, headers=headers).raise_for_status()


@contextmanager
def server(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """Run `keyplan up` as a separate process, and kill it at the end."""
    command = [sys.executable, "-m", "keyplan", "up", "--system", "forum", "--port", str(port), "--folder", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while "stop with" not in (line := process.stdout.readline()):
                assert line, "the server did not start"
            yield process
        finally:
            process.kill()


def test_a_killed_server_loses_no_message(windows: Windows, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = Site(f"http://127.0.0.1:{port}", tmp_path / "data")
    with server(place.folder, port):
        ann, tutor = (open_thread(windows, place, person) for person in (ANN, TUTOR))
        for window in (ann, tutor):
            window.expected += ["ERR_CONNECTION_REFUSED", "WebSocket", "Failed to load resource"]
            wait_until_live(window.page)
        say(tutor.page, "before the crash")
        expect(ann.page.locator(".message").last).to_contain_text("before the crash")
    expect(ann.page.locator("#connection")).to_contain_text("Reconnecting")
    say(ann.page, "written without a server")
    with server(place.folder, port):
        for window in (ann, tutor):
            wait_until_live(window.page)
            expect(window.page.locator(".message:not(.pending)", has_text="written without a server")).to_have_count(1)
            assert window.page.locator(".message .text").all_text_contents()[-2:] == [
                "before the crash",
                "written without a server",
            ]


def close_as(site: Site, participant: str, item: str) -> None:
    """Close a thread as its participant, over the API."""
    token = issue_development_token(development_key(site.folder / "keys"), participant, audience="keyplan")
    response = httpx.put(
        f"{site.url}/forum/items/{item}/participant/{participant}/thread",
        json={"status": "closed"},
        headers={"Authorization": f"Bearer {token}"},
        timeout=60,
        trust_env=False,
    )
    assert response.status_code == 200, response.text


def test_the_participant_follows_an_opened_thread_until_asking_to_stop(windows: Windows, site: Site) -> None:
    ann = windows.open(site.url, scripts=False)
    page = ann.sign_in("forum", ANN, f"/forum/app/threads/{LOOPS}/{ANN}")
    page.get_by_role("button", name="Stop following").click()
    expect(page.get_by_role("button", name="Follow this thread")).to_be_visible()
    page.get_by_role("button", name="Follow this thread").click()
    expect(page.get_by_role("button", name="Stop following")).to_be_visible()


def test_notifications_are_read_and_deleted_without_javascript(windows: Windows, site: Site) -> None:
    event = "read-without-scripts"
    with keyplan.connect(site.url) as db:
        db.run(
            design.notify(
                Notification(
                    user_id=ANN,
                    at_ms=1_700_000_000_000,
                    event_id=event,
                    participant_id=ANN,
                    item_id=LOOPS,
                    author_id=TUTOR,
                    excerpt="Look at the condition",
                    ttl=4_000_000_000,
                )
            )
        )
    ann = windows.open(site.url, scripts=False, width=PHONE)
    page = ann.sign_in("forum", ANN, "/forum/app/notifications")
    entry = page.locator(".notification", has_text="Look at the condition")
    entry.get_by_role("button", name="Mark as read").click()
    entry.get_by_role("button", name="Mark as unread").click()
    page.get_by_role("button", name="Mark all as read").click()
    expect(page.get_by_role("status").first).to_have_text("All notifications are marked as read.")
    entry.get_by_role("button", name="Delete", exact=True).click()
    expect(entry).to_have_count(0)


def test_a_thread_stays_marked_as_unread_behind_many_newer_notifications(windows: Windows, site: Site) -> None:
    first_ms = 1_700_000_000_000
    with keyplan.connect(site.url) as db:
        for number in range(130):
            is_old = number == 0
            db.run(
                design.notify(
                    Notification(
                        user_id=TUTOR,
                        at_ms=first_ms + number,
                        event_id=f"many-{number}",
                        participant_id=DINA if is_old else BEN,
                        item_id=DICTIONARIES if is_old else VARIABLES,
                        author_id=BEN,
                        excerpt="an old one" if is_old else "a newer one",
                        is_read=not is_old,
                        ttl=4_000_000_000,
                    )
                )
            )
    tutor = windows.open(site.url, scripts=False)
    page = tutor.sign_in("forum", TUTOR, "/forum/app/others")
    expect(page.locator("a.thread", has_text="Dictionaries · Dina")).to_contain_text("1 new")
    page.get_by_role("link", name="Dictionaries · Dina").click()
    page.goto(f"{site.url}/forum/app/others")
    expect(page.locator("a.thread", has_text="Dictionaries · Dina")).not_to_contain_text("new")


def test_the_list_to_answer_is_read_again_from_time_to_time(windows: Windows, site: Site) -> None:
    tutor = windows.open(site.url)
    tutor.page.clock.install()
    page = tutor.sign_in("forum", TUTOR, "/forum/app/others?status=waiting_for_trainer")
    wait_until_live(page)
    ann = windows.open(site.url, scripts=False)
    ann.sign_in("forum", ANN, f"/forum/app/threads/{RECURSION}/{ANN}")
    ann.page.get_by_label("Whom to ask").select_option("Tutors")
    ann.page.get_by_label("What do you need help with?").fill("How does it end?")
    ann.page.get_by_role("button", name="Ask").click()
    expect(ann.page.locator(".message")).to_have_count(1)
    page.clock.run_for(25_000)
    expect(page.get_by_role("link", name="Recursion · Ann")).to_be_visible()


def test_a_silent_connection_is_given_up_and_opened_again_with_growing_pauses(windows: Windows, site: Site) -> None:
    ann = windows.open(site.url)
    page, opened, heartbeats = ann.page, list[int](), list[str]()
    mode = {"is_silent": False, "is_refusing": False}

    def proxy(route: WebSocketRoute) -> None:
        opened.append(1)
        if mode["is_refusing"]:
            route.close()
            return
        server = route.connect_to_server()

        def to_server(message: str | bytes) -> None:
            if "heartbeat" in str(message):
                heartbeats.append(str(message))
            server.send(message)

        route.on_message(to_server)
        server.on_message(lambda message: None if mode["is_silent"] else route.send(message))

    page.route_web_socket("**/forum/ws", proxy)
    page.clock.install()
    ann.sign_in("forum", ANN, f"/forum/app/threads/{LOOPS}/{ANN}")
    wait_until_live(page)
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
    sent = len(heartbeats)
    mode.update(is_silent=True, is_refusing=True)
    page.clock.run_for(25_000)
    until(page, lambda: len(heartbeats) > sent)
    expect(page.locator("body")).to_have_attribute("data-connection", "live")
    page.clock.run_for(10_000)
    expect(page.locator("body")).to_have_attribute("data-connection", "reconnecting")
    started_ms, waited_ms = page.evaluate("Date.now()"), list[int]()
    for tries in range(len(opened), len(opened) + 5):
        until(page, lambda tries=tries: len(opened) > tries)  # type: ignore[misc]
        now_ms = page.evaluate("Date.now()")
        waited_ms.append(now_ms - started_ms)
        started_ms = now_ms
    # Each pause is 50 to 100 % of 500 ms, 1 s, 2 s, 4 s, 8 s; a busy machine reports each attempt later.
    assert all(pause_ms > 200 * 2**number for number, pause_ms in enumerate(waited_ms)), waited_ms
    assert waited_ms[-1] - waited_ms[0] > 3_000, waited_ms
    mode.update(is_silent=False, is_refusing=False)
    page.clock.resume()
    page.clock.run_for(30_000)
    wait_until_live(page)


def until(page: Page, holds: Callable[[], bool]) -> None:
    """Wait until a condition holds; the page's clock, which stands still, advances by 20 ms each time."""
    for _ in range(PATIENCE_MS // 10):
        if holds():
            return
        page.clock.run_for(20)
    raise AssertionError("the condition does not hold")
