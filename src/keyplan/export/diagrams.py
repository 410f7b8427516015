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
from keyplan.export.svg import LINE, PAD, Drawing, Line, Rect, height_of, width_of, wrap_items, wrapped

_MAX_CHARACTERS = 64
"""The maximum number of characters per line in a box."""
_GAP = 14
_LANE = 14
_PITCH = LINE + PAD + 4
"""The vertical distance between the boxes of two patterns."""
_COLOURS = 6


# Entities and indexes.


@dataclass(frozen=True)
class _Section:
    """Lines of text in an entity's box. They describe the entity itself if `index` is None, and the index otherwise."""

    index: Index | None
    lines: list[Line]


def entities(table: Table, id_prefix: str) -> str:
    """Return an SVG drawing of a table's entities with their fields and keys, connected to the indexes that contain
    them.

    `id_prefix` must be unique on the page.
    """
    drawing = Drawing()
    sections = {entity: list(_sections(entity)) for entity in table.entities}
    width = max(
        (width_of(section.lines) for entity_sections in sections.values() for section in entity_sections), default=0
    )
    head = [*_lines(f"table {table.name}", "name"), *_lines(_key_of_table(table.schema), "dim")]
    width = max(width, width_of(head) - 2 * PAD)
    y = PAD + height_of(head)
    ports: dict[str, list[tuple[float, float]]] = {index.name: [] for index in table.schema.indexes}
    for entity_sections in sections.values():
        box, entity_group = _entity(drawing, 2 * PAD, y, width, entity_sections)
        for index, line_y in entity_group:
            ports[index.name].append((box.right, line_y))
        y = box.bottom + _GAP
    frame = Rect(PAD, PAD, width + 2 * PAD, y - PAD)
    drawing.rect(frame, "frame")
    for number, line in enumerate(head):
        drawing.text(2 * PAD, PAD + PAD / 2 + number * LINE, line)
    _indexes(drawing, frame, table, ports)
    return drawing.svg(id_prefix, f"Entities of table {table.name}", _entities_text(table))


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
    yield _Section(None, [Line(text) for text in wrap_items(fields, _MAX_CHARACTERS)])


def _key_lines(bound: BoundKey) -> Iterator[Line]:
    for attribute in bound.attributes:
        yield from _lines(f"{attribute.attribute} = {attribute.text}", "key")


def _lines(text: str, style: str) -> list[Line]:
    return [Line(line, style) for line in wrapped(text, _MAX_CHARACTERS)]


def _entity(
    drawing: Drawing, x: float, y: float, width: float, sections: Sequence[_Section]
) -> tuple[Rect, list[tuple[Index, float]]]:
    """Draw the box of an entity. Return the rectangle of the box, and each index of the entity with the vertical
    position of its section.
    """
    lines = [line for section in sections for line in section.lines]
    box = drawing.box(Rect(x, y, width, 0), lines, "entity")
    index_positions: list[tuple[Index, float]] = []
    section_y = y + PAD / 2
    for section in sections:
        if section.index is not None:
            index_positions.append((section.index, section_y + LINE / 2))
        if section is not sections[0] and section.lines:
            drawing.rule(box.x, box.right, section_y)
        section_y += len(section.lines) * LINE
    return box, index_positions


