"""Importer for ElectroDB schemas in JSON. The generated templates produce the same keys as ElectroDB.

Source: github.com/tywalch/electrodb, src/entity.js (_makeKeyFixings: prefixes, collections, versions, clustered
indexes; _makeKey: labels and values; _optimizeMatchingKeyAttributes) and src/util.js (formatKeyCasing: lower case by
default); electrodb.dev, "Indexes", "Attributes" and "Collections".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from keyplan.design.schema import Index
from keyplan.design.workload import OnDemand
from keyplan.importers.documents import ELECTRODB, Document, wrong_document_error
from keyplan.importers.nodes import Node
from keyplan.importers.python_text import literal
from keyplan.importers.schemas import ImportSource, SourceCollection, SourceEntity, SourceField, SourceTable

_ENTITY, _VERSION = "__edb_e__", "__edb_v__"
"""Attributes that ElectroDB adds to each item: the entity's name and version."""
_TYPES = {
    "string": ("str", "S"),
    "number": ("Decimal", "N"),
    "boolean": ("bool", "BOOL"),
    "map": ("dict[str, Any]", "M"),
    "list": ("list[Any]", "L"),
    "set": ("set[str]", "SS"),
    "any": ("Any", ""),
    "static": ("Any", ""),
}
"""The Python annotation and the DynamoDB attribute type for each ElectroDB type."""
_KEY_TYPES = ("string", "number")
_CASINGS = ("upper", "lower", "none", "default")
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_ATTRIBUTE_MEMBERS = frozenset({
    "cast", "default", "field", "items", "label", "padding", "properties", "required", "type", "validate",
})  # fmt: skip
_UNSUPPORTED_MEMBERS = {
    "hidden": "a design does not hide attributes: remove it from the program's output",
    "readOnly": "a design does not forbid updates of a field: omit it in update patterns",
    "watch": "it is computed by a function of the program",
    "set": "it is computed by a function of the program",
    "get": "it is computed by a function of the program",
}


@dataclass(frozen=True)
class _Schema:
    """The ElectroDB schema of one entity."""

    node: Node
    table: str
    service: str
    entity: str
    version: str
    is_beta: bool
    """True if the schema has the format that ElectroDB used before version 1.

    In this format, names are at the top level, and the partition key contains the version.
    """


def electrodb(documents: Sequence[Document], table: str | None = None) -> ImportSource:
    """Return the tables of ElectroDB entities and services.

    `table` is the table name for schemas that do not contain one. Raises ImportSourceError if a schema is invalid.
    """
    gaps: list[str] = []
    schemas = [
        _schema(node, table, gaps) for document in documents for node in _entities(Node(document.value, document.name))
    ]
    if not schemas:
        raise wrong_document_error(ELECTRODB, documents[0])
    tables: dict[str, list[_Schema]] = {}
    for schema in schemas:
        tables.setdefault(schema.table, []).append(schema)
    names = ", ".join(dict.fromkeys(document.name for document in documents))
    source_tables = tuple(_table(name, members) for name, members in tables.items())
    return ImportSource(f"{names}, {ELECTRODB}", source_tables, tuple(dict.fromkeys(gaps)))


def _entities(node: Node) -> Iterator[Node]:
    """Yield the schema of each entity in a document.

    The document is an entity, a list of documents, or a service that contains entities by name.
    """
    if isinstance(node.value, list):
        for element in node.items():
            yield from _entities(element)
    elif isinstance(node.value, Mapping):
        if isinstance(node.value.get("schema"), Mapping):
            yield from _entities(node.need("schema"))
        elif isinstance(node.value.get("attributes"), Mapping) and isinstance(node.value.get("indexes"), Mapping):
            yield node
        else:
            for name in node.mapping():
                if isinstance(node.value[name], (Mapping, list)) and isinstance(name, str):
                    yield from _entities(node.need(name))


def _schema(node: Node, table: str | None, gaps: list[str]) -> _Schema:
    model = node.get("model")
    names = node if model is None else model
    service, entity = names.need("service").text(), names.need("entity").text()
    version = names.get("version")
    table_name = table or next(
        (table_node.text() for holder in (names, node) if (table_node := holder.get("table"))), None
    )
    if table_name is None:
        gaps.append(
            f"the schemas do not name the table: the service name {service} is used; set another name with --table NAME"
        )
    node = Node(node.value, f"{node.path.partition(':')[0]}: entity {entity}")
    return _Schema(
        node, table_name or service, service, entity, "1" if version is None else version.text(), model is None
    )


