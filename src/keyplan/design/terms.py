"""What the body of a pattern returns: keys, ranges, filters, changes and conditions, joined by &."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from keyplan.design.conditions import Condition, Path
from keyplan.design.places import DesignError, Place, caller
from keyplan.design.symbols import Source

RangeOp = Literal["<", "<=", ">", ">=", "between", "begins_with"]
TextOp = Literal["=", "<", "<=", ">", ">=", "between", "begins_with"]


@dataclass(frozen=True, eq=False)
class Range:
    """A range over one field of a sort key."""

    op: RangeOp
    field: str
    low: Source
    high: Source = None


@dataclass(frozen=True, eq=False)
class KeyWords:
    """A key condition as it is written out, its holes the pattern's parameters."""

    op: TextOp
    low: str
    high: str | None = None


@dataclass(frozen=True, eq=False)
class Cond:
    """What a read asks for: fields of the key, a range, a filter."""

    partition: dict[str, Source] = field(default_factory=dict)
    sort: dict[str, Source] = field(default_factory=dict)
    range: Range | None = None
    partition_text: str | None = None
    sort_text: KeyWords | None = None
    filter: Condition | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    """Where each field is named."""

    def __and__(self, other: Cond) -> Cond:
        if not isinstance(other, Cond):
            _not_joined(self, other)
        _once(self.range and other.range, "range over the sort key")
        _once(self.sort_text and other.sort_text, "text of the sort key")
        _once(self.partition_text and other.partition_text, "text of the partition key")
        return Cond(
            _merged(self.partition, other.partition),
            _merged(self.sort, other.sort),
            self.range or other.range,
            self.partition_text or other.partition_text,
            self.sort_text or other.sort_text,
            _both(self.filter, other.filter),
            {**other.places, **self.places},
        )

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        _no_truth()

    def __repr__(self) -> str:
        told = []
        if self.partition or self.partition_text:
            told.append(f"pk({_said(self.partition)})" if self.partition else f"pk.text({self.partition_text!r})")
        if self.sort:
            told.append(f"sk({_said(self.sort)})")
        if self.range is not None or self.sort_text is not None:
            told.append(f"sk.{_RANGES[self.range.op]}({self.range.field}=...)" if self.range else "sk.text(...)")
        if self.filter is not None:
            told.append("where(...)")
        return " & ".join(told) or "everything()"


_RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "between": "between", "begins_with": "begins_with"}


def _said(fields: Mapping[str, Source]) -> str:
    return ", ".join(f"{name}={source!r}" for name, source in fields.items())


def _no_truth() -> NoReturn:
    raise DesignError(
        "a pattern's terms have no truth value",
        place=caller(),
        fix="join them with & instead of and; for what or and not are to say, declare a pattern for each case",
    )


def _not_joined(one: Cond | Change, other: object) -> NoReturn:
    """Refuse what is neither of the same kind nor a term at all."""
    word = "where" if isinstance(one, Cond) else "when"
    if isinstance(other, Condition):
        raise DesignError(
            "a condition on fields is joined to terms as it is", place=caller(), fix=f"wrap it: {word}(F.field == ...)"
        )
    kind = "reads" if isinstance(one, Cond) else "writes"
    raise DesignError(
        f"{other!r} is joined to the terms of a pattern that {kind}",
        place=caller(),
        fix="join pk(...), sk(...) and where(...) in reads, key_of(...), set_(...), when(...) and the like in writes",
    )


def _once(twice: object, what: str) -> None:
    if twice:
        raise DesignError(f"the pattern says its {what} twice", place=caller(), fix="keep one: a key condition has one")


def _merged(one: dict[str, Source], other: dict[str, Source]) -> dict[str, Source]:
    for name in other:
        if name in one:
            raise DesignError(f"the pattern says {name} twice", place=caller(), fix="say it once")
    return {**one, **other}


def _both(one: Condition | None, other: Condition | None) -> Condition | None:
    return other if one is None else one if other is None else one & other


class _Partition:
    """`pk(user_id=user_id)`: the fields of the partition key."""

    def __call__(self, **fields: object) -> Cond:
        return Cond(partition=dict(fields), places=_places(fields))

    def text(self, words: str) -> Cond:
        """The partition key as it is written out: pk.text("USER#{user_id}"), holes being parameters."""
        return Cond(partition_text=words)


class _Sort:
    """`sk(status="open")`: leading fields of the sort key that are equal; `sk.lt(due_at=before)`: a range."""

    def __call__(self, **fields: object) -> Cond:
        return Cond(sort=dict(fields), places=_places(fields))

    def lt(self, **bound: object) -> Cond:
        """A field of the sort key is below a value."""
        return _ranged("<", bound)

    def lte(self, **bound: object) -> Cond:
        """A field of the sort key is at most a value."""
        return _ranged("<=", bound)

    def gt(self, **bound: object) -> Cond:
        """A field of the sort key is above a value."""
        return _ranged(">", bound)

    def gte(self, **bound: object) -> Cond:
        """A field of the sort key is at least a value."""
        return _ranged(">=", bound)

    def begins_with(self, **prefix: object) -> Cond:
        """A field of the sort key begins with a text."""
        return _ranged("begins_with", prefix)

    def between(self, **bounds: tuple[object, object]) -> Cond:
        """A field of the sort key is from a value to another, both included: sk.between(due=(start, end))."""
        ((name, pair),) = _one(bounds).items()
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DesignError(
                f"between takes both ends of {name}", place=caller(), fix=f"write sk.between({name}=(low, high))"
            )
        return Cond(range=Range("between", name, *pair), places=_places(bounds))

    def text(self, op: TextOp, low: str, high: str | None = None) -> Cond:
        """The sort key's condition as it is written out: sk.text("begins_with", "TASK#"), holes being parameters."""
        return Cond(sort_text=KeyWords(op, low, high))


