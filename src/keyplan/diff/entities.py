"""Changes of entities: added and removed entities, keys, unique values, versions and declared facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from keyplan.design.declaring.tables import Table
from keyplan.design.entities import BoundUnique, EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundIndexKey, BoundKey, BoundKeyAttribute, key_text
from keyplan.diff.changes import DesignChange, Rewrite, RolloutStep, form_steps
from keyplan.diff.fields import Entities, field_changes, field_names, key_names, rewritten_attributes
from keyplan.diff.matching import (
    KeyForm,
    Matched,
    attribute_form,
    condition_form,
    key_form,
    lookalikes,
    matched,
    same_encoding,
)

_WHOLE_ITEMS = ("put", "replace", "batch_put")


def match_entities(old: Table, new: Table) -> Matched[EntitySpec]:
    """Match entities by name, then by equal key and mostly equal fields."""
    return matched(old.entities, new.entities, _shape)


def _shape(spec: EntitySpec) -> KeyForm:
    return (key_form(spec, spec.key), tuple(sorted(stored.attribute for stored in spec.fields.values())))


def entity_changes(old: Table, new: Table) -> Iterator[DesignChange]:
    """Return every difference between the entities of a table."""
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
        yield DesignChange(
            "entity added", "code", new.name, spec.name, *_added(new, spec, like.get(spec.name)), spec.place
        )
    for spec in found.removed:
        yield _removed(new, spec)


def _added(table: Table, spec: EntitySpec, like: EntitySpec | None) -> tuple[str, str]:
    """Report an added entity; `like`: a removed one with the same key or fields."""
    what = f"{spec.name} is a new entity of table {table.name}"
    how = "Nothing of it is stored. The old version leaves its items out of what it reads."
    if like is not None:
        how += (
            f" If it is {like.name} under another name: rename it in one version, and change its key or fields in the"
            " next, so that stored items are followed."
        )
    return what, how


def _renamed(pair: Entities) -> DesignChange:
    old, new = pair.old, pair.new
    what = f"{old.name} is called {new.name}"
    discriminator = new.schema.discriminator
    if discriminator is None or any(stored.attribute == discriminator for stored in new.fields.values()):
        return DesignChange(
            "entity renamed",
            "code",
            pair.table,
            new.name,
            what,
            "Nothing that is stored changes.",
            new.place,
            old.place,
        )
    what = f"{old.name} is called {new.name}, which {discriminator} says of each item"
    how = f"Stored items say {old.name} in {discriminator}, and are not read as {new.name} until they are rewritten."
    steps = form_steps(
        accept=f"a version that reads {discriminator} = {old.name} and {new.name}, and writes {old.name}",
        write=f"a version that writes {discriminator} = {new.name}",
        backfill=f"set {discriminator} = {new.name} in every stored {old.name}",
        read=f"the new version, which knows {new.name} only",
    )
    work = Rewrite(old, new, attributes=frozenset({discriminator}))
    return DesignChange("key changed", "backfill", pair.table, new.name, what, how, new.place, old.place, work, steps)


def _removed(table: Table, spec: EntitySpec) -> DesignChange:
    what = f"{spec.name} is gone, and its items stay in table {table.name}"
    how = "They are stored and billed until they are deleted or expire; reads of ranges pass over them."
    steps = (RolloutStep("remove", f"delete the items of {spec.name}", "BatchWriteItem"),)
    work = Rewrite(spec, None)
    return DesignChange(
        "entity removed", "code", table.name, spec.name, what, how, table.schema.place, spec.place, work, steps
    )


# Unique values and versions.


def _uniques(pair: Entities) -> Iterator[DesignChange]:
    names = key_names(pair)
    old = {_unique_form(pair.old, rule, {}): rule for rule in pair.old.sentinels}
    new = {_unique_form(pair.new, rule, names): rule for rule in pair.new.sentinels}
    for form, rule in new.items():
        if form not in old:
            yield _unique_added(pair, rule)
    for form, rule in old.items():
        if form not in new:
            yield _unique_removed(pair, rule)


def _unique_form(spec: EntitySpec, rule: BoundUnique, names: dict[str, str]) -> KeyForm:
    return key_form(spec, rule.key, names)


def _unique_added(pair: Entities, rule: BoundUnique) -> DesignChange:
    fields = ", ".join(rule.fields)
    what = f"{fields} of {pair.new.name} is unique now, by sentinels {rule.key.text}"
    how = "Stored items have no sentinel: their values can be taken a second time until each has one."
    name = pair.new.name
    steps = form_steps(
        accept=f"a version that releases sentinels of {name} that are there, and puts none",
        write=f"a version that puts a sentinel with every {name} that it writes",
        backfill=f"put the sentinel of every stored {name} if none is there, and check the {name} in one transaction",
        by="TransactWriteItems",
        read=f"the new version, which relies on unique {fields}",
    )
    work = Rewrite(pair.old, pair.new, sentinels=1, items=False)
    return DesignChange(
        "unique added", "backfill", pair.table, pair.new.name, what, how, rule.key.place, pair.old.place, work, steps
    )


def _unique_removed(pair: Entities, rule: BoundUnique) -> DesignChange:
    fields = ", ".join(rule.fields)
    what = f"{fields} of {pair.new.name} is unique no more by sentinels {rule.key.text}"
    how = "The sentinels stay, and are released no more: while the old version runs, they refuse values that are free."
    steps = (RolloutStep("remove", f"delete the sentinels {rule.key.text}", "BatchWriteItem"),)
    work = Rewrite(pair.old, None, sentinels=1, items=False)
    return DesignChange(
        "unique removed", "code", pair.table, pair.new.name, what, how, pair.new.place, rule.key.place, work, steps
    )


def _version(pair: Entities) -> Iterator[DesignChange]:
    old, new = pair.old, pair.new
    names = field_names(old, new)
    if old.version == (None if new.version is None else names.get(new.version, new.version)):
        return
    steps: tuple[RolloutStep, ...] = ()
    if new.version is None:
        what, how = f"{new.name} has no version any more", "Writes of both versions may overwrite one another."
    else:
        steps = form_steps(
            write=f"a version that counts the changes of {new.name} in {new.version}, and does not rely on it",
            read=f"the new version, which relies on {new.version} of {new.name}",
        )
        what = f"{new.name} counts its changes in {new.version}"
        how = (
            "An item that was never counted has version 0, so stored items are taken as they are. Writes of the old"
            " version do not count: while it runs, they can be overwritten unseen."
        )
    yield DesignChange("version changed", "code", pair.table, new.name, what, how, new.place, old.place, steps=steps)


# Discriminators and declared facts.


def _discriminator(pair: Entities) -> Iterator[DesignChange]:
    now = pair.new.schema.discriminator
    if now in {None, pair.old.schema.discriminator}:
        return
    if any(stored.attribute == now for stored in pair.old.fields.values()):
        return
    what = f"stored items of {pair.new.name} lack {now}, which tells entities in table {pair.table}"
    how = "They are told by their keys as before, and counts leave them out until they have it."
    steps = form_steps(
        write=f"a version that writes {now} of {pair.new.name}",
        backfill=f"set {now} of every stored {pair.new.name}",
        read=f"the new version, which counts {pair.new.name} by {now}",
    )
    assert now is not None, "looked at above"
    work = Rewrite(pair.old, pair.new, attributes=frozenset({now}))
    place, other = pair.new.schema.place.at("discriminator="), pair.old.schema.place
    yield DesignChange("key changed", "backfill", pair.table, pair.new.name, what, how, place, other, work, steps)


def _facts(pair: Entities) -> Iterator[DesignChange]:
    old, new = pair.old, pair.new
    if old.volume != new.volume:
        was, now = (side.volume.count if side.volume is not None else None for side in (old, new))
        change = f": {_count(now)}, and were {_count(was)}" if was != now else ": their sizes, or how their fields vary"
        what = f"the declared numbers of {new.name} change{change}"
        yield _said(pair, what, "Only the reckoning changes.")
    if old.found_by != new.found_by:
        yield _said(pair, f"what {new.name} is to be found by changes", "Only checks look at it.")
    if old.store_key_fields != new.store_key_fields:
        stored = "also as attributes of their own" if new.store_key_fields else "in keys only"
        how = "Stored items are read either way; conditions and filters on these fields see only attributes."
        yield _said(pair, f"fields that keys of {new.name} hold are stored {stored}", how)


def _count(count: int | None) -> str:
    return "not said" if count is None else f"{count:,} items"


def _said(pair: Entities, what: str, how: str) -> DesignChange:
    return DesignChange("facts changed", "code", pair.table, pair.new.name, what, how, pair.new.place, pair.old.place)


def primary_key_changes(pair: Entities) -> Iterator[DesignChange]:
    old, new = pair.old, pair.new
    names = key_names(pair)
    types = [[(part.attribute, part.type_code) for part in bound.key.attributes] for bound in (old, new)]
    if same_encoding(key_form(old, old.key), key_form(new, new.key, names)) or types[0] != types[1]:
        return  # the table's own change covers other key attributes
    what = f"the key of {new.name} is {new.key.text}, and was {old.key.text}"
    how = "Stored items lie under the old key: the new version does not find them, and may create them a second time."
    owned = ", and name the new one in its sentinels" if old.sentinels else ""
    moved = f"under its new key, and delete it under the old in one transaction{owned}"
    steps = form_steps(
        accept=f"a version that reads {new.name} under both keys, and writes each where it lies",
        write=f"a version that writes {new.name} under its new key, and deletes it under the old in one transaction",
        backfill=f"put every stored {new.name} {moved}",
        by="TransactWriteItems",
        read=f"the new version, which reads {new.name} under the new key only",
    )
    attributes = frozenset(part.attribute for part in new.key.attributes)
    work = Rewrite(old, new, rekeyed=True, attributes=attributes, sentinels=len(old.sentinels))
    yield DesignChange(
        "key changed", "backfill", pair.table, new.name, what, how, new.key.place, old.key.place, work, steps
    )


def index_key_changes(pair: Entities) -> Iterator[DesignChange]:
    """Return key changes in indexes of both designs; the change of a new index covers its keys."""
    both = {index.name for index in pair.old.schema.indexes} & {index.name for index in pair.new.schema.indexes}
    for name in sorted(both):
        was, now = pair.old.key_in(name), pair.new.key_in(name)
        if was is None and now is not None and not (already_stored(pair, now) or never_stored(pair, now)):
            yield _enters(pair, now)
        elif was is not None and now is None and own_attributes(pair, was):
            yield _leaves(pair, was)
        elif was is not None and now is not None and _key_differs(pair, was, now):
            yield _index_key(pair, was, now)


def _key_differs(pair: Entities, was: BoundIndexKey, now: BoundIndexKey) -> bool:
    if was.index.attributes != now.index.attributes:
        return False  # the index itself differs
    if [part.type_code for part in was.attributes] != [part.type_code for part in now.attributes]:
        return False  # the index itself differs
    if not same_encoding(_own_form(pair.old, was, {}), _own_form(pair.new, now, key_names(pair))):
        return True
    return condition_form(was.only_if) != condition_form(now.only_if)


def _own_form(spec: EntitySpec, bound: BoundKey, names: Mapping[str, str]) -> tuple[tuple[str, KeyForm], ...]:
    """Return the form of an index's key without attributes of the primary key, which has its own change."""
    own = _own_names(spec, bound)
    return tuple(
        (part.attribute, attribute_form(spec, part, names)) for part in bound.attributes if part.attribute in own
    )