def _indexes(drawing: Drawing, frame: Rect, table: Table, ports: dict[str, list[tuple[float, float]]]) -> None:
    """Draw the indexes on the right, each near its entities, and connect them to these entities.

    `ports` contains the start points of the lines from the entities, by index name. The lines of each index are at a
    different horizontal position, so that lines do not overlap.
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
        top = max(y, _mean(ports[index.name]) - height / 2)
        rect = drawing.box(Rect(x, top, width, height), lines, f"index {colour}")
        y = rect.bottom + _GAP
        lane_x = frame.right + _LANE * (lane + 1)
        for start, entity_y in ports[index.name]:
            drawing.path([(start, entity_y), (lane_x, entity_y), (lane_x, rect.middle), (rect.x, rect.middle)], colour)


def _mean(points: Sequence[tuple[float, float]]) -> float:
    return sum(y for _, y in points) / len(points) if points else 0


def _index_lines(index: Index, table: Table) -> list[Line]:
    entity_count = sum(entity.key_in(index) is not None for entity in table.entities)
    attributes = ", ".join(index.project) if isinstance(index.project, tuple) else index.project or "not stated"
    texts = [f"{index.name}, {index.kind}", f"partition key {', '.join(index.partition)}"]
    texts += [f"sort key {', '.join(index.sort)}"] if index.sort else []
    return _lines_with_heading([*texts, f"holds {attributes}", f"{entity_count} of {len(table.entities)} entities"])


def _lines_with_heading(texts: Sequence[str]) -> list[Line]:
    """Wrap texts into lines. The first line has the style of a heading."""
    lines = [line for text in texts for line in wrapped(text, _MAX_CHARACTERS // 2)]
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


def patterns(table: Table, table_patterns: Sequence[Pattern[..., Any]], id_prefix: str) -> str:
    """Return an SVG drawing of a table and its indexes, with patterns that read on the left and patterns that write on
    the right.

    `id_prefix` must be unique on the page.
    """
    drawing = Drawing()
    targets: list[Index | None] = [None, *table.schema.indexes]
    reads = {
        target: [pattern for pattern in table_patterns if pattern.plan.reading and pattern.plan.index is target]
        for target in targets
    }
    writes = [pattern for pattern in table_patterns if not pattern.plan.reading]
    left_width = max(
        (width_of([_pattern_line(pattern)]) for readers in reads.values() for pattern in readers), default=0
    )
    target_width = max(width_of(_target_lines(table, target)) for target in targets)
    x = left_width + (4 * _LANE if left_width else 0)
    y: float = 0
    for target in targets:
        lines = _target_lines(table, target)
        adjacent = reads[target], [] if target else writes
        height = max(height_of(lines), max(map(len, adjacent)) * _PITCH)
        box = drawing.box(Rect(x, y, target_width, height), lines, "index" if target else "table")
        _pattern_boxes(drawing, adjacent[0], box, 0, left_width)
        _pattern_boxes(drawing, adjacent[1], box, box.right + 4 * _LANE, 0)
        y = box.bottom + _GAP
    return drawing.svg(id_prefix, f"Access patterns of table {table.name}", _patterns_text(table, reads, writes))


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


def _pattern_boxes(
    drawing: Drawing, box_patterns: Sequence[Pattern[..., Any]], box: Rect, x: float, right_edge: float
) -> None:
    """Draw the boxes of patterns one below the other.

    An arrow points from `box`, a table or index, to each pattern that reads, and from each pattern that writes to
    `box`. If `right_edge` is not 0, the right edges of the boxes are at `right_edge`. Otherwise, their left edges are
    at `x`.
    """
    for number, pattern in enumerate(box_patterns):
        line = _pattern_line(pattern)
        width = width_of([line])
        css_class = "read" if pattern.plan.reading else "write"
        rect = Rect(right_edge - width if right_edge else x, box.y + number * _PITCH, width, 0)
        pattern_box = drawing.box(rect, [line], f"pattern {css_class}")
        if pattern.plan.reading:
            drawing.arrow((box.x, pattern_box.middle), (pattern_box.right + 2, pattern_box.middle), f"line {css_class}")
        else:
            drawing.arrow((pattern_box.x, pattern_box.middle), (box.right + 2, pattern_box.middle), f"line {css_class}")


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


def consumers(tables: Sequence[Table], id_prefix: str) -> str:
    """Return an SVG drawing of the tables with streams. Arrows lead to the consumers and to the destinations of failed
    records.

    `id_prefix` must be unique on the page.
    """
    drawing = Drawing()
    sources = {table: _source_lines(table) for table in tables if table.consumers}
    boxes = {consumer: _consumer_lines(consumer) for table in sources for consumer in table.consumers}
    source_width = max(map(width_of, sources.values()))
    consumer_width = max(map(width_of, boxes.values()))
    y: float = 0
    for table, lines in sources.items():
        heights = [height_of(boxes[consumer]) for consumer in table.consumers]
        total_height = max(height_of(lines), sum(heights) + _GAP * (len(heights) - 1))
        source = drawing.box(Rect(0, y, source_width, total_height), lines, "table")
        for consumer, height in zip(table.consumers, heights, strict=True):
            box = drawing.box(Rect(source.right + 5 * _LANE, y, consumer_width, height), boxes[consumer], "entity")
            drawing.arrow((source.right, box.middle), (box.x - 2, box.middle), "line read")
            _failures(drawing, consumer, box)
            y = box.bottom + _GAP
        y = max(y, source.bottom + _GAP)
    return drawing.svg(id_prefix, "Change consumers", " ".join(_consumer_text(*pair) for pair in _pairs(tables)))


def _pairs(tables: Sequence[Table]) -> Iterator[tuple[Table, Consumer]]:
    return ((table, consumer) for table in tables for consumer in table.consumers)


def _source_lines(table: Table) -> list[Line]:
    return _lines_with_heading([f"table {table.name}", f"stream {table.schema.stream or 'off'}"])


def _consumer_lines(consumer: Consumer) -> list[Line]:
    texts = [f"{_names(consumer)}: {', '.join(sorted(consumer.events))}"]
    if consumer.filter is not None:
        texts.append(f"only {_filter_text(consumer)}")
    texts.append(f"batches of {consumer.batch}")
    return [*_lines(consumer.name, "name"), *(line for text in texts for line in _lines(text, ""))]


def _names(consumer: Consumer) -> str:
    return ", ".join(entity.name for entity in consumer.entities)


def _filter_text(consumer: Consumer) -> str:
    if not isinstance(consumer.filter, Changed):
        return f"while {condition(consumer.filter)}"
    becomes = "" if consumer.filter.becomes is None else f" to {plain_value(consumer.filter.becomes)!r}"
    return f"when {consumer.filter.field} changes{becomes}"


def _failures(drawing: Drawing, consumer: Consumer, box: Rect) -> None:
    lines = _lines(_after_failures(consumer), "")
    height = height_of(lines)
    rect = Rect(box.right + 5 * _LANE, box.middle - height / 2, width_of(lines), height)
    drawing.box(rect, lines, "failed")
    drawing.arrow((box.right, box.middle), (rect.x - 2, box.middle), "line write")


def _after_failures(consumer: Consumer) -> str:
    if consumer.retries is None:
        return "retried as long as the stream keeps the change"
    tries = "retry" if consumer.retries == 1 else "retries"
    return f"after {consumer.retries} {tries}: {consumer.on_failure or 'the consumer stops'}"


def _consumer_text(table: Table, consumer: Consumer) -> str:
    changes = f"{consumer.name} receives changes of {_names(consumer)} from table {table.name}"
    return f"{changes}; failed changes: {_after_failures(consumer)}."
