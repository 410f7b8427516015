"""Pictures of a design's tables with their indexes and entities, and the patterns that read and write them.

`panels` returns the picture as data, with one panel per table. `merge_panels` combines the panels of two versions of a
design and marks the differences. `draw` renders a panel as inline SVG with links. Classes in console.css define the
colors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

from markupsafe import Markup

from keyplan.check.finding import Finding
from keyplan.cost.expected import expected, steps_of
from keyplan.design.declaring.consumers import Consumer
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKey
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index
from keyplan.diff.changes import DesignChange
from keyplan.export.conditions import condition
from keyplan.export.svg import cells, printable

Mark = Literal["", "added", "removed", "changed"]
COLORS: Final = 8
"""The number of entity colors in console.css."""
SEVERITIES: Final = ("error", "warning", "advice")
"""The severities of findings, from the most to the least severe."""
_SIGNS: Final = {"": "", "added": "+ ", "removed": "\u2212 ", "changed": "~ "}
_OPERATIONS: Final = {
    "BatchGetItem": "BatchGet", "BatchWriteItem": "BatchWrite", "ConditionCheck": "Check", "DeleteItem": "Delete",
    "GetItem": "Get", "PutItem": "Put", "TransactWriteItems": "Transact", "UpdateItem": "Update",
}  # fmt: skip

_ENTITY_CHANGES: Final = frozenset(
    {
        "consumer changed", "facts changed", "field changed", "field missing", "field removed", "type changed",
        "unique added", "unique removed", "values narrowed", "version changed",
    }
)  # fmt: skip
"""The kinds of changes to an entity or consumer that may not be visible in the text of its row in the picture."""

RowId = tuple[str, str]
"""The identifier of a row in a panel: the name of an index, or "" for the table, and the name of the entity."""


@dataclass(frozen=True)
class PanelRow:
    """A row of a table's diagram: the items of one entity in a table or index, or a consumer of a stream."""

    name: str
    text: str
    """The entity's key in this table or index, or the change types that a consumer receives."""
    note: str = ""
    color: int | None = None
    mark: Mark = ""


@dataclass(frozen=True)
class PanelSection:
    """A section of a table's diagram: the table, one of its indexes, or its stream."""

    key: str
    kind: Literal["table", "GSI", "LSI", "stream"]
    name: str
    keys: str
    note: str
    rows: tuple[PanelRow, ...]
    mark: Mark = ""


@dataclass(frozen=True)
class PatternBox:
    """The box that represents a pattern in the picture of a table."""

    name: str
    note: str
    """The operation of the pattern, such as Query."""
    is_read: bool
    links: tuple[RowId, ...]
    """The rows that the pattern reads or writes. Lines connect them to the pattern's box."""
    touches: frozenset[RowId]
    """The rows in `links`, and the rows for index entries that the pattern's writes change."""
    severity: str = ""
    """The severity of the most severe finding about the pattern, or an empty string if the pattern has no findings."""
    mark: Mark = ""


@dataclass(frozen=True)
class Panel:
    """A diagram of one table."""

    table: str
    sections: tuple[PanelSection, ...]
    boxes: tuple[PatternBox, ...]
    mark: Mark = ""

    def readers(self, section: str) -> list[PatternBox]:
        """Return the boxes of the patterns that read a section: the table or one of its indexes."""
        return [box for box in self.boxes if box.is_read and any(row_id[0] == section for row_id in box.touches)]

    def writers(self, section: str) -> list[PatternBox]:
        """Return the boxes of the patterns that write a section: the table or one of its indexes."""
        return [box for box in self.boxes if not box.is_read and any(row_id[0] == section for row_id in box.touches)]


def colors_of(design: Design) -> dict[str, int]:
    """Return the color number of each entity, by entity name. The entities of each table are numbered separately."""
    return {spec.name: number % COLORS for table in design.tables for number, spec in enumerate(table.entities)}


def panels(design: Design, findings: Sequence[Finding] = ()) -> list[Panel]:
    """Return a diagram of each table of a design."""
    severities = worst_by_subject(findings)
    return [_panel(design, table, severities) for table in design.tables]


def worst_by_subject(findings: Sequence[Finding]) -> dict[str, str]:
    """Return the severity of the most severe finding about each subject, by subject."""
    worst: dict[str, str] = {}
    for severity in SEVERITIES:
        for finding in findings:
            for member in (finding, *finding.alike):
                if member.severity == severity:
                    worst.setdefault(member.subject, severity)
    return worst


