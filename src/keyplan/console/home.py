"""Home pages of a server that runs several systems. They show the systems' health, background workers and
sample users.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.errors import KeyplanError

if TYPE_CHECKING:
    from keyplan.console.frame import Frame

TEMPLATE = "home/systems.html.j2"
"""The template that shows an `Overview`. Its variable `is_admitted` is True if the user may open the console's other
pages.
"""
_TABLES = 100


@dataclass(frozen=True)
class WorkerCard:
    """The state of a background worker, as shown on the home page."""

    name: str
    completed: int
    """The number of units of work that the worker has completed since it was started."""
    lag: str
    """A description of the worker's backlog, such as "up to date"."""
    error: str = ""
    """The type of the error that ended the worker's last run, or an empty string if the run succeeded."""


@dataclass(frozen=True)
class PersonCard:
    """A sample user. Visitors can sign in as this user with one click."""

    subject: str
    name: str
    description: str
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class SystemCard:
    """A system that runs in the server, as shown on the home page."""

    name: str
    title: str
    summary: str
    status: str
    """The health of the system: "ok", "degraded" or "failing"."""
    checks: Mapping[str, str]
    start: str
    """The URL of the system's pages, or an empty string if the system has none."""
    api: str
    """The URL of the system's API description."""
    tables: Sequence[str]
    patterns: Sequence[Mapping[str, str]]
    """The patterns of the system, each with the members name, doc, operation, where, key, read units and
    write units.
    """
    findings: Sequence[Any]
    suppressed: int
    month: str
    """The estimated monthly cost of the system at the declared rates, as text."""
    workers: Sequence[WorkerCard] = ()
    people: Sequence[PersonCard] = ()


@dataclass(frozen=True)
class Overview:
    """The data that the home page of a server with several systems shows."""

    systems: Sequence[SystemCard]
    workers: Sequence[WorkerCard] = ()
    """All background workers, including those that do not belong to a system."""
    endpoint: str = ""
    """The URL of the server's DynamoDB endpoint, or an empty string if it has none."""
    csrf: str = field(default="", repr=False)
    """The CSRF token to include in the sign-in forms."""
    console: str = ""
    """The URL of the console without its token, or an empty string if the server has no console."""


OverviewSource: TypeAlias = Callable[[Request], Awaitable[Overview]]


def routes(console: Frame) -> list[Route]:
    """Return the routes for the Home pages."""
    has_systems = console.overview is not None
    routes = [Route("/", _systems(console)) if has_systems else console.route("/", _start(console))]
    if console.designs and console.design is None:
        routes.append(console.route("/design/", _designs(console)))
    return routes


def _systems(console: Frame) -> Callable[[Request], Awaitable[Response]]:
    async def page(request: Request) -> Response:
        assert console.overview is not None, "routes found it"
        return console.render(request, TEMPLATE, overview=await console.overview(request), is_admitted=True)

    return page


def _start(console: Frame) -> Callable[[Request], Response]:
    def page(request: Request) -> Response:
        source, load = console.source, console.load
        window = load.window("1h")
        try:
            response, failure = source.call("ListTables", {"Limit": _TABLES}), ""
        except KeyplanError as error:
            response, failure = {}, str(error)
        return console.render(
            request,
            "home/start.html.j2",
            tables=[(name, quote(name, safe="")) for name in response.get("TableNames", [])],
            has_more="LastEvaluatedTableName" in response,
            failure=failure,
            window=window,
            total=window.total,
            undeclared=len(window.totals("undeclared")) if load.matcher.tables else 0,
            keys=load.recorder.hottest_keys(5),
        )

    return page


def _designs(console: Frame) -> Callable[[Request], Response]:
    def page(request: Request) -> Response:
        return console.render(request, "home/designs.html.j2")

    return page
