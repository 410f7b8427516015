"""Design pages of the console, which show tables, entities, patterns, plans, findings, costs, claims and
differences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from keyplan.check.checking import check_change
from keyplan.console.design import collections, costs, forms
from keyplan.console.design.claims import ITEMS, RunProgress
from keyplan.console.design.costs import money
from keyplan.console.design.picture import draw, merge_panels, panels
from keyplan.console.design.results import (
    DesignResults,
    findings_by_severity,
    first_line,
    place_text,
    rule_of,
    rule_page,
    subjects_of,
)
from keyplan.console.design.running import RunResult, connection_of
from keyplan.console.frame import Frame, posted_form
from keyplan.cost.expected import expected
from keyplan.cost.units import average
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.schema import Index
from keyplan.diff.comparison import Comparison, by_table, rollout
from keyplan.errors import KeyplanError, ServiceError
from keyplan.pages import redirect
from keyplan.verify.values import MissingGeneratorError

ITEMS_READ: Final = 200
"""The number of items that the page of item collections reads with one request."""
COLLECTIONS_SHOWN: Final = 15
_CONTROL_FIELDS: Final = frozenset({"csrf", "_run", "_confirmed", "_cursor", "_fill"})
"""The fields in a pattern's form that are not parameters of the pattern."""


def routes(console: Frame) -> list[Route]:
    """Return the routes for the Design pages."""
    pages = _Pages(console)
    return [
        console.route("/design/", pages.overview),
        console.route("/design/items", pages.items),
        console.route("/design/store", pages.store, methods=("POST",)),
        console.route("/design/patterns", pages.patterns),
        console.route("/design/patterns/{name}", pages.pattern, methods=("GET", "POST")),
        console.route("/design/findings", pages.findings),
        console.route("/design/rules/{code}", pages.rule),
        console.route("/design/cost", pages.cost),
        console.route("/design/claims", pages.claims, methods=("GET", "POST")),
        console.route("/design/claims/progress", pages.progress),
        console.route("/design/compare", pages.compare),
    ]


