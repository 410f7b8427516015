"""Consumers of a table's stream: functions that receive the changes to its items."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, Union

from keyplan.design.arguments import check_flags, check_text, checked_call, invalid_option
from keyplan.design.conditions.conditions import Condition, Operand, paths_of
from keyplan.design.declaring.argument_checks import compared_types, type_check, type_name
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.errors import DesignError, Place, calling_names, function_place
from keyplan.design.keys.entity_keys import unknown_field_error

E = TypeVar("E", bound=Entity)
EventName = Literal["inserted", "modified", "removed", "expired"]


@dataclass(frozen=True)
class ItemChange(Generic[E]):
    """A change to one item, as recorded in the table's stream."""

    sequence_number: str
    """The position of the change in the stream, which increases with each change to an item.

    Compare sequence numbers as numbers, not as strings.
    """
    event_id: str
    """The identifier of the change. It is the same for repeated deliveries of the change."""
    at_s: float
    """The approximate time of the change, in seconds since 1970."""


@dataclass(frozen=True)
class Inserted(ItemChange[E]):
    """The creation of an item."""

    new: E


@dataclass(frozen=True)
class Modified(ItemChange[E]):
    """A modification of an item, with the item images that the stream's view type includes."""

    old: E
    new: E


@dataclass(frozen=True)
class Removed(ItemChange[E]):
    """The deletion of an item by a client."""

    old: E


@dataclass(frozen=True)
class Expired(ItemChange[E]):
    """The deletion of an item by DynamoDB after its time to live expired."""

    old: E


EVENTS: dict[type[ItemChange[Any]], EventName] = {
    Inserted: "inserted",
    Modified: "modified",
    Removed: "removed",
    Expired: "expired",
}


@dataclass(frozen=True)
class Changed:
    """A change filter that matches changes to the value of one field."""

    field: str
    becomes: object = None
    """The new value of the field that the filter requires, or None if any new value matches."""


@checked_call
def changed(field: str, becomes: object = None) -> Changed:
    """Return a filter that matches changes to a field.

    With `becomes`, the filter matches modifications and inserts that set the field to that value.
    """
    check_text("field", field)
    return Changed(field, becomes)


ChangeFilter = Condition | Changed


@dataclass(frozen=True, eq=False)
class Consumer:
    """A function that receives the changes to the items of one or more entities."""

    name: str
    function: Callable[[Any], Any]
    entities: tuple[EntitySpec, ...]
    events: frozenset[EventName]
    takes_list: bool
    """Whether the function is called with a list of changes instead of a single change."""
    filter: ChangeFilter | None
    batch: int
    """The maximum number of stream records that the consumer reads at a time."""
    retries: int | None
    """The maximum number of retries of a failing batch. If None, the batch is retried until its records expire."""
    on_failure: str | None
    """The name of the destination for stream records that still fail after all retries."""
    bisect: bool
    """Whether a failing batch is repeatedly split in half to isolate the failing record."""
    idempotent: bool
    """Whether the design states that repeated deliveries are harmless."""
    place: Place

    @property
    def needed_images(self) -> frozenset[str]:
        """The item images that the consumer needs: "old", "new" or both."""
        images = set()
        if self.events & {"modified", "removed", "expired"}:
            images.add("old")
        if self.events & {"modified", "inserted"}:
            images.add("new")
        return frozenset(images)


