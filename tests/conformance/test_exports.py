"""Exports and imports: the cases of `exports/` asked of an engine with a folder of buckets.

The form of a case is described in `runner.py`; the tables are those of `behaviour/tables.json`. Three steps are not
operations: "Advance" moves the clock by a number of "seconds", "Write" writes the "lines" or "text" to the object "key"
of the bucket "lake", "Wait" waits until all exports and imports have ended. "captured" is what public conformance
suites and reports of 2026 observed on the service.
"""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.runner import NOW, SOURCES, Ask, InProcess, OverHTTP, cases_of, play, tables_of

from keyplan.clock import ManualClock
from keyplan.engine.engine import Engine
from keyplan.server.thread import ThreadedServer

CASES = cases_of("exports")
TABLES = tables_of("behaviour/tables.json")
SAMPLE = 5  # every so-manieth case goes through the HTTP door too


class WithBuckets:
    """Runs operations on the engine, and the steps that are not operations."""

    def __init__(self, engine: Engine, folder: Path, ask: Ask) -> None:
        self._engine = engine
        self._folder = folder
        self._ask = ask

    def __call__(self, operation: str, request: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
        if operation == "Advance":
            assert isinstance(self._engine.clock, ManualClock)
            self._engine.clock.advance(request["seconds"])
        elif operation == "Write":
            path = self._folder / "lake" / request["key"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(request.get("text") or "".join(f"{line}\n" for line in request["lines"]))
        elif operation == "Wait":
            self._engine.jobs.wait()
        else:
            return self._ask(operation, request)
        return None, {}


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    (tmp_path / "lake").mkdir()
    with Engine.memory(clock=ManualClock(NOW), buckets=tmp_path) as new_engine:
        yield new_engine


@pytest.mark.parametrize("case", CASES)
def test_behaviour_matches_the_service(case: dict[str, Any], engine: Engine, tmp_path: Path) -> None:
    assert case["source"] in SOURCES
    play(case, WithBuckets(engine, tmp_path, InProcess(engine)), TABLES)


@pytest.mark.parametrize("case", CASES[::SAMPLE])
def test_behaviour_matches_the_service_over_http(case: dict[str, Any], engine: Engine, tmp_path: Path) -> None:
    with (
        ThreadedServer(engine) as server,
        closing(HTTPConnection("127.0.0.1", server.port, timeout=240)) as connection,
    ):
        play(case, WithBuckets(engine, tmp_path, OverHTTP(connection)), TABLES)


def test_case_names_are_unique() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