# Tables.


def _table(name: str, schemas: Sequence[_Schema]) -> SourceTable:
    gaps: list[str] = ["billing is not part of ElectroDB's schemas: the table is imported as on demand"]
    key = _primary_key(schemas[0])
    indexes: dict[str, Index] = {}
    types: dict[str, str] = {}
    entities = []
    for schema in schemas:
        if _primary_key(schema) != key:
            raise schema.node.fail(
                f"its primary key is {_primary_key(schema)}, but that of {schemas[0].entity} is {key}"
            )
        entities.append(_EntityReader(schema, types, gaps).entity())
        for pattern in _patterns(schema):
            index = _index(pattern, key)
            if index is not None and indexes.setdefault(index.name, index) != index:
                raise pattern.fail(f"the index {index.name!r} has other key attributes in another entity")
    return SourceTable(
        name=name,
        key=key,
        types=types,
        indexes=tuple(indexes.values()),
        billing=OnDemand(),
        entities=tuple(entities),
        collections=tuple(_collections(schemas)),
        discriminator=_ENTITY,
        gaps=tuple(dict.fromkeys(gaps)),
    )


def _patterns(schema: _Schema) -> Iterator[Node]:
    indexes = schema.node.need("indexes")
    return (indexes.need(name) for name in indexes.mapping())


def _primary_key(schema: _Schema) -> tuple[str, ...]:
    """Return the primary key attributes, which are those of the access pattern without an index name."""
    for pattern in _patterns(schema):
        if not _index_name(pattern):
            return _fields(pattern)
    raise schema.node.fail("the primary key is missing: it is the index without a name")


def _index_name(pattern: Node) -> str:
    index_node = pattern.get("index")
    return "" if index_node is None or index_node.value == "" else index_node.text()


def _fields(pattern: Node) -> tuple[str, ...]:
    return tuple(part.need("field").text() for part in (pattern.need("pk"), pattern.get("sk")) if part is not None)


def _index(pattern: Node, key: tuple[str, ...]) -> Index | None:
    """Return the index of an access pattern, or None if the access pattern uses the primary key.

    An index with the same partition key as the table is a local secondary index.
    """
    name, fields = _index_name(pattern), _fields(pattern)
    if not name:
        return None
    is_local = fields[0] == key[0] and len(key) > 1 and len(fields) > 1
    return Index(name, "LSI" if is_local else "GSI", fields[:1], fields[1:], "all")


def _collections(schemas: Sequence[_Schema]) -> Iterator[SourceCollection]:
    """Yield the collections that contain several entities.

    The sort keys of a sub-collection start with the names of its enclosing collections, followed by its own name.
    """
    members: dict[tuple[str, str, str], list[str]] = {}
    for schema in schemas:
        for pattern in _patterns(schema):
            sort, names = pattern.get("sk"), _collection(pattern)
            for position, name in enumerate(names):
                is_custom = sort is None or sort.get("template") is not None
                prefix = (
                    ""
                    if is_custom or sort is None
                    else _convert_case("$" + "#".join(names[: position + 1]), _casing(sort))
                )
                members.setdefault((name, _index_name(pattern), prefix), []).append(schema.entity)
    for (name, index, prefix), entities in members.items():
        if len(entities) > 1:
            yield SourceCollection(name, index or None, tuple(entities), prefix)


def _collection(pattern: Node) -> list[str]:
    """Return the names of the collection and sub-collections of an access pattern."""
    collection = pattern.get("collection")
    if collection is None or collection.value == "":
        return []
    return [name.text() for name in collection.items()] if isinstance(collection.value, list) else [collection.text()]


# Entities.


