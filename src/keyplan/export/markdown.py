"""Converts a design to a Markdown document with tables of keys, patterns, consumers, costs and findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from keyplan.check.finding import Finding
from keyplan.cost.estimate import Estimate
from keyplan.cost.expected import expected
from keyplan.cost.sizes import item_size
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundIndexKey
from keyplan.design.planning.plan import Plan
from keyplan.design.workload import Provisioned
from keyplan.export.conditions import condition, key_condition, written_only_if

ENTITY_CHART = "### Entity chart"
_TYPES = {
    "S": "String", "N": "Number", "B": "Binary", "BOOL": "Boolean", "SS": "String Set", "NS": "Number Set",
    "BS": "Binary Set", "L": "List", "M": "Map", "ANY": "any",
}  # fmt: skip


def document(design: Design, findings: Sequence[Finding], month: Estimate) -> str:
    """Return the Markdown document of a design."""
    parts = list(introduction(design))
    parts += [part for table in design.tables for part in of_table(table)]
    parts += [*of_patterns(design), *of_consumers(design), *of_month(month), *of_findings(findings)]
    return "\n\n".join(parts) + "\n"


def introduction(design: Design) -> Iterator[str]:
    """Yield the heading with the name of the design, and the docstring of the design if it has one."""
    yield f"# {design.name}"
    if design.doc:
        yield design.doc


def rows(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with a header and rows."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n".join(["| " + " | ".join(line) + " |" for line in (list(head), ["---"] * len(head), *cells)])


def of_table(table: Table) -> Iterator[str]:
    """Yield the parts of the section about a table, its indexes and its entities."""
    schema = table.schema
    yield f"## Table `{table.name}`"
    properties = [
        ["Partition key", f"`{schema.partition}`"],
        ["Sort key", f"`{schema.sort}`" if schema.sort else "none"],
    ]
    properties.append(["Capacity", _billing(table)])
    properties.append(["Expiry", ", ".join(f"`{ttl.attribute}`" for ttl in schema.ttls) or "none"])
    properties.append(["Stream", schema.stream or "none"])
    properties.append(["Point-in-time recovery", "on" if schema.point_in_time_recovery else "off"])
    properties.append(["Deletion protection", "on" if schema.deletion_protection else "off"])
    if schema.discriminator:
        properties.append(["Entity name in", f"`{schema.discriminator}`"])
    if schema.literal:
        properties.append(["Requests", "literal: exactly as declared, without expiry checks"])
    yield rows(["", ""], properties)
    if schema.indexes:
        yield "### Indexes"
        yield rows(
            ["Index", "Kind", "Partition key", "Sort key", "Projection"],
            [
                [index.name, index.kind, _names(index.partition), _names(index.sort), _projection(index.project)]
                for index in schema.indexes
            ],
        )
    yield ENTITY_CHART
    yield _chart(table)
    for entity in table.entities:
        yield from _entity(entity)


def _billing(table: Table) -> str:
    billing = table.schema.billing
    if isinstance(billing, Provisioned):
        return f"provisioned, {billing.read} read and {billing.write} write units per second"
    return "on demand"


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _projection(project: Any) -> str:
    return ", ".join(f"`{name}`" for name in project) if isinstance(project, tuple) else project or "not stated"


def _chart(table: Table) -> str:
    """Return the entity chart of a table, with a row for each entity and a column for each key attribute."""
    attributes = table.schema.key_attributes()
    lines = []
    for entity in table.entities:
        texts = {part.attribute: part.text for bound in (entity.key, *entity.indexes) for part in bound.attributes}
        lines.append([entity.name, *(f"`{texts[name]}`" if name in texts else "" for name in attributes)])
    return rows(["Entity", *attributes], lines)


def _entity(entity: EntitySpec) -> Iterator[str]:
    yield f"### {entity.name}"
    size = item_size(entity)
    details = []
    if entity.volume is not None:
        details.append(f"{entity.volume.count:,} items")
    details.append(f"{size.average:,} bytes on average{'' if size.declared else ' (guessed)'}")
    if entity.version:
        details.append(f"version in `{entity.version}`")
    details += [f"unique {', '.join(rule.fields)} ({_ENFORCED[rule.by]})" for rule in entity.uniques]
    details += [f"in {bound.index.name} only while {condition(bound.only_if)}" for bound in _sparse(entity)]
    yield ", ".join(details) + "."
    yield rows(["Attribute", "Type", "Field", "Required"], [_field(stored) for stored in entity.fields.values()])


_ENFORCED = {
    "sentinel": "by a sentinel item",
    "index": "by an index, which does not enforce uniqueness",
    "nothing": "not enforced",
}


def _sparse(entity: EntitySpec) -> list[BoundIndexKey]:
    return [bound for bound in entity.indexes if bound.only_if is not None]


_STORED = {
    "epoch_s": "epoch seconds",
    "epoch_ms": "epoch milliseconds",
    "iso_s": "ISO 8601, seconds",
    "iso_ms": "ISO 8601, milliseconds",
}


def _field(field: StoredField) -> list[str]:
    type_text = _TYPES[field.type_code]
    if field.stored:
        type_text += f" ({_STORED[field.stored]})"
    if field.write_time is not None:
        type_text += f", set when {field.write_time}"
    return [f"`{field.attribute}`", type_text, field.name, "no" if field.optional else "yes"]


def of_patterns(design: Design) -> Iterator[str]:
    """Yield the section about patterns, which contains a table with a row for each pattern."""
    yield "## Access patterns"
    lines = [_pattern(pattern, pattern.plan) for pattern in design.patterns]
    head = [
        "Pattern",
        "Operation",
        "Table or index",
        "Key condition",
        "Filter or condition",
        "Units per call",
        "Claimed",
    ]
    yield rows(head, lines)


def _pattern(pattern: Pattern[..., Any], plan: Plan) -> list[str]:
    target = f"{plan.schema.name}/{plan.index.name}" if plan.index else plan.schema.name
    units = expected(pattern).units
    cost = f"{units.read:,.1f} read" if plan.reading else f"{units.total_write:,.1f} write"
    if plan.steps:
        target = ", ".join(dict.fromkeys(step.schema.name for step in plan.steps))
    name = f"`{pattern.name}`" + (f": {pattern.doc.splitlines()[0]}" if pattern.doc else "")
    key_text = key_condition(plan) or ", ".join(step.pattern for step in plan.steps)
    options = ["descending"] if plan.descending else []
    options += [f"limit {plan.limit}"] if plan.limit else []
    options += [f"pages of {plan.page_size}"] if plan.page_size else []
    options += [f"view {plan.view.__name__}: {', '.join(plan.view.model_fields)}"] if plan.view is not None else []
    options_text = f" ({', '.join(options)})" if options else ""
    filters = written_only_if(plan) if plan.filter is None else condition(plan.filter)
    claims = ", ".join(claim.text for claim in pattern.facts.claims)
    operation = f"{plan.operation}, then BatchGetItem" if plan.hydrated else plan.operation
    return [name, operation, target, (key_text + options_text).lstrip(), filters, cost, claims]


def of_consumers(design: Design) -> Iterator[str]:
    """Yield the section about consumers, which contains a table with a row for each consumer. If the design does not
    declare consumers, yield nothing.
    """
    consumers = [(table, consumer) for table in design.tables for consumer in table.consumers]
    if not consumers:
        return
    yield "## Change consumers"
    yield rows(
        ["Consumer", "Table", "Entities", "Events", "Batch", "Retries", "On failure"],
        [
            [
                f"`{consumer.name}`",
                table.name,
                ", ".join(entity.name for entity in consumer.entities),
                ", ".join(sorted(consumer.events)),
                str(consumer.batch),
                "as long as the stream keeps the change" if consumer.retries is None else str(consumer.retries),
                consumer.on_failure or "stops",
            ]
            for table, consumer in consumers
        ],
    )


def of_month(month: Estimate) -> Iterator[str]:
    """Yield the parts of the section about the monthly cost."""
    yield "## Monthly cost"
    recovery = f" ${month.point_in_time:,.2f} of point-in-time recovery," if month.point_in_time else ""
    yield (
        f"${month.total:,.2f}, {month.book.region}, prices of {month.book.dated}; 730 hours, decimal gigabytes,"
        f"{recovery} ${month.free_storage:,.2f} of storage free."
    )
    yield rows(
        ["Table or index", "Read units/s", "Write units/s", "Requests or capacity", "Storage"],
        [
            [
                part.name,
                f"{part.read:,.1f}",
                f"{part.write:,.1f}",
                f"${part.on_demand if table.billing == 'on demand' else part.provisioned:,.2f}",
                f"${part.storage:,.2f}",
            ]
            for table in month.tables
            for part in table.parts
        ],
    )


def of_findings(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the parts of the section about findings."""
    yield "## Findings"
    if not findings:
        yield "None."
        return
    yield rows(
        ["Rule", "Severity", "About", "Problem", "Fix"],
        [[finding.code, finding.severity, finding.subject, finding.problem, finding.fix] for finding in findings],
    )
