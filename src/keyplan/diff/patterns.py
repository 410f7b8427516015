"""Changes to patterns and consumers, with their effects on callers and on cursors of the running version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from keyplan.design.declaring.consumers import Changed, Consumer
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.parameters import annotation_of
from keyplan.diff.changes import DesignChange, Kind, RolloutStep
from keyplan.diff.matching import Form, condition_form, find_counterparts, match_declarations, partition_form, plan_form
from keyplan.diff.types import name_of

_PAGED = ("query", "scan")
_FACTS = ("expected_items", "expected_scanned", "claims", "decides", "guards", "after", "ordered_by", "retried")


def pattern_changes(old: Design, new: Design) -> Iterator[DesignChange]:
    """Yield the differences between the patterns of two designs, including transactions."""
    matches = match_declarations(old.patterns, new.patterns, _shape)
    for before, after in matches.renamed:
        summary = f"pattern {before.name} was renamed to {after.name}"
        effects = "Callers must change too." + _cursors(before, after, renamed=True)
        yield _pattern_change(
            "pattern renamed", new, after, before, summary=summary, effects=effects, uses=tuple(_uses(old, before))
        )
    for before, after in matches.same_name:
        yield from _pattern_changes(new, before, after)
    counterparts = find_counterparts(matches.removed, matches.added, _pattern_form)
    for pattern in matches.added:
        summary, effects = f"pattern {pattern.name} was added", "Only programs change."
        if pattern.name in counterparts:
            before = counterparts[pattern.name]
            cursors = _cursors(before, pattern, renamed=True)
            effects += f" If this is {before.name} renamed, its callers must change too.{cursors}"
        yield _pattern_change("pattern added", new, pattern, None, summary=summary, effects=effects)
    for pattern in matches.removed:
        yield _pattern_removed(old, new, pattern)


def _shape(pattern: Pattern[..., Any]) -> Form:
    return (pattern.kind, pattern.plan.schema.name, tuple(plan_form(pattern.plan).items()), _signature(pattern))


def _pattern_form(pattern: Pattern[..., Any]) -> Form:
    """Return the properties of a pattern that are compared to detect that it was renamed: its kind, table, entities,
    index and parameter types.
    """
    form = plan_form(pattern.plan)
    types = tuple(kind for _, kind in _signature(pattern))
    return (pattern.kind, pattern.plan.schema.name, form["entities"], form["index"], types)


def _pattern_changes(new: Design, before: Pattern[..., Any], after: Pattern[..., Any]) -> Iterator[DesignChange]:
    changed = []
    if before.kind != after.kind:
        changed.append(f"kind ({before.kind} to {after.kind})")
    if _signature(before) != _signature(after):
        changed.append("parameters")
    if before.plan.schema.name != after.plan.schema.name:
        changed.append(f"table ({before.plan.schema.name} to {after.plan.schema.name})")
    new_form, old_form = plan_form(after.plan), plan_form(before.plan)
    changed += [
        _aspect_text(name, old_form[name], new_form[name]) for name in new_form if new_form[name] != old_form[name]
    ]
    if changed:
        summary = f"pattern {after.name} changed: {', '.join(changed)}"
        effects = "Only programs change." + ("" if "parameters" not in changed else " Callers must change too.")
        yield _pattern_change(
            "pattern changed", new, after, before, summary=summary, effects=effects + _cursors(before, after)
        )
    if after.facts.rate != before.facts.rate:
        summary = f"the rate of pattern {after.name} changed from {_rate(before)} to {_rate(after)}"
        yield _pattern_change("facts changed", new, after, before, summary=summary, effects="Only estimates change.")
    changed_facts = [name for name in _FACTS if getattr(after.facts, name) != getattr(before.facts, name)]
    if changed_facts:
        summary = f"declared facts of pattern {after.name} changed: {', '.join(changed_facts)}"
        yield _pattern_change(
            "facts changed", new, after, before, summary=summary, effects="Only estimates and checks change."
        )


def _aspect_text(name: str, old_form: Form, new_form: Form) -> str:
    if name == "index":
        return f"index ({old_form or 'table'} to {new_form or 'table'})"
    return name


def _signature(pattern: Pattern[..., Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, name_of(annotation_of(param))) for name, param in pattern.parameters.items())


def _rate(pattern: Pattern[..., Any]) -> str:
    rate = pattern.facts.rate
    return "none" if rate is None else f"{rate.average:g} calls per second ({rate.highest:g} at the peak)"


def _cursors(before: Pattern[..., Any], after: Pattern[..., Any], *, renamed: bool = False) -> str:
    """Return a sentence for messages if the new version rejects cursors that the running version has returned.
    Otherwise, return an empty string.

    `renamed` is True if the pattern has a different name in the new design.
    """
    if before.kind not in _PAGED or after.kind not in _PAGED:
        return ""
    if renamed or partition_form(before.plan) != partition_form(after.plan):
        return " The new version rejects cursors of the old version: their readers start again."
    return ""


def _pattern_removed(old: Design, new: Design, pattern: Pattern[..., Any]) -> DesignChange:
    uses = tuple(_uses(old, pattern))
    summary = f"pattern {pattern.name} was removed"
    effects = f"In the old design, {'; '.join(uses)}." if uses else "Nothing in the old design uses it."
    return _pattern_change("pattern removed", new, pattern, pattern, summary=summary, effects=effects, uses=uses)


def _uses(old: Design, pattern: Pattern[..., Any]) -> Iterator[str]:
    """Yield a description of each use of a pattern in the old design."""
    rate = pattern.facts.rate
    if rate is not None and rate.highest > 0:
        yield f"its rate is {_rate(pattern)}"
    if pattern.facts.claims:
        yield f"a claim documents it ({pattern.facts.claims[0].text})"
    for other in old.patterns:
        if pattern.name in other.facts.after:
            yield f"{other.name} reads its writes"
        if pattern.name in other.facts.guards:
            yield f"{other.name} decides {other.facts.decides} for it"


def _pattern_change(
    kind: Kind,
    new: Design,
    pattern: Pattern[..., Any],
    before: Pattern[..., Any] | None,
    *,
    summary: str,
    effects: str,
    uses: Sequence[str] = (),
) -> DesignChange:
    table = pattern.plan.schema.name
    declaring_table = next((new_table for new_table in new.tables if new_table.name == table), new.tables[0])
    place = declaring_table.schema.place if kind == "pattern removed" else pattern.place
    facts = {"pattern": pattern.name if before is None else before.name, "uses": tuple(uses)}
    old_place = before.place if before is not None else None
    return DesignChange(kind, "code", table, pattern.name, summary, effects, place, old_place, facts=facts)


# Consumers.


def consumer_changes(old: Table, new: Table) -> Iterator[DesignChange]:
    """Yield the differences between the consumers of a table's stream."""
    matches = match_declarations(old.consumers, new.consumers)
    for before, after in matches.same_name:
        changed = [name for name, old_value, new_value in _consumer_settings(before, after) if old_value != new_value]
        if changed:
            summary = f"consumer {after.name} changed: {', '.join(changed)}"
            effects = "Only programs change. It continues where the old version stopped."
            yield _consumer_change(new, after, summary, effects, before)
    for consumer in matches.added:
        effects = "It has no checkpoint: it starts at the position that its runner sets."
        yield _consumer_change(new, consumer, f"consumer {consumer.name} was added", effects, None)
    for consumer in matches.removed:
        summary = f"consumer {consumer.name} was removed"
        effects = "Its checkpoints remain stored. It does not receive changes that it has not read by then."
        steps = (RolloutStep("remove", f"remove the checkpoints of {consumer.name}"),)
        yield DesignChange(
            "consumer changed",
            "code",
            new.name,
            consumer.name,
            summary,
            effects,
            new.schema.place,
            consumer.place,
            steps=steps,
        )


def _consumer_change(
    new: Table, consumer: Consumer, summary: str, effects: str, before: Consumer | None
) -> DesignChange:
    old_place = before.place if before is not None else None
    return DesignChange(
        "consumer changed", "code", new.name, consumer.name, summary, effects, consumer.place, old_place
    )


def _consumer_settings(old: Consumer, new: Consumer) -> list[tuple[str, object, object]]:
    old_names, new_names = (tuple(sorted(spec.name for spec in consumer.entities)) for consumer in (old, new))
    return [
        ("entities", old_names, new_names),
        ("events", old.events, new.events),
        ("when", _filter_form(old), _filter_form(new)),
        ("batch", old.batch, new.batch),
        ("retries", old.retries, new.retries),
        ("on_failure", old.on_failure, new.on_failure),
        ("bisect", old.bisect, new.bisect),
        ("takes a list", old.takes_list, new.takes_list),
        ("idempotent", old.idempotent, new.idempotent),
    ]


def _filter_form(consumer: Consumer) -> Form:
    condition = consumer.filter
    return (condition.field, repr(condition.becomes)) if isinstance(condition, Changed) else condition_form(condition)
