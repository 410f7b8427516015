"""Changes of tables: those that come and go, and those whose primary key is another.

Source: developer guide, "Working with tables and data in DynamoDB"; API reference, UpdateTable, which takes neither a
name nor a key schema.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.design.entities import EntitySpec
from keyplan.design.tables import Table
from keyplan.diff.changes import Change, Move, Rewrite, Step, staged
from keyplan.diff.copying import copying
from keyplan.diff.entities import entity_changes
from keyplan.diff.indexes import index_changes, key_types
from keyplan.diff.matching import Matched, lookalikes, matched
from keyplan.diff.patterns import consumer_changes
from keyplan.diff.settings import setting_changes


def match_tables(old: tuple[Table, ...], new: tuple[Table, ...]) -> Matched[Table]:
    """Tables by name, and those of another name that hold most of the same entities under the same key attributes."""
    found = matched(old, new)
    pairs = [(before, after) for before in found.removed for after in found.added if _alike(before, after)]
    renamed = tuple(
        (before, after)
        for before, after in pairs
        if sum(one is before for one, _ in pairs) == sum(one is after for _, one in pairs) == 1
    )
    return Matched(
        found.kept,
        renamed,
        tuple(table for table in found.removed if all(table is not before for before, _ in renamed)),
        tuple(table for table in found.added if all(table is not after for _, after in renamed)),
    )


def _alike(old: Table, new: Table) -> bool:
    was, now = ({spec.name for spec in table.entities} for table in (old, new))
    return old.schema.key == new.schema.key and 2 * len(was & now) > max(len(was), len(now))


def table_changes(old: tuple[Table, ...], new: tuple[Table, ...]) -> Iterator[Change]:
    """Everything that differs between the tables of two designs."""
    found = match_tables(old, new)
    for before, after in found.renamed:
        yield _renamed(before, after)
    moved = list(_moved(found))
    gone = {(str(change.facts["from"]), change.subject) for change in moved}
    come = {(change.table, change.subject) for change in moved}
    for before, after in found.pairs:
        yield from _primary_key(before, after)
        yield from index_changes(before, after)
        yield from setting_changes(before, after)
        for change in entity_changes(before, after):
            is_told = change.kind == "entity removed" and (before.name, change.subject) in gone
            if not is_told and not (change.kind == "entity added" and (after.name, change.subject) in come):
                yield change
        yield from consumer_changes(before, after)
    yield from moved
    like = lookalikes(found.removed, found.added, _likeness)
    for table in found.added:
        yield _added(table, like.get(table.name))
    for table in found.removed:
        yield _removed(table, new)


def _likeness(table: Table) -> object:
    """What a table has still that is called otherwise, and its entities too."""
    fields = frozenset(tuple(sorted(spec.fields)) for spec in table.entities)
    return (table.schema.key, fields) if fields else None


def _added(table: Table, like: Table | None) -> Change:
    """A table that came; `like`: one of the same items that went."""
    steps = (Step("prepare", f"create table {table.name}", "CreateTable"),)
    what, how = f"table {table.name} is new", "Nothing is in it."
    if like is not None:
        how += (
            f" If it is {like.name} under another name: a table keeps its name, so its items have to be copied; rename"
            " the table and its entities in two versions, so that the copy is told of."
        )
    return Change("table added", "online", table.name, table.name, what, how, table.schema.place, steps=steps)


def _removed(table: Table, new: tuple[Table, ...]) -> Change:
    what = f"table {table.name} is gone"
    how = (
        "Deleting it deletes every item; with point-in-time recovery a backup of that moment is kept for 35 days."
        " A stack that lacks it deletes it too, unless it says DeletionPolicy: Retain, as `keyplan export` does."
    )
    steps = (Step("remove", f"back up and delete table {table.name}, once no version uses it", "DeleteTable"),)
    place = new[0].schema.place
    return Change("table removed", "online", table.name, table.name, what, how, place, table.schema.place, steps=steps,
        facts={"was": table.name},
    )  # fmt: skip


def _moved(found: Matched[Table]) -> Iterator[Change]:
    """Entities that are in another table than they were."""
    old = (*(before for before, _ in found.pairs), *found.removed)
    lost = {spec.name: (table, spec) for table in old for spec in table.entities}
    for before, after in found.pairs:
        for spec in after.entities:
            if lost.get(spec.name, (None,))[0] is before:
                del lost[spec.name]
    came: list[tuple[Table | None, Table]] = [(None, table) for table in found.added]
    for same, after in (*found.pairs, *came):
        for spec in after.entities:
            was = lost.get(spec.name)
            if was is not None and was[0] is not same:
                yield _of_moved(*was, after, spec)


def _of_moved(before: Table, old: EntitySpec, after: Table, new: EntitySpec) -> Change:
    what = f"{new.name} is in table {after.name}, and was in {before.name}"
    how = "Stored items stay where they are until they are copied, and are deleted there by nobody but you."
    steps = staged(
        accept=f"a version that reads {new.name} from {before.name} and {after.name}, and writes each where it lies",
        write=f"a version that writes {new.name} to {after.name}, and deletes it from {before.name} in one transaction",
        backfill=f"put every {new.name} of {before.name} into {after.name}, and delete it there in one transaction",
        by="TransactWriteItems",
        read=f"the new version, which reads {new.name} from {after.name}",
    )
    work = Rewrite(old, new, rekeyed=True, sentinels=len(old.sentinels) + len(new.sentinels))
    return Change(
        "entity moved", "backfill", after.name, new.name, what, how, new.place, old.place, work, steps,
        {"from": before.name},
    )  # fmt: skip


def _renamed(old: Table, new: Table) -> Change:
    what = f"table {new.name} was called {old.name}"
    how = (
        "A table keeps its name: one of the new name is made, and the items are copied into it. A stack deletes the old"
        " one, unless it says DeletionPolicy: Retain, as `keyplan export` does."
    )
    return Change(
        "table renamed", "new table", new.name, new.name, what, how, new.schema.place, old.schema.place, Move(old, new),
        copying(old, new), {"was": old.name},
    )  # fmt: skip


def _primary_key(old: Table, new: Table) -> Iterator[Change]:
    was, now = _key(old), _key(new)
    if was == now:
        return
    what = f"the primary key of table {new.name} is {_text(now)}, and was {_text(was)}"
    how = "A table keeps its key: one of another name is made, and the items are copied into it."
    yield Change(
        "primary key changed", "new table", new.name, new.name, what, how, new.schema.place.at("pk="),
        old.schema.place.at("pk="), Move(old, new), copying(old, new),
    )  # fmt: skip


def _key(table: Table) -> tuple[tuple[str, str], ...]:
    """Its attributes with their types; String where no entity says."""
    types = key_types(table)
    return tuple((name, types.get(name, "S")) for name in table.schema.key)


def _text(key: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in key)