def _places(names: Mapping[str, object]) -> dict[str, Place]:
    return dict.fromkeys(names, caller()) if names else {}


def _one(bounds: dict[str, Any]) -> dict[str, Any]:
    if len(bounds) != 1:
        raise DesignError(
            f"a range is over one field, not over {', '.join(bounds) or 'none'}",
            place=caller(),
            fix="name the leading fields that are equal with sk(...), and the one that varies in the range",
        )
    return bounds


def _ranged(op: RangeOp, bound: dict[str, object]) -> Cond:
    ((name, value),) = _one(bound).items()
    return Cond(range=Range(op, name, value), places=_places(bound))


pk = _Partition()
sk = _Sort()


def where(condition: Condition) -> Cond:
    """Of what the key finds, only items of which this is true. They are read, and paid for, all the same."""
    return Cond(filter=_condition(condition, "where"))


def _condition(condition: Condition, word: str) -> Condition:
    if not isinstance(condition, Condition):
        raise DesignError(
            f"{word}({condition!r}) is no condition on fields",
            place=caller(),
            fix=f"write {word}(F.field == value), or another comparison of F.field",
        )
    return condition


# Changes.

ActionName = Literal["set", "set_if_missing", "remove", "add", "append", "add_to_set", "remove_from_set"]


@dataclass(frozen=True, eq=False)
class Action:
    """One change of a field, or of what lies in it."""

    name: ActionName
    path: Path
    source: Source = None


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
            _not_joined(self, other)
        _once(self.item is not None and other.item is not None, "item")
        _once(self.version is not None and other.version is not None, "version")
        return Change(
            _merged(self.key, other.key),
            (*self.actions, *other.actions),
            _both(self.condition, other.condition),
            self.version if other.version is None else other.version,
            _merged(self.known, other.known),
            self.item if other.item is None else other.item,
            _both(self.replace_when, other.replace_when),
            {**other.places, **self.places},
        )

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        _no_truth()

    def __repr__(self) -> str:
        told = [f"key_of({_said(self.key)})"] if self.key else []
        if self.item is not None:
            told.append(f"put({self.item!r})")
        told += [f"{action.name} {action.path!r}" for action in self.actions]
        if self.known:
            told.append(f"known({_said(self.known)})")
        if self.version is not None:
            told.append(f"at_version({self.version!r})")
        if self.condition is not None:
            told.append("when(...)")
        return " & ".join(told) or "no change"


class Key(Change):
    """Which item: every field of its primary key."""


def key_of(**fields: object) -> Key:
    """The item with these fields in its primary key; in batches one of them may be each(...)."""
    return Key(key=dict(fields), places=_places(fields))


def put(item: object, *, replace_when: Condition | None = None) -> Change:
    """The whole item. In a create: an item that is there is replaced if this is true of it."""
    return Change(item=item, replace_when=replace_when)


def _actions(name: ActionName, fields: dict[str, object]) -> Change:
    here = caller()
    return Change(actions=tuple(Action(name, Path(one, place=here), value) for one, value in fields.items()))


def set_(**fields: object) -> Change:
    """Set fields; None removes one."""
    return _actions("set", fields)


def set_if_missing(**fields: object) -> Change:
    """Set fields that the item does not have yet."""
    return _actions("set_if_missing", fields)


def remove(*fields: str) -> Change:
    """Remove fields."""
    here = caller()
    return Change(actions=tuple(Action("remove", Path(name, place=here)) for name in fields))


def add(**fields: object) -> Change:
    """Add to numbers, atomically; one that is not there counts as 0."""
    return _actions("add", fields)


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
    return Change(actions=(Action("set", path, value),))


def add_at(path: Path, value: object) -> Change:
    """Add to a number that lies in a map: add_at(F.answers[category], 1). The map must be there."""
    return Change(actions=(Action("add", path, value),))


def remove_at(path: Path) -> Change:
    """Remove what lies in a field."""
    return Change(actions=(Action("remove", path),))


def when(condition: Condition) -> Change:
    """Only if this is true of the item as it is."""
    return Change(condition=_condition(condition, "when"))


def at_version(version: object) -> Change:
    """Only if the item's version is this one: optimistic locking."""
    return Change(version=version)


def known(**fields: object) -> Change:
    """Fields whose stored values the caller knows, for index keys made of them.

    The write fails if the item holds other values, so an index key made of them cannot be wrong.
    """
    return Change(known=dict(fields), places=_places(fields))


def everything() -> Cond:
    """In a scan: every item."""
    return Cond()
