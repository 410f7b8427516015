"""What the bodies of patterns return: key conditions and filters of reads, keys and changes of writes, joined by &."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Never, NoReturn, get_args

from keyplan.design.conditions.conditions import Condition, FieldPath, check_condition, join_conditions
from keyplan.design.errors import DesignError, Place, calling_place, refuse
from keyplan.design.parameters import Each, EveryShard, Source

PatternSide = Literal["reads", "writes"]


def arguments_text(fields: Mapping[str, Source]) -> str:
    """Return fields and their values as keyword arguments are written."""
    return ", ".join(f"{name}={source!r}" for name, source in fields.items())


def refuse_truth() -> NoReturn:
    """Refuse `and`, `or` and `not`."""
    refuse(
        "a pattern's terms have no truth value",
        "join them with & instead of and; instead of or and not, declare a pattern for each case",
    )


def refuse_join(kind: PatternSide, other: object) -> NoReturn:
    """Refuse to join an object that is not a term, or a term of the other kind."""
    if isinstance(other, Condition):
        word = "where" if kind == "reads" else "when"
        refuse("a condition on fields is joined to terms directly", f"wrap it: {word}(F.field == ...)")
    if isinstance(other, (Each, EveryShard)):
        refuse(
            f"{other!r} is joined to terms directly, without a field",
            f"name their field: {'pk' if kind == 'reads' else 'key_of'}(field={other!r})",
        )
    refuse(
        f"{other!r} is joined to the terms of a pattern that {kind}",
        "join pk(...), sk(...) and where(...) in reads, key_of(...), set_(...), when(...) and the like in writes",
    )


def refuse_positional(word: str, unnamed: Sequence[object]) -> None:
    """Refuse positional values, which do not name their field."""
    if unnamed:
        refuse(
            f"{word}(...) is given {unnamed[0]!r} without the name of its field", f"write {word}(field={unnamed[0]!r})"
        )


def refuse_twice(twice: object, what: str) -> None:
    """Refuse a part that both sides state."""
    if twice:
        refuse(f"the pattern states its {what} twice", "keep one: a key condition has one")


def refuse_both_forms(fields: object, words: object, what: str) -> None:
    """Refuse a key that is stated both by fields and as text: one of them would be ignored."""
    if fields and words is not None:
        refuse(
            f"the pattern states its {what} both by fields and as text",
            "keep one: name the fields, or write the whole text",
        )


_KEY_TEXT_EXAMPLES = {"pk": 'pk.text("USER#{user_id}")', "sk": 'sk.text("=", "TASK#{task_id}")'}


def check_key_text(word: str, words: object) -> None:
    """Refuse a key text that is not a string."""
    if not isinstance(words, str):
        refuse(
            f"{word}.text is given {words!r}, which is not a string",
            f"write the text out, with parameters as placeholders: {_KEY_TEXT_EXAMPLES[word]}",
        )


def merge_fields(one: dict[str, Source], other: dict[str, Source]) -> dict[str, Source]:
    """Return the fields of both sides. Raises DesignError for a field that both state."""
    for name in other:
        if name in one:
            refuse(f"the pattern says {name} twice", "say it once")
    return {**one, **other}


def calling_places(names: Mapping[str, object]) -> dict[str, Place]:
    """Return the place of the calling code for each field."""
    return dict.fromkeys(names, calling_place()) if names else {}


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
class KeyText:
    """A key condition written as text, whose placeholders are the pattern's parameters."""

    op: TextOp
    low: str
    high: str | None = None


@dataclass(frozen=True, eq=False)
class Cond:
    """The key condition and filter of a read."""

    partition: dict[str, Source] = field(default_factory=dict)
    sort: dict[str, Source] = field(default_factory=dict)
    range: Range | None = None
    partition_text: str | None = None
    sort_text: KeyText | None = None
    filter: Condition | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    """The place where each field is named."""

    def __and__(self, other: Cond) -> Cond:
        if not isinstance(other, Cond):
            refuse_join("reads", other)
        refuse_twice(self.range and other.range, "range over the sort key")
        refuse_twice(self.sort_text and other.sort_text, "text of the sort key")
        refuse_twice(self.partition_text and other.partition_text, "text of the partition key")
        joined = Cond(
            merge_fields(self.partition, other.partition),
            merge_fields(self.sort, other.sort),
            self.range or other.range,
            self.partition_text or other.partition_text,
            self.sort_text or other.sort_text,
            join_conditions(self.filter, other.filter),
            {**other.places, **self.places},
        )
        refuse_both_forms(joined.partition, joined.partition_text, "partition key")
        refuse_both_forms(joined.sort or joined.range, joined.sort_text, "sort key")
        return joined

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        refuse_truth()

    def __repr__(self) -> str:
        parts = []
        if self.partition or self.partition_text:
            parts.append(
                f"pk({arguments_text(self.partition)})" if self.partition else f"pk.text({self.partition_text!r})"
            )
        if self.sort:
            parts.append(f"sk({arguments_text(self.sort)})")
        if self.range is not None or self.sort_text is not None:
            parts.append(
                f"sk.{_RANGE_METHODS[self.range.op]}({self.range.field}=...)" if self.range else "sk.text(...)"
            )
        if self.filter is not None:
            parts.append("where(...)")
        return " & ".join(parts) or "everything()"


