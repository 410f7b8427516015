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
    Build,
    DesignChange,
    Move,
    Rewrite,
    RolloutStep,
    Verdict,
    copy_steps,
    create_index,
    delete_index,
    form_steps,
)
from keyplan.diff.entities import (
    already_stored,
    entity_changes,
    match_entities,
    missing_attributes,
    never_stored,
    own_attributes,
    unreported_attributes,
)
from keyplan.diff.fields import Entities
from keyplan.diff.matching import Matched, lookalikes, matched
from keyplan.diff.patterns import consumer_changes
from keyplan.diff.settings import setting_changes


def match_tables(old: tuple[Table, ...], new: tuple[Table, ...]) -> Matched[Table]:
    """Match the tables of two designs by name. Match the remaining tables if they have the same key attributes, and
    most of their entities have the same names.
    """
    matches = matched(old, new)
    pairs = [(before, after) for before in matches.removed for after in matches.added if _is_same_table(before, after)]
    renamed = tuple(
        (before, after)
        for before, after in pairs
        if sum(table is before for table, _ in pairs) == sum(table is after for _, table in pairs) == 1
    )
    return Matched(
        matches.kept,
        renamed,
        tuple(table for table in matches.removed if all(table is not before for before, _ in renamed)),
        tuple(table for table in matches.added if all(table is not after for _, after in renamed)),
    )


def _is_same_table(old: Table, new: Table) -> bool:
    was, now = ({spec.name for spec in table.entities} for table in (old, new))
    return old.schema.key == new.schema.key and 2 * len(was & now) > max(len(was), len(now))


def table_changes(old: tuple[Table, ...], new: tuple[Table, ...]) -> Iterator[DesignChange]:
    """Yield all differences between the tables of two designs."""
    matches = match_tables(old, new)
    for before, after in matches.renamed:
        yield _renamed(before, after)
    moved = list(_moved(matches))
    moved_subjects = {(str(change.facts["from"]), change.subject) for change in moved}
    come = {(change.table, change.subject) for change in moved}
    for before, after in matches.pairs:
        yield from _primary_key(before, after)
        yield from index_changes(before, after)
        yield from setting_changes(before, after)
        for change in entity_changes(before, after):
            is_told = change.kind == "entity removed" and (before.name, change.subject) in moved_subjects
            if not is_told and not (change.kind == "entity added" and (after.name, change.subject) in come):
                yield change
        yield from consumer_changes(before, after)
    yield from moved
    like = lookalikes(matches.removed, matches.added, _likeness)
    for table in matches.added:
        yield _table_added(table, like.get(table.name))
    for table in matches.removed:
        yield _table_removed(table, new)


def _likeness(table: Table) -> object:
    """Return properties of a table that remain equal if the table and its entities are renamed."""
    fields = frozenset(tuple(sorted(spec.fields)) for spec in table.entities)
    return (table.schema.key, fields) if fields else None


def _table_added(table: Table, like: Table | None) -> DesignChange:
    """Return a change for an added table. `like` is a removed table with the same entities, or None."""
    steps = (RolloutStep("prepare", f"create table {table.name}", "CreateTable"),)
    what, how = f"table {table.name} was added", "It is empty."
    if like is not None:
        how += (
            f" If this is {like.name} renamed: a table cannot be renamed, so its items must be copied. Rename the"
            " table in one version and its entities in another, and the comparison reports the copy."
        )
    return DesignChange("table added", "online", table.name, table.name, what, how, table.schema.place, steps=steps)


def _table_removed(table: Table, new: tuple[Table, ...]) -> DesignChange:
    what = f"table {table.name} was removed"
    how = (
        "Deleting it deletes every item. With point-in-time recovery, a final backup is kept for 35 days."
        " A stack without it deletes it too, unless it has DeletionPolicy: Retain, which `keyplan export` sets."
    )
    steps = (RolloutStep("remove", f"back up and delete table {table.name} when no version uses it", "DeleteTable"),)
    place = new[0].schema.place
    return DesignChange(
        "table removed",
        "online",
        table.name,
        table.name,
        what,
        how,
        place,
        table.schema.place,
        steps=steps,
        facts={"was": table.name},
    )


