"""Pages of Ask-a-Human: for people who answer, without an account, and for agents who follow their questions.

Pages call the service's operations directly. A browser is a device like any other: see `visitors`.
"""

from __future__ import annotations

from fastapi import FastAPI

from keyplan.pages import Link
from keyplan_systems.ask_a_human.pages import agents, installation, people, settings
from keyplan_systems.ask_a_human.pages.visitors import Visitors
from keyplan_systems.ask_a_human.service import Service
from keyplan_systems.web.browsing import install_pages, page_router, site

NAV = (
    Link("Questions", "app/", "inbox"),
    Link("Leaderboard", "app/leaderboard", "cup"),
    Link("You", "app/you", "person"),
)


def add_pages(app: FastAPI, service: Service, trusted_proxies: int, push_key: str | None = None) -> None:
    """Add the pages to the system's application.

    `push_key` is the public key of Web Push, base64url; without it the pages offer no notifications.
    """
    pages = site("keyplan_systems.ask_a_human", "Ask a Human", NAV, accent="teal", scripts=("ask.js",))
    router, visitors = page_router(pages), Visitors(service, trusted_proxies)
    installation.add_routes(router, pages)
    people.add_routes(router, pages, service, visitors)
    settings.add_routes(router, pages, service, visitors, push_key)
    agents.add_routes(router, pages, service, trusted_proxies)
    install_pages(app, pages, router)
