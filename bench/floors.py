"""Comparison of the engine with bare SQLite, measured in turn on the same rows."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from bench.lines import PER_SECOND, Line
from bench.measure import (
    ROUNDS,
    Figure,
    Run,
    Span,
    measure_in_turn,
    measure_once,
    measure_single,
    measure_singles,
    one_core,
)
from bench.targets.bare import Bare, prepare
from bench.targets.engine import engine_call, open_engine
from bench.targets.model import CallPreparer, Settings, prepared_calls
from bench.workload import BATCH_ITEMS, Operation

SECTION = "above bare SQLite"
GET_US = 25.0
GET_TIMES = 2.5
PUT_TIMES = 2.5
QUERY_TIMES = 2.0
BATCH_ITEMS_PER_SECOND = 20_000.0

COMPARED = (Operation.GET, Operation.PUT, Operation.QUERY, Operation.BATCH)
NEW_PUT = "put of a new item"
NEW_PUTS_PER_ROUND = 5_000
ENGINE, BACKGROUND, IN_LINE = "engine", "bare", "bare, in line"


@dataclass(frozen=True, slots=True)
class Floors:
    """Figures by operation and target, and batch writes of the engine with all threads on one core."""

    figures: dict[str, dict[str, Figure]]
    batch_one_core: Figure | None


def bare_only(settings: Settings) -> Floors:
    """Measure bare SQLite without the engine."""
    with _bare_preparers(settings) as preparers:
        return Floors(_figures(preparers, settings), None)


def measure(settings: Settings) -> Floors:
    """Measure the engine and bare SQLite in turn."""
    with _bare_preparers(settings) as floors, open_engine(settings.folder / "floor-engine.db") as engine:
        preparer = partial(engine_call, engine)
        figures = _figures({ENGINE: preparer, **floors}, settings)
        runs = prepared_calls(preparer, settings.workload, Operation.BATCH)
        with one_core():
            return Floors(figures, measure_single(runs, settings.span))


def lines(floors: Floors) -> list[Line]:
    """Return lines that compare the engine with bare SQLite. Medians exclude other load on the machine, and means
    include stalls of the disk.
    """
    get = floors.figures[Operation.GET]
    rows = [
        Line(SECTION, "get, median", ENGINE, get[ENGINE].p50_us, "us", limit=GET_US),
        _line(get, "get, medians", BACKGROUND, GET_TIMES),
        _line(floors.figures[Operation.QUERY], "query 20, medians", BACKGROUND, QUERY_TIMES),
    ]
    for name in (Operation.PUT, NEW_PUT):
        put = floors.figures[name]
        rows += [
            _line(put, f"{name}, medians", BACKGROUND, PUT_TIMES),
            _line(put, f"{name}, means", BACKGROUND, PUT_TIMES, means=True),
            _line(put, f"{name}, means", IN_LINE, PUT_TIMES, means=True),
        ]
    rows.append(_line(floors.figures[Operation.BATCH], "batch write 25, medians", BACKGROUND, None))
    if floors.batch_one_core:
        items_per_second = floors.batch_one_core.per_second * BATCH_ITEMS
        label = "batch write 25, items, one core"
        rows.append(
            Line(
                SECTION, label, ENGINE, items_per_second, PER_SECOND, limit=BATCH_ITEMS_PER_SECOND, direction="at least"
            )
        )
    return rows


def _line(figures: Mapping[str, Figure], label: str, floor: str, limit: float | None, *, means: bool = False) -> Line:
    engine, bare = (figures[name].mean_us if means else figures[name].p50_us for name in (ENGINE, floor))
    return Line(SECTION, label, ENGINE, engine, "us", floor, bare, limit)


@contextlib.contextmanager
def _bare_preparers(settings: Settings) -> Iterator[Mapping[str, CallPreparer]]:
    with (
        contextlib.closing(Bare(settings.folder / "floor.db")) as background,
        contextlib.closing(Bare(settings.folder / "floor-in-line.db", checkpoints="in line")) as in_line,
    ):
        yield {BACKGROUND: partial(prepare, background), IN_LINE: partial(prepare, in_line)}


def _figures(preparers: Mapping[str, CallPreparer], settings: Settings) -> dict[str, dict[str, Figure]]:
    for preparer in preparers.values():
        for call in (settings.workload.create_table(), *settings.workload.load()):
            preparer(call)()
    figures: dict[str, dict[str, Figure]] = {}
    for operation in COMPARED:
        runs = {name: prepared_calls(preparer, settings.workload, operation) for name, preparer in preparers.items()}
        figures[operation] = measure_singles(runs, settings.span)
    figures[NEW_PUT] = measure_in_turn(
        {name: _new_puts(preparer, settings) for name, preparer in preparers.items()}, settings.span
    )
    return figures


def _new_puts(preparer: CallPreparer, settings: Settings) -> Callable[[Span], Figure]:
    """Return a function that measures a fixed number of puts per round, because a repeated put would not add a new
    item.
    """
    calls = settings.workload.new_puts()
    rounds: list[list[Run]] = [
        [preparer(call) for call in itertools.islice(calls, NEW_PUTS_PER_ROUND)] for _ in range(ROUNDS)
    ]
    remaining_rounds = iter(rounds)
    return lambda _span: measure_once(next(remaining_rounds))
