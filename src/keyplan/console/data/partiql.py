"""PartiQL editor: one statement with parameters and pages of results, or several statements as a batch or a
transaction.
"""

from __future__ import annotations

import re
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.client.errors import NoAnswerError
from keyplan.console.access import is_read
from keyplan.console.data.code import code_of
from keyplan.console.data.definitions import FieldError
from keyplan.console.data.documents import DocumentError, read_values
from keyplan.console.data.rows import columns_of, groups_of
from keyplan.console.data.search import Search
from keyplan.console.frame import Frame, PostedForm, form
from keyplan.errors import ServiceError

_PAGE: Final = 50
_STATEMENT: Final = re.compile(r"""(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|[^;])+""")
_SEVERAL: Final = {
    "transaction": ("ExecuteTransaction", "TransactStatements"),
    "batch": ("BatchExecuteStatement", "Statements"),
}
"""Operation and request member for several statements, by the selected option of the form."""


def routes(console: Frame) -> list[Route]:
    """Return the routes of statements."""

    def partiql(request: Request) -> Response:
        statement = parameters = ""
        together = "transaction"
        context: dict[str, Any] = {}
        if request.method == "POST":
            posted = form(request)
            statement, parameters = posted["statement"].replace("\r\n", "\n"), posted["parameters"]
            together = posted["together"] if posted["together"] in _SEVERAL else together
            context = _run(console, statement, parameters, posted, together)
        elif "table" in request.query_params:
            name = request.query_params["table"].replace('"', '""')
            statement = f'SELECT * FROM "{name}"'  # noqa: S608 - a text for the editor
        shown: dict[str, Any] = {
            "errors": {},
            "failure": "",
            "items": None,
            "problems": [],
            "groups": [],
            "columns": None,
            "next": "",
            "code": None,
            "asks": False,
            "several": False,
            **context,
        }
        status = 400 if shown["errors"] or shown["failure"] else 200
        shown |= {"statement": statement, "parameters": parameters, "together": together}
        return console.render(request, "data/partiql.html.j2", status, **shown)

    return [console.route("/data/partiql", partiql, methods=("GET", "POST"))]


def _run(console: Frame, statement: str, parameters: str, posted: PostedForm, together: str) -> dict[str, Any]:
    try:
        operation, call = _request(statement, parameters, together)
    except FieldError as error:
        return {"errors": {error.field: str(error)}}
    reads = is_read(operation, call)
    if reads and operation == "ExecuteStatement":
        call["Limit"] = _PAGE
        if posted["next"]:
            call["NextToken"] = posted["next"]
    code = code_of(console.source, operation, call)
    if not reads and posted["confirmed"] != "yes" and not console.source.read_only:
        return {"code": code, "asks": True, "several": operation != "ExecuteStatement"}
    try:
        answer = console.source.call(operation, call)
    except NoAnswerError:
        raise
    except ServiceError as error:
        return {"code": code, "failure": f"{error.code}: {error.message}"}
    responses = answer.get("Responses", [])
    items = answer.get("Items", []) + [response["Item"] for response in responses if "Item" in response]
    columns = columns_of(items, (), ())
    return {
        "code": code,
        "items": items,
        "problems": [
            f"Statement {number}: {response['Error'].get('Code', '')}: {response['Error'].get('Message', '')}"
            for number, response in enumerate(responses, 1)
            if response.get("Error")
        ],
        "columns": columns,
        "groups": groups_of(items, columns, Search(), None, None),
        "next": answer.get("NextToken", ""),
    }


def _request(text: str, parameters: str, together: str) -> tuple[str, dict[str, Any]]:
    """Return the operation and request for the statements in a text. Raises FieldError."""
    statements = [part.strip() for part in _STATEMENT.findall(text) if part.strip()]
    if not statements:
        raise FieldError("statement", "Enter a statement.")
    if len(statements) > 1:
        if parameters.strip():
            raise FieldError("parameters", "Parameters need a single statement. Write values as literals instead.")
        operation, member = _SEVERAL[together]
        return operation, {member: [{"Statement": statement} for statement in statements]}
    try:
        values = {"Parameters": read_values(parameters)} if parameters.strip() else {}
    except DocumentError as error:
        raise FieldError("parameters", str(error)) from None
    return "ExecuteStatement", {"Statement": statements[0], **values}
