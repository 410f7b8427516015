"""The time that a global secondary index adds to a put, compared with bare writes of the same index entries."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bench.lines import Line
from bench.measure import Figure, Run, Runs, measure_singles
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
    """An index on two attributes, and whether a put that changes an item moves its index entry."""

    name: str
    partition: str
    sort: str
    moves: bool


CASES = (
    Case("entry stays in its place", "sk", "pk", moves=False),
    Case("entry moves", "status", "created_at", moves=True),
)


@dataclass(frozen=True, slots=True)
class IndexCost:
    """Puts with and without an index: those of the engine, bare commits of the same rows, and bare commits of only the
    entries.
    """

    case: Case
    without: Figure
    with_index: Figure
    bare_without: Figure
    bare_with_index: Figure
    bare_entry: Figure

    @property
    def added_us(self) -> float:
        return self.with_index.p50_us - self.without.p50_us

    @property
    def bare_added_us(self) -> float:
        return self.bare_with_index.p50_us - self.bare_without.p50_us

    def lines(self) -> list[Line]:
        """Return the added time, compared with a bare write of the entry in a separate commit and in the
        row's commit.
        """
        label = f"added to a put, {self.case.name}"
        floors = {"bare, own commit": self.bare_entry.p50_us, "bare, row's commit": self.bare_added_us}
        return [
            Line(SECTION, label, "engine", self.added_us, "us", floor, floor_us, GSI_TIMES)
            for floor, floor_us in floors.items()
        ]


def measure(settings: Settings) -> list[IndexCost]:
    return [_measure(case, settings) for case in CASES]


def create_table_with(settings: Settings, case: Case) -> Call:
    """Return the request that creates the workload's table with one index that projects all attributes."""
    request: Request = dict(settings.workload.create_table().request)
    names = {definition["AttributeName"] for definition in request["AttributeDefinitions"]}
    missing = [
        {"AttributeName": name, "AttributeType": "S"} for name in (case.partition, case.sort) if name not in names
    ]
    request["AttributeDefinitions"] = request["AttributeDefinitions"] + missing
    keys = [{"AttributeName": case.partition, "KeyType": "HASH"}, {"AttributeName": case.sort, "KeyType": "RANGE"}]
    index = {"IndexName": INDEX, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
    return Call("CreateTable", {**request, "GlobalSecondaryIndexes": [index]})


def _measure(case: Case, settings: Settings) -> IndexCost:
    slug = case.sort
    plain = open_engine(settings.folder / f"gsi-{slug}-none.db")
    indexed = open_engine(settings.folder / f"gsi-{slug}-one.db")
    bare_plain = Bare(settings.folder / f"gsi-{slug}-bare-none.db")
    bare_indexed = Bare(settings.folder / f"gsi-{slug}-bare-one.db")
    bare_entry = Bare(settings.folder / f"gsi-{slug}-bare-entry.db")
    try:
        for bare in (bare_indexed, bare_entry):
            bare.cursor.execute(CREATE_ROWS.format(name="entry"))
        runs: dict[str, Runs] = {
            "without": _engine_puts(plain, settings.workload.create_table(), settings),
            "with": _engine_puts(indexed, create_table_with(settings, case), settings),
            "bare without": _bare_puts(bare_plain, None, settings),
            "bare with": _bare_puts(bare_indexed, case, settings),
            "bare entry": _bare_puts(bare_entry, case, settings, with_row=False),
        }
        figures = measure_singles(runs, settings.span)
        return IndexCost(case, *(figures[name] for name in runs))
    finally:
        for database in (plain, indexed, bare_plain, bare_indexed, bare_entry):
            database.close()


def _engine_puts(engine: Engine, create: Call, settings: Settings) -> Runs:
    engine_call(engine, create)()
    for call in settings.workload.load():
        engine_call(engine, call)()
    return itertools.cycle([engine_call(engine, call) for call in _puts(settings)])


def _bare_puts(bare: Bare, case: Case | None, settings: Settings, *, with_row: bool = True) -> Runs:
    entries: dict[bytes, bytes] = {}

    def put(item: Request) -> Run:
        row = row_of(item)
        if case is None:
            return partial(bare.put, row)
        entry = (index_key(item, case), row[1], row[2])
        return partial(_commit, bare, row if with_row else None, entry, entries if case.moves else None, row[0])

    for call in settings.workload.load():
        for put_request in call.request["RequestItems"][settings.workload.table]:
            put(put_request["PutRequest"]["Item"])()
    return itertools.cycle([put(call.request["Item"]) for call in _puts(settings)])


def index_key(item: Request, case: Case) -> bytes:
    """Return the key of an item's index entry: the index's key attributes, followed by the table's key."""
    return f"{item[case.partition]['S']}\0{item[case.sort]['S']}\0".encode() + key_bytes(item)


def _commit(bare: Bare, row: Row | None, entry: Row, entries: dict[bytes, bytes] | None, key: bytes) -> None:
    """Commit an index entry and, if given, its row. `entries` maps the key of each row to the current key
    of its entry.
    """
    old_key = None
    if entries is not None:
        old_key = entries.get(key)
        entries[key] = entry[0]
    moved = old_key is not None and old_key != entry[0]
    with bare.write_lock:
        cursor = bare.cursor
        if row is not None:
            cursor.execute("BEGIN IMMEDIATE")
            cursor.execute(UPSERT_ITEM, row)
        if moved:
            cursor.execute(MOVE_INDEX, (*entry, old_key))
        else:
            cursor.execute(UPSERT_INDEX, entry)
        if row is not None:
            cursor.execute("COMMIT")


def _puts(settings: Settings) -> list[Call]:
    return settings.workload.calls(Operation.PUT, PREPARED_DEFAULT)
