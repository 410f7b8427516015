"""Durable writes: eight threads on an engine that syncs every commit, compared with individual commits with fsync."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bench.lines import PER_SECOND, Line
from bench.measure import THREADS, Figure, measure_in_turn, measure_single, measure_threads
from bench.targets.bare import Bare, prepare
from bench.targets.engine import engine_call, open_engine
from bench.targets.model import Settings, prepared_calls
from bench.workload import Operation

SECTION = "durable writes"
GROUPING_TIMES = 4.0


@dataclass(frozen=True, slots=True)
class DurableFigures:
    """Puts per second that are on the disk when the response is returned."""

    engine_one: Figure
    engine_threads: Figure
    bare_each: Figure

    def lines(self) -> list[Line]:
        """Return the synced puts of one thread and of all threads, each compared with individual commits with fsync."""
        engine_one, threads, bare = (
            figure.per_second for figure in (self.engine_one, self.engine_threads, self.bare_each)
        )
        floor = "bare, fsync each"
        return [
            Line(SECTION, "synced puts, 1 thread", "engine-full", engine_one, PER_SECOND, floor, bare),
            Line(
                SECTION, f"synced puts, {THREADS} threads", "engine-full", threads, PER_SECOND, floor, bare,
                GROUPING_TIMES, "at least",
            ),
        ]  # fmt: skip


def measure(settings: Settings) -> DurableFigures:
    """Measure the engine with durability "full", with one thread and with eight, and individual bare commits with
    fsync.
    """
    bare = Bare(settings.folder / "durable-bare.db", checkpoints="in line", synchronous="FULL")
    engine = open_engine(settings.folder / "durable.db", "full")
    try:
        engine_call(engine, settings.workload.create_table())()
        workload, preparer = settings.workload, partial(engine_call, engine)
        threads = [prepared_calls(preparer, workload, Operation.PUT, stream, THREADS) for stream in range(THREADS)]
        figures = measure_in_turn(
            {
                "bare": partial(
                    measure_single, prepared_calls(partial(prepare, bare), workload, Operation.PUT, clients=THREADS)
                ),
                "one": partial(measure_single, threads[0]),
                "threads": partial(measure_threads, threads),
            },
            settings.span,
        )
        return DurableFigures(figures["one"], figures["threads"], figures["bare"])
    finally:
        engine.close()
        bare.close()
