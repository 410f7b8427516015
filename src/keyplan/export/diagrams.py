"""Draws diagrams of a design: entities with their keys and indexes, patterns with their tables, and consumers with
their tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from keyplan.design.declaring.consumers import Changed, Consumer
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import plain_value
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.design.schema import Index, Schema
from keyplan.export.conditions import condition
from keyplan.export.svg import LINE, PAD, Drawing, Line, Rect, height_of, listed, width_of, wrapped

_MOST = 64
"""The maximum number of characters per line in a box."""
_GAP = 14
_LANE = 14
_PITCH = LINE + PAD + 4
"""The vertical distance between the boxes of two patterns."""
_COLOURS = 6


# Entities and indexes.


@dataclass(frozen=True)
class _Section:
    """A group of lines in the box of an entity. They describe either one index or the entity itself."""

    index: Index | None
    lines: list[Line]


def entities(table: Table, name: str) -> str:
    """Return an SVG drawing of a table's entities with their fields and keys, connected to the indexes that contain
    them.

    `name` must be unique on the page.
    """
    drawing = Drawing()
    sections = {entity: list(_sections(entity)) for entity in table.entities}
    width = max((width_of(part.lines) for parts in sections.values() for part in parts), default=0)
    head = [*_lines(f"table {table.name}", "name"), *_lines(_key_of_table(table.schema), "dim")]
    width = max(width, width_of(head) - 2 * PAD)
    y = PAD + height_of(head)
    ports: dict[str, list[tuple[float, float]]] = {index.name: [] for index in table.schema.indexes}
    for parts in sections.values():
        box, entity_group = _entity(drawing, 2 * PAD, y, width, parts)
        for index, at in entity_group:
            ports[index.name].append((box.right, at))
        y = box.bottom + _GAP
    frame = Rect(PAD, PAD, width + 2 * PAD, y - PAD)
    drawing.rect(frame, "frame")
    for number, line in enumerate(head):
        drawing.text(2 * PAD, PAD + PAD / 2 + number * LINE, line)
    _indexes(drawing, frame, table, ports)
    return drawing.svg(name, f"Entities of table {table.name}", _entities_text(table))


def _sections(entity: EntitySpec) -> Iterator[_Section]:
    yield _Section(None, _lines(entity.name, "name"))
    yield _Section(None, list(_key_lines(entity.key)))
    for bound in entity.indexes:
        lines = [*_lines(f"in {bound.index.name}", "dim"), *_key_lines(bound)]
        if bound.only_if is not None:
            lines += _lines(f"only while {condition(bound.only_if)}", "dim")
        yield _Section(bound.index, lines)
    fields = [
        f"{stored.name}{'?' if stored.optional else ''} {stored.type_code.replace('ANY', 'any')}"
        for stored in entity.fields.values()
    ]
    yield _Section(None, [Line(text) for text in listed(fields, _MOST)])


def _key_lines(bound: BoundKey) -> Iterator[Line]:
    for part in bound.attributes:
        yield from _lines(f"{part.attribute} = {part.text}", "key")


def _lines(text: str, style: str) -> list[Line]:
    return [Line(line, style) for line in wrapped(text, _MOST)]


def _entity(
    drawing: Drawing, x: float, y: float, width: float, parts: Sequence[_Section]
) -> tuple[Rect, list[tuple[Index, float]]]:
    """Draw the box of an entity. Return the rectangle of the box, and each index of the entity with the vertical
    position of its section.
    """
    lines = [line for part in parts for line in part.lines]
    box = drawing.box(Rect(x, y, width, 0), lines, "entity")
    places: list[tuple[Index, float]] = []
    above = y + PAD / 2
    for part in parts:
        if part.index is not None:
            places.append((part.index, above + LINE / 2))
        if part is not parts[0] and part.lines:
            drawing.rule(box.x, box.right, above)
        above += len(part.lines) * LINE
    return box, places


def _indexes(drawing: Drawing, frame: Rect, table: Table, ports: dict[str, list[tuple[float, float]]]) -> None:
    """Draw the indexes on the right, each near its entities, and connect them to these entities.

    `ports` contains, by index name, the points at which lines from the entities start. The lines of different indexes
    have different horizontal positions, so that they do not overlap.
    """
    indexes = sorted(table.schema.indexes, key=lambda index: _mean(ports[index.name]))
    lanes = {index.name: number for number, index in enumerate(indexes)}
    x = frame.right + _LANE * (len(indexes) + 2)
    boxes = {index.name: _index_lines(index, table) for index in indexes}
    width = max((width_of(lines) for lines in boxes.values()), default=0)
    y = frame.y
    for index in indexes:
        lines, lane = boxes[index.name], lanes[index.name]
        height = height_of(lines)
        colour = f"line colour{lane % _COLOURS}"
        above = max(y, _mean(ports[index.name]) - height / 2)
        where = drawing.box(Rect(x, above, width, height), lines, f"index {colour}")
        y = where.bottom + _GAP
        across = frame.right + _LANE * (lane + 1)
        for start, level in ports[index.name]:
            drawing.path([(start, level), (across, level), (across, where.middle), (where.x, where.middle)], colour)


def _mean(points: Sequence[tuple[float, float]]) -> float:
    return sum(y for _, y in points) / len(points) if points else 0


def _index_lines(index: Index, table: Table) -> list[Line]:
    inside = sum(entity.key_in(index) is not None for entity in table.entities)
    attributes = ", ".join(index.project) if isinstance(index.project, tuple) else index.project or "not stated"
    texts = [f"{index.name}, {index.kind}", f"partition key {', '.join(index.partition)}"]
    texts += [f"sort key {', '.join(index.sort)}"] if index.sort else []
    return _lines_with_heading([*texts, f"holds {attributes}", f"{inside} of {len(table.entities)} entities"])


def _lines_with_heading(texts: Sequence[str]) -> list[Line]:
    """Wrap texts into lines. The first line has the style of a heading."""
    lines = [line for text in texts for line in wrapped(text, _MOST // 2)]
    return [Line(text, "" if number else "name") for number, text in enumerate(lines)]


def _key_of_table(schema: Schema) -> str:
    sort = f", sort key {schema.sort}" if schema.sort else ""
    return f"partition key {schema.partition}{sort}"


def _entities_text(table: Table) -> str:
    sentences = [
        f"{entity.name}: {entity.key.text}; in {', '.join(bound.index.name for bound in entity.indexes) or 'no index'}"
        for entity in table.entities
    ]
    return ". ".join(sentences) or "No entities."


# Patterns.


def patterns(table: Table, used: Sequence[Pattern[..., Any]], name: str) -> str:
    """Return an SVG drawing of a table and its indexes, with patterns that read on the left and patterns that write on
    the right.

    `name` must be unique on the page.
    """
    drawing = Drawing()
    targets: list[Index | None] = [None, *table.schema.indexes]
    reads = {
        target: [pattern for pattern in used if pattern.plan.reading and pattern.plan.index is target]
        for target in targets
    }
    writes = [pattern for pattern in used if not pattern.plan.reading]
    left = max((width_of([_pattern_line(pattern)]) for readers in reads.values() for pattern in readers), default=0)
    middle = max(width_of(_target_lines(table, target)) for target in targets)
    x = left + (4 * _LANE if left else 0)
    y: float = 0
    for target in targets:
        lines = _target_lines(table, target)
        beside = reads[target], [] if target else writes
        height = max(height_of(lines), max(map(len, beside)) * _PITCH)
        box = drawing.box(Rect(x, y, middle, height), lines, "index" if target else "table")
        _pattern_boxes(drawing, beside[0], box, 0, left)
        _pattern_boxes(drawing, beside[1], box, box.right + 4 * _LANE, 0)
        y = box.bottom + _GAP
    return drawing.svg(name, f"Access patterns of table {table.name}", _patterns_text(table, reads, writes))


def _pattern_line(pattern: Pattern[..., Any]) -> Line:
    operation = pattern.plan.operation
    note = _OPERATIONS.get(operation, operation)
    return Line(pattern.name, note=f"{note}, {_OPERATIONS['BatchGetItem']}" if pattern.plan.hydrated else note)


_OPERATIONS = {
    "BatchGetItem": "BatchGet", "BatchWriteItem": "BatchWrite", "ConditionCheck": "check", "DeleteItem": "Delete",
    "GetItem": "Get", "PutItem": "Put", "TransactWriteItems": "transaction", "UpdateItem": "Update",
}  # fmt: skip


def _target_lines(table: Table, target: Index | None) -> list[Line]:
    if target is not None:
        return _index_lines(target, table)
    schema = table.schema
    texts = [f"table {table.name}", f"partition key {schema.partition}"]
    texts += [f"sort key {schema.sort}"] if schema.sort else []
    texts.append(f"{len(table.entities)} {'entity' if len(table.entities) == 1 else 'entities'}")
    return _lines_with_heading(texts)


def _pattern_boxes(drawing: Drawing, readers: Sequence[Pattern[..., Any]], box: Rect, x: float, right: float) -> None:
    """Draw the boxes of patterns one below the other.

    An arrow points from `box`, a table or index, to each pattern that reads, and from each pattern that writes to
    `box`. If `right` is not 0, the right edges of the boxes are at `right`. Otherwise, their left edges are at `x`.
    """
    for number, pattern in enumerate(readers):
        line = _pattern_line(pattern)
        width = width_of([line])
        kind = "read" if pattern.plan.reading else "write"
        where = Rect(right - width if right else x, box.y + number * _PITCH, width, 0)
        pill = drawing.box(where, [line], f"pattern {kind}")
        if pattern.plan.reading:
            drawing.arrow((box.x, pill.middle), (pill.right + 2, pill.middle), f"line {kind}")
        else:
            drawing.arrow((pill.x, pill.middle), (box.right + 2, pill.middle), f"line {kind}")


def _patterns_text(
    table: Table, reads: dict[Index | None, list[Pattern[..., Any]]], writes: Sequence[Pattern[..., Any]]
) -> str:
    sentences = [
        f"{f'Index {target.name}' if target else f'Table {table.name}'} is read by"
        f" {', '.join(pattern.name for pattern in readers) or 'no pattern'}."
        for target, readers in reads.items()
    ]
    return " ".join(
        [*sentences, f"The table is written by {', '.join(pattern.name for pattern in writes) or 'no pattern'}."]
    )


# Consumers.


def consumers(tables: Sequence[Table], name: str) -> str:
    """Return an SVG drawing of the tables with streams. Arrows lead to the consumers and to the destinations of failed
    records.

    `name` must be unique on the page.
    """
    drawing = Drawing()
    sources = {table: _source_lines(table) for table in tables if table.consumers}
    boxes = {consumer: _consumer_lines(consumer) for table in sources for consumer in table.consumers}
    first = max(map(width_of, sources.values()))
    second = max(map(width_of, boxes.values()))
    y: float = 0
    for table, lines in sources.items():
        heights = [height_of(boxes[consumer]) for consumer in table.consumers]
        total_height = max(height_of(lines), sum(heights) + _GAP * (len(heights) - 1))
        source = drawing.box(Rect(0, y, first, total_height), lines, "table")
        for consumer, height in zip(table.consumers, heights, strict=True):
            box = drawing.box(Rect(source.right + 5 * _LANE, y, second, height), boxes[consumer], "entity")
            drawing.arrow((source.right, box.middle), (box.x - 2, box.middle), "line read")
            _failures(drawing, consumer, box)
            y = box.bottom + _GAP
        y = max(y, source.bottom + _GAP)
    return drawing.svg(name, "Change consumers", " ".join(_consumer_text(*pair) for pair in _pairs(tables)))


def _pairs(tables: Sequence[Table]) -> Iterator[tuple[Table, Consumer]]:
    return ((table, consumer) for table in tables for consumer in table.consumers)


def _source_lines(table: Table) -> list[Line]:
    return _lines_with_heading([f"table {table.name}", f"stream {table.schema.stream or 'off'}"])


def _consumer_lines(consumer: Consumer) -> list[Line]:
    texts = [f"{_names(consumer)}: {', '.join(sorted(consumer.events))}"]
    if consumer.filter is not None:
        texts.append(f"only {_when(consumer)}")
    texts.append(f"batches of {consumer.batch}")
    return [*_lines(consumer.name, "name"), *(line for text in texts for line in _lines(text, ""))]


def _names(consumer: Consumer) -> str:
    return ", ".join(entity.name for entity in consumer.entities)


def _when(consumer: Consumer) -> str:
    if not isinstance(consumer.filter, Changed):
        return f"while {condition(consumer.filter)}"
    becomes = "" if consumer.filter.becomes is None else f" to {plain_value(consumer.filter.becomes)!r}"
    return f"when {consumer.filter.field} changes{becomes}"


def _failures(drawing: Drawing, consumer: Consumer, box: Rect) -> None:
    lines = _lines(_after_failures(consumer), "")
    height = height_of(lines)
    where = Rect(box.right + 5 * _LANE, box.middle - height / 2, width_of(lines), height)
    drawing.box(where, lines, "failed")
    drawing.arrow((box.right, box.middle), (where.x - 2, box.middle), "line write")


def _after_failures(consumer: Consumer) -> str:
    if consumer.retries is None:
        return "retried as long as the stream keeps the change"
    tries = "retry" if consumer.retries == 1 else "retries"
    return f"after {consumer.retries} {tries}: {consumer.on_failure or 'the consumer stops'}"


def _consumer_text(table: Table, consumer: Consumer) -> str:
    changes = f"{consumer.name} receives changes of {_names(consumer)} from table {table.name}"
    return f"{changes}; failed changes: {_after_failures(consumer)}."
