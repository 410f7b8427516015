"""The plan of a pattern: the operation, keys, conditions and changes of its requests, with parameters in place of
values.

A plan is computed from the declaration of the pattern, and used for checks, prices, explanations and requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from keyplan.design.conditions.builders import FieldUpdate
from keyplan.design.conditions.conditions import BetweenCondition, CompareCondition, Condition, FieldPath, InCondition
from keyplan.design.entities import EntitySpec, View
from keyplan.design.errors import Fault, Place
from keyplan.design.fields.annotations import DeclaredField, TypeCode
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.entity_keys import BoundIndexKey, BoundKeyAttribute, bind_template, declared_fields
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.parameters import Param, Source, annotation_of
from keyplan.design.schema import Index, Schema

Operation = Literal[
    "GetItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "ConditionCheck",
    "BatchWriteItem",
    "TransactWriteItems",
]
READ_OPERATIONS = ("GetItem", "Query", "Scan", "BatchGetItem")
TextPart = Literal["whole", "prefix", "begins", "lower", "upper", "after", "before", "rounded_up"]
SortOp = Literal["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"]


@dataclass(frozen=True, eq=False)
class KeyValue:
    """The value of one key attribute, computed from the arguments of a call.

    The value comes from a template or from a stored field. `part` is the part of the template's string:

    - "whole": the whole string
    - "prefix": the prefix up to the last given field, including the literal text after it
    - "begins": a prefix that ends within the last given field
    - "lower" and "upper": bounds of all keys with these leading fields
    - "after" and "before": the bounds just above and just below all keys with these leading fields

    For a stored field, "rounded_up" rounds a timestamp up to the field's unit.
    """

    attribute: str
    sources: Mapping[str, Source]
    """The parameters or constants that provide the values of the key's fields, by field name."""
    template: BoundTemplate | None = None
    field: StoredField | None = None
    part: TextPart = "whole"

    def __repr__(self) -> str:
        sources_text = ", ".join(f"{name}={source!r}" for name, source in self.sources.items())
        shape = "" if self.template is None else f" of {self.template.text}"
        return f"<{self.attribute}: {self.part}{shape} with {sources_text or 'nothing'}>"

    @property
    def type_code(self) -> TypeCode:
        """The DynamoDB type of the key attribute, such as "S"."""
        return "S" if self.field is None else self.field.type_code


@dataclass(frozen=True, eq=False)
class SortCondition:
    """A condition on one sort key attribute."""

    op: SortOp
    low: KeyValue
    high: KeyValue | None = None

    def __repr__(self) -> str:
        return f"<{self.op} {self.low!r}{'' if self.high is None else f' and {self.high!r}'}>"

    @property
    def attribute(self) -> str:
        """The name of the sort key attribute that the condition compares."""
        return self.low.attribute


@dataclass(frozen=True, eq=False)
class KeySelection:
    """The keys that a pattern selects: one key, or a range of keys in one partition."""

    partition: tuple[KeyValue, ...]
    sort: tuple[SortCondition, ...] = ()

    def __repr__(self) -> str:
        return f"<{' and '.join(map(repr, (*self.partition, *self.sort)))}>"

    @property
    def values(self) -> tuple[KeyValue, ...]:
        """The values of the key attributes. If a range has two bounds, only the lower bound is included."""
        return (*self.partition, *(condition.low for condition in self.sort))


@dataclass(frozen=True, eq=False)
class IndexEffect:
    """The effect of an update on an entity's key in an index.

    When the pattern is called, the field values are known. If they satisfy `key.only_if` and every field has a value,
    the update sets the key attributes. Otherwise it removes them.
    """

    key: BoundIndexKey
    sources: Mapping[str, Source]
    """Maps each field that the key depends on to its parameter or constant, or to UNKNOWN if its value is not known."""
    only_if_missing: bool = False
    """Whether to set the index key attributes only if the item does not have them yet, for example when an upsert
    creates an item.
    """

    def __repr__(self) -> str:
        return f"<{self.key!r} with {', '.join(f'{name}={source!r}' for name, source in self.sources.items())}>"


