"""Update expressions of partial updates, which change fields, index keys and the version.

The clauses depend on the call. None and empty sets are stored as absent attributes, so setting a field to one of them
removes the attribute. An index key is set when the item enters the index, and removed when the item leaves the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from keyplan.design.conditions.builders import FieldUpdate
from keyplan.design.conditions.conditions import UNKNOWN, FieldPath
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import AttributeValue
from keyplan.design.fields.stored import (
    Encoder,
    StoredField,
    encode_value,
    is_stored_as_absent,
    member_encoder,
    round_down,
    validator,
)
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.design.parameters import Source, is_never_none
from keyplan.design.planning.plan import IndexEffect, Plan
from keyplan.design.requests.items import EntityIndexKey
from keyplan.design.requests.writer import (
    Arguments,
    ExpressionWriter,
    Fragment,
    Reader,
    RequestPlaceholders,
    part_name,
    reader,
)

NewWriter = Callable[[], ExpressionWriter]
"""A function that returns a new expression writer. A separate writer is used for each variant of a clause."""


@dataclass
class UpdateClauses:
    """The clauses of the update expression for one call."""

    names: dict[str, str]
    values: dict[str, AttributeValue]
    sets: list[str] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    adds: list[str] = field(default_factory=list)
    deletes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the complete update expression, or an empty string if nothing changes."""
        sections = (("SET", self.sets), ("REMOVE", self.removes), ("ADD", self.adds), ("DELETE", self.deletes))
        return " ".join(f"{word} {', '.join(clauses)}" for word, clauses in sections if clauses)


@dataclass(frozen=True, slots=True)
class UpdateClause:
    """A clause of an update expression, with its longest possible text.

    `bind` adds the clause to the clauses of a call.
    """

    bind: Callable[[Arguments, UpdateClauses], None]
    section: str
    """The name of the list in UpdateClauses to which the clause belongs, such as "sets". If the list depends on the
    call, `section` is the list for the longest variant of the clause.
    """
    longest: str


def fixed_clause(section: str, fragment: Fragment) -> UpdateClause:
    """Return a clause whose text is the same in every call.

    `section` is the name of the list in UpdateClauses to which the clause belongs, such as "sets".
    """

    def bind(arguments: Arguments, clauses: UpdateClauses) -> None:
        getattr(clauses, section).append(fragment.bind(arguments, clauses.names, clauses.values))

    return UpdateClause(bind, section, fragment.text)


def set_always(new_writer: NewWriter, path: FieldPath, source: Source, encode: Encoder) -> UpdateClause:
    """Return a clause that sets a required field.

    The encoder rejects None, because a stored item without the field could not be read.
    """
    writer, read = new_writer(), reader(source)
    value = writer.value(_value_name(path), lambda arguments: encode(read(arguments)))
    return fixed_clause("sets", writer.fragment(f"{writer.path(path)} = {value}"))


def set_clause(new_writer: NewWriter, path: FieldPath, source: Source, encode: Encoder) -> UpdateClause:
    """Return a clause that sets a field. If a call passes None or an empty set, the clause removes the attribute."""
    read = reader(source)
    writer, removal_writer = new_writer(), new_writer()
    assignment = writer.fragment(
        f"{writer.path(path)} = {writer.value(_value_name(path), lambda arguments: encode(read(arguments)))}"
    )
    removal = removal_writer.fragment(removal_writer.path(path))

    def bind(arguments: Arguments, clauses: UpdateClauses) -> None:
        if is_stored_as_absent(read(arguments)):
            clauses.removes.append(removal.bind(arguments, clauses.names, clauses.values))
        else:
            clauses.sets.append(assignment.bind(arguments, clauses.names, clauses.values))

    return (
        UpdateClause(bind, "removes", removal.text)
        if is_stored_as_absent(source)
        else UpdateClause(bind, "sets", assignment.text)
    )


def _set_if_missing(new_writer: NewWriter, path: FieldPath, source: Source, encode: Encoder) -> UpdateClause:
    writer = new_writer()
    read = reader(source)
    name = writer.path(path)
    value = writer.value(_value_name(path), lambda arguments: encode(read(arguments)))
    return _unless_absent("sets", writer.fragment(f"{name} = if_not_exists({name}, {value})"), read)


