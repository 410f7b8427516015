"""What the body of a read returns: fields of keys, a range, a filter, joined by &."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Never, get_args

from keyplan.design.conditions import Condition
from keyplan.design.places import DesignError, Place, caller
from keyplan.design.symbols import Source
from keyplan.design.terms_joining import (
    all_named,
    both,
    condition_of,
    merged,
    no_truth,
    not_joined,
    once,
    one_way,
    places,
    said,
    written,
)

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
            not_joined("reads", other)
        once(self.range and other.range, "range over the sort key")
        once(self.sort_text and other.sort_text, "text of the sort key")
        once(self.partition_text and other.partition_text, "text of the partition key")
        joined = Cond(
            merged(self.partition, other.partition),
            merged(self.sort, other.sort),
            self.range or other.range,
            self.partition_text or other.partition_text,
            self.sort_text or other.sort_text,
            both(self.filter, other.filter),
            {**other.places, **self.places},
        )
        one_way(joined.partition, joined.partition_text, "partition key")
        one_way(joined.sort or joined.range, joined.sort_text, "sort key")
        return joined

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        no_truth()

    def __repr__(self) -> str:
        told = []
        if self.partition or self.partition_text:
            told.append(f"pk({said(self.partition)})" if self.partition else f"pk.text({self.partition_text!r})")
        if self.sort:
            told.append(f"sk({said(self.sort)})")
        if self.range is not None or self.sort_text is not None:
            told.append(f"sk.{_RANGES[self.range.op]}({self.range.field}=...)" if self.range else "sk.text(...)")
        if self.filter is not None:
            told.append("where(...)")
        return " & ".join(told) or "everything()"


_RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "between": "between", "begins_with": "begins_with"}


class _Partition:
    """`pk(user_id=user_id)`: the fields of the partition key."""

    def __call__(self, *unnamed: Never, **fields: object) -> Cond:
        all_named("pk", unnamed)
        return Cond(partition=dict(fields), places=places(fields))

    def text(self, words: str) -> Cond:
        """The partition key as it is written out: pk.text("USER#{user_id}"), holes being parameters."""
        written("pk", words)
        return Cond(partition_text=words)


class _Sort:
    """`sk(status="open")`: leading fields of the sort key that are equal; `sk.lt(due_at=before)`: a range."""

    def __call__(self, *unnamed: Never, **fields: object) -> Cond:
        all_named("sk", unnamed)
        return Cond(sort=dict(fields), places=places(fields))

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
        return Cond(range=Range("between", name, *pair), places=places(bounds))

    def text(self, op: TextOp, low: str, high: str | None = None) -> Cond:
        """The sort key's condition as it is written out, holes being parameters.

        `sk.text("begins_with", "TASK#")`, or with both ends `sk.text("between", "TASK#", "USER#{user_id}")`.
        """
        for words in (low,) if high is None else (low, high):
            written("sk", words)
        if op not in get_args(TextOp):
            raise DesignError(
                f"{op!r} compares no key texts", place=caller(), fix=f"write one of {', '.join(get_args(TextOp))}"
            )
        if (op == "between") is (high is None):
            given = "one text" if high is None else "two texts"
            raise DesignError(
                f"sk.text is given {given} for {op}",
                place=caller(),
                fix='write sk.text("between", low, high), and one text for everything else',
            )
        return Cond(sort_text=KeyWords(op, low, high))


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
    return Cond(range=Range(op, name, value), places=places(bound))


pk = _Partition()
sk = _Sort()


def where(condition: Condition) -> Cond:
    """Of what the key finds, only items of which this is true. They are read, and paid for, all the same."""
    return Cond(filter=condition_of(condition, "where"))


def everything() -> Cond:
    """In a scan: every item."""
    return Cond()