class _EntityReader:
    """Converts the ElectroDB schema of one entity."""

    def __init__(self, schema: _Schema, types: dict[str, str], gaps: list[str]) -> None:
        self._schema, self._types, self._gaps = schema, types, gaps
        attributes = schema.node.need("attributes")
        self._attributes = {str(name): attributes.need(name) for name in attributes.mapping()}

    def entity(self) -> SourceEntity:
        """Convert the schema to an entity with fields, key templates and a version.

        The types of key attributes are added to the types of the table.
        """
        fields = {self._attribute_name(name): self._field(name) for name in self._attributes}
        templates: dict[str, str] = {}
        for pattern in _patterns(self._schema):
            for part in ("pk", "sk"):
                if (node := pattern.get(part)) is not None:
                    self._add_key(pattern, part, node, fields, templates)
        version = SourceField("edb_version", "str", default=literal(self._schema.version))
        return SourceEntity(
            name=self._schema.entity,
            attributes=(*fields, _VERSION),
            templates=templates,
            fields={**fields, _VERSION: version},
            discriminator=self._schema.entity,
        )

    def _attribute_name(self, name: str) -> str:
        stored = self._attributes[name].get("field") if isinstance(self._attributes[name].value, Mapping) else None
        return name if stored is None else stored.text()

    def _type(self, name: str) -> str:
        """Return the ElectroDB type of an attribute. For an enumeration, this is "string"."""
        node = self._attributes[name]
        type_node = node.get("type") if isinstance(node.value, Mapping) else node  # a type alone is a short form
        if type_node is None:
            return "any"
        return "string" if isinstance(type_node.value, list) else type_node.one_of(*_TYPES)

    def _field(self, name: str) -> SourceField:
        node = self._attributes[name]
        attribute = Node({"type": node.value}, node.path) if not isinstance(node.value, Mapping) else node
        self._types.setdefault(self._attribute_name(name), _TYPES[self._type(name)][1])
        for member in attribute.mapping():
            if member not in _ATTRIBUTE_MEMBERS:
                reason = _UNSUPPORTED_MEMBERS.get(str(member), "it is not part of a design")
                self._gaps.append(f"{self._schema.entity}.{name}: {member}: {reason}")
        required = attribute.get("required")
        return SourceField(
            name,
            _annotation(attribute),
            is_required=required is not None and required.flag() and attribute.get("default") is None,
            default=_default(attribute),
        )

    def _add_key(
        self, pattern: Node, part: str, node: Node, fields: dict[str, SourceField], templates: dict[str, str]
    ) -> None:
        """Add the template of a key attribute to `templates`.

        If the attribute stores a field unchanged, nothing is added. If the key contains a value that is not a string or
        number, the attribute is added to `fields` as a string field instead, because a template cannot express the key.
        """
        attribute = node.need("field").text()
        segments = self._key_segments(pattern, part, node)
        names = [name for _, name in segments if name]
        for name in names:
            if name not in self._attributes:
                raise node.fail(f"{name!r} is not an attribute of {self._schema.entity}")
        is_plain = len(names) == 1 and len(segments) == 1 and segments[0][0] == ""
        is_number = is_plain and self._type(names[0]) == "number" and _cast(node) != "string"
        self._types[attribute] = "N" if is_number or _cast(node) == "number" else "S"
        if is_plain and self._attribute_name(names[0]) == attribute:
            if not is_number and _casing(node) != "none":
                self._gaps.append(f"{self._schema.entity}.{names[0]}: ElectroDB stores its key in lower or upper case")
            return
        invalid_names = [name for name in names if self._type(name) not in _KEY_TYPES]
        if invalid_names:
            names_text = ", ".join(invalid_names)
            self._gaps.append(
                f"{self._schema.entity}: {attribute} is imported as a plain field: its key contains {names_text},"
                " which is neither a string nor a number"
            )
            fields.setdefault(attribute, SourceField(attribute, "str"))
            return
        placeholders = {name: self._placeholder(name, _casing(node)) for name in names}
        templates.setdefault(
            attribute, "".join(_escape_braces(text) + placeholders.get(name, "") for text, name in segments)
        )

    def _placeholder(self, name: str, casing: str) -> str:
        """Return the template placeholder for a composite attribute whose values are converted to the letter case
        `casing`.
        """
        padding = self._attributes[name].get("padding") if isinstance(self._attributes[name].value, Mapping) else None
        if padding is not None:
            length, char = padding.need("length").integer(1), padding.need("char").text()
            if self._type(name) == "number" and char == "0":
                return f"{{{name}:0{length}d}}"
            self._gaps.append(f"{self._schema.entity}.{name}: padding: key templates do not pad strings")
        return f"{{{name}:{casing}}}" if casing != "none" and self._type(name) == "string" else f"{{{name}}}"

    def _key_segments(self, pattern: Node, part: str, node: Node) -> list[tuple[str, str]]:
        """Return a key as pairs of a literal text and the name of the attribute that follows it.

        If the key ends with literal text, the last pair is this text and "". `part` is "pk" or "sk".
        """
        casing = _casing(node)
        template = node.get("template")
        if template is not None and template.value:
            return [(_convert_case(text, casing), name) for text, name in _composite_attributes(template.text())]
        composite = node.get("composite") or node.get("facets")
        if composite is None:
            raise node.fail("it has neither composite nor template")
        names = [element.text() for element in composite.items()]
        stored = {self._attribute_name(name) for name in self._attributes}
        if len(names) == 1 and names[0] == node.need("field").text() and names[0] in stored:
            return [("", names[0])]
        prefix, postfix = self._affixes(pattern, part)
        segments = [(f"#{self._label(name)}_", name) for name in names]
        prefixed = [(prefix + segments[0][0], segments[0][1]), *segments[1:]] if segments else [(prefix, "")]
        converted = [(_convert_case(text, casing), name) for text, name in prefixed]
        return [*converted, (_convert_case(postfix, casing), "")] if postfix else converted

    def _label(self, name: str) -> str:
        node = self._attributes.get(name)
        label = node.get("label") if node is not None and isinstance(node.value, Mapping) else None
        return name if label is None else label.text()

    def _affixes(self, pattern: Node, part: str) -> tuple[str, str]:
        """Return the texts that ElectroDB adds before and after the composite attributes of a key. `part` is "pk" or
        "sk".
        """
        schema, collection = self._schema, _collection(pattern)
        index_type = pattern.get("type")
        is_clustered = index_type is not None and index_type.value == "clustered"
        collection_text = f"${'#'.join(collection)}" if collection else ""
        entity = f"{'#' if collection else '$'}{schema.entity}" + ("" if schema.is_beta else f"_{schema.version}")
        partition = f"${schema.service}" + (f"_{schema.version}" if schema.is_beta else "")
        sort, suffix = (collection_text, entity) if is_clustered else (collection_text + entity, "")
        if part == "sk":
            return sort, suffix
        return (partition, "") if pattern.get("sk") is not None else (partition + sort + suffix, "")


