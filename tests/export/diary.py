"""A diary: a small design, whose documents are kept as they must be."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from keyplan import (
    GSI,
    LSI,
    Bytes,
    Claim,
    Entity,
    F,
    Inserted,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Modified,
    Rate,
    Table,
    Volume,
    WriteCall,
    each,
    every_shard,
    everything,
    item,
    key,
    pk,
    transaction,
)

diary = Table(
    "diary",
    pk="PK",
    sk="SK",
    ttl="expires_at",
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
    indexes=[
        GSI("by_day", pk="DAY", sk="AT", project=["title"]),
        GSI("by_mood", pk=("author", "mood"), sk=("written_on",)),
        LSI("by_title", sk="title"),
    ],
)


@diary.entity(key=key("AUTHOR#{author}", "PROFILE"), version="version", unique=["email"])
class Author(Entity):
    author: str
    email: str
    entries: int = 0
    version: int = 0


@diary.entity(
    key=key("AUTHOR#{author}", "ENTRY#{entry_id}"),
    indexes={
        "by_day": key("DAY#{written_on}#{entry_id:shard(4)}", "{changed_at:utc_ms}", only_if=F.status == "public")
    },
    volume=Volume(count=100_000, bytes=Bytes(2_000, p99=9_000), distinct={"author": 500}, present={"mood": 0.5}),
)
class Entry(Entity):
    author: str
    entry_id: str
    title: str
    text: str
    mood: str | None = None
    status: Literal["draft", "public"] = "draft"
    written_on: date
    changed_at: datetime
    expires_at: datetime | None = None


@diary.get(Entry, consistent=True, rate=Rate(average=10, peak=50))
def entry(author: str, entry_id: str) -> ItemKey:
    """One entry."""
    return item(author=author, entry_id=entry_id)


@diary.query(Entry, rate=Rate(average=5), claims=Claim("1-5 RCU", "page 3"))
def entries_about(author: str, word: str) -> KeyCondition:
    """Entries of an author that hold a word."""
    return pk(author=author).filter(F.text.contains(word) | (F.mood == word))


@diary.query(Entry, index="by_day", descending=True)
def of_day(day: date, before: datetime) -> KeyCondition:
    """Public entries of a day, the newest first."""
    return pk(written_on=day, entry_id=every_shard()).sk.lt(changed_at=before)


@diary.scan(Entry)
def everything_there() -> KeyCondition:
    """All of it | every entry."""
    return everything()


@diary.create(Entry, rate=Rate(average=1))
def write(entry: Entry) -> ItemWrite:
    """Store a new entry."""
    return item(entry)


@diary.update(Entry)
def publish(author: str, entry_id: str, written_on: date, changed_at: datetime) -> ItemWrite:
    """Publish a draft."""
    return (
        item(author=author, entry_id=entry_id)
        .set(status="public")
        .assuming(written_on=written_on, changed_at=changed_at)
        .condition(F.status == "draft")
    )


@diary.update(Author)
def count(author: str, by: int) -> ItemWrite:
    """One entry more."""
    return item(author=author).add(entries=by)


@diary.batch_delete(Entry, expected_items=10)
def drop(author: str, entry_ids: list[str]) -> ItemWrite:
    """Several entries go away."""
    return item(author=author, entry_id=each(entry_ids))


@transaction()
def write_counted(entry: Entry) -> list[WriteCall[Entry] | WriteCall[Author]]:
    """Store a new entry and count it."""
    return [write(entry), count(entry.author, 1)]


@diary.on_change(Entry, batch=50, retries=3, on_failure="later")
def mirror(change: Inserted[Entry] | Modified[Entry]) -> None:
    """Copy it elsewhere."""
