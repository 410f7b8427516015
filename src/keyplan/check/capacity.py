"""Tables and indexes with what their patterns take a second beside what is bought for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
        return self.table.schema.where(self.index)

    @property
    def place(self) -> Place:
        """Where it is declared."""
        return self.table.schema.place if self.index is None else self.index.place

    @property
    def bought(self) -> Provisioned | None:
        """Its provisioned capacity, if it has some."""
        return self.table.schema.provisioned if self.index is None else self.index.billing


def parts_of(subject: Subject) -> Iterator[Part]:
    """Every table and global index with its load."""
    for table in subject.tables:
        mine = [work for work in subject.works if work.plan.schema is table.schema and is_declared(work)]
        for index in (None, *(one for one in table.schema.indexes if one.kind == "GSI")):
            yield _part(table, index, mine)


def _part(table: Table, index: Index | None, works: list[Work]) -> Part:
    rated = [(_read(work, index), _written(work, table, index), rate) for work in works if (rate := work.rate)]
    return Part(
        table,
        index,
        read=sum(read * rate.average for read, _, rate in rated),
        write=sum(write * rate.average for _, write, rate in rated),
        peak_read=sum(read * rate.highest for read, _, rate in rated),
        peak_write=sum(write * rate.highest for _, write, rate in rated),
    )


def _read(work: Work, index: Index | None) -> float:
    """The read units that a call takes from this part: local indexes take the table's."""
    asked = work.plan.index
    serves = asked is index or (index is None and asked is not None and asked.kind == "LSI")
    return work.units.read if serves else 0.0


def _written(work: Work, table: Table, index: Index | None) -> float:
    """The write units, likewise."""
    if index is not None:
        return work.units.indexes.get(index.name, 0.0)
    local = [one.name for one in table.schema.indexes if one.kind == "LSI"]
    return work.units.write + sum(work.units.indexes.get(name, 0.0) for name in local)