class _Pages:
    """The request handlers of the Design pages."""

    def __init__(self, console: Frame) -> None:
        self._console = console
        self._design_results = None if console.design is None else DesignResults(console.design, console.source)
        if self._design_results is not None:
            console.stop_work = self._design_results.stop
        if (
            self._design_results is not None and not console.root_path
        ):  # of several designs, warm only those that a user opens
            self._design_results.warm()

    def _render(self, request: Request, template: str, tab: str, status: int = 200, /, **context: Any) -> Response:
        shared: dict[str, Any] = {
            "results": self._design_results,
            "tab": tab,
            "against": self._console.against,
            "money": money,
            "average": average,
            "rule_of": rule_of,
            "place_text": place_text,
        }
        return self._console.render(request, f"design/{template}.html.j2", status, **shared, **context)

    def _missing_page(self, request: Request) -> Response:
        """Return the page that explains how to start the console with a design."""
        return self._console.render(request, "design/missing.html.j2")

    # Picture.

    def overview(self, request: Request) -> Response:
        if self._design_results is None:
            return self._missing_page(request)
        return self._render(
            request,
            "overview",
            "picture",
            pictures=self._design_results.pictures,
            doc=self._design_results.design.doc,
            first_line=first_line,
        )

    # Item collections.

    def items(self, request: Request) -> Response:
        if self._design_results is None:
            return self._missing_page(request)
        query = request.query_params
        table = _table(self._design_results.design, query.get("table", ""))
        index = _index(table, query.get("index", ""))
        is_stored = query.get("from") == "stored"
        problem, problems, stored_items, start = "", [], None, query.get("start", "")
        item_collections: list[collections.Collection] = []
        partition = (table.schema.partition,) if index is None else index.partition
        keys = [query.get(f"key{number}", "") for number in range(len(partition))]
        try:
            if is_stored:
                stored_items, next_start = self._read_stored(table, index, keys, start)
                item_collections = collections.collections(
                    table.schema, index, stored_items, collections.EntityFinder(table.entities)
                )
            else:
                next_start, sample = "", self._design_results.sample()
                problems = sample.problems
                item_collections = self._design_results.collections(table, index)
        except MissingGeneratorError as error:
            next_start, problem = "", str(error)
        except ServiceError as error:
            if error.code != "ResourceNotFoundException":
                raise
            next_start, problem = "", f"{self._console.source.name} has no table {table.name}."
        entity = query.get("entity", "")
        if entity:
            item_collections = [
                restricted
                for collection in item_collections
                if (restricted := _restrict_to_entity(collection, entity)).rows
            ]
        return self._render(
            request,
            "items",
            "items",
            table=table,
            index=index,
            collections=item_collections[:COLLECTIONS_SHOWN],
            total=len(item_collections),
            count=sum(len(collection.rows) for collection in item_collections),
            columns=collections.columns(item_collections[:COLLECTIONS_SHOWN]) if entity else [],
            entity=entity,
            is_stored=is_stored,
            partition=partition,
            keys=keys,
            next_start=next_start,
            problem=problem,
            problems=problems,
            limit=ITEMS_READ,
        )

    def _read_stored(
        self, table: Table, index: Index | None, keys: Sequence[str], start: str
    ) -> tuple[list[dict[str, Any]], str]:
        """Return one page of stored items or index entries, and the encoded start key of the next page.

        If `keys` contains the values of all partition key attributes, the partition is queried. Otherwise, the table or
        index is scanned.
        """
        request: dict[str, Any] = {"TableName": table.name, "Limit": ITEMS_READ}
        if index is not None:
            request["IndexName"] = index.name
        if start:
            request["ExclusiveStartKey"] = _start_key(start)
        operation = "Query" if all(keys) else "Scan"
        if all(keys):
            try:
                request |= collections.partition_request(table, index, keys)
            except ValueError:
                raise HTTPException(400, "The partition key is binary: enter base64.") from None
        response = self._console.source.call(operation, request)
        last_key = response.get("LastEvaluatedKey")
        return response["Items"], json.dumps(_key_json(last_key)) if last_key else ""

    def store(self, request: Request) -> Response:
        """Create the design's tables in the console's database, and store the generated items if requested."""
        results = self._results()
        back = f"{request.scope.get('root_path', '')}/design/items?from=stored"
        if posted_form(request)["what"] == "items":
            count = results.sample().store(results.design, results.source)
            return redirect(back, f"{count:,} items were written.")
        connection_of(results.source, b"").create_tables(*results.design.tables)
        return redirect(back, "The tables have been created.")

    def _results(self) -> DesignResults:
        if self._design_results is None:
            raise HTTPException(404, "The console was started without a design.")
        return self._design_results

    # Patterns.

    def patterns(self, request: Request) -> Response:
        if self._design_results is None:
            return self._missing_page(request)
        return self._render(request, "patterns", "patterns")

    def pattern(self, request: Request) -> Response:
        """Show the page of a pattern, and run the pattern if its form was submitted.

        The form of a read is submitted with GET. A write is submitted with POST and runs only after a confirmation.
        """
        results = self._results()
        pattern = results.pattern(request.path_params["name"])
        if pattern is None:
            raise HTTPException(404, f"{results.design.name} has no pattern with this name.")
        parameters = forms.parameters_of(pattern)
        fields: dict[str, str] = dict(
            posted_form(request).items() if request.method == "POST" else request.query_params
        )
        outcome: RunResult | None = None
        errors: dict[str, str] = {}
        note = ""
        if "_run" in fields and pattern.plan.reading is (request.method == "GET"):
            reading = forms.read_form(parameters, fields)
            errors = reading.errors
            if not errors:
                outcome = self._run(results, pattern, reading.arguments, fields)
        elif fields.get("_fill") == "generated":
            fields, note = self._generated_fields(results, pattern, parameters)
        values = {**forms.defaults(parameters), **{k: v for k, v in fields.items() if k not in _CONTROL_FIELDS}}
        return self._render(
            request,
            "pattern",
            "patterns",
            422 if errors else 200,
            pattern=pattern,
            summary=next(summary for summary in results.summaries if summary.name == pattern.name),
            plan=results.plan(pattern),
            findings=results.findings_about(pattern.name),
            parameters=parameters,
            values=values,
            errors=errors,
            outcome=outcome,
            note=note,
        )

    def _run(
        self, results: DesignResults, pattern: Pattern[..., Any], arguments: dict[str, Any], fields: Mapping[str, str]
    ) -> RunResult:
        rehearses = not pattern.plan.reading and fields.get("_confirmed") != "yes"
        return results.runner.run(
            pattern, arguments, expected(pattern), cursor=fields.get("_cursor", ""), rehearses=rehearses
        )

    @staticmethod
    def _generated_fields(
        results: DesignResults, pattern: Pattern[..., Any], parameters: list[forms.ParameterFields]
    ) -> tuple[dict[str, str], str]:
        """Return the text of each form field for arguments that match generated items, and an error message.

        The error message is empty if suitable arguments were found. Otherwise, the dict of texts is empty.
        """
        try:
            return forms.form_texts(parameters, results.sample().arguments(pattern)), ""
        except KeyplanError as error:
            return {}, str(error)

    # Findings.

    def findings(self, request: Request) -> Response:
        if self._design_results is None:
            return self._missing_page(request)
        report = self._design_results.report
        return self._render(
            request,
            "findings",
            "findings",
            groups=findings_by_severity(report.findings),
            suppressed=report.suppressed,
            pages=subjects_of(self._design_results.design),
        )

    def rule(self, request: Request) -> Response:
        """Show the documentation page of a rule. The page is also available if the console has no design."""
        rule = rule_of(request.path_params["code"])
        if rule is None:
            raise HTTPException(404, "This rule does not exist.")
        rule_findings = (
            []
            if self._design_results is None
            else [finding for finding in self._design_results.report.findings if finding.code == rule.code]
        )
        return self._render(request, "rule", "findings", rule=rule, text=rule_page(rule), findings=rule_findings)

    # Costs.

    def cost(self, request: Request) -> Response:
        if self._design_results is None:
            return self._missing_page(request)
        month = self._design_results.costs(costs.WhatIf.from_query(request.query_params, self._design_results.design))
        return self._render(request, "cost", "cost", costs=month, factors=costs.FACTORS, visible_rates=costs.BARS)

    # Claims.

    def claims(self, request: Request) -> Response:
        if self._design_results is None:
            return self._missing_page(request)
        verification = self._design_results.verification
        if request.method == "POST":
            fields = posted_form(request)
            if "stop" in fields:
                verification.stop()
            else:
                count_text = fields["items"]
                verification.start(int(count_text) if count_text in {str(count) for count in ITEMS} else ITEMS[0])
            return redirect(str(request.url.path))
        declared = [
            (pattern.name, claim) for pattern in self._design_results.design.patterns for claim in pattern.facts.claims
        ] + [("", claim) for claim in self._design_results.design.claims]
        return self._render(
            request,
            "claims",
            "claims",
            progress=verification.progress,
            report=verification.report,
            declared=declared,
            choices=ITEMS,
        )

    def progress(self, _request: Request) -> Response:
        """Return the progress of the verification as JSON for the script of the page."""
        progress = RunProgress() if self._design_results is None else self._design_results.verification.progress
        return JSONResponse(
            {
                "state": progress.state,
                "activity": progress.activity,
                "completed": progress.completed,
                "total": progress.total,
            }
        )

    # Two versions.

    def compare(self, request: Request) -> Response:
        if self._design_results is None:
            return self._missing_page(request)
        other_designs = self._console.against
        old_name = request.query_params.get("against") or next(iter(other_designs), "")
        if old_name not in other_designs:
            return self._render(request, "compare", "compare", comparison=None, old_name="")
        comparison = Comparison(other_designs[old_name], self._design_results.design, self._design_results.book)
        merged_panels = merge_panels(panels(comparison.old), panels(comparison.new), comparison.changes)
        return self._render(
            request,
            "compare",
            "compare",
            comparison=comparison,
            old_name=old_name,
            pictures=[draw(panel, number, linked=False) for number, panel in enumerate(merged_panels) if panel.mark],
            unchanged=[panel.table for panel in merged_panels if not panel.mark],
            changes=list(by_table(comparison.changes)),
            stages=rollout(comparison),
            findings=check_change(comparison).findings,
        )


