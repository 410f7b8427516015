"""A moment is kept as text of no fixed form

Text sorts by its characters, so moments sort right only in one form: UTC, always the same number of digits,
always the same ending. Mixed forms go wrong quietly: `12:00:00.500Z` sorts before `12:00:00Z`, and
`+02:00` sorts by local time. Python's own `isoformat()` leaves out zero microseconds. A str field that nothing
binds to one form will hold several as soon as two programs write it.

Declare it as `datetime` (stored as UTC with six digits) or `date`, use a template hole such as
`{created_at:utc_ms}`, or bind the str with `Field(pattern=...)`.

Source: developer guide, "Supported data types and naming rules", String as date type.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.names import is_moment
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP208", "moment-as-text", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """Fields of sort keys whose names say moment or day and whose type is any text."""
    for _, entity in subject.entities:
        told: set[str] = set()
        for bound in (entity.key, *entity.indexes):
            where = entity.schema.where(bound.index)
            for name in (name for part in bound.sort for name in part.fields):
                field = entity.fields[name].declared
                free = field.type is str and field.choices is None and field.pattern is None
                if name in told or not free or not is_moment(name):
                    continue
                told.add(name)
                yield Finding(
                    RULE.code,
                    "warning",
                    entity.name,
                    f"{entity.name}.{name} is any text, and the sort key of {where} orders by it: moments of different"
                    " forms (.500Z and Z, offsets, fewer digits) do not sort by time",
                    f"declare {name} as datetime or date, or bind its form with Field(pattern=...)",
                    entity.place.at(f"{name}: "),
                    bound.place,
                )