def _panel(design: Design, table: Table, severities: Mapping[str, str]) -> Panel:
    sections = [_section(table, None), *(_section(table, index) for index in table.schema.indexes)]
    if table.schema.stream is not None or table.consumers:
        stream = table.schema.stream or "off"
        rows = tuple(_consumer_row(consumer) for consumer in table.consumers)
        sections.append(PanelSection("stream:", "stream", "Stream", stream, "", rows))
    boxes = [box for pattern in design.patterns if (box := _box(pattern, table, severities)) is not None]
    return Panel(table.name, tuple(sections), tuple(boxes))


def _section(table: Table, index: Index | None) -> PanelSection:
    schema = table.schema
    rows = tuple(
        PanelRow(spec.name, key_text(bound), _only_if(bound), number % COLORS)
        for number, spec in enumerate(table.entities)
        if (bound := spec.key_in(index)) is not None
    )
    if index is None:
        notes = [f"expires by {ttl.attribute}" for ttl in schema.ttls]
        notes += [f"{schema.provisioned.read}/{schema.provisioned.write} units/s"] if schema.provisioned else []
        return PanelSection("", "table", table.name, " + ".join(schema.key), ", ".join(notes), rows)
    attributes_text = (
        f"{len(index.project)} attributes" if isinstance(index.project, tuple) else index.project or "not stated"
    )
    keys = " + ".join([", ".join(index.partition), *([", ".join(index.sort)] if index.sort else [])])
    return PanelSection(index.name, index.kind, index.name, keys, f"holds {attributes_text}", rows)


def key_text(bound: BoundKey) -> str:
    """Return the templates of a key as text, separated by a middle dot, as in USER#{user_id} · TASK#{task_id}."""
    return " \u00b7 ".join(part.text for part in bound.attributes)


def _only_if(bound: BoundKey) -> str:
    return "" if bound.only_if is None else f"only if {condition(bound.only_if)}"


def _consumer_row(consumer: Consumer) -> PanelRow:
    entities = ", ".join(spec.name for spec in consumer.entities) or "every entity"
    return PanelRow(consumer.name, f"{'/'.join(sorted(consumer.events))} {entities}")


def _box(pattern: Pattern[..., Any], table: Table, severities: Mapping[str, str]) -> PatternBox | None:
    """Return the box of a pattern in a table's picture, or None if the pattern does not use the table."""
    plans = [plan for plan in pattern.plan.steps or (pattern.plan,) if plan.schema is table.schema]
    if not plans:
        return None
    links = tuple(dict.fromkeys(row_id for plan in plans for row_id in _linked_rows(plan)))
    touched_rows = {*links, *_entries(pattern, table)}
    note = _OPERATIONS.get(pattern.plan.operation, pattern.plan.operation)
    severity = severities.get(pattern.name, "")
    return PatternBox(pattern.name, note, pattern.plan.reading, links, frozenset(touched_rows), severity)


def _linked_rows(plan: Plan) -> Iterator[RowId]:
    section = "" if plan.index is None else plan.index.name
    for spec in plan.entities:
        if spec.key_in(plan.index) is not None:
            yield section, spec.name
        if plan.hydrated:
            yield "", spec.name


def _entries(pattern: Pattern[..., Any], table: Table) -> Iterator[RowId]:
    """Yield the rows for the index entries that a pattern writes in a table."""
    plan = pattern.plan
    if plan.reading:
        return
    writes = [(step, units) for step, _, units in steps_of(plan, pattern.facts)] or [(plan, expected(pattern).units)]
    for step, units in writes:
        if step.schema is table.schema:
            for name in units.indexes:
                yield from ((name, spec.name) for spec in step.entities if _is_in(spec, name))


def _is_in(spec: EntitySpec, index: str) -> bool:
    return spec.key_in(index) is not None


# Two versions.


def merge_panels(old: Sequence[Panel], new: Sequence[Panel], changes: Iterable[DesignChange] = ()) -> list[Panel]:
    """Combine the panels of two versions of a design, and mark all differences.

    `changes` are the changes between the two versions. Patterns and entities are also marked for changes that the
    picture does not show, such as changed fields.
    """
    changed_subjects = {
        ("pattern" if "pattern" in change.facts else change.table, change.subject)
        for change in changes
        if "pattern" in change.facts or change.kind in _ENTITY_CHANGES
    }
    before = {panel.table: panel for panel in old}
    names = {panel.table for panel in new}
    merged = [
        _merge_panel(before[panel.table], panel, changed_subjects)
        if panel.table in before
        else _with_mark(panel, "added")
        for panel in new
    ]
    return [*merged, *(_with_mark(panel, "removed") for panel in old if panel.table not in names)]


