"""Scans that an export would do for less

A scan pays for every item each time. An export to S3 pays once for each gigabyte, takes no capacity from users, and
can be read as often as one likes. Where scans of a table cost five dollars a month more than an export every day,
let the jobs read the export.

Exports need point-in-time recovery.

Source: developer guide, "DynamoDB data export to Amazon S3: how it works"; prices from the book that is shipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.prices import GB

RULE = Rule("KP808", "export-instead-of-scans", ("advice",))
_EXPORTS_A_MONTH = 30
_DOLLARS = 5.0


def check(subject: Subject) -> Iterator[Finding]:
    """Tables whose scans cost more than daily exports."""
    costs = {(cost.table, cost.name): cost for cost in subject.month.patterns}
    for table, month in zip(subject.tables, subject.month.tables, strict=True):
        scans = [pattern for pattern in table.patterns if pattern.plan.operation == "Scan"]
        scanned = sum(costs[table.name, pattern.name].requests for pattern in scans)
        export = month.parts[0].storage_bytes / GB * subject.book["export_gb"] * _EXPORTS_A_MONTH
        if scanned - export >= _DOLLARS:
            names = ", ".join(pattern.name for pattern in scans)
            yield Finding(
                RULE.code,
                "advice",
                table.name,
                f"scans of table {table.name} ({names}) cost ${scanned:,.0f} a month, and an export to S3 every day"
                f" ${export:,.0f} (prices of {subject.book.region}, {subject.book.dated})",
                "export the table and let the jobs read the export; their answers are then up to a day old",
                scans[0].place,
                table.schema.place,
            )
