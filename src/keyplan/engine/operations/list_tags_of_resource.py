"""ListTagsOfResource: return all tags of a table or its stream on a single page.

The service model contains a page token, but DynamoDB does not use it, because a table has at most 50 tags.

Source: comment of the DynamoDB team on issue 583 of github.com/aws/aws-sdk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import rules, shapes
from keyplan.engine.tables import tags

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "ListTagsOfResourceInput",
    {"ResourceArn": shapes.TEXT, "NextToken": shapes.TEXT},
    leading_member=shapes.LEADING_RESOURCE_ARN,
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError unless a ListTagsOfResource request contains the ARN of a table or stream."""
    rules.check_resource_arn(request["ResourceArn"])


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run ListTagsOfResource: check the request, find the table or stream, and return its tags."""
    check(request)
    database.catalog.reload(database.store.view())
    resource = tags.find_resource(database, request["ResourceArn"])
    return {"Tags": [{"Key": key, "Value": value} for key, value in resource.tags.items()]}
