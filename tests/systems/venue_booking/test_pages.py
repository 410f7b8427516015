"""Pages in Chromium: calendar, requests, own bookings, administration; also of people who act at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import httpx
import pytest
from playwright.sync_api import Dialog, Page, expect
from tests.browser import PHONE, Site, Window, Windows

from keyplan_systems.venue_booking.domain.venue import Venue

APP = "/venue_booking/app"
EVIL = '<img src=x onerror=alert(1)>"><script>alert(2)</script> javascript:alert(3)'
CSRF = re.compile(r'name="csrf" content="([0-9a-f]+)"')
LOOKS = [(PHONE, False), (PHONE, True), (1280, False), (1280, True)]


@pytest.fixture(scope="module")
def site(serve: Callable[..., Site]) -> Site:
    return serve("venue_booking")


@pytest.fixture(scope="module")
def days() -> Callable[[], date]:
    """Return a function that returns another bookable day at each call, after all days of the sample."""
    offsets = iter(range(60, 700))
    first = Venue().earliest_date(datetime.now(ZoneInfo("UTC")))
    return lambda: first + timedelta(days=next(offsets))


def signed_in(windows: Windows, site: Site, person: str, **options: object) -> Window:
    """Open a window of a sample person."""
    window = windows.open(site.url, **options)  # type: ignore[arg-type]
    window.sign_in("venue_booking", person)
    return window


def fill_request(window: Window, day: date, duration: str = "EVENING", **values: str) -> Page:
    """Fill the request form without sending it."""
    page = window.goto(f"{APP}/request?date={day}&duration={duration}")
    page.get_by_label("Occasion").fill(values.get("description", "Rehearsal of the choir"))
    page.get_by_label("Number of people").fill(values.get("attendees", "25"))
    if "full_name" in values:
        page.get_by_label("Full name").fill(values["full_name"])
    if "association" in values:
        page.get_by_label("Association").fill(values["association"])
    # Another address each time, because one address is sent ten letters a day at most.
    page.get_by_label("Email address").fill(f"choir-{day}-{duration.lower()}@example.org")
    page.get_by_label("Telephone").fill(values.get("phone", "+39 333 7654321"))
    page.get_by_label("I agree").check()
    return page


def request_booking(window: Window, day: date, duration: str = "EVENING", **values: str) -> str:
    """Send a request and return the path of its page."""
    page = fill_request(window, day, duration, **values)
    page.get_by_role("button", name="Send the request").click()
    page.wait_for_url("**/app/bookings/*")
    return page.url.removeprefix(window.url)


PAGES = {
    "calendar": ("ada", ""),
    "request": ("ada", "request?date=2030-01-01&duration=EVENING"),
    "bookings": ("ada", "bookings"),
    "booking": ("ada", "bookings/{approved}"),
    "profile": ("ada", "profile"),
    "decision": ("carla", "inbox/{waiting}"),
    "inbox": ("carla", "inbox"),
    "events": ("carla", "events"),
    "event": ("carla", "events/{event}"),
    "people": ("carla", "people"),
    "log": ("carla", "log"),
    "refused": ("ada", "inbox"),
    "unknown": ("ada", "bookings/unknown"),
    "approved": ("carla", "inbox?status=approved"),
    "day": ("carla", "?day=2030-01-01"),
}


def test_no_page_is_left_out_of_the_checks(site: Site) -> None:
    assert site.unvisited(f"{APP}/{path}" for _, path in PAGES.values()) == set()


def sample_ids(window: Window, path: str) -> str:
    """Return a page's path with IDs of the sample in place of names in braces."""
    lists = {"approved": "inbox?status=approved", "waiting": "inbox", "event": "events"}
    for name, listed in lists.items():
        if f"{{{name}}}" in path:
            page = window.goto(f"{APP}/{'bookings' if name == 'approved' else listed}")
            cards = page.locator("a.card.entry")
            actual_cards = cards.filter(has=window.page.locator(".tag.good")) if name == "approved" else cards
            target = actual_cards.first.get_attribute("href")
            assert target is not None
            path = path.replace(f"{{{name}}}", target.rpartition("/")[2])
    return path


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_every_page_is_accessible_fits_phones_and_is_light(
    windows: Windows, site: Site, width: int, dark: bool
) -> None:
    look = f"{width}-{'dark' if dark else 'light'}"
    for name, window in every_page(windows, site, width=width, dark=dark):
        window.screenshot(f"venue-{name}-{look}")
        weight = window.weight()
        assert weight["bytes"] < 100_000, name
        print(f"{name} {look}: first paint {weight['paint_ms']:.0f} ms, {weight['bytes']} bytes")


