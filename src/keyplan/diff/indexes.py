"""Changes of a table's indexes.

A global index is created and deleted while the table is used, one at a time; its key and its projection are what
they were created as. Local indexes are there from a table's creation to its deletion.

Source: developer guide, "Managing Global Secondary Indexes in DynamoDB" (GSI.OnlineOps) and "Local secondary
indexes"; API reference, UpdateTable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from keyplan.design.entities import EntitySpec
from keyplan.design.schema import Index
from keyplan.design.tables import Table
from keyplan.diff import requests
from keyplan.diff.changes import Build, Change, Move, Rewrite, Step, Verdict, staged
from keyplan.diff.copying import copying
from keyplan.diff.entities import match_entities
from keyplan.diff.entity_keys import already_stored, lacking_attributes, never_stored, own_attributes, unsaid
from keyplan.diff.fields import Entities
from keyplan.diff.matching import lookalikes


def index_changes(old: Table, new: Table) -> Iterator[Change]:
    """What differs between the indexes of a table."""
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
    """By a new index, one of its key and projection that is gone."""
    gone = [index for name, index in before.items() if name not in after]
    come = [index for name, index in after.items() if name not in before]
    return lookalikes(gone, come, lambda index: (index.kind, index.partition, index.sort, projected(index)))


def _differs(old: Table, new: Table, was: Index, now: Index) -> bool:
    types, other = key_types(old), key_types(new)
    return (
        (was.partition, was.sort) != (now.partition, now.sort)
        or projected(was) != projected(now)
        or any(types.get(name) != other.get(name) for name in now.attributes if name in types and name in other)
    )


def projected(index: Index) -> tuple[str, ...] | str:
    """What an index holds; where nothing is said, all."""
    return tuple(sorted(index.project)) if isinstance(index.project, tuple) else index.project or "all"


def key_types(table: Table) -> Mapping[str, str]:
    """The types of the key attributes, as the entities make them."""
    return {
        part.attribute: part.type_code
        for spec in table.entities
        for bound in (spec.key, *spec.indexes)
        for part in bound.attributes
    }


def attribute_types(table: Table) -> Mapping[str, str]:
    """The types of all attributes that may be in a key, as fields or keys make them."""
    fields = {one.attribute: one.type_code for spec in table.entities for one in spec.fields.values()}
    return {**fields, **key_types(table)}


def told(index: Index) -> str:
    """An index as it reads in a message."""
    key = ", ".join(index.attributes)
    held = "all attributes" if projected(index) == "all" else "keys" if index.project == "keys" else None
    return f"{key}; holds {held or 'keys and ' + ', '.join(projected(index))}"


# Local indexes.


def _local(old: Table, new: Table, was: Index, now: Index) -> Change:
    what = f"index {now.name} is {now.kind} {told(now)}, and was {was.kind} {told(was)}"
    if what.endswith(f"{now.kind} {told(now)}, and was {now.kind} {told(now)}"):
        what = f"local index {now.name} has a sort key of another type"
    return _of_new_table(old, new, what, now, was)


def _of_new_table(old: Table, new: Table, what: str, index: Index | None, was: Index | None) -> Change:
    how = "Local indexes are made with their table and never after: the items have to be copied into a new one."
    place = new.schema.place_of(index)
    other = was.place if was is not None else None
    told_of = index or was
    assert told_of is not None, "there is one, or there was"
    work, steps = Move(old, new), copying(old, new)
    return Change("local index changed", "new table", new.name, told_of.name, what, how, place, other, work, steps)


# Global indexes.


def _added(old: Table, new: Table, index: Index, like: Index | None) -> Iterator[Change]:
    """An index that came; `like`: one of its key and projection that went."""
    hint = ""
    if like is not None:
        hint = f" It is as {like.name} was: an index cannot be renamed; keep that name, and none is to be made."
    if index.kind == "LSI":
        changes = [_of_new_table(old, new, f"local index {index.name} is new: {told(index)}", index, None)]
    else:
        changes = [_new_index(old, new, index, f"index {index.name} is new: {told(index)}")]
        changes += _keys_of_new(old, new, index)
    yield replace(changes[0], how=changes[0].how + hint)
    yield from changes[1:]


def _stored_and_lacking(old: Table, new: Table, index: Index) -> tuple[list[EntitySpec], list[Entities]]:
    """The entities of an index whose stored items have its key, and those whose have to get it."""
    stored, lacking = [], []
    for before, after in match_entities(old, new).pairs:
        bound = after.key_in(index)
        if bound is None:
            continue
        pair = Entities(before, after)
        if already_stored(pair, bound):
            stored.append(after)
        elif lacking_attributes(pair, bound) and not never_stored(pair, bound):
            lacking.append(pair)
    return stored, lacking


def _new_index(old: Table, new: Table, index: Index, what: str) -> Change:
    stored, lacking = _stored_and_lacking(old, new, index)
    how = (
        "The service fills it while the table is used, reads the table for nothing, and writes with the index's"
        " capacity; it can be asked once it is ACTIVE."
    )
    if lacking:
        how += f" Stored items of {_listed(lacking)} are in it once they have its key."
    request = requests.create_index(new.schema, index, attribute_types(new))
    steps = [Step("prepare", f"create index {index.name}, and wait until it is ACTIVE", "UpdateTable", request)]
    steps.append(Step("read", f"the new version, which reads {index.name}"))
    verdict: Verdict = "backfill" if stored or lacking else "online"
    work = Build(new, index, tuple(stored))
    return Change("index added", verdict, new.name, index.name, what, how, index.place, None, work, tuple(steps))


def _listed(pairs: list[Entities]) -> str:
    return ", ".join(pair.new.name for pair in pairs)


def _keys_of_new(old: Table, new: Table, index: Index) -> Iterator[Change]:
    """What has to be written into stored items, so that they are in a new index."""
    for pair in _stored_and_lacking(old, new, index)[1]:
        bound = pair.new.key_in(index)
        assert bound is not None, "it lacks the key that it has in the new design"
        lacking = lacking_attributes(pair, bound)
        names = ", ".join(lacking)
        what = f"stored items of {pair.new.name} lack {names}, their key in index {index.name}"
        how = f"They are missing from what {index.name} answers until they have it."
        written = unsaid(pair, lacking)
        former = pair.old.key_in(index)  # of an index that gets another key: the old version goes on reading by it
        kept = ", ".join(own_attributes(pair, former)) if former is not None else ""
        beside = f" beside {kept}" if kept else ""
        steps = staged(
            write=written and f"a version that writes {written} of {pair.new.name}{beside}",
            backfill=written and f"set {written} of every stored {pair.new.name}",
            read=written and kept and f"the new version, which writes {kept} of {pair.new.name} no more",
        )
        work = Rewrite(pair.old, pair.new, attributes=frozenset(lacking), indexes=frozenset({index.name}))
        facts = {"index": index.name, "new": True}
        yield Change(
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


def _removed(old: Table, new: Table, index: Index) -> Change:
    if index.kind == "LSI":
        what = f"local index {index.name} is gone"
        return _of_new_table(old, new, what, None, index)
    what = f"index {index.name} is gone"
    how = "The table is used meanwhile; the running version's reads of it fail from the moment it is DELETING."
    request = requests.delete_index(new.name, index.name)
    steps = (
        *_without_keys(old, new, index),
        Step("remove", f"delete index {index.name}, once no version reads it", "UpdateTable", request),
    )
    return Change(
        "index removed", "online", new.name, index.name, what, how, new.schema.place, index.place, steps=steps
    )


def _without_keys(old: Table, new: Table, index: Index) -> Iterator[Step]:
    """Of an index whose keys the new version does not write any more, while the old one still reads it."""
    for before, after in match_entities(old, new).pairs:
        bound = before.key_in(index)
        if bound is None:
            continue
        made = {part.attribute for part in bound.attributes if part.template is not None}
        gone = [one for one in own_attributes(Entities(before, after), bound) if one in made]
        if gone:
            names = f"{', '.join(gone)} of {after.name}"
            yield Step("accept", f"a version that reads {index.name} no more, and still writes {names}")
            yield Step("read", f"the new version, which writes {names} no more")


def _in_place(old: Table, new: Table, was: Index, now: Index) -> Change:
    what = f"index {now.name} is {told(now)}, and was {told(was)}"
    types, other = key_types(old), key_types(new)
    changed = [
        f"{name} is {other[name]}, and was {types[name]}"
        for name in now.attributes
        if name in types and name in other and types[name] != other[name]
    ]
    if changed and told(now) == told(was):
        what = f"index {now.name} has a key of another type: {', '.join(changed)}"
    how = (
        "No key and no projection of an index is changed: what deploys the design deletes it and creates it again, and"
        " reads of it fail until it is filled."
    )
    beside = f"{now.name}_2"
    made = requests.create_index(new.schema, now, attribute_types(new), beside)
    dropped = requests.delete_index(new.name, now.name)
    steps = (
        Step(
            "prepare",
            f"create the new {now.name} as {beside} beside it, and wait until it is ACTIVE",
            "UpdateTable",
            made,
        ),
        Step("read", f"the new version, which reads {beside}"),
        Step("remove", f"delete index {now.name}, once no version reads it", "UpdateTable", dropped),
    )
    stored, _ = _stored_and_lacking(old, new, now)
    work = Build(new, now, tuple(stored))
    return Change(
        "index changed in place", "backfill", new.name, now.name, what, how, now.place, was.place, work, steps
    )
