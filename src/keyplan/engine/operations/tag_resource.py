"""TagResource: add tags to a table or its stream, or change the values of existing tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import rules, shapes
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import tags
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "TagResourceInput",
    {"ResourceArn": shapes.TEXT, "Tags": shapes.TAGS},
    required=("Tags",),
    leading_member=shapes.LEADING_RESOURCE_ARN,
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError unless a TagResource request contains tags and the ARN of a table or stream."""
    rules.check_resource_arn(request["ResourceArn"])
    if not request["Tags"]:
        raise ValidationError(messages.NO_TAGS)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run TagResource: check the request, find the table or stream, and add the tags."""
    check(request)

    def add_tags(transaction: Transaction) -> None:
        resource = tags.find_taggable(database, request["ResourceArn"])
        merged_tags = tags.merge_tags(resource.tags, request["Tags"])
        database.catalog.save(transaction, resource.with_tags(merged_tags))

    database.alter(add_tags)
    return {}