@dataclass(frozen=True, eq=False)
class Plan:
    """The requests that a pattern sends, with parameters in place of the values that a call passes."""

    pattern: str
    """The name of the pattern or, for an ad-hoc call, the text of the call, such as get(Task)."""
    operation: Operation
    schema: Schema
    entities: tuple[EntitySpec, ...]
    """The entities whose items the pattern reads or writes."""
    view: type[View[Any]] | None = None
    """The view whose instances the read returns, or None if it returns entities."""
    hydrated: bool = False
    """Whether to read the full items from the table after reading an index."""
    siblings: Sequence[EntitySpec] = ()
    """All entities of the table, including those declared after the pattern."""
    index: Index | None = None
    key: KeySelection | None = None
    """The key range of a read, or the primary key of one item. For a primary key, all conditions use the
    operator "=".
    """
    walk: tuple[str, Source] | None = None
    """A key field with several values, and the each(...) or every_shard() that provides these values. None if every key
    field has a single value.

    Each value requires a separate request or key.
    """
    filter: Condition | None = None
    residue: Condition | None = None
    """The part of the key condition that a key range cannot express. It is evaluated on the returned items."""
    condition: Condition | None = None
    """The condition that the pattern declares for the written item. `exists` and `version` add further conditions."""
    exists: Literal["must", "must_not", "may"] = "may"
    """Whether the written item must exist, must not exist, or may exist."""
    replaceable: Condition | None = None
    """The condition under which a `create` pattern, which has `exists="must_not"`, replaces an existing item."""
    version: Source = None
    """The version that the stored item must have. If a whole item is written, this is the version in that item."""
    item: Source = None
    """The item that is written, or the list of items of a batch."""
    actions: tuple[FieldUpdate, ...] = ()
    """The changes that an update makes to fields. A change that belongs to a patch is made only if a call provides its
    value.
    """
    changes_nothing: bool = False
    """Whether an update only checks its condition and returns the item, because the call provides no field
    of a patch.
    """
    assumed: Mapping[str, Source] = field(default_factory=dict)
    effects: tuple[IndexEffect, ...] = ()
    reads_first: bool = False
    """Whether the item is read before the write, because its unique values determine which guard items are written."""
    descending: bool = False
    consistent: bool = False
    select: Literal["all", "count"] = "all"
    expired: Literal["drop", "keep"] = "drop"
    """Whether reads omit expired items ("drop") or return them ("keep").

    DynamoDB can take several days to delete an expired item.
    """
    limit: int | None = None
    page_size: int | None = None
    returns: Literal["new", "old", "nothing"] = "nothing"
    steps: tuple[Plan, ...] = ()
    """The plans of the writes in a transaction."""
    repeats: tuple[Source, ...] = ()
    """For each step of a transaction, the `each(...)` that repeats the step once per value, or None for a step that
    runs once.
    """
    faults: tuple[Fault, ...] = ()
    """The reasons why DynamoDB cannot run the pattern. Empty if it can."""
    notes: tuple[str, ...] = ()
    """Assumptions under which the pattern's results are correct."""
    undeclared: str = ""
    """The label under which capacity meters count an ad-hoc call, such as "undeclared get Task". Empty for a declared
    pattern.
    """

    def __repr__(self) -> str:
        index_text = "" if self.index is None else f" by {self.index.name}"
        faults = "".join(f" {fault.code}" for fault in self.faults)
        return f"<Plan of {self.pattern}: {self.operation} on {self.schema.name}{index_text}{faults}>"

    @property
    def reading(self) -> bool:
        """Whether the plan only reads items."""
        return self.operation in READ_OPERATIONS

    @property
    def keeps_unique(self) -> bool:
        """Whether the item is written in a transaction with the guard items that reserve its unique values."""
        return self.reads_first or (self.operation == "PutItem" and bool(self.entity.sentinels))

    def fields_read(self, entity: EntitySpec) -> Iterable[str]:
        """Return the names of the fields that a read returns for an entity: the fields of the view, or all fields."""
        return entity.fields if self.view is None else self.view.model_fields

    @property
    def entity(self) -> EntitySpec:
        """The entity that the pattern reads or writes, or the first one if there are several."""
        return self.entities[0]


