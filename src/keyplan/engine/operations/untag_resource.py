"""UntagResource: remove tags from a table or its stream. Tags that do not exist are ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import List, String, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import rules, shapes
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import tags
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "UntagResourceInput",
    {"ResourceArn": shapes.TEXT, "TagKeys": List(String())},
    required=("TagKeys",),
    leading_member=shapes.LEADING_RESOURCE_ARN,
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError unless an UntagResource request contains tag keys and the ARN of a table or stream."""
    rules.check_resource_arn(request["ResourceArn"])
    if not request["TagKeys"]:
        raise ValidationError(messages.NO_TAG_KEYS)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run UntagResource: check the request, find the table or stream, and remove the tags."""
    check(request)
    keys = set(request["TagKeys"])

    def remove_tags(transaction: Transaction) -> None:
        resource = tags.find_taggable(database, request["ResourceArn"])
        tags.check_keys(request["TagKeys"])
        remaining_tags = {key: value for key, value in resource.tags.items() if key not in keys}
        database.catalog.save(transaction, resource.with_tags(remaining_tags))

    database.alter(remove_tags)
    return {}
