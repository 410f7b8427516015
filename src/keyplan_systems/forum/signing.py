"""The key that signs thread tokens, kept in a file that its owner alone can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

from keyplan_systems.forum.tokens import new_private_key

KEY_FILE: Final = "thread-tokens.pem"


def signing_key(folder: Path) -> bytes:
    """The folder's key, made if there is none yet. Of several processes that start at once, all get the same one."""
    path = folder / KEY_FILE
    if not path.exists():
        _create(path)
    return path.read_bytes()


def _create(path: Path) -> None:
    """Write a key completely under another name, then link it into place unless another process was faster."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(new_private_key())
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink()