@pytest.mark.parametrize("width", [PHONE, 1280])
@pytest.mark.parametrize("language", ["it", "de"])
def test_every_page_fits_in_the_other_languages(windows: Windows, site: Site, language: str, width: int) -> None:
    for name, window in every_page(windows, site, width=width, locale=language):
        assert window.page.locator("html").get_attribute("lang") == language
        window.screenshot(f"venue-{name}-{width}-{language}")


def every_page(windows: Windows, site: Site, **options: object) -> Iterator[tuple[str, Window]]:
    """Check and yield every page, and the request form with its errors."""
    people = {name: signed_in(windows, site, name, **options) for name in ("ada", "carla")}
    for window in people.values():
        window.expected += ["403", "404", "422"]
    for name, (person, path) in {**PAGES, "errors": ("ada", "request?date=2020-01-01")}.items():
        window = people[person]
        page = window.goto(f"{APP}/{sample_ids(window, path)}")
        if name == "errors":
            page.evaluate("document.querySelector('main form').noValidate = true")
            page.locator("main form button.primary").click()
            expect(page.locator("#description-error")).to_be_visible()
        window.check_layout()
        window.check_accessibility()
        yield name, window


def test_the_calendar_shows_free_and_reserved_hours_as_words_and_shapes(windows: Windows, site: Site) -> None:
    window = windows.open(site.url)
    first = Venue().earliest_date(datetime.now(ZoneInfo("UTC")))
    for offset, words, shape in ((1, "Afternoon taken", "taken"), (4, "Morning closed", "closed")):
        day = first + timedelta(days=offset)
        page = window.goto(f"{APP}/?month={day:%Y-%m}")
        cell = page.locator(f'a[data-day][href*="day={day}"]')
        assert words in (cell.get_attribute("aria-label") or "")
        assert cell.locator(f".slot.{shape}").count() > 0
        assert cell.locator("small").first.is_visible()
        cell.click()
        panel = page.get_by_role("region", name=re.compile(f"{day.day} "))
        assert panel.get_by_text(shape, exact=True).count() > 0


def test_visitors_see_public_titles_and_no_private_ones(windows: Windows, site: Site) -> None:
    day = Venue().earliest_date(datetime.now(ZoneInfo("UTC"))) + timedelta(days=7)
    page = windows.open(site.url).goto(f"{APP}/?day={day}")
    assert page.get_by_text("Reserved", exact=True).is_visible()
    assert "Giulia" not in page.content()
    page = signed_in(windows, site, "ada").goto(f"{APP}/?day={day}")
    assert page.get_by_role("link", name="Festa di compleanno di Giulia").is_visible()


def test_arrow_keys_move_between_days(windows: Windows, site: Site) -> None:
    page = windows.open(site.url).goto(f"{APP}/")
    days = page.locator("a[data-day]")
    days.first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.querySelector('b').textContent.trim()") == "8"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.querySelector('b').textContent.trim()") == "9"


def test_a_visitor_signs_in_on_the_way_to_the_request(windows: Windows, site: Site, days: Callable[[], date]) -> None:
    window, day = windows.open(site.url, scripts=False), days()
    page = window.goto(f"{APP}/?day={day}")
    page.get_by_role("link", name="Request Evening").click()
    page.get_by_role("button", name="Sign in as Ada Rossi").click()
    assert page.get_by_label("Date").input_value() == str(day)
    assert page.get_by_role("radio", name="Evening").is_checked()


