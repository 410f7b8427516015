"""Load pages, which show requests, capacity units, throttling and errors over time by pattern, table, index and
partition.

For an engine in this process, the pages show all its operations. For other databases, they show the meter counts that
connected programs report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from keyplan.console.frame import Frame, read_body
from keyplan.console.load.recorder import SEPARATOR, SPANS, KeyUse, LoadCounts, LoadWindow, Name
from keyplan.console.load.reports import REPORT_BYTES, InvalidReportError
from keyplan.pages import charts

_TABS: Final = (
    ("", "Overview"),
    ("partitions", "Partitions and keys"),
    ("undeclared", "Undeclared access"),
    ("forecast", "Forecast"),
)
_INTEGER_MINIMUM: Final = 8
"""A chart's axis shows numbers without decimals if the maximum value of the chart is at least this number."""
_KEYS, _KEYS_READ = 20, 500
"""The maximum number of keys on the page, and the number of hottest keys that are searched for keys to show."""
_CALL_PREFIX: Final = re.compile(r"^\w+\(")
_TABLE_NAMES: Final = re.compile(r"[\w.-]+")
_LINES: Final = 3
"""The number of patterns that have a separate line in a chart."""


@dataclass(frozen=True)
class _Row:
    """A row in a table of counts."""

    name: str
    counts: LoadCounts
    share: float
    """The row's share of all consumed capacity units, or of all requests if no units were consumed."""


def routes(console: Frame) -> list[Route]:
    """Return the routes for the Load pages."""
    pages = _Pages(console)
    return [
        console.route("/load/", pages.overview),
        console.route("/load/partitions", pages.partitions),
        console.route("/load/undeclared", pages.undeclared),
        console.route("/load/forecast", pages.forecast),
        Route("/load/reports", _reporting(console), methods=["POST"]),
    ]


class _Pages:
    """The request handlers of the Load pages."""

    def __init__(self, console: Frame) -> None:
        self._console, self._recorded_load = console, console.load
        designs = {"": console.design} if console.design is not None else console.designs
        names = self._recorded_load.matcher.labels
        self._patterns = {
            names[pattern]: f"{f'designs/{name}/' if name else ''}design/patterns/{pattern.name}"
            for name, design in designs.items()
            for pattern in design.patterns
        }
        """The paths of the pages of patterns, relative to the console's root, by pattern name."""
        design = console.design
        is_part = design is not None and len(self._recorded_load.designs) > 1
        self._tables = {table.name for table in design.tables} if is_part and design is not None else None
        """The names of the tables that these pages show, or None unless they belong to one of several designs."""

    def _render(self, request: Request, tab: str, window: LoadWindow, **context: Any) -> Response:
        recorded_load = self._recorded_load
        span = f"?span={window.span.name}" if "span" in request.query_params else ""
        return self._console.render(
            request,
            f"load/{tab or 'overview'}.html.j2",
            window=window,
            total=window.total,
            span=span,
            spans=SPANS,
            tab=tab,
            tabs=_TABS,
            recorded_load=recorded_load,
            links={"pattern": self._patterns.get, "resource": _resource_path, "key": _key_path},
            programs=recorded_load.reports.programs(),
            has_data=bool(window.total.requests)
            or recorded_load.engine is not None
            or bool(recorded_load.reports.programs()),
            **context,
        )

    def _window(self, request: Request) -> LoadWindow:
        window = self._recorded_load.window(request.query_params.get("span", SPANS[0].name))
        return window if self._tables is None else window.select_names(self._shows)

    def _shows(self, name: Name) -> bool:
        """Return True if a name, such as that of a pattern, belongs to one of the tables that the page shows."""
        kind, text = name
        if self._tables is None:
            return True
        if kind == "pattern":
            return all(part in self._patterns for part in _CALL_PREFIX.sub("", text).rstrip(")").split(", "))
        if kind == "undeclared":
            return not self._tables.isdisjoint(_TABLE_NAMES.findall(text))
        return text.partition(" ")[0].partition("/")[0] in self._tables

    def overview(self, request: Request) -> Response:
        window = self._window(request)
        patterns, undeclared = window.totals("pattern"), window.totals("undeclared")
        return self._render(
            request,
            "",
            window,
            units=_chart(
                window,
                "Consumed units per second",
                [
                    ("Read units", window.series(("total", ""), "read")),
                    ("Write units", window.series(("total", ""), "write")),
                ],
            ),
            requests=_chart(window, "Requests per second", _requests(window, patterns, undeclared)),
            troubles=_chart(
                window,
                "Throttled and failed requests per second",
                [
                    ("Throttled", window.series(("total", ""), "throttled")),
                    ("Errors", window.series(("total", ""), "errors")),
                ],
            ),
            patterns=_rows(patterns),
            undeclared=_rows(undeclared),
            resources=_rows(window.totals("resource")),
        )

    def partitions(self, request: Request) -> Response:
        window = self._window(request)
        keys = [
            use
            for use in self._recorded_load.recorder.hottest_keys(_KEYS_READ)
            if self._shows(("resource", use.resource))
        ][:_KEYS]
        return self._render(
            request, "partitions", window, partition_loads=self._recorded_load.partition_loads(window), keys=_keys(keys)
        )

    def undeclared(self, request: Request) -> Response:
        window = self._window(request)
        return self._render(
            request,
            "undeclared",
            window,
            uses=[use for use in self._recorded_load.recorder.undeclared() if self._shows(("undeclared", use.summary))],
            to_time=_timestamp,
            since=_timestamp(window.since),
        )

    def forecast(self, request: Request) -> Response:
        window = self._window(request)
        rows = [row for row in self._recorded_load.forecast(window) if row.name in self._patterns]
        used_rows = [row for row in rows if row.measured]
        bars = [(row.name, row.projected) for row in used_rows[:10]]
        return self._render(
            request,
            "forecast",
            window,
            rows=rows,
            used_rows=used_rows,
            unused_rows=[row for row in rows if not row.measured],
            chart=charts.bars("Monthly cost if the measured load continues", bars, digits=2),
            prices=self._recorded_load.prediction.prices,
        )