def _with_mark(panel: Panel, mark: Mark) -> Panel:
    sections = tuple(
        replace(section, mark=mark, rows=tuple(replace(row, mark=mark) for row in section.rows))
        for section in panel.sections
    )
    return replace(panel, mark=mark, sections=sections, boxes=tuple(replace(box, mark=mark) for box in panel.boxes))


def _merge_panel(old: Panel, new: Panel, changed_subjects: Collection[tuple[str, str]]) -> Panel:
    entities = {name for table, name in changed_subjects if table == new.table}
    before = {section.key: section for section in old.sections}
    after = {section.key for section in new.sections}
    sections = [_merge_section(before.get(section.key), section, entities) for section in new.sections]
    sections += [_removed_section(section) for section in old.sections if section.key not in after]
    boxes_before = {box.name: box for box in old.boxes}
    boxes_after = {box.name for box in new.boxes}
    boxes = [_merge_box(boxes_before.get(box.name), box, changed_subjects) for box in new.boxes]
    boxes += [replace(box, mark="removed") for box in old.boxes if box.name not in boxes_after]
    colors = {row.name: row.color for section in new.sections for row in section.rows}
    recolored = tuple(
        replace(
            section,
            rows=tuple(replace(row, color=colors.get(row.name, row.color)) for row in section.rows),
        )
        for section in sections
    )
    marks = {box.mark for box in boxes} | {section.mark for section in sections}
    marks |= {row.mark for section in sections for row in section.rows}
    is_same = marks <= {""}
    return Panel(new.table, recolored, tuple(boxes), "" if is_same else "changed")


def _merge_section(old: PanelSection | None, new: PanelSection, changed_entities: Collection[str]) -> PanelSection:
    if old is None:
        return replace(new, mark="added", rows=tuple(replace(row, mark="added") for row in new.rows))
    before = {row.name: row for row in old.rows}
    names = {row.name for row in new.rows}
    marked_entities = changed_entities if new.kind in {"table", "stream"} else ()
    rows = [
        replace(row, mark=_difference(before.get(row.name), row, is_changed=row.name in marked_entities))
        for row in new.rows
    ]
    rows += [replace(row, mark="removed") for row in old.rows if row.name not in names]
    is_same = (old.kind, old.keys, old.note) == (new.kind, new.keys, new.note)
    return replace(new, rows=tuple(rows), mark="" if is_same else "changed")


def _difference(old: PanelRow | None, new: PanelRow, *, is_changed: bool) -> Mark:
    if old is None:
        return "added"
    return "" if (old.text, old.note) == (new.text, new.note) and not is_changed else "changed"


def _removed_section(section: PanelSection) -> PanelSection:
    return replace(section, mark="removed", rows=tuple(replace(row, mark="removed") for row in section.rows))


def _merge_box(old: PatternBox | None, new: PatternBox, changed_subjects: Collection[tuple[str, str]]) -> PatternBox:
    if old is None:
        return replace(new, mark="added")
    is_same = (old.note, old.links, old.touches) == (new.note, new.links, new.touches)
    is_same = is_same and ("pattern", new.name) not in changed_subjects
    return replace(new, mark="" if is_same else "changed")


# Drawing.

_CELL: Final = 7.3
"""The width of a character in the widest common monospaced font at a size of 12 px."""
_SIDE, _LANE, _MIDDLE = 296.0, 84.0, 500.0
_PITCH, _PILL = 31.0, 25.0
_HEAD, _ROW, _NOTE, _GAP = 46.0, 25.0, 16.0, 16.0
_INSET: Final = 10.0


@dataclass
class _Drawing:
    """The positions of the rows in a picture, and its SVG elements in drawing order."""

    prefix: str
    row_positions: dict[RowId, tuple[float, str]] = field(default_factory=dict)
    """The vertical center and the element ID of each row."""
    parts: list[Markup] = field(default_factory=list)
    lines: list[Markup] = field(default_factory=list)


