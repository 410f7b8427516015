"""Functions and classes that derive entities from the schemas and sample items in an imported source.

An entity has typed fields, keys and, if the items have one, a discriminator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from keyplan.design.fields.annotations import DeclaredField
from keyplan.design.keys.encodings import TemplateError
from keyplan.design.keys.placeholders import Placeholder, Text
from keyplan.design.keys.templates import Template, parse
from keyplan.design.schema import Index
from keyplan.importers.key_shapes import VALUE, Shape, is_distinctive, shape_of
from keyplan.importers.python_text import PythonNames, field_name, literal, snake_name
from keyplan.importers.schemas import Item, SourceEntity, SourceTable

_ANNOTATIONS = {
    "S": "str",
    "B": "bytes",
    "BOOL": "bool",
    "M": "dict[str, Any]",
    "L": "list[Any]",
    "SS": "set[str]",
    "BS": "set[bytes]",
}
ANY = "Any"


_SETS = ("SS", "NS", "BS")
_SPEC_TYPES: tuple[tuple[re.Pattern[str], type], ...] = (
    (re.compile(r"0\d+d"), int),
    (re.compile(r"(utc|epoch)_\w+|hour|minute"), datetime),
    (re.compile(r"date|month|year"), date),
)
"""Pairs of a regular expression for formats in the placeholders of key templates, and the field type that they require.

