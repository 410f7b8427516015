"""Web Push: encrypted and signed messages, every kind of answer, the server's key, and the settings in a browser."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect
from tests.browser import Window, Windows, installed_browser
from tests.systems.ask_a_human.fake_push_service import ENDPOINT, FakeBrowser, FakePushService
from tests.systems.ask_a_human.page_site import PageSite, page_site
from tests.systems.ask_a_human.stage import Stage

from keyplan.clock import ManualClock
from keyplan_systems.ask_a_human import web_push
from keyplan_systems.ask_a_human.domain.notifications import DeadToken, Delivered, Outcome, Rejected, TryLater
from keyplan_systems.ask_a_human.domain.refusals import InvalidRequestError
from keyplan_systems.ask_a_human.notifier import PushMessage
from keyplan_systems.ask_a_human.outbox import OutboxNotifier
from keyplan_systems.ask_a_human.web_push import Dispatcher, PushTarget, WebPushNotifier
from keyplan_systems.web.files import KeyFileError
from keyplan_systems.web.secret import Secret

NOW_S = 1_770_033_600.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield the whole browser, because the headless shell does not show notifications."""
    with installed_browser(whole=True) as browser:
        yield browser


@pytest.fixture
def browser_keys() -> FakeBrowser:
    return FakeBrowser()


def message(to: FakeBrowser) -> PushMessage:
    token = PushTarget.parse(to.subscription).text
    return PushMessage(token, "q-1", "Somebody asks", "Which label is clearer?", "https://ask.example/q-1", 1800)


def sent(service: FakePushService, folder: Path, *messages: PushMessage) -> list[Outcome]:
    async def run() -> list[Outcome]:
        key = web_push.server_key(folder)
        notifier = WebPushNotifier(key, ManualClock(NOW_S), client=service.client())
        try:
            return [await notifier.send(payload) for payload in messages]
        finally:
            await notifier.close()

    return asyncio.run(run())


def test_a_message_is_encrypted_for_its_browser_and_signed_for_its_service(
    browser_keys: FakeBrowser, tmp_path: Path
) -> None:
    service = FakePushService()
    assert sent(service, tmp_path, message(browser_keys)) == [Delivered("https://x/m/1")]
    (request,) = service.requests
    assert str(request.url) == ENDPOINT
    assert (request.headers["TTL"], request.headers["Content-Encoding"]) == ("1800", "aes128gcm")
    assert b"label" not in request.content
    body = {"title": "Somebody asks", "body": "Which label is clearer?", "question_id": "q-1"}
    assert browser_keys.read(request.content) == body
    signed = request.headers["Authorization"].partition("t=")[2].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(signed + "=" * (-len(signed) % 4)))
    assert claims["aud"] == "https://updates.push.services.mozilla.com"
    assert claims["exp"] == NOW_S + 12 * 3600


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        (httpx.Response(404), DeadToken("404: ")),
        (httpx.Response(410, text="gone"), DeadToken("410: gone")),
        (httpx.Response(429, headers={"Retry-After": "17"}), TryLater("429: ", 17.0)),
        (httpx.Response(429), TryLater("429: ", 60.0)),
        (httpx.Response(503, headers={"Retry-After": "5"}), TryLater("503: ", 5.0)),
        (httpx.Response(500), TryLater("500: ", None)),
        (httpx.Response(403, text="bad key"), Rejected("403: bad key")),
        (httpx.Response(413), Rejected("413: ")),
        (httpx.Response(302, headers={"Location": "http://10.0.0.1/"}), Rejected("302: ")),
    ],
)
def test_each_response_of_a_push_service_has_its_result(
    response: httpx.Response, outcome: Outcome, browser_keys: FakeBrowser, tmp_path: Path
) -> None:
    assert sent(FakePushService([response]), tmp_path, message(browser_keys)) == [outcome]


