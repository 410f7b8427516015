"""Pages without a browser: policy, escaping, navigation, one-time messages, errors, files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from keyplan.pages import ASSETS, POLICY, Link, Pages, Viewer, assets_of, redirect

HOSTILE = '"><script>alert(1)</script>'
PAGES = Pages(
    "keyplan.pages",
    "Notes",
    nav=(Link("All", "app/"), Link("Shared", "app/shared"), Link("Users", "app/users", role="administrators")),
    viewer=lambda request: Viewer(request.headers.get("x-name", ""), lambda: "token", frozenset()),
)


def fail(request: Request) -> Response:
    return PAGES.error(request, 429, HOSTILE, {"Retry-After": "7", "X-Internal": "secret"})


def store(_request: Request) -> Response:
    return redirect("/notes/app/", f"Stored {HOSTILE} äöü")


@pytest.fixture
def client() -> Iterator[TestClient]:
    notes = Starlette(routes=[Route("/app/{rest:path}", fail), Route("/store", store, methods=["POST"])])
    app = Starlette(routes=[Mount(ASSETS, assets_of("keyplan.pages")), Mount("/notes", notes)])
    with TestClient(app) as client:
        yield client


def test_a_page_allows_only_files_of_its_server(client: TestClient) -> None:
    page = client.get("/notes/app/")
    assert page.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY


def test_an_error_page_keeps_status_and_retry_time_and_escapes_its_message(client: TestClient) -> None:
    page = client.get("/notes/app/")
    assert (page.status_code, page.headers["retry-after"]) == (429, "7")
    assert "x-internal" not in page.headers
    assert "<script>alert" not in page.text


def test_the_navigation_marks_the_longest_matching_path(client: TestClient) -> None:
    page = client.get("/notes/app/shared/7").text
    assert '<a href="/notes/app/shared" aria-current="page">' in page
    assert page.count("aria-current") == 1
    assert "Users" not in page, "the viewer does not have the role"


def test_a_message_is_shown_once(client: TestClient) -> None:
    first = client.post("/notes/store")
    assert "Stored &#34;&gt;&lt;script&gt;" in first.text
    assert "äöü" in first.text
    assert "Stored" not in client.get("/notes/app/").text


def test_the_viewer_and_the_token_are_in_the_page(client: TestClient) -> None:
    page = client.get("/notes/app/", headers={"x-name": "Ada"}).text
    assert '<meta name="csrf" content="token">' in page
    assert "Signed in as <strong>Ada</strong>" in page
    assert "Sign in</a>" in client.get("/notes/app/").text


def test_files_have_a_version_in_their_address_and_are_cached_for_a_year(client: TestClient) -> None:
    page = client.get("/notes/app/").text
    address = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    style = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert style.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert style.headers["content-encoding"] == "gzip"
    plain = client.get(address.partition("?")[0])
    assert plain.headers["cache-control"] == "no-cache"
    again = client.get(address.partition("?")[0], headers={"If-None-Match": plain.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("name", ["nothing.js", "../templates/base.html.j2", "%2e%2e/assets.py"])
def test_only_files_of_the_folder_are_served(client: TestClient, name: str) -> None:
    assert client.get(f"{ASSETS}/{name}").status_code == 404