def _remove(new_writer: NewWriter, path: FieldPath, _source: Source, _encode: Encoder) -> UpdateClause:
    writer = new_writer()
    return fixed_clause("removes", writer.fragment(writer.path(path)))


def _adding_clause(encode_amount: Encoder) -> Callable[[NewWriter, FieldPath, Source, Encoder], UpdateClause]:
    """Return a function that creates clauses that add an amount to a number.

    `encode_amount` encodes the amount. For clauses that subtract, it also negates the amount.
    """

    def make(new_writer: NewWriter, path: FieldPath, source: Source, _encode: Encoder) -> UpdateClause:
        writer = new_writer()
        read = reader(source)
        name = writer.path(path)

        def amount(arguments: Arguments) -> AttributeValue:
            value = read(arguments)
            if value is None:
                raise ValueError(f"{_value_name(path)} is a number, and cannot be changed by None")
            return encode_amount(value)

        value = writer.value(_value_name(path), amount)
        if len(path.parts) == 1:
            return fixed_clause("adds", writer.fragment(f"{name} {value}"))
        # ADD accepts only attributes, not their members.
        zero = writer.value("zero", lambda _arguments: {"N": "0"})
        return fixed_clause("sets", writer.fragment(f"{name} = if_not_exists({name}, {zero}) + {value}"))

    return make


def _encode_negative(value: Any) -> AttributeValue:
    """Return the attribute value of a negated number. Other values are encoded unchanged, and DynamoDB rejects them."""
    encoded = encode_value(value)
    number = encoded.get("N")
    if number is None:
        return encoded
    return {"N": number.removeprefix("-") if number.startswith("-") else f"-{number}"}


def _append(new_writer: NewWriter, path: FieldPath, source: Source, _encode: Encoder) -> UpdateClause:
    writer = new_writer()
    read = reader(source)
    name = writer.path(path)

    def members(arguments: Arguments) -> AttributeValue:
        value = read(arguments)
        return encode_value(value if isinstance(value, (list, tuple)) else [value])

    empty = writer.value("empty", lambda _arguments: {"L": []})
    text = f"{name} = list_append(if_not_exists({name}, {empty}), {writer.value(_value_name(path), members)})"
    return fixed_clause("sets", writer.fragment(text))


def _member_clause(section: str) -> Callable[[NewWriter, FieldPath, Source, Encoder], UpdateClause]:
    """Return a function that creates clauses that add elements to a set or delete them from it.

    `section` is "adds" for clauses that add elements, or "deletes" for clauses that delete them.
    """

    def make(new_writer: NewWriter, path: FieldPath, source: Source, _encode: Encoder) -> UpdateClause:
        writer = new_writer()
        read = reader(source)

        def members(arguments: Arguments) -> AttributeValue:
            value = read(arguments)
            return encode_value(set(value) if isinstance(value, (set, frozenset, list, tuple)) else {value})

        text = f"{writer.path(path)} {writer.value(_value_name(path), members)}"
        return _unless_absent(section, writer.fragment(text), read)

    return make


def _unless_absent(section: str, fragment: Fragment, read: Reader) -> UpdateClause:
    clause = fixed_clause(section, fragment)

    def bind(arguments: Arguments, clauses: UpdateClauses) -> None:
        if not is_stored_as_absent(read(arguments)):
            clause.bind(arguments, clauses)

    return UpdateClause(bind, section, fragment.text)


def _value_name(path: FieldPath) -> str:
    return part_name(path.parts[-1])


CLAUSES: dict[str, Callable[[NewWriter, FieldPath, Source, Encoder], UpdateClause]] = {
    "set": set_clause,
    "patch": set_clause,
    "set_if_missing": _set_if_missing,
    "remove": _remove,
    "add": _adding_clause(encode_value),
    "subtract": _adding_clause(_encode_negative),
    "append": _append,
    "add_to_set": _member_clause("adds"),
    "remove_from_set": _member_clause("deletes"),
}
"""Maps the names of builder methods, such as "set", to the functions that create clauses of an update expression."""


