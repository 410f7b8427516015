"""Changes of entities: those that come and go, their unique values, their version, what is only said of them."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.design.entities import BoundUnique, EntitySpec
from keyplan.design.tables import Table
from keyplan.diff.changes import Change, Rewrite, Step, staged
from keyplan.diff.entity_keys import index_key_changes, primary_key_changes
from keyplan.diff.fields import Entities, field_changes, field_names, key_names
from keyplan.diff.key_forms import Form, key_form
from keyplan.diff.matching import Matched, lookalikes, matched

_WHOLE_ITEMS = ("put", "replace", "batch_put")


def match_entities(old: Table, new: Table) -> Matched[EntitySpec]:
    """Entities by name, and those of another name under the same key and with mostly the same fields."""
    return matched(old.entities, new.entities, _shape)


def _shape(spec: EntitySpec) -> Form:
    return (key_form(spec, spec.key), tuple(sorted(stored.attribute for stored in spec.fields.values())))


def entity_changes(old: Table, new: Table) -> Iterator[Change]:
    """Everything that differs between the entities of a table."""
    found = match_entities(old, new)
    for before, after in found.pairs:
        drops = tuple(
            pattern.name for pattern in old.patterns if pattern.kind in _WHOLE_ITEMS and before in pattern.plan.entities
        )
        pair = Entities(before, after, drops)
        if before.name != after.name:
            yield _renamed(pair)
        yield from field_changes(pair)
        yield from primary_key_changes(pair)
        yield from index_key_changes(pair)
        yield from _uniques(pair)
        yield from _version(pair)
        yield from _discriminator(pair)
        yield from _facts(pair)
    like = {
        **lookalikes(found.removed, found.added, lambda spec: tuple(sorted(spec.fields))),
        **lookalikes(found.removed, found.added, lambda spec: key_form(spec, spec.key)),
    }
    for spec in found.added:
        yield Change("entity added", "code", new.name, spec.name, *_added(new, spec, like.get(spec.name)), spec.place)
    for spec in found.removed:
        yield _removed(new, spec)


def _added(table: Table, spec: EntitySpec, like: EntitySpec | None) -> tuple[str, str]:
    """An entity that came; `like`: one of its key or of its fields that went."""
    what = f"{spec.name} is a new entity of table {table.name}"
    how = "Nothing of it is stored. The old version leaves its items out of what it reads."
    if like is not None:
        how += (
            f" If it is {like.name} under another name: rename it in one version, and change its key or fields in the"
            " next, so that stored items are followed."
        )
    return what, how


def _renamed(pair: Entities) -> Change:
    old, new = pair.old, pair.new
    what = f"{old.name} is called {new.name}"
    told = new.schema.discriminator
    if told is None or any(stored.attribute == told for stored in new.fields.values()):
        return Change(
            "entity renamed",
            "code",
            pair.table,
            new.name,
            what,
            "Nothing that is stored changes.",
            new.place,
            old.place,
        )
    what = f"{old.name} is called {new.name}, which {told} says of each item"
    how = f"Stored items say {old.name} in {told}, and are not read as {new.name} until they are rewritten."
    steps = staged(
        accept=f"a version that reads {told} = {old.name} and {new.name}, and writes {old.name}",
        write=f"a version that writes {told} = {new.name}",
        backfill=f"set {told} = {new.name} in every stored {old.name}",
        read=f"the new version, which knows {new.name} only",
    )
    work = Rewrite(old, new, attributes=frozenset({told}))
    return Change("key changed", "backfill", pair.table, new.name, what, how, new.place, old.place, work, steps)


def _removed(table: Table, spec: EntitySpec) -> Change:
    what = f"{spec.name} is gone, and its items stay in table {table.name}"
    how = "They are stored and billed until they are deleted or expire; reads of ranges pass over them."
    steps = (Step("remove", f"delete the items of {spec.name}", "BatchWriteItem"),)
    work = Rewrite(spec, None)
    return Change(
        "entity removed", "code", table.name, spec.name, what, how, table.schema.place, spec.place, work, steps
    )


# Unique values and versions.


def _uniques(pair: Entities) -> Iterator[Change]:
    names = key_names(pair)
    old = {_unique_form(pair.old, rule, {}): rule for rule in pair.old.sentinels}
    new = {_unique_form(pair.new, rule, names): rule for rule in pair.new.sentinels}
    for form, rule in new.items():
        if form not in old:
            yield _unique_added(pair, rule)
    for form, rule in old.items():
        if form not in new:
            yield _unique_removed(pair, rule)


def _unique_form(spec: EntitySpec, rule: BoundUnique, names: dict[str, str]) -> Form:
    return key_form(spec, rule.key, names)


def _unique_added(pair: Entities, rule: BoundUnique) -> Change:
    fields = ", ".join(rule.fields)
    what = f"{fields} of {pair.new.name} is unique now, by sentinels {rule.key.text}"
    how = "Stored items have no sentinel: their values can be taken a second time until each has one."
    name = pair.new.name
    steps = staged(
        accept=f"a version that releases sentinels of {name} that are there, and puts none",
        write=f"a version that puts a sentinel with every {name} that it writes",
        backfill=f"put the sentinel of every stored {name} if none is there, and check the {name} in one transaction",
        by="TransactWriteItems",
        read=f"the new version, which relies on unique {fields}",
    )
    work = Rewrite(pair.old, pair.new, sentinels=1, items=False)
    return Change(
        "unique added", "backfill", pair.table, pair.new.name, what, how, rule.key.place, pair.old.place, work, steps
    )


def _unique_removed(pair: Entities, rule: BoundUnique) -> Change:
    fields = ", ".join(rule.fields)
    what = f"{fields} of {pair.new.name} is unique no more by sentinels {rule.key.text}"
    how = "The sentinels stay, and are released no more: while the old version runs, they refuse values that are free."
    steps = (Step("remove", f"delete the sentinels {rule.key.text}", "BatchWriteItem"),)
    work = Rewrite(pair.old, None, sentinels=1, items=False)
    return Change(
        "unique removed", "code", pair.table, pair.new.name, what, how, pair.new.place, rule.key.place, work, steps
    )


def _version(pair: Entities) -> Iterator[Change]:
    old, new = pair.old, pair.new
    names = field_names(old, new)
    if old.version == (None if new.version is None else names.get(new.version, new.version)):
        return
    steps: tuple[Step, ...] = ()
    if new.version is None:
        what, how = f"{new.name} has no version any more", "Writes of both versions may overwrite one another."
    else:
        steps = staged(
            write=f"a version that counts the changes of {new.name} in {new.version}, and does not rely on it",
            read=f"the new version, which relies on {new.version} of {new.name}",
        )
        what = f"{new.name} counts its changes in {new.version}"
        how = (
            "An item that was never counted has version 0, so stored items are taken as they are. Writes of the old"
            " version do not count: while it runs, they can be overwritten unseen."
        )
    yield Change("version changed", "code", pair.table, new.name, what, how, new.place, old.place, steps=steps)


# What tells an entity, and what is only said of it.


def _discriminator(pair: Entities) -> Iterator[Change]:
    now = pair.new.schema.discriminator
    if now in {None, pair.old.schema.discriminator}:
        return
    if any(stored.attribute == now for stored in pair.old.fields.values()):
        return
    what = f"stored items of {pair.new.name} lack {now}, which tells entities in table {pair.table}"
    how = "They are told by their keys as before, and counts leave them out until they have it."
    steps = staged(
        write=f"a version that writes {now} of {pair.new.name}",
        backfill=f"set {now} of every stored {pair.new.name}",
        read=f"the new version, which counts {pair.new.name} by {now}",
    )
    assert now is not None, "looked at above"
    work = Rewrite(pair.old, pair.new, attributes=frozenset({now}))
    place, other = pair.new.schema.place.at("discriminator="), pair.old.schema.place
    yield Change("key changed", "backfill", pair.table, pair.new.name, what, how, place, other, work, steps)


def _facts(pair: Entities) -> Iterator[Change]:
    old, new = pair.old, pair.new
    if old.items != new.items:
        was, now = (one.items.count if one.items is not None else None for one in (old, new))
        of = f": {_count(now)}, and were {_count(was)}" if was != now else ": their sizes, or how their fields vary"
        what = f"the declared numbers of {new.name} change{of}"
        yield _said(pair, what, "Only the reckoning changes.")
    if old.found_by != new.found_by:
        yield _said(pair, f"what {new.name} is to be found by changes", "Only checks look at it.")
    if old.store_key_fields != new.store_key_fields:
        stored = "also as attributes of their own" if new.store_key_fields else "in keys only"
        how = "Stored items are read either way; conditions and filters on these fields see only attributes."
        yield _said(pair, f"fields that keys of {new.name} hold are stored {stored}", how)


def _count(count: int | None) -> str:
    return "not said" if count is None else f"{count:,} items"


def _said(pair: Entities, what: str, how: str) -> Change:
    return Change("facts changed", "code", pair.table, pair.new.name, what, how, pair.new.place, pair.old.place)
