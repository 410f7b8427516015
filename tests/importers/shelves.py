"""Tables of shelves.yaml, a CloudFormation template.

Books and where they stand.
"""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from keyplan import (
    GSI,
    Attribute,
    Entity,
    ItemKey,
    ItemWrite,
    KeyCondition,
    OnDemand,
    Provisioned,
    Table,
    item,
    pk,
)

# To complete:
# - fields besides keys, and their types: Decimal is any Number, Any is unknown
# - volume=Volume(count=..., bytes=Bytes(average=...)) for each entity
# - rate=Rate(average=..., peak=...) of each pattern, and the patterns of your programs

# Where "books-prod" differs from its source:
# - DeletionPolicy Retain: deletion policies are not part of a design
# - SSESpecification: encryption is not part of a design
books_prod = Table(
    "books-prod",
    pk="isbn",
    sk="shelf.no",
    indexes=[
        GSI(
            "by-reader",
            pk="lent_to",
            project=["due"],
            billing=Provisioned(read=5, write=5),
        ),
    ],
    ttl="gone_at",
    stream="NEW_IMAGE",
    billing=Provisioned(read=20, write=10),
    point_in_time_recovery=True,
)


@books_prod.entity()
class BooksProdItem(Entity):
    """Items of 'books-prod'."""

    isbn: str
    shelf_no: Annotated[Decimal, Attribute("shelf.no")]
    lent_to: str | None = None
    due: Any = None
    gone_at: datetime | None = None


@books_prod.get(BooksProdItem)
def get_books_prod(isbn: str, shelf_no: Decimal) -> ItemKey:
    """One BooksProdItem by its key."""
    return item(isbn=isbn, shelf_no=shelf_no)


@books_prod.put(BooksProdItem)
def put_books_prod(new: BooksProdItem) -> ItemWrite:
    """Write a whole BooksProdItem."""
    return item(new)


@books_prod.delete(BooksProdItem)
def delete_books_prod(isbn: str, shelf_no: Decimal) -> ItemWrite:
    """Delete one BooksProdItem."""
    return item(isbn=isbn, shelf_no=shelf_no)


@books_prod.query(BooksProdItem)
def list_books_prod(isbn: str) -> KeyCondition:
    """Each BooksProdItem of a partition."""
    return pk(isbn=isbn)


@books_prod.query(BooksProdItem, index="by-reader")
def list_books_prod_by_reader(lent_to: str) -> KeyCondition:
    """Each BooksProdItem of a partition of the index 'by-reader'."""
    return pk(lent_to=lent_to)


# Where "Drafts" differs from its source:
# - TableName is missing: CloudFormation generates a name; the logical ID is used here
drafts = Table(
    "Drafts",
    pk="id",
    billing=OnDemand(),
)


@drafts.entity()
class DraftsItem(Entity):
    """Items of 'Drafts'."""

    id: str


@drafts.get(DraftsItem)
def get_drafts(id: str) -> ItemKey:
    """One DraftsItem by its key."""
    return item(id=id)


@drafts.put(DraftsItem)
def put_drafts(new: DraftsItem) -> ItemWrite:
    """Write a whole DraftsItem."""
    return item(new)


@drafts.delete(DraftsItem)
def delete_drafts(id: str) -> ItemWrite:
    """Delete one DraftsItem."""
    return item(id=id)
