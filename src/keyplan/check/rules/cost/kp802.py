"""The other table class would be cheaper

Standard-Infrequent Access stores for 40 % of the price and charges a quarter more for each request. It is the
cheaper class for tables whose storage costs more than their requests: logs, archives, old orders.

It is reckoned from the declared numbers, sizes and rates of on-demand tables, before the free storage of an account.
Only differences of a tenth and of ten dollars a month are worth a word.

The class can be changed while the table is in use, twice in thirty days.

Source: developer guide, "DynamoDB table classes" and "Cost optimization: evaluate your table class selection".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.estimate import SECONDS_A_MONTH, TableCost
from keyplan.cost.prices import GB, PriceBook

RULE = Rule("KP802", "table-class", ("advice",))
_SHARE, _DOLLARS = 0.9, 10.0


def check(subject: Subject) -> Iterator[Finding]:
    """On-demand tables whose month would be cheaper in the other class."""
    for table, cost in zip(subject.tables, subject.month.tables, strict=True):
        if table.schema.provisioned or not any(part.on_demand for part in cost.parts):
            continue
        standard, infrequent = _standard(cost, subject.book), cost.requests_ia + cost.storage_ia
        is_standard = table.schema.table_class == "STANDARD"
        now, other = (standard, infrequent) if is_standard else (infrequent, standard)
        better = "STANDARD_INFREQUENT_ACCESS" if is_standard else "STANDARD"
        if other < now * _SHARE and now - other >= _DOLLARS:
            yield Finding(
                RULE.code,
                "advice",
                table.name,
                f"table {table.name} costs ${now:,.0f} a month for storage and requests in its class, and would cost"
                f" ${other:,.0f} as {better} (prices of {subject.book.region}, {subject.book.dated})",
                f'declare table_class="{better}"',
                table.schema.place,
            )


def _standard(cost: TableCost, book: PriceBook) -> float:
    total = 0.0
    for part in cost.parts:
        total += SECONDS_A_MONTH * book.on_demand(part.read, part.write, "STANDARD")
        total += part.storage_bytes / GB * book["storage_gb_month"]
    return total
