"""Pages by number, or counting by reading

The service has no offset: page 50 can only be reached by reading pages 1 to 49, and a parameter called `offset`
or `page` has no effect on the request. Counting is no cheaper than reading: every item counted is billed by its
size, and a count of more than a page takes several requests.

Go on with the cursor that each page returns. Keep counts in an item that the same transaction changes
(`add(count=1)`), or in a consumer of the stream where a moment's delay is fine.

Source: developer guide, "Paginating table query results" and "Counting the items in the results".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import number
from keyplan.check.names import words_of
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.expected import expected

RULE = Rule("KP317", "offset-or-count", ("warning",))
_OFFSETS = frozenset({"offset", "skip", "page", "page_number", "page_no", "page_index"})
COSTLY_UNITS = 10.0
"""Read units of one count from which a counter is cheaper in nearly every case."""


def check(subject: Subject) -> Iterator[Finding]:
    """Reads with parameters for an offset, and counts that read much."""
    for _, pattern, plan in subject.patterns:
        offset = next((name for name in pattern.parameters if words_of(name) in _OFFSETS), None)
        if plan.operation in {"Query", "Scan"} and offset is not None:
            yield Finding(
                RULE.code,
                "warning",
                pattern.name,
                f"{pattern.name} takes {offset}, and the service has no offset: pages before it are read and paid for",
                "leave it out, and go on with the cursor of the page before",
                pattern.place,
            )
        if plan.select == "count" and not plan.faults:
            told = expected(pattern)
            if told.is_counted and told.units.read >= COSTLY_UNITS:
                yield Finding(
                    RULE.code,
                    "warning",
                    pattern.name,
                    f"{pattern.name} counts by reading {number(told.evaluated)} items, {number(told.units.read)} read"
                    " units each time",
                    "keep the count in an item, changed with add(...) in the transaction of what is counted",
                    pattern.place,
                    plan.entity.place,
                )
