"""What a global secondary index adds to a put, against what the same index rows add to a bare commit."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bench.lines import Line
from bench.measure import Figure, Run, Runs, singles
from bench.targets.bare import CREATE as CREATE_ROWS
from bench.targets.bare import MOVE, UPSERT, UPSERT_ITEM, Bare, Row, key_bytes, row_of
from bench.targets.engine import engine_call, open_engine
from bench.targets.model import PREPARED_DEFAULT, Settings
from bench.workload import Call, Operation, Request

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

SECTION = "a global secondary index"
GSI_TIMES = 2.0
INDEX = "index"
UPSERT_INDEX = UPSERT.format(name="entry")
MOVE_INDEX = MOVE.format(name="entry")


@dataclass(frozen=True, slots=True)
class Case:
    """An index on two attributes, and whether a put of new content moves its entry."""

    name: str
    partition: str
    sort: str
    moves: bool


CASES = (
    Case("entry stays in its place", "sk", "pk", moves=False),
    Case("entry moves", "status", "created_at", moves=True),
)


@dataclass(frozen=True, slots=True)
class Added:
    """Puts without and with an index: the engine's, and bare commits of the same rows."""

    case: Case
    without: Figure
    with_index: Figure
    bare_without: Figure
    bare_with_index: Figure

    @property
    def added_us(self) -> float:
        return self.with_index.p50_us - self.without.p50_us

    @property
    def bare_added_us(self) -> float:
        return self.bare_with_index.p50_us - self.bare_without.p50_us

    def lines(self) -> list[Line]:
        """What it adds beside a bare write with a commit of its own, and one within the commit."""
        what = f"added to a put, {self.case.name}"
        floors = {"bare commit": self.bare_without.p50_us, "bare, within a commit": self.bare_added_us}
        return [
            Line(SECTION, what, "engine", self.added_us, "us", floor, floor_us, GSI_TIMES)
            for floor, floor_us in floors.items()
        ]


def measured(settings: Settings) -> list[Added]:
    return [_measure(case, settings) for case in CASES]


def create_table_with(settings: Settings, case: Case) -> Call:
    """The workload's table with one index that holds whole items."""
    request: Request = dict(settings.workload.create_table().request)
    names = {definition["AttributeName"] for definition in request["AttributeDefinitions"]}
    more = [{"AttributeName": name, "AttributeType": "S"} for name in (case.partition, case.sort) if name not in names]
    request["AttributeDefinitions"] = request["AttributeDefinitions"] + more
    keys = [{"AttributeName": case.partition, "KeyType": "HASH"}, {"AttributeName": case.sort, "KeyType": "RANGE"}]
    index = {"IndexName": INDEX, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
    return Call("CreateTable", {**request, "GlobalSecondaryIndexes": [index]})


def _measure(case: Case, settings: Settings) -> Added:
    slug = case.sort
    plain = open_engine(settings.folder / f"gsi-{slug}-none.db")
    indexed = open_engine(settings.folder / f"gsi-{slug}-one.db")
    bare_plain = Bare(settings.folder / f"gsi-{slug}-bare-none.db")
    bare_indexed = Bare(settings.folder / f"gsi-{slug}-bare-one.db")
    try:
        bare_indexed.cursor.execute(CREATE_ROWS.format(name="entry"))
        runs: dict[str, Runs] = {
            "without": _engine_puts(plain, settings.workload.create_table(), settings),
            "with": _engine_puts(indexed, create_table_with(settings, case), settings),
            "bare without": _bare_puts(bare_plain, None, settings),
            "bare with": _bare_puts(bare_indexed, case, settings),
        }
        figures = singles(runs, settings.span)
        return Added(case, figures["without"], figures["with"], figures["bare without"], figures["bare with"])
    finally:
        for opened in (plain, indexed, bare_plain, bare_indexed):
            opened.close()


def _engine_puts(engine: Engine, create: Call, settings: Settings) -> Runs:
    engine_call(engine, create)()
    for call in settings.workload.load():
        engine_call(engine, call)()
    return itertools.cycle([engine_call(engine, call) for call in _puts(settings)])


def _bare_puts(bare: Bare, case: Case | None, settings: Settings) -> Runs:
    entries: dict[bytes, bytes] = {}
    for call in settings.workload.load():
        for put in call.request["RequestItems"][settings.workload.table]:
            _bare_put(bare, put["PutRequest"]["Item"], case, entries)()
    return itertools.cycle([_bare_put(bare, call.request["Item"], case, entries) for call in _puts(settings)])


def _bare_put(bare: Bare, item: Request, case: Case | None, entries: dict[bytes, bytes]) -> Run:
    """A commit of the row and its index entry, with the entry's old key known from `entries`."""
    row = row_of(item)
    if case is None:
        return partial(bare.put, row)
    entry = (index_key(item, case), row[1], row[2])
    if not case.moves:
        return partial(_commit, bare, row, entry, None)
    return partial(_commit_moved, bare, row, entry, entries)


def index_key(item: Request, case: Case) -> bytes:
    """The entry's key: the index's attributes, then the table's key."""
    return f"{item[case.partition]['S']}\0{item[case.sort]['S']}\0".encode() + key_bytes(item)


def _commit_moved(bare: Bare, row: Row, entry: Row, entries: dict[bytes, bytes]) -> None:
    old = entries.get(row[0])
    entries[row[0]] = entry[0]
    _commit(bare, row, entry, old if old != entry[0] else None)


def _commit(bare: Bare, row: Row, entry: Row, old_key: bytes | None) -> None:
    with bare.write_lock:
        cursor = bare.cursor
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute(UPSERT_ITEM, row)
        if old_key is not None:
            cursor.execute(MOVE_INDEX, (*entry, old_key))
        else:
            cursor.execute(UPSERT_INDEX, entry)
        cursor.execute("COMMIT")


def _puts(settings: Settings) -> list[Call]:
    return settings.workload.calls(Operation.PUT, PREPARED_DEFAULT)
