"""Builders for the objects that the functions of access patterns return: `pk(...)` for queries, `everything()` for
scans, and `item(...)` for all other patterns.

`pk(...)` and `item(...)` start a method chain. Each method returns a new object with one more part, such as a range
over the sort key, a filter, a change, or a condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from typing import Any, Literal, Never, NoReturn, get_args, overload

from keyplan.design.conditions.conditions import Condition, FieldPath, check_condition, join_conditions
from keyplan.design.errors import DesignError, Place, calling_place, refuse
from keyplan.design.parameters import Each, EveryShard, Source


def arguments_text(fields: Mapping[str, Source]) -> str:
    """Format field values as the source code of keyword arguments, such as `user_id=user_id, status='open'`."""
    return ", ".join(f"{name}={source!r}" for name, source in fields.items())


def refuse_truth() -> NoReturn:
    """Raise DesignError, because conditions in pattern bodies cannot be combined with `and`, `or` or `not`."""
    refuse(
        "the result of a pattern has no truth value",
        "replace and by chained methods, and or and not by a pattern for each case",
    )


def refuse_join(builder: str, other: object) -> NoReturn:
    """Raise DesignError, because a pattern body combines `pk(...)` or `item(...)` with another object with an operator
    such as &.

    `builder` is "pk" or "item". The fix in the error depends on the type of the other object.
    """
    if isinstance(other, Condition):
        method = "filter" if builder == "pk" else "condition"
        refuse("a condition on fields is combined with an operator", f"write {builder}(...).{method}(F.field == value)")
    if isinstance(other, (Each, EveryShard)):
        refuse(
            f"{other!r} is combined with an operator, without a field", f"name its field: {builder}(field={other!r})"
        )
    refuse(
        f"{other!r} is combined with {builder}(...) by an operator",
        "chain methods: pk(...).sk(...).filter(...) in reads, item(...).set(...).condition(...) in writes",
    )


def refuse_positional(builder: str, arguments: Sequence[object]) -> None:
    """Raise DesignError if `arguments`, the positional arguments of a builder, is not empty, because only keyword
    arguments name their fields. `builder` is the name of the builder.
    """
    if arguments:
        refuse(
            f"{builder}(...) is called with {arguments[0]!r} without a field name",
            f"write {builder}(field={arguments[0]!r})",
        )


def refuse_twice(is_repeated: object, part: str) -> None:
    """Raise DesignError if `is_repeated` is truthy, which means that a method chain sets the same part twice. `part`
    names that part in the message.
    """
    if is_repeated:
        refuse(f"the pattern states its {part} twice", "keep one of them")


def refuse_both_forms(fields: object, text: object, part: str) -> None:
    """Raise DesignError if a key has both field values (`fields`) and a string (`text`). `part` names the key in the
    message.
    """
    if fields and text is not None:
        refuse(
            f"the pattern states its {part} both by fields and as text",
            "keep one: name the fields, or write the whole text",
        )


_KEY_TEXT_EXAMPLES = {"pk": 'pk.text("USER#{user_id}")', "sk": '.sk.text("=", "TASK#{task_id}")'}


def check_key_text(builder: str, text: object) -> None:
    """Raise DesignError if the argument of `pk.text(...)` or `sk.text(...)` is not a string. `builder` is "pk" or
    "sk".
    """
    if not isinstance(text, str):
        refuse(
            f"{builder}.text expects a string, got {text!r}",
            f"write the full text, with parameters as placeholders: {_KEY_TEXT_EXAMPLES[builder]}",
        )


def merge_fields(first: dict[str, Source], second: dict[str, Source]) -> dict[str, Source]:
    """Merge the field values from two parts of a method chain into one dict. Raises DesignError if both parts contain
    the same field.
    """
    for name in second:
        if name in first:
            refuse(f"the pattern states {name} twice", "state it once")
    return {**first, **second}


def calling_places(names: Mapping[str, object]) -> dict[str, Place]:
    """Map each of the given field names to the source location of the user code that called this package."""
    return dict.fromkeys(names, calling_place()) if names else {}


RangeOp = Literal["<", "<=", ">", ">=", "between", "begins_with"]
TextOp = Literal["=", "<", "<=", ">", ">=", "between", "begins_with"]


@dataclass(frozen=True, eq=False)
class Range:
    """A range condition on one field of a sort key."""

    op: RangeOp
    field: str
    """The name of the field. If it is empty, the range applies to the first sort key field without a value."""
    low: Source
    high: Source = None


@dataclass(frozen=True, eq=False)
class KeyText:
    """A sort key condition written as a string with placeholders for the pattern's parameters."""

    op: TextOp
    low: str
    high: str | None = None


