"""A pattern as it was written, before its plan is made, and what both kinds of planning share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keyplan.design.conditions import Path
from keyplan.design.entities import EntitySpec
from keyplan.design.keys import KeyAttribute, bound_template, template_fields
from keyplan.design.places import Fault, Place
from keyplan.design.plan import KeyValue, TextPart
from keyplan.design.schema import Schema
from keyplan.design.symbols import Param, Source, annotation_of
from keyplan.design.template_field import Field


@dataclass(frozen=True, eq=False)
class Asked:
    """A pattern as it was written."""

    name: str
    schema: Schema
    entities: tuple[EntitySpec, ...]
    index: str | None
    """The name of the index that it is to use; None for the table."""
    parameters: Mapping[str, Param]
    place: Place

    def fault(self, code: str, problem: str, fix: str, other: Place | None = None) -> Fault:
        """Something that keeps this pattern from working."""
        return Fault(code, problem, fix, self.place, other)

    def at(self, name: str, places: Mapping[str, Place]) -> Place:
        """Where the pattern names a field."""
        return places.get(name, self.place).at(name)

    def at_path(self, path: Path) -> Place:
        """Where the pattern names the field that a path begins with."""
        place = path.place if path.place.line else self.place
        return place.at(path.field)

    def written(self, attribute: str, words: str, part: TextPart = "whole") -> KeyValue:
        """A key text that is written out; its holes are the pattern's parameters."""
        # A parameter without annotation is taken to be the field of its name, or text.
        own = template_fields(self.entities[0].fields)
        fields = {name: own.get(name, Field(name, str)) for name in self.parameters}
        annotated = {name: param for name, param in self.parameters.items() if annotation_of(param) is not None}
        fields.update({name: Field.of(name, annotation_of(param), None) for name, param in annotated.items()})
        template = bound_template(words, fields, self.place)
        return KeyValue(attribute, {name: self.parameters[name] for name in template.fields}, template, part=part)


def key_value(part: KeyAttribute, sources: Mapping[str, Source], how: TextPart = "whole") -> KeyValue:
    """A key attribute made of sources; fields that have none are left to the part's meaning."""
    known = {name: sources[name] for name in part.fields if name in sources}
    return KeyValue(part.attribute, known, part.template, part.field, how)
