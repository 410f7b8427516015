"""The name of whoever runs on a folder, the same for the next one: what a killed process held is taken up at once."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME_FILE = "runner"


@contextmanager
def runner_name(folder: Path) -> Iterator[str | None]:
    """The folder's name for as long as this lasts; None while another process has it, or where files have no locks.

    The lock goes with the process that holds it, however that ends. The machine and the file's number are in the name,
    so that a copy of the folder has another one.
    """
    try:
        import fcntl  # noqa: PLC0415 - not everywhere
    except ModuleNotFoundError:
        yield None
        return
    with (folder / NAME_FILE).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
            return
        file.seek(0)
        drawn = file.read()
        if not drawn:
            drawn = secrets.token_hex(8)
            file.write(drawn)
            file.flush()
        yield f"{socket.gethostname()}-{os.fstat(file.fileno()).st_ino}-{drawn}"