@dataclass(frozen=True, eq=False)
class PatternDeclaration:
    """The declaration of a pattern, from which its plan is computed."""

    name: str
    schema: Schema
    entities: tuple[EntitySpec, ...]
    index: str | None
    """The name of the index that the pattern uses, or None for the table."""
    parameters: Mapping[str, Param]
    place: Place

    def fault(self, code: str, problem: str, fix: str, other: Place | None = None) -> Fault:
        """Return a fault at the source location of this pattern."""
        return Fault(code, problem, fix, self.place, other)

    def place_of(self, name: str, places: Mapping[str, Place]) -> Place:
        """Return the source location at which the pattern names a field."""
        return places.get(name, self.place).at(name)

    def place_of_path(self, path: FieldPath) -> Place:
        """Return the source location at which the pattern names the first field of a path."""
        place = path.place if path.place.line else self.place
        return place.at(path.field)

    def text_value(self, attribute: str, text: str, part: TextPart = "whole") -> KeyValue:
        """Return the value of a key attribute that the pattern declares as a string.

        Placeholders in the string refer to the pattern's parameters.
        """
        # A parameter without annotation has the type of the field with its name, or else str.
        entity_fields = declared_fields(self.entities[0].fields)
        fields = {name: entity_fields.get(name, DeclaredField(name, str)) for name in self.parameters}
        annotated_parameters = {
            name: param for name, param in self.parameters.items() if annotation_of(param) is not None
        }
        fields.update(
            {
                name: DeclaredField.from_annotation(name, annotation_of(param), None)
                for name, param in annotated_parameters.items()
            }
        )
        template = bind_template(text, fields, self.place)
        return KeyValue(attribute, {name: self.parameters[name] for name in template.fields}, template, part=part)


def key_value(part: BoundKeyAttribute, sources: Mapping[str, Source], text_part: TextPart = "whole") -> KeyValue:
    """Return the value of a key attribute, given the parameters and constants for its fields.

    `text_part` selects the part of the template's string. `KeyValue` describes the choices.
    """
    known_sources = {name: sources[name] for name in part.fields if name in sources}
    return KeyValue(part.attribute, known_sources, part.template, part.field, text_part)


FieldUse = Literal["key", "prefix", "compared", "set", "changed"]


def field_uses(plan: Plan) -> Iterator[tuple[str, Source, FieldUse]]:
    """Yield a tuple for each use of a field in a plan: the field name, the parameter or constant that provides the
    value, and how the value is used.
    """
    if plan.key is not None:
        values = [
            *plan.key.partition,
            *(value for condition in plan.key.sort for value in (condition.low, condition.high) if value),
        ]
        for value in values:
            if not _is_key_text(value, plan):
                uses: list[FieldUse] = ["key"] * len(value.sources)
                uses[-1:] = ["prefix"] if value.part == "begins" else uses[-1:]
                yield from ((*pair, use) for pair, use in zip(value.sources.items(), uses, strict=True))
    yield from ((name, source, "compared") for name, source in _compared_fields(plan.filter))
    yield from ((name, source, "compared") for name, source in _compared_fields(plan.condition))
    yield from ((name, source, "compared") for name, source in plan.assumed.items())
    for action in plan.actions:
        if action.name in {"set", "set_if_missing", "add"} and len(action.path.parts) == 1:
            yield action.path.field, action.source, "set" if action.name == "set" else "changed"


def _is_key_text(value: KeyValue, plan: Plan) -> bool:
    """Return True if the pattern declares the key as a string, in which placeholders name parameters
    instead of fields.
    """
    if value.template is None:
        return False
    bound_keys = [entity.key_in(plan.index) for entity in plan.entities]
    templates = [part.template for bound_key in bound_keys if bound_key is not None for part in bound_key.attributes]
    return all(template is not value.template for template in templates)


def _compared_fields(condition: Condition | None) -> Iterator[tuple[str, Source]]:
    for operand in condition.operands() if condition is not None else ():
        if isinstance(operand, Condition):
            yield from _compared_fields(operand)
    if isinstance(condition, CompareCondition) and _is_field(condition.left):
        yield condition.left.field, condition.right  # type: ignore[attr-defined]  # _is_field looked
    if isinstance(condition, (BetweenCondition, InCondition)) and _is_field(condition.operand):
        yield from ((condition.operand.field, value) for value in condition.operands()[1:])  # type: ignore[attr-defined]


def _is_field(operand: object) -> bool:
    return isinstance(operand, FieldPath) and len(operand.parts) == 1
