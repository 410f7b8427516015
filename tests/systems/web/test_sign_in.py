"""Sign-in of sample people in a browser and over HTTP, sessions, and refused requests of other sites."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from tests.browser import PHONE, Site, Windows

from keyplan_systems.web.sessions import COOKIE
from keyplan_systems.web.sign_in import local_path

CSRF = re.compile(r'name="csrf" content="([0-9a-f]+)"')


@pytest.fixture(scope="module")
def site(serve: Callable[..., Site]) -> Site:
    return serve("todo")


@pytest.fixture
def client(site: Site) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=site.url, timeout=60) as client:
        yield client


def signed_in(client: httpx.Client, subject: str = "ada") -> str:
    """Sign in and return the token for requests that change something."""
    page = client.get("/sign-in").raise_for_status()
    form = {"csrf": token_in(page), "system": "todo", "subject": subject, "next": "/todo/api/v1/tasks"}
    response = client.post("/sign-in", data=form)
    assert (response.status_code, response.headers["location"]) == (303, "/todo/api/v1/tasks")
    return token_in(client.get("/sign-in"))


def token_in(page: httpx.Response) -> str:
    """Return the token that a page repeats in its forms."""
    match = CSRF.search(page.text)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("width", [PHONE, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_sign_in_page_shows_sample_people_and_is_accessible(
    windows: Windows, site: Site, width: int, dark: bool
) -> None:
    window = windows.open(site.url, width=width, dark=dark)
    page = window.goto("/sign-in")
    assert page.get_by_role("button", name="Sign in as Ada").is_visible()
    window.check_accessibility()
    window.check_layout()
    window.screenshot(f"sign-in-{width}-{'dark' if dark else 'light'}")


def test_one_click_signs_in_without_javascript(windows: Windows, site: Site) -> None:
    window = windows.open(site.url, scripts=False)
    window.sign_in("todo", "ada", "/todo/api/v1/tasks")
    assert '"Water the plants"' in window.page.content()
    assert COOKIE in {cookie["name"] for cookie in window.context.cookies()}


def test_the_cookie_is_inaccessible_to_scripts_and_other_sites(site: Site, client: httpx.Client) -> None:
    cookie = client.get("/sign-in").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie, "this server is reached over HTTP"


def test_the_api_accepts_a_session_for_reads(client: httpx.Client) -> None:
    assert client.get("/todo/api/v1/tasks").status_code == 401
    signed_in(client)
    assert client.get("/todo/api/v1/tasks").status_code == 200


def test_the_api_accepts_writes_of_a_session_only_with_its_token(client: httpx.Client) -> None:
    token = signed_in(client)
    task, key = {"title": "Buy milk"}, {"Idempotency-Key": "a-key-of-this-test"}
    refused = client.post("/todo/api/v1/tasks", json=task, headers=key)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "csrf")
    wrong = client.post("/todo/api/v1/tasks", json=task, headers={**key, "X-CSRF-Token": "0" * 64})
    assert wrong.status_code == 403
    assert client.post("/todo/api/v1/tasks", json=task, headers={**key, "X-CSRF-Token": token}).status_code == 201


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
def test_writes_from_other_sites_are_rejected(client: httpx.Client, headers: dict[str, str]) -> None:
    token = signed_in(client)
    refused = client.post("/todo/api/v1/tasks", json={"title": "Buy milk"}, headers={**headers, "X-CSRF-Token": token})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "cross_site")


def test_a_token_of_another_session_is_rejected(site: Site, client: httpx.Client) -> None:
    signed_in(client)
    with httpx.Client(base_url=site.url, timeout=60) as other:
        foreign = signed_in(other, "grace")
    refused = client.post("/todo/api/v1/tasks", json={"title": "Buy milk"}, headers={"X-CSRF-Token": foreign})
    assert refused.status_code == 403


def test_signing_out_ends_the_session(client: httpx.Client) -> None:
    token = signed_in(client)
    assert client.post("/sign-out", data={"csrf": token}).status_code == 303
    assert client.get("/todo/api/v1/tasks").status_code == 401


def test_a_modified_cookie_is_not_a_session(client: httpx.Client) -> None:
    signed_in(client)
    header, content, signature = client.cookies[COOKIE].split(".")
    client.cookies.set(COOKIE, f"{header}.{content}.{signature[::-1]}")
    assert client.get("/todo/api/v1/tasks").status_code == 401


def test_sign_in_requires_the_pages_own_token(client: httpx.Client) -> None:
    client.get("/sign-in")
    refused = client.post("/sign-in", data={"system": "todo", "subject": "ada", "next": "/"})
    assert refused.status_code == 403


def test_only_sample_people_can_sign_in_with_a_click(client: httpx.Client) -> None:
    token = token_in(client.get("/sign-in"))
    refused = client.post("/sign-in", data={"csrf": token, "system": "todo", "subject": "root", "next": "/"})
    assert refused.status_code == 400


def test_another_name_of_this_machine_cannot_sign_in(client: httpx.Client) -> None:
    rejected = client.get("/sign-in", headers={"Host": "rebound.example"})
    assert (rejected.status_code, "at this machine&#39;s own address only" in rejected.text) == (403, True)


@pytest.mark.parametrize(
    "path", [None, "", "https://evil.example/", "//evil.example", "/\\evil.example", "tasks", "/a\r\nb"]
)
def test_sign_in_continues_on_this_server_only(path: str | None) -> None:
    assert local_path(path) == "/"


def test_sign_in_continues_at_a_path_with_a_query() -> None:
    assert local_path("/todo/app/?status=done") == "/todo/app/?status=done"
