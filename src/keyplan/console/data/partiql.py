"""The PartiQL editor, which runs one statement and shows its results, or runs several as a batch or a transaction."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keyplan.console.access import is_read
from keyplan.console.data.code import code_of
from keyplan.console.data.definitions import FieldError
from keyplan.console.data.documents import DocumentError, read_values
from keyplan.console.data.facts import TableFacts, attempt
from keyplan.console.data.rows import ItemGroup, columns_of, row_of
from keyplan.console.frame import Frame, PostedForm, error_text, posted_form
from keyplan.console.source import Source
from keyplan.dynamodb.partiql.nodes import SelectStatement, UpdateStatement
from keyplan.dynamodb.partiql.parser import parse
from keyplan.errors import ServiceError, ValidationError
from keyplan.pages import redirect

_PAGE_SIZE: Final = 50
_MAX_LINK_LENGTH: Final = 6_000
"""The maximum length of the query string for a statement that reads. Longer statements are sent with POST."""
_LINK_FIELDS: Final = ("statement", "parameters", "together", "next")
_KEYWORDS: Final = ("SELECT", "INSERT", "UPDATE", "DELETE", "EXISTS")
"""The allowed first words of a statement, in uppercase."""
_STATEMENT: Final = re.compile(r"""(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|[^;])+""")
_MULTIPLE: Final = {
    "transaction": ("ExecuteTransaction", "TransactStatements"),
    "batch": ("BatchExecuteStatement", "Statements"),
}
"""The operation and the request member for several statements, by the option that is selected in the form."""


def routes(console: Frame) -> list[Route]:
    """Return the routes of the PartiQL editor."""

    def partiql(request: Request) -> Response:
        """Show the PartiQL editor, and run its statements.

        Reads are sent with GET, so that the URL can be opened again. Writes are sent with POST.
        """
        is_post = request.method == "POST"
        fields = posted_form(request) if is_post else PostedForm(request.query_params.multi_items())
        statement, parameters = fields["statement"].replace("\r\n", "\n"), fields["parameters"]
        mode = fields["together"] if fields["together"] in _MULTIPLE else "transaction"
        context: dict[str, Any] = {}
        if is_post or "run" in fields:
            try:
                operation, call = _request(statement, parameters, mode)
            except FieldError as error:
                context = {"errors": {error.field: str(error)}}
            else:
                link = urlencode([(name, fields[name]) for name in _LINK_FIELDS if fields[name]] + [("run", "yes")])
                if is_post and is_read(operation, call) and len(link) <= _MAX_LINK_LENGTH:
                    return redirect(f"{request.url.path}?{link}")
                is_confirmed = is_post and fields["confirmed"] == "yes"
                context = _run(console, operation, call, fields["next"], is_confirmed=is_confirmed)
        elif fields["table"]:
            name = fields["table"].replace('"', '""')
            statement = f'SELECT * FROM "{name}"'  # noqa: S608 - a text for the editor
        page_values: dict[str, Any] = {
            "errors": {},
            "failure": "",
            "items": None,
            "problems": [],
            "groups": [],
            "columns": None,
            "next": "",
            "code": None,
            "needs_confirmation": False,
            "is_multiple": False,
            "is_write": False,
            **context,
        }
        status = 400 if page_values["errors"] or page_values["failure"] else 200
        page_values |= {"statement": statement, "parameters": parameters, "mode": mode}
        return console.render(request, "data/partiql.html.j2", status, **page_values)

    return [console.route("/data/partiql", partiql, methods=("GET", "POST"))]


def _run(console: Frame, operation: str, call: dict[str, Any], start: str, *, is_confirmed: bool) -> dict[str, Any]:
    reads = is_read(operation, call)
    if reads and operation == "ExecuteStatement":
        call["Limit"] = _PAGE_SIZE
        if start:
            call["NextToken"] = start
    code = code_of(console.source, operation, call)
    if not (reads or is_confirmed or console.source.read_only):
        return {"code": code, "needs_confirmation": True, "is_multiple": operation != "ExecuteStatement"}
    try:
        answer = console.source.call(operation, call)
    except ServiceError as error:
        return {"code": code, "failure": error_text(error)}
    responses = answer.get("Responses", [])
    statements = [part["Statement"] for part in call.get("TransactStatements", call.get("Statements", [call]))]
    pairs = [(item, statements[0]) for item in answer.get("Items", [])]
    pairs += [
        (response["Item"], statement_of_item)
        for response, statement_of_item in zip(responses, statements, strict=False)
        if "Item" in response
    ]
    items = [item for item, _ in pairs]
    tables = _tables(console.source, dict.fromkeys(statement_of_item for _, statement_of_item in pairs))
    keys = dict.fromkeys(name for facts in tables.values() for name in facts.keys.names)
    columns = columns_of(items, [name for name in keys if any(name in item for item in items)], ())
    return {
        "code": code,
        "items": items,
        "is_write": not reads,
        "problems": [
            f"Statement {number}: {response['Error'].get('Code', '')}: {response['Error'].get('Message', '')}"
            for number, response in enumerate(responses, 1)
            if response.get("Error")
        ],
        "columns": columns,
        "groups": [
            ItemGroup(None, [row_of(item, columns, tables.get(statement_of_item)) for item, statement_of_item in pairs])
        ],
        "next": answer.get("NextToken", ""),
    }


def _tables(source: Source, statements: Iterable[str]) -> dict[str, TableFacts]:
    """Return the description of the table that each statement reads or updates, by statement.

    Statements that do not return stored items are omitted.
    """
    known_tables: dict[str, TableFacts | None] = {}
    tables = {}
    for statement in statements:
        name, nested = _source_of(statement)
        if name and name not in known_tables:
            response = attempt(source, {}, "DescribeTable", {"TableName": name})
            known_tables[name] = TableFacts(name, response["Table"]) if response else None
        facts = known_tables.get(name)
        if facts is not None and nested.isdisjoint(facts.keys.names):
            tables[statement] = facts
    return tables


def _source_of(statement: str) -> tuple[str, set[str]]:
    """Return the name of the table whose items a statement returns, and the names of results that are nested members.

    For example, the result city of SELECT address.city is a nested member. The table name is an empty string for
    statements that do not return stored items, and for statements that keyplan cannot parse.
    """
    try:
        parsed = parse(statement).statement
    except ValidationError:
        return "", set()
    if not isinstance(parsed, SelectStatement | UpdateStatement):
        return "", set()
    selected = parsed.columns or () if isinstance(parsed, SelectStatement) else ()
    return parsed.source.table.rpartition("/")[2], {str(path.parts[-1]) for path in selected if len(path.parts) > 1}


def _request(text: str, parameters: str, mode: str) -> tuple[str, dict[str, Any]]:
    """Return the operation and the request for one or more PartiQL statements in a text.

    `parameters` are the statements' parameters as text, and `mode` is the selected option for running several
    statements. Raises FieldError for a form field with an invalid value.
    """
    statements = [part.strip() for part in _STATEMENT.findall(text) if part.strip()]
    if not statements:
        raise FieldError("statement", "Enter a statement.")
    if len(statements) > 1:
        if parameters.strip():
            raise FieldError(
                "parameters", "Parameters are supported only for a single statement. Write values as literals instead."
            )
        for statement in statements:
            _check_start(statement)
        operation, member = _MULTIPLE[mode]
        return operation, {member: [{"Statement": statement} for statement in statements]}
    try:
        values = {"Parameters": read_values(parameters)} if parameters.strip() else {}
    except DocumentError as error:
        raise FieldError("parameters", str(error)) from None
    _check_start(statements[0])
    return "ExecuteStatement", {"Statement": statements[0], **values}


def _check_start(statement: str) -> None:
    """Raise FieldError unless the statement starts with a known keyword.

    Without this check, the console would treat a misspelled SELECT as a write and ask for confirmation.
    """
    match = re.match(r"\w*", statement)
    if match is None or match[0].upper() not in _KEYWORDS:
        first_word = statement.split(maxsplit=1)[0][:40]
        raise FieldError(
            "statement", f"A statement must start with SELECT, INSERT, UPDATE or DELETE, got {first_word!r}."
        )
