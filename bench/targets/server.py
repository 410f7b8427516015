"""This engine over HTTP: `keyplan serve` as a process of its own."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.peers import Server, free_port, running_server


def serve_command(database: Path, port: int) -> Sequence[str]:
    """The command line of the server: the installed script, or the same entry point without it."""
    script = Path(sys.executable).with_name("keyplan")
    command = [str(script)] if script.exists() else [sys.executable, "-c", "from keyplan.cli.main import app; app()"]
    return [*command, "serve", "--db", str(database), "--port", str(port)]


@contextlib.contextmanager
def running_engine(folder: Path, name: str = "http") -> Iterator[Server]:
    """The server on a new database file and a free port, with its default (full) durability."""
    port = free_port()
    place = folder / name
    place.mkdir(exist_ok=True)
    with running_server(serve_command(place / "items.db", port), port, place, source_environment()) as server:
        yield server


def source_environment() -> dict[str, str]:
    """Lets a process started elsewhere import the same sources as this one."""
    return {"PYTHONPATH": ":".join(str(Path(entry).resolve()) for entry in sys.path if entry)}
