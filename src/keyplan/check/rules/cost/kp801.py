"""The other way of paying for capacity would be cheaper

On demand, each request is paid for; provisioned, capacity is paid for by the hour, used or not. Load that is steady
costs a fraction when it is provisioned; load that comes in bursts, or hardly at all, costs less on demand.

It is reckoned from the declared rates: on demand by their averages, provisioned by their peaks at 70 % use. Only
differences of a third and of twenty dollars a month are worth a word, and none of a table of which nothing tells how
many items a query reads (KP509).

The capacity mode can be changed while the table is in use.

Source: developer guide, "DynamoDB throughput capacity" and "Cost optimization: evaluate your table capacity mode";
prices from the book that is shipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP801", "capacity-mode", ("advice",))
_SHARE, _DOLLARS = 2 / 3, 20.0


def check(subject: Subject) -> Iterator[Finding]:
    """Tables with declared rates whose month would be cheaper in the other mode."""
    guessed = {cost.table for cost in subject.month.patterns if cost.requests and not cost.expected.is_counted}
    for table, cost in zip(subject.tables, subject.month.tables, strict=True):
        on_demand = sum(part.on_demand for part in cost.parts)
        provisioned = sum(part.provisioned for part in cost.parts)
        if not on_demand or table.name in guessed:
            continue
        now, other = (provisioned, on_demand) if table.schema.provisioned else (on_demand, provisioned)
        if other < now * _SHARE and now - other >= _DOLLARS:
            mode, better = ("provisioned", "on demand") if table.schema.provisioned else ("on demand", "provisioned")
            yield Finding(
                RULE.code,
                "advice",
                table.name,
                f"table {table.name} costs ${now:,.0f} a month {mode} at the declared rates, and would cost"
                f" ${other:,.0f} {better} (prices of {subject.book.region}, {subject.book.dated})",
                "declare billing=OnDemand()"
                if table.schema.provisioned
                else "declare billing=Provisioned(...) with auto scaling, if the load is as steady as declared",
                table.schema.place,
            )
