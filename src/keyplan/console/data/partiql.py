"""PartiQL editor for a statement, its parameters and the pages of its result."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.client.errors import NoAnswerError
from keyplan.console.access import is_read
from keyplan.console.data.code import code_of
from keyplan.console.data.documents import DocumentError, read_values
from keyplan.console.data.rows import columns_of, groups_of
from keyplan.console.data.search import Search
from keyplan.console.frame import Frame, form
from keyplan.errors import ServiceError

_PAGE: Final = 50


def routes(console: Frame) -> list[Route]:
    """Return the routes of statements."""

    def partiql(request: Request) -> Response:
        statement = parameters = ""
        context: dict[str, Any] = {}
        if request.method == "POST":
            posted = form(request)
            statement, parameters = posted["statement"].replace("\r\n", "\n"), posted["parameters"]
            context = _run(console, statement, parameters, posted["next"], posted["confirmed"] == "yes")
        elif "table" in request.query_params:
            name = request.query_params["table"].replace('"', '""')
            statement = f'SELECT * FROM "{name}"'  # noqa: S608 - a text for the editor
        shown: dict[str, Any] = {
            "errors": {},
            "failure": "",
            "items": None,
            "groups": [],
            "columns": None,
            "next": "",
            "code": None,
            "asks": False,
            **context,
        }
        status = 400 if shown["errors"] or shown["failure"] else 200
        return console.render(
            request, "data/partiql.html.j2", status, statement=statement, parameters=parameters, **shown
        )

    return [console.route("/data/partiql", partiql, methods=("GET", "POST"))]


def _run(console: Frame, statement: str, parameters: str, token: str, confirmed: bool) -> dict[str, Any]:
    if not statement.strip():
        return {"errors": {"statement": "Enter a statement."}}
    call: dict[str, Any] = {"Statement": statement.strip()}
    try:
        if parameters.strip():
            call["Parameters"] = read_values(parameters)
    except DocumentError as error:
        return {"errors": {"parameters": str(error)}}
    reads = is_read("ExecuteStatement", call)
    if reads:
        call["Limit"] = _PAGE
        if token:
            call["NextToken"] = token
    code = code_of(console.source, "ExecuteStatement", call)
    if not reads and not confirmed and not console.source.read_only:
        return {"code": code, "asks": True}
    try:
        answer = console.source.call("ExecuteStatement", call)
    except NoAnswerError:
        raise
    except ServiceError as error:
        return {"code": code, "failure": f"{error.code}: {error.message}"}
    items = answer.get("Items", [])
    columns = columns_of(items, (), ())
    return {
        "code": code,
        "items": items,
        "columns": columns,
        "groups": groups_of(items, columns, Search(), None, None),
        "next": answer.get("NextToken", ""),
    }
