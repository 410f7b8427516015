"""The plan of a pattern, which is made from its declaration and used for checks, prices, explanations and requests."""

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

    The value comes from a template or from a field. `part` says how a template is used: the whole string; a prefix that
    ends after the last given field and its literal text; a prefix that ends within that field (begins); the lower or
    upper bound of all keys with these leading fields; or the bounds next to them (after, before). A stored field has a
    single source. `rounded_up` rounds a timestamp up to the field's unit.
    """

    attribute: str
    sources: Mapping[str, Source]
    """The sources of the template's fields, or of the stored field, by name."""
    template: BoundTemplate | None = None
    field: StoredField | None = None
    part: TextPart = "whole"

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={source!r}" for name, source in self.sources.items())
        shape = "" if self.template is None else f" of {self.template.text}"
        return f"<{self.attribute}: {self.part}{shape} with {shown or 'nothing'}>"

    @property
    def type_code(self) -> TypeCode:
        """The DynamoDB type of the attribute."""
        return "S" if self.field is None else self.field.type_code


@dataclass(frozen=True, eq=False)
class SortCondition:
    """A comparison with one sort key attribute."""

    op: SortOp
    low: KeyValue
    high: KeyValue | None = None

    def __repr__(self) -> str:
        return f"<{self.op} {self.low!r}{'' if self.high is None else f' and {self.high!r}'}>"

    @property
    def attribute(self) -> str:
        """The attribute that is compared."""
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
        """The values of the key attributes, with the lower bounds of ranges."""
        return (*self.partition, *(condition.low for condition in self.sort))


@dataclass(frozen=True, eq=False)
class IndexEffect:
    """The effect of an update on an entity's key in an index.

    In a call, the field values are known. If `key.only_if` is true for them and every field has a value, the key
    attributes are set. Otherwise they are removed.
    """

    key: BoundIndexKey
    sources: Mapping[str, Source]
    """The source of each field that the key depends on; UNKNOWN for a field whose value exists but is not known."""
    only_if_missing: bool = False
    """Whether to set the attributes only if the item does not have them, as for a new item of an upsert."""

    def __repr__(self) -> str:
        return f"<{self.key!r} with {', '.join(f'{name}={source!r}' for name, source in self.sources.items())}>"


@dataclass(frozen=True, eq=False)
class Plan:
    """The requests that a pattern sends."""

    pattern: str
    """The pattern's name, or for an ad-hoc call its form, such as get(Task)."""
    operation: Operation
    schema: Schema
    entities: tuple[EntitySpec, ...]
    """The entities that are returned or written."""
    view: type[View[Any]] | None = None
    """The view that is returned in place of its entity."""
    hydrated: bool = False
    """Whether to read the items of the index entries that a range returns from the table."""
    siblings: Sequence[EntitySpec] = ()
    """All entities of the table, including those declared after the pattern."""
    index: Index | None = None
    key: KeySelection | None = None
    """The range of a read, or the primary key of one item (all '=')."""
    walk: tuple[str, Source] | None = None
    """The key field with several values, and the source of these values. Each value needs one request or one key."""
    filter: Condition | None = None
    residue: Condition | None = None
    """The condition to evaluate on returned items, because it cannot be part of the key condition."""
    condition: Condition | None = None
    """The pattern's own condition on the written item; `exists` and `version` add further conditions."""
    exists: Literal["must", "must_not", "may"] = "may"
    """Whether the written item must exist, must not exist, or may exist."""
    replaceable: Condition | None = None
    """With exists="must_not": the condition under which an existing item is replaced."""
    version: Source = None
    """The version that the stored item must have. For a whole item, this is the item's own version."""
    item: Source = None
    """The item that is put, or the list of items of a batch."""
    actions: tuple[FieldUpdate, ...] = ()
    """The changes of an update. The changes of a patch are optional."""
    changes_nothing: bool = False
    """Whether an update only checks its condition and returns the item, because no field of a patch is given."""
    assumed: Mapping[str, Source] = field(default_factory=dict)
    effects: tuple[IndexEffect, ...] = ()
    reads_first: bool = False
    """Whether the item is read before the write, because its unique values decide which sentinels are written."""
    descending: bool = False
    consistent: bool = False
    select: Literal["all", "count"] = "all"
    expired: Literal["drop", "keep"] = "drop"
    """Whether reads drop expired items, which the service may keep for days."""
    limit: int | None = None
    page_size: int | None = None
    returns: Literal["new", "old", "nothing"] = "nothing"
    steps: tuple[Plan, ...] = ()
    """The steps of a transaction."""
    repeats: tuple[Source, ...] = ()
    """For each step of a transaction, the each(...) for whose values it is repeated, or None."""
    faults: tuple[Fault, ...] = ()
    """Reasons why the pattern cannot work."""
    notes: tuple[str, ...] = ()
    """Assumptions under which the pattern's results are correct."""
    undeclared: str = ""
    """The meter's name of an ad-hoc call, such as "undeclared get Task"; empty for a declared pattern."""

    def __repr__(self) -> str:
        where = "" if self.index is None else f" by {self.index.name}"
        faults = "".join(f" {fault.code}" for fault in self.faults)
        return f"<Plan of {self.pattern}: {self.operation} on {self.schema.name}{where}{faults}>"

    @property
    def reading(self) -> bool:
        """Whether the pattern only reads."""
        return self.operation in READ_OPERATIONS

    @property
    def keeps_unique(self) -> bool:
        """Whether the item is written in a transaction together with its unique-value sentinels."""
        return self.reads_first or (self.operation == "PutItem" and bool(self.entity.sentinels))

    def fields_read(self, entity: EntitySpec) -> Iterable[str]:
        """Return the names of the entity's fields that are returned: all fields, or those of the view."""
        return entity.fields if self.view is None else self.view.model_fields

    @property
    def entity(self) -> EntitySpec:
        """The entity that the pattern reads or writes, or the first of several."""
        return self.entities[0]


