"""PynamoDB: models, indexes, batches, transactions, conditions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("pynamodb")

from pynamodb.attributes import (
    BinaryAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.connection import Connection
from pynamodb.exceptions import (
    DoesNotExist,
    GetError,
    PutError,
    TransactWriteError,
)
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactGet, TransactWrite


def make_model(endpoint: str | None) -> Any:
    """Return the model of a forum thread, a new class per test because PynamoDB keeps a connection in it."""

    class ByAuthor(GlobalSecondaryIndex[Any]):  # type: ignore[no-untyped-call]
        class Meta:
            index_name = "by-author"
            projection = AllProjection()
            billing_mode = "PAY_PER_REQUEST"

        author = UnicodeAttribute(hash_key=True)
        written = UTCDateTimeAttribute(range_key=True)

    class Thread(Model):
        class Meta:
            table_name = "threads"
            region = "eu-west-1"
            host = endpoint
            billing_mode = "PAY_PER_REQUEST"
            aws_access_key_id = "id"
            aws_secret_access_key = "secret"

        forum = UnicodeAttribute(hash_key=True)
        number = NumberAttribute(range_key=True)
        author = UnicodeAttribute()
        written = UTCDateTimeAttribute()
        tags = UnicodeSetAttribute(null=True)
        replies = ListAttribute[Any](default=list)
        extra = MapAttribute[Any, Any](null=True)  # type: ignore[no-untyped-call]
        blob = BinaryAttribute(null=True, legacy_encoding=False)
        views = NumberAttribute(default=0)
        by_author = ByAuthor()

    return Thread


@pytest.fixture
def thread(endpoint: str | None) -> Any:
    model = make_model(endpoint)
    model.create_table(wait=True)
    return model


def written(day: int) -> datetime:
    return datetime(2024, 1, day, tzinfo=UTC)


def test_a_created_table_exists(thread: Any) -> None:
    assert thread.exists()
    thread.delete_table(wait=True)
    assert not thread.exists()


def test_models_are_saved_and_read(thread: Any) -> None:
    thread(
        "python",
        1,
        author="ann",
        written=written(1),
        tags={"a", "b"},
        replies=["hello", {"deep": 1}],
        extra={"likes": 3},
        blob=b"\x00\xff",
    ).save()
    item = thread.get("python", 1, consistent_read=True)
    assert (item.tags, item.blob, item.written) == ({"a", "b"}, b"\x00\xff", written(1))
    assert item.replies[0] == "hello"
    assert item.extra["likes"] == 3
    item.update(actions=[thread.views.add(5), thread.tags.delete({"a"})])
    item.refresh()
    assert (item.views, item.tags) == (5, {"b"})
    item.delete()
    with pytest.raises(DoesNotExist):
        thread.get("python", 1)


def test_batches_queries_and_indexes(thread: Any) -> None:
    with thread.batch_write() as batch:
        for n in range(40):
            batch.save(thread("python", n, author="ann" if n % 2 else "bob", written=written(1 + n % 28)))
    assert thread.count("python") == 40
    recent = thread.query("python", thread.number >= 30, scan_index_forward=False, limit=3)
    assert [results.number for results in recent] == [39, 38, 37]
    assert len(list(thread.by_author.query("ann", thread.written < written(5)))) == 4
    assert {results.number for results in thread.batch_get([("python", 3), ("python", 4)])} == {3, 4}
    assert sum(1 for _ in thread.scan(thread.author == "bob", page_size=7)) == 20


def test_a_failed_condition_raises_pynamodbs_error(thread: Any) -> None:
    first = thread("python", 1, author="ann", written=written(1))
    first.save()
    with pytest.raises(PutError) as caught:
        first.save(thread.forum.does_not_exist())
    assert caught.value.cause_response_code == "ConditionalCheckFailedException"


def test_transactions_are_all_or_nothing(thread: Any, endpoint: str | None) -> None:
    connection = Connection(region="eu-west-1", host=endpoint)
    thread("python", 1, author="ann", written=written(1)).save()
    writes = TransactWrite(connection=connection)
    writes.save(thread("python", 2, author="ann", written=written(2)))
    writes.condition_check(thread, "python", 1, condition=thread.author == "bob")
    with pytest.raises(TransactWriteError) as caught, writes:
        pass
    # PynamoDB sends the checks of a transaction before its writes.
    assert [reason and reason.code for reason in caught.value.cancellation_reasons] == [
        "ConditionalCheckFailed",
        None,
    ]
    with TransactGet(connection=connection) as transaction:
        first = transaction.get(thread, "python", 1)
        second = transaction.get(thread, "python", 2)
    assert first.get().author == "ann"
    with pytest.raises(DoesNotExist):
        second.get()


def test_versions_are_checked(endpoint: str | None) -> None:
    class Counter(Model):
        class Meta:
            table_name = "counters"
            region = "eu-west-1"
            host = endpoint
            billing_mode = "PAY_PER_REQUEST"

        id = UnicodeAttribute(hash_key=True)
        version = VersionAttribute()

    Counter.create_table(wait=True)
    Counter("a").save()
    first, second = Counter.get("a"), Counter.get("a")
    first.save()
    with pytest.raises(PutError):
        second.save()


def test_a_missing_table_is_reported(endpoint: str | None) -> None:
    with pytest.raises(GetError, match="Requested resource not found"):
        make_model(endpoint).get("python", 1)
