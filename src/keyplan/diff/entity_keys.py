"""Changes of what keys are made of, in the table and in indexes that both designs have.

Items that are stored keep the keys that they were written with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from keyplan.design.entities import EntitySpec
from keyplan.design.fields import StoredField
from keyplan.design.keys import BoundIndexKey, BoundKey, KeyAttribute, text_of
from keyplan.diff.changes import Change, Rewrite, Step, staged
from keyplan.diff.fields import Entities, field_names, key_names, rewritten_attributes
from keyplan.diff.forms import condition_form
from keyplan.diff.key_forms import Form, agree, attribute_form, key_form


def primary_key_changes(pair: Entities) -> Iterator[Change]:
    old, new = pair.old, pair.new
    names = key_names(pair)
    types = [[(part.attribute, part.type_code) for part in one.key.attributes] for one in (old, new)]
    if agree(key_form(old, old.key), key_form(new, new.key, names)) or types[0] != types[1]:
        return  # a table with other key attributes is told of as a whole
    what = f"the key of {new.name} is {new.key.text}, and was {old.key.text}"
    how = "Stored items lie under the old key: the new version does not find them, and may create them a second time."
    owned = ", and name the new one in its sentinels" if old.sentinels else ""
    moved = f"under its new key, and delete it under the old in one transaction{owned}"
    steps = staged(
        accept=f"a version that reads {new.name} under both keys, and writes each where it lies",
        write=f"a version that writes {new.name} under its new key, and deletes it under the old in one transaction",
        backfill=f"put every stored {new.name} {moved}",
        by="TransactWriteItems",
        read=f"the new version, which reads {new.name} under the new key only",
    )
    attributes = frozenset(part.attribute for part in new.key.attributes)
    work = Rewrite(old, new, rekeyed=True, attributes=attributes, sentinels=len(old.sentinels))
    yield Change("key changed", "backfill", pair.table, new.name, what, how, new.key.place, old.key.place, work, steps)


def index_key_changes(pair: Entities) -> Iterator[Change]:
    """Keys in indexes that both designs have; one that is new is told of with the index."""
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
        return False  # the index itself is another
    if [part.type_code for part in was.attributes] != [part.type_code for part in now.attributes]:
        return False  # as above
    if not agree(_own_form(pair.old, was, {}), _own_form(pair.new, now, key_names(pair))):
        return True
    return condition_form(was.when) != condition_form(now.when)


def _own_form(spec: EntitySpec, bound: BoundKey, names: Mapping[str, str]) -> tuple[tuple[str, Form], ...]:
    """What an index's key makes, but for attributes of the primary key, which is told of by itself."""
    own = _own_names(spec, bound)
    return tuple(
        (part.attribute, attribute_form(spec, part, names)) for part in bound.attributes if part.attribute in own
    )


def already_stored(pair: Entities, bound: BoundKey) -> bool:
    """Whether stored items have an index's key as the new design makes it, and just those that are to be in it."""
    return all(_is_stored(pair, bound, part) for part in bound.attributes)


def _is_stored(pair: Entities, bound: BoundKey, part: KeyAttribute) -> bool:
    if part.attribute in pair.old.schema.key and part.attribute in pair.new.schema.key:
        return True  # every item has it; that it is another is told of as the primary key's change
    made, names = [one for one in _kept_attributes(pair.old, bound) if one.attribute == part.attribute], key_names(pair)
    form = attribute_form(pair.new, part, names)
    return any(agree(attribute_form(pair.old, before, {}), form) for before in made)


def lacking_attributes(pair: Entities, bound: BoundKey) -> list[str]:
    """The attributes of an index's key that stored items lack; one of another type is told of as a field."""
    return [
        part.attribute
        for part in bound.attributes
        if not _is_stored(pair, bound, part) and (part.field is None or not _is_field_of(pair.old, part.attribute))
    ]


def _is_field_of(spec: EntitySpec, attribute: str) -> bool:
    return any(stored.attribute == attribute for stored in _attributes(spec))


def _attributes(spec: EntitySpec) -> Iterator[StoredField]:
    """The fields that items have as attributes; others are in the text of their key only."""
    hidden = spec.is_in_key_only
    return (stored for name, stored in spec.fields.items() if name not in hidden)


def _kept_attributes(spec: EntitySpec, bound: BoundKey) -> Iterator[KeyAttribute]:
    """Fields and parts of keys as stored items have them; of keys of indexes those under the same condition."""
    condition = condition_form(bound.when)
    if condition is None:
        yield from (KeyAttribute(stored.attribute, field=stored) for stored in _attributes(spec))
        yield from spec.key.attributes
    for one in spec.indexes:
        if condition_form(one.when) == condition:
            yield from one.attributes