@dataclass(frozen=True, eq=False)
class PatternDeclaration:
    """The declaration of a pattern, from which its plan is made."""

    name: str
    schema: Schema
    entities: tuple[EntitySpec, ...]
    index: str | None
    """The name of the index that the pattern uses, or None for the table."""
    parameters: Mapping[str, Param]
    place: Place

    def fault(self, code: str, problem: str, fix: str, other: Place | None = None) -> Fault:
        """Return a fault at this pattern."""
        return Fault(code, problem, fix, self.place, other)

    def at(self, name: str, places: Mapping[str, Place]) -> Place:
        """Return the source location where the pattern names a field."""
        return places.get(name, self.place).at(name)

    def at_path(self, path: FieldPath) -> Place:
        """Return the source location where the pattern names the first field of a path."""
        place = path.place if path.place.line else self.place
        return place.at(path.field)

    def written(self, attribute: str, words: str, part: TextPart = "whole") -> KeyValue:
        """Return a key value declared as a string whose placeholders are parameters."""
        # A parameter without annotation has the type of the field with its name, or else str.
        own = declared_fields(self.entities[0].fields)
        fields = {name: own.get(name, DeclaredField(name, str)) for name in self.parameters}
        annotated = {name: param for name, param in self.parameters.items() if annotation_of(param) is not None}
        fields.update({name: DeclaredField.of(name, annotation_of(param), None) for name, param in annotated.items()})
        template = bind_template(words, fields, self.place)
        return KeyValue(attribute, {name: self.parameters[name] for name in template.fields}, template, part=part)


def key_value(part: BoundKeyAttribute, sources: Mapping[str, Source], how: TextPart = "whole") -> KeyValue:
    """Return the value of a key attribute made from sources. `how` determines the use of fields without a source."""
    known = {name: sources[name] for name in part.fields if name in sources}
    return KeyValue(part.attribute, known, part.template, part.field, how)


FieldUse = Literal["key", "prefix", "compared", "set", "changed"]


def field_uses(plan: Plan) -> Iterator[tuple[str, Source, FieldUse]]:
    """Yield every field with the source of its value and the purpose of that value."""
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
    """Return True if the pattern writes the key as a string, whose placeholders are parameters instead of fields."""
    if value.template is None:
        return False
    bounds = [entity.key_in(plan.index) for entity in plan.entities]
    own = [part.template for bound in bounds if bound is not None for part in bound.attributes]
    return all(template is not value.template for template in own)


def _compared_fields(condition: Condition | None) -> Iterator[tuple[str, Source]]:
    for operand in condition.operands() if condition is not None else ():
        if isinstance(operand, Condition):
            yield from _compared_fields(operand)
    if isinstance(condition, CompareCondition) and _is_field(condition.left):
        yield condition.left.field, condition.right  # type: ignore[attr-defined]  # _is_field looked
    if isinstance(condition, (BetweenCondition, InCondition)) and _is_field(condition.operand):
        yield from ((condition.operand.field, one) for one in condition.operands()[1:])  # type: ignore[attr-defined]


def _is_field(operand: object) -> bool:
    return isinstance(operand, FieldPath) and len(operand.parts) == 1
