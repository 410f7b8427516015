"""Files that are put down whole and once, readable by their owner only; among them the keys that sign tokens."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keyplan.clock import SystemClock

ABANDONED_S: Final = 3600.0
"""How old a draft is whose writer was killed: one that lives takes moments."""
_DRAFT_BYTES: Final = 8


class KeyFileError(Exception):
    """A key file cannot be used; the message says what to do."""


def put_once(path: Path, content: bytes) -> bool:
    """Put a file in its place, in a folder that is made, unless one is there; whether this one was put.

    It is written completely under another name and then linked: of several writers at once the first one's counts.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(_DRAFT_BYTES)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


def clear_drafts(folder: Path) -> None:
    """Remove what writers that were killed have left of files they were to put into a folder."""
    before = SystemClock().now() - ABANDONED_S
    for draft in folder.glob(".*." + "[0-9a-f]" * 2 * _DRAFT_BYTES):
        with suppress(FileNotFoundError):  # another process clears too
            if draft.stat().st_mtime < before:
                draft.unlink()


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_key(path: Path) -> Ed25519PrivateKey:
    """The key that a file holds, made if there is none yet.

    KeyFileError if it cannot be made, is open to others, or is no Ed25519 key.
    """
    try:
        if not path.exists():
            put_once(path, _new_key())
        return _load(path)
    except OSError as error:
        raise KeyFileError(f"cannot make or read {path}: {error.strerror}") from error


def _new_key() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _load(path: Path) -> Ed25519PrivateKey:
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        raise KeyFileError(f"{path} can be read by others (mode {mode:o}): run chmod 600 on it, or delete it")
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"{path} is no private key: delete it, and a new one is made") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"{path} is no Ed25519 key: delete it, and a new one is made")
    return key
