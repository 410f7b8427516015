"""keyplan's engine, called directly in this process or through an unmodified boto3 client without a socket."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bench.targets.boto3_client import boto3_client, client_call
from bench.targets.model import InProcess, Settings, TargetError
from bench.workload import Call, Request

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

Durability = Literal["normal", "full"]


def engine_class() -> type[Engine]:
    """Import the engine and return its class. The import is late, so that the peers can be measured without the engine.

    Raises TargetError if the engine is not installed.
    """
    try:
        from keyplan.engine.engine import Engine  # noqa: PLC0415 - only where it is measured
    except ImportError as error:
        raise TargetError(f"this engine cannot be imported: {error}") from error
    return Engine


def open_engine(path: Path | None, durability: Durability = "normal") -> Engine:
    """Return an engine for a database file, or an in-memory engine if `path` is None."""
    engine = engine_class()
    return engine.memory() if path is None else engine.open(path, durability=durability)


@contextlib.contextmanager
def engine_target(name: str, settings: Settings) -> Iterator[InProcess]:
    """Open the target `engine` (a file), `engine-full` (a file, every commit is synced) or `engine-memory`
    (no file).
    """
    with _engine_named(name, settings) as (engine, note):
        yield InProcess(name, note, settings, partial(engine_call, engine))


@contextlib.contextmanager
def engine_under_boto3(name: str, settings: Settings) -> Iterator[InProcess]:
    """Open the target `boto3` (a file) or `boto3-memory` (no file)."""
    from keyplan.testing.boto import answered_by  # noqa: PLC0415 - only where it is measured

    with _engine_named(name, settings) as (engine, note):
        client = boto3_client(None)
        with answered_by(engine):
            yield InProcess(name, f"{note}, unmodified boto3, no socket", settings, partial(client_call, client))


def engine_call(engine: Engine, call: Call) -> Callable[[], Request]:
    return partial(engine.call, call.name, call.request)


@contextlib.contextmanager
def _engine_named(name: str, settings: Settings) -> Iterator[tuple[Engine, str]]:
    _, _, kind = name.partition("-")
    durability: Durability = "full" if kind == "full" else "normal"
    path = None if kind == "memory" else settings.folder / f"{name}.db"
    with open_engine(path, durability) as engine:
        yield engine, "in memory" if path is None else f"on disk, durability {durability}"
