"""What a comparison says: changes, each with its verdict, and what becomes of the items that are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from keyplan.design.entities import EntitySpec
from keyplan.design.places import Place
from keyplan.design.schema import Index
from keyplan.design.tables import Table

Verdict = Literal["new table", "backfill", "online", "code"]
"""new table: the service cannot change it. backfill: stored items have to be written. online: the service changes it
while the table is used. code: only programs change."""
VERDICTS: tuple[Verdict, ...] = ("new table", "backfill", "online", "code")
"""From the most work to the least."""

Kind = Literal[
    "table added",
    "table removed",
    "table renamed",
    "primary key changed",
    "local index changed",
    "index added",
    "index removed",
    "index changed in place",
    "setting changed",
    "stream changed",
    "expiry changed",
    "key changed",
    "entity added",
    "entity removed",
    "entity moved",
    "entity renamed",
    "facts changed",
    "type changed",
    "values narrowed",
    "field removed",
    "field lacking",
    "field changed",
    "unique added",
    "unique removed",
    "version changed",
    "pattern added",
    "pattern removed",
    "pattern renamed",
    "pattern changed",
    "consumer changed",
]
"""What a change is about; rules look for kinds."""

Phase = Literal["prepare", "accept", "write", "backfill", "switch", "read", "remove"]
"""When in a roll-out something is done. While a version is deployed, the one before it runs beside it: each has to
read what the other writes. So a version that reads both forms (accept) comes before one that writes the new form
(write), the stored items are written when nothing writes the old form any more (backfill), and the new version, which
knows the new form only, is the last (read). A version that reads a copy of a table and writes the table too comes
before it (switch). Tables are changed before all of that (prepare), or after it (remove)."""


@dataclass(frozen=True)
class Step:
    """Something to do in a roll-out."""

    phase: Phase
    text: str
    operation: str = ""
    """The operation of the service that does it, where one does."""
    request: Mapping[str, object] | None = field(default=None, compare=False)
    """The request, where it follows from the designs."""
    is_first: bool = False
    """Whether it comes before other steps of its phase: what an index is created with depends on it."""


def staged(
    *, accept: str = "", write: str = "", backfill: str = "", by: str = "UpdateItem", read: str = ""
) -> tuple[Step, ...]:
    """The steps by which programs and stored items come to a new form; `by`: the operation that writes the items."""
    texts: dict[Phase, str] = {"accept": accept, "write": write, "backfill": backfill, "read": read}
    return tuple(Step(phase, text, by if phase == "backfill" else "") for phase, text in texts.items() if text)


@dataclass(frozen=True)
class Rewrite:
    """What has to be done to the stored items of an entity."""

    old: EntitySpec
    new: EntitySpec | None
    """None where they are deleted."""
    rekeyed: bool = False
    """Whether they lie under another primary key: each is put there, and deleted where it was, in a transaction."""
    attributes: frozenset[str] = frozenset()
    """The attributes that are written."""
    indexes: frozenset[str] = frozenset()
    """The indexes in which their entry moves, comes or goes."""
    sentinels: int = 0
    """How many sentinels are put, or deleted, with each."""
    items: bool = True
    """Whether the items themselves are written; False where only sentinels are."""
    share: float = 1.0
    """Which part of them, as far as the declared numbers tell."""


@dataclass(frozen=True)
class Build:
    """An index that the service fills from the items that are there."""

    table: Table
    index: Index
    entities: tuple[EntitySpec, ...]
    """Those whose stored items have the index's key already."""


@dataclass(frozen=True)
class Move:
    """A table that is copied into another."""

    old: Table
    new: Table


@dataclass(frozen=True)
class Change:
    """One thing that differs."""

    kind: Kind
    verdict: Verdict
    table: str
    """The table's name, as the new design has it where it has it."""
    subject: str
    """The name of the table, index, entity, pattern or consumer."""
    what: str
    """What differs, in one sentence."""
    how: str
    """What becomes of it: what the service does meanwhile, what stored items and the running version see."""
    place: Place
    other: Place | None = None
    """In the old design, where the new one has a place for it too."""
    work: Rewrite | Build | Move | None = None
    steps: tuple[Step, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    """What rules want to know beside: values that are gone, the rate of a pattern."""