def test_the_request_form_keeps_the_typed_text_and_shows_messages_next_to_fields(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    window = signed_in(windows, site, "ada", scripts=False)
    window.expected.append("422")
    page = fill_request(window, days(), description="Choir", attendees="99", phone="12", association="Coro")
    page.evaluate("document.querySelector('main form').noValidate = true")
    page.get_by_label("Email address").fill("not an address")
    page.get_by_role("button", name="Send the request").click()
    expect(page.get_by_role("alert")).to_contain_text("was not sent")
    email = page.get_by_label("Email address")
    assert email.input_value() == "not an address"
    assert "Enter an email address" in page.locator("#email-error").inner_text()
    assert email.get_attribute("aria-describedby") == "email-error"
    assert page.get_by_label("Occasion").input_value() == "Choir"
    assert page.get_by_label("Association").input_value() == "Coro"
    assert page.get_by_label("I agree").is_checked()
    email.fill("ada@example.org")
    page.get_by_role("button", name="Send the request").click()
    assert "Enter a telephone number" in page.locator("#phone-error").inner_text()
    page.get_by_label("Telephone").fill("333 1234567")
    page.get_by_role("button", name="Send the request").click()
    page.wait_for_url("**/app/bookings/*")
    expect(page.get_by_text("Your request was sent")).to_be_visible()


def test_the_limits_of_the_venue_are_stated_next_to_their_fields(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    window = signed_in(windows, site, "ada")
    window.expected.append("422")
    page = fill_request(window, days(), attendees="300")
    page.evaluate("document.querySelector('main form').noValidate = true")
    page.get_by_role("button", name="Send the request").click()
    assert "holds 100 people at most" in page.locator("#attendees-error").inner_text()
    page.get_by_label("Number of people").fill("20")
    page.get_by_label("Date").fill("2020-01-01")
    page.evaluate("document.querySelector('main form').noValidate = true")
    page.get_by_role("button", name="Send the request").click()
    assert "Choose a date from" in page.locator("#date-error").inner_text()


def test_a_form_that_is_sent_twice_creates_one_request(site: Site, days: Callable[[], date]) -> None:
    headers = {"Accept": "text/html", "Accept-Language": "en"}
    with httpx.Client(base_url=site.url, headers=headers, timeout=60, follow_redirects=True) as client:
        sign_in(client, "bruno")
        page = client.get(f"{APP}/request").text
        key = re.search(r'name="key" value="([^"]+)"', page)
        assert key is not None
        form = {
            "csrf": token_in(page), "key": key[1], "date": str(days()), "duration": "EVENING", "description": "Choir",
            "attendees": "20", "full_name": "Bruno", "email": "bruno@example.org", "phone": "+393331234567",
            "consent": "yes", "language": "en",
        }  # fmt: skip
        sent = [client.post(f"{APP}/request", data=form) for _ in range(2)]
        assert sent[0].url == sent[1].url
        other = client.post(f"{APP}/request", data={**form, "attendees": "21"})
        assert other.status_code == 422
        assert "sent before with other content" in other.text


def sign_in(client: httpx.Client, person: str) -> None:
    """Sign a client in as a sample person."""
    token = token_in(client.get("/sign-in").text)
    form = {"csrf": token, "system": "venue_booking", "subject": person, "next": f"{APP}/"}
    client.post("/sign-in", data=form)


def token_in(page: str) -> str:
    """Return the token that a page repeats in its forms."""
    match = CSRF.search(page)
    assert match is not None
    return match[1]


def test_cancelling_frees_the_hours_again(windows: Windows, site: Site, days: Callable[[], date]) -> None:
    ada, carla, day = signed_in(windows, site, "ada", width=PHONE), signed_in(windows, site, "carla"), days()
    path = request_booking(ada, day, "FULL_DAY")
    review = carla.goto(path.replace("/bookings/", "/inbox/"))
    review.get_by_role("button", name="Approve").click()
    expect(review.get_by_text("Approved. The email is on its way")).to_be_visible()
    page = ada.goto(f"{APP}/bookings")
    card = page.locator("a.card", has_text=f"{day.day} {day:%B %Y}")
    assert "Approved" in card.inner_text()
    card.click()
    page.get_by_text("Cancel this booking").click()
    page.get_by_label("Message").fill("We moved")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel the booking").click()
    expect(page.get_by_text("The booking is cancelled")).to_be_visible()
    assert page.get_by_role("button", name="Cancel the booking").count() == 0
    panel = ada.goto(f"{APP}/?day={day}").locator("#day")
    assert panel.get_by_text("free", exact=True).count() == 3


def test_a_stranger_cannot_find_out_that_a_booking_exists(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    path = request_booking(signed_in(windows, site, "ada"), days())
    bruno = signed_in(windows, site, "bruno")
    bruno.expected += ["404", "403"]
    assert bruno.goto(path).get_by_role("heading", name="Not found").is_visible()
    assert bruno.goto(f"{APP}/inbox").get_by_role("heading", name="Not allowed").is_visible()
    assert bruno.page.get_by_role("link", name="Inbox").count() == 0


def test_the_letter_is_previewed_during_writing_and_shown_after_the_decision(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    path = request_booking(signed_in(windows, site, "ada"), days())
    page = signed_in(windows, site, "carla").goto(path.replace("/bookings/", "/inbox/"))
    approval = page.get_by_role("region", name="Email if you approve")
    assert "la richiesta è confermata" in approval.inner_text()
    page.get_by_label("Message in the email").fill("The key is next door <b>")
    expect(approval).to_contain_text("The key is next door <b>")
    preview = approval.locator("pre").inner_text()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Approved. The email is on its way")).to_be_visible()
    letter = page.locator("details", has_text="Confirmation")
    letter.locator("summary").click()
    assert letter.locator("pre").inner_text() == preview
    assert page.locator("details", has_text="To administrators: new request").count() == 1


def test_the_preview_works_without_javascript(windows: Windows, site: Site, days: Callable[[], date]) -> None:
    path = request_booking(signed_in(windows, site, "ada"), days())
    window = signed_in(windows, site, "carla", scripts=False)
    page = window.goto(path.replace("/bookings/", "/inbox/"))
    page.get_by_label("Message in the email").fill("Bring chairs")
    page.get_by_role("button", name="Update the preview").click()
    assert "Bring chairs" in page.get_by_role("region", name="Email if you reject").inner_text()
    assert page.get_by_label("Message in the email").input_value() == "Bring chairs"
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("Rejected. The email is on its way")).to_be_visible()


def test_the_whole_way_of_a_booking_works_without_javascript(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    ada, carla = signed_in(windows, site, "ada", scripts=False), signed_in(windows, site, "carla", scripts=False)
    path = request_booking(ada, days())
    page = carla.goto(path.replace("/bookings/", "/inbox/"))
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Approved. The email is on its way")).to_be_visible()
    page.get_by_label("Amount in euros").fill("20")
    page.get_by_role("button", name="Record the payment").click()
    expect(page.get_by_text("Recorded: €20.00")).to_be_visible()
    page.get_by_role("button", name="Issue a door code").click()
    expect(page.locator(".code")).to_be_visible()
    own = ada.goto(path)
    own.get_by_text("Cancel this booking").click()
    own.get_by_role("button", name="Cancel the booking").click()
    expect(own.get_by_text("The booking is cancelled")).to_be_visible()
    day = days()
    add_event(carla, day, "EVENING", "Film night")
    carla.page.locator("a.card", has_text="Film night").first.click()
    carla.page.get_by_role("button", name="Remove").click()
    expect(carla.page.get_by_text("Removed: Film night")).to_be_visible()


def test_one_of_two_concurrent_requests_for_the_same_hours_can_be_approved(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    ada, bruno, carla, day = (
        signed_in(windows, site, "ada"),
        signed_in(windows, site, "bruno"),
        signed_in(windows, site, "carla"),
        days(),
    )
    pages = [fill_request(window, day, duration) for window, duration in ((ada, "FULL_DAY"), (bruno, "EVENING"))]
    for page in pages:
        page.get_by_role("button", name="Send the request").click(no_wait_after=True)
    for page in pages:
        page.wait_for_url("**/app/bookings/*")
        expect(page.get_by_text("It does not reserve the hours yet")).to_be_visible()
    inbox = carla.goto(f"{APP}/inbox?month={day:%Y-%m}")
    cards = inbox.locator("a.card", has_text=f"{day.day} {day:%B %Y}")
    assert cards.count() == 2
    assert inbox.get_by_text("1 other request for these hours").count() == 2
    cards.filter(has_text="Ada Rossi").click()
    assert inbox.get_by_role("link", name="Bruno Conti: Evening").is_visible()
    inbox.get_by_role("button", name="Approve").click()
    expect(inbox.get_by_text("Approved. The email is on its way")).to_be_visible()
    carla.goto(f"{APP}/inbox?month={day:%Y-%m}")
    other = inbox.locator("a.card", has_text=f"{day.day} {day:%B %Y}")
    assert "Conflict: Evening taken" in other.inner_text()
    other.click()
    assert inbox.get_by_text("This request cannot be approved").is_visible()
    assert inbox.get_by_role("button", name="Approve").is_disabled()


def test_the_slower_of_two_concurrent_decisions_is_rejected_with_an_explanation(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    path = request_booking(signed_in(windows, site, "ada"), days()).replace("/bookings/", "/inbox/")
    both = [signed_in(windows, site, "carla") for _ in range(2)]
    for window, button in zip(both, ("Approve", "Reject"), strict=True):
        window.expected.append("409")
        window.goto(path).get_by_label("Message in the email").fill(f"Note of {button}")
        window.page.on("dialog", lambda dialog: dialog.accept())
    for window, button in zip(both, ("Approve", "Reject"), strict=True):
        window.page.get_by_role("button", name=button).click(no_wait_after=True)
    for window in both:
        expect(window.page.get_by_text(re.compile("email is on its way|no email was sent"))).to_be_visible()
    won = [window.page.get_by_text("email is on its way").is_visible() for window in both]
    assert sorted(won) == [False, True]
    late = both[won.index(False)]
    alert = late.page.get_by_role("alert").inner_text()
    assert re.search("faster|changed this", alert)
    assert late.page.get_by_label("Message in the email").input_value().startswith("Note of") or won[1]


def test_one_of_two_concurrent_approvals_of_rival_requests_gets_the_hours(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    day, ada, bruno = days(), signed_in(windows, site, "ada"), signed_in(windows, site, "bruno")
    paths = [request_booking(window, day, "HALF_DAY_MORNING") for window in (ada, bruno)]
    both = [signed_in(windows, site, "carla") for _ in paths]
    for window, path in zip(both, paths, strict=True):
        window.expected.append("409")
        window.goto(path.replace("/bookings/", "/inbox/"))
    for window in both:
        window.page.get_by_role("button", name="Approve").click(no_wait_after=True)
    for window in both:
        expect(window.page.get_by_text(re.compile("email is on its way|no email was sent"))).to_be_visible()
    late = [window for window in both if window.page.get_by_role("alert").count()]
    assert len(late) == 1
    expect(late[0].page.get_by_role("alert")).to_contain_text(re.compile("Already taken.*Morning|try again"))


def test_hours_reserved_while_the_form_is_filled_in_are_reported(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    day, ada, carla = days(), signed_in(windows, site, "ada"), signed_in(windows, site, "carla")
    ada.expected.append("409")
    form = fill_request(ada, day, description="A party that comes too late")
    add_event(carla, day, "EVENING", "Closed for repairs", "closure")
    form.get_by_role("button", name="Send the request").click()
    expect(form.get_by_role("alert")).to_contain_text("Somebody else has taken these hours")
    assert "Evening" in form.locator("#duration-error").inner_text()
    assert form.get_by_label("Occasion").input_value() == "A party that comes too late"
    form.get_by_role("link", name="See what is free on this day").click()
    assert "Closed for repairs" in form.locator("#day").inner_text()


def add_event(
    window: Window, day: date, duration: str, title: str, kind: str = "public_event", *, description: str = ""
) -> None:
    """Enter an event as an administrator."""
    page = window.goto(f"{APP}/events?date={day}")
    page.get_by_label("Kind").select_option(kind)
    page.get_by_label("Time of day").select_option(duration)
    page.get_by_label("Title").fill(title)
    page.get_by_label("Description").fill(description)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text(f"Added: {title}")).to_be_visible()


def test_events_and_closures_are_created_shown_and_removed(
    windows: Windows, site: Site, days: Callable[[], date]
) -> None:
    carla, visitor, day = signed_in(windows, site, "carla"), windows.open(site.url), days()
    carla.expected.append("422")
    add_event(carla, day, "FULL_DAY", "Spring cleaning", "closure")
    panel = visitor.goto(f"{APP}/?day={day}").locator("#day")
    assert panel.get_by_text("closed", exact=True).count() == 3
    assert "Spring cleaning" in panel.inner_text()
    assert panel.get_by_role("link", name="Request").count() == 0
    page = carla.goto(f"{APP}/events?date={day}")
    page.get_by_label("Title").fill("A second one")
    page.get_by_role("button", name="Add", exact=True).click()
    assert "Already taken" in page.get_by_text("Already taken").first.inner_text()
    assert page.get_by_label("Title").input_value() == "A second one"
    page.get_by_role("link", name="Spring cleaning").click()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Removed: Spring cleaning")).to_be_visible()
    assert visitor.goto(f"{APP}/?day={day}").locator("#day").get_by_text("free", exact=True).count() == 3


def test_payments_and_door_codes_are_shown_to_the_owner(windows: Windows, site: Site, days: Callable[[], date]) -> None:
    ada, carla = signed_in(windows, site, "ada"), signed_in(windows, site, "carla")
    carla.expected.append("422")
    path = request_booking(ada, days())
    page = carla.goto(path.replace("/bookings/", "/inbox/"))
    page.get_by_role("button", name="Approve").click()
    page.get_by_label("Amount in euros").fill("much")
    page.get_by_role("button", name="Record the payment").click()
    assert "Enter an amount above 0" in page.locator("#amount-error").inner_text()
    page.get_by_label("Amount in euros").fill("49,50")
    page.get_by_label("Paid by").select_option("card")
    page.get_by_role("button", name="Record the payment").click()
    expect(page.get_by_text("Recorded: €49.50")).to_be_visible()
    page.get_by_role("button", name="Issue a door code").click()
    expect(page.get_by_text("A new door code is valid")).to_be_visible()
    code = page.locator(".code").inner_text()
    assert re.fullmatch(r"\d{6}", code)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Issue a new door code").click()
    expect(page.locator(".code")).not_to_have_text(code)
    owner = ada.goto(path)
    assert owner.locator(".code").inner_text() == page.locator(".code").inner_text()
    assert "€49.50" in owner.locator("#payments").inner_text()
    assert owner.get_by_role("button", name="Record the payment").count() == 0
    assert "Recorded a payment" in carla.goto(f"{APP}/log").content()


def test_the_feed_is_linked_for_browsers_and_calendar_programs(windows: Windows, site: Site) -> None:
    window = windows.open(site.url)
    page = window.goto(f"{APP}/")
    page.get_by_text("Subscribe to this calendar").click()
    address = page.get_by_label("Events and closures").input_value()
    webcal = page.get_by_role("link", name="Open in the calendar program").first.get_attribute("href")
    assert webcal == address.replace("http://", "webcal://")
    page.get_by_role("button", name="Copy the address").first.click()
    expect(page.get_by_text("Copied")).to_be_visible()
    feed = httpx.get(address, timeout=60)
    assert "Mercatino" in feed.text
    assert "Giulia" not in feed.text


@pytest.mark.parametrize(
    ("button", "language", "month", "status", "letter"),
    [
        ("Italiano", "it", "dicembre", "In attesa", "E-mail se approva"),
        ("Deutsch", "de", "Dezember", "Wartet", "E-Mail, wenn Sie bestätigen"),
    ],
)
def test_all_pages_are_in_the_chosen_language(
    windows: Windows, site: Site, button: str, language: str, month: str, status: str, letter: str
) -> None:
    window = signed_in(windows, site, "carla", scripts=False)
    page = window.goto(f"{APP}/?month=2026-12")
    page.locator("details.languages summary").click()
    page.get_by_role("button", name=button).click()
    assert page.locator("html").get_attribute("lang") == language
    assert month in page.get_by_role("heading", level=1).inner_text().lower() or month in page.content()
    assert page.url.endswith("?month=2026-12")
    inbox = window.goto(f"{APP}/inbox")
    assert status in inbox.content()
    inbox.locator("a.card.entry", has_text="Laboratorio di ceramica").click()
    assert letter in page.content()
    window.expected.append("404")
    for path in ("", "request", "bookings", "inbox", "events", "people", "log", "profile", "bookings/unknown"):
        content = window.goto(f"{APP}/{path}")
        assert content.locator("html").get_attribute("lang") == language
        text = content.locator("body").inner_text()
        assert not re.search(r"\b(Calendar|Inbox|Sign out|Not found|Show|optional|Waiting)\b", text), path


@pytest.mark.parametrize(
    ("language", "button", "signed_out", "unreachable"),
    [
        ("it", "Accedi come Ada Rossi", "Uscita effettuata.", "Il server non è raggiungibile. Riprovi."),
        ("de", "Anmelden als Ada Rossi", "Sie sind abgemeldet.", "Der Server ist nicht erreichbar."),
    ],
)
def test_signing_in_and_messages_of_scripts_are_in_the_language_of_the_venue(
    windows: Windows, site: Site, language: str, button: str, signed_out: str, unreachable: str
) -> None:
    window = windows.open(site.url, width=PHONE, locale=language)
    window.expected.append("ERR_FAILED")
    page = window.goto(f"{APP}/bookings")
    assert page.locator("html").get_attribute("lang") == language
    window.check_accessibility()
    window.check_layout()
    window.screenshot(f"venue-sign-in-{language}")
    page.get_by_role("button", name=button).click()
    page.wait_for_url(f"**{APP}/bookings")
    page.route("**/bookings?after=*", lambda route: route.abort())
    page.evaluate("""() => {
      const link = Object.assign(document.createElement("a"), {href: "?after=x"});
      link.dataset.more = "#bookings";
      document.querySelector("main").append(link);
      link.click();
    }""")
    expect(page.locator("#toasts")).to_contain_text(unreachable)
    page.locator("header details.menu").last.locator("summary").click()
    page.locator('form[action$="/sign-out"] button').click()
    expect(page.get_by_role("status").first).to_have_text(signed_out)
    assert page.locator("html").get_attribute("lang") == language


def test_a_form_of_an_old_session_is_rejected_in_the_language_of_the_page(windows: Windows, site: Site) -> None:
    window = signed_in(windows, site, "ada", locale="de")
    window.expected.append("403")
    page = window.goto(f"{APP}/profile")
    page.evaluate("document.querySelector('main form [name=csrf]').value = '0'")
    page.locator("main form").first.locator("button").first.click()
    expect(page.get_by_text("Diese Seite ist veraltet.")).to_be_visible()
    window.check_accessibility()


def test_a_visitor_chooses_a_language_without_an_account(windows: Windows, site: Site) -> None:
    page = windows.open(site.url, width=PHONE, scripts=False).goto(f"{APP}/")
    page.locator("details.languages summary").click()
    page.get_by_role("button", name="Deutsch").click()
    assert page.get_by_role("link", name="Anmelden").is_visible()
    assert "language=de" in page.locator("#feed-public").input_value()


def test_the_profile_keeps_the_typed_text_and_saves_it(windows: Windows, site: Site) -> None:
    window = signed_in(windows, site, "bruno", scripts=False)
    window.expected.append("422")
    page = window.goto(f"{APP}/profile")
    page.get_by_label("Telephone").fill("12")
    page.get_by_label("Name").fill("Bruno C. Conti")
    page.get_by_role("button", name="Save").click()
    assert "Enter a telephone number" in page.locator("#phone-error").inner_text()
    assert page.get_by_label("Name").input_value() == "Bruno C. Conti"
    page.get_by_label("Name").fill("Bruno Conti")
    page.get_by_label("Telephone").fill("333 7654321")
    page.get_by_role("button", name="Save").click()
    assert page.get_by_label("Telephone").input_value() == "+393337654321"


def test_an_approved_booking_is_revoked_with_a_letter(windows: Windows, site: Site, days: Callable[[], date]) -> None:
    ada, carla, day = signed_in(windows, site, "ada"), signed_in(windows, site, "carla"), days()
    page = carla.goto(request_booking(ada, day).replace("/bookings/", "/inbox/"))
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Approved. The email is on its way")).to_be_visible()
    assert page.get_by_role("button", name="Approve").count() == 0
    page.get_by_label("Message in the email").fill("The roof leaks")
    questions: list[str] = []

    def refuse_first(dialog: Dialog) -> None:
        questions.append(dialog.message)
        dialog.dismiss() if len(questions) == 1 else dialog.accept()

    page.on("dialog", refuse_first)
    page.get_by_role("button", name="Reject").click()
    assert page.get_by_label("Message in the email").input_value() == "The roof leaks"
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("Rejected. The email is on its way")).to_be_visible()
    assert questions == ["Reject this approved booking? Its hours become free. This cannot be undone."] * 2
    page.locator("details", has_text="Rejection").locator("summary").click()
    assert "The roof leaks" in page.locator("details", has_text="Rejection").locator("pre").inner_text()


def test_an_address_is_verified_by_the_code_in_a_letter(windows: Windows, site: Site) -> None:
    window = signed_in(windows, site, "bruno")
    window.expected.append("422")
    page = window.goto(f"{APP}/profile")
    page.get_by_label("New address").fill("bruno.conti@example.net")
    page.get_by_role("button", name="Send me a code").click()
    expect(page.get_by_text("A code is on its way to bruno.conti@example.net")).to_be_visible()
    page.get_by_label("Code from the email").fill("0000-0000")
    page.get_by_role("button", name="Confirm the address").click()
    assert "You can try 4 more times" in page.locator("#code-error").inner_text()
    page.get_by_label("Code from the email").fill(code_in_letters(window, site))
    page.get_by_role("button", name="Confirm the address").click()
    expect(page.get_by_text("Your address is bruno.conti@example.net")).to_be_visible()
    carla = signed_in(windows, site, "carla")
    people = carla.goto(f"{APP}/people?email=bruno.conti@example.net")
    assert people.get_by_role("heading", name="Bruno Conti").is_visible()
    people.once("dialog", lambda dialog: dialog.accept())
    people.get_by_role("button", name="Release the address").click()
    expect(people.get_by_text("The address is released")).to_be_visible()


def code_in_letters(window: Window, site: Site) -> str:
    """Return the code of the only letter about an address; reload the page until the venue's worker has sent it."""
    for _ in range(200):
        for path in site.folder.rglob("*verify_email*.eml"):
            match = re.search(r"(?<![\w-])[0-9A-Z]{4}-[0-9A-Z]{4}(?![\w-])", path.read_text("utf-8"))
            if match is not None:
                return match[0]
        window.page.request.get(f"{window.url}{APP}/profile")
    raise AssertionError("no letter with a code")


def test_texts_of_users_are_escaped(windows: Windows, site: Site, days: Callable[[], date]) -> None:
    ada, carla, day = signed_in(windows, site, "ada"), signed_in(windows, site, "carla"), days()
    dialogs: list[str] = []

    def accept(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.accept()

    for window in (ada, carla):
        window.page.on("dialog", accept)
    path = request_booking(
        ada, day, "HALF_DAY_MORNING", description=f"{EVIL} event", full_name=f"{EVIL} name"[:100], association=EVIL
    )
    review = carla.goto(path.replace("/bookings/", "/inbox/"))
    review.get_by_label("Message in the email").fill(f"{EVIL} reason")
    expect(review.locator("#previews")).to_contain_text("reason")
    review.get_by_role("button", name="Approve").click()
    expect(review.get_by_text("email is on its way")).to_be_visible()
    add_event(carla, day, "EVENING", f"{EVIL} title", description=f"{EVIL} description")
    event = carla.page.locator("a.card", has_text="title").first.get_attribute("href")
    cancelled = request_booking(ada, days())
    ada.page.locator("details", has_text="Cancel this booking").locator("summary").click()
    ada.page.get_by_label("Message").fill(f"{EVIL} reason")
    ada.page.get_by_role("button", name="Cancel the booking").click()
    expect(ada.page.get_by_text("The booking is cancelled")).to_be_visible()
    rename(ada, EVIL)
    pages = [
        (ada, path), (ada, f"{APP}/bookings"), (ada, f"{APP}/?day={day}"), (carla, f"{APP}/?day={day}"),
        (carla, path.replace("/bookings/", "/inbox/")), (carla, f"{APP}/inbox?status=approved&month={day:%Y-%m}"),
        (carla, f"{APP}/events"), (carla, str(event)), (carla, f"{APP}/log"), (carla, f"{APP}/people"),
        (carla, cancelled.replace("/bookings/", "/inbox/")), (ada, f"{APP}/profile"),
        (ada, f"{APP}/request?date={EVIL}&duration={EVIL}"),
    ]  # fmt: skip
    for window, address in pages:
        page = window.goto(address)
        assert page.locator("img[src=x], main script").count() == 0, address
        is_in_field = "request?" in address or "profile" in address
        assert "<img src=x" in page.locator("body").inner_text() or is_in_field, address
        hrefs = page.locator("a").evaluate_all("links => links.map((link) => link.protocol)")
        assert set(hrefs) <= {"http:", "webcal:"}, address
    assert dialogs == ["Cancel this booking? This cannot be undone."]
    rename(ada, "Ada Rossi")


def rename(window: Window, name: str) -> None:
    """Change the name in the profile."""
    page = window.goto(f"{APP}/profile")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