def build_consumer(
    function: Callable[[Any], Any],
    entities: tuple[EntitySpec, ...],
    *,
    filter: ChangeFilter | None,
    batch: int,
    retries: int | None,
    on_failure: str | None,
    bisect: bool,
    idempotent: bool,
) -> Consumer:
    """Build a consumer from its declaration.

    The annotation of the function's parameter determines which kinds of changes the consumer receives.
    """
    place = function_place(function)
    for option, value in (("batch", batch), ("retries", retries)):
        if not (isinstance(value, int) or (value is None and option == "retries")):
            raise invalid_option(option, value, "not a number of records or retries", "write a whole number")
    check_text("on_failure", on_failure, may_be_none=True)
    check_flags(bisect=bisect, idempotent=idempotent)
    events, takes_list = _events(function, entities, place)
    if not (filter is None or isinstance(filter, (Condition, Changed))):
        raise DesignError(
            f"filter={filter!r} is not a condition on changes",
            place=place,
            fix='write filter=changed("field") or filter=F.field == value',
        )
    names = [filter.field] if isinstance(filter, Changed) else [path.field for path in paths_of(filter)]
    for entity in entities:
        for name in names:
            if name not in entity.fields:
                raise unknown_field_error(name, entity.fields, entity.name, place.at(name))
        _check_values(function, filter, entity, place)
    if batch < 1 or (retries is not None and retries < 0):
        raise DesignError(
            f"{function.__name__} has invalid options: batch={batch}, retries={retries}",
            place=place,
            fix="declare batch=1 or more, and retries=0 or more",
        )
    return Consumer(
        function.__name__,
        function,
        entities,
        events,
        takes_list,
        filter,
        batch,
        retries,
        on_failure,
        bisect,
        idempotent,
        place,
    )


def _check_values(function: Callable[..., Any], filter: ChangeFilter | None, entity: EntitySpec, place: Place) -> None:
    """Raise DesignError if a change filter requires a value that its field can never have."""
    if isinstance(filter, Changed):
        comparisons = [(filter.becomes, entity.fields[filter.field].annotation)]
    else:
        comparisons = list(compared_types(filter, entity.fields))
    for value, kind in comparisons:
        accepts = type_check(kind)
        if not isinstance(value, (Operand, Condition)) and accepts is not None and not accepts(value):
            raise DesignError(
                f"{function.__name__} compares {value!r} with a field of {entity.name} that is {type_name(kind)}",
                place=place.at("filter="),
                fix="compare the field with a value of the field's type",
            )


def _events(
    function: Callable[..., Any], entities: tuple[EntitySpec, ...], place: Place
) -> tuple[frozenset[EventName], bool]:
    annotation = _annotation(function, place)
    takes_list = typing.get_origin(annotation) is list
    if takes_list:
        (annotation,) = typing.get_args(annotation)
    union = typing.get_origin(annotation) in {Union, types.UnionType}
    parts = typing.get_args(annotation) if union else (annotation,)
    kinds = [typing.get_origin(part) or part for part in parts]
    if any(kind not in EVENTS for kind in kinds):
        raise _unclear_events(function, place)
    _check_entities(function, parts, entities, place)
    return frozenset(EVENTS[kind] for kind in kinds), takes_list


def _annotation(function: Callable[..., Any], place: Place) -> Any:
    try:
        hints = typing.get_type_hints(function, localns=calling_names())
    except (AttributeError, NameError, SyntaxError, TypeError) as error:
        raise DesignError(
            f"the annotations of {function.__name__} cannot be read: {error}",
            place=place,
            fix="define or import the name before the consumer, and not under TYPE_CHECKING",
        ) from None
    parameter_types = [hint for name, hint in hints.items() if name != "return"]
    if len(parameter_types) != 1 or len(inspect.signature(function).parameters) != 1:
        raise _unclear_events(function, place)
    return parameter_types[0]


def _check_entities(
    function: Callable[..., Any], parts: tuple[Any, ...], entities: tuple[EntitySpec, ...], place: Place
) -> None:
    """Raise DesignError if a consumer's parameter accepts changes to an entity that is not in `entities`, because such
    changes are never delivered to the consumer.

    `parts` are the change types that the annotation of the parameter lists.
    """
    for part in parts:
        for model in typing.get_args(part):
            if not isinstance(model, type) or model is Any:
                continue
            if not any(issubclass(entity.model, model) for entity in entities):
                raise DesignError(
                    f"{function.__name__} accepts changes of {model.__name__}, but is declared for"
                    f" {', '.join(entity.name for entity in entities) or 'no entity'}",
                    place=place,
                    fix=f"add it to the decorator: on_change(..., {model.__name__})",
                )


def _unclear_events(function: Callable[..., Any], place: Place) -> DesignError:
    return DesignError(
        f"{function.__name__} does not state which changes it accepts",
        place=place,
        fix="annotate its one parameter with Inserted[...], Modified[...], Removed[...], Expired[...],"
        " a union of these, or a list of them",
    )
