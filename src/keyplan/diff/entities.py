"""Changes to entities: added and removed entities, keys, unique values, versions and declared options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from keyplan.design.declaring.tables import Table
from keyplan.design.entities import BoundUnique, EntitySpec
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundIndexKey, BoundKey, BoundKeyAttribute, key_text
from keyplan.diff.changes import DesignChange, ItemRewrite, RolloutStep, form_steps
from keyplan.diff.fields import EntityPair, field_changes, field_names, key_names, rewritten_attributes
from keyplan.diff.matching import (
    DeclarationMatches,
    KeyForm,
    attribute_form,
    condition_form,
    find_counterparts,
    key_form,
    match_declarations,
    same_encoding,
)

_WHOLE_ITEMS = ("put", "replace", "batch_put")


def match_entities(old: Table, new: Table) -> DeclarationMatches[EntitySpec]:
    """Match the entities of a table in two designs by name, and the remaining entities by identical keys and
    attributes.
    """
    return match_declarations(old.entities, new.entities, _shape)


def _shape(spec: EntitySpec) -> KeyForm:
    return (key_form(spec, spec.key), tuple(sorted(field.attribute for field in spec.fields.values())))


def entity_changes(old: Table, new: Table) -> Iterator[DesignChange]:
    """Yield all differences between the entities of a table in the two designs."""
    matches = match_entities(old, new)
    for before, after in matches.pairs:
        drops = tuple(
            pattern.name for pattern in old.patterns if pattern.kind in _WHOLE_ITEMS and before in pattern.plan.entities
        )
        pair = EntityPair(before, after, drops)
        if before.name != after.name:
            yield _entity_renamed(pair)
        yield from field_changes(pair)
        yield from primary_key_changes(pair)
        yield from index_key_changes(pair)
        yield from _unique_changes(pair)
        yield from _version_change(pair)
        yield from _discriminator_change(pair)
        yield from _fact_changes(pair)
    counterparts = {
        **find_counterparts(matches.removed, matches.added, lambda spec: tuple(sorted(spec.fields))),
        **find_counterparts(matches.removed, matches.added, lambda spec: key_form(spec, spec.key)),
    }
    for spec in matches.added:
        yield DesignChange(
            "entity added",
            "code",
            new.name,
            spec.name,
            *_entity_added(new, spec, counterparts.get(spec.name)),
            spec.place,
        )
    for spec in matches.removed:
        yield _entity_removed(new, spec)


def _entity_added(table: Table, spec: EntitySpec, counterpart: EntitySpec | None) -> tuple[str, str]:
    """Return two sentences about an added entity: the first says that it was added, and the second describes the
    effects on stored items and on the old version of the program.

    `counterpart` is a removed entity with the same key or fields, which may be the same entity under its old name. It
    is None if no such entity exists.
    """
    summary = f"entity {spec.name} was added to table {table.name}"
    effects = "No items of it are stored yet. The old version ignores its items."
    if counterpart is not None:
        effects += (
            f" If this is {counterpart.name} renamed, rename it in one version and change its key or fields in"
            " the next:"
            " the comparison then covers its stored items."
        )
    return summary, effects


def _entity_renamed(pair: EntityPair) -> DesignChange:
    old, new = pair.old, pair.new
    summary = f"entity {old.name} was renamed to {new.name}"
    discriminator = new.schema.discriminator
    if discriminator is None or any(field.attribute == discriminator for field in new.fields.values()):
        return DesignChange(
            "entity renamed",
            "code",
            pair.table,
            new.name,
            summary,
            "Stored items do not change.",
            new.place,
            old.place,
        )
    summary = f"entity {old.name} was renamed to {new.name}, the value of {discriminator} in each item"
    effects = (
        f"Stored items have {old.name} in {discriminator}: they are not read as {new.name} until they are rewritten."
    )
    steps = form_steps(
        accept=f"a version that reads {discriminator} = {old.name} and {new.name}, and writes {old.name}",
        write=f"a version that writes {discriminator} = {new.name}",
        backfill=f"set {discriminator} = {new.name} in every stored {old.name}",
        read=f"the new version, which reads only {new.name}",
    )
    migration = ItemRewrite(old, new, attributes=frozenset({discriminator}))
    return DesignChange(
        "key changed", "backfill", pair.table, new.name, summary, effects, new.place, old.place, migration, steps
    )


def _entity_removed(table: Table, spec: EntitySpec) -> DesignChange:
    summary = f"entity {spec.name} was removed, and its items remain in table {table.name}"
    effects = "They are stored and billed until they are deleted or expire. Reads of ranges skip them."
    steps = (RolloutStep("remove", f"delete the items of {spec.name}", "BatchWriteItem"),)
    migration = ItemRewrite(spec, None)
    return DesignChange(
        "entity removed",
        "code",
        table.name,
        spec.name,
        summary,
        effects,
        table.schema.place,
        spec.place,
        migration,
        steps,
    )


# Unique values and versions.


def _unique_changes(pair: EntityPair) -> Iterator[DesignChange]:
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


def _unique_added(pair: EntityPair, rule: BoundUnique) -> DesignChange:
    fields = ", ".join(rule.fields)
    summary = f"{fields} of {pair.new.name} must now be unique, enforced by sentinels {rule.key.text}"
    effects = "Stored items have no sentinel: a new item can duplicate their values until each has one."
    name = pair.new.name
    steps = form_steps(
        accept=f"a version that deletes existing sentinels of {name} with their items, and puts none",
        write=f"a version that puts a sentinel with every {name} that it writes",
        backfill=f"put the sentinel of every stored {name} if none exists, and check the {name} in one transaction",
        operation="TransactWriteItems",
        read=f"the new version, which relies on unique {fields}",
    )
    migration = ItemRewrite(pair.old, pair.new, sentinels=1, items=False)
    return DesignChange(
        "unique added",
        "backfill",
        pair.table,
        pair.new.name,
        summary,
        effects,
        rule.key.place,
        pair.old.place,
        migration,
        steps,
    )


def _unique_removed(pair: EntityPair, rule: BoundUnique) -> DesignChange:
    fields = ", ".join(rule.fields)
    summary = f"{fields} of {pair.new.name} no longer has to be unique: sentinels {rule.key.text} are not used"
    effects = "The sentinels remain: while the old version runs, they reject values that no item has."
    steps = (RolloutStep("remove", f"delete the sentinels {rule.key.text}", "BatchWriteItem"),)
    migration = ItemRewrite(pair.old, None, sentinels=1, items=False)
    return DesignChange(
        "unique removed",
        "code",
        pair.table,
        pair.new.name,
        summary,
        effects,
        pair.new.place,
        rule.key.place,
        migration,
        steps,
    )


def _version_change(pair: EntityPair) -> Iterator[DesignChange]:
    old, new = pair.old, pair.new
    names = field_names(old, new)
    if old.version == (None if new.version is None else names.get(new.version, new.version)):
        return
    steps: tuple[RolloutStep, ...] = ()
    if new.version is None:
        summary, effects = f"{new.name} no longer has a version", "Writes of both versions can overwrite each other."
    else:
        steps = form_steps(
            write=f"a version that counts the changes of {new.name} in {new.version}, but does not check it",
            read=f"the new version, which checks {new.version} of {new.name}",
        )
        summary = f"{new.name} now has a version, {new.version}"
        effects = (
            "A stored item counts as version 0, so it needs no rewrite. Writes of the old version do not change the"
            " version: while it runs, they can be overwritten unnoticed."
        )
    yield DesignChange(
        "version changed", "code", pair.table, new.name, summary, effects, new.place, old.place, steps=steps
    )


# Discriminators and declared facts.


def _discriminator_change(pair: EntityPair) -> Iterator[DesignChange]:
    attribute = pair.new.schema.discriminator
    if attribute in {None, pair.old.schema.discriminator}:
        return
    if any(field.attribute == attribute for field in pair.old.fields.values()):
        return
    summary = f"stored items of {pair.new.name} do not have {attribute}, the discriminator of table {pair.table}"
    effects = "They are recognized by their keys as before, but counts ignore them until they have it."
    steps = form_steps(
        write=f"a version that writes {attribute} of {pair.new.name}",
        backfill=f"set {attribute} of every stored {pair.new.name}",
        read=f"the new version, which counts {pair.new.name} by {attribute}",
    )
    assert attribute is not None, "checked above"
    migration = ItemRewrite(pair.old, pair.new, attributes=frozenset({attribute}))
    place, old_place = pair.new.schema.place.at("discriminator="), pair.old.schema.place
    yield DesignChange(
        "key changed", "backfill", pair.table, pair.new.name, summary, effects, place, old_place, migration, steps
    )


def _fact_changes(pair: EntityPair) -> Iterator[DesignChange]:
    old, new = pair.old, pair.new
    if old.volume != new.volume:
        old_count, new_count = (side.volume.count if side.volume is not None else None for side in (old, new))
        difference = (
            f": {_count(old_count)} before, {_count(new_count)} now"
            if old_count != new_count
            else ": sizes, or numbers of values"
        )
        summary = f"the declared volume of {new.name} changed{difference}"
        yield _declaration_change(pair, summary, "Only estimates change.")
    if old.found_by != new.found_by:
        yield _declaration_change(pair, f"found_by= of {new.name} changed", "Only checks use it.")
    if old.store_key_fields != new.store_key_fields:
        key_fields = ", ".join(sorted(new.stored_key_fields))
        text = "also as separate attributes" if new.store_key_fields else "in keys only"
        text = f"in keys only, except {key_fields}" if key_fields else text
        effects = "Stored items can be read either way. Conditions and filters on these fields see only attributes."
        yield _declaration_change(pair, f"fields in keys of {new.name} are now stored {text}", effects)


def _count(count: int | None) -> str:
    return "not declared" if count is None else f"{count:,} items"


def _declaration_change(pair: EntityPair, summary: str, effects: str) -> DesignChange:
    return DesignChange(
        "facts changed", "code", pair.table, pair.new.name, summary, effects, pair.new.place, pair.old.place
    )


def primary_key_changes(pair: EntityPair) -> Iterator[DesignChange]:
    old, new = pair.old, pair.new
    names = key_names(pair)
    types = [[(part.attribute, part.type_code) for part in bound.key.attributes] for bound in (old, new)]
    if same_encoding(key_form(old, old.key), key_form(new, new.key, names)) or types[0] != types[1]:
        return  # a change of the table covers other key attributes
    summary = f"the key of {new.name} changed from {old.key.text} to {new.key.text}"
    effects = "Stored items have the old key: the new version does not find them, and may create duplicates."
    sentinel_text = ", and store the new key in its sentinels" if old.sentinels else ""
    destination = f"under its new key and delete it under the old one, in one transaction{sentinel_text}"
    steps = form_steps(
        accept=f"a version that reads {new.name} under both keys, and writes each item under its stored key",
        write=f"a version that writes {new.name} under its new key and deletes it under the old, in one transaction",
        backfill=f"put every stored {new.name} {destination}",
        operation="TransactWriteItems",
        read=f"the new version, which reads {new.name} under the new key only",
    )
    attributes = frozenset(part.attribute for part in new.key.attributes)
    migration = ItemRewrite(old, new, rekeyed=True, attributes=attributes, sentinels=len(old.sentinels))
    yield DesignChange(
        "key changed",
        "backfill",
        pair.table,
        new.name,
        summary,
        effects,
        new.key.place,
        old.key.place,
        migration,
        steps,
    )


def index_key_changes(pair: EntityPair) -> Iterator[DesignChange]:
    """Yield the changes to an entity's keys in indexes that exist in both designs.

    Keys in a new index are not included, because they are reported together with the index.
    """
    common_indexes = {index.name for index in pair.old.schema.indexes} & {
        index.name for index in pair.new.schema.indexes
    }
    for name in sorted(common_indexes):
        old_key, new_key = pair.old.key_in(name), pair.new.key_in(name)
        if (
            old_key is None
            and new_key is not None
            and not (already_stored(pair, new_key) or never_stored(pair, new_key))
        ):
            yield _index_key_added(pair, new_key)
        elif old_key is not None and new_key is None and exclusive_attributes(pair, old_key):
            yield _index_key_removed(pair, old_key)
        elif old_key is not None and new_key is not None and _key_differs(pair, old_key, new_key):
            yield _index_key_changed(pair, old_key, new_key)


def _key_differs(pair: EntityPair, old_key: BoundIndexKey, new_key: BoundIndexKey) -> bool:
    if old_key.index.attributes != new_key.index.attributes:
        return False  # the index itself differs
    if [part.type_code for part in old_key.attributes] != [part.type_code for part in new_key.attributes]:
        return False  # the index itself differs
    if not same_encoding(_index_key_form(pair.old, old_key, {}), _index_key_form(pair.new, new_key, key_names(pair))):
        return True
    return condition_form(old_key.only_if) != condition_form(new_key.only_if)


def _index_key_form(spec: EntitySpec, bound: BoundKey, names: Mapping[str, str]) -> tuple[tuple[str, KeyForm], ...]:
    """Return a comparable form of an index key, for comparing it with the key in the other design.

    Attributes of the primary key are omitted, because they are compared separately. `names` maps field names of the
    entity to their names in the other design.
    """
    own_names = _index_only_names(spec, bound)
    return tuple(
        (part.attribute, attribute_form(spec, part, names)) for part in bound.attributes if part.attribute in own_names
    )


def already_stored(pair: EntityPair, bound: BoundKey) -> bool:
    """Return True if the stored items that belong in an index, and no other stored items, already have the attributes
    of the index key `bound`.
    """
    return all(_is_stored(pair, bound, part) for part in bound.attributes)


def _is_stored(pair: EntityPair, bound: BoundKey, part: BoundKeyAttribute) -> bool:
    if part.attribute in pair.old.schema.key and part.attribute in pair.new.schema.key:
        return True  # every item has it; a change of the primary key covers another form
    parts, names = (
        [name for name in _stored_attributes(pair.old, bound) if name.attribute == part.attribute],
        key_names(pair),
    )
    form = attribute_form(pair.new, part, names)
    return any(same_encoding(attribute_form(pair.old, before, {}), form) for before in parts)


def missing_attributes(pair: EntityPair, bound: BoundKey) -> list[str]:
    """Return the index key attributes that stored items do not have.

    Fields whose type changes are not included, because they are reported separately.
    """
    return [
        part.attribute
        for part in bound.attributes
        if not _is_stored(pair, bound, part) and (part.field is None or not _is_field_of(pair.old, part.attribute))
    ]


def _is_field_of(spec: EntitySpec, attribute: str) -> bool:
    return any(field.attribute == attribute for field in _attributes(spec))


def _attributes(spec: EntitySpec) -> Iterator[StoredField]:
    """Yield the fields that have their own attribute. Fields that are stored only as a part of a key are omitted."""
    key_only_names = spec.key_only_fields
    return (field for name, field in spec.fields.items() if name not in key_only_names)


def _stored_attributes(spec: EntitySpec, bound: BoundKey) -> Iterator[BoundKeyAttribute]:
    """Yield the stored attributes of an entity that exist whenever the index key `bound` exists: its fields, its
    primary key, and the keys of indexes with the same condition as `bound`. If `bound` has a condition, only these
    index keys are included.
    """
    condition = condition_form(bound.only_if)
    if condition is None:
        yield from (BoundKeyAttribute(field.attribute, field=field) for field in _attributes(spec))
        yield from spec.key.attributes
    for other in spec.indexes:
        if condition_form(other.only_if) == condition:
            yield from other.attributes


def never_stored(pair: EntityPair, bound: BoundKey) -> bool:
    """Return True if no stored item can be in an index, because the index key contains a new optional field."""
    names = field_names(pair.old, pair.new)
    return any(name not in names and pair.new.fields[name].optional for name in bound.fields)


def exclusive_attributes(pair: EntityPair, bound: BoundKey) -> list[str]:
    """Return the attributes of an index key that the new design uses neither for a field nor for another key."""
    attributes = {field.attribute for field in _attributes(pair.new)}
    attributes |= {part.attribute for key in (pair.new.key, *pair.new.indexes) for part in key.attributes}
    return [part.attribute for part in bound.attributes if part.attribute not in attributes]


def _index_key_added(pair: EntityPair, key: BoundIndexKey) -> DesignChange:
    name = key.index.name
    summary = f"{pair.new.name} was added to index {name}: {key.text}"
    effects = f"Stored items have no key there: queries of {name} do not return them until they are rewritten."
    attributes = _index_only_names(pair.new, key)
    unreported = unreported_attributes(pair, attributes)
    steps = form_steps(
        write=unreported and f"a version that writes {unreported} of {pair.new.name}",
        backfill=unreported and f"set {unreported} of every stored {pair.new.name}",
        read=f"the new version, which reads {pair.new.name} from {name}",
    )
    return _index_change(pair, key, None, summary=summary, effects=effects, steps=steps, attributes=attributes)


def _index_key_removed(pair: EntityPair, key: BoundIndexKey) -> DesignChange:
    removed = exclusive_attributes(pair, key)
    attributes = ", ".join(removed)
    summary = f"{pair.new.name} was removed from index {key.index.name}"
    effects = f"Stored items keep {attributes}, and their entries in the index, as last written."
    steps = form_steps(
        accept=f"a version that no longer reads {pair.new.name} from {key.index.name}, but still writes {attributes}",
        write=f"a version that no longer writes {attributes} of {pair.new.name}",
        backfill=f"remove {attributes} from every stored {pair.new.name}",
    )
    return _index_change(pair, None, key, summary=summary, effects=effects, steps=steps, attributes=removed)


def _index_key_changed(pair: EntityPair, old_key: BoundIndexKey, new_key: BoundIndexKey) -> DesignChange:
    name, index = pair.new.name, new_key.index.name
    changed = _changed_parts(pair, old_key, new_key)
    before, after = (
        key_text(part for part in bound.attributes if part.attribute in changed) for bound in (old_key, new_key)
    )
    if before != after:
        summary = f"the key of {name} in index {index} changed from {before} to {after}"
    elif changed:
        summary = f"the content of {', '.join(changed)} of {name} in index {index} changed"
    else:
        summary = f"the only_if condition of {name} in index {index} changed"
    is_condition_changed = condition_form(old_key.only_if) != condition_form(new_key.only_if)
    rewritten = _index_only_names(pair.new, new_key) if is_condition_changed else changed
    if is_condition_changed and changed:
        summary += ", and so did its only_if condition"
    effects = f"Stored items keep the old key: queries of {index} by the new key do not find them."
    if not changed:
        effects = f"Stored items remain in {index}, or outside of it, as last written."
    steps = form_steps(
        accept=f"a version that reads {name} in {index} by old and new keys, and writes old keys",
        write=f"a version that writes new keys of {name} in {index}",
        backfill=f"set {', '.join(rewritten)} of every stored {name} again",
        read=f"the new version, which reads {name} in {index} only by new keys",
    )
    return _index_change(pair, new_key, old_key, summary=summary, effects=effects, steps=steps, attributes=rewritten)


def _changed_parts(pair: EntityPair, old_key: BoundIndexKey, new_key: BoundIndexKey) -> list[str]:
    """Return the attributes of an index key whose values are built differently in the new design. Attributes of
    the primary key are omitted.
    """
    old, new = (
        dict(form)
        for form in (_index_key_form(pair.old, old_key, {}), _index_key_form(pair.new, new_key, key_names(pair)))
    )
    return [name for name, form in new.items() if name not in old or not same_encoding(old[name], form)]


def _index_change(
    pair: EntityPair,
    new_key: BoundIndexKey | None,
    old_key: BoundIndexKey | None,
    *,
    summary: str,
    effects: str,
    steps: tuple[RolloutStep, ...],
    attributes: Iterable[str],
) -> DesignChange:
    bound = new_key if new_key is not None else old_key
    assert bound is not None, "the caller passes one of them"
    name = bound.index.name
    migration = ItemRewrite(pair.old, pair.new, attributes=frozenset(attributes), indexes=frozenset({name}))
    place = new_key.place if new_key is not None else pair.new.place
    old_place = old_key.place if old_key is not None else pair.old.place
    facts = {"index": name}
    return DesignChange(
        "key changed",
        "backfill",
        pair.table,
        pair.new.name,
        summary,
        effects,
        place,
        old_place,
        migration,
        steps,
        facts,
    )


def _index_only_names(spec: EntitySpec, bound: BoundKey) -> list[str]:
    """Return the key attributes of an index that are not attributes of the primary key."""
    return [part.attribute for part in bound.attributes if part.attribute not in spec.schema.key]


def unreported_attributes(pair: EntityPair, attributes: Iterable[str]) -> str:
    """Return the names of the given attributes, separated by commas. Attributes that a change to a field already
    rewrites are omitted.
    """
    reported = rewritten_attributes(pair)
    return ", ".join(name for name in attributes if name not in reported)
