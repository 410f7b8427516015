"""Determines the name under which a process reads streams. The name is derived from the lock file in the process's data
folder.

After a restart, the process gets the same name, so it can immediately continue with the leases that it held before,
even if it was killed.
"""

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
    """Lock the data folder and yield a name for this process. If another process has locked the folder or locks are not
    supported, yield None.

    The operating system releases the lock when the process ends. The name contains the host name and the inode number
    of the lock file, so that a process that uses a copy of the folder gets a different name.
    """
    try:
        import fcntl  # noqa: PLC0415 - not available everywhere
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
        suffix = file.read()
        if not suffix:
            suffix = secrets.token_hex(8)
            file.write(suffix)
            file.flush()
        yield f"{socket.gethostname()}-{os.fstat(file.fileno()).st_ino}-{suffix}"
