"""What runs in the process of a served database. It imports no more than `keyplan serve`: each test starts one."""

from __future__ import annotations

from multiprocessing.connection import Connection

from keyplan.engine.engine import Engine
from keyplan.server.launch import launch


def run(says: Connection, file: str) -> None:
    """What the command does; it says where it listens through the pipe."""
    with open(says.fileno(), "w", closefd=False) as output:

        def say(line: str) -> None:
            print(line, file=output, flush=True)

        launch(
            db=file, host="127.0.0.1", port=0, durability="normal", credentials=None, force_open=False, say=say,
            prepare=_remove_nothing,
        )  # fmt: skip


def _remove_nothing(engine: Engine) -> None:
    """Tests have times of their own: what has expired by the machine's must stay all the same."""
    engine.background.stop()