def _table(design: Design, name: str) -> Table:
    """Return the table with the given name, or the first table if the name is empty. Raises HTTPException for an
    unknown name.
    """
    if not name:
        return design.tables[0]
    for table in design.tables:
        if table.name == name:
            return table
    raise HTTPException(404, "The design has no table with this name.")


def _index(table: Table, name: str) -> Index | None:
    """Return the index with the given name, or None if the name is empty. Raises HTTPException for an unknown name."""
    if not name:
        return None
    index = table.schema.index(name)
    if index is None:
        raise HTTPException(404, "The table has no index with this name.")
    return index


def _restrict_to_entity(collection: collections.Collection, entity: str) -> collections.Collection:
    return collections.Collection(collection.partition, tuple(row for row in collection.rows if row.entity == entity))


def _key_json(key: Mapping[str, Any]) -> dict[str, Any]:
    """Return a key as a JSON-compatible dict, with binary values as hexadecimal digits."""
    return {
        name: {kind: content.hex() if isinstance(content, bytes) else content for kind, content in value.items()}
        for name, value in key.items()
    }


def _start_key(text: str) -> dict[str, Any]:
    """Parse the start key in a link to the next page. Raises HTTPException for an invalid key."""
    try:
        return {
            name: {kind: bytes.fromhex(content) if kind == "B" else content for kind, content in value.items()}
            for name, value in json.loads(text).items()
        }
    except (ValueError, AttributeError):
        raise HTTPException(400, "The start key in the URL is not valid.") from None
