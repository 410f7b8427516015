"""Languages of shared templates, and the navigation: entries that need a role, and the current one."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from keyplan.pages import Link, PageContext, Pages, Viewer, Wording

GERMAN = Wording("de", {"Calendar": "Kalender", "Sign out": "Abmelden", "Sign in": "Anmelden"})


def page_of(viewer: Viewer, wording: Wording) -> str:
    """Return the error page of an application with two entries of navigation."""
    pages = Pages(
        "keyplan.pages",
        "Calendar",
        nav=(Link("Calendar", "app/"), Link("Inbox", "app/inbox", role="administrators")),
        viewer=lambda _request: viewer,
        wording=lambda _request: wording,
    )

    def answer(request: Request) -> Response:
        return pages.error(request, 404, "No such page.")

    return TestClient(Starlette(routes=[Route("/", answer)])).get("/").text


def test_shared_texts_and_navigation_are_in_the_language_of_the_page() -> None:
    html = page_of(Viewer("Ada"), GERMAN)
    assert '<html lang="de"' in html
    assert "Kalender" in html
    assert "Abmelden" in html
    assert "All systems" in html, "a missing text stays English"


def test_pages_are_english_without_a_wording() -> None:
    html = page_of(Viewer("Ada"), Wording())
    assert '<html lang="en"' in html
    assert "Sign out" in html


@pytest.mark.parametrize(("roles", "is_shown"), [(frozenset[str](), False), (frozenset({"administrators"}), True)])
def test_an_entry_with_a_role_is_shown_to_people_with_that_role(roles: frozenset[str], is_shown: bool) -> None:
    assert ("Inbox" in page_of(Viewer("Ada", roles=roles), Wording())) is is_shown


@pytest.mark.parametrize(("is_exact", "current"), [(False, ["Calendar"]), (True, [])])
def test_pages_below_an_exact_entry_do_not_mark_it(is_exact: bool, current: list[str]) -> None:
    pages = Pages(
        "keyplan.pages", "Venue", nav=(Link("Calendar", "app/", is_exact=is_exact), Link("Inbox", "app/inbox"))
    )
    marked: dict[str, list[str]] = {}

    def answer(request: Request) -> Response:
        page = PageContext(pages, request, Viewer())
        marked[request.url.path] = [link["text"] for link in page.nav if link["current"]]
        return Response()

    client = TestClient(Starlette(routes=[Route("/{path:path}", answer)]))
    for path in ("/app/", "/app/profile", "/app/inbox/1"):
        client.get(path)
    assert marked == {"/app/": ["Calendar"], "/app/profile": current, "/app/inbox/1": ["Inbox"]}
