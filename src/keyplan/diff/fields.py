"""Changes to the fields of an entity, with their effects on stored items and on the running version of the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from keyplan.cost.selectivity import shares_of
from keyplan.design.entities import EntitySpec
from keyplan.design.errors import Place
from keyplan.design.fields.annotations import plain_value
from keyplan.design.fields.stored import StoredField
from keyplan.diff.changes import DesignChange, ItemRewrite, Kind, RolloutStep, Verdict, form_steps
from keyplan.diff.matching import attribute_form, find_counterparts, same_encoding
from keyplan.diff.types import Loss, added_validators, is_absent, losses, name_of, parts_of


def present_share(spec: EntitySpec, field: str) -> float:
    """Return the declared share of items that have a field, or 1 if it is not declared."""
    return 1.0 if spec.volume is None else spec.volume.present.get(field, 1.0)


def missing_share(spec: EntitySpec, old: StoredField, new: StoredField, count: int) -> float:
    """Return the share of items in which a required field, or a required attribute of a map in that field, is missing.

    `count` is the number of required attributes that can be missing, including the field itself.
    """
    share = None if spec.volume is None else spec.volume.present.get(old.name)
    may_be_absent = is_absent(old, new)
    if share is None or (may_be_absent and count > 1):
        return 1.0
    return 1 - share if may_be_absent else share


def removed_share(spec: EntitySpec, field: str, field_losses: Sequence[Loss]) -> float | None:
    """Return the share of items in which the new type rejects the value of a field.

    `field_losses` are the reasons why the new type rejects values. Return None unless every reason is the removal of
    choices and the design declares the share of each value.
    """
    shares = shares_of(spec, field, None)
    if shares is None or not all(loss.values for loss in field_losses):
        return None
    removed = {plain_value(value) for loss in field_losses for value in loss.values}
    return present_share(spec, field) * sum(shares.get(value, 0.0) for value in removed)


@dataclass(frozen=True)
class EntityPair:
    """The same entity in the old and the new design."""

    old: EntitySpec
    new: EntitySpec
    drops_unknown: tuple[str, ...] = ()
    """The names of the patterns in the old design that put whole items. While both versions run, such a write by the
    old version removes the attributes that only the new version knows.
    """

    @property
    def table(self) -> str:
        """Return the name of the entity's table in the new design."""
        return self.new.schema.name


def field_names(old: EntitySpec, new: EntitySpec) -> dict[str, str]:
    """Map the new name of each field that exists in both designs to its old name.

    A field exists in both designs if its name or its attribute is the same.
    """
    attributes = {field.attribute: name for name, field in old.fields.items()}
    names = {name: name for name in new.fields if name in old.fields}
    for name, field in new.fields.items():
        old_name = attributes.get(field.attribute)
        if name not in names and old_name is not None and old_name not in new.fields:
            names[name] = old_name
    return names


def field_changes(pair: EntityPair) -> Iterator[DesignChange]:
    """Yield a change for each field that is added, removed or changed, and for added validators."""
    names = field_names(pair.old, pair.new)
    for name, old_name in names.items():
        yield from _field_changes(pair, pair.old.fields[old_name], pair.new.fields[name])
    counterparts = _counterparts(pair)
    for name, field in pair.new.fields.items():
        if name not in names:
            yield _field_added(pair, field, counterparts.get(name))
    for name, field in pair.old.fields.items():
        if name not in names.values():
            yield _field_removed(pair, field)
    for loss in added_validators(pair.old.model, pair.new.model):
        yield _validator_added(pair, loss)


def rewritten_attributes(pair: EntityPair) -> set[str]:
    """Return the attributes that must be rewritten in stored items because of changes to fields."""
    rewrites = [change.migration for change in field_changes(pair) if isinstance(change.migration, ItemRewrite)]
    return {attribute for rewrite in rewrites for attribute in rewrite.attributes}


def _counterparts(pair: EntityPair) -> dict[str, StoredField]:
    """Return a mapping from the name of each added field to the removed field with the same type. An added field is
    omitted if it does not have exactly one such counterpart.

    Key fields that were only renamed are not included.
    """
    names = key_names(pair)
    old = [field for name, field in pair.old.fields.items() if name not in names.values()]
    new = [field for name, field in pair.new.fields.items() if name not in names]
    return find_counterparts(old, new, lambda field: (field.type_code, field.stored, name_of(field.info.annotation)))


