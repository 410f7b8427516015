"""keyplan's engine over HTTP: `keyplan serve` as a separate process."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.peers import Server, free_port, running_server
from bench.targets.engine import Durability


def serve_command(database: Path | None, port: int, durability: Durability) -> Sequence[str]:
    """Return the command line of the server. It uses the installed script or, if it is missing, the same
    entry point.
    """
    script = Path(sys.executable).with_name("keyplan")
    command = [str(script)] if script.exists() else [sys.executable, "-c", "from keyplan.cli.main import app; app()"]
    database_name = ":memory:" if database is None else str(database)
    return [*command, "serve", "--db", database_name, "--port", str(port), "--durability", durability]


@contextlib.contextmanager
def running_engine(folder: Path, name: str = "http", existing: Path | None = None) -> Iterator[Server]:
    """Start the server on a free port, with a new database or an existing file.

    If `name` ends in `-memory`, the database is in memory. Otherwise it is in a file, without syncs if `name` ends in
    `-normal`, or with full durability.
    """
    port = free_port()
    server_folder = folder / name
    server_folder.mkdir(exist_ok=True)
    _, _, kind = name.rpartition("-")
    database = None if kind == "memory" else (existing or server_folder / "items.db").resolve()
    command = serve_command(database, port, "normal" if kind == "normal" else "full")
    environment = {**source_environment(), **compiled_modules(folder)}
    with running_server(command, port, server_folder, environment) as server:
        yield server


def source_environment() -> dict[str, str]:
    """Return environment variables with which another process imports the same sources as this process."""
    return {"PYTHONPATH": ":".join(str(Path(entry).resolve()) for entry in sys.path if entry)}


def compiled_modules(folder: Path) -> dict[str, str]:
    """Return environment variables with which a process stores compiled modules in a folder, regardless of the caller's
    settings.
    """
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
