"""Formats a comparison as text and JSON: changes by verdict, the rollout in order, and prices."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Any

from keyplan.design.errors import Place, line_number
from keyplan.diff.backfill import Backfill
from keyplan.diff.changes import VERDICTS, DesignChange, RolloutStep, Verdict
from keyplan.diff.comparison import Comparison, Stage, rollout

_TITLES: dict[Verdict, str] = {
    "new table": "needs a new table",
    "backfill": "needs a backfill",
    "online": "online",
    "code": "only code",
}
_SIGNS: dict[str, str] = {"added": "+", "removed": "-", "gone": "-"}


_WIDTH = 100
_CENT = 0.01


def text(comparison: Comparison) -> str:
    """Format the comparison as text, without the findings of rules."""
    if not comparison.changes:
        return f"{comparison.new.name}: the two designs are the same.\n"
    parts = [*_changes(comparison), *_stages(rollout(comparison)), _prices(comparison)]
    return "\n\n".join(parts) + "\n"


def _changes(comparison: Comparison) -> Iterator[str]:
    for verdict in VERDICTS:
        verdict_changes = [change for change in comparison.changes if change.verdict == verdict]
        if verdict_changes:
            yield "\n".join([f"{_TITLES[verdict]}:", *(_change(comparison, change) for change in verdict_changes)])


def _change(comparison: Comparison, change: DesignChange) -> str:
    sign = _SIGNS.get(change.kind.split()[-1], "~")
    lines = [_wrapped(f"{change.table}: {change.summary}", 2, f"{sign} "), _wrapped(change.effects, 6)]
    backfill = comparison.backfill(change)
    if backfill is not None:
        lines.append(_wrapped(_sentence(backfill_text(backfill)), 6))
    return "\n".join(lines)


def backfill_text(backfill: Backfill) -> str:
    """Format the number of items, the capacity units, the duration and the price of a backfill as one line."""
    if backfill.unknown and not backfill.items:
        return f"the number of {', '.join(backfill.unknown)} items is unknown: declare volume=Volume(count=...)"
    parts = [_counted_items(backfill), f"{number(backfill.total_write)} write units"]
    if backfill.read:
        parts.append(f"{number(backfill.read)} read units")
    is_bought = backfill.total_write > 0 and backfill.price == 0
    parts.append("within the provisioned capacity" if is_bought else f"${backfill.price:,.2f}")
    parts.append(_time(backfill))
    suffix = f"; not counted: {', '.join(backfill.unknown)}" if backfill.unknown else ""
    label = "clean-up" if backfill.is_cleaning else "backfill"
    return f"{label} by {backfill.executor}: {', '.join(parts)}{suffix}"


def _counted_items(backfill: Backfill) -> str:
    word = {"index": "entries", "sentinels": "sentinels"}.get(backfill.subject.partition(" ")[0], "items")
    return f"{backfill.items:,} {word}"


def _time(backfill: Backfill) -> str:
    if backfill.seconds is None:
        return "no spare capacity"
    return f"{duration(backfill.seconds)} at best"


def duration(seconds: float) -> str:
    """Format a duration, such as "2.5 hours". The unit is the largest of days, hours and minutes in which the value is
    at least 2, or seconds for shorter durations.
    """
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{max(1, round(seconds)):,} s"


def number(value: float) -> str:
    """Format a number of capacity units. Fractions have one decimal place if the number is less than 100."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.1f}"


def _stages(stages: tuple[Stage, ...]) -> Iterator[str]:
    if not stages:
        return
    lines = ["roll-out:"]
    for count, stage in enumerate(stages, 1):
        lines.append(f"  {count}. {stage.title}")
        lines += [_wrapped(_step(step), 5, "- ") for step in stage.steps]
        lines += [_wrapped(f"{backfill.subject}: {backfill_text(backfill)}", 7) for backfill in stage.backfills]
    yield "\n".join(lines)


def _step(step: RolloutStep) -> str:
    return step.text + (f" ({step.operation})" if step.operation else "")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _wrapped(text: str, indent: int, sign: str = "") -> str:
    """Wrap text. `sign` is printed before the first line, and continuation lines are aligned with the text after the
    sign.
    """
    first, later = " " * indent + sign, " " * (indent + len(sign))
    return fill(
        text, _WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )


def _prices(comparison: Comparison) -> str:
    book = comparison.book
    lines = [f"monthly cost ({book.region}, prices of {book.dated}):"]
    rows = [(price.table, price.old, price.new, price.difference) for price in comparison.prices]
    before, after = comparison.old_estimate, comparison.new_estimate
    if max(before.free_storage, after.free_storage) >= _CENT:
        storage = -before.free_storage, -after.free_storage
        rows.append(("free storage", *storage, storage[1] - storage[0]))
    rows.append(("total", before.total, after.total, after.total - before.total))
    width = max(len(name) for name, *_ in rows)
    lines += [
        f"  {name:{width}} {_money(old):>14} {_money(new):>14} {_signed(difference):>14}"
        for name, old, new, difference in rows
    ]
    return "\n".join(lines)


def _money(amount: float | None) -> str:
    if amount is None:
        return "-"
    cents = round(amount, 2)
    return f"-${-cents:,.2f}" if cents < 0 else f"${abs(cents):,.2f}"


def _signed(amount: float) -> str:
    cents = round(amount, 2)
    return f"{'-' if cents < 0 else '+'}${abs(cents):,.2f}"


# JSON.


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON-compatible data."""
    before, after = comparison.old_estimate, comparison.new_estimate
    return {
        "old": comparison.old.name,
        "new": comparison.new.name,
        "changes": [_change_document(comparison, change) for change in comparison.changes],
        "backfills": [_backfill_document(backfill) for backfill in comparison.backfills],
        "rollout": [
            {
                "phase": stage.phase,
                "title": stage.title,
                "steps": [_step_document(step) for step in stage.steps],
            }
            for stage in rollout(comparison)
        ],
        "prices": {
            "region": comparison.book.region,
            "dated": comparison.book.dated.isoformat(),
            "currency": comparison.book.currency,
            "tables": [
                {"table": price.table, "old": price.old, "new": price.new, "difference": price.difference}
                for price in comparison.prices
            ],
            "total": {"old": before.total, "new": after.total, "difference": after.total - before.total},
        },
    }


def _step_document(step: RolloutStep) -> dict[str, Any]:
    return {"text": step.text, "operation": step.operation or None, "request": step.request}


def _change_document(comparison: Comparison, change: DesignChange) -> dict[str, Any]:
    backfill = comparison.backfill(change)
    return {
        "kind": change.kind,
        "verdict": change.verdict,
        "table": change.table,
        "subject": change.subject,
        "what": change.summary,
        "how": change.effects,
        "place": _place(change.place),
        "other": None if change.other is None else _place(change.other),
        "backfill": None if backfill is None else _backfill_document(backfill),
    }


def _backfill_document(backfill: Backfill) -> dict[str, Any]:
    return {
        "by": backfill.executor,
        "what": backfill.subject,
        "table": backfill.table,
        "items": backfill.items,
        "read_units": backfill.read,
        "write_units": backfill.write,
        "index_write_units": dict(backfill.indexes),
        "check_write_units": backfill.checks,
        "seconds": backfill.seconds,
        "price": backfill.price,
        "items_unknown_of": list(backfill.unknown),
    }


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": line_number(place)}
