"""Requests that are not free

The free tier has no requests on demand: it covers 25 GB of storage, and 25 read and 25 write units a second of
provisioned capacity. On-demand requests are paid for from the first. The 2.5 million free read requests a month that
documents quote are those of DynamoDB Streams.

Leave the allowance out, or use provisioned capacity within 25 units for the whole account.

Source: the pricing page (free tier, on-demand and provisioned; streams read requests).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keyplan.check.claims import of_design
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.statement import denied
from keyplan.check.subject import Subject
from keyplan.design.workload import OnDemand

RULE = Rule("KP821", "free-requests", ("warning",))
_FREE_REQUESTS = re.compile(
    r"\bfree\b.*\b(requests?|reads?|writes?)\b|\bon[- ]demand\b.*\bfree tier\b", re.IGNORECASE | re.DOTALL
)


def check(subject: Subject) -> Iterator[Finding]:
    """Claims of free requests where a table is on demand."""
    tables = [table.name for table in subject.tables if isinstance(table.schema.billing, OnDemand)]
    for name, claim in of_design(subject):
        found = _FREE_REQUESTS.search(claim.text)
        if tables and found is not None and not denied(found):
            free = subject.book.free
            yield Finding(
                RULE.code,
                "warning",
                name,
                f'"{claim.text}": requests of {", ".join(tables)} are on demand and paid for from the first; free are'
                f" {free['storage_gb']:g} GB of storage, {free['provisioned_read_units']:g} read and"
                f" {free['provisioned_write_units']:g} write units a second of provisioned capacity, and"
                f" {free['stream_reads'] / 1e6:g} million stream reads a month",
                "leave the requests out of it, or declare billing=Provisioned(...) within 25 units",
                claim.place,
            )
