"""Importer for PynamoDB models in Python files, which are parsed but not executed.

Source: pynamodb.readthedocs.io, "API", "Attributes", "Index Queries", "Polymorphism"; github.com/pynamodb/PynamoDB 6.1,
pynamodb/attributes.py (types, attr_name, null, default), pynamodb/indexes.py (index_name is the attribute's name by
default), pynamodb/constants.py (STREAM_..., ..._BILLING_MODE).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, cast

from keyplan.design.schema import Index, Projection, StreamView
from keyplan.design.workload import Billing, OnDemand, Provisioned
from keyplan.importers.nodes import ImportSourceError
from keyplan.importers.python_text import literal
from keyplan.importers.schemas import ImportSource, SourceEntity, SourceField, SourceTable

_ATTRIBUTES: dict[str, tuple[str, str]] = {
    "BinaryAttribute": ("bytes", "B"),
    "BinarySetAttribute": ("set[bytes]", "BS"),
    "BooleanAttribute": ("bool", "BOOL"),
    "DiscriminatorAttribute": ("str", "S"),
    "DynamicMapAttribute": ("dict[str, Any]", "M"),
    "JSONAttribute": ("str", "S"),
    "ListAttribute": ("list[Any]", "L"),
    "MapAttribute": ("dict[str, Any]", "M"),
    "NullAttribute": ("None", "NULL"),
    "NumberAttribute": ("Decimal", "N"),
    "NumberSetAttribute": ("set[Decimal]", "NS"),
    "TTLAttribute": ("datetime", "N"),
    "UTCDateTimeAttribute": ("datetime", "S"),
    "UnicodeAttribute": ("str", "S"),
    "UnicodeSetAttribute": ("set[str]", "SS"),
    "VersionAttribute": ("int", "N"),
}
"""The Python annotation and the DynamoDB attribute type for each PynamoDB attribute class."""
_INDEXES = {"GlobalSecondaryIndex": "GSI", "LocalSecondaryIndex": "LSI"}
_PROJECTIONS = {"AllProjection": "all", "KeysOnlyProjection": "keys"}
_CONSTANTS = {
    "STREAM_NEW_IMAGE": "NEW_IMAGE",
    "STREAM_OLD_IMAGE": "OLD_IMAGE",
    "STREAM_NEW_AND_OLD_IMAGE": "NEW_AND_OLD_IMAGES",
    "STREAM_KEYS_ONLY": "KEYS_ONLY",
    "PAY_PER_REQUEST_BILLING_MODE": "PAY_PER_REQUEST",
    "PROVISIONED_BILLING_MODE": "PROVISIONED",
}
_META_MEMBERS = frozenset({
    "billing_mode", "index_name", "projection", "read_capacity_units", "stream_view_type", "table_name",
    "write_capacity_units",
})  # fmt: skip
_CONNECTION = frozenset({
    "aws_access_key_id", "aws_secret_access_key", "aws_session_token", "base_backoff_ms", "connect_timeout_seconds",
    "extra_headers", "host", "max_pool_connections", "max_retry_attempts", "read_timeout_seconds", "region",
    "retry_configuration",
})  # fmt: skip
"""The members of a Meta class that configure the client, and not the table."""
_ATTRIBUTE_OPTIONS = frozenset({
    "attr_name", "default", "default_for_new", "hash_key", "legacy_encoding", "null", "of", "range_key",
})  # fmt: skip
_NOTES = {
    "JSONAttribute": "its text is JSON: parse it in the program, or store a dict",
    "UTCDateTimeAttribute": (
        "PynamoDB cannot read items written with the design: their timestamps end in Z, and PynamoDB accepts only +0000"
    ),
}


@dataclass(frozen=True)
class _Attribute:
    """An attribute of a model or of an index."""

    name: str
    stored: str
    kind: str
    """The name of the PynamoDB attribute class, or "" if it is unknown."""
    options: Mapping[str, ast.expr] = field(default_factory=dict)

    def has_option(self, option: str) -> bool:
        """Return True if the option named `option` is set to True for the attribute."""
        value = self.options.get(option)
        return isinstance(value, ast.Constant) and value.value is True


class _Module:
    """The classes and constants in a Python file."""

    def __init__(self, name: str, text: str) -> None:
        self.name = PurePath(name).name or name
        try:
            self._tree = ast.parse(text.removeprefix("\ufeff"))
        except (SyntaxError, ValueError) as error:
            location = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
            problem = error.msg if isinstance(error, SyntaxError) else str(error)
            raise ImportSourceError(f"{self.name} is not Python: {problem}{location}") from None
        except RecursionError:
            raise ImportSourceError(f"{self.name} is nested too deeply to be read") from None
        self.classes = {node.name: node for node in ast.walk(self._tree) if isinstance(node, ast.ClassDef)}
        self._constants = dict(_assignments(self._tree.body))

    def bases(self, node: ast.ClassDef) -> Iterator[str]:
        """Yield the names of all base classes of a class, in order from the nearest to the most distant."""
        names = {node.name}
        pending = [_last_name(base) for base in node.bases]
        while pending:
            name = pending.pop(0)
            if name in names:
                continue
            names.add(name)
            yield name
            if name in self.classes:
                pending += [_last_name(base) for base in self.classes[name].bases]

    def local_classes(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """Return a class and its base classes in the file, in order from the class itself to the most distant base
        class.
        """
        return [node, *(self.classes[name] for name in self.bases(node) if name in self.classes)]

    def constant(self, node: ast.expr | None) -> Any:
        """Return the value of an expression: a literal, a PynamoDB constant, or a name that refers to one of them.

        Return None for other expressions.
        """
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            number = node.operand.value
            return -number if isinstance(number, (int, float)) else None
        if isinstance(node, (ast.Name, ast.Attribute)):
            value = self._constants.get(node.id) if isinstance(node, ast.Name) else None
            if isinstance(value, ast.Name):  # a name of a name
                return _CONSTANTS.get(value.id)
            return _CONSTANTS.get(_last_name(node)) if value is None else self.constant(value)
        return None

    def attribute_class(self, class_name: str) -> str:
        """Return the PynamoDB attribute class that the class named `class_name` is derived from, or "" if none exists.

        If `class_name` is itself a PynamoDB attribute class, return `class_name`.
        """
        if class_name in _ATTRIBUTES:
            return class_name
        node = self.classes.get(class_name)
        return "" if node is None else next((name for name in self.bases(node) if name in _ATTRIBUTES), "")


def _last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name, without the type arguments of a generic type.

    Return "" for other expressions.
    """
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _assignments(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the name and the value of each assignment to a variable in `body`."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            yield from ((target.id, statement.value) for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            yield statement.target.id, statement.value


def pynamodb(sources: Sequence[tuple[str, str]]) -> ImportSource:
    """Return the tables of the PynamoDB models in Python files. Each element of `sources` is a pair of a file name and
    the text of the file.

    Raises ImportSourceError if a file is not valid Python or contains no models.
    """
    tables: dict[str, list[_Model]] = {}
    names = []
    for name, text in sources:
        module = _Module(name, text)
        names.append(module.name)
        models = [_Model(module, node) for node in module.classes.values() if "Model" in module.bases(node)]
        for model in models:
            if model.is_entity(models):
                tables.setdefault(model.table, []).append(model)
    if not tables:
        raise ImportSourceError(f"{', '.join(names)} has no subclass of pynamodb.models.Model with a hash key")
    source_tables = tuple(_table(name, models) for name, models in tables.items())
    return ImportSource(f"{', '.join(names)}, models of PynamoDB", source_tables)


class _Model:
    """A class that inherits from the PynamoDB class Model."""

    def __init__(self, module: _Module, node: ast.ClassDef) -> None:
        self._module, self.node, self.name = module, node, node.name
        self.gaps: list[str] = []
        self.meta = self._meta_of(node)
        table_name = module.constant(self.meta.get("table_name"))
        self.table = table_name if isinstance(table_name, str) and table_name else node.name
        if self.table is not table_name:
            self.gaps.append("table_name is not a literal: the class name is used as the table name")
        self.attributes: list[_Attribute] = []
        self.indexes: list[Index] = []
        self.index_types: dict[str, str] = {}
        self._read_members()

    def _meta_of(self, node: ast.ClassDef) -> dict[str, ast.expr]:
        """Return the members of a model's Meta class, including inherited members."""
        for owner in self._module.local_classes(node):
            for statement in owner.body:
                if isinstance(statement, ast.ClassDef) and statement.name == "Meta":
                    members: dict[str, ast.expr] = {}
                    for base in reversed(statement.bases):
                        base_class = self._module.classes.get(_last_name(base) if isinstance(base, ast.Name) else "")
                        members |= (
                            dict(_assignments(base_class.body))
                            if base_class is not None and base_class is not statement
                            else {}
                        )
                    return members | dict(_assignments(statement.body))
        return {}

    def _read_members(self) -> None:
        members: dict[str, ast.expr] = {}
        for owner in reversed(self._module.local_classes(self.node)):
            members |= dict(_assignments(owner.body))
        for name, value in members.items():
            if not isinstance(value, ast.Call):
                continue
            class_name = _last_name(value.func)
            attribute_class = self._module.attribute_class(class_name)
            if attribute_class or class_name.endswith("Attribute"):
                self.attributes.append(self._attribute(name, value, attribute_class, class_name))
            elif (index := self._module.classes.get(class_name)) is not None:
                self._add_index(name, index)
        for member in self.meta:
            if member not in _META_MEMBERS | _CONNECTION:
                self.gaps.append(f"Meta.{member}: it is not part of a design")

    def _attribute(self, name: str, value: ast.Call, attribute_class: str, class_name: str) -> _Attribute:
        options = {keyword.arg: keyword.value for keyword in value.keywords if keyword.arg is not None}
        stored = self._module.constant(options.get("attr_name"))
        if attribute_class != class_name:
            base = f"a {attribute_class}" if attribute_class else "of an unknown type"
            self.gaps.append(
                f"{self.name}.{name}: {class_name} is imported as {base}: its conversion of values is omitted"
            )
        for option in options:
            if option not in _ATTRIBUTE_OPTIONS:
                self.gaps.append(f"{self.name}.{name}: {option}: it is not part of a design")
        return _Attribute(name, stored if isinstance(stored, str) and stored else name, attribute_class, options)

    def _add_index(self, name: str, node: ast.ClassDef) -> None:
        index_kind = next((_INDEXES[base] for base in self._module.bases(node) if base in _INDEXES), None)
        if index_kind is None:
            return
        meta = self._meta_of(node)
        members: dict[str, ast.expr] = {}
        for owner in reversed(self._module.local_classes(node)):
            members |= dict(_assignments(owner.body))
        index_attributes = {
            member: self._attribute(
                member, value, self._module.attribute_class(_last_name(value.func)), _last_name(value.func)
            )
            for member, value in members.items()
            if isinstance(value, ast.Call) and _last_name(value.func).endswith("Attribute")
        }
        keys = {
            role: tuple(part.stored for part in index_attributes.values() if part.has_option(role))
            for role in ("hash_key", "range_key")
        }
        if len(keys["hash_key"]) != 1 or len(keys["range_key"]) > 1:
            raise ImportSourceError(f"{self._module.name}: index {node.name} needs one attribute with hash_key=True")
        for part in index_attributes.values():
            self.index_types.setdefault(part.stored, _ATTRIBUTES[part.kind][1] if part.kind else "S")
        literal_name = self._module.constant(meta.get("index_name"))
        index_name = literal_name if isinstance(literal_name, str) and literal_name else name
        if "index_name" in meta and index_name is not literal_name:
            self.gaps.append(f"index {name}: index_name is not a literal: the attribute name is used")
        billing = _capacity(self._module, meta) if index_kind == "GSI" else None
        projection = self._projection(index_name, meta)
        self.indexes.append(
            Index(index_name, cast("Any", index_kind), keys["hash_key"], keys["range_key"], projection, billing)
        )

    def _projection(self, index: str, meta: Mapping[str, ast.expr]) -> Projection | tuple[str, ...]:
        value = meta.get("projection")
        projection_class = "" if value is None else _last_name(value.func if isinstance(value, ast.Call) else value)
        if projection_class in _PROJECTIONS:
            return cast("Projection", _PROJECTIONS[projection_class])
        arguments = [*value.args, *(keyword.value for keyword in value.keywords)] if isinstance(value, ast.Call) else []
        names_node = arguments[0] if arguments else None
        names = [self._module.constant(element) for element in getattr(names_node, "elts", ())]
        if projection_class == "IncludeProjection" and names and all(isinstance(name, str) for name in names):
            return tuple(names)
        self.gaps.append(f"index {index}: its projection cannot be determined: imported as all attributes")
        return "all"

    def is_entity(self, models: Sequence[_Model]) -> bool:
        """Return True if the model has a hash key and is not only a base class of other models."""
        if not any(attribute.has_option("hash_key") for attribute in self.attributes):
            return False
        is_base = any(self.name in other_model._module.bases(other_model.node) for other_model in models)
        return self.discriminator is not None or not is_base or "table_name" in dict(self._direct_meta())

    def _direct_meta(self) -> Iterator[tuple[str, ast.expr]]:
        if any(attribute.kind == "DiscriminatorAttribute" for attribute in self.attributes):
            return
        for statement in self.node.body:
            if isinstance(statement, ast.ClassDef) and statement.name == "Meta":
                yield from _assignments(statement.body)

    @property
    def discriminator(self) -> str | None:
        """Return the discriminator value of the class, as in class Cat(Animal, discriminator="Cat"), or None."""
        expression = next((keyword.value for keyword in self.node.keywords if keyword.arg == "discriminator"), None)
        value = self._module.constant(expression)
        return value if isinstance(value, str) else None

    @property
    def key(self) -> tuple[str, ...]:
        """Return the names of the primary key attributes as they are stored in the table."""
        roles = ("hash_key", "range_key")
        return tuple(attribute.stored for role in roles for attribute in self.attributes if attribute.has_option(role))

    def billing(self) -> Billing:
        """Return the capacity that the Meta class declares. If it does not declare capacity, return
        on-demand billing.
        """
        mode = self._module.constant(self.meta.get("billing_mode"))
        provisioned = _capacity(self._module, self.meta)
        if mode != "PAY_PER_REQUEST" and provisioned is not None:
            return provisioned
        if mode != "PAY_PER_REQUEST":
            self.gaps.append("Meta states neither billing_mode nor capacity: the table is imported as on demand")
        return OnDemand()

    def stream(self) -> StreamView | None:
        """Return the view type of the table's stream, or None if the Meta class does not declare a stream."""
        view = self._module.constant(self.meta.get("stream_view_type"))
        return cast("StreamView", view) if view in _CONSTANTS.values() else None

    def entity(self, table_key: tuple[str, ...]) -> SourceEntity:
        """Return the entity of the model, with its fields."""
        fields = {}
        version = None
        for attribute in self.attributes:
            if attribute.kind == "DiscriminatorAttribute":
                continue
            if attribute.kind == "VersionAttribute":
                version = attribute.stored
            in_key = attribute.stored in table_key or any(
                attribute.stored in index.attributes for index in self.indexes
            )
            fields[attribute.stored] = self._field(attribute, in_key=in_key)
        return SourceEntity(
            self.name, tuple(fields), fields=fields, version=version, discriminator=self.discriminator or self.name
        )

    def _field(self, attribute: _Attribute, *, in_key: bool) -> SourceField:
        annotation = self._annotation(attribute)
        if attribute.kind in _NOTES and not (in_key and annotation == "datetime"):
            self.gaps.append(f"{self.name}.{attribute.name}: {attribute.kind}: {_NOTES[attribute.kind]}")
        if in_key and attribute.kind == "UTCDateTimeAttribute":
            annotation = "str"
            self.gaps.append(f"{self.name}.{attribute.name}: a timestamp in a key is imported as its text, a str")
        legacy = attribute.options.get("legacy_encoding")
        if attribute.kind in {"BinaryAttribute", "BinarySetAttribute"} and self._module.constant(legacy) is True:
            self.gaps.append(f"{self.name}.{attribute.name}: legacy_encoding: values are base64-encoded twice")
        default_node = attribute.options.get("default", attribute.options.get("default_for_new"))
        default = self._default(attribute, annotation, default_node)
        if default_node is not None and default is None:
            self.gaps.append(f"{self.name}.{attribute.name}: its default is computed by the program")
        optional = attribute.has_option("null") or default_node is not None or attribute.kind == "VersionAttribute"
        if annotation == "None":
            annotation, optional = "Any", True
        stored = "epoch_s" if attribute.kind == "TTLAttribute" else None
        return SourceField(attribute.name, annotation, not optional, default, stored)

    def _annotation(self, attribute: _Attribute) -> str:
        if not attribute.kind:
            return "Any"
        annotation = _ATTRIBUTES[attribute.kind][0]
        element_node = attribute.options.get("of")
        if attribute.kind == "ListAttribute" and element_node is not None:
            element = self._module.attribute_class(_last_name(element_node))
            return f"list[{_ATTRIBUTES[element][0]}]" if element else annotation
        return annotation

    def _default(self, attribute: _Attribute, annotation: str, default_node: ast.expr | None) -> str | None:
        value = self._module.constant(default_node)
        if isinstance(value, str) and annotation == "str":
            return literal(value)
        if isinstance(value, bool) and annotation == "bool":
            return repr(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and annotation in {"int", "Decimal"}:
            return repr(value) if annotation == "int" and isinstance(value, int) else f'Decimal("{value}")'
        if attribute.kind == "VersionAttribute":
            return "0"
        return None

    def types(self) -> dict[str, str]:
        """Return the DynamoDB type of each stored attribute, by attribute name."""
        attribute_types = {
            attribute.stored: _ATTRIBUTES[attribute.kind][1] for attribute in self.attributes if attribute.kind
        }
        return {**self.index_types, **attribute_types}


def _capacity(module: _Module, meta: Mapping[str, ast.expr]) -> Provisioned | None:
    read, write = (module.constant(meta.get(f"{operation}_capacity_units")) for operation in ("read", "write"))
    if isinstance(read, int) and isinstance(write, int) and read >= 1 and write >= 1:
        return Provisioned(read=read, write=write)
    return None


def _table(name: str, models: Sequence[_Model]) -> SourceTable:
    first_model = models[0]
    key = first_model.key
    indexes: dict[str, Index] = {}
    types: dict[str, str] = {}
    for model in models:
        if model.key != key:
            raise ImportSourceError(
                f"table {name}: the key of {model.name} is {model.key}, but that of {first_model.name} is {key}"
            )
        types = {**model.types(), **types}
        for index in model.indexes:
            indexes.setdefault(index.name, index)
    billing, attributes = first_model.billing(), [attribute for model in models for attribute in model.attributes]
    for attribute in (*key, *(part for parsed in indexes.values() for part in parsed.attributes)):
        if types.get(attribute) not in {"S", "N", "B"}:
            type_code = types.get(attribute, "unknown")
            raise ImportSourceError(f"table {name}: {attribute} is a key attribute of type {type_code}, not S, N or B")
    entities = tuple(model.entity(key) for model in models)
    discriminator = next((entry.stored for entry in attributes if entry.kind == "DiscriminatorAttribute"), None)
    return SourceTable(
        name=name,
        key=key,
        types=types,
        indexes=tuple(_with_capacity(parsed, billing) for parsed in indexes.values()),
        billing=billing,
        stream=first_model.stream(),
        ttl=next((entry.stored for entry in attributes if entry.kind == "TTLAttribute"), None),
        entities=entities,
        discriminator=discriminator,
        gaps=tuple(dict.fromkeys(gap for model in models for gap in model.gaps)),
    )


def _with_capacity(index: Index, billing: Billing) -> Index:
    """Return an index with the capacity that it declares or, if it declares none, with the capacity of its table.

    Local indexes and indexes of on-demand tables have no capacity.
    """
    if index.kind == "LSI" or not isinstance(billing, Provisioned):
        return replace(index, billing=None)
    return replace(index, billing=index.billing or billing)