def _field_changes(pair: EntityPair, old: StoredField, new: StoredField) -> Iterator[DesignChange]:
    path = f"{pair.new.name}.{new.name}"
    if old.attribute != new.attribute:
        yield _attribute_changed(pair, old, new)
        return
    forward, backward = losses(old, new), losses(new, old)
    yield from _loss_changes(pair, old, new, forward, is_read=not backward)
    if backward and not forward:
        summary = f"{path} accepts values that the old version cannot read: {backward[0].text}"
        attribute = f"{new.attribute} of {pair.new.name}"
        steps = form_steps(
            accept=f"a version that also reads {attribute} in the new form, and writes the old form",
            read=f"the new version, which writes {attribute} in the new form",
        )
        yield _change(pair, "field changed", "code", new.name, summary=summary, effects=_READERS_FIRST, steps=steps)
    elif old.name != new.name:
        summary = f"{pair.old.name}.{old.name} was renamed to {new.name}, and is still stored as {new.attribute}"
        yield _change(pair, "field changed", "code", new.name, summary=summary, effects="Stored items do not change.")
    elif old.write_time != new.write_time:
        summary = f"{path} is now {_set_by(new)}, instead of {_set_by(old)}"
        effects = "Stored items keep their value." + (
            f" While the old version runs, its writes do not set {new.name}." if new.write_time else ""
        )
        yield _change(pair, "field changed", "code", new.name, summary=summary, effects=effects)
    elif not forward and (parts := _parts(old, new)):
        yield _change(pair, "field changed", "code", new.name, summary=f"{path} {parts}", effects=_PARTS)
    elif not forward and _default(old) != _default(new):
        summary = f"the default of {path} changed from {_default(old)} to {_default(new)}"
        consequence = "cannot be read" if new.is_needed else f"are read with {_default(new)}"
        effects = f"Stored items keep their value; items without one {consequence}."
        yield _change(pair, "field changed", "code", new.name, summary=summary, effects=effects)


def _parts(old: StoredField, new: StoredField) -> str:
    """Return text for a message that lists the attributes that were added to, or removed from, the maps within a field.
    Return an empty string if the maps have the same attributes in both designs.
    """
    old_parts, new_parts = (dict.fromkeys(parts_of(field.info.annotation)) for field in (old, new))
    texts = {
        "gained parts": [name for name in new_parts if name not in old_parts],
        "lost parts": [name for name in old_parts if name not in new_parts],
    }
    return ", ".join(f"{word} {', '.join(names)}" for word, names in texts.items() if names)


def _set_by(field: StoredField) -> str:
    return "set by programs" if field.write_time is None else f"set to the time when the item was {field.write_time}"


def _default(field: StoredField) -> str:
    if field.info.is_required():
        return "none"
    factory, default = field.info.default_factory, field.info.default
    if factory is not None:
        return f"{getattr(factory, '__qualname__', 'factory')}()"
    return repr(default.value if isinstance(default, Enum) else default)


def _loss_changes(
    pair: EntityPair, old: StoredField, new: StoredField, removed: list[Loss], *, is_read: bool
) -> Iterator[DesignChange]:
    """Yield up to three changes for a field whose stored values might be unreadable in the new design.

    They are a change for a different type, a change for missing values, and a change for values that the new design
    rejects. `removed` contains the reasons why values might be unreadable. `is_read` is True if the old version of the
    program can read items that the new version writes.
    """
    path = f"{pair.new.name}.{new.name}"
    by_kind = {kind: [loss for loss in removed if loss.kind in kinds] for kind, kinds in _KINDS.items()}
    texts = {kind: "; ".join(loss.text for loss in group) for kind, group in by_kind.items()}
    if by_kind["type changed"]:
        effects = "Stored items have the old form until they are rewritten; conditions and keys compare it."
        summary = f"the type of {path} changed: {texts['type changed']}"
        share = present_share(pair.old, old.name)
        yield _rewrite_change(pair, "type changed", new, summary, effects, share=share, is_read=False)
    if by_kind["field missing"]:
        share = missing_share(pair.old, old, new, len(by_kind["field missing"]))
        summary = f"{path}: {texts['field missing']}"
        yield _rewrite_change(pair, "field missing", new, summary, _UNREADABLE, share=share, is_read=is_read)
    if by_kind["values narrowed"]:
        narrowed_share = removed_share(pair.old, old.name, by_kind["values narrowed"])
        change = _values_narrowed(
            pair, old, new, f"{path}: {texts['values narrowed']}", narrowed_share, is_read=is_read
        )
        if (by_kind["type changed"] or by_kind["field missing"]) and old.name not in pair.old.key.fields:
            change = replace(change, steps=())  # the change above rewrites every item
        yield change


_KINDS: dict[Kind, tuple[str, ...]] = {
    "type changed": ("type",),
    "field missing": ("missing",),
    "values narrowed": ("gone", "narrowed"),
}


