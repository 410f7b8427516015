"""Generated items for a design, and arguments for calls to its patterns that read or change these items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from keyplan.console.design.running import connection_of
from keyplan.console.source import Source
from keyplan.design.declaring.design import Design
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import Entity, EntitySpec
from keyplan.design.keys.encodings import MissingField, TemplateError
from keyplan.design.requests.items import item_builder
from keyplan.errors import KeyplanError
from keyplan.verify.arguments import ArgumentGenerator
from keyplan.verify.generate import generators
from keyplan.verify.model import StoredEntities, sentinels_of
from keyplan.verify.values import SampleError, ValueGenerator

ITEMS: Final = 400
"""The approximate total number of generated items."""
_DAY_S: Final = 86_400


class Sample:
    """Generated items for a design. The same items are generated throughout a day, so links to them work all day."""

    def __init__(self, design: Design, now_s: float, items: int = ITEMS) -> None:
        """Generate about `items` items. `now_s` is the current time in seconds since 1970.

        Raises MissingGeneratorError if the extra `verify` is not installed.
        """
        values = ValueGenerator(0, now_s - now_s % _DAY_S)  # expiry times lie in the future
        generators_by_spec = generators(design, items, values)
        self._stored = StoredEntities(design.entities)
        self.problems: list[str] = []
        """A message for each entity whose items could not all be generated, with the reason."""
        for spec, generator in generators_by_spec.items():
            try:
                for entity in generator.make_all():
                    self._add(spec, entity)
            except (SampleError, TemplateError, MissingField) as error:
                self.problems.append(f"{spec.name}: {error}")
        self._arguments = ArgumentGenerator(self._stored, generators_by_spec, values, self._stored.add)

    def _add(self, spec: EntitySpec, entity: Entity) -> None:
        if not self._stored.exists(spec, entity):
            self._stored.add(spec, entity)

    def items(self, table: Table) -> Iterator[dict[str, Any]]:
        """Yield the items of a table, including the items that reserve unique values."""
        for spec in table.entities:
            for entity in self._stored.all(spec):
                yield item_builder(spec).item(entity)
                yield from sentinels_of(spec, entity)

    def arguments(self, pattern: Pattern[..., Any]) -> Mapping[str, Any]:
        """Return arguments for a call to a pattern that reads or changes these items.

        Raises KeyplanError if no suitable arguments exist.
        """
        return self._arguments.draw(pattern)

    def store(self, design: Design, source: Source) -> int:
        """Create missing tables, write all generated items to a database, and return the number of items.

        Raises KeyplanError if a table differs from its declaration or a database call fails.
        """
        connection_of(source, b"").create_tables(*design.tables)
        count = 0
        for table in design.tables:
            puts = [{"PutRequest": {"Item": item}} for item in self.items(table)]
            written_count = source.write_batch(table.name, puts)
            count += written_count
            if written_count < len(puts):
                raise KeyplanError(
                    f"{table.name} accepted {written_count:,} of {len(puts):,} items: the throughput of the table"
                    " is exceeded"
                )
        return count