def already_stored(pair: Entities, bound: BoundKey) -> bool:
    """Return True if exactly the items that belong in the index already have its new key."""
    return all(_is_stored(pair, bound, part) for part in bound.attributes)


def _is_stored(pair: Entities, bound: BoundKey, part: BoundKeyAttribute) -> bool:
    if part.attribute in pair.old.schema.key and part.attribute in pair.new.schema.key:
        return True  # every item has it; the primary key's own change covers another form
    parts, names = (
        [name for name in _kept_attributes(pair.old, bound) if name.attribute == part.attribute],
        key_names(pair),
    )
    form = attribute_form(pair.new, part, names)
    return any(same_encoding(attribute_form(pair.old, before, {}), form) for before in parts)


def lacking_attributes(pair: Entities, bound: BoundKey) -> list[str]:
    """Return the index key attributes that stored items lack; a change of type is a field's change."""
    return [
        part.attribute
        for part in bound.attributes
        if not _is_stored(pair, bound, part) and (part.field is None or not _is_field_of(pair.old, part.attribute))
    ]


def _is_field_of(spec: EntitySpec, attribute: str) -> bool:
    return any(stored.attribute == attribute for stored in _attributes(spec))


def _attributes(spec: EntitySpec) -> Iterator[StoredField]:
    """Return the fields that items store as attributes; the others exist only in key texts."""
    hidden = spec.is_in_key_only
    return (stored for name, stored in spec.fields.items() if name not in hidden)