def _values_narrowed(
    pair: EntityPair, old: StoredField, new: StoredField, summary: str, share: float | None, *, is_read: bool
) -> DesignChange:
    """Return a change for stored values that the new design rejects. `share` is the share of items with such values, or
    None if it is unknown.

    `is_read` is True if the old version of the program can read items that the new version writes.
    """
    if share == 0:
        effects = "The old design declares that no item has them."
        return _change(pair, "values narrowed", "code", new.name, summary=summary, effects=effects)
    attribute, is_rekeyed = f"{new.attribute} of {pair.new.name}", old.name in pair.old.key.fields
    replacement = "put the item under another key and delete it under the old one, in one transaction"
    steps = form_steps(
        accept="" if is_read else f"a version that reads old and new values of {attribute}, and writes old ones",
        write=f"a version that writes only values of {attribute} that the new version accepts, and reads all",
        backfill=f"find stored items with other values of {attribute}: {replacement if is_rekeyed else 'rewrite each'}",
        operation="TransactWriteItems" if is_rekeyed else "UpdateItem",
        read=f"the new version, which reads {attribute} only in the new form",
    )
    if share is None:
        return _change(pair, "values narrowed", "code", new.name, summary=summary, effects=_REFUSED, steps=steps)
    indexes = frozenset(bound.index.name for bound in pair.old.indexes if old.name in bound.depends_on)
    migration = ItemRewrite(
        pair.old, pair.new, rekeyed=is_rekeyed, attributes=frozenset({new.attribute}), indexes=indexes,
        sentinels=len(pair.old.sentinels) if is_rekeyed else 0, share=share,
    )  # fmt: skip
    return _change(
        pair,
        "values narrowed",
        "backfill",
        new.name,
        summary=summary,
        effects=_REFUSED,
        migration=migration,
        steps=steps,
    )


def _validator_added(pair: EntityPair, loss: Loss) -> DesignChange:
    name = pair.new.name
    steps = form_steps(
        write=f"a version that writes only values that the new validators of {name} accept, and reads all",
        backfill=f"find every stored {name} that they reject, and rewrite it",
        read=f"the new version, which reads {name} with its new validators",
    )
    return _change(pair, "values narrowed", "code", name, summary=loss.text, effects=_REFUSED, steps=steps)


def _field_added(pair: EntityPair, new: StoredField, counterpart: StoredField | None) -> DesignChange:
    """Return a change for an added field. `counterpart` is a removed field of the same type, which may be the same
    field under its old name. It is None if no such field exists.
    """
    hint = ""
    if counterpart is not None:
        hint = (
            f" If this is {counterpart.name} renamed, add Attribute({counterpart.attribute!r}) to its annotation"
            " to keep the"
            " stored attribute."
        )
    path = f"{pair.new.name}.{new.name}"
    if new.name in _names_in_keys(pair):
        summary, effects = f"{path} was added", "It is read from the keys of stored items."
        return _change(pair, "field changed", "code", new.name, summary=summary, effects=effects)
    if new.is_needed:
        summary = f"{path} was added and is required: no stored item has it"
        return _rewrite_change(pair, "field missing", new, summary, _UNREADABLE + hint, is_read=True)
    effects = f"Stored items are read with {'None' if new.optional else _default(new)}; conditions see it as missing."
    steps: tuple[RolloutStep, ...] = ()
    if pair.drops_unknown:
        effects += (
            f" While the old version runs, its {_names_text(pair.drops_unknown)} put whole items without the field."
        )
        steps = form_steps(
            accept=f"a version that keeps {new.attribute} of {pair.new.name} if an item has it",
            read=f"the new version, which writes {new.attribute} of {pair.new.name}",
        )
    return _change(
        pair, "field changed", "code", new.name, summary=f"{path} was added", effects=effects + hint, steps=steps
    )


def _names_in_keys(pair: EntityPair) -> set[str]:
    """Return the fields of the new design that can be parsed from the primary keys of stored items, because the form of
    the keys does not change.
    """
    names: set[str] = set()
    for before, after in zip(pair.old.key.attributes, pair.new.key.attributes, strict=False):
        positions = dict(zip(after.fields, before.fields, strict=False))
        is_same = same_encoding(attribute_form(pair.old, before, {}), attribute_form(pair.new, after, positions))
        if is_same and after.template is not None and after.template.reversible:
            names.update(after.template.fields)
    return names


