"""Process of a served database. It imports no more than `keyplan serve`, because each test starts one."""

from __future__ import annotations

import gc
from multiprocessing.connection import Connection

from keyplan.engine.engine import Engine
from keyplan.server.launch import launch


def run(sender: Connection, file: str) -> None:
    """Run the command, which sends its address through the pipe."""
    gc.freeze()  # a collection would look at all that the fork inherited, and so copy its memory
    with open(sender.fileno(), "w", closefd=False) as output:

        def print_line(line: str) -> None:
            print(line, file=output, flush=True)

        launch(
            db=file, host="127.0.0.1", port=0, durability="normal", credentials=None, force_open=False,
            print_line=print_line, prepare=_remove_nothing,
        )  # fmt: skip


def _remove_nothing(engine: Engine) -> None:
    """Keep items that have expired by the machine's clock, because tests have their own times."""
    engine.background.stop()