def draw(panel: Panel, number: int, *, linked: bool = True) -> Markup:
    """Return a panel as SVG. `number` makes the element IDs unique in the page. If `linked` is True, the boxes are
    links.
    """
    drawing = _Drawing(f"p{number}")
    reads = [box for box in panel.boxes if box.is_read]
    writes = [box for box in panel.boxes if not box.is_read]
    table_x = _SIDE + _LANE if reads else 0.0
    middle_height = sum(_height(section) + _GAP for section in panel.sections) - _GAP
    side_height = max(len(reads), len(writes)) * _PITCH - (_PITCH - _PILL)
    height = max(middle_height, side_height) + 2 * _INSET
    y = (height - middle_height) / 2
    for section in panel.sections:
        _draw_section(drawing, panel, section, table_x, y, linked=linked)
        y += _height(section) + _GAP
    _draw_side(drawing, reads, 0.0, table_x, height, linked=linked)
    _draw_side(drawing, writes, table_x + _MIDDLE + _LANE, table_x + _MIDDLE, height, linked=linked)
    width = table_x + _MIDDLE + (_LANE + _SIDE if writes else 0.0)
    title = f"Table {panel.table}: entities, indexes and access patterns"
    return Markup(
        '<svg class="design" role="group" aria-label="{title}" viewBox="-1 -1 {width:g} {height:g}" '
        'width="{width:g}" height="{height:g}" data-inline="">{lines}{parts}</svg>'
    ).format(
        title=title,
        width=width + 2,
        height=height + 2,
        lines=Markup("").join(drawing.lines),
        parts=Markup("").join(drawing.parts),
    )


def _height(section: PanelSection) -> float:
    rows = sum(_row_height(row) for row in section.rows) or _ROW
    return _HEAD + rows + 8


def _row_height(row: PanelRow) -> float:
    return _ROW + (_NOTE if row.note else 0) + (0 if _fits_in_one_line(row) else _NOTE)


def _fits_in_one_line(row: PanelRow) -> bool:
    return cells(f"{row.name}  {row.text}") * _CELL <= _MIDDLE - 40


def _draw_section(drawing: _Drawing, panel: Panel, section: PanelSection, x: float, y: float, *, linked: bool) -> None:
    parts = [
        _rect(x, y, _MIDDLE, _height(section), f"section {_kind_class(section)} {section.mark}"),
        _text(x + 14, y + 19, f"{_SIGNS[section.mark]}{section.name}", "name", max_width=_MIDDLE - 120),
        _text(
            x + 14,
            y + 36,
            ", ".join(part for part in (section.keys, section.note) if part),
            "dim",
            max_width=_MIDDLE - 28,
        ),
        _text(x + _MIDDLE - 14, y + 19, section.kind, "kind", anchor="end"),
    ]
    group = Markup("").join(parts)
    if linked and section.kind != "stream":
        address = f"items?{urlencode({'table': panel.table, 'index': section.key})}"
        group = _link(address, group, f"Items of {section.name}")
    drawing.parts.append(group)
    row_y = y + _HEAD
    for number, row in enumerate(section.rows):
        element_id = f"{drawing.prefix}-{panel.sections.index(section)}-{number}"
        drawing.row_positions[section.key, row.name] = (row_y + _ROW / 2, element_id)
        drawing.parts.append(_row(panel, section, row, element_id, (x, row_y), linked=linked))
        row_y += _row_height(row)
    if not section.rows:
        empty = "no consumers" if section.kind == "stream" else "no entity"
        drawing.parts.append(_text(x + 14, row_y + 16, empty, "dim"))


def _kind_class(section: PanelSection) -> str:
    return "is-table" if section.kind == "table" else "is-stream" if section.kind == "stream" else "is-index"


def _row(
    panel: Panel, section: PanelSection, row: PanelRow, element_id: str, corner: tuple[float, float], *, linked: bool
) -> Markup:
    x, y = corner
    parts = [_rect(x + 6, y, _MIDDLE - 12, _row_height(row) - 2, f"row {row.mark}")]
    if row.color is not None:
        parts.append(_rect(x + 12, y + 6, 10, 11, f"entity-{row.color}"))
    parts.append(_text(x + 30, y + 16, f"{_SIGNS[row.mark]}{row.name}", "entity-name", max_width=_MIDDLE - 40))
    if _fits_in_one_line(row):
        parts.append(_text(x + _MIDDLE - 14, y + 16, row.text, "key", anchor="end"))
    else:
        parts.append(_text(x + 30, y + 16 + _NOTE, row.text, "key", max_width=_MIDDLE - 44))
    if row.note:
        note_y = y + 16 + _NOTE + (0 if _fits_in_one_line(row) else _NOTE)
        parts.append(_text(x + 30, note_y, row.note, "dim", max_width=_MIDDLE - 44))
    group = Markup('<g id="{}" data-row="">{}</g>').format(element_id, Markup("").join(parts))
    if linked and section.kind != "stream":
        query = urlencode({"table": panel.table, "index": section.key, "entity": row.name})
        return _link(f"items?{query}", group, f"{row.name} in {section.name}")
    return group


