"""Functions that generate a Python file that declares imported tables in the design language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from keyplan.design.schema import Index
from keyplan.design.workload import Billing, OnDemand, Provisioned
from keyplan.importers.entities import PlannedEntity, PlannedField, PlannedKey, discriminator, plan_entities
from keyplan.importers.nodes import ImportSourceError
from keyplan.importers.python_text import (
    WIDTH,
    Group,
    Part,
    PythonNames,
    call,
    class_name,
    comment,
    docstring,
    format_code,
    literal,
    snake_name,
    with_prefix,
)
from keyplan.importers.schemas import ImportSource, SourceCollection, SourceConsumer, SourceTable

_TODO_LINES = (
    "# To complete:",
    "# - fields besides keys, and their types: Decimal is any Number, Any is unknown",
    "# - volume=Volume(count=..., bytes=Bytes(average=...)) for each entity",
    "# - rate=Rate(average=..., peak=...) of each pattern, and the patterns of your programs",
)
_DESIGN_NAMES = (
    "GSI", "LSI", "Attribute", "Bytes", "Entity", "Expired", "F", "Inserted", "ItemKey", "ItemWrite", "KeyCondition",
    "Modified", "OnDemand", "Provisioned", "Removed", "Table", "Volume", "attr", "item", "key", "pk",
)  # fmt: skip
"""The names of the design language that a generated file can import, in the order of its imports."""
_OTHER_IMPORTS = (
    ("datetime", ("date", "datetime")),
    ("decimal", ("Decimal",)),
    ("typing", ("Annotated", "Any", "Literal")),
    ("uuid", ("UUID",)),
)


_GUESSED = "Guessed from sample items, please check: "


def design_text(source: ImportSource) -> str:
    """Return the source code of a design module. Raises ImportSourceError if two tables have the same name."""
    _check_names(source)
    names = PythonNames.for_module()
    blocks = [block for table in source.tables for block in table_blocks(table, names)]
    code = "\n\n\n".join("\n".join(lines) for lines in blocks)
    description = " ".join(source.description.split())
    head = [*docstring(f"Tables of {source.title}.\n\n{description}"), "", *_imports(code), "", *_TODO_LINES, ""]
    notes = [line for gap in source.gaps for line in comment(f"- {gap}", hanging="  ")]
    if notes:
        head += ["# Where this differs from its source:", *notes, ""]
    return "\n".join(head) + "\n" + code + "\n"


def _check_names(source: ImportSource) -> None:
    names: set[str] = set()
    for table in source.tables:
        if table.name in names:
            raise ImportSourceError(f"two tables are called {table.name!r}: import them into separate designs")
        names.add(table.name)


def _imports(code: str) -> Iterator[str]:
    """Yield the import statements for the names that occur in the code."""
    words = set(re.findall(r"\w+\b(?!=)", "\n".join(_without_strings(line) for line in code.splitlines())))
    other_imports = [(module, [name for name in names if name in words]) for module, names in _OTHER_IMPORTS]
    yield from (f"from {module} import {', '.join(names)}" for module, names in other_imports if names)
    if any(names for _, names in other_imports):
        yield ""
    yield from _import_of("keyplan", [name for name in _DESIGN_NAMES if name in words])


def _import_of(module: str, names: Sequence[str]) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.)*'")


def _without_strings(line: str) -> str:
    """Return a line of code with its string literals and comments removed."""
    return _TEXT.sub('""', line).partition("#")[0]


def table_blocks(table: SourceTable, names: PythonNames) -> Iterator[list[str]]:
    """Yield a list of lines for each definition: the table, its entities, their patterns and its consumers."""
    variable = names.reserve(snake_name(table.name))
    discriminator_attribute, values = discriminator(table)
    yield [
        *_notes(table, discriminator_attribute),
        *format_code(_table(table, discriminator_attribute), f"{variable} = ").split("\n"),
    ]
    entities, models = plan_entities(table, discriminator_attribute), list[str]()
    for number, entity in enumerate(entities):
        entity_name = entity.name.lower() if entity.name.isupper() else entity.name
        model_name = class_name(entity_name) if entity_name else f"{class_name(table.name)}Item"
        model = names.reserve(model_name)
        models.append(model)
        value = values[number] if values else None
        yield list(
            _entity(
                table, entity, variable, model, value if value != model else None, is_only_entity=len(entities) == 1
            )
        )
        subject = snake_name(entity.name or table.name)
        yield from pattern_blocks(entity, variable, model, subject, names)
    planned_entities = {entity.name: (entity, model) for entity, model in zip(entities, models, strict=True)}
    for collection in table.collections:
        yield from _collection(collection, variable, [planned_entities[name] for name in collection.entities], names)
    for consumer in table.consumers:
        yield list(_consumer(consumer, variable, models, names))


# The table.


def _notes(table: SourceTable, discriminator_attribute: str | None) -> Iterator[str]:
    if discriminator_attribute is not None and table.discriminator is None:
        yield from comment(f"{_GUESSED}{literal(discriminator_attribute)} names the kind of each item.")
    if table.guesses:
        yield from comment(f"What the source of {literal(table.name)} does not state:")
    for guess in table.guesses:
        yield from comment(f"- {guess}", hanging="  ")
    if table.gaps:
        yield from comment(f"Where {literal(table.name)} differs from its source:")
    for gap in table.gaps:
        yield from comment(f"- {gap}", hanging="  ")


def _table(table: SourceTable, discriminator_attribute: str | None) -> Group:
    parts: list[Part | None] = [
        literal(table.name),
        f"pk={literal(table.key[0])}",
        f"sk={literal(table.key[1])}" if len(table.key) > 1 else None,
        Group("indexes=[", [_index(index) for index in table.indexes], "]", always_open=True)
        if table.indexes
        else None,
        f"ttl={literal(table.ttl)}" if table.ttl else None,
        f"stream={literal(table.stream)}" if table.stream else None,
        with_prefix("billing=", _billing(table.billing)),
        f"table_class={literal(table.table_class)}" if table.table_class != "STANDARD" else None,
        "point_in_time_recovery=True" if table.point_in_time_recovery else None,
        "deletion_protection=True" if table.deletion_protection else None,
        f"discriminator={literal(discriminator_attribute)}" if discriminator_attribute else None,
    ]
    return Group("Table(", [part for part in parts if part is not None], ")", always_open=True)


def _index(index: Index) -> Part:
    return call(
        index.kind,
        literal(index.name),
        with_prefix("pk=", _names(index.partition)) if index.kind == "GSI" else None,
        with_prefix("sk=", _names(index.sort)) if index.sort else None,
        with_prefix("project=", _projection(index)) if index.project != "all" else None,
        with_prefix("billing=", _billing(index.billing)) if index.billing is not None else None,
    )


def _names(attributes: Sequence[str]) -> Part:
    return (
        literal(attributes[0])
        if len(attributes) == 1
        else Group("[", [literal(attribute) for attribute in attributes], "]")
    )


def _projection(index: Index) -> Part:
    if isinstance(index.project, tuple):
        return Group("[", [literal(attribute) for attribute in index.project], "]")
    return literal(str(index.project))


def _billing(billing: Billing) -> Part:
    if isinstance(billing, Provisioned):
        return call("Provisioned", f"read={billing.read}", f"write={billing.write}")
    if billing == OnDemand():
        return "OnDemand()"
    return call("OnDemand", f"warm_read={billing.warm_read}", f"warm_write={billing.warm_write}")


# Entities.


def _entity(
    table: SourceTable, entity: PlannedEntity, variable: str, model: str, value: str | None, *, is_only_entity: bool
) -> Iterator[str]:
    if entity.is_guessed:
        shapes = ", ".join(dict.fromkeys(_shapes(entity)))
        yield from comment(f"{_GUESSED}the keys{', of ' * bool(shapes)}{shapes}.")
    for index, condition in entity.only_if.items():
        yield from comment(f"{_GUESSED}items are in the index {literal(index)} if {condition}.")
    yield from format_code(_declaration(table, entity, value, is_only_entity=is_only_entity), f"@{variable}.").split(
        "\n"
    )
    yield f"class {model}(Entity):"
    description = f"Items of {literal(table.name)}" + (f" of the kind {literal(entity.name)}" if entity.name else "")
    yield from docstring(f"{description}.", "    ")
    yield ""
    for field in entity.fields.values():
        yield _field(field)


def _shapes(entity: PlannedEntity) -> Iterator[str]:
    """Yield a note for each guessed key, with the form of the sample keys. Values are shown as "..."."""
    for part in (part for key in (entity.key, *entity.indexes.values()) for part in key):
        if part.shape:
            yield f"{literal(part.attribute)} as {literal(part.shape.replace('{}', '...'))}"


def _declaration(table: SourceTable, entity: PlannedEntity, value: str | None, *, is_only_entity: bool) -> Group:
    indexes = [
        with_prefix(
            f"{literal(index.name)}: ",
            _key(entity.indexes[index.name], len(index.partition), entity.only_if.get(index.name)),
        )
        for index in table.indexes
        if index.name in entity.templated
    ]
    return call(
        "entity",
        with_prefix("key=", _key(entity.key, 1)) if any(part.is_generated for part in entity.key) else None,
        Group("indexes={", indexes, "}") if indexes else None,
        f"version={literal(entity.version)}" if entity.version is not None else None,
        with_prefix("volume=", _items(table, entity)) if is_only_entity and table.figures is not None else None,
        f"name={literal(value)}" if value is not None else None,
        None if entity.keeps_key_fields else "store_key_fields=False",
    )


def _key(parts: Sequence[PlannedKey], partition: int, only_if: str | None = None) -> Part:
    key_parts = [_key_part(part) for part in parts]
    return call(
        "key",
        *(_one_or_tuple(group) for group in (key_parts[:partition], key_parts[partition:]) if group),
        None if only_if is None else f"only_if={only_if}",
    )


def _one_or_tuple(parts: list[Part]) -> Part:
    return parts[0] if len(parts) == 1 else Group("(", parts, ")")


def _key_part(part: PlannedKey) -> Part:
    return literal(part.template) if part.template else f"attr({literal(part.fields[0])})"


def _items(table: SourceTable, entity: PlannedEntity) -> Part:
    """Return the source code of a Volume for a table with one entity.

    It contains the number of items, their average size, and the share of items in each sparse index.
    """
    statistics = table.figures
    assert statistics is not None, "called only for tables with statistics"
    present: dict[str, float] = {}
    for index in table.indexes:
        index_only = [name for name in index.attributes if name not in table.key]
        count = statistics.in_index.get(index.name)
        if len(index_only) == 1 and count is not None and count < statistics.count:
            name = next(field.name for field in entity.fields.values() if field.attribute == index_only[0])
            present[name] = round(count / statistics.count, 4)
    return call(
        "Volume",
        f"count={statistics.count}",
        with_prefix("bytes=", call("Bytes", f"average={statistics.average_bytes}")),
        Group("present={", [f"{literal(name)}: {share}" for name, share in present.items()], "}") if present else None,
    )


def _field(field: PlannedField) -> str:
    annotation = field.annotation if field.is_required or field.annotation == "Any" else f"{field.annotation} | None"
    default = "" if field.is_required else " = None"
    if field.default is not None:
        annotation, default = field.annotation, f" = {field.default}"
    if field.name == field.attribute and field.stored is None:
        return f"    {field.name}: {annotation}{default}"
    attribute = call(
        "Attribute",
        literal(field.attribute) if field.name != field.attribute else None,
        f"stored={literal(field.stored)}" if field.stored is not None else None,
    )
    annotated = Group("Annotated[", [annotation, attribute], "]")
    return format_code(annotated, before=f"{field.name}: ", after=default, indent="    ")


def _collection(
    collection: SourceCollection, table: str, members: Sequence[tuple[PlannedEntity, str]], names: PythonNames
) -> Iterator[list[str]]:
    """Yield the lines of a query pattern for an ElectroDB collection.

    Yield nothing if its entities have different partition key fields.
    """
    fields = [_partition_fields(entity, collection.index) for entity, _ in members]
    if not fields[0] or any(names_of_key != fields[0] for names_of_key in fields):
        return
    models = [model for _, model in members]
    options = None if collection.index is None else f"index={literal(collection.index)}"
    name = names.reserve(f"list_{snake_name(collection.name)}")
    parameters = Group("(", [f"{field}: {members[0][0].fields[field].annotation}" for field in fields[0]], ")")
    condition = f'.sk.text("begins_with", {literal(_escaped(collection.prefix))})' if collection.prefix else ""
    key_text = call("pk", *(f"{field}={field}" for field in fields[0]))
    yield [
        *format_code(call("query", *models, options), f"@{table}.").split("\n"),
        *format_code(parameters, f"def {name}", " -> KeyCondition:").split("\n"),
        *docstring(f"The collection {literal(collection.name)}: {', '.join(models)} of a partition.", "    "),
        *format_code(key_text, "return ", condition, indent="    ").split("\n"),
    ]


def _partition_fields(entity: PlannedEntity, index: str | None) -> list[str]:
    """Return the fields in an entity's partition key in an index, or in the table if `index` is None.

    Return an empty list if the index does not contain the entity.
    """
    parts = entity.key[:1] if index is None else entity.indexes.get(index, ())[: entity.partition_sizes.get(index)]
    return [name for part in parts for name in part.fields]


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _consumer(consumer: SourceConsumer, table: str, models: Sequence[str], names: PythonNames) -> Iterator[str]:
    """Yield the lines of a consumer. The consumer's body is empty, because the deployed function already processes the
    changes.
    """
    if consumer.gaps:
        yield from comment(f"Where {literal(consumer.name)} differs from its source:")
    for gap in consumer.gaps:
        yield from comment(f"- {gap}", hanging="  ")
    options = call(
        "on_change",
        *models,
        f"batch={consumer.batch}",
        f"retries={consumer.retries}" if consumer.retries is not None else None,
        f"on_failure={literal(consumer.on_failure)}" if consumer.on_failure is not None else None,
        None if consumer.bisect else "bisect=False",
    )
    yield from format_code(options, f"@{table}.").split("\n")
    changes = " | ".join(f"{event}[{model}]" for model in models for event in consumer.events)
    name = names.reserve(snake_name(consumer.name))
    yield from format_code(Group("(", [f"change: {changes}"], ")"), f"def {name}", " -> None:").split("\n")
    yield from docstring(consumer.description, "    ")


def pattern_blocks(
    entity: PlannedEntity, table: str, model: str, subject: str, names: PythonNames
) -> Iterator[list[str]]:
    """Yield a list of lines for each pattern of an entity.

    `table` is the variable of the table, `model` is the class name of the entity, and `subject` is the name of the
    entity in pattern names, such as order_item in get_order_item.
    """
    writer = _Writer(entity, table, model)
    key = [name for part in entity.key for name in part.fields]
    partition = list(entity.key[0].fields)
    model_text = literal(model)[1:-1]
    yield writer.by_key("get", names.reserve(f"get_{subject}"), key, f"One {model_text} by its key.")
    yield writer.put(names.reserve(f"put_{subject}"), f"Write a whole {model_text}.")
    yield writer.by_key("delete", names.reserve(f"delete_{subject}"), key, f"Delete one {model_text}.")
    if len(entity.key) > 1:
        yield writer.query(names.reserve(f"list_{subject}"), partition, None, f"Each {model_text} of a partition.")
    for index, parts in entity.indexes.items():
        partition_fields = [name for part in parts[: entity.partition_sizes[index]] for name in part.fields]
        name = names.reserve(f"list_{subject}_by_{snake_name(index).removeprefix('by_')}")
        yield writer.query(
            name, partition_fields, index, f"Each {model_text} of a partition of the index {literal(index)}."
        )


class _Writer:
    """Generates the source code of one entity's patterns."""

    def __init__(self, entity: PlannedEntity, table: str, model: str) -> None:
        self._entity, self._table, self._model = entity, table, model

    def by_key(self, decorator: str, name: str, fields: Sequence[str], description: str) -> list[str]:
        """Return the lines of a pattern that accesses one item by its key.

        `decorator` is the decorator, "get" or "delete". `description` is the text of the pattern's docstring.
        """
        fields = list(dict.fromkeys(fields))
        return_type = "ItemKey" if decorator == "get" else "ItemWrite"
        head = self._head(call(decorator, self._model), name, self._parameters(fields), return_type, description)
        return [*head, *_return_lines("item", fields)]

    def query(self, name: str, fields: Sequence[str], index: str | None, description: str) -> list[str]:
        """Return the lines of a pattern that queries a partition of an index, or of the table if `index` is None.

        `description` is the text of the pattern's docstring.
        """
        fields = list(dict.fromkeys(fields))
        options = None if index is None else f"index={literal(index)}"
        head = self._head(
            call("query", self._model, options), name, self._parameters(fields), "KeyCondition", description
        )
        return [*head, *_return_lines("pk", fields)]

    def put(self, name: str, description: str) -> list[str]:
        """Return the lines of a pattern that puts a complete item. `description` is the text of the pattern's
        docstring.
        """
        parameters = [f"new: {self._model}"]
        return [
            *self._head(call("put", self._model), name, parameters, "ItemWrite", description),
            "    return item(new)",
        ]

    def _parameters(self, fields: Sequence[str]) -> list[str]:
        """Return the parameters of a pattern for the given fields, with their annotations."""
        return [f"{field}: {self._entity.fields[field].annotation}" for field in fields]

    def _head(
        self, decorator: Group, name: str, parameters: Sequence[str], return_type: str, description: str
    ) -> Iterator[str]:
        """Yield the lines of a pattern before its body: the decorator, the signature and the docstring with the text
        `description`.
        """
        yield from format_code(decorator, f"@{self._table}.").split("\n")
        yield from format_code(Group("(", parameters, ")"), f"def {name}", f" -> {return_type}:").split("\n")
        yield from docstring(description, "    ")


def _return_lines(function_name: str, fields: Sequence[str]) -> list[str]:
    """Return the lines of a pattern's body: a call to item() or pk() with the fields as keyword arguments."""
    result = call(function_name, *(f"{field}={field}" for field in fields))
    return format_code(result, "return ", indent="    ").split("\n")
