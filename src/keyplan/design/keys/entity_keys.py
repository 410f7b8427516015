"""Keys of entities in the table and its indexes.

A key is built from templates or stored fields. An index key can also have a condition, which makes the index sparse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from keyplan.design.arguments import check_text, checked_call
from keyplan.design.conditions.conditions import Condition, paths_of
from keyplan.design.errors import DesignError, Place, calling_place, refuse
from keyplan.design.fields.annotations import DeclaredField, TypeCode
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.encodings import TemplateError
from keyplan.design.keys.templates import BoundTemplate, parse
from keyplan.design.schema import Index, Schema


@dataclass(frozen=True)
class Attr:
    """A key attribute that is a stored field instead of a templated string."""

    field: str


KeyPart = str | Attr
KeyParts = KeyPart | tuple[KeyPart, ...]


@dataclass(frozen=True)
class KeySpec:
    """A key as declared with `key(...)`, before it is bound to a table or index."""

    partition: tuple[KeyPart, ...]
    sort: tuple[KeyPart, ...]
    only_if: Condition | None
    place: Place


@checked_call
def key(pk: KeyParts, sk: KeyParts | None = None, *, only_if: Condition | None = None) -> KeySpec:
    """Declare the key of an entity with templates such as "TASK#{task_id}", or with attr("points") for a stored field.

    `only_if` is for keys in indexes: an item is in the index only while this condition is true.
    """
    partition = pk if isinstance(pk, tuple) else (pk,)
    sort = () if sk is None else sk if isinstance(sk, tuple) else (sk,)
    for part in (*partition, *sort):
        if not isinstance(part, (str, Attr)):
            refuse(
                f"expected a key template, got {part!r}",
                'write text such as "TASK#{task_id}", attr("field"), or a tuple of these for several attributes',
            )
    if only_if is not None and not isinstance(only_if, Condition):
        refuse(f"only_if={only_if!r} is not a condition on fields", 'write only_if=F.status == "open"')
    return KeySpec(partition, sort, only_if, calling_place())


@checked_call
def attr(field: str) -> Attr:
    """Declare that a key attribute stores the value of a field directly, for example to sort by a Number."""
    check_text("attr", field)
    return Attr(field)


@dataclass(frozen=True, eq=False)
class BoundKeyAttribute:
    """A key attribute whose value comes either from a template or from a stored field."""

    attribute: str
    template: BoundTemplate | None = None
    field: StoredField | None = None

    def __repr__(self) -> str:
        return f"<{self.attribute} = {self.text}>"

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields in the key attribute, in the order in which the attribute contains them."""
        if self.template is not None:
            return tuple(dict.fromkeys(self.template.fields))
        return (self.field.name,) if self.field is not None else ()

    @property
    def type_code(self) -> TypeCode:
        """The DynamoDB type of the key attribute."""
        return "S" if self.field is None else self.field.type_code

    @property
    def text(self) -> str:
        """The template of the key attribute, or the name of its stored field, as shown in documentation."""
        return self.template.text if self.template is not None else "{" + ", ".join(self.fields) + "}"


def key_text(parts: Iterable[BoundKeyAttribute]) -> str:
    """Format key attributes for messages, as in PK = USER#{user_id}, SK = METADATA."""
    return ", ".join(f"{part.attribute} = {part.text}" for part in parts)


@dataclass(frozen=True, eq=False)
class BoundKey:
    """The key of an entity in the table or in an index."""

    index: Index | None
    partition: tuple[BoundKeyAttribute, ...]
    sort: tuple[BoundKeyAttribute, ...]
    only_if: Condition | None
    place: Place

    def __repr__(self) -> str:
        owner = "table" if self.index is None else self.index.name
        return f"<Key of {owner}: {self.text}>"

    @property
    def text(self) -> str:
        """The key as text for messages, as in PK = USER#{user_id}, SK = METADATA."""
        return key_text(self.attributes)

    @property
    def attributes(self) -> tuple[BoundKeyAttribute, ...]:
        """The attributes of the partition key, followed by the attributes of the sort key."""
        return (*self.partition, *self.sort)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields in the key, in order."""
        return tuple(dict.fromkeys(name for part in self.attributes for name in part.fields))

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The names of the fields in the key and in its sparse index condition."""
        return tuple(dict.fromkeys((*self.fields, *(path.field for path in paths_of(self.only_if)))))


@dataclass(frozen=True, eq=False, repr=False)
class BoundIndexKey(BoundKey):
    """The key of an entity in an index."""

    index: Index


