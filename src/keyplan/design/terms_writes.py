"""What the body of a read by key or of a write returns: a key, changes, conditions, joined by &."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Never

from keyplan.design.conditions import Condition, Path
from keyplan.design.places import DesignError, Place, caller
from keyplan.design.symbols import Source
from keyplan.design.terms_joining import all_named, both, condition_of, merged, no_truth, not_joined, once, places, said

ActionName = Literal["set", "set_if_missing", "remove", "add", "append", "add_to_set", "remove_from_set"]


@dataclass(frozen=True, eq=False)
class Action:
    """One change of a field, or of what lies in it."""

    name: ActionName
    path: Path
    source: Source = None
    negative: bool = False
    """Of an addition: whether the value is taken away."""

    @property
    def word(self) -> str:
        """What the pattern calls it."""
        return "subtract" if self.negative else self.name


@dataclass(frozen=True, eq=False)
class Change:
    """What a write does: to which key, which changes, under which condition."""

    key: dict[str, Source] = field(default_factory=dict)
    actions: tuple[Action, ...] = ()
    condition: Condition | None = None
    version: Source = None
    known: dict[str, Source] = field(default_factory=dict)
    item: Source = None
    replace_when: Condition | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    """Where each field is named."""

    def __and__(self, other: Change) -> Change:
        if not isinstance(other, Change):
            not_joined("writes", other)
        once(self.item is not None and other.item is not None, "item")
        once(self.version is not None and other.version is not None, "version")
        return Change(
            merged(self.key, other.key),
            (*self.actions, *other.actions),
            both(self.condition, other.condition),
            self.version if other.version is None else other.version,
            merged(self.known, other.known),
            self.item if other.item is None else other.item,
            both(self.replace_when, other.replace_when),
            {**other.places, **self.places},
        )

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        no_truth()

    def __repr__(self) -> str:
        told = [f"key_of({said(self.key)})"] if self.key else []
        if self.item is not None:
            told.append(f"put({self.item!r})")
        told += [f"{action.word} {action.path!r}" for action in self.actions]
        if self.known:
            told.append(f"known({said(self.known)})")
        if self.version is not None:
            told.append(f"at_version({self.version!r})")
        if self.condition is not None:
            told.append("when(...)")
        return " & ".join(told) or "no change"


class Key(Change):
    """Which item: every field of its primary key."""


def key_of(*unnamed: Never, **fields: object) -> Key:
    """The item with these fields in its primary key; in batches one of them may be each(...)."""
    all_named("key_of", unnamed)
    return Key(key=dict(fields), places=places(fields))


def put(item: object, *, replace_when: Condition | None = None) -> Change:
    """The whole item. In a create: an item that is there is replaced if this is true of it."""
    return Change(item=item, replace_when=replace_when)


def _actions(name: ActionName, fields: dict[str, object], *, negative: bool = False) -> Change:
    here = caller()
    return Change(actions=tuple(Action(name, Path(one, place=here), value, negative) for one, value in fields.items()))


def set_(**fields: object) -> Change:
    """Set fields; None removes one."""
    return _actions("set", fields)


def set_if_missing(**fields: object) -> Change:
    """Set fields that the item does not have yet."""
    return _actions("set_if_missing", fields)


def remove(*fields: str) -> Change:
    """Remove fields."""
    here = caller()
    for name in fields:
        if not isinstance(name, str):
            raise DesignError(f"remove is given {name!r}", place=here, fix='name the field: remove("due_at")')
    return Change(actions=tuple(Action("remove", Path(name, place=here)) for name in fields))


def add(**fields: object) -> Change:
    """Add to numbers, atomically; one that is not there counts as 0."""
    return _actions("add", fields)


def subtract(**fields: object) -> Change:
    """Take away from numbers, atomically; one that is not there counts as 0."""
    return _actions("add", fields, negative=True)


def append(**fields: object) -> Change:
    """Append to lists; one that is not there counts as empty."""
    return _actions("append", fields)


def add_to_set(**fields: object) -> Change:
    """Add members to sets."""
    return _actions("add_to_set", fields)


def remove_from_set(**fields: object) -> Change:
    """Take members out of sets."""
    return _actions("remove_from_set", fields)


def set_at(path: Path, value: object) -> Change:
    """Set what lies in a field: set_at(F.answers["technical"], 3). The map or list must be there."""
    return Change(actions=(Action("set", _path("set_at", path), value),))


def add_at(path: Path, value: object) -> Change:
    """Add to a number that lies in a map: add_at(F.answers[category], 1). The map must be there."""
    return Change(actions=(Action("add", _path("add_at", path), value),))


def subtract_at(path: Path, value: object) -> Change:
    """Take away from a number that lies in a map: subtract_at(F.votes[choice], 1). The map must be there."""
    return Change(actions=(Action("add", _path("subtract_at", path), value, negative=True),))


def remove_at(path: Path) -> Change:
    """Remove what lies in a field."""
    return Change(actions=(Action("remove", _path("remove_at", path)),))


def _path(word: str, path: object) -> Path:
    """Refuse what leads to nothing."""
    if not isinstance(path, Path):
        raise DesignError(
            f"{word} is given {path!r}, which leads to nothing", place=caller(), fix=f"write {word}(F.field[...])"
        )
    return path


def when(condition: Condition) -> Change:
    """Only if this is true of the item as it is."""
    return Change(condition=condition_of(condition, "when"))


def at_version(version: object) -> Change:
    """Only if the item's version is this one: optimistic locking."""
    return Change(version=version)


def known(**fields: object) -> Change:
    """Fields whose stored values the caller knows, for index keys made of them.

    The write fails if the item holds other values, so an index key made of them cannot be wrong.
    """
    return Change(known=dict(fields), places=places(fields))
