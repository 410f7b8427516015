"""Files of the lake in a folder: written files exist, under their names, after a power failure."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from keyplan_systems.todo.lake.errors import LakeError
from keyplan_systems.todo.lake.storage import Folder, open_storage

DAY = "bronze/date=2025-11-20"


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the synced paths, under their names at that time."""
    paths: list[Path] = []
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        paths.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    return paths


def test_a_new_folder_is_as_durable_as_the_file_in_it(tmp_path: Path, synced: list[Path]) -> None:
    root = tmp_path / "data" / "lake"
    folder = Folder(root)
    assert {tmp_path, tmp_path / "data", root} <= set(synced)
    synced.clear()
    folder.put(f"{DAY}/1.parquet", b"rows")
    assert {root, root / "bronze", root / DAY} <= set(synced)
    assert synced[-1] == root / DAY
    synced.clear()
    assert folder.create("_versions/1.json", b"{}")
    assert root in synced
    assert synced[-1] == root / "_versions"


def test_a_folder_just_created_by_another_writer_is_synced_too(tmp_path: Path, synced: list[Path]) -> None:
    folder = Folder(tmp_path)
    (tmp_path / DAY).mkdir(parents=True)
    synced.clear()
    folder.put(f"{DAY}/1.parquet", b"rows")
    assert {tmp_path, tmp_path / "bronze", tmp_path / DAY} <= set(synced)


def test_a_known_folder_is_not_synced_again(tmp_path: Path, synced: list[Path]) -> None:
    folder = Folder(tmp_path)
    folder.put(f"{DAY}/1.parquet", b"rows")
    synced.clear()
    folder.put(f"{DAY}/2.parquet", b"rows")
    assert [path.parent for path in synced] == [tmp_path / "_tmp", tmp_path / "bronze"]


def test_a_lake_on_s3_without_s3fs_reports_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(LakeError, match=r"a lake on S3 requires s3fs; pip install 'keyplan\[s3\]'"):
        open_storage("s3://bucket/todo")
