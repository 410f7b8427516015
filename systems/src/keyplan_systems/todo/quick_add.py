"""Parses a task from a line of text: due date in words, priority after `!`, category after `#`, and title.

    read_line("Pay the rent friday !high #home", date(2026, 11, 24))
    -> {"title": "Pay the rent", "due_date": date(2026, 11, 27), "priority": "high", "category": "home"}

These dates are recognized: today, tomorrow, a weekday (the next one, never today), next week, in 3 days, in 2 weeks, 12
dec, 12 december 2027, dec 12, 2026-12-12. A date must not be part of a longer word. Only the last date in a line is
used.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any, Final

from keyplan_systems.todo.entities import Priority

_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_DATE: Final = re.compile(
    r"(?<!\S)(?:(?:on|by|due)\s+)?(?:"
    r"(?P<iso>\d{4}-\d{2}-\d{2})"
    r"|(?P<word>today|tonight|tomorrow|next\s+week)"
    rf"|(?:next\s+)?(?P<weekday>{'|'.join(_DAYS)})"
    r"|in\s+(?P<count>\d{1,3}|an?|one|two|three)\s+(?P<unit>day|week|month)s?"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.?\s+(?P<month>{_MONTH})(?:\s+(?P<year>\d{{4}}))?"
    rf"|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year2>\d{{4}}))?"
    r")(?!\S)",
    re.IGNORECASE,
)
_PRIORITY: Final = re.compile(rf"(?<!\S)!({'|'.join(Priority)})(?!\S)", re.IGNORECASE)
_CATEGORY: Final = re.compile(r"(?<!\S)#([^\s#]{1,50})(?!\S)")
_COUNTS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}


def read_line(text: str, today: date) -> dict[str, Any]:
    """Return the fields of the task that a line of text describes, by field name. The title may be empty."""
    fields: dict[str, Any] = {}
    rest = text
    for name, pattern in (("priority", _PRIORITY), ("category", _CATEGORY)):
        matches = list(pattern.finditer(rest))
        if matches:
            fields[name] = matches[-1][1].lower() if name == "priority" else matches[-1][1]
            rest = _remove_match(rest, matches[-1])
    for match in reversed(list(_DATE.finditer(rest))):
        day = _day(match, today)
        if day is not None:
            fields["due_date"] = day
            rest = _remove_match(rest, match)
            break
    return {"title": " ".join(rest.split()), **fields}


def _remove_match(text: str, match: re.Match[str]) -> str:
    return f"{text[: match.start()]} {text[match.end() :]}"


def _day(match: re.Match[str], today: date) -> date | None:
    """Return the date in a regular expression match, or None for a date that does not exist, such as 31 feb."""
    groups = {name: value.lower() for name, value in match.groupdict().items() if value}
    try:
        if "iso" in groups:
            return date.fromisoformat(groups["iso"])
        if "word" in groups:
            return today + timedelta(days={"tomorrow": 1}.get(groups["word"], 7 if "week" in groups["word"] else 0))
        if "weekday" in groups:
            return today + timedelta(days=(_DAYS.index(groups["weekday"]) - today.weekday() - 1) % 7 + 1)
        if "unit" in groups:
            return _add_units(today, _COUNTS.get(groups["count"]) or int(groups["count"]), groups["unit"])
        month = _MONTHS.index((groups.get("month") or groups["month2"])[:3]) + 1
        day = int(groups.get("day") or groups["day2"])
        year = groups.get("year") or groups.get("year2")
        if year:
            return date(int(year), month, day)
        this_year = date(today.year, month, day)
        return this_year if this_year >= today else date(today.year + 1, month, day)
    except (ValueError, OverflowError):
        return None


def _add_units(today: date, count: int, unit: str) -> date:
    if unit != "month":
        return today + timedelta(days=count * (7 if unit == "week" else 1))
    years, month = divmod(today.month - 1 + count, 12)
    first = date(today.year + years, month + 1, 1)
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return first.replace(day=min(today.day, last.day))
