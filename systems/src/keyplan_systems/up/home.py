"""Home page: systems, patterns, findings, costs, background work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import jinja2

from keyplan.cost.expected import expected
from keyplan.design.declaring.patterns import Pattern
from keyplan.export.conditions import key_condition
from keyplan_systems.up.registry import Hosted
from keyplan_systems.up.workers import State


@cache
def _template() -> jinja2.Template:
    loader = jinja2.PackageLoader("keyplan_systems.up", ".")
    return jinja2.Environment(loader=loader, autoescape=True).get_template("home.html.j2")


def page(hosted: Sequence[Hosted], workers: Sequence[State], url: str, *, has_endpoint: bool) -> str:
    """Return the page as HTML; `has_endpoint` is True if this address also serves DynamoDB."""
    systems = [_system(system) for system in hosted]
    return _template().render(url=url, has_endpoint=has_endpoint, workers=workers, systems=systems)


def _system(hosted: Hosted) -> Mapping[str, Any]:
    return {
        "name": hosted.system.name,
        "title": hosted.system.title,
        "page": hosted.system.page,
        "start": hosted.system.start,
        "people": [person.name for person in hosted.system.people],
        "summary": hosted.design.doc.partition("\n\n")[0],
        "tables": hosted.design.tables,
        "patterns": [_pattern(pattern) for pattern in hosted.design.patterns],
        "findings": hosted.report.findings,
        "suppressed": len(hosted.report.suppressed),
        "month": f"${hosted.month.total:,.2f}",
    }


def _pattern(pattern: Pattern[..., Any]) -> Mapping[str, str]:
    plan, units = pattern.plan, expected(pattern).units
    return {
        "name": pattern.name,
        "doc": pattern.doc.partition("\n")[0],
        "operation": plan.operation,
        "where": f"{plan.schema.name}/{plan.index.name}" if plan.index else plan.schema.name,
        "key": key_condition(plan) or ", ".join(step.pattern for step in plan.steps),
        "read": f"{units.read:,.1f}" if units.read else "",
        "write": f"{units.written:,.1f}" if units.written else "",
    }