_RANGE_METHODS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "between": "between", "begins_with": "begins_with"}


class _Partition:
    """`pk(user_id=user_id)`: the fields of the partition key."""

    def __call__(self, *unnamed: Never, **fields: object) -> Cond:
        refuse_positional("pk", unnamed)
        return Cond(partition=dict(fields), places=calling_places(fields))

    def text(self, words: str) -> Cond:
        """Return the partition key as text: pk.text("USER#{user_id}"), with parameters as placeholders."""
        check_key_text("pk", words)
        return Cond(partition_text=words)


class _Sort:
    """`sk(status="open")`: leading fields of the sort key that are equal; `sk.lt(due_at=before)`: a range."""

    def __call__(self, *unnamed: Never, **fields: object) -> Cond:
        refuse_positional("sk", unnamed)
        return Cond(sort=dict(fields), places=calling_places(fields))

    def lt(self, **bound: object) -> Cond:
        """Match items whose sort key field is less than a value."""
        return _ranged("<", bound)

    def lte(self, **bound: object) -> Cond:
        """Match items whose sort key field is at most a value."""
        return _ranged("<=", bound)

    def gt(self, **bound: object) -> Cond:
        """Match items whose sort key field is greater than a value."""
        return _ranged(">", bound)

    def gte(self, **bound: object) -> Cond:
        """Match items whose sort key field is at least a value."""
        return _ranged(">=", bound)

    def begins_with(self, **prefix: object) -> Cond:
        """Match items whose sort key field starts with a text."""
        return _ranged("begins_with", prefix)

    def between(self, **bounds: tuple[object, object]) -> Cond:
        """Match items whose sort key field is in an inclusive range: sk.between(due=(start, end))."""
        ((name, pair),) = _single(bounds).items()
        if not isinstance(pair, tuple) or len(pair) != 2:
            refuse(f"between requires both bounds of {name}", f"write sk.between({name}=(low, high))")
        return Cond(range=Range("between", name, *pair), places=calling_places(bounds))

    def text(self, op: TextOp, low: str, high: str | None = None) -> Cond:
        """Return the sort key's condition as text, with parameters as placeholders.

        `sk.text("begins_with", "TASK#")`, or with both ends `sk.text("between", "TASK#", "USER#{user_id}")`.
        """
        for words in (low,) if high is None else (low, high):
            check_key_text("sk", words)
        if op not in get_args(TextOp):
            refuse(f"{op!r} is not a comparison of key texts", f"write one of {', '.join(get_args(TextOp))}")
        if (op == "between") is (high is None):
            given = "one text" if high is None else "two texts"
            refuse(
                f"sk.text is given {given} for {op}",
                'write sk.text("between", low, high), and one text for everything else',
            )
        return Cond(sort_text=KeyText(op, low, high))


def _single(bounds: dict[str, Any]) -> dict[str, Any]:
    if len(bounds) != 1:
        refuse(
            f"a range is over one field, not over {', '.join(bounds) or 'none'}",
            "name the leading fields that are equal with sk(...), and the one that varies in the range",
        )
    return bounds


def _ranged(op: RangeOp, bound: dict[str, object]) -> Cond:
    ((name, value),) = _single(bound).items()
    return Cond(range=Range(op, name, value), places=calling_places(bound))


pk = _Partition()
sk = _Sort()


def where(condition: Condition) -> Cond:
    """Return only items for which the condition is true. The other items in the range are read and charged too."""
    return Cond(filter=check_condition(condition, "where"))


def everything() -> Cond:
    """Return every item, in a scan."""
    return Cond()


FieldUpdateName = Literal["set", "set_if_missing", "remove", "add", "append", "add_to_set", "remove_from_set"]


@dataclass(frozen=True, eq=False)
class FieldUpdate:
    """One change of a field, or of a member of it."""

    name: FieldUpdateName
    path: FieldPath
    source: Source = None
    negative: bool = False
    """Whether the value of an addition is subtracted."""

    @property
    def word(self) -> str:
        """The name of the function that the pattern calls."""
        return "subtract" if self.negative else self.name