def _composite_attributes(template: str) -> Iterator[tuple[str, str]]:
    """Yield a pair for each attribute in an ElectroDB template: the literal text before the attribute, and its name.

    If the template ends with literal text, the last pair is this text and "".
    """
    end = 0
    for placeholder in _PLACEHOLDER.finditer(template):
        yield template[end : placeholder.start()], placeholder[1].strip()
        end = placeholder.end()
    if end < len(template):
        yield template[end:], ""


def _escape_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _casing(node: Node) -> str:
    """Return how ElectroDB converts the letter case of a key: "lower" (the default), "upper" or "none"."""
    casing = node.get("casing")
    name = "default" if casing is None else casing.one_of(*_CASINGS)
    return "lower" if name == "default" else name


def _convert_case(text: str, casing: str) -> str:
    return text.lower() if casing == "lower" else text.upper() if casing == "upper" else text


def _cast(node: Node) -> str:
    cast = node.get("cast")
    return "" if cast is None else cast.one_of("string", "number")


def _annotation(node: Node) -> str:
    """Return the Python type annotation for an ElectroDB attribute, as source code."""
    type_node = node.get("type")
    if type_node is None:
        return "Any"
    if isinstance(type_node.value, list):
        return _choices(type_node)
    name, items = type_node.one_of(*_TYPES), node.get("items")
    if name in {"list", "set"} and items is not None:
        is_short_form = not isinstance(items.value, Mapping)
        element = _annotation(Node({"type": items.value}, items.path) if is_short_form else items)
        if name == "list" or element in {"str", "Decimal"} or element.startswith("Literal"):
            return f"{name}[{element}]"
    return _TYPES[name][0]


def _choices(choices: Node) -> str:
    texts = [choice.text() for choice in choices.items()]
    return f"Literal[{', '.join(map(literal, texts))}]" if texts else "str"


def _default(node: Node) -> str | None:
    """Return the default of a field as Python source. Return None if the default is missing or not a literal value."""
    default = node.get("default")
    if default is None or isinstance(default.value, (Mapping, list)):
        return None
    if isinstance(default.value, str):
        return literal(default.value)
    if isinstance(default.value, bool):
        return repr(default.value)
    return f"Decimal({literal(str(default.value))})"