def _moved(matched_tables: Matched[Table]) -> Iterator[DesignChange]:
    old = (*(before for before, _ in matched_tables.pairs), *matched_tables.removed)
    removed = {spec.name: (table, spec) for table in old for spec in table.entities}
    for before, after in matched_tables.pairs:
        for spec in after.entities:
            if removed.get(spec.name, (None,))[0] is before:
                del removed[spec.name]
    came: list[tuple[Table | None, Table]] = [(None, table) for table in matched_tables.added]
    for same, after in (*matched_tables.pairs, *came):
        for spec in after.entities:
            was = removed.get(spec.name)
            if was is not None and was[0] is not same:
                yield _of_moved(*was, after, spec)


def _of_moved(before: Table, old: EntitySpec, after: Table, new: EntitySpec) -> DesignChange:
    what = f"entity {new.name} moved from table {before.name} to {after.name}"
    how = "Stored items remain in the old table until you copy and delete them."
    steps = form_steps(
        accept=f"a version that reads {new.name} from {before.name} and {after.name}, and writes items in their table",
        write=f"a version that writes {new.name} to {after.name}, and deletes it from {before.name} in one transaction",
        backfill=f"put every {new.name} of {before.name} into {after.name}, and delete it there in one transaction",
        by="TransactWriteItems",
        read=f"the new version, which reads {new.name} from {after.name}",
    )
    work = Rewrite(old, new, rekeyed=True, sentinels=len(old.sentinels) + len(new.sentinels))
    return DesignChange(
        "entity moved",
        "backfill",
        after.name,
        new.name,
        what,
        how,
        new.place,
        old.place,
        work,
        steps,
        {"from": before.name},
    )


def _renamed(old: Table, new: Table) -> DesignChange:
    what = f"table {old.name} was renamed to {new.name}"
    how = (
        "A table cannot be renamed: create one with the new name, and copy the items. A stack deletes the old table,"
        " unless it has DeletionPolicy: Retain, which `keyplan export` sets."
    )
    return DesignChange(
        "table renamed",
        "new table",
        new.name,
        new.name,
        what,
        how,
        new.schema.place,
        old.schema.place,
        Move(old, new),
        copy_steps(old, new),
        {"was": old.name},
    )


def _primary_key(old: Table, new: Table) -> Iterator[DesignChange]:
    was, now = _key(old), _key(new)
    if was == now:
        return
    what = f"the primary key of table {new.name} changed from {_text(was)} to {_text(now)}"
    how = "The key of a table cannot change: create a table with another name, and copy the items."
    yield DesignChange(
        "primary key changed",
        "new table",
        new.name,
        new.name,
        what,
        how,
        new.schema.place.at("pk="),
        old.schema.place.at("pk="),
        Move(old, new),
        copy_steps(old, new),
    )


def _key(table: Table) -> tuple[tuple[str, str], ...]:
    """Return the key attributes of a table with their types. The type is String if no entity determines it."""
    types = key_types(table)
    return tuple((name, types.get(name, "S")) for name in table.schema.key)


def _text(key: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in key)


def index_changes(old: Table, new: Table) -> Iterator[DesignChange]:
    """Yield the differences between the indexes of a table in the two designs."""
    before = {index.name: index for index in old.schema.indexes}
    after = {index.name: index for index in new.schema.indexes}
    like = _lookalikes(before, after)
    for name, index in after.items():
        was = before.get(name)
        if was is None:
            yield from _added(old, new, index, like.get(name))
        elif "LSI" in {was.kind, index.kind}:
            if was.kind != index.kind or _differs(old, new, was, index):
                yield _local(old, new, was, index)
        elif _differs(old, new, was, index):
            yield _in_place(old, new, was, index)
            yield from _keys_of_new(old, new, index)
    for name, index in before.items():
        if name not in after:
            yield _removed(old, new, index)


