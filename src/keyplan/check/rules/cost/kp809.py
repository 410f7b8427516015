"""A free tier that the design outgrows

What is free without end is 25 GB of storage in the Standard class, and 25 write and 25 read units a second of
provisioned capacity, for the whole account and not for each table. A document that counts on it is wrong once the
declared design is larger.

Reckon with what the design costs (`keyplan price`), and take the free part off once for the account.

Source: the pricing page; developer guide, "DynamoDB throughput capacity" (free tier of provisioned mode).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keyplan.check.capacity import parts_of
from keyplan.check.claims import of_design
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.prices import GB

RULE = Rule("KP809", "beyond-free-tier", ("warning",))
_FREE = re.compile(r"\bfree[- ]tier\b", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Claims of the free tier where storage or bought capacity exceeds it."""
    for name, claim in of_design(subject):
        if not _FREE.search(claim.text):
            continue
        beyond = _beyond(subject)
        if beyond:
            yield Finding(
                RULE.code,
                "warning",
                name,
                f'"{claim.text}": the design has {" and ".join(beyond)}',
                "state what the design costs (keyplan price), with the free part taken off once for the account",
                claim.place,
            )


def _beyond(subject: Subject) -> list[str]:
    free = subject.book.free
    stored = sum(part.storage_bytes for table in subject.month.tables for part in table.parts) / GB
    bought = [part.bought for part in parts_of(subject) if part.bought is not None]
    told = [
        (stored, free["storage_gb"], "GB of storage"),
        (sum(one.write for one in bought), free["provisioned_write_units"], "provisioned write units"),
        (sum(one.read for one in bought), free["provisioned_read_units"], "provisioned read units"),
    ]
    return [f"{has:,.0f} {what}, of which {most:g} are free" for has, most, what in told if has > most]
