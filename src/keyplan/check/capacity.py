"""Tables and indexes with what their patterns take a second beside what is bought for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from keyplan.check import wording
from keyplan.check.heat import is_declared
from keyplan.check.load import Work
from keyplan.check.subject import Subject
from keyplan.design.places import Place
from keyplan.design.schema import Index
from keyplan.design.tables import Table
from keyplan.design.workload import Provisioned


@dataclass(frozen=True, eq=False)
class Part:
    """A table without its global indexes, or one of them; units a second."""

    table: Table
    index: Index | None
    read: float
    write: float
    peak_read: float
    peak_write: float

    @property
    def name(self) -> str:
        """What a finding is about."""
        return self.table.name if self.index is None else self.index.name

    @property
    def where(self) -> str:
        """The same for messages."""
        return wording.where(self.table.name, self.index)

    @property
    def place(self) -> Place:
        """Where it is declared."""
        return self.table.schema.place if self.index is None else self.index.place

    @property
    def bought(self) -> Provisioned | None:
        """Its provisioned capacity, if it has some."""
        billing = self.table.schema.billing if self.index is None else self.index.billing
        return billing if isinstance(billing, Provisioned) else None


def parts_of(subject: Subject) -> Iterator[Part]:
    """Every table and global index with its load."""
    for table in subject.tables:
        mine = [work for work in subject.works if work.plan.schema is table.schema and is_declared(work)]
        for index in (None, *(one for one in table.schema.indexes if one.kind == "GSI")):
            yield _part(table, index, mine)


def _part(table: Table, index: Index | None, works: list[Work]) -> Part:
    totals = [0.0, 0.0, 0.0, 0.0]
    for work in works:
        if work.rate is None:
            continue
        read = work.units.read if _serves(work, index) else 0.0
        write = work.units.write + _local(work, table) if index is None else work.units.indexes.get(index.name, 0.0)
        for place, units in ((0, read * work.rate.average), (1, write * work.rate.average)):
            totals[place] += units
        for place, units in ((2, read * work.rate.highest), (3, write * work.rate.highest)):
            totals[place] += units
    return Part(table, index, *totals)


def _serves(work: Work, index: Index | None) -> bool:
    """Whether a read takes its units from this part: local indexes take the table's."""
    asked = work.plan.index
    return asked is index or (index is None and asked is not None and asked.kind == "LSI")


def _local(work: Work, table: Table) -> float:
    return sum(work.units.indexes.get(index.name, 0.0) for index in table.schema.indexes if index.kind == "LSI")