@dataclass(frozen=True, eq=False)
class Change:
    """A write: its key, its changes, and its condition."""

    key: dict[str, Source] = field(default_factory=dict)
    actions: tuple[FieldUpdate, ...] = ()
    condition: Condition | None = None
    version: Source = None
    known: dict[str, Source] = field(default_factory=dict)
    item: Source = None
    replace_when: Condition | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    """The place where each field is named."""

    def __and__(self, other: Change) -> Change:
        if not isinstance(other, Change):
            refuse_join("writes", other)
        refuse_twice(self.item is not None and other.item is not None, "item")
        refuse_twice(self.version is not None and other.version is not None, "version")
        return Change(
            merge_fields(self.key, other.key),
            (*self.actions, *other.actions),
            join_conditions(self.condition, other.condition),
            self.version if other.version is None else other.version,
            merge_fields(self.known, other.known),
            self.item if other.item is None else other.item,
            join_conditions(self.replace_when, other.replace_when),
            {**other.places, **self.places},
        )

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        refuse_truth()

    def __repr__(self) -> str:
        parts = [f"key_of({arguments_text(self.key)})"] if self.key else []
        if self.item is not None:
            parts.append(f"put({self.item!r})")
        parts += [f"{action.word} {action.path!r}" for action in self.actions]
        if self.known:
            parts.append(f"known({arguments_text(self.known)})")
        if self.version is not None:
            parts.append(f"at_version({self.version!r})")
        if self.condition is not None:
            parts.append("when(...)")
        return " & ".join(parts) or "no change"


class Key(Change):
    """The key of one item: every field of its primary key."""


def key_of(*unnamed: Never, **fields: object) -> Key:
    """Return the key of an item from all fields of its primary key; in batches one of them may be each(...)."""
    refuse_positional("key_of", unnamed)
    return Key(key=dict(fields), places=calling_places(fields))


def put(item: object, *, replace_when: Condition | None = None) -> Change:
    """Write the whole item. In a create, an existing item is replaced if `replace_when` is true of it."""
    return Change(item=item, replace_when=replace_when)


def _actions(name: FieldUpdateName, fields: dict[str, object], *, negative: bool = False) -> Change:
    here = calling_place()
    return Change(
        actions=tuple(FieldUpdate(name, FieldPath(one, place=here), value, negative) for one, value in fields.items())
    )


def set_(**fields: object) -> Change:
    """Set fields; None removes a field."""
    return _actions("set", fields)


def set_if_missing(**fields: object) -> Change:
    """Set fields that the item does not have yet."""
    return _actions("set_if_missing", fields)


def remove(*fields: str) -> Change:
    """Remove fields."""
    here = calling_place()
    for name in fields:
        if not isinstance(name, str):
            raise DesignError(f"remove is given {name!r}", place=here, fix='name the field: remove("due_at")')
    return Change(actions=tuple(FieldUpdate("remove", FieldPath(name, place=here)) for name in fields))


def add(**fields: object) -> Change:
    """Add to numbers, atomically; a missing number counts as 0."""
    return _actions("add", fields)


def subtract(**fields: object) -> Change:
    """Subtract from numbers, atomically; a missing number counts as 0."""
    return _actions("add", fields, negative=True)


def append(**fields: object) -> Change:
    """Append to lists; a missing list counts as empty."""
    return _actions("append", fields)


def add_to_set(**fields: object) -> Change:
    """Add members to sets."""
    return _actions("add_to_set", fields)


def remove_from_set(**fields: object) -> Change:
    """Remove members from sets."""
    return _actions("remove_from_set", fields)


def set_at(path: FieldPath, value: object) -> Change:
    """Set a member of a field: set_at(F.answers["technical"], 3). The map or list must exist."""
    return Change(actions=(FieldUpdate("set", _path("set_at", path), value),))


def add_at(path: FieldPath, value: object) -> Change:
    """Add to a number in a map: add_at(F.answers[category], 1). The map must exist."""
    return Change(actions=(FieldUpdate("add", _path("add_at", path), value),))


def subtract_at(path: FieldPath, value: object) -> Change:
    """Subtract from a number in a map: subtract_at(F.votes[choice], 1). The map must exist."""
    return Change(actions=(FieldUpdate("add", _path("subtract_at", path), value, negative=True),))


def remove_at(path: FieldPath) -> Change:
    """Remove a member of a field."""
    return Change(actions=(FieldUpdate("remove", _path("remove_at", path)),))


def _path(word: str, path: object) -> FieldPath:
    """Refuse an argument that is not a path."""
    if not isinstance(path, FieldPath):
        refuse(f"{word} is given {path!r}, which is not a path", f"write {word}(F.field[...])")
    return path


def when(condition: Condition) -> Change:
    """Write only if this condition is true of the stored item."""
    return Change(condition=check_condition(condition, "when"))


def at_version(version: object) -> Change:
    """Write only if the item has this version: optimistic locking."""
    return Change(version=version)


def known(**fields: object) -> Change:
    """State the stored values of fields, for index keys made of them.

    The write fails if the item holds other values, so an index key made of them cannot be wrong.
    """
    return Change(known=dict(fields), places=calling_places(fields))
