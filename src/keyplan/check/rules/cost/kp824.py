"""Something that is said to cost nothing

A table on demand has no charge for requests that nobody makes. Its storage is still paid for, that of every index
again (with 100 bytes for each item and entry), and so are backups and point-in-time recovery. The first 25 GB
are free for an account, not for a table.

Deletions by time to live are free, and claims about them are left alone.

Say "cents" and name them: `keyplan price` estimates the monthly cost.

Source: the pricing page (data storage, backup and restore); developer guide, "Storage considerations for global
secondary indexes" and "Using time to live (TTL)": deletions consume no write throughput.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keyplan.check.claims import of_design
from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.statement import clause_of
from keyplan.check.subject import Subject
from keyplan.check.wording import counted
from keyplan.cost.prices import GB

RULE = Rule("KP824", "claimed-to-cost-nothing", ("warning",))
_NOTHING = re.compile(
    r"\$\s*0(?:\.0+)?(?![\d.])|\b(zero|no) costs?\b|\bcosts? nothing\b|\bfree of charge\b"
    r"|\bind(ex(es)?|ices)\b[^.]*\b(is|are) free\b",
    re.IGNORECASE,
)
_ADDITIONAL = re.compile(r"\bno (additional|extra) cost", re.IGNORECASE)
_EXPIRY = re.compile(r"\b(?:TTL|time[- ]to[- ]live|expir\w+)\b", re.IGNORECASE)
_DELETION = re.compile(r"\bdelet\w+|\bremov\w+|\bpurg\w+|\bclean(?:s|ed|ing)?[- ]?up\b", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Return findings for claims of no cost."""
    for name, claim in of_design(subject):
        if not _claims_nothing(claim.text) or _ADDITIONAL.search(claim.text):
            continue
        yield Finding(
            RULE.code,
            "warning",
            name,
            f'"{claim.text}": {_parts(subject)}',
            "name the amount: keyplan price estimates the monthly cost at the declared numbers",
            claim.place,
        )


def _claims_nothing(text: str) -> bool:
    """Return True if a clause claims no cost for something else than deletions by expiry, which are free."""
    clauses = (clause_of(match) for match in _NOTHING.finditer(text))
    return any(not (_EXPIRY.search(clause) and _DELETION.search(clause)) for clause in clauses)


def _parts(subject: Subject) -> str:
    month = subject.month
    parts = [part for table in month.tables for part in table.parts]
    stored = sum(part.storage_bytes for part in parts) / GB
    storage = sum(table.storage for table in month.tables)
    copies = sum(len(table.parts) - 1 for table in month.tables)
    tables = "the table" if len(month.tables) == 1 else f"{len(month.tables)} tables"
    held = counted(copies, "copy", "copies")
    told = f"storage of {tables} and of {held} in indexes is paid for whether or not it is used"
    if stored >= 0.01:
        told += f" ({stored:,.2f} GB, ${storage:,.2f} a month before the {subject.book.free['storage_gb']:g} GB that"
        told += " are free in an account)"
    requests = sum(table.requests for table in month.tables)
    told += f", and requests are paid for from the first{f', ${requests:,.2f} a month' if requests >= 0.01 else ''}"
    recovery = sum(table.point_in_time for table in month.tables)
    return told + (f", and recovery ${recovery:,.2f}" if recovery >= 0.01 else "")