def _draw_side(
    drawing: _Drawing, boxes: Sequence[PatternBox], x: float, edge: float, height: float, *, linked: bool
) -> None:
    """Draw the boxes of the patterns on one side of a table's picture, near their rows, with lines to the rows.

    `x` is the position of the boxes. The lines end at `edge`, which is the side of the table's box.
    """
    heights = {box.name: _preferred_y(drawing, box) for box in boxes}
    ordered = sorted(boxes, key=lambda box: heights[box.name])
    tops = _spread([heights[box.name] - _PILL / 2 for box in ordered], _INSET, height - _INSET)
    for box, y in zip(ordered, tops, strict=True):
        element_id = f"{drawing.prefix}-{'r' if box.is_read else 'w'}{boxes.index(box)}"
        ids = [drawing.row_positions[row_id][1] for row_id in sorted(box.touches) if row_id in drawing.row_positions]
        start = x + _SIDE if box.is_read else x
        for row_id in box.links:
            if row_id in drawing.row_positions:
                drawing.lines.append(
                    _line((start, y + _PILL / 2), (edge, drawing.row_positions[row_id][0]), box, element_id)
                )
        drawing.parts.append(_pill(box, element_id, ids, (x, y), linked=linked))


def _preferred_y(drawing: _Drawing, box: PatternBox) -> float:
    rows = [drawing.row_positions[row_id][0] for row_id in box.links if row_id in drawing.row_positions]
    return sum(rows) / len(rows) if rows else 0.0


def _spread(preferred: Sequence[float], top: float, bottom: float) -> list[float]:
    """Return positions between `top` and `bottom` that do not overlap and are close to the sorted `preferred`
    positions.
    """
    positions: list[float] = []
    for y in preferred:
        positions.append(max(y, positions[-1] + _PITCH if positions else top))
    last = bottom - _PILL
    for number in range(len(positions) - 1, -1, -1):
        positions[number] = min(positions[number], last)
        last = positions[number] - _PITCH
    return positions


def _pill(box: PatternBox, element_id: str, ids: Sequence[str], corner: tuple[float, float], *, linked: bool) -> Markup:
    x, y = corner
    max_width = _SIDE - 26 - cells(box.note) * _CELL - 14
    parts = [
        _rect(x, y, _SIDE, _PILL, f"pattern {_kind(box)} {box.mark}"),
        _text(x + 12, y + 17, f"{_SIGNS[box.mark]}{box.name}", "pattern-name", max_width=max_width),
        _text(x + _SIDE - (22 if box.severity else 10), y + 17, box.note, "dim", anchor="end"),
    ]
    if box.severity:
        dot = Markup('<circle class="finding-{}" cx="{:g}" cy="{:g}" r="4.5"><title>{}</title></circle>')
        parts.append(dot.format(box.severity, x + _SIDE - 11, y + _PILL / 2, f"has findings: {box.severity}"))
    group = Markup('<g id="{}" data-touches="{}">{}</g>').format(element_id, " ".join(ids), Markup("").join(parts))
    return _link(f"patterns/{quote(box.name, safe='')}", group, f"Pattern {box.name}, {box.note}") if linked else group


def _kind(box: PatternBox) -> str:
    return "read" if box.is_read else "write"


def _line(start: tuple[float, float], end: tuple[float, float], box: PatternBox, element_id: str) -> Markup:
    (x, y), (right, level) = start, end
    bend = (right - x) / 2
    return Markup('<path class="edge {} {}" data-of="{}" d="M{:g} {:g}C{:g} {:g} {:g} {:g} {:g} {:g}"/>').format(
        _kind(box), box.mark, element_id, x, y, x + bend, y, right - bend, level, right, level
    )


def _link(address: str, content: Markup, label: str) -> Markup:
    return Markup('<a href="{}" aria-label="{}">{}</a>').format(address, label, content)


def _rect(x: float, y: float, width: float, height: float, css_class: str) -> Markup:
    return Markup('<rect class="{}" x="{:g}" y="{:g}" width="{:g}" height="{:g}" rx="4"/>').format(
        css_class.strip(), x, y, width, height
    )


def _text(x: float, y: float, text: str, css_class: str, *, max_width: float = 0, anchor: str = "start") -> Markup:
    clipped = printable(text)
    if max_width and cells(clipped) * _CELL > max_width:
        clipped = f"{clipped[: max(1, int(max_width / _CELL) - 1)]}\u2026"
    return Markup('<text class="{}" x="{:g}" y="{:g}" text-anchor="{}">{}{}</text>').format(
        css_class, x, y, anchor, clipped, Markup("<title>{}</title>").format(text) if clipped != printable(text) else ""
    )
