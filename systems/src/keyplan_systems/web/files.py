"""Creates files that are written only once and that only their owner can read, such as signing keys."""

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
"""Minimum age in seconds at which a temporary file is assumed to be left over from a killed process.

Writing a file takes less than one second.
"""
_SUFFIX_BYTES: Final = 8


class KeyFileError(Exception):
    """Raised if a key file cannot be used. The message describes how to fix the problem."""


def write_if_missing(path: Path, content: bytes) -> bool:
    """Write a file, unless it exists. The folder is created if it does not exist. Return True if this call wrote the
    file.

    The content is written under a temporary name and then linked, so that readers never see a partial file. If several
    processes write concurrently, only the first one succeeds.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary_file = path.with_name(f".{path.name}.{secrets.token_hex(_SUFFIX_BYTES)}")
    try:
        descriptor = os.open(temporary_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(temporary_file)
    except FileExistsError:
        return False
    finally:
        temporary_file.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


def delete_temporary_files(folder: Path) -> None:
    """Delete the temporary files in a folder that are left over from killed processes."""
    abandoned_before_s = SystemClock().now() - ABANDONED_S
    for temporary_file in folder.glob(".*." + "[0-9a-f]" * 2 * _SUFFIX_BYTES):
        with suppress(FileNotFoundError):  # a concurrent process may delete it first
            if temporary_file.stat().st_mtime < abandoned_before_s:
                temporary_file.unlink()


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_key(path: Path) -> Ed25519PrivateKey:
    """Return the private key in a file. If the file does not exist, a key is generated and stored.

    Raises KeyFileError if the file cannot be created, is readable by other users, or does not contain an Ed25519 key.
    """
    try:
        if not path.exists():
            write_if_missing(path, _new_key())
        return _load(path)
    except OSError as error:
        raise KeyFileError(f"cannot create or read {path}: {error.strerror}") from error


def _new_key() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _load(path: Path) -> Ed25519PrivateKey:
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        raise KeyFileError(f"{path} is readable by other users (mode {mode:o}): run chmod 600 on it, or delete it")
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"{path} is not a private key: delete the file to generate a new key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"{path} is not an Ed25519 key: delete the file to generate a new key")
    return key