@dataclass(frozen=True, eq=False)
class KeyCondition:
    """The key condition and filter of a query, such as `pk(user_id=user_id).sk(status="open").sk < before`."""

    partition: dict[str, Source] = field(default_factory=dict)
    sort: dict[str, Source] = field(default_factory=dict)
    range: Range | None = None
    partition_text: str | None = None
    sort_text: KeyText | None = None
    filter_condition: Condition | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    """Maps each field to the location in the source code where the pattern names it."""

    @property
    def sk(self) -> SortKey:
        """The builder for the sort key part of this condition."""
        return SortKey(self)

    def filter(self, condition: Condition) -> KeyCondition:
        """Add a filter. The query then returns only items that match the condition.

        DynamoDB still reads the other items and charges for them.
        """
        new_filter = check_condition(condition, ".filter")
        return replace(self, filter_condition=join_conditions(self.filter_condition, new_filter))

    def with_sort(self, sort: KeyCondition) -> KeyCondition:
        """Return this condition combined with a sort key condition.

        Raises DesignError if both conditions set the same part of the sort key.
        """
        refuse_twice(self.range and sort.range, "range over the sort key")
        refuse_twice(self.sort_text and sort.sort_text, "text of the sort key")
        condition = replace(
            self,
            sort=merge_fields(self.sort, sort.sort),
            range=self.range or sort.range,
            sort_text=self.sort_text or sort.sort_text,
            places={**sort.places, **self.places},
        )
        refuse_both_forms(condition.sort or condition.range, condition.sort_text, "sort key")
        return condition

    def __and__(self, other: object) -> NoReturn:
        refuse_join("pk", other)

    __or__ = __rand__ = __ror__ = __and__

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        refuse_truth()

    def __repr__(self) -> str:
        text = "everything()"
        if self.partition or self.partition_text:
            text = f"pk({arguments_text(self.partition)})" if self.partition else f"pk.text({self.partition_text!r})"
        if self.sort:
            text += f".sk({arguments_text(self.sort)})"
        if self.range is not None:
            text += f".sk.{_RANGE_METHODS[self.range.op]}({self.range.field or ''}{'=' if self.range.field else ''}...)"
        if self.sort_text is not None:
            text += ".sk.text(...)"
        return text + ".filter(...)" * (self.filter_condition is not None)


_RANGE_METHODS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "between": "between", "begins_with": "begins_with"}