Other formats accept strings.
"""
_MILLISECONDS = 10**11
"""The smallest number that is read as a timestamp in milliseconds. As a timestamp in seconds, it would be in the year
5138.
"""
_TEMPLATE_ANNOTATIONS = re.compile(r"str|int|UUID|date|Literal\[.*\]")
"""The annotations of fields that can be used in a placeholder without a format."""
_MIN_SPARSE_ITEMS = 2
"""The minimum number of sample items that a sparse index must contain, so that a condition for the index can be
derived.
"""

_KEY_NAME = re.compile(r"^[gl]si|[ps]k[\W_]*\d*$", re.IGNORECASE)


def is_item(value: object) -> bool:
    """Return True if a value has the form of an item: a mapping from attribute names to typed values."""
    return isinstance(value, Mapping) and all(map(_is_value, value.values()))


def _is_value(value: object) -> bool:
    if not (isinstance(value, Mapping) and len(value) == 1):
        return False
    ((code, content),) = value.items()
    return code not in _SETS or isinstance(content, list)


def python_type(code: str | None, values: Iterable[Mapping[str, Any]]) -> str:
    """Return the annotation for an attribute, derived from its type and its sample values.

    `code` is the DynamoDB type, or None if it is unknown. For a number without sample values, the annotation is
    Decimal, which accepts every number.
    """
    contents = [next(iter(value.items())) for value in values if "NULL" not in value]
    codes = {name for name, _ in contents} or ({code} if code else set())
    if len(codes) != 1:
        return ANY
    (single,) = codes
    if single == "N":
        return _number([content for _, content in contents])
    if single == "NS":
        return f"set[{_number([element for _, content in contents for element in content])}]"
    return _ANNOTATIONS.get(single, ANY)


def _number(contents: list[Any]) -> str:
    return "int" if contents and all(map(_is_whole, contents)) else "Decimal"


def _is_whole(content: object) -> bool:
    try:
        number = Decimal(str(content))
    except InvalidOperation:
        return False
    return number.is_finite() and number == number.to_integral_value()


@dataclass(frozen=True)
class PlannedField:
    """A field of a generated entity."""

    name: str
    attribute: str
    """The name of the attribute that stores the field."""
    annotation: str
    is_required: bool = False
    column: tuple[str | None, ...] = ()
    """The string value of the attribute in each sample item. It is None if the attribute is missing or has another
    type.
    """
    source_name: str = ""
    """The name of the field in the imported source, or "" if it has none."""
    default: str | None = None
    """The default value of the field as Python source. None if the field has no default, or if its default is None."""
    stored: str | None = None


@dataclass(frozen=True)
class PlannedKey:
    """The content of one key attribute of a generated entity: either a template with fields, or a single field."""

    attribute: str
    template: str | None
    fields: tuple[str, ...]
    shape: str = ""
    """The common form of the sample keys that the template was guessed from, with {} for each value.

    The string is empty if the template was not guessed.
    """
    is_copy: bool = False
    """True if the key attribute contains a field that is also stored in another attribute."""

    @property
    def is_generated(self) -> bool:
        """Return True if the value of the key attribute is derived from a template or copied from a field."""
        return self.template is not None or self.is_copy


@dataclass
class PlannedEntity:
    """A generated entity with its fields, keys and index keys."""

    name: str
    source: SourceEntity
    fields: dict[str, PlannedField] = field(default_factory=dict)
    """The fields of the entity, by field name."""
    key: tuple[PlannedKey, ...] = ()
    indexes: dict[str, tuple[PlannedKey, ...]] = field(default_factory=dict)
    """The key attributes of the entity in each index, by index name. Indexes that do not contain the entity are
    omitted.
    """
    partition_sizes: dict[str, int] = field(default_factory=dict)
    """The number of attributes in the partition key of each index, by index name."""
    templated: frozenset[str] = frozenset()
    """The names of the indexes whose keys have templates."""
    only_if: dict[str, str] = field(default_factory=dict)
    """The condition for an item to be in a sparse index, as Python source, by index name."""
    keeps_key_fields: bool = True
    """False if the fields in the primary key are stored only as parts of the key, otherwise True."""
    version: str | None = None

    @property
    def is_guessed(self) -> bool:
        """Return True if the entity or one of its keys was guessed from sample items."""
        return self.source.is_guessed or any(part.shape for key in (self.key, *self.indexes.values()) for part in key)


def plan_entities(table: SourceTable, discriminator: str | None = None) -> list[PlannedEntity]:
    """Return the entities of a table, one for each kind of item. If the kinds are unknown, return one entity for all
    items.

    `discriminator` is the name of the attribute that contains the kind of each item, or None if it is unknown.
    """
    entities = table.entities or (SourceEntity(name="", attributes=()),)
    projected = [name for index in table.indexes if isinstance(index.project, tuple) for name in index.project]
    unclaimed = [
        name
        for name in (*table.key_attributes, *projected, *([table.ttl] if table.ttl else []))
        if not any(name in _attributes(table, value) or name in value.templates for value in entities)
    ]
    return [_Planner(table, value, unclaimed, discriminator).plan() for value in entities]


def _attributes(table: SourceTable, entity: SourceEntity) -> list[str]:
    """Return the names of the attributes of one kind of item: first the primary key, then index keys, then
    the others.
    """
    attributes = dict.fromkeys((*entity.attributes, *(name for item in entity.samples for name in item)))
    first = [name for name in table.key_attributes if name in attributes or name in table.key]
    return list(dict.fromkeys((*table.key, *first, *attributes)))


def _is_readable_as(value: Mapping[str, object], python_type: type) -> bool:
    """Return True if a field of type `python_type` can be read from an attribute value."""
    ((code, content),) = value.items()
    if python_type is int or (python_type is datetime and code == "N"):
        return code == "N" and _is_whole(content)
    if code != "S" or not isinstance(content, str):
        return False
    try:
        return python_type is str or (date if python_type is date else datetime).fromisoformat(content) is not None
    except ValueError:
        return False


class _Planner:
    """Derives the fields and keys of one entity."""

    def __init__(
        self, table: SourceTable, source: SourceEntity, unclaimed: Sequence[str], discriminator: str | None
    ) -> None:
        self._table, self._source = table, source
        self._names = PythonNames.for_class()
        self._entity = PlannedEntity(source.name, source)
        self._attributes = [
            name
            for name in dict.fromkeys((*_attributes(table, source), *unclaimed))
            if name != discriminator or name in table.key_attributes
        ]
        self._templates = self._known_templates()
        self._fields_by_placeholder: dict[str, str] = {}
        """The name of the field for each placeholder in the known templates."""
        self._shapes = {
            name: shape
            for name in table.key
            if name not in self._templates and (shape := self._shape(name)) is not None
        }

    def _known_templates(self) -> dict[str, Template]:
        """Return the key templates that the source contains, by attribute.

        A source can declare templates, use a template such as USER#{user_id} as the alias of a key attribute, or
        contain sample rows with templates instead of values.
        """
        templates = {attribute: parse(text) for attribute, text in self._source.templates.items()}
        candidates = [(name, alias) for name, alias in self._source.aliases.items() if "{" in alias]
        for row in self._source.template_rows:
            texts = ((name, value.get("S")) for name, value in row.items() if name not in self._table.key)
            candidates += [(name, text) for name, text in texts if isinstance(text, str)]
        for attribute, text in candidates:
            if attribute in templates or self._table.types.get(attribute) != "S":
                continue
            with suppress(TemplateError):
                template = parse(text)
                if self._fits_samples(template, attribute):
                    templates[attribute] = template
        return templates

    def _fits_samples(self, template: Template, attribute: str) -> bool:
        """Return True if the values of `attribute` match a template in all sample items, and its fields have suitable
        values.
        """
        parts = [part for part in template.parts if isinstance(part, Placeholder)]
        types: dict[str, type] = {}
        for part in parts:
            field_type = self._type_of(part, attribute)
            types[part.field] = datetime if types.get(part.field) is datetime else field_type
        bound = template.bind(
            {name: DeclaredField.from_annotation(name, field_type) for name, field_type in types.items()}
        )
        texts = [item[attribute].get("S") for item in self._source.samples if attribute in item]
        if len(texts) < len(self._source.samples) and attribute in self._table.key:
            return False
        return all(isinstance(text, str) and bound.match(text) is not None for text in texts) and all(
            _is_readable_as(value, field_type)
            for name, field_type in types.items()
            for value in self._values(self._attribute_of(name, attribute))
        )

    def _type_of(self, part: Placeholder, attribute: str) -> type:
        """Return the type that a field needs for the placeholder `part` of a key attribute's template.

        For a placeholder with a date format, this is datetime if the field contains timestamps in the sample items.
        """
        field_type = next((field_type for spec, field_type in _SPEC_TYPES if spec.fullmatch(part.spec)), str)
        values = self._values(self._attribute_of(part.field, attribute))
        is_day = field_type is not date or all(_is_readable_as(value, date) for value in values)
        return field_type if is_day else datetime

    def _attribute_of(self, placeholder_name: str, skipped_key: str) -> str:
        """Return the attribute whose name matches the placeholder `placeholder_name`, such as userId for user_id, or ""
        if none matches.

        The attribute `skipped_key` is ignored.
        """
        names = [name for name in self._attributes if name != skipped_key]
        if placeholder_name in names:
            return placeholder_name
        return next((name for name in names if snake_name(name) == snake_name(placeholder_name)), "")

    def plan(self) -> PlannedEntity:
        """Derive the fields and keys of the entity, and return it."""
        entity = self._entity
        for attribute in self._attributes:
            if attribute not in self._shapes and attribute not in self._templates:
                self._add(attribute)
        self._assign_placeholders()
        keys = {name: self._key(name, may_add=True) for name in self._table.key}
        entity.key = tuple(keys[name] for name in self._table.key)
        for index in self._table.indexes:
            self._plan_index(index, keys)
        in_key = {name: entity.fields[name] for part in entity.key for name in part.fields}
        entity.fields = {name: replace(planned_field, is_required=True) for name, planned_field in in_key.items()} | {
            name: planned_field for name, planned_field in entity.fields.items() if name not in in_key
        }
        fields = [name for part in entity.key if part.template for name in part.fields]
        entity.keeps_key_fields = not fields or any(name in self._declared_names for name in fields)
        entity.version = next(
            (field.name for field in entity.fields.values() if field.attribute == self._source.version), None
        )
        return entity

    @property
    def _declared_names(self) -> set[str]:
        """Return the names of the fields that have their own attribute in the source. Fields that are only parts of
        keys are omitted.
        """
        return {field.name for field in self._entity.fields.values() if field.attribute in self._attributes}

    # Indexes.

    def _plan_index(self, index: Index, keys: dict[str, PlannedKey]) -> None:
        """Add the entity's key attributes in `index` to `keys`, if its items have all key attributes of the index."""
        if not all(name in self._attributes or name in self._templates for name in index.attributes):
            return
        self._plan_sparse(index, keys)
        for name in index.attributes:
            if name not in keys:
                keys[name] = self._key(name, may_add=False)
        parts = tuple(keys[name] for name in index.attributes)
        self._entity.indexes[index.name] = parts
        self._entity.partition_sizes[index.name] = len(index.partition)
        if any(part.is_generated for part in parts if part.attribute not in self._table.key):
            self._entity.templated |= {index.name}

    def _plan_sparse(self, index: Index, keys: dict[str, PlannedKey]) -> None:
        """Add the entity's key attributes in a sparse index to `keys`, if all of them can be derived from other fields.

        A sample item is in the index if it has the index's key attributes. Other fields must contain the values in the
        key, and one field must determine which sample items are in the index.
        """
        index_only = [name for name in index.attributes if name not in self._table.key and name not in self._templates]
        in_index = [all(name in item for name in index.attributes) for item in self._source.samples]
        if (
            not index_only
            or all(in_index)
            or sum(in_index) < _MIN_SPARSE_ITEMS
            or any(name in keys for name in index_only)
        ):
            return
        other_items = [
            item for item, is_in_index in zip(self._source.samples, in_index, strict=True) if not is_in_index
        ]
        if any(name in item for item in other_items for name in index_only):
            return
        planned_keys: dict[str, PlannedKey] = {}
        for name in index_only:
            shape = self._shape(name, in_index)
            if shape is None:
                return
            holders = [
                self._holder(value_name, column, name, in_index)
                for value_name, column in zip(shape.value_names, shape.values, strict=True)
            ]
            if not all(holders):
                return
            template = shape.text.format(*(f"{{{holder}}}" for holder in holders))
            planned_keys[name] = PlannedKey(name, template, tuple(dict.fromkeys(holders)), shape.text)
        key_fields = {name for part in planned_keys.values() for name in part.fields}
        condition = self._index_condition(in_index, key_fields)
        if condition is None:
            return
        for name in index_only:
            self._drop(self._field_of(name))
        keys |= planned_keys
        if condition:
            self._entity.only_if[index.name] = condition

    def _index_condition(self, in_index: Sequence[bool], key_fields: set[str]) -> str | None:
        """Return a condition that is true for exactly the sample items in an index, or None if no field distinguishes
        these items from the others.

        `in_index` contains, for each sample item, whether it is in the index. `key_fields` are the fields in the index
        key. If one of these fields has a value only in the items in the index, no further condition is needed, and ""
        is returned.
        """
        fields = self._entity.fields
        if any([text is not None for text in fields[name].column] == list(in_index) for name in key_fields):
            return ""
        for candidate in fields.values():
            if self._is_index_key_name(candidate.attribute) or candidate.attribute in self._table.key:
                continue
            pairs = list(zip(candidate.column, in_index, strict=True))
            texts, other_texts = (
                {text for text, is_in_index in pairs if is_in_index is is_member} for is_member in (True, False)
            )
            if candidate.annotation == "str" and len(texts) == 1 and not texts & other_texts:
                (text,) = texts
                return None if text is None else f"F.{candidate.name} == {literal(text)}"
        return None

    # Keys.

    def _key(self, attribute: str, *, may_add: bool) -> PlannedKey:
        """Return the content of a key attribute.

        If `may_add` is True, a value that occurs only in the key can become a new field of the entity.
        """
        if attribute in self._templates:
            return self._template_key(attribute, self._templates[attribute])
        shape = self._shapes.get(attribute) if may_add else self._shape(attribute)
        own_field = self._field_of(attribute)
        if shape is not None:
            names = [
                self._holder(value_name, column, attribute)
                or self._add_key_field(value_name or self._default_name(attribute), column, may_add=may_add)
                for value_name, column in zip(shape.value_names, shape.values, strict=True)
            ]
            if all(names):
                self._drop(own_field)
                template = shape.text.format(*(f"{{{name}}}" for name in names))
                return PlannedKey(attribute, template, tuple(dict.fromkeys(names)), shape.text)
        column = () if own_field is None else own_field.column
        holder = (
            self._holder("", column, attribute) if own_field is not None and self._is_index_key_name(attribute) else ""
        )
        if holder and not may_add:
            self._drop(own_field)
            return PlannedKey(attribute, f"{{{holder}}}", (holder,), VALUE)
        return PlannedKey(attribute, None, () if own_field is None else (own_field.name,))

    def _assign_placeholders(self) -> None:
        """Assign a field to each placeholder in the known templates.

        Fields are renamed, added or given a different type if necessary.
        """
        parts = [
            (part, attribute)
            for attribute, template in self._templates.items()
            for part in template.parts
            if isinstance(part, Placeholder)
        ]
        for part, key in parts:
            field = next(
                (
                    candidate
                    for candidate in self._entity.fields.values()
                    if part.field in (candidate.source_name, candidate.name)
                ),
                None,
            )
            field = field or self._field_of(self._attribute_of(part.field, key))
            if field is not None and part.field not in self._fields_by_placeholder:
                self._fields_by_placeholder[part.field] = (
                    field.name if self._source.fields else self._rename(field, part.field)
                )
        for part, attribute in parts:
            if part.field not in self._fields_by_placeholder:
                column = (self._columns(self._templates[attribute], attribute) or {}).get(part.field, ())
                holder = self._holder(part.field, column, attribute, skip_assigned=True) if column else ""
                if holder and not self._source.is_guessed:
                    holder = self._rename(self._entity.fields[holder], part.field)
                self._fields_by_placeholder[part.field] = holder or self._add_key_field(
                    part.field, column, may_add=True
                )
            self._adjust_type(self._fields_by_placeholder[part.field], part, attribute)
        if "date" in self._entity.fields and any(
            candidate.annotation == "date" for candidate in self._entity.fields.values()
        ):
            self._fields_by_placeholder["date"] = self._rename(self._entity.fields["date"], "date_")

    def _rename(self, planned_field: PlannedField, new_name: str) -> str:
        """Rename a field to match the placeholder `new_name`, and return the field's new name.

        The new name differs from `new_name` if `new_name` is not a valid field name or is already used.
        """
        if planned_field.name == new_name:
            return new_name
        name = self._names.reserve(field_name(new_name))
        self._entity.fields = {
            (name if key == planned_field.name else key): (
                replace(other_field, name=name, source_name=new_name) if key == planned_field.name else other_field
            )
            for key, other_field in self._entity.fields.items()
        }
        return name

    def _adjust_type(self, name: str, part: Placeholder, key: str) -> None:
        """Change the type of the field `name` to the type that the placeholder `part` requires. A suitable type is
        kept.

        `key` is the key attribute whose template contains the placeholder.
        """
        fields = self._entity.fields
        required_type, annotation = self._type_of(part, key).__name__, fields[name].annotation
        if not part.spec:
            fits = _TEMPLATE_ANNOTATIONS.fullmatch(annotation) is not None
            required_type = "int" if annotation == "Decimal" else required_type
        else:
            fits = (
                annotation == required_type
                or (annotation == "datetime" and required_type == "date")
                or (required_type == "str" and "Literal" in annotation)
            )
        if not fits:
            default = fields[name].default
            if default is not None and required_type == "int":
                default = re.sub(r'Decimal\("(-?\d+)"\)', r"\1", default)
            stored = self._storage_format(fields[name], required_type)
            fields[name] = replace(fields[name], annotation=required_type, stored=stored, default=default)

    def _template_key(self, attribute: str, template: Template) -> PlannedKey:
        self._drop(self._field_of(attribute))
        text, fields = "", []
        for part in template.parts:
            if isinstance(part, Text):
                text += part.text.replace("{", "{{").replace("}", "}}")
                continue
            name = self._fields_by_placeholder[part.field]
            fields.append(name)
            text += f"{{{name}:{part.spec}}}" if part.spec else f"{{{name}}}"
        if self._table.types.get(attribute) != "S":
            return PlannedKey(attribute, None, tuple(fields), is_copy=True)
        shape = re.sub(r"\{[^{}]*\}", VALUE, template.text) if self._source.is_guessed else ""
        return PlannedKey(attribute, text, tuple(dict.fromkeys(fields)), shape)

    def _storage_format(self, planned_field: PlannedField, required_type: str) -> str | None:
        """Return the storage format of a field whose type is changed to `required_type`.

        If the type is datetime and the sample items contain numbers, this is "epoch_s" or "epoch_ms". Otherwise, the
        format of the field is not changed.
        """
        numbers = [value["N"] for value in self._values(planned_field.attribute) if "N" in value]
        if required_type != "datetime" or not numbers:
            return planned_field.stored
        return "epoch_ms" if any(Decimal(str(number)) >= _MILLISECONDS for number in numbers) else "epoch_s"

    def _columns(self, template: Template, attribute: str) -> dict[str, tuple[str, ...]] | None:
        """Return, for each placeholder of a template, the text that it stands for in each sample item.

        Return None if an item's attribute does not match the template.
        """
        pattern = "".join(re.escape(part.text) if isinstance(part, Text) else "(.+?)" for part in template.parts)
        columns = []
        for item in self._source.samples:
            text = item.get(attribute, {}).get("S")
            match = re.fullmatch(pattern, text, re.DOTALL) if isinstance(text, str) else None
            if match is None:
                return None
            columns.append(match.groups())
        names = [part.field for part in template.parts if isinstance(part, Placeholder)]
        return {name: tuple(groups[index] for groups in columns) for index, name in enumerate(names)}

    def _is_index_key_name(self, attribute: str) -> bool:
        """Return True if the name of an attribute, such as GSI1PK, suggests that it is used only as an index key."""
        return attribute not in self._table.key and _KEY_NAME.search(attribute) is not None

    def _shape(self, attribute: str, in_index: Sequence[bool] = ()) -> Shape | None:
        """Return the form that the values of a key attribute have in the sample items, or None if they have no common
        form.

        If `in_index` is given, only the items that it marks as True are examined. All examined items must have the
        attribute, because a template would also generate it for the other items and add them to the index.
        """
        if attribute == self._table.ttl or self._table.types.get(attribute) != "S":
            return None
        samples = [item for index, item in enumerate(self._source.samples) if not in_index or in_index[index]]
        texts = [item[attribute]["S"] for item in samples if "S" in item.get(attribute, ())]
        if len(texts) < len(samples) or not all(isinstance(text, str) for text in texts):
            return None
        alias = self._source.aliases.get(attribute, "")
        return shape_of(texts, "" if alias in self._attributes else alias)

    def _holder(
        self,
        value_name: str,
        column: Sequence[str | None],
        skipped_attribute: str,
        in_index: Sequence[bool] = (),
        *,
        skip_assigned: bool = False,
    ) -> str:
        """Return the name of the field that has the values in `column` in the sample items, or "" if no field has them.

        `column` contains the values of one part of a key, and `value_name` is the name of this part. If `in_index` is
        given, only the items that it marks as True are compared. The field of the attribute `skipped_attribute` is
        ignored. If `skip_assigned` is True, fields that already belong to another placeholder are ignored too, and ""
        is returned if several fields have the values.
        """
        holders = []
        for candidate in self._entity.fields.values():
            values = tuple(text for index, text in enumerate(candidate.column) if not in_index or in_index[index])
            if (
                not values
                or None in values
                or values != tuple(column)
                or candidate.attribute == skipped_attribute
                or self._is_index_key_name(candidate.attribute)
                or (skip_assigned and candidate.name in self._fields_by_placeholder.values())
            ):
                continue
            known_texts = [text for text in values if text is not None]
            if value_name in {candidate.name, candidate.attribute} or is_distinctive(known_texts):
                holders.append(candidate.name)
        if skip_assigned and len(holders) > 1:
            return ""
        word = value_name.lower().rpartition("_")[0]  # for P#17, productId and not another attribute with the value 17
        return min(holders, key=lambda name: not (word and name.lower().startswith(word)), default="")

    # Fields.

    def _field_of(self, attribute: str) -> PlannedField | None:
        return next((field for field in self._entity.fields.values() if field.attribute == attribute), None)

    def _add_key_field(self, base_name: str, column: Sequence[str], *, may_add: bool) -> str:
        """Add a field for a value that occurs only in a key, and return its name. If `may_add` is False, return ""."""
        if not may_add:
            return ""
        name = self._names.reserve(field_name(base_name))
        while name in self._attributes:
            name = self._names.reserve(name)
        self._entity.fields[name] = PlannedField(name, name, "str", column=tuple(column), source_name=base_name)
        return name

    def _default_name(self, attribute: str) -> str:
        """Return a field name for a value in the key `attribute`, for use if the value does not follow a
        literal word.
        """
        return f"{snake_name(self._source.name)}_id" if self._source.is_guessed else attribute

    def _alias(self, attribute: str) -> str:
        """Return the name of a key attribute in the source, or "" if it is not suitable as a field name."""
        alias = self._source.aliases.get(attribute, "")
        return alias if alias.isidentifier() and alias not in self._attributes else ""

    def _add(self, attribute: str) -> None:
        declared = self._source.fields.get(attribute)
        source_name = declared.name if declared is not None else self._alias(attribute) or attribute
        name = self._names.reserve(field_name(source_name))
        is_required = attribute in self._table.key
        if declared is None:
            annotation = self._annotation(attribute)
            planned = PlannedField(
                name, attribute, annotation, is_required, self._column(attribute, annotation), source_name
            )
        else:
            planned = PlannedField(
                name,
                attribute,
                declared.annotation,
                is_required or declared.is_required,
                (),
                source_name,
                declared.default,
                declared.stored,
            )
        self._entity.fields[name] = planned

    def _drop(self, planned_field: PlannedField | None) -> None:
        """Remove a field whose attribute is generated from a template. If `planned_field` is None, do nothing."""
        if planned_field is not None:
            del self._entity.fields[planned_field.name]

    def _annotation(self, attribute: str) -> str:
        annotation = python_type(self._table.types.get(attribute), self._values(attribute))
        if attribute in self._table.key_attributes:
            code = self._table.types[attribute]
            fits = {"S": ("str",), "N": ("int", "Decimal"), "B": ("bytes",)}[code]
            annotation = annotation if annotation in fits else fits[-1]
        if attribute == self._table.ttl and annotation in {"int", "Decimal", "Any"}:
            return "datetime" if self._has_whole_expiry(attribute) else "Decimal"
        return annotation

    def _has_whole_expiry(self, attribute: str) -> bool:
        values = self._values(attribute)
        return not values or python_type("N", values) == "int"

    def _values(self, attribute: str) -> list[Mapping[str, object]]:
        return [item[attribute] for item in self._source.samples if attribute in item]

    def _column(self, attribute: str, annotation: str) -> tuple[str | None, ...]:
        """Return the string value of an attribute in each sample item. If the annotation is int, numbers are returned
        as digits.
        """
        codes = ("S", "N") if annotation == "int" else ("S",)
        values = [item.get(attribute, {}) for item in self._source.samples]
        texts = [next((value[code] for code in codes if code in value), None) for value in values]
        return tuple(text if isinstance(text, str) else None for text in texts)


def discriminator(table: SourceTable) -> tuple[str | None, tuple[str, ...]]:
    """Return the attribute that distinguishes the kinds of items, and its value for each kind.

    The attribute is declared in the source, or has the same value in all sample items of each kind. Return (None, ())
    if no such attribute exists.
    """
    if table.discriminator is not None:
        return table.discriminator, tuple(entity.discriminator or entity.name for entity in table.entities)
    if len(table.entities) < 2 or not all(entity.samples for entity in table.entities):
        return None, ()
    for attribute in table.entities[0].samples[0]:
        values = [_constant(entity.samples, attribute) for entity in table.entities]
        known_values = [value for value in values if value]
        if attribute not in table.key_attributes and len(set(known_values)) == len(values) == len(known_values):
            return attribute, tuple(known_values)
    return None, ()


def _constant(samples: Sequence[Item], attribute: str) -> str:
    """Return the string value that an attribute has in all sample items, or "" if the values differ."""
    values = {str(item.get(attribute, {}).get("S", "")) for item in samples}
    return values.pop() if len(values) == 1 else ""
