"""TagResource: give a table or its stream tags, new or with new values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import tags
from keyplan.engine.requests.tag_resource import check
from keyplan.engine.store.rows import Transaction

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Check, find the resource, change its tags."""
    check(request)

    def work(transaction: Transaction) -> None:
        resource = tags.find_taggable(engine, request["ResourceArn"])
        together = tags.merged(resource.tags, request["Tags"])
        engine.catalog.save(transaction, resource.with_tags(together))

    engine.alter(work)
    return {}