def _chart(window: LoadWindow, title: str, series: Sequence[tuple[str, Sequence[float]]]) -> Markup:
    """Return a chart of rates per second. The current time bucket is omitted until half of its duration has passed."""
    highest = max((value for _, values in series for value in values), default=0.0)
    is_partial = window.now - window.times[-1] < window.span.step_s / 2
    complete_series = [(name, [*values[:-1], None] if is_partial else values) for name, values in series]
    return charts.lines(title, _labels(window), complete_series, digits=0 if highest >= _INTEGER_MINIMUM else 1)


def _resource_path(resource: str) -> str:
    """Return the path of the page that shows the items of a table or index. `resource` is a table name or
    "table/index".
    """
    table, _, index = resource.partition("/")
    return f"data/tables/{quote(table, safe='')}/" + (f"?{urlencode({'index': index})}" if index else "")


def _key_path(use: KeyUse) -> str:
    """Return the path of the page that shows the item collection with a partition key.

    Return an empty string if the partition key has several attributes.
    """
    table, _, index = use.resource.partition("/")
    query = {"index": index, "pk": use.key} if index else {"pk": use.key}
    return "" if SEPARATOR in use.key else f"data/tables/{quote(table, safe='')}/?{urlencode(query)}"


def _timestamp(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _requests(
    window: LoadWindow, patterns: Mapping[str, LoadCounts], undeclared: Mapping[str, LoadCounts]
) -> list[tuple[str, list[float]]]:
    """Return the name and the rates of each line in the chart of requests.

    The lines show the busiest patterns, and the total of all other patterns.
    """
    busiest = sorted(patterns, key=lambda name: -patterns[name].requests)[:_LINES]
    lines = [(name, window.series(("pattern", name), "requests")) for name in busiest]
    if not busiest and not undeclared:
        return [("All requests", window.series(("total", ""), "requests"))]
    if len(patterns) > len(busiest) or undeclared:
        total = window.series(("total", ""), "requests")
        other_rates = [max(0.0, value - sum(line[index] for _, line in lines)) for index, value in enumerate(total)]
        lines.append(("All others" if busiest else "All requests", other_rates))
    return lines


def _rows(totals: Mapping[str, LoadCounts]) -> list[_Row]:
    units = sum(counts.units for counts in totals.values())
    requests = sum(counts.requests for counts in totals.values())
    return [
        _Row(name, counts, counts.units / units if units else counts.requests / (requests or 1))
        for name, counts in totals.items()
    ]


def _keys(uses: Iterable[KeyUse]) -> list[tuple[KeyUse, float]]:
    all_uses = list(uses)
    highest = max((use.units for use in all_uses), default=0.0)
    return [(use, use.units / highest if highest else 0.0) for use in all_uses]


def _labels(window: LoadWindow) -> list[str]:
    """Return the age of each bucket as text, such as "-4:30" or "-3 h". The last label is "now"."""
    labels = []
    for number in range(len(window.buckets)):
        age = (len(window.buckets) - 1 - number) * window.span.step_s
        if not age:
            labels.append("now")
        elif window.span.seconds <= 600:
            labels.append(f"-{age // 60}:{age % 60:02}")
        elif window.span.seconds <= 7200:
            labels.append(f"-{age // 60} min")
        else:
            labels.append(f"-{age / 3600:.0f} h")
    return labels


def _reporting(console: Frame) -> Callable[[Request], Any]:
    """Return the handler that accepts reports from programs.

    A request must contain the console's token as a bearer token. It does not need a session cookie.
    """

    async def receive(request: Request) -> Response:
        if not console.access.has_bearer_token(request):
            return JSONResponse({"error": {"code": "token", "message": "the console's token is required"}}, 401)
        body = await read_body(request, REPORT_BYTES, f"A report has at most {REPORT_BYTES // 1024} KiB.")
        try:
            await run_in_threadpool(console.load.reports.add, orjson.loads(body))
        except (InvalidReportError, orjson.JSONDecodeError) as error:
            return JSONResponse({"error": {"code": "invalid", "message": str(error)}}, 400)
        return Response(status_code=204)

    return receive
