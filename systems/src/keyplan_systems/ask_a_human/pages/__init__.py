"""The web pages of Ask-a-Human: pages for users, who answer without an account, and pages for agents.

The pages call the service's operations directly. For the service, a browser is a device whose token is stored in a
cookie. See `visitors`.
"""

from __future__ import annotations

from fastapi import FastAPI
from starlette.requests import Request

from keyplan.pages import Link
from keyplan_systems.ask_a_human.domain.refusals import QuestionNotFoundError
from keyplan_systems.ask_a_human.pages import agents, installation, people, settings
from keyplan_systems.ask_a_human.pages.visitors import Visitors
from keyplan_systems.ask_a_human.service import Service
from keyplan_systems.web.browsing import install_pages, page_router, system_pages
from keyplan_systems.web.problems import Problem

NAV = (
    Link("Questions", "app/", "inbox"),
    Link("Leaderboard", "app/leaderboard", "cup"),
    Link("You", "app/you", "person"),
)


def add_pages(app: FastAPI, service: Service, trusted_proxies: int, push_key: str | None = None) -> None:
    """Add the pages to the application.

    `push_key` is the public key for Web Push in base64url. If it is None, the pages do not offer notifications.
    """
    pages = system_pages("keyplan_systems.ask_a_human", "Ask a Human", NAV, accent="teal", scripts=("ask.js",))
    router, visitors = page_router(pages, _problem), Visitors(service, trusted_proxies)
    installation.add_routes(router, pages)
    people.add_routes(router, pages, service, visitors)
    settings.add_routes(router, pages, service, visitors, push_key)
    agents.add_routes(router, pages, service, trusted_proxies)
    install_pages(app, pages, router)


def _problem(_request: Request, error: Exception) -> Problem | None:
    """Convert an exception to an error response with a message for users of the pages. Return None if the pages can
    show the message of the API's error response.
    """
    if isinstance(error, QuestionNotFoundError):
        return Problem(404, "This question does not exist, or it was removed.")
    return None
