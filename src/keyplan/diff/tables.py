"""Changes to tables and indexes that are added, removed or renamed, or that have a different key or projection.

Source: developer guide, "Working with tables and data in DynamoDB"; API reference, UpdateTable, which accepts neither a
name nor a key schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.schema import Index
from keyplan.diff.changes import (
    DesignChange,
    IndexBuild,
    ItemRewrite,
    RolloutStep,
    TableCopy,
    Verdict,
    copy_steps,
    create_index,
    delete_index,
    form_steps,
)
from keyplan.diff.entities import (
    already_stored,
    entity_changes,
    exclusive_attributes,
    match_entities,
    missing_attributes,
    never_stored,
    unreported_attributes,
)
from keyplan.diff.fields import EntityPair
from keyplan.diff.matching import DeclarationMatches, find_counterparts, match_declarations
from keyplan.diff.patterns import consumer_changes
from keyplan.diff.settings import setting_changes


def match_tables(old: tuple[Table, ...], new: tuple[Table, ...]) -> DeclarationMatches[Table]:
    """Match the tables of two designs by name. Match the remaining tables if they have the same key attributes, and
    most of their entities have the same names.
    """
    matches = match_declarations(old, new)
    pairs = [(before, after) for before in matches.removed for after in matches.added if _is_same_table(before, after)]
    renamed = tuple(
        (before, after)
        for before, after in pairs
        if sum(table is before for table, _ in pairs) == sum(table is after for _, table in pairs) == 1
    )
    return DeclarationMatches(
        matches.same_name,
        renamed,
        tuple(table for table in matches.removed if all(table is not before for before, _ in renamed)),
        tuple(table for table in matches.added if all(table is not after for _, after in renamed)),
    )


def _is_same_table(old: Table, new: Table) -> bool:
    old_names, new_names = ({spec.name for spec in table.entities} for table in (old, new))
    return old.schema.key == new.schema.key and 2 * len(old_names & new_names) > max(len(old_names), len(new_names))


def table_changes(old: tuple[Table, ...], new: tuple[Table, ...]) -> Iterator[DesignChange]:
    """Yield all differences between the tables of two designs."""
    matches = match_tables(old, new)
    for before, after in matches.renamed:
        yield _table_renamed(before, after)
    moves = list(_moved_entities(matches))
    moved_from = {(str(change.facts["from"]), change.subject) for change in moves}
    moved_to = {(change.table, change.subject) for change in moves}
    for before, after in matches.pairs:
        yield from _primary_key_change(before, after)
        yield from index_changes(before, after)
        yield from setting_changes(before, after)
        for change in entity_changes(before, after):
            is_reported = change.kind == "entity removed" and (before.name, change.subject) in moved_from
            if not is_reported and not (change.kind == "entity added" and (after.name, change.subject) in moved_to):
                yield change
        yield from consumer_changes(before, after)
    yield from moves
    counterparts = find_counterparts(matches.removed, matches.added, _table_shape)
    for table in matches.added:
        yield _table_added(table, counterparts.get(table.name))
    for table in matches.removed:
        yield _table_removed(table, new)


def _table_shape(table: Table) -> object:
    """Return properties of a table that remain equal if the table and its entities are renamed."""
    fields = frozenset(tuple(sorted(spec.fields)) for spec in table.entities)
    return (table.schema.key, fields) if fields else None


def _table_added(table: Table, counterpart: Table | None) -> DesignChange:
    """Return a change for an added table. `counterpart` is a removed table with the same entities, which may be the
    same table under its old name. It is None if no such table exists.
    """
    steps = (RolloutStep("prepare", f"create table {table.name}", "CreateTable"),)
    summary, effects = f"table {table.name} was added", "It is empty."
    if counterpart is not None:
        effects += (
            f" If this is {counterpart.name} renamed: a table cannot be renamed, so its items must be copied."
            " Rename the"
            " table in one version and its entities in another, and the comparison reports the copy."
        )
    return DesignChange(
        "table added", "online", table.name, table.name, summary, effects, table.schema.place, steps=steps
    )


def _table_removed(table: Table, new: tuple[Table, ...]) -> DesignChange:
    summary = f"table {table.name} was removed"
    effects = (
        "Deleting it deletes every item. With point-in-time recovery, a final backup is kept for 35 days."
        " A stack update also deletes it, unless it has DeletionPolicy: Retain, which `keyplan export` sets."
    )
    steps = (RolloutStep("remove", f"back up and delete table {table.name} when no version uses it", "DeleteTable"),)
    place = new[0].schema.place
    return DesignChange(
        "table removed",
        "online",
        table.name,
        table.name,
        summary,
        effects,
        place,
        table.schema.place,
        steps=steps,
        facts={"was": table.name},
    )


def _moved_entities(matched_tables: DeclarationMatches[Table]) -> Iterator[DesignChange]:
    old = (*(before for before, _ in matched_tables.pairs), *matched_tables.removed)
    removed = {spec.name: (table, spec) for table in old for spec in table.entities}
    for before, new_table in matched_tables.pairs:
        for spec in new_table.entities:
            if removed.get(spec.name, (None,))[0] is before:
                del removed[spec.name]
    added_tables: list[tuple[Table | None, Table]] = [(None, table) for table in matched_tables.added]
    for old_table, new_table in (*matched_tables.pairs, *added_tables):
        for spec in new_table.entities:
            origin = removed.get(spec.name)
            if origin is not None and origin[0] is not old_table:
                yield _entity_moved(*origin, new_table, spec)


def _entity_moved(before: Table, old: EntitySpec, after: Table, new: EntitySpec) -> DesignChange:
    summary = f"entity {new.name} moved from table {before.name} to {after.name}"
    effects = "Stored items remain in the old table until you copy and delete them."
    steps = form_steps(
        accept=f"a version that reads {new.name} from {before.name} and {after.name}, and writes items in their table",
        write=f"a version that writes {new.name} to {after.name}, and deletes it from {before.name} in one transaction",
        backfill=f"put every {new.name} of {before.name} into {after.name}, and delete it there in one transaction",
        operation="TransactWriteItems",
        read=f"the new version, which reads {new.name} from {after.name}",
    )
    migration = ItemRewrite(old, new, rekeyed=True, sentinels=len(old.sentinels) + len(new.sentinels))
    return DesignChange(
        "entity moved",
        "backfill",
        after.name,
        new.name,
        summary,
        effects,
        new.place,
        old.place,
        migration,
        steps,
        {"from": before.name},
    )


def _table_renamed(old: Table, new: Table) -> DesignChange:
    summary = f"table {old.name} was renamed to {new.name}"
    effects = (
        "A table cannot be renamed: create one with the new name, and copy the items. A stack deletes the old table,"
        " unless it has DeletionPolicy: Retain, which `keyplan export` sets."
    )
    return DesignChange(
        "table renamed",
        "new table",
        new.name,
        new.name,
        summary,
        effects,
        new.schema.place,
        old.schema.place,
        TableCopy(old, new),
        copy_steps(old, new),
        {"was": old.name},
    )


def _primary_key_change(old: Table, new: Table) -> Iterator[DesignChange]:
    old_key, new_key = _table_key(old), _table_key(new)
    if old_key == new_key:
        return
    summary = f"the primary key of table {new.name} changed from {_key_text(old_key)} to {_key_text(new_key)}"
    effects = "The key of a table cannot change: create a table with another name, and copy the items."
    yield DesignChange(
        "primary key changed",
        "new table",
        new.name,
        new.name,
        summary,
        effects,
        new.schema.place.at("pk="),
        old.schema.place.at("pk="),
        TableCopy(old, new),
        copy_steps(old, new),
    )


def _table_key(table: Table) -> tuple[tuple[str, str], ...]:
    """Return the key attributes of a table with their types. The type is String if no entity determines it."""
    types = key_types(table)
    return tuple((name, types.get(name, "S")) for name in table.schema.key)


def _key_text(key: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in key)


def index_changes(old: Table, new: Table) -> Iterator[DesignChange]:
    """Yield the differences between the indexes of a table in the two designs."""
    before = {index.name: index for index in old.schema.indexes}
    after = {index.name: index for index in new.schema.indexes}
    counterparts = _counterparts(before, after)
    for name, index in after.items():
        old_index = before.get(name)
        if old_index is None:
            yield from _index_added(old, new, index, counterparts.get(name))
        elif "LSI" in {old_index.kind, index.kind}:
            if old_index.kind != index.kind or _differs(old, new, old_index, index):
                yield _local_index_changed(old, new, old_index, index)
        elif _differs(old, new, old_index, index):
            yield _index_changed_in_place(old, new, old_index, index)
            yield from _missing_key_changes(old, new, index)
    for name, index in before.items():
        if name not in after:
            yield _index_removed(old, new, index)


def _counterparts(before: Mapping[str, Index], after: Mapping[str, Index]) -> Mapping[str, Index]:
    """Return a mapping from the name of each new index to the removed index with the same key and projection. A new
    index is omitted if it does not have exactly one such counterpart.
    """
    removed = [index for name, index in before.items() if name not in after]
    added = [index for name, index in after.items() if name not in before]
    return find_counterparts(removed, added, lambda index: (index.kind, index.partition, index.sort, projected(index)))


def _differs(old: Table, new: Table, old_index: Index, new_index: Index) -> bool:
    old_types, new_types = key_types(old), key_types(new)
    return (
        (old_index.partition, old_index.sort) != (new_index.partition, new_index.sort)
        or projected(old_index) != projected(new_index)
        or any(
            old_types.get(name) != new_types.get(name)
            for name in new_index.attributes
            if name in old_types and name in new_types
        )
    )


def projected(index: Index) -> tuple[str, ...] | str:
    """Return the projection of an index in a comparable form. The default is "all"."""
    return tuple(sorted(index.project)) if isinstance(index.project, tuple) else index.project or "all"


def key_types(table: Table) -> Mapping[str, str]:
    """Return the type of each key attribute of a table, by name. The keys of the entities determine the types."""
    return {
        part.attribute: part.type_code
        for spec in table.entities
        for bound in (spec.key, *spec.indexes)
        for part in bound.attributes
    }


def attribute_types(table: Table) -> Mapping[str, str]:
    """Return the type of each attribute that can be used in a key, by name. The fields and keys of the entities
    determine the types.
    """
    fields = {field.attribute: field.type_code for spec in table.entities for field in spec.fields.values()}
    return {**fields, **key_types(table)}


def index_text(index: Index) -> str:
    """Describe the key and projection of an index for messages."""
    key = ", ".join(index.attributes)
    projection = "all attributes" if projected(index) == "all" else "keys" if index.project == "keys" else None
    return f"{key}; projects {projection or 'keys and ' + ', '.join(projected(index))}"


# Local indexes.


def _local_index_changed(old: Table, new: Table, old_index: Index, new_index: Index) -> DesignChange:
    before, after = (f"{index.kind} {index_text(index)}" for index in (old_index, new_index))
    summary = f"index {new_index.name} changed from {before} to {after}"
    if before == after:
        summary = f"the sort key type of local index {new_index.name} changed"
    return _table_copy_change(old, new, summary, new_index, old_index)


def _table_copy_change(
    old: Table, new: Table, summary: str, index: Index | None, old_index: Index | None
) -> DesignChange:
    effects = "Local indexes can only be created with their table: the items must be copied into a new table."
    place = new.schema.place_of(index)
    old_place = old_index.place if old_index is not None else None
    subject = index or old_index
    assert subject is not None, "one of the two designs has the index"
    migration, steps = TableCopy(old, new), copy_steps(old, new)
    return DesignChange(
        "local index changed", "new table", new.name, subject.name, summary, effects, place, old_place, migration, steps
    )


# Global indexes.


def _index_added(old: Table, new: Table, index: Index, counterpart: Index | None) -> Iterator[DesignChange]:
    """Yield the changes for a new index. `counterpart` is a removed index with the same key and projection, which may
    be the same index under its old name. It is None if no such index exists.
    """
    hint = ""
    if counterpart is not None:
        hint = f" It equals the removed {counterpart.name}: an index cannot be renamed, so keep that name."
    if index.kind == "LSI":
        changes = [
            _table_copy_change(old, new, f"local index {index.name} was added: {index_text(index)}", index, None)
        ]
    else:
        changes = [_new_index(old, new, index, f"index {index.name} was added: {index_text(index)}")]
        changes += _missing_key_changes(old, new, index)
    yield replace(changes[0], effects=changes[0].effects + hint)
    yield from changes[1:]


def _stored_and_incomplete(old: Table, new: Table, index: Index) -> tuple[list[EntitySpec], list[EntityPair]]:
    """Return two lists of the entities in a new index: those whose stored items already have its key attributes, and
    those whose stored items must be rewritten to add them.
    """
    complete, incomplete = [], []
    for before, after in match_entities(old, new).pairs:
        bound = after.key_in(index)
        if bound is None:
            continue
        pair = EntityPair(before, after)
        if already_stored(pair, bound):
            complete.append(after)
        elif missing_attributes(pair, bound) and not never_stored(pair, bound):
            incomplete.append(pair)
    return complete, incomplete


def _new_index(old: Table, new: Table, index: Index, summary: str) -> DesignChange:
    complete, incomplete = _stored_and_incomplete(old, new, index)
    effects = (
        "The service fills it while the table stays available, and bills the writes but not the reads. It can be"
        " queried when it is ACTIVE."
    )
    if incomplete:
        effects += f" Stored items of {_names_text(incomplete)} appear in it when they have its key."
    request = create_index(new.schema, index, attribute_types(new))
    steps = [RolloutStep("prepare", f"create index {index.name}, and wait until it is ACTIVE", "UpdateTable", request)]
    steps.append(RolloutStep("read", f"the new version, which reads {index.name}"))
    verdict: Verdict = "backfill" if complete or incomplete else "online"
    migration = IndexBuild(new, index, tuple(complete))
    return DesignChange(
        "index added", verdict, new.name, index.name, summary, effects, index.place, None, migration, tuple(steps)
    )


def _names_text(pairs: list[EntityPair]) -> str:
    return ", ".join(pair.new.name for pair in pairs)


def _missing_key_changes(old: Table, new: Table, index: Index) -> Iterator[DesignChange]:
    """Yield a change for each entity whose stored items do not have all key attributes of a new index. These items are
    missing from the index until the attributes are written.
    """
    for pair in _stored_and_incomplete(old, new, index)[1]:
        bound = pair.new.key_in(index)
        assert bound is not None, "the entity has a key in the index"
        missing = missing_attributes(pair, bound)
        names = ", ".join(missing)
        summary = f"stored items of {pair.new.name} do not have {names}, their key in index {index.name}"
        effects = f"Queries of {index.name} do not return them until they have it."
        unreported = unreported_attributes(pair, missing)
        old_key = pair.old.key_in(index)  # the index gets another key, and the old version reads by this one
        attributes = ", ".join(exclusive_attributes(pair, old_key)) if old_key is not None else ""
        suffix = f", and still writes {attributes}" if attributes else ""
        steps = form_steps(
            write=unreported and f"a version that writes {unreported} of {pair.new.name}{suffix}",
            backfill=unreported and f"set {unreported} of every stored {pair.new.name}",
            read=unreported
            and attributes
            and f"the new version, which no longer writes {attributes} of {pair.new.name}",
        )
        migration = ItemRewrite(pair.old, pair.new, attributes=frozenset(missing), indexes=frozenset({index.name}))
        facts = {"index": index.name, "new": True}
        yield DesignChange(
            "key changed",
            "backfill",
            new.name,
            pair.new.name,
            summary,
            effects,
            bound.place,
            pair.old.place,
            migration,
            steps,
            facts,
        )


def _index_removed(old: Table, new: Table, index: Index) -> DesignChange:
    if index.kind == "LSI":
        summary = f"local index {index.name} was removed"
        return _table_copy_change(old, new, summary, None, index)
    summary = f"index {index.name} was removed"
    effects = "The table stays available. Reads of the index by the running version fail as soon as it is DELETING."
    request = delete_index(new.name, index.name)
    steps = (
        *_key_removal_steps(old, new, index),
        RolloutStep("remove", f"delete index {index.name} when no version reads it", "UpdateTable", request),
    )
    return DesignChange(
        "index removed", "online", new.name, index.name, summary, effects, new.schema.place, index.place, steps=steps
    )


def _key_removal_steps(old: Table, new: Table, index: Index) -> Iterator[RolloutStep]:
    """Yield the steps that stop writing the key attributes of a removed index.

    A version that no longer reads the index is deployed before a version that no longer writes the attributes, because
    the old version still reads the index.
    """
    for before, after in match_entities(old, new).pairs:
        bound = before.key_in(index)
        if bound is None:
            continue
        templated = {part.attribute for part in bound.attributes if part.template is not None}
        removed = [name for name in exclusive_attributes(EntityPair(before, after), bound) if name in templated]
        if removed:
            names = f"{', '.join(removed)} of {after.name}"
            yield RolloutStep("accept", f"a version that no longer reads {index.name}, but still writes {names}")
            yield RolloutStep("read", f"the new version, which no longer writes {names}")


def _index_changed_in_place(old: Table, new: Table, old_index: Index, new_index: Index) -> DesignChange:
    summary = f"index {new_index.name} changed from {index_text(old_index)} to {index_text(new_index)}"
    old_types, new_types = key_types(old), key_types(new)
    changed = [
        f"{name} from {old_types[name]} to {new_types[name]}"
        for name in new_index.attributes
        if name in old_types and name in new_types and old_types[name] != new_types[name]
    ]
    if changed and index_text(new_index) == index_text(old_index):
        summary = f"the key type of index {new_index.name} changed: {', '.join(changed)}"
    effects = (
        "The key and projection of an index cannot change: a deployment deletes the index and creates it again, and"
        " reads of it fail until it is filled."
    )
    replacement = f"{new_index.name}_2"
    request = create_index(new.schema, new_index, attribute_types(new), replacement)
    deletion = delete_index(new.name, new_index.name)
    steps = (
        RolloutStep(
            "prepare",
            f"create the new {new_index.name} as {replacement}, and wait until it is ACTIVE",
            "UpdateTable",
            request,
        ),
        RolloutStep("read", f"the new version, which reads {replacement}"),
        RolloutStep("remove", f"delete index {new_index.name} when no version reads it", "UpdateTable", deletion),
    )
    complete, _ = _stored_and_incomplete(old, new, new_index)
    migration = IndexBuild(new, new_index, tuple(complete))
    return DesignChange(
        "index changed in place",
        "backfill",
        new.name,
        new_index.name,
        summary,
        effects,
        new_index.place,
        old_index.place,
        migration,
        steps,
    )
