"""Development key: generated once, readable by its owner, the same for all concurrent starts."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from keyplan_systems.web.development import KEY_FILE, development_key
from keyplan_systems.web.files import KeyFileError


def test_the_key_is_created_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "local" / "keys"
    first = development_key(folder)
    assert development_key(folder).key_id == first.key_id
    assert stat.S_IMODE((folder / KEY_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == [KEY_FILE]


def test_concurrent_starts_get_the_same_key(tmp_path: Path) -> None:
    for round_number in range(10):
        folder = tmp_path / str(round_number)
        together = threading.Barrier(8)
        keys: list[str] = []

        def start(folder: Path = folder, together: threading.Barrier = together, found_keys: list[str] = keys) -> None:
            together.wait()
            found_keys.append(development_key(folder).key_id)

        threads = [threading.Thread(target=start) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(keys) == 8
        assert len(set(keys)) == 1
        assert [path.name for path in folder.iterdir()] == [KEY_FILE]


def test_a_key_readable_by_others_is_rejected(tmp_path: Path) -> None:
    development_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(0o640)
    with pytest.raises(KeyFileError, match="mode 640"):
        development_key(tmp_path)


def test_a_damaged_key_is_rejected_with_a_fix(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_bytes(b"-----BEGIN nothing")
    (tmp_path / KEY_FILE).chmod(0o600)
    with pytest.raises(KeyFileError, match="delete the file"):
        development_key(tmp_path)


def test_a_key_of_another_kind_is_rejected(tmp_path: Path) -> None:
    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / KEY_FILE).write_bytes(pem)
    (tmp_path / KEY_FILE).chmod(0o600)
    with pytest.raises(KeyFileError, match="not an Ed25519 key"):
        development_key(tmp_path)


def test_a_folder_that_cannot_be_created_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(KeyFileError, match="cannot create or read"):
        development_key(tmp_path / "file")