class UpdateExpression:
    """The update expression of a plan."""

    def __init__(self, plan: Plan, placeholders: RequestPlaceholders) -> None:
        self._spec, self._placeholders = plan.entity, placeholders
        self._clauses: list[UpdateClause] = [self._clause(action) for action in plan.actions]
        if self._spec.version is not None and not plan.changes_nothing:
            self._clauses.append(self._version_clause(self._spec.version))
        effects = plan.effects
        if plan.exists == "may":
            self._clauses += self._creation_clauses(plan)
            effects = (*effects, *_known_indexes(plan))
        self._effects = _IndexEffects(effects, self._spec, placeholders) if effects else None

    def bind(self, arguments: Arguments, names: dict[str, str], values: dict[str, AttributeValue]) -> str:
        """Return the update expression for a call, and add its placeholders to `names` and `values`."""
        clauses = UpdateClauses(names, values)
        for clause in self._clauses:
            clause.bind(arguments, clauses)
        if self._effects is not None:
            self._effects.bind(arguments, clauses)
        return clauses.text()

    @property
    def longest(self) -> str:
        """The longest possible update expression that can be determined without the arguments of a call."""
        clauses = UpdateClauses({}, {})
        for clause in self._clauses:
            getattr(clauses, clause.section).append(clause.longest)
        if self._effects is not None:
            clauses.sets += self._effects.unconditional_assignments
        return clauses.text()

    def _writer(self) -> ExpressionWriter:
        return ExpressionWriter(self._placeholders, self._spec.fields)

    def _clause(self, action: FieldUpdate) -> UpdateClause:
        field = self._spec.fields[action.path.field]
        inner = action.path.parts[1:]
        encode = member_encoder(field.annotation, inner) if inner else _validating_encoder(field)
        if action.name == "set" and not inner and field.is_needed:
            return set_always(self._writer, action.path, action.source, encode)
        return CLAUSES[action.method](self._writer, action.path, action.source, encode)

    def _version_clause(self, version: str) -> UpdateClause:
        writer = self._writer()
        name = writer.name(self._spec.fields[version].attribute)
        fragment = writer.fragment(f"{name} {writer.value('one', lambda _arguments: {'N': '1'})}")
        return fixed_clause("adds", fragment)

    def _creation_clauses(self, plan: Plan) -> list[UpdateClause]:
        """Return the clauses that store the key fields and the discriminator in an item that the update creates."""
        spec = self._spec
        clauses = []
        for name, source in _key_sources(plan).items():
            field = spec.fields[name]
            if field.attribute not in spec.schema.key and name not in spec.key_only_fields:
                clauses.append(set_clause(self._writer, FieldPath(name), source, field.encode))
        attribute = spec.schema.discriminator
        if attribute is not None and all(field.attribute != attribute for field in spec.fields.values()):
            writer = self._writer()
            value = writer.value(attribute, lambda _arguments: {"S": spec.name})
            clauses.append(fixed_clause("sets", writer.fragment(f"{writer.name(attribute)} = {value}")))
        return clauses


def _validating_encoder(field: StoredField) -> Encoder:
    validate, encode = validator(field), field.encode
    return lambda value: encode(validate(value))


def _key_sources(plan: Plan) -> dict[str, Source]:
    assert plan.key is not None, "an update names its item"
    return {name: source for value in plan.key.values for name, source in value.sources.items()}


def _known_indexes(plan: Plan) -> list[IndexEffect]:
    """Return an effect for each index key that the update does not change, but whose fields all have known values. An
    upsert sets these index keys too, because an item that it creates needs them.
    """
    key_sources = _key_sources(plan)
    for action in plan.actions:
        if action.name in {"set", "add"} and len(action.path.parts) == 1:
            key_sources[action.path.field] = action.source if action.name == "set" else UNKNOWN
    changed_ids = {id(effect.key) for effect in plan.effects}
    return [
        IndexEffect(bound_key, {name: key_sources[name] for name in bound_key.depends_on})
        for bound_key in plan.entity.indexes
        if id(bound_key) not in changed_ids and all(name in key_sources for name in bound_key.depends_on)
    ]