class SortKey:
    """The sort key part of a key condition: values for leading fields, followed by at most one range.

    `.sk(status="open")` sets leading fields. A range applies to the next field of the sort key, as in `.sk < before`.
    To name that field explicitly, use a method, as in `.sk.lt(due_at=before)`.
    """

    __slots__ = ("_condition",)

    def __init__(self, condition: KeyCondition) -> None:
        self._condition = condition

    def __call__(self, *unnamed: Never, **fields: object) -> KeyCondition:
        """Match items whose leading sort key fields equal the given values."""
        refuse_positional("sk", unnamed)
        return self._condition.with_sort(KeyCondition(sort=dict(fields), places=calling_places(fields)))

    def lt(self, *value: object, **field: object) -> KeyCondition:
        """Match items whose sort key field is less than a value."""
        return self._with_range("<", value, field)

    def lte(self, *value: object, **field: object) -> KeyCondition:
        """Match items whose sort key field is less than or equal to a value."""
        return self._with_range("<=", value, field)

    def gt(self, *value: object, **field: object) -> KeyCondition:
        """Match items whose sort key field is greater than a value."""
        return self._with_range(">", value, field)

    def gte(self, *value: object, **field: object) -> KeyCondition:
        """Match items whose sort key field is greater than or equal to a value."""
        return self._with_range(">=", value, field)

    def begins_with(self, *prefix: object, **field: object) -> KeyCondition:
        """Match items whose sort key field starts with a prefix."""
        return self._with_range("begins_with", prefix, field)

    def between(self, *bounds: object, **field: tuple[object, object]) -> KeyCondition:
        """Match items whose sort key field is in an inclusive range, as in `.sk.between(start, end)` or
        `.sk.between(due=(start, end))`.
        """
        name, pair = "", bounds
        if field or not bounds:
            refuse_twice(bounds, "bounds")
            ((name, pair),) = _single_bound(field).items()
        if not isinstance(pair, tuple) or len(pair) != 2:
            example = f"{name}=(low, high)" if name else "low, high"
            refuse(f"between requires both bounds{f' of {name}' if name else ''}", f"write .sk.between({example})")
        places = calling_places(field)
        return self._condition.with_sort(KeyCondition(range=Range("between", name, *pair), places=places))

    def text(self, op: TextOp, low: str, high: str | None = None) -> KeyCondition:
        """Return a key condition whose sort key part is a string with placeholders for parameters.

        `op` is the operator, and `low` is the string to compare with. For the operator "between", `low` and `high` are
        the two bounds. Examples: `.sk.text("begins_with", "TASK#")` and `.sk.text("between", "TASK#",
        "USER#{user_id}")`.
        """
        for bound in (low,) if high is None else (low, high):
            check_key_text("sk", bound)
        if op not in get_args(TextOp):
            refuse(f"{op!r} is not a comparison operator of .sk.text", f"write one of {', '.join(get_args(TextOp))}")
        if (op == "between") is (high is None):
            count_text = "one text" if high is None else "two texts"
            refuse(
                f".sk.text is called with {count_text} for {op}",
                'write .sk.text("between", low, high); other operators accept one text',
            )
        return self._condition.with_sort(KeyCondition(sort_text=KeyText(op, low, high)))

    def __lt__(self, value: object) -> KeyCondition:
        return self.lt(value)

    def __le__(self, value: object) -> KeyCondition:
        return self.lte(value)

    def __gt__(self, value: object) -> KeyCondition:
        return self.gt(value)

    def __ge__(self, value: object) -> KeyCondition:
        return self.gte(value)

    def __eq__(self, value: object) -> NoReturn:
        refuse("the sort key is compared with ==", "name the field: .sk(field=value)")

    __ne__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        refuse("the sort key in a key condition has no truth value", "write .sk.between(a, b) for a <= .sk <= b")

    def _with_range(self, op: RangeOp, value: tuple[object, ...], field: dict[str, object]) -> KeyCondition:
        if field or len(value) != 1:
            refuse_twice(value, "bound")
            ((name, bound),) = _single_bound(field).items()
            range_ = Range(op, name, bound)
        else:
            range_ = Range(op, "", value[0])
        return self._condition.with_sort(KeyCondition(range=range_, places=calling_places(field)))


def _single_bound(bounds: dict[str, Any]) -> dict[str, Any]:
    if len(bounds) != 1:
        refuse(
            f"a range needs exactly one field, got {', '.join(bounds) or 'none'}",
            "state the leading fields with .sk(...), and one field in the range",
        )
    return bounds


class _PartitionKey:
    """The class of `pk`. Calling `pk` with partition key fields starts a key condition, as in `pk(user_id=user_id)`."""

    def __call__(self, *unnamed: Never, **fields: object) -> KeyCondition:
        refuse_positional("pk", unnamed)
        return KeyCondition(partition=dict(fields), places=calling_places(fields))

    def text(self, words: str) -> KeyCondition:
        """Return a key condition whose partition key is a string with placeholders for parameters, such as
        `pk.text("USER#{user_id}")`.
        """
        check_key_text("pk", words)
        return KeyCondition(partition_text=words)


pk = _PartitionKey()


def everything() -> KeyCondition:
    """Return a key condition that matches every item, for use in a scan."""
    return KeyCondition()


FieldUpdateName = Literal["set", "set_if_missing", "remove", "add", "append", "add_to_set", "remove_from_set"]