def bind_key(
    spec: KeySpec, index: Index | None, schema: Schema, fields: Mapping[str, StoredField], entity: str
) -> BoundKey:
    """Bind a declared key to the fields of an entity, and to the key attributes of an index or, if `index` is None, of
    the table.
    """
    partition = index.partition if index is not None else (schema.partition,)
    sort = index.sort if index is not None else schema.key[1:]
    owner = schema.label_of(index)
    _check_length(spec.partition, partition, owner, "partition", spec.place)
    _check_length(spec.sort, sort, owner, "sort", spec.place)
    for path in paths_of(spec.only_if):
        if path.field not in fields:
            place = path.place if path.place.line else spec.place
            raise unknown_field_error(path.field, fields, entity, place.at(f"F.{path.field}", 2))
    declared = declared_fields(fields)
    attributes = [
        _bind_attribute(*pair, fields=fields, declared=declared, entity=entity, place=spec.place)
        for pair in zip((*partition, *sort), (*spec.partition, *spec.sort), strict=True)
    ]
    return _build_key(index, attributes, len(partition), spec.only_if, spec.place)


def bind_stored_key(
    index: Index | None,
    schema: Schema,
    fields: Mapping[str, StoredField],
    place: Place,
    primary: BoundKey | None = None,
) -> BoundKey | None:
    """Return a key whose attributes are all stored fields. Return None if a key attribute is not a field of the entity.

    An index key can also contain attributes of the primary key, as the key of every local secondary index does.
    """
    parts = {field.attribute: BoundKeyAttribute(field.attribute, field=field) for field in fields.values()}
    parts.update({part.attribute: part for part in (primary.attributes if primary is not None else ())})
    partition = index.partition if index is not None else (schema.partition,)
    sort = index.sort if index is not None else schema.key[1:]
    if any(name not in parts for name in (*partition, *sort)):
        return None
    return _build_key(index, [parts[name] for name in (*partition, *sort)], len(partition), None, place)


def _build_key(
    index: Index | None, parts: Sequence[BoundKeyAttribute], partition: int, only_if: Condition | None, place: Place
) -> BoundKey:
    """Return a key with these attributes. The first `partition` attributes form the partition key."""
    arguments = tuple(parts[:partition]), tuple(parts[partition:]), only_if, place
    return BoundKey(None, *arguments) if index is None else BoundIndexKey(index, *arguments)


def _check_length(parts: tuple[KeyPart, ...], names: tuple[str, ...], owner: str, role: str, place: Place) -> None:
    if len(parts) != len(names):
        actual = f"{len(parts)} template{'' if len(parts) == 1 else 's'}"
        raise DesignError(
            f"the {role} key of {owner} consists of {', '.join(names)}, got {actual}"
            if names
            else f"{owner} does not have a {role} key, got {actual}",
            place=place,
            fix=f"write one template for each of {', '.join(names)}" if names else f"omit the {role} key",
        )


def _bind_attribute(
    name: str,
    part: KeyPart,
    *,
    fields: Mapping[str, StoredField],
    declared: Mapping[str, DeclaredField],
    entity: str,
    place: Place,
) -> BoundKeyAttribute:
    if isinstance(part, Attr):
        if part.field not in fields:
            raise unknown_field_error(part.field, fields, entity, place.at(part.field))
        return BoundKeyAttribute(name, field=fields[part.field])
    return BoundKeyAttribute(name, template=bind_template(part, declared, place))


def bind_template(text: str, fields: Mapping[str, DeclaredField], place: Place) -> BoundTemplate:
    """Parse a template and bind it to fields.

    Raises a DesignError that points at the invalid part of the template. `place` is the location of the template in the
    source code.
    """
    try:
        return parse(text).bind(fields)
    except TemplateError as error:
        raise DesignError(
            error.problem,
            place=place.at(text, error.position, _placeholder_width(text, error.position)),
            fix=error.fix,
            code="KP201",
        ) from None


def _placeholder_width(text: str, start: int) -> int:
    """Return the length of the invalid placeholder, field name or spec at `start`, or 1 for any other text."""
    end = text.find("}", start)
    if end < 0:
        return 1
    if text[start : start + 1] == "{":
        return end - start + 1
    return max(1, len(re.split(r"[:{}]", text[start:end])[0]))


def declared_fields(fields: Mapping[str, StoredField]) -> dict[str, DeclaredField]:
    """Return the declared type of each field, for use in templates."""
    return {name: field.declared for name, field in fields.items()}


def find_index(schema: Schema, name: str, place: Place) -> Index:
    """Return the index with this name. Raises DesignError at the location `place` if the table does not have such an
    index.
    """
    index = schema.index(name)
    if index is None:
        names = ", ".join(candidate.name for candidate in schema.indexes) or "none"
        raise DesignError(
            f"table {schema.name} has no index {name}",
            place=place.at(f'"{name}"', 1, len(name)),
            other=schema.place,
            fix=f"declare it in the table's indexes, or use one of them: {names}",
        )
    return index


def unknown_field_error(name: str, known_names: Iterable[str], entity: str, place: Place) -> DesignError:
    """Return a DesignError for a field name that an entity does not have. The fix in the error lists the
    known names.
    """
    return DesignError(
        f"{entity} has no field {name}",
        place=place,
        fix=f"use one of its fields: {', '.join(known_names)}",
        code="KP201",
    )
