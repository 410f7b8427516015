"""Fields declared with Created() and Updated(): writes set them, with the index keys that contain them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from tests.client.conftest import NOW
from tests.races.threads import together

import keyplan
from keyplan import (
    GSI,
    Attribute,
    Created,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    Updated,
    item,
    key,
    pk,
    transaction,
)
from keyplan.client.connection import Connection
from keyplan.client.errors import NoAnswerError, UnreadableItemError
from keyplan.client.requests import Context, Retries
from keyplan.clock import ManualClock
from keyplan.design.declaring.patterns import WriteCall
from keyplan.engine.engine import Engine

table = Table(
    "articles",
    pk="PK",
    sk="SK",
    indexes=[GSI("newest", pk="N", sk="NS"), GSI("latest", pk="L", sk="LS"), GSI("drafts", pk="D", sk="DS")],
)
START = datetime.fromtimestamp(NOW, UTC)


@table.entity(
    key=key("SITE#{site}", "ARTICLE#{name}"),
    indexes={
        "newest": key("SITE#{site}", "{created_at:utc_ms}"),
        "latest": key("SITE#{site}", "{updated_at:utc_ms}"),
        "drafts": key("SITE#{site}", "{updated_at:utc_ms}", only_if=F.state == "draft"),
    },
)
class Article(Entity):
    """An article whose two times are kept in different units."""

    site: str
    name: str
    text: str = ""
    state: Literal["draft", "out"] = "draft"
    created_at: datetime = Created()
    updated_at: Annotated[datetime, Attribute("updated", stored="epoch_s")] = Updated()


@table.create(Article)
def write(article: Article) -> ItemWrite:
    return item(article)


@table.put(Article)
def put(article: Article) -> ItemWrite:
    return item(article)


@table.batch_put(Article)
def put_all(articles: list[Article]) -> ItemWrite:
    return item(articles)


@table.replace(Article)
def rewrite(article: Article) -> ItemWrite:
    return item(article)


@table.update(Article)
def publish(site: str, name: str) -> ItemWrite:
    return item(site=site, name=name).set(state="out")


@table.update(Article, upsert=True)
def save(site: str, name: str, text: str) -> ItemWrite:
    return item(site=site, name=name).set(text=text, state="draft")


@table.get(Article)
def article(site: str, name: str) -> ItemKey:
    return item(site=site, name=name)


@table.query(Article, index="newest")
def by_creation(site: str) -> KeyCondition:
    return pk(site=site)


@table.query(Article, index="latest")
def changed_since(site: str, since: datetime) -> KeyCondition:
    return pk(site=site).sk >= since


@table.query(Article, index="drafts")
def drafts(site: str) -> KeyCondition:
    return pk(site=site)


@transaction()
def publish_and_write(name: str, following: Article) -> list[WriteCall[Article]]:
    return [publish("s", name), write(following)]


@pytest.fixture
def articles(db: Any, clock: ManualClock) -> Any:
    """Return a connection to the table, at a time between two whole seconds."""
    db.create_tables(table)
    clock.advance(0.25)
    return db


def test_an_item_has_no_times_before_it_is_written() -> None:
    new = Article(site="s", name="a")
    assert new.created_at is None
    assert new.updated_at is None
    assert new == Article(site="s", name="a")


def test_the_schema_marks_the_times_as_read_only() -> None:
    created = Article.model_json_schema()["properties"]["created_at"]
    assert created == {"format": "date-time", "readOnly": True, "title": "Created At", "type": "string"}
    assert "created_at" not in Article.model_json_schema()["required"]


def test_a_create_sets_both_times_and_returns_the_stored_item(articles: Any) -> None:
    early = datetime(2000, 1, 1, tzinfo=UTC)
    result = articles.run(write(Article(site="s", name="a", created_at=early, updated_at=early)))
    assert result.created_at == START + timedelta(seconds=0.25)
    assert result.updated_at == START
    assert articles.run(article("s", "a")) == result


def test_an_update_sets_the_time_of_the_last_write_and_its_index_keys(articles: Any, clock: ManualClock) -> None:
    result = articles.run(write(Article(site="s", name="a")))
    clock.advance(10)
    out = articles.run(publish("s", "a"))
    assert (out.created_at, out.updated_at) == (result.created_at, START + timedelta(seconds=10))
    assert articles.run(changed_since("s", START + timedelta(seconds=10))).items == (out,)
    assert articles.run(drafts("s")).items == ()


@pytest.mark.parametrize("pattern", [put, rewrite], ids=["put", "replace"])
def test_a_whole_item_keeps_its_creation_time(articles: Any, clock: ManualClock, pattern: Any) -> None:
    result = articles.run(write(Article(site="s", name="a")))
    clock.advance(10)
    changed = articles.run(pattern(result.model_copy(update={"text": "more"})))
    assert (changed.created_at, changed.updated_at) == (result.created_at, START + timedelta(seconds=10))
    assert articles.run(article("s", "a")) == changed
    assert articles.run(by_creation("s")).items == (changed,)


def test_a_whole_item_without_a_creation_time_gets_one(articles: Any) -> None:
    assert articles.run(put(Article(site="s", name="a"))).created_at == START + timedelta(seconds=0.25)


def test_a_batch_sets_the_times(articles: Any, clock: ManualClock) -> None:
    result = articles.run(write(Article(site="s", name="a")))
    clock.advance(10)
    articles.run(put_all([result, Article(site="s", name="b")]))
    first, second = articles.run(by_creation("s")).items
    assert (first.created_at, first.updated_at) == (result.created_at, START + timedelta(seconds=10))
    assert second.created_at == START + timedelta(seconds=10.25)


def test_an_upsert_sets_the_creation_time_once(articles: Any, clock: ManualClock) -> None:
    result = articles.run(save("s", "a", "one"))
    assert result.created_at == START + timedelta(seconds=0.25)
    clock.advance(10)
    again = articles.run(save("s", "a", "two"))
    assert (again.created_at, again.updated_at) == (result.created_at, START + timedelta(seconds=10))
    assert articles.run(by_creation("s")).items == (again,)
    assert articles.run(drafts("s")).items == (again,)


def test_the_writes_of_a_transaction_have_one_time(articles: Any, clock: ManualClock) -> None:
    articles.run(write(Article(site="s", name="a")))
    clock.advance(10)
    articles.run(publish_and_write("a", Article(site="s", name="b")))
    first, second = articles.run(article("s", "a")), articles.run(article("s", "b"))
    assert first.updated_at == second.updated_at == START + timedelta(seconds=10)
    assert second.created_at == START + timedelta(seconds=10.25)


def test_a_transaction_keeps_its_time_for_its_token(articles: Any, clock: ManualClock) -> None:
    call = write(Article(site="s", name="a"))
    articles.transact(call, token="once")
    clock.advance(0.5)
    articles.transact(call, token="once")
    assert articles.run(article("s", "a")).created_at == START + timedelta(seconds=0.25)


def test_index_keys_are_those_of_the_stored_item(articles: Any, clock: ManualClock, raw: Any) -> None:
    keys = []
    for call in (write(Article(site="s", name="a")), save("s", "a", "text"), save("s", "b", "text")):
        clock.advance(1)
        written = articles.run(call)
        key = {"PK": {"S": "SITE#s"}, "SK": {"S": f"ARTICLE#{written.name}"}}
        stored = raw(articles)("GetItem", {"TableName": articles.table_name(table), "Key": key})["Item"]
        assert stored["NS"]["S"] == written.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        assert stored["LS"]["S"] == written.updated_at.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        keys.append(stored["DS"]["S"])
    assert keys == sorted(keys)


def test_an_item_without_its_times_is_unreadable(articles: Any, raw: Any) -> None:
    articles.run(write(Article(site="s", name="a")))
    remove = {"TableName": articles.table_name(table), "Key": {"PK": {"S": "SITE#s"}, "SK": {"S": "ARTICLE#a"}}}
    raw(articles)("UpdateItem", {**remove, "UpdateExpression": "REMOVE created_at, N, NS"})
    with pytest.raises(UnreadableItemError, match="created_at: Field required"):
        articles.run(article("s", "a"))


def test_racing_upserts_all_return_the_time_of_the_first(tmp_path: Path) -> None:
    times = [START + timedelta(milliseconds=number) for number in range(8)]
    with Engine.open(tmp_path / "data.db") as engine:

        def saved(number: int) -> list[datetime]:
            with keyplan.connect(engine=engine) as db:
                db.context.clock = ManualClock(times[number].timestamp())
                return [db.run(save("s", str(turn), "text")).created_at for turn in range(20)]

        with keyplan.connect(engine=engine) as db:
            db.create_tables(table)
            times_returned = together(saved)
            stored = {entity.name: entity.created_at for entity in db.all(by_creation("s"))}
    assert len(stored) == 20
    assert all(row[turn] == stored[str(turn)] for row in times_returned for turn in range(20))


def test_a_retried_create_has_the_time_of_its_first_attempt(engine: Engine, clock: ManualClock) -> None:
    """Otherwise it would not recognize the item that the first attempt wrote."""
    sent: list[str] = []

    class Slow:
        def call(self, operation: str, request: dict[str, Any]) -> Any:
            sent.append(operation)
            response = engine.call(operation, request)
            if sent.count("PutItem") == 1 and operation == "PutItem":
                clock.advance(5)
                raise NoAnswerError("read timeout", sent=True)
            return response

        def close(self) -> None: ...

    connection = Connection(Slow(), Context(clock, b"k", Retries(first_s=0.0, most_s=0.0), creates_tables=True))
    connection.run(article("s", "a"))
    written = connection.run(write(Article(site="s", name="a")))
    assert sent.count("PutItem") == 2
    assert written.created_at == START
    assert connection.run(article("s", "a")) == written