def _lookalikes(before: Mapping[str, Index], after: Mapping[str, Index]) -> Mapping[str, Index]:
    """Return a mapping from the name of each new index to the removed index with the same key and projection. A new
    index is omitted if it does not have exactly one such counterpart.
    """
    removed = [index for name, index in before.items() if name not in after]
    come = [index for name, index in after.items() if name not in before]
    return lookalikes(removed, come, lambda index: (index.kind, index.partition, index.sort, projected(index)))


def _differs(old: Table, new: Table, was: Index, now: Index) -> bool:
    types, other = key_types(old), key_types(new)
    return (
        (was.partition, was.sort) != (now.partition, now.sort)
        or projected(was) != projected(now)
        or any(types.get(name) != other.get(name) for name in now.attributes if name in types and name in other)
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


def _local(old: Table, new: Table, was: Index, now: Index) -> DesignChange:
    before, after = (f"{index.kind} {index_text(index)}" for index in (was, now))
    what = f"index {now.name} changed from {before} to {after}"
    if before == after:
        what = f"the sort key type of local index {now.name} changed"
    return _of_new_table(old, new, what, now, was)


def _of_new_table(old: Table, new: Table, what: str, index: Index | None, was: Index | None) -> DesignChange:
    how = "Local indexes can only be created with their table: the items must be copied into a new table."
    place = new.schema.place_of(index)
    other = was.place if was is not None else None
    subject = index or was
    assert subject is not None, "one of the two designs has the index"
    work, steps = Move(old, new), copy_steps(old, new)
    return DesignChange(
        "local index changed", "new table", new.name, subject.name, what, how, place, other, work, steps
    )


# Global indexes.


def _added(old: Table, new: Table, index: Index, like: Index | None) -> Iterator[DesignChange]:
    """Yield the changes for a new index. `like` is a removed index with the same key and projection, or None."""
    hint = ""
    if like is not None:
        hint = f" It equals the removed {like.name}: an index cannot be renamed, so keep that name."
    if index.kind == "LSI":
        changes = [_of_new_table(old, new, f"local index {index.name} was added: {index_text(index)}", index, None)]
    else:
        changes = [_new_index(old, new, index, f"index {index.name} was added: {index_text(index)}")]
        changes += _keys_of_new(old, new, index)
    yield replace(changes[0], how=changes[0].how + hint)
    yield from changes[1:]


def _stored_and_incomplete(old: Table, new: Table, index: Index) -> tuple[list[EntitySpec], list[Entities]]:
    """Return two lists of the entities in a new index: those whose stored items already have its key attributes, and
    those whose stored items must be rewritten to have them.
    """
    stored, incomplete = [], []
    for before, after in match_entities(old, new).pairs:
        bound = after.key_in(index)
        if bound is None:
            continue
        pair = Entities(before, after)
        if already_stored(pair, bound):
            stored.append(after)
        elif missing_attributes(pair, bound) and not never_stored(pair, bound):
            incomplete.append(pair)
    return stored, incomplete


def _new_index(old: Table, new: Table, index: Index, what: str) -> DesignChange:
    stored, incomplete = _stored_and_incomplete(old, new, index)
    how = (
        "The service fills it while the table stays available, and bills the writes but not the reads. It can be"
        " queried when it is ACTIVE."
    )
    if incomplete:
        how += f" Stored items of {_listed(incomplete)} appear in it when they have its key."
    request = create_index(new.schema, index, attribute_types(new))
    steps = [RolloutStep("prepare", f"create index {index.name}, and wait until it is ACTIVE", "UpdateTable", request)]
    steps.append(RolloutStep("read", f"the new version, which reads {index.name}"))
    verdict: Verdict = "backfill" if stored or incomplete else "online"
    work = Build(new, index, tuple(stored))
    return DesignChange("index added", verdict, new.name, index.name, what, how, index.place, None, work, tuple(steps))


def _listed(pairs: list[Entities]) -> str:
    return ", ".join(pair.new.name for pair in pairs)


def _keys_of_new(old: Table, new: Table, index: Index) -> Iterator[DesignChange]:
    """Yield a change for each entity whose stored items are missing from a new index until they get its key
    attributes.
    """
    for pair in _stored_and_incomplete(old, new, index)[1]:
        bound = pair.new.key_in(index)
        assert bound is not None, "the entity has a key in the index"
        missing = missing_attributes(pair, bound)
        names = ", ".join(missing)
        what = f"stored items of {pair.new.name} do not have {names}, their key in index {index.name}"
        how = f"Queries of {index.name} do not return them until they have it."
        written = unreported_attributes(pair, missing)
        former = pair.old.key_in(index)  # the index gets another key, and the old version reads by this one
        attributes = ", ".join(own_attributes(pair, former)) if former is not None else ""
        also = f", and still writes {attributes}" if attributes else ""
        steps = form_steps(
            write=written and f"a version that writes {written} of {pair.new.name}{also}",
            backfill=written and f"set {written} of every stored {pair.new.name}",
            read=written and attributes and f"the new version, which no longer writes {attributes} of {pair.new.name}",
        )
        work = Rewrite(pair.old, pair.new, attributes=frozenset(missing), indexes=frozenset({index.name}))
        facts = {"index": index.name, "new": True}
        yield DesignChange(
            "key changed",
            "backfill",
            new.name,
            pair.new.name,
            what,
            how,
            bound.place,
            pair.old.place,
            work,
            steps,
            facts,
        )


def _removed(old: Table, new: Table, index: Index) -> DesignChange:
    if index.kind == "LSI":
        what = f"local index {index.name} was removed"
        return _of_new_table(old, new, what, None, index)
    what = f"index {index.name} was removed"
    how = "The table stays available. Reads of the index by the running version fail as soon as it is DELETING."
    request = delete_index(new.name, index.name)
    steps = (
        *_without_keys(old, new, index),
        RolloutStep("remove", f"delete index {index.name} when no version reads it", "UpdateTable", request),
    )
    return DesignChange(
        "index removed", "online", new.name, index.name, what, how, new.schema.place, index.place, steps=steps
    )


def _without_keys(old: Table, new: Table, index: Index) -> Iterator[RolloutStep]:
    """Yield the steps that stop writing the key attributes of a removed index.

    A version that no longer reads the index is deployed before a version that no longer writes the attributes, because
    the old version still reads the index.
    """
    for before, after in match_entities(old, new).pairs:
        bound = before.key_in(index)
        if bound is None:
            continue
        templated = {part.attribute for part in bound.attributes if part.template is not None}
        removed = [name for name in own_attributes(Entities(before, after), bound) if name in templated]
        if removed:
            names = f"{', '.join(removed)} of {after.name}"
            yield RolloutStep("accept", f"a version that no longer reads {index.name}, but still writes {names}")
            yield RolloutStep("read", f"the new version, which no longer writes {names}")


def _in_place(old: Table, new: Table, was: Index, now: Index) -> DesignChange:
    what = f"index {now.name} changed from {index_text(was)} to {index_text(now)}"
    types, other = key_types(old), key_types(new)
    changed = [
        f"{name} from {types[name]} to {other[name]}"
        for name in now.attributes
        if name in types and name in other and types[name] != other[name]
    ]
    if changed and index_text(now) == index_text(was):
        what = f"the key type of index {now.name} changed: {', '.join(changed)}"
    how = (
        "The key and projection of an index cannot change: a deployment deletes the index and creates it again, and"
        " reads of it fail until it is filled."
    )
    replacement = f"{now.name}_2"
    request = create_index(new.schema, now, attribute_types(new), replacement)
    dropped = delete_index(new.name, now.name)
    steps = (
        RolloutStep(
            "prepare",
            f"create the new {now.name} as {replacement}, and wait until it is ACTIVE",
            "UpdateTable",
            request,
        ),
        RolloutStep("read", f"the new version, which reads {replacement}"),
        RolloutStep("remove", f"delete index {now.name} when no version reads it", "UpdateTable", dropped),
    )
    stored, _ = _stored_and_incomplete(old, new, now)
    work = Build(new, now, tuple(stored))
    return DesignChange(
        "index changed in place", "backfill", new.name, now.name, what, how, now.place, was.place, work, steps
    )
