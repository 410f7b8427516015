"""Buckets that are folders: their objects, and keys that would lead out of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.transfer.making import Workshop

from keyplan.engine.engine import Engine
from keyplan.engine.transfer.buckets import BucketError, FolderBuckets, open_buckets
from keyplan.errors import ValidationError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "buckets" / "lake").mkdir(parents=True)
    return tmp_path / "buckets"


@pytest.fixture
def buckets(folder: Path) -> FolderBuckets:
    return FolderBuckets(folder)


def put(buckets: FolderBuckets, key: str, content: bytes = b"x") -> None:
    with buckets.writing("lake", key, {}) as file:
        file.write(content)


def test_written_objects_are_read_and_listed_in_order(buckets: FolderBuckets) -> None:
    for key in ("b/2", "a", "b-1", "b/1", "\u00fc", "b/c/d"):
        put(buckets, key, key.encode())
    assert list(buckets.keys("lake", "")) == ["a", "b-1", "b/1", "b/2", "b/c/d", "\u00fc"]
    assert list(buckets.keys("lake", "b")) == ["b-1", "b/1", "b/2", "b/c/d"]
    assert list(buckets.keys("lake", "b/")) == ["b/1", "b/2", "b/c/d"]
    assert list(buckets.keys("lake", "b/c/d")) == ["b/c/d"]
    assert list(buckets.keys("lake", "nothing/here")) == []
    assert list(buckets.keys("lake", "a/b")) == []
    with buckets.reading("lake", "b/c/d") as file:
        assert file.read() == b"b/c/d"


def test_a_partly_written_object_does_not_exist(buckets: FolderBuckets, folder: Path) -> None:
    put(buckets, "a", b"before")
    with pytest.raises(AttributeError), buckets.writing("lake", "a", {}) as file:
        file.no_such_method(file.write(b"half"))  # type: ignore[attr-defined]
    assert (folder / "lake" / "a").read_bytes() == b"before"
    assert [path.name for path in (folder / "lake").iterdir()] == ["a"]


def test_empty_and_partly_written_files_are_not_objects(buckets: FolderBuckets, folder: Path) -> None:
    put(buckets, "_started", b"")
    (folder / "lake" / ".keyplan-left.1.2").write_bytes(b"left by a process that died")
    assert list(buckets.keys("lake", "")) == []


def test_a_missing_bucket_is_reported(buckets: FolderBuckets) -> None:
    for use in (
        lambda: list(buckets.keys("pond", "")),
        lambda: buckets.writing("pond", "a", {}).__enter__(),
        lambda: buckets.etag("pond", "a"),
    ):
        with pytest.raises(BucketError) as caught:
            use()
        assert caught.value.code == "S3NoSuchBucket"
        assert caught.value.message.startswith("The specified bucket does not exist")


def test_links_are_not_followed(buckets: FolderBuckets, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    put(buckets, "own")
    (folder / "lake" / "link").symlink_to(outside)
    (folder / "lake" / "file").symlink_to(outside / "secret")
    (folder / "pond").symlink_to(outside)
    assert list(buckets.keys("lake", "")) == ["own"]
    for use in (
        lambda: list(buckets.keys("lake", "link/")),
        lambda: list(buckets.keys("pond", "")),
        lambda: buckets.reading("lake", "link/secret"),
        lambda: buckets.reading("lake", "file"),
        lambda: buckets.writing("lake", "link/new", {}).__enter__(),
        lambda: buckets.writing("pond", "new", {}).__enter__(),
    ):
        with pytest.raises(BucketError) as caught:
            use()
        assert caught.value.code == "S3AccessDenied"
    assert [path.name for path in outside.iterdir()] == ["secret"]


@pytest.mark.parametrize("key", ["", "a", "a/b", "a/b/", "a b/c.d", "..a", "a../b", "\u00fc/x"])
def test_valid_keys_are_accepted(buckets: FolderBuckets, key: str) -> None:
    buckets.check_key(key)


@pytest.mark.parametrize("key", ["/", "/a", "..", "../a", "a/..", "a/../b", "a/./b", ".", "a//b", "a\\b", "a\x00b"])
def test_invalid_keys_are_rejected(buckets: FolderBuckets, key: str) -> None:
    with pytest.raises(ValidationError):
        buckets.check_key(key)


def test_the_folder_must_exist(tmp_path: Path) -> None:
    for values in ("", tmp_path / "missing", "s3://lake"):
        with pytest.raises(ValueError, match="buckets="):
            open_buckets(values)
    with pytest.raises(ValueError, match="the folder does not exist"):
        Engine.open(tmp_path / "x.db", buckets=tmp_path / "missing")
    new_buckets = FolderBuckets(tmp_path)
    assert open_buckets(new_buckets) is new_buckets


def test_an_unwritable_folder_is_reported(buckets: FolderBuckets, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BucketError) as caught:
        put(buckets, "a")
    assert caught.value.code == "S3AccessDenied"


def test_a_file_in_place_of_a_folder_is_reported(shop: Workshop) -> None:
    shop.create()
    shop.write("x", "")
    ended = shop.export(S3Prefix="x")
    assert (ended["ExportStatus"], ended["FailureCode"]) == ("FAILED", "S3Error")
    assert "Not a directory" in ended["FailureMessage"]


def test_a_key_that_is_not_a_valid_file_name_is_reported(shop: Workshop) -> None:
    shop.create()
    ended = shop.export(S3Prefix="x" * 300)
    assert (ended["ExportStatus"], ended["FailureCode"]) == ("FAILED", "S3Error")
    assert "File name too long" in ended["FailureMessage"]
    imported = shop.begin_import(f"{'x' * 300}/a")
    shop.engine.jobs.wait()
    assert shop.imported(imported["ImportArn"])["FailureCode"] == "S3Error"
