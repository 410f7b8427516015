"""The REST API of the to-do system, built with FastAPI. It verifies tokens, and provides a uniform error format, health
checks and an OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI

from keyplan.clock import Clock
from keyplan_systems.todo.api_dependencies import TRANSLATIONS
from keyplan_systems.todo.api_tasks import task_routes
from keyplan_systems.todo.api_users import administration_routes, user_routes
from keyplan_systems.todo.dashboard import Dashboard
from keyplan_systems.todo.pages import PAGES, page_routes
from keyplan_systems.todo.service import Service
from keyplan_systems.web.application import add_routes, web_application
from keyplan_systems.web.browsing import install_pages
from keyplan_systems.web.health import Check
from keyplan_systems.web.tokens import TokenVerifier


def application(
    service: Service,
    verifier: TokenVerifier,
    clock: Clock,
    checks: Mapping[str, Check],
    dashboard: Dashboard | None = None,
) -> FastAPI:
    """Return the application with the API and the pages of a service.

    `checks` contains the health checks by name. `dashboard` reads statistics from the data lake. It is None if the
    system runs without a lake.
    """
    app = web_application("To-do", translations=TRANSLATIONS, verifier=verifier, checks=checks, clock=clock)
    add_routes(app, user_routes(service), task_routes(service), administration_routes(service))
    install_pages(app, PAGES, page_routes(service, clock, dashboard))
    return app