def _kept_attributes(spec: EntitySpec, bound: BoundKey) -> Iterator[BoundKeyAttribute]:
    """Return fields and key parts as stored items have them; for index keys, those under the same condition."""
    condition = condition_form(bound.only_if)
    if condition is None:
        yield from (BoundKeyAttribute(stored.attribute, field=stored) for stored in _attributes(spec))
        yield from spec.key.attributes
    for other in spec.indexes:
        if condition_form(other.only_if) == condition:
            yield from other.attributes


def never_stored(pair: Entities, bound: BoundKey) -> bool:
    """Return True if no stored item can be in an index: its key contains a new field without a stored value."""
    names = field_names(pair.old, pair.new)
    return any(name not in names and pair.new.fields[name].optional for name in bound.fields)


def own_attributes(pair: Entities, bound: BoundKey) -> list[str]:
    """Return the attributes of a key that nothing else writes."""
    kept = {stored.attribute for stored in _attributes(pair.new)}
    kept |= {part.attribute for key in (pair.new.key, *pair.new.indexes) for part in key.attributes}
    return [part.attribute for part in bound.attributes if part.attribute not in kept]


def _enters(pair: Entities, now: BoundIndexKey) -> DesignChange:
    name = now.index.name
    what = f"{pair.new.name} is in index {name} now: {now.text}"
    how = f"Stored items have no key there, and are missing from what {name} answers until they get one."
    own = _own_names(pair.new, now)
    written = unreported_attributes(pair, own)
    steps = form_steps(
        write=written and f"a version that writes {written} of {pair.new.name}",
        backfill=written and f"set {written} of every stored {pair.new.name}",
        read=f"the new version, which reads {pair.new.name} by {name}",
    )
    return _index_change(pair, now, None, what=what, how=how, steps=steps, attributes=own)


