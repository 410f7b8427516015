"""How long key values can get, and what is said of keys that can get too long."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.keyspace import as_template
from keyplan.check.names import is_identifier, is_moment
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import BoundKey, KeyAttribute
from keyplan.design.template_field import Field
from keyplan.design.templates import BoundTemplate


def too_long(code: str, entity: EntitySpec, bound: BoundKey, part: KeyAttribute, limit: int) -> Iterator[Finding]:
    """A key attribute that the declared lengths allow to pass the limit."""
    most = _most_bytes(part)
    if most is not None and most > limit:
        longest = _longest_field(part, entity)
        yield Finding(
            code,
            "error",
            entity.name,
            f"{part.attribute} of {entity.name}, a key of {entity.schema.where(bound.index)} made as {part.text}, can"
            f" have {most:,} bytes, and a key of its kind may have {limit:,}",
            f"declare {longest} shorter, as a pattern of plain characters, or keep it out of the key",
            bound.place.at(part.text) if part.template else bound.place,
            entity.schema.place_of(bound.index),
        )


def unbounded(code: str, entity: EntitySpec, bound: BoundKey, part: KeyAttribute, limit: int) -> Iterator[Finding]:
    """Text that people write and nothing bounds, in a key."""
    template = as_template(part)
    if template is None or template.max_bytes is not None:
        return
    names = [hole.name for hole in template.holes if hole.encoding.max_bytes is None and _is_free(hole.field)]
    for name in dict.fromkeys(names):
        yield Finding(
            code,
            "advice",
            entity.name,
            f"nothing bounds {entity.name}.{name}, which {part.attribute} of {entity.schema.where(bound.index)} is made"
            f" of: a key of its kind may have {limit:,} bytes, and writes of longer ones are refused",
            f"declare it: Annotated[str, Field(max_length={_room(template, limit)})]",
            bound.place.at(part.text) if part.template else entity.place.at(f"{name}:", width=len(name)),
            entity.place,
        )


def _is_free(field: Field) -> bool:
    return field.type is str and not is_identifier(field.name) and not is_moment(field.name)


def _room(template: BoundTemplate, limit: int) -> int:
    """A length in characters that fits, whatever the characters are, in round numbers."""
    open_ends = sum(1 for hole in template.holes if hole.encoding.max_bytes is None)
    return max(1, (limit - template.min_bytes) // (4 * max(1, open_ends)) // 10 * 10)


def _most_bytes(part: KeyAttribute) -> int | None:
    template = as_template(part)
    if template is not None:
        return template.max_bytes
    return None if part.field is None or part.type_code != "B" else part.field.declared.max_length


def _longest_field(part: KeyAttribute, entity: EntitySpec) -> str:
    template = as_template(part)
    if template is None:
        return f"{entity.name}.{part.fields[0]}"
    if not template.holes:
        return f"the text of {part.attribute}"
    return f"{entity.name}.{max(template.holes, key=lambda hole: hole.encoding.max_bytes or 0).name}"
