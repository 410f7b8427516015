"""Which items belong to another one, and of which a consumer is told that they go."""

from __future__ import annotations

from typing import Literal

from keyplan.check.names import words_of
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import text_of


def belongs(part: EntitySpec, owner: EntitySpec) -> bool:
    """Whether the key of a part has all fields of its owner's key, and more, because it is the owner's."""
    mine, its = set(part.key.fields), set(owner.key.fields)
    return its < mine and (_lie_together(part, owner) or _is_named_after(owner, its))


def _lie_together(part: EntitySpec, owner: EntitySpec) -> bool:
    return part.schema is owner.schema and text_of(part.key.partition) == text_of(owner.key.partition)


def _is_named_after(owner: EntitySpec, fields: set[str]) -> bool:
    noun = words_of(owner.name).rpartition("_")[2]
    return any(noun in words_of(name).split("_") for name in fields)


def watched(subject: Subject, event: Literal["removed", "expired"]) -> set[str]:
    """The names of the entities of which a consumer takes such an event."""
    consumers = [consumer for table in subject.tables for consumer in table.consumers if event in consumer.events]
    return {entity.name for consumer in consumers for entity in consumer.entities}