def never_stored(pair: Entities, bound: BoundKey) -> bool:
    """Whether no stored item can be in an index: its key is made of a field that is new, and has no value in them."""
    names = field_names(pair.old, pair.new)
    return any(name not in names and pair.new.fields[name].optional for name in bound.fields)


def own_attributes(pair: Entities, bound: BoundKey) -> list[str]:
    """Attributes of a key that nothing but it writes."""
    kept = {stored.attribute for stored in _attributes(pair.new)}
    kept |= {part.attribute for one in (pair.new.key, *pair.new.indexes) for part in one.attributes}
    return [part.attribute for part in bound.attributes if part.attribute not in kept]


def _enters(pair: Entities, now: BoundIndexKey) -> Change:
    name = now.index.name
    what = f"{pair.new.name} is in index {name} now: {now.text}"
    how = f"Stored items have no key there, and are missing from what {name} answers until they get one."
    own = _own_names(pair.new, now)
    written = unsaid(pair, own)
    steps = staged(
        write=written and f"a version that writes {written} of {pair.new.name}",
        backfill=written and f"set {written} of every stored {pair.new.name}",
        read=f"the new version, which reads {pair.new.name} by {name}",
    )
    return _index_change(pair, now, None, what=what, how=how, steps=steps, attributes=own)


def _leaves(pair: Entities, was: BoundIndexKey) -> Change:
    gone = own_attributes(pair, was)
    what = f"{pair.new.name} is in index {was.index.name} no more"
    how = f"Stored items keep {', '.join(gone)}, and their entries there, as they were last written."
    steps = staged(
        accept=f"a version that reads {pair.new.name} by {was.index.name} no more, and still writes {', '.join(gone)}",
        write=f"a version that writes {', '.join(gone)} of {pair.new.name} no more",
        backfill=f"remove {', '.join(gone)} from every stored {pair.new.name}",
    )
    return _index_change(pair, None, was, what=what, how=how, steps=steps, attributes=gone)


def _index_key(pair: Entities, was: BoundIndexKey, now: BoundIndexKey) -> Change:
    name, index = pair.new.name, now.index.name
    made = _made_otherwise(pair, was, now)
    before, after = (text_of(part for part in one.attributes if part.attribute in made) for one in (was, now))
    if before != after:
        what = f"the key of {name} in index {index} is {after}, and was {before}"
    elif made:
        what = f"what {', '.join(made)} of {name} in index {index} is made of is another"
    else:
        what = f"who of {name} is in index {index} is another"
    entering = condition_form(was.when) != condition_form(now.when)
    written = _own_names(pair.new, now) if entering else made
    if entering and made:
        what += ", and so is who is in it"
    how = f"Stored items keep the old key: reads of {index} by the new one do not find them."
    if not made:
        how = f"Stored items are in {index}, or are not, as they were last written."
    steps = staged(
        accept=f"a version that reads {name} in {index} by the old keys and the new, and writes the old",
        write=f"a version that writes the new keys of {name} in {index}",
        backfill=f"set {', '.join(written)} of every stored {name} anew",
        read=f"the new version, which reads {name} in {index} by the new keys only",
    )
    return _index_change(pair, now, was, what=what, how=how, steps=steps, attributes=written)


def _made_otherwise(pair: Entities, was: BoundIndexKey, now: BoundIndexKey) -> list[str]:
    """The attributes of an index's key, beside the primary key's, that are made of something else."""
    old, new = (dict(form) for form in (_own_form(pair.old, was, {}), _own_form(pair.new, now, key_names(pair))))
    return [name for name, form in new.items() if name not in old or not agree(old[name], form)]


def _index_change(
    pair: Entities,
    now: BoundIndexKey | None,
    was: BoundIndexKey | None,
    *,
    what: str,
    how: str,
    steps: tuple[Step, ...],
    attributes: Iterable[str],
) -> Change:
    bound = now if now is not None else was
    assert bound is not None, "one of them is given"
    name = bound.index.name
    work = Rewrite(pair.old, pair.new, attributes=frozenset(attributes), indexes=frozenset({name}))
    place = now.place if now is not None else pair.new.place
    other = was.place if was is not None else pair.old.place
    facts = {"index": name}
    return Change("key changed", "backfill", pair.table, pair.new.name, what, how, place, other, work, steps, facts)


def _own_names(spec: EntitySpec, bound: BoundKey) -> list[str]:
    """The attributes of an index's key that are not the table's."""
    return [part.attribute for part in bound.attributes if part.attribute not in spec.schema.key]


def unsaid(pair: Entities, attributes: Iterable[str]) -> str:
    """Of attributes of an index's key those of which no change of a field says that they are written."""
    told_of = rewritten_attributes(pair)
    return ", ".join(name for name in attributes if name not in told_of)