def _leaves(pair: Entities, was: BoundIndexKey) -> DesignChange:
    removed = own_attributes(pair, was)
    attributes = ", ".join(removed)
    what = f"{pair.new.name} is in index {was.index.name} no more"
    how = f"Stored items keep {attributes}, and their entries there, as they were last written."
    steps = form_steps(
        accept=f"a version that reads {pair.new.name} by {was.index.name} no more, and still writes {attributes}",
        write=f"a version that writes {attributes} of {pair.new.name} no more",
        backfill=f"remove {attributes} from every stored {pair.new.name}",
    )
    return _index_change(pair, None, was, what=what, how=how, steps=steps, attributes=removed)


def _index_key(pair: Entities, was: BoundIndexKey, now: BoundIndexKey) -> DesignChange:
    name, index = pair.new.name, now.index.name
    changed = _changed_parts(pair, was, now)
    before, after = (key_text(part for part in bound.attributes if part.attribute in changed) for bound in (was, now))
    if before != after:
        what = f"the key of {name} in index {index} is {after}, and was {before}"
    elif changed:
        what = f"what {', '.join(changed)} of {name} in index {index} is made of is another"
    else:
        what = f"who of {name} is in index {index} is another"
    entering = condition_form(was.only_if) != condition_form(now.only_if)
    written = _own_names(pair.new, now) if entering else changed
    if entering and changed:
        what += ", and so is who is in it"
    how = f"Stored items keep the old key: reads of {index} by the new one do not find them."
    if not changed:
        how = f"Stored items are in {index}, or are not, as they were last written."
    steps = form_steps(
        accept=f"a version that reads {name} in {index} by the old keys and the new, and writes the old",
        write=f"a version that writes the new keys of {name} in {index}",
        backfill=f"set {', '.join(written)} of every stored {name} anew",
        read=f"the new version, which reads {name} in {index} by the new keys only",
    )
    return _index_change(pair, now, was, what=what, how=how, steps=steps, attributes=written)


def _changed_parts(pair: Entities, was: BoundIndexKey, now: BoundIndexKey) -> list[str]:
    """Return the index key attributes, without the primary key's, that are composed differently."""
    old, new = (dict(form) for form in (_own_form(pair.old, was, {}), _own_form(pair.new, now, key_names(pair))))
    return [name for name, form in new.items() if name not in old or not same_encoding(old[name], form)]


def _index_change(
    pair: Entities,
    now: BoundIndexKey | None,
    was: BoundIndexKey | None,
    *,
    what: str,
    how: str,
    steps: tuple[RolloutStep, ...],
    attributes: Iterable[str],
) -> DesignChange:
    bound = now if now is not None else was
    assert bound is not None, "one of them is given"
    name = bound.index.name
    work = Rewrite(pair.old, pair.new, attributes=frozenset(attributes), indexes=frozenset({name}))
    place = now.place if now is not None else pair.new.place
    other = was.place if was is not None else pair.old.place
    facts = {"index": name}
    return DesignChange(
        "key changed", "backfill", pair.table, pair.new.name, what, how, place, other, work, steps, facts
    )


def _own_names(spec: EntitySpec, bound: BoundKey) -> list[str]:
    """Return the index key attributes that are not the table's."""
    return [part.attribute for part in bound.attributes if part.attribute not in spec.schema.key]


def unreported_attributes(pair: Entities, attributes: Iterable[str]) -> str:
    """Return the index key attributes that no field's change writes."""
    told_of = rewritten_attributes(pair)
    return ", ".join(name for name in attributes if name not in told_of)