def key_names(pair: EntityPair) -> dict[str, str]:
    """Map the new name of each field that exists in both designs to its old name. Renamed key fields are included.

    A removed field and an added field at the same position of the primary key are assumed to be one renamed field.
    """
    names = field_names(pair.old, pair.new)
    for before, after in zip(pair.old.key.attributes, pair.new.key.attributes, strict=False):
        for old_name, new_name in zip(before.fields, after.fields, strict=False):
            if old_name not in pair.new.fields and new_name not in pair.old.fields and new_name not in names:
                names[new_name] = old_name
    return names


def _field_removed(pair: EntityPair, old: StoredField) -> DesignChange:
    summary = f"{pair.old.name}.{old.name} was removed, and stored items keep its attribute {old.attribute}"
    effects = "It is no longer read. A write of the whole item drops it, an update keeps it."
    steps: tuple[RolloutStep, ...] = ()
    if old.is_needed:
        effects += " The old version cannot read items without it."
        steps = form_steps(
            accept=f"a version that can read {pair.new.name} without {old.attribute}, but still writes it",
            read=f"the new version, which no longer writes {old.attribute} of {pair.new.name}",
        )
    place = _field_place(pair.old, old.name)
    return _change(
        pair, "field removed", "code", old.name, summary=summary, effects=effects, place=place, old=True, steps=steps
    )


def _attribute_changed(pair: EntityPair, old: StoredField, new: StoredField) -> DesignChange:
    name = pair.new.name
    summary = f"{name}.{new.name} is now stored as {new.attribute} instead of {old.attribute}"
    effects = (
        _UNREADABLE if new.is_needed else "Until they are rewritten, stored items are read as if they had no value."
    )
    steps = form_steps(
        accept=f"a version that reads {new.attribute} and {old.attribute} of {name}, and writes {old.attribute}",
        write=f"a version that writes {new.attribute} of {name}",
        backfill=f"set {new.attribute} of every stored {name} to its {old.attribute}, and remove {old.attribute}",
        read=f"the new version, which reads only {new.attribute} of {name}",
    )
    attributes = frozenset({old.attribute, new.attribute})
    migration = ItemRewrite(pair.old, pair.new, attributes=attributes, share=present_share(pair.old, old.name))
    return _change(
        pair, "field missing", "backfill", new.name, summary=summary, effects=effects, migration=migration, steps=steps
    )


def _rewrite_change(
    pair: EntityPair, kind: Kind, new: StoredField, summary: str, effects: str, *, share: float = 1.0, is_read: bool
) -> DesignChange:
    """Return a change to a field that requires rewriting a share of the stored items.

    `is_read` is True if the old version of the program can read items that the new version writes.
    """
    attribute = f"{new.attribute} of {pair.new.name}"
    steps = form_steps(
        accept="" if is_read else f"a version that reads {attribute} in both forms, and writes the old form",
        write=f"a version that writes {attribute} in the new form, and reads both",
        backfill=f"rewrite {new.attribute} of every stored {pair.new.name}",
        read=f"the new version, which reads {attribute} only in the new form",
    )
    migration = ItemRewrite(pair.old, pair.new, attributes=frozenset({new.attribute}), share=share)
    return _change(pair, kind, "backfill", new.name, summary=summary, effects=effects, migration=migration, steps=steps)


def _change(
    pair: EntityPair,
    kind: Kind,
    verdict: Verdict,
    field: str,
    *,
    summary: str,
    effects: str,
    place: Place | None = None,
    old: bool = False,
    migration: ItemRewrite | None = None,
    steps: tuple[RolloutStep, ...] = (),
) -> DesignChange:
    """Return a change to the field with the name `field`. If `old` is True, the field exists only in the old design."""
    new_place = pair.new.place if old or field not in pair.new.fields else _field_place(pair.new, field)
    old_place = place if place is not None else _old_place(pair, field)
    return DesignChange(
        kind, verdict, pair.table, pair.new.name, summary, effects, new_place, old_place, migration, steps
    )


def _old_place(pair: EntityPair, field: str) -> Place:
    old_name = field_names(pair.old, pair.new).get(field)
    return pair.old.place if old_name is None else _field_place(pair.old, old_name)


def _field_place(spec: EntitySpec, name: str) -> Place:
    return spec.place.at(f"{name}:", width=len(name))


def _names_text(names: tuple[str, ...]) -> str:
    return " and ".join(names)


_UNREADABLE = "The new version cannot read stored items until they are rewritten."
_REFUSED = "Stored items with such values cannot be read: find them before you deploy the new version."
_PARTS = "Stored items can be read, and keep their parts until they are written again."
_READERS_FIRST = (
    "Stored items can be read. The running version cannot read new values: deploy a version that can to every"
    " reader before the first one is written."
)