class _IndexEffects:
    """The effects of an update on index keys. Each index key is set or removed as a whole."""

    def __init__(self, effects: tuple[IndexEffect, ...], spec: EntitySpec, placeholders: RequestPlaceholders) -> None:
        self._effects = [
            (
                EntityIndexKey(effect.key, spec),
                [(name, reader(source), _as_stored(spec.fields[name])) for name, source in effect.sources.items()],
                partial(_check_removal, effect, _unknown_fields(effect, spec)),
            )
            for effect in effects
        ]
        self._unchanged_attributes = _unchanged_key_attributes([effect.key for effect in effects], spec)
        self._placeholders_by_attribute: dict[str, tuple[str, str]] = {}
        for index, _, _ in self._effects:
            for attribute, _make in index.attribute_makers:
                writer = ExpressionWriter(placeholders, spec.fields)
                self._placeholders_by_attribute[attribute] = (writer.name(attribute), placeholders.value(attribute))
        self._if_missing = {
            part.attribute
            for effect in effects
            if effect.only_if_missing
            for part in spec.index_only_attributes(effect.key)
        }
        self._unconditional = [
            attribute
            for effect, (index, _, _) in zip(effects, self._effects, strict=True)
            if effect.key.only_if is None and all(source is not None for source in effect.sources.values())
            for attribute, _make in index.attribute_makers
        ]

    @property
    def unconditional_assignments(self) -> list[str]:
        """The assignments to index key attributes that do not depend on a sparse index condition.

        If all fields have values in a call, the update expression contains these assignments.
        """
        return [
            " = ".join(self._placeholders_by_attribute[attribute]) for attribute in dict.fromkeys(self._unconditional)
        ]

    def bind(self, arguments: Arguments, clauses: UpdateClauses) -> None:
        """Add to `clauses` the clauses that set or remove index key attributes in a call."""
        attributes: dict[str, AttributeValue | None] = {}
        for index, sources, check_removal in self._effects:
            values = {}
            for name, read, convert in sources:
                field_value = read(arguments)
                values[name] = field_value if field_value is None or field_value is UNKNOWN else convert(field_value)
            is_in_index = index.holds(values)
            if is_in_index:
                check_removal(values)
            for attribute, make in index.attribute_makers:
                value = make(values) if is_in_index else None
                if value is not None or attribute not in attributes:
                    attributes[attribute] = value
        for attribute, value in attributes.items():
            name, placeholder = self._placeholders_by_attribute[attribute]
            if value is not None:
                assigned = f"if_not_exists({name}, {placeholder})" if attribute in self._if_missing else placeholder
                clauses.sets.append(f"{name} = {assigned}")
                clauses.values[placeholder] = value
                clauses.names[name] = attribute
            elif attribute not in self._unchanged_attributes:
                clauses.removes.append(name)
                clauses.names[name] = attribute


def _as_stored(field: StoredField) -> Callable[[Any], Any]:
    """Return a function that converts a field value to the value that a read of the item would return.

    Index keys are built from the converted values.
    """
    return validator(field) if field.write_time is None else partial(round_down, field.stored)


def _unknown_fields(effect: IndexEffect, spec: EntitySpec) -> list[str]:
    """Return the fields of an index key whose values are unknown.

    If any fields are unknown, the plan ensures that the update removes the item from the index.
    """
    key_fields = dict.fromkeys(name for part in spec.index_only_attributes(effect.key) for name in part.fields)
    return [name for name in key_fields if effect.sources.get(name) is UNKNOWN]


def _check_removal(effect: IndexEffect, unknown: list[str], values: Mapping[str, object]) -> None:
    """Raise ValueError if a call passes None for a parameter whose annotation excludes None, and the index key has
    unknown fields.

    According to the annotation, the item would leave the index. With None, it belongs in the index, but its key cannot
    be computed without the fields in `unknown`.
    """
    none_fields = [name for name, source in effect.sources.items() if values[name] is None and is_never_none(source)]
    if unknown and none_fields:
        raise ValueError(
            f"{none_fields[0]} is None, but the annotation of {effect.sources[none_fields[0]]!r} does not allow None:"
            f" the key of index {effect.key.index.name} would also need {', '.join(unknown)}"
        )


def _unchanged_key_attributes(changed_keys: list[BoundKey], spec: EntitySpec) -> Mapping[str, object]:
    """Return the attributes of all index keys that an update does not change. `changed_keys` contains the index keys
    that it changes.
    """
    changed_ids = {id(bound_key) for bound_key in changed_keys}
    unchanged_keys = [bound_key for bound_key in spec.indexes if id(bound_key) not in changed_ids]
    return {part.attribute: bound_key for bound_key in unchanged_keys for part in bound_key.attributes}
