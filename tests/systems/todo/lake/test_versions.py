"""Versions: one winner of each number, and no commit is lost or mistaken."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyplan.clock import ManualClock
from keyplan_systems.todo.lake.errors import LakeBusyError, LakeError, LakeFormatError
from keyplan_systems.todo.lake.snapshot import Baseline, DataFile, Snapshot, dump, load
from keyplan_systems.todo.lake.storage import Folder, open_storage
from keyplan_systems.todo.lake.versions import Versions, name_of


def named(name: str) -> DataFile:
    return DataFile(name, "bronze", "2025-11-20", 1, 1, 1)


def adding(name: str) -> Callable[[Snapshot], Snapshot | None]:
    def change(base: Snapshot) -> Snapshot | None:
        return None if any(file.path == name for file in base.files) else base.with_files([named(name)])

    return change


def test_a_version_is_read_back_as_written() -> None:
    snapshot = Snapshot(7, 1.5, 2, 6, (Baseline(5, "s 1", "d"),), (named("a"),))
    assert load(dump(snapshot), "x") == snapshot


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"format": 1, "files": [{}], "baselines": []}', dump(Snapshot())[:-2]]
)
def test_a_damaged_version_is_named(body: bytes) -> None:
    with pytest.raises(LakeFormatError, match=r"_versions/1\.json is damaged"):
        load(body, "_versions/1.json")


def test_a_version_of_a_newer_program_is_rejected() -> None:
    body = orjson.dumps(orjson.loads(dump(Snapshot())) | {"format": 99})
    with pytest.raises(LakeFormatError, match="has format 99; this program reads formats up to 1"):
        load(body, "x")


def test_all_commits_of_many_writers_exist(tmp_path: Path) -> None:
    def write(writer: int) -> None:
        versions = Versions(Folder(tmp_path), ManualClock())
        for number in range(20):
            versions.commit(adding(f"{writer}-{number}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    latest = Versions(Folder(tmp_path), ManualClock()).latest()
    assert latest.version == 80
    assert {file.path for file in latest.files} == {f"{writer}-{number}" for writer in range(4) for number in range(20)}


def test_a_change_without_effect_creates_no_version(tmp_path: Path) -> None:
    versions = Versions(Folder(tmp_path), ManualClock())
    versions.commit(adding("a"))
    assert versions.commit(adding("a")).version == 1


class Sleeping(Folder):
    """Folder whose writer sleeps once, before or after it creates a version."""

    before: tuple[int, Callable[[], Any]] | None = None
    after: tuple[int, Callable[[], Any]] | None = None

    def create(self, path: str, body: bytes) -> bool:
        """Sleep, create, sleep."""
        if self.before is not None and path == name_of(self.before[0]):
            (_, concurrent_commits), self.before = self.before, None
            concurrent_commits()
        created = super().create(path, body)
        if self.after is not None and path == name_of(self.after[0]):
            (_, concurrent_commits), self.after = self.after, None
            concurrent_commits()
        return created


@pytest.mark.parametrize(("known_version", "before"), [(0, 0), (0, 1), (3, 4)])
def test_a_writer_whose_version_was_removed_commits_on_the_newest(
    tmp_path: Path, known_version: int, before: int
) -> None:
    others = Versions(Folder(tmp_path), ManualClock())
    for number in range(known_version):
        others.commit(adding(f"before-{number}"))
    storage = Sleeping(tmp_path)

    def concurrent_commits() -> None:
        for number in range(10):
            others.commit(adding(f"meanwhile-{number}"))
        for version in range(known_version + 8):  # as vacuum removes, in ascending order
            storage.remove(name_of(version))

    storage.before = before, concurrent_commits
    commit = Versions(storage, ManualClock()).commit(adding("late"))
    assert commit.version == known_version + 11
    latest = others.latest()
    assert latest == commit
    assert len(latest.files) == known_version + 11


@pytest.mark.parametrize("version", [0, 1, 3])
def test_a_commit_counts_once_even_if_others_follow_before_it_is_verified(tmp_path: Path, version: int) -> None:
    others = Versions(Folder(tmp_path), ManualClock())
    for number in range(version):
        others.commit(adding(f"before-{number}"))
    storage = Sleeping(tmp_path)
    storage.after = version + 1, lambda: others.commit(adding("meanwhile"))
    bases = []

    def change(base: Snapshot) -> Snapshot | None:
        bases.append(base.version)
        return adding("mine")(base)

    assert Versions(storage, ManualClock()).commit(change).version == version + 1
    assert set(bases) == {version}
    assert [file.path for file in others.latest().files][-2:] == ["mine", "meanwhile"]


@pytest.mark.parametrize("look", [1, 2, 3])
def test_a_version_read_during_a_later_commit_is_the_requested_one(tmp_path: Path, look: int) -> None:
    class Interrupted(Versions):
        """Folder in which another thread commits before the n-th read of the last version."""

        left = 0

        @property
        def _last(self) -> Snapshot:
            self.left -= 1
            if self.left == 0:
                self.commit(adding("meanwhile"))
            return self.kept

        @_last.setter
        def _last(self, value: Snapshot) -> None:
            self.kept = value

    versions = Interrupted(Folder(tmp_path), ManualClock())
    versions.commit(adding("a"))
    versions.left = look
    assert versions._read(name_of(1)).version == 1


def test_a_change_that_always_conflicts_fails(tmp_path: Path) -> None:
    class Losing(Folder):
        def create(self, path: str, body: bytes) -> bool:
            return False

    with pytest.raises(LakeBusyError, match="nothing was changed"):
        Versions(Losing(tmp_path), ManualClock()).commit(lambda base: replace(base, generation=1))


def test_one_of_several_creators_of_a_file_wins(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: storage.create("a/b", b"%d" % number), range(32)))
    assert won.count(True) == 1
    assert storage.read("a/b") == b"%d" % won.index(True)
    assert storage.list_paths("_tmp") == []


def test_invalid_locations_are_named(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="gs://x: the lake must be"):
        open_storage("gs://x")
    with pytest.raises(LakeError, match="contains no bucket name"):
        open_storage("s3://")
    with pytest.raises(LakeError, match="storage options are for s3"):
        open_storage(tmp_path, {"key": "x"})
    (tmp_path / "file").write_text("")
    with pytest.raises(LakeError, match="cannot be created"):
        open_storage(tmp_path / "file" / "lake")


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    open_storage(f"file://{tmp_path}/lake").put("a", b"1")
    assert (tmp_path / "lake" / "a").read_bytes() == b"1"