@dataclass(frozen=True, eq=False)
class FieldUpdate:
    """A change to one field, or to a value nested in the field."""

    name: FieldUpdateName
    path: FieldPath
    source: Source = None
    negative: bool = False
    """Whether the update subtracts the value instead of adding it."""
    optional: bool = False
    """Whether the change is omitted if a call passes UNSET as the value."""

    @property
    def method(self) -> str:
        """The name of the builder method that declares this change, such as "set" or "subtract"."""
        return "subtract" if self.negative else "patch" if self.optional else self.name


class _NoValue:
    def __repr__(self) -> str:
        return "no value"


_NO_VALUE = _NoValue()


@dataclass(frozen=True, eq=False)
class ItemWrite:
    """A write to one item, with its key, changes and condition.

    Changes name fields by keyword, as in `.set(status="done")`, or name a field or a nested value by its path, as in
    `.set(F.address["city"], city)`. A map or list must exist before a value in it can be changed.
    """

    key: dict[str, Source] = field(default_factory=dict)
    actions: tuple[FieldUpdate, ...] = ()
    required: Condition | None = None
    """The condition that the stored item must satisfy for the write to succeed."""
    version: Source = None
    assumed: dict[str, Source] = field(default_factory=dict)
    """The field values that the stored item is expected to have, as declared with `.assuming(...)`."""
    item: Source = None
    """The complete item to write, or None if the write has a key and changes instead."""
    replaceable: Condition | None = None
    """The condition under which a `create` pattern may replace an existing item."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """Maps each field to the location in the source code where the pattern names it."""
    is_empty_patch: bool = False
    """Whether a call omits every field of a patch and the write contains no other change."""

    def set(self, path: FieldPath | None = None, value: object = _NO_VALUE, /, **fields: object) -> ItemWrite:
        """Set fields by keyword, or set a single field or nested value by its path. A value of None removes the field
        or nested value.
        """
        return self._with_changes("set", path, value, fields)

    def patch(self, path: FieldPath | None = None, value: object = _NO_VALUE, /, **fields: object) -> ItemWrite:
        """Set only the fields that a call provides, as in HTTP PATCH. A value of None removes the field.

        Declare the parameters as `title: str | Unset = UNSET`. If a call provides no field, the call checks the
        condition and the version, changes nothing, and returns the item.
        """
        return self._with_changes("set", path, value, fields, optional=True)

    def set_if_missing(
        self, path: FieldPath | None = None, value: object = _NO_VALUE, /, **fields: object
    ) -> ItemWrite:
        """Set each of these fields only if the stored item does not have the field yet."""
        return self._with_changes("set_if_missing", path, value, fields)

    def remove(self, *fields: str | FieldPath) -> ItemWrite:
        """Remove fields or nested values, as in `.remove("due_at", F.scores["technical"])`."""
        place = calling_place()
        for name in fields:
            if not isinstance(name, (str, FieldPath)):
                raise DesignError(
                    f"remove expects a field name or path, got {name!r}",
                    place=place,
                    fix='name the field: .remove("due_at")',
                )
        paths = [FieldPath(name, place=place) if isinstance(name, str) else name for name in fields]
        return replace(self, actions=(*self.actions, *(FieldUpdate("remove", path) for path in paths)))

    def add(self, path: FieldPath | None = None, value: object = _NO_VALUE, /, **fields: object) -> ItemWrite:
        """Add amounts to number fields atomically, as in `.add(likes=1)`. A missing number is treated as 0."""
        return self._with_changes("add", path, value, fields)

    def subtract(self, path: FieldPath | None = None, value: object = _NO_VALUE, /, **fields: object) -> ItemWrite:
        """Subtract amounts from number fields atomically, as in `.subtract(stock=1)`. A missing number is
        treated as 0.
        """
        return self._with_changes("add", path, value, fields, negative=True)

    def append(self, path: FieldPath | None = None, value: object = _NO_VALUE, /, **fields: object) -> ItemWrite:
        """Append an element, or a list of elements, to list fields, as in `.append(comments=comment)`. A missing list
        is treated as empty.
        """
        return self._with_changes("append", path, value, fields)

    def add_to_set(self, path: FieldPath | None = None, value: object = _NO_VALUE, /, **fields: object) -> ItemWrite:
        """Add elements to set fields, as in `.add_to_set(tags=tags)`."""
        return self._with_changes("add_to_set", path, value, fields)

    def remove_from_set(
        self, path: FieldPath | None = None, value: object = _NO_VALUE, /, **fields: object
    ) -> ItemWrite:
        """Remove elements from set fields, as in `.remove_from_set(tags=tags)`."""
        return self._with_changes("remove_from_set", path, value, fields)

    def condition(self, condition: Condition) -> ItemWrite:
        """Write only if the stored item satisfies this condition."""
        return replace(self, required=join_conditions(self.required, check_condition(condition, ".condition")))

    def if_version(self, version: object) -> ItemWrite:
        """Write only if the stored item has this version, for optimistic locking."""
        refuse_twice(self.version is not None, "version")
        return replace(self, version=version)

    def assuming(self, **fields: object) -> ItemWrite:
        """Declare the expected stored values of fields that are part of index keys.

        The write fails if the stored values differ, because it would then store incorrect index keys.
        """
        places = {**calling_places(fields), **self.places}
        return replace(self, assumed=merge_fields(self.assumed, fields), places=places)

    def replace_if(self, condition: Condition) -> ItemWrite:
        """Allow a `create` pattern to replace an existing item that matches this condition."""
        return replace(self, replaceable=join_conditions(self.replaceable, check_condition(condition, ".replace_if")))

    def _with_changes(
        self,
        name: FieldUpdateName,
        path: FieldPath | None,
        value: object,
        fields: Mapping[str, object],
        *,
        negative: bool = False,
        optional: bool = False,
    ) -> ItemWrite:
        place = calling_place()
        pairs = [(FieldPath(field, place=place), source) for field, source in fields.items()]
        if path is not None or value is not _NO_VALUE:
            method = "subtract" if negative else "patch" if optional else name
            if not isinstance(path, FieldPath):
                refuse(f"{method} expects a path, got {path!r}", f"write .{method}(F.field[...], value)")
            if value is _NO_VALUE:
                refuse(f"{method} is called with {path!r} without a value", f"write .{method}({path!r}, value)")
            pairs.insert(0, (path, value))
        changes = (FieldUpdate(name, path, source, negative, optional) for path, source in pairs)
        # Return an ItemWrite even for an ItemKey, because it is no longer only a key.
        return ItemWrite(**{**_parts_of(self), "actions": (*self.actions, *changes)})

    def __and__(self, other: object) -> NoReturn:
        refuse_join("item", other)

    __or__ = __rand__ = __ror__ = __and__

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        refuse_truth()

    def __repr__(self) -> str:
        text = f"item({arguments_text(self.key) if self.item is None else repr(self.item)})"
        for action in self.actions:
            text += f".{action.method}({action.path!r}{', ...' * (action.name != 'remove')})"
        if self.assumed:
            text += f".assuming({arguments_text(self.assumed)})"
        if self.version is not None:
            text += f".if_version({self.version!r})"
        if self.replaceable is not None:
            text += ".replace_if(...)"
        return text + ".condition(...)" * (self.required is not None)


def _parts_of(write: ItemWrite) -> dict[str, Any]:
    return {part.name: getattr(write, part.name) for part in dataclass_fields(write)}


class ItemKey(ItemWrite):
    """The full primary key of one item: the result of `item(...)` with key fields."""


@overload
def item(entity: object, /) -> ItemWrite: ...
@overload
def item(**fields: object) -> ItemKey: ...
def item(*entity: object, **fields: object) -> ItemWrite:
    """Start a method chain that declares a read by key or a write.

    Pass the primary key fields, as in `item(user_id=user_id, task_id=task_id)`. In a batch, the value of one field can
    be `each(...)`. To create, put or replace a whole item, pass the item itself, as in `item(task)`.
    """
    if entity:
        if fields or len(entity) > 1:
            refuse(
                f"item(...) is called with {entity[0]!r} and other arguments",
                "write item(task) for a whole item, or name every field: item(user_id=user_id, task_id=task_id)",
            )
        return ItemWrite(item=entity[0])
    return ItemKey(key=dict(fields), places=calling_places(fields))