@pytest.mark.parametrize(
    "endpoint",
    ["https://10.0.0.1/", "https://localhost/", "https://evil.example/", "https://fcm.googleapis.com.evil.example/"],
)
def test_nothing_is_sent_to_hosts_other_than_push_services(endpoint: str, tmp_path: Path) -> None:
    service = FakePushService()
    (outcome,) = sent(service, tmp_path, message(FakeBrowser(endpoint)))
    assert isinstance(outcome, DeadToken)
    assert service.requests == []


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "http://fcm.googleapis.com/x"}, {"endpoint": "https://user@fcm.googleapis.com/"},
        {"endpoint": 5}, {"keys": {}}, {"keys": {"p256dh": "AAAA", "auth": "AAAA"}}, {"keys": "none"},
    ],
)  # fmt: skip
def test_an_invalid_subscription_is_rejected(change: dict[str, Any], browser_keys: FakeBrowser, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="subscription"):
        PushTarget.parse({**browser_keys.subscription, **change})
    stored = replace(message(browser_keys), token=json.dumps({**browser_keys.subscription, **change}))
    (outcome,) = sent(FakePushService(), tmp_path, stored)
    assert isinstance(outcome, DeadToken)


def test_an_unreachable_service_is_retried_later(browser_keys: FakeBrowser, tmp_path: Path) -> None:
    def refuse(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route")

    client = httpx.AsyncClient(transport=httpx.MockTransport(refuse))
    notifier = WebPushNotifier(web_push.server_key(tmp_path), ManualClock(), client=client)
    assert isinstance(asyncio.run(notifier.send(message(browser_keys))), TryLater)


def test_other_tokens_go_to_the_other_notifier(browser_keys: FakeBrowser, tmp_path: Path) -> None:
    service, clock = FakePushService(), ManualClock()

    async def run() -> None:
        browsers = WebPushNotifier(web_push.server_key(tmp_path), clock, client=service.client())
        both = Dispatcher(browsers, OutboxNotifier(tmp_path / "outbox.jsonl", clock))
        await both.send(message(browser_keys))
        await both.send(replace(message(browser_keys), token="a-token-of-firebase"))
        await both.close()

    asyncio.run(run())
    assert len(service.requests) == 1
    assert "a-token-of-firebase" in (tmp_path / "outbox.jsonl").read_text("utf-8")


def test_the_servers_key_is_private_in_its_folder_or_derived_from_the_shared_secret(tmp_path: Path) -> None:
    first = web_push.public_key_text(web_push.server_key(tmp_path))
    assert web_push.public_key_text(web_push.server_key(tmp_path)) == first
    assert (tmp_path / web_push.KEY_FILE).stat().st_mode & 0o077 == 0
    replicas = [web_push.server_key(tmp_path / name, Secret(b"shared" * 6)) for name in ("a", "b")]
    assert len({web_push.public_key_text(key) for key in replicas} | {first}) == 2
    (tmp_path / web_push.KEY_FILE).chmod(0o644)
    with pytest.raises(KeyFileError, match="readable by other users"):
        web_push.server_key(tmp_path)
    (tmp_path / web_push.KEY_FILE).unlink()
    (tmp_path / web_push.KEY_FILE).write_text("no key", "utf-8")
    (tmp_path / web_push.KEY_FILE).chmod(0o600)
    with pytest.raises(KeyFileError, match="not a private key"):
        web_push.server_key(tmp_path)


def test_the_contact_is_a_url() -> None:
    assert web_push.contact_from({}) == web_push.DEFAULT_CONTACT
    with pytest.raises(ValueError, match="mailto"):
        web_push.contact_from({web_push.CONTACT_VARIABLE: "ops@example.org"})


# In the browser.

embedded = pytest.mark.embedded("the pages are the same wherever the tables are")
STUB = """(([subscription, permission]) => {
  let answer = permission;
  let made = permission === "granted" ? {toJSON: () => subscription} : null;
  window.asked = 0;
  Object.defineProperty(Notification, "permission", {get: () => answer});
  Notification.requestPermission = async () => { window.asked += 1; return (answer = "%s"); };
  PushManager.prototype.getSubscription = async () => made;
  PushManager.prototype.subscribe = async (options) => {
    window.serverKey = new Uint8Array(options.applicationServerKey).length;
    made = {toJSON: () => subscription, unsubscribe: async () => { made = null; return true; }};
    return made;
  };
})(%s)"""


@pytest.fixture
def site(stage: Stage, windows: Windows, tmp_path: Path) -> Iterator[PageSite]:
    with page_site(stage, windows, web_push.public_key_text(web_push.server_key(tmp_path))) as site:
        yield site


def settings(site: PageSite, browser_keys: FakeBrowser, before: str, after: str) -> Window:
    """Open the settings in a browser with this permission before and after it asks; no push service is contacted."""
    window = site.open()
    window.page.add_init_script(STUB % (after, json.dumps([browser_keys.subscription, before])))
    window.goto("you")
    return window


@embedded
def test_notifications_are_explained_before_the_browser_asks_then_sent_and_turned_off(
    site: PageSite, browser_keys: FakeBrowser, tmp_path: Path, clock: ManualClock
) -> None:
    window = settings(site, browser_keys, "default", "granted")
    page = window.page
    page.get_by_role("button", name="Turn on notifications").click()
    dialog = page.get_by_role("dialog", name="Before your browser asks")
    expect(dialog).to_be_visible()
    assert page.evaluate("window.asked") == 0
    window.check_accessibility()
    window.screenshot("push-explained")
    dialog.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Notifications are on in this browser.")).to_be_visible()
    assert page.evaluate("[window.asked, window.serverKey]") == [1, 65]
    window.check_layout()

    service = FakePushService()
    question = site.create_question("Can you hear me?")
    pusher = site.stage.pusher(WebPushNotifier(web_push.server_key(tmp_path), clock, client=service.client()))
    pusher.run_once()
    (request,) = service.requests
    assert browser_keys.read(request.content)["question_id"] == question

    page.get_by_label("How often").select_option("1440")
    expect(page.get_by_text("Saved.")).to_be_visible()
    clock.advance(3_600)
    site.create_question("And again after an hour?")
    pusher.run_once()
    assert len(service.requests) == 1, "once a day at most"

    page.get_by_role("button", name="Turn off").click()
    expect(page.get_by_role("button", name="Turn on notifications")).to_be_visible()
    clock.advance(86_400)
    site.create_question("And again after a day?")
    pusher.run_once()
    assert len(service.requests) == 1


@embedded
def test_a_denied_permission_is_explained(site: PageSite, browser_keys: FakeBrowser) -> None:
    page = settings(site, browser_keys, "default", "denied").page
    page.get_by_role("button", name="Turn on notifications").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Your browser blocks notifications from this site.")).to_be_visible()
    expect(page.get_by_text("set Notifications to Allow")).to_be_visible()


@embedded
def test_a_subscription_renewed_by_the_browser_replaces_the_old_one(
    site: PageSite, browser_keys: FakeBrowser, tmp_path: Path, clock: ManualClock
) -> None:
    window = site.open()
    old = {"subscription_id": "6f1b3c1e-7d7e-4a53-9f0e-3f1d4b1c2a55", "min_interval_minutes": 60, "endpoint": "old"}
    window.page.evaluate("(old) => localStorage.setItem('aah-subscription', JSON.stringify(old))", old)
    window.page.add_init_script(STUB % ("granted", json.dumps([browser_keys.subscription, "granted"])))
    window.goto("you")
    expect(window.page.get_by_text("Notifications are on in this browser.")).to_be_visible()
    expect(window.page.get_by_label("How often")).to_have_value("60")
    window.page.wait_for_function(
        "(endpoint) => JSON.parse(localStorage.getItem('aah-subscription')).endpoint === endpoint",
        arg=browser_keys.endpoint,
    )
    service = FakePushService()
    site.create_question("Can you still hear me?")
    site.stage.pusher(WebPushNotifier(web_push.server_key(tmp_path), clock, client=service.client())).run_once()
    assert len(service.requests) == 1


@embedded
def test_a_subscription_renewed_without_an_open_page_keeps_its_interval(
    site: PageSite, browser_keys: FakeBrowser, tmp_path: Path, clock: ManualClock
) -> None:
    window = settings(site, browser_keys, "default", "granted")
    page = window.page
    page.get_by_role("button", name="Turn on notifications").click()
    page.get_by_role("dialog").get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Notifications are on in this browser.")).to_be_visible()
    page.get_by_label("How often").select_option("60")
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    renewed = FakeBrowser("https://fcm.googleapis.com/fcm/send/renewed")
    window.expected.append("404")
    (worker,) = window.context.service_workers
    for old in (browser_keys.subscription, browser_keys.subscription, None):
        worker.evaluate(CHANGE, [old, renewed.subscription])  # repeated, and without the old one: nothing changes
    service = FakePushService()
    pusher = site.stage.pusher(WebPushNotifier(web_push.server_key(tmp_path), clock, client=service.client()))
    question = site.create_question("Can you still hear me?")
    pusher.run_once()
    assert [str(request.url) for request in service.requests] == [renewed.endpoint]
    assert renewed.read(service.requests[0].content)["question_id"] == question


CHANGE = """([oldSubscription, newSubscription]) => new Promise((resolve, reject) => {
  const event = new Event("pushsubscriptionchange");
  Object.assign(event, {oldSubscription, newSubscription, waitUntil: (work) => work.then(() => resolve(), reject)});
  self.dispatchEvent(event);
})"""
"""Event of the browser when it replaces a subscription."""


@embedded
def test_not_now_requests_no_permission(site: PageSite, browser_keys: FakeBrowser) -> None:
    page = settings(site, browser_keys, "default", "granted").page
    page.get_by_role("button", name="Turn on notifications").click()
    page.get_by_role("button", name="Not now").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.evaluate("window.asked") == 0


@embedded
def test_a_push_shows_a_notification_that_names_its_question(site: PageSite) -> None:
    window = site.open()
    page = window.page
    window.context.grant_permissions(["notifications"])
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    session = window.context.new_cdp_session(page)
    registrations: list[dict[str, Any]] = []
    session.on("ServiceWorker.workerRegistrationUpdated", lambda event: registrations.extend(event["registrations"]))
    session.send("ServiceWorker.enable")
    page.wait_for_function("navigator.serviceWorker.controller !== null")
    question = site.create_question("Will you answer?")
    body = json.dumps({"title": "Somebody asks", "body": "Will you answer?", "question_id": question})
    push = {"origin": site.url, "registrationId": registrations[-1]["registrationId"], "data": body}
    session.send("ServiceWorker.deliverPushMessage", push)
    shown = page.evaluate(
        """async () => {
            const registration = await navigator.serviceWorker.ready;
            for (;;) {
                const all = await registration.getNotifications();
                if (all.length === 1) return [all[0].title, all[0].data.url];
                await new Promise((resolve) => setTimeout(resolve, 20));
            }
        }"""
    )
    assert shown == ["Somebody asks", f"/ask_a_human/app/questions/{question}"]


@embedded
def test_settings_requests_require_the_pages_token_and_a_subscription(site: PageSite) -> None:
    page = site.open().page
    url = f"{site.url}/ask_a_human/app/notifications"
    assert page.request.post(url, data={"subscription": {}}).status == 403
    csrf = page.locator('meta[name="csrf"]').get_attribute("content") or ""
    refused = page.request.post(url, data={"subscription": {}}, headers={"X-CSRF-Token": csrf})
    assert (refused.status, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    other = page.request.delete(f"{url}/6f1b3c1e-7d7e-4a53-9f0e-3f1d4b1c2a55", headers={"X-CSRF-Token": csrf})
    assert other.status == 401
