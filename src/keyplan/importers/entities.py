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

_PLAIN = {
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
"""The number from which a timestamp is assumed to be in milliseconds. In seconds, it would be after the year 5138."""
_OF_TEMPLATES = re.compile(r"str|int|UUID|date|Literal\[.*\]")
"""The annotations of fields that can be used in a placeholder without a format."""
_MEMBERS = 2
"""The minimum number of sample items in a sparse index from which a condition for the index is derived."""

_MADE = re.compile(r"^[gl]si|[ps]k[\W_]*\d*$", re.IGNORECASE)


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
    return _PLAIN.get(single, ANY)


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
    called: str = ""
    """The name of the field in the imported source, or "" if it has none."""
    default: str | None = None
    """The default value of the field as Python source, or None if the field has no default or the default None."""
    stored: str | None = None


@dataclass(frozen=True)
class PlannedKey:
    """The content of one key attribute of a generated entity, which is either a template with fields or a
    single field.
    """

    attribute: str
    template: str | None
    fields: tuple[str, ...]
    shape: str = ""
    """The form of the sample keys from which the template was guessed, with {} for each value.

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
    """The condition under which a sparse index contains an item of the entity, as Python source, by index name."""
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


def _reads(value: Mapping[str, object], kind: type) -> bool:
    """Return True if a field of type `kind` can be read from an attribute value."""
    ((code, content),) = value.items()
    if kind is int or (kind is datetime and code == "N"):
        return code == "N" and _is_whole(content)
    if code != "S" or not isinstance(content, str):
        return False
    try:
        return kind is str or (date if kind is date else datetime).fromisoformat(content) is not None
    except ValueError:
        return False


class _Planner:
    """A planner that derives the fields and keys of one entity."""

    def __init__(
        self, table: SourceTable, source: SourceEntity, unclaimed: Sequence[str], discriminator: str | None
    ) -> None:
        self._table, self._source = table, source
        self._names = PythonNames.of_class()
        self._made = PlannedEntity(source.name, source)
        self._attributes = [
            name
            for name in dict.fromkeys((*_attributes(table, source), *unclaimed))
            if name != discriminator or name in table.key_attributes
        ]
        self._templates = self._known_templates()
        self._placed: dict[str, str] = {}
        """The name of the field for each placeholder in the known templates."""
        self._shapes = {
            name: shape
            for name in table.key
            if name not in self._templates and (shape := self._shape(name)) is not None
        }

    def _known_templates(self) -> dict[str, Template]:
        """Return the key templates that the source contains, by attribute.

        These are the templates that the source declares, aliases that are templates such as USER#{user_id}, and the
        keys of sample items that show templates.
        """
        templates = {attribute: parse(text) for attribute, text in self._source.templates.items()}
        stated = [(name, alias) for name, alias in self._source.aliases.items() if "{" in alias]
        for row in self._source.template_rows:
            texts = ((name, value.get("S")) for name, value in row.items() if name not in self._table.key)
            stated += [(name, text) for name, text in texts if isinstance(text, str)]
        for attribute, text in stated:
            if attribute in templates or self._table.types.get(attribute) != "S":
                continue
            with suppress(TemplateError):
                template = parse(text)
                if self._are_of(template, attribute):
                    templates[attribute] = template
        return templates

    def _are_of(self, template: Template, attribute: str) -> bool:
        """Return True if the values of `attribute` match a template in all sample items, and its fields have suitable
        values.
        """
        parts = [part for part in template.parts if isinstance(part, Placeholder)]
        kinds: dict[str, type] = {}
        for part in parts:
            kind = self._kind_of(part, attribute)
            kinds[part.field] = datetime if kinds.get(part.field) is datetime else kind
        bound = template.bind({name: DeclaredField.from_annotation(name, kind) for name, kind in kinds.items()})
        texts = [item[attribute].get("S") for item in self._source.samples if attribute in item]
        if len(texts) < len(self._source.samples) and attribute in self._table.key:
            return False
        return all(isinstance(text, str) and bound.match(text) is not None for text in texts) and all(
            _reads(value, kind)
            for name, kind in kinds.items()
            for value in self._values(self._attribute_of(name, attribute))
        )

    def _kind_of(self, part: Placeholder, attribute: str) -> type:
        """Return the type that a field needs for the placeholder `part` of a key attribute's template.

        For a placeholder with a date format, this is datetime if the field contains timestamps in the sample items.
        """
        kind = next((kind for spec, kind in _SPEC_TYPES if spec.fullmatch(part.spec)), str)
        values = self._values(self._attribute_of(part.field, attribute))
        is_day = kind is not date or all(_reads(value, date) for value in values)
        return kind if is_day else datetime

    def _attribute_of(self, called: str, key: str) -> str:
        """Return the attribute whose name matches the placeholder `called`, such as userId for user_id, or "" if none
        matches.

        The attribute `key` is ignored.
        """
        names = [name for name in self._attributes if name != key]
        if called in names:
            return called
        return next((name for name in names if snake_name(name) == snake_name(called)), "")

    def plan(self) -> PlannedEntity:
        """Derive the fields and keys of the entity, and return it."""
        entity = self._made
        for attribute in self._attributes:
            if attribute not in self._shapes and attribute not in self._templates:
                self._add(attribute)
        self._place_all()
        keys = {name: self._key(name, may_add=True) for name in self._table.key}
        entity.key = tuple(keys[name] for name in self._table.key)
        for index in self._table.indexes:
            self._plan_index(index, keys)
        in_key = {name: entity.fields[name] for part in entity.key for name in part.fields}
        entity.fields = {name: replace(planned_field, is_required=True) for name, planned_field in in_key.items()} | {
            name: planned_field for name, planned_field in entity.fields.items() if name not in in_key
        }
        fields = [name for part in entity.key if part.template for name in part.fields]
        entity.keeps_key_fields = not fields or any(name in self._stored_before for name in fields)
        entity.version = next(
            (field.name for field in entity.fields.values() if field.attribute == self._source.version), None
        )
        return entity

    @property
    def _stored_before(self) -> set[str]:
        """Return the names of the fields for which the source has separate attributes. Fields that only keys contain
        are excluded.
        """
        return {field.name for field in self._made.fields.values() if field.attribute in self._attributes}

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
        self._made.indexes[index.name] = parts
        self._made.partition_sizes[index.name] = len(index.partition)
        if any(part.is_generated for part in parts if part.attribute not in self._table.key):
            self._made.templated |= {index.name}

    def _plan_sparse(self, index: Index, keys: dict[str, PlannedKey]) -> None:
        """Add the entity's key attributes in a sparse index to `keys`, if all of them can be derived from other fields.

        A sample item is in the index if it has the index's key attributes. Other fields must contain the values in the
        key, and one field must determine which sample items are in the index.
        """
        own = [name for name in index.attributes if name not in self._table.key and name not in self._templates]
        inside = [all(name in item for name in index.attributes) for item in self._source.samples]
        if not own or all(inside) or sum(inside) < _MEMBERS or any(name in keys for name in own):
            return
        outside = [item for item, is_inside in zip(self._source.samples, inside, strict=True) if not is_inside]
        if any(name in item for item in outside for name in own):
            return
        planned: dict[str, PlannedKey] = {}
        for name in own:
            shape = self._shape(name, inside)
            if shape is None:
                return
            holders = [
                self._holder(called, column, name, inside)
                for called, column in zip(shape.called, shape.values, strict=True)
            ]
            if not all(holders):
                return
            template = shape.text.format(*(f"{{{holder}}}" for holder in holders))
            planned[name] = PlannedKey(name, template, tuple(dict.fromkeys(holders)), shape.text)
        used = {name for part in planned.values() for name in part.fields}
        condition = self._membership(inside, used)
        if condition is None:
            return
        for name in own:
            self._drop(self._field_of(name))
        keys |= planned
        if condition:
            self._made.only_if[index.name] = condition

    def _membership(self, inside: Sequence[bool], used: set[str]) -> str | None:
        """Return a condition that is true for exactly the sample items in an index, or None if no field distinguishes
        them.

        `inside` contains, for each sample item, whether it is in the index. `used` are the fields in the index key. If
        one of them exists only in these items, another condition is not needed, and "" is returned.
        """
        fields = self._made.fields
        if any([text is not None for text in fields[name].column] == list(inside) for name in used):
            return ""
        for candidate in fields.values():
            if self._is_index_key_name(candidate.attribute) or candidate.attribute in self._table.key:
                continue
            pairs = list(zip(candidate.column, inside, strict=True))
            texts, others = ({text for text, is_inside in pairs if is_inside is side} for side in (True, False))
            if candidate.annotation == "str" and len(texts) == 1 and not texts & others:
                (text,) = texts
                return None if text is None else f"F.{candidate.name} == {literal(text)}"
        return None

    # Keys.

    def _key(self, attribute: str, *, may_add: bool) -> PlannedKey:
        """Return the content of a key attribute.

        If `may_add` is True, a value that occurs only in the key can become a new field of the entity.
        """
        if attribute in self._templates:
            return self._templated(attribute, self._templates[attribute])
        shape = self._shapes.get(attribute) if may_add else self._shape(attribute)
        own = self._field_of(attribute)
        if shape is not None:
            names = [
                self._holder(called, column, attribute)
                or self._new(called or self._unnamed(attribute), column, may_add=may_add)
                for called, column in zip(shape.called, shape.values, strict=True)
            ]
            if all(names):
                self._drop(own)
                template = shape.text.format(*(f"{{{name}}}" for name in names))
                return PlannedKey(attribute, template, tuple(dict.fromkeys(names)), shape.text)
        column = () if own is None else own.column
        holder = self._holder("", column, attribute) if own is not None and self._is_index_key_name(attribute) else ""
        if holder and not may_add:
            self._drop(own)
            return PlannedKey(attribute, f"{{{holder}}}", (holder,), VALUE)
        return PlannedKey(attribute, None, () if own is None else (own.name,))

    def _place_all(self) -> None:
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
                (other for other in self._made.fields.values() if part.field in (other.called, other.name)), None
            )
            field = field or self._field_of(self._attribute_of(part.field, key))
            if field is not None and part.field not in self._placed:
                self._placed[part.field] = field.name if self._source.fields else self._renamed(field, part.field)
        for part, attribute in parts:
            if part.field not in self._placed:
                column = (self._columns(self._templates[attribute], attribute) or {}).get(part.field, ())
                holder = self._holder(part.field, column, attribute, besides_placed=True) if column else ""
                if holder and not self._source.is_guessed:
                    holder = self._renamed(self._made.fields[holder], part.field)
                self._placed[part.field] = holder or self._new(part.field, column, may_add=True)
            self._adjust_type(self._placed[part.field], part, attribute)
        if "date" in self._made.fields and any(other.annotation == "date" for other in self._made.fields.values()):
            self._placed["date"] = self._renamed(self._made.fields["date"], "date_")

    def _renamed(self, planned_field: PlannedField, called: str) -> str:
        """Rename a field to the name `called` of a placeholder, and return the new name, which can have a suffix."""
        if planned_field.name == called:
            return called
        name = self._names.take(field_name(called))
        self._made.fields = {
            (name if key == planned_field.name else key): (
                replace(other, name=name, called=called) if key == planned_field.name else other
            )
            for key, other in self._made.fields.items()
        }
        return name

    def _adjust_type(self, name: str, part: Placeholder, key: str) -> None:
        """Change the type of the field `name` to the type that the placeholder `part` requires. A suitable type is
        kept.

        `key` is the key attribute whose template contains the placeholder.
        """
        fields = self._made.fields
        needed, has = self._kind_of(part, key).__name__, fields[name].annotation
        if not part.spec:
            fits = _OF_TEMPLATES.fullmatch(has) is not None
            needed = "int" if has == "Decimal" else needed
        else:
            fits = has == needed or (has == "datetime" and needed == "date") or (needed == "str" and "Literal" in has)
        if not fits:
            default = fields[name].default
            if default is not None and needed == "int":
                default = re.sub(r'Decimal\("(-?\d+)"\)', r"\1", default)
            stored = self._stored(fields[name], needed)
            fields[name] = replace(fields[name], annotation=needed, stored=stored, default=default)

    def _templated(self, attribute: str, template: Template) -> PlannedKey:
        self._drop(self._field_of(attribute))
        text, fields = "", []
        for part in template.parts:
            if isinstance(part, Text):
                text += part.text.replace("{", "{{").replace("}", "}}")
                continue
            name = self._placed[part.field]
            fields.append(name)
            text += f"{{{name}:{part.spec}}}" if part.spec else f"{{{name}}}"
        if self._table.types.get(attribute) != "S":
            return PlannedKey(attribute, None, tuple(fields), is_copy=True)
        shape = re.sub(r"\{[^{}]*\}", VALUE, template.text) if self._source.is_guessed else ""
        return PlannedKey(attribute, text, tuple(dict.fromkeys(fields)), shape)

    def _stored(self, planned_field: PlannedField, needed: str) -> str | None:
        """Return the storage format of a field whose type is changed to `needed`.

        If the type is datetime and the sample items contain numbers, this is "epoch_s" or "epoch_ms". Otherwise, the
        format of the field is not changed.
        """
        numbers = [value["N"] for value in self._values(planned_field.attribute) if "N" in value]
        if needed != "datetime" or not numbers:
            return planned_field.stored
        return "epoch_ms" if any(Decimal(str(number)) >= _MILLISECONDS for number in numbers) else "epoch_s"

    def _columns(self, template: Template, attribute: str) -> dict[str, tuple[str, ...]] | None:
        """Return the texts of each placeholder in the sample items, by placeholder name.

        Return None if the attribute of an item does not match the template.
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
        return {name: tuple(groups[at] for groups in columns) for at, name in enumerate(names)}

    def _is_index_key_name(self, attribute: str) -> bool:
        """Return True if the name of an attribute, such as GSI1PK, suggests that it is used only as an index key."""
        return attribute not in self._table.key and _MADE.search(attribute) is not None

    def _shape(self, attribute: str, inside: Sequence[bool] = ()) -> Shape | None:
        """Return the form that the values of a key attribute have in the sample items, or None if they have no common
        form.

        If `inside` is given, only the sample items for which it contains True are examined. All examined items must
        have the attribute, because a template would also generate it for the other items and add them to the index.
        """
        if attribute == self._table.ttl or self._table.types.get(attribute) != "S":
            return None
        samples = [item for at, item in enumerate(self._source.samples) if not inside or inside[at]]
        texts = [item[attribute]["S"] for item in samples if "S" in item.get(attribute, ())]
        if len(texts) < len(samples) or not all(isinstance(text, str) for text in texts):
            return None
        alias = self._source.aliases.get(attribute, "")
        return shape_of(texts, "" if alias in self._attributes else alias)

    def _holder(
        self,
        called: str,
        column: Sequence[str | None],
        besides: str,
        inside: Sequence[bool] = (),
        *,
        besides_placed: bool = False,
    ) -> str:
        """Return the name of the field whose values in the selected sample items are `column`, or "" if such a field
        does not exist.

        `column` contains the values in one part of a key, and `called` is the name of this part. If `inside` is given,
        only the sample items for which it contains True are compared. The field of the attribute `besides` is ignored.
        If `besides_placed` is True, fields that are already used in other placeholders are also ignored, and "" is
        returned if several fields have the values.
        """
        holders = []
        for candidate in self._made.fields.values():
            own = tuple(text for at, text in enumerate(candidate.column) if not inside or inside[at])
            if (
                not own
                or None in own
                or own != tuple(column)
                or candidate.attribute == besides
                or self._is_index_key_name(candidate.attribute)
                or (besides_placed and candidate.name in self._placed.values())
            ):
                continue
            known_texts = [text for text in own if text is not None]
            if called in {candidate.name, candidate.attribute} or is_distinctive(known_texts):
                holders.append(candidate.name)
        if besides_placed and len(holders) > 1:
            return ""
        word = called.lower().rpartition("_")[0]  # for P#17, productId and not another attribute with the value 17
        return min(holders, key=lambda name: not (word and name.lower().startswith(word)), default="")

    # Fields.

    def _field_of(self, attribute: str) -> PlannedField | None:
        return next((field for field in self._made.fields.values() if field.attribute == attribute), None)

    def _new(self, called: str, column: Sequence[str], *, may_add: bool) -> str:
        """Add a field for a value that occurs only in a key, and return its name. If `may_add` is False, return ""."""
        if not may_add:
            return ""
        name = self._names.take(field_name(called))
        while name in self._attributes:
            name = self._names.take(name)
        self._made.fields[name] = PlannedField(name, name, "str", column=tuple(column), called=called)
        return name

    def _unnamed(self, attribute: str) -> str:
        """Return a field name for a value in a key that does not follow a literal word."""
        return f"{snake_name(self._source.name)}_id" if self._source.is_guessed else attribute

    def _alias(self, attribute: str) -> str:
        """Return the name of a key attribute in the source, or "" if it is not suitable as a field name."""
        alias = self._source.aliases.get(attribute, "")
        return alias if alias.isidentifier() and alias not in self._attributes else ""

    def _add(self, attribute: str) -> None:
        declared = self._source.fields.get(attribute)
        called = declared.name if declared is not None else self._alias(attribute) or attribute
        name = self._names.take(field_name(called))
        needed = attribute in self._table.key
        if declared is None:
            annotation = self._annotation(attribute)
            planned = PlannedField(name, attribute, annotation, needed, self._column(attribute, annotation), called)
        else:
            planned = PlannedField(
                name, attribute, declared.annotation, needed or declared.is_required, (), called, declared.default,
                declared.stored,
            )  # fmt: skip
        self._made.fields[name] = planned

    def _drop(self, planned_field: PlannedField | None) -> None:
        """Remove a field if it is not None. Used for a field whose attribute is generated from a template."""
        if planned_field is not None:
            del self._made.fields[planned_field.name]

    def _annotation(self, attribute: str) -> str:
        annotation = python_type(self._table.types.get(attribute), self._values(attribute))
        if attribute in self._table.key_attributes:
            code = self._table.types[attribute]
            fits = {"S": ("str",), "N": ("int", "Decimal"), "B": ("bytes",)}[code]
            annotation = annotation if annotation in fits else fits[-1]
        if attribute == self._table.ttl and annotation in {"int", "Decimal", "Any"}:
            return "datetime" if self._expires_whole(attribute) else "Decimal"
        return annotation

    def _expires_whole(self, attribute: str) -> bool:
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
    """Return the attribute that distinguishes the kinds of items, and its value for each kind. If none does, return
    (None, ()).

    The attribute is declared in the source, or has the same value in all sample items of each kind.
    """
    if table.discriminator is not None:
        return table.discriminator, tuple(kind.discriminator or kind.name for kind in table.entities)
    if len(table.entities) < 2 or not all(kind.samples for kind in table.entities):
        return None, ()
    for attribute in table.entities[0].samples[0]:
        values = [_constant(kind.samples, attribute) for kind in table.entities]
        known_values = [value for value in values if value]
        if attribute not in table.key_attributes and len(set(known_values)) == len(values) == len(known_values):
            return attribute, tuple(known_values)
    return None, ()


def _constant(samples: Sequence[Item], attribute: str) -> str:
    """Return the string value that an attribute has in all sample items, or "" if the values differ."""
    values = {str(item.get(attribute, {}).get("S", "")) for item in samples}
    return values.pop() if len(values) == 1 else ""
