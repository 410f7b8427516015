"""Designs with tables of every kind of setting, for exports to show."""

from __future__ import annotations

from keyplan import GSI, LSI, TTL, Entity, Inserted, OnDemand, Provisioned, Table

books = Table(
    "shelf-books",
    pk="shelf",
    sk="title",
    ttl="gone_at",
    stream="NEW_AND_OLD_IMAGES",
    point_in_time_recovery=True,
    deletion_protection=True,
    billing=OnDemand(warm_read=20_000),
    indexes=[
        GSI("by_genre", pk=("genre", "language"), sk=("year", "title"), project=["author"]),
        GSI("by_author", pk="author", project="keys"),
        LSI("by_year", sk="year"),
    ],
)


@books.entity()
class Book(Entity):
    """A book."""

    shelf: str
    title: str
    author: str
    genre: str
    language: str
    year: int
    cover: bytes = b"blank"
    gone_at: int | None = None


@books.on_change(Book, on_failure="dlq", retries=3)
def greet(change: Inserted[Book]) -> None:
    """Welcome a book."""


loans = Table(
    "Loans",
    pk="loan",
    table_class="STANDARD_INFREQUENT_ACCESS",
    billing=Provisioned(read=7, write=3),
    indexes=[GSI("by_reader", pk="reader", billing=Provisioned(read=2, write=1)), GSI("by_book", pk="title", sk="at")],
)


@loans.entity()
class Loan(Entity):
    """A loan."""

    loan: bytes
    reader: str
    title: str
    at: int


odd = Table(
    "odd.names_1",
    pk="${key}",
    ttl=TTL("%{ttl}", sets={"state": "gone"}),
    indexes=[GSI("loose", pk="other", project=None, billing=Provisioned(read=1, write=1))],
)
