"""TagResource: give a table tags, new or with new values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.engine import tags
from keyplan.engine.requests.tag_resource import check
from keyplan.store.rows import Transaction
from keyplan.values.encoding import Form

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Check, find the table, change its tags."""
    check(request)

    def work(transaction: Transaction) -> None:
        table = tags.find_taggable(engine, request["ResourceArn"])
        together = tags.merged(table.document["tags"], request["Tags"])
        engine.catalog.save(transaction, {**table.document, "tags": together})

    engine.alter(work)
    return {}
