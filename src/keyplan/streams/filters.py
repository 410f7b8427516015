"""`when=` of consumers, decided on the entities before they are delivered.

`changed("status")` is true of a modification that changes the field, of an insert that begins with a value and
of a removal that ends one; `changed("status", "done")` only where "done" is what the field becomes. A condition is
decided on the item as it now is, of a removed one as it last was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyplan.design.conditions import sources_of
from keyplan.design.conditions_evaluation import holds
from keyplan.design.consumers import Change, Changed, When
from keyplan.design.requests_items import stored_as
from keyplan.design.symbols import Param
from keyplan.streams.errors import ConsumerSetupError

Filter = Callable[[Change[Any]], bool]


def filter_of(when: When | None) -> Filter | None:
    """The function that decides whether a change is delivered; None where all are. Raises ConsumerSetupError."""
    if when is None:
        return None
    if isinstance(when, Changed):
        return lambda change: has_changed(when, change)
    for source in sources_of(when):
        if isinstance(source, Param):
            raise ConsumerSetupError(f"a consumer's condition compares with {source!r}, which has no value")

    def matches(change: Change[Any]) -> bool:
        entity = getattr(change, "new", None) or getattr(change, "old", None)
        return holds(when, entity.__dict__) is True

    return matches


def has_changed(wanted: Changed, change: Change[Any]) -> bool:
    """Whether a field has another value than before, and the wanted one where one is wanted."""
    old, new = (
        None if entity is None else stored_as(getattr(entity, wanted.field))
        for entity in (getattr(change, "old", None), getattr(change, "new", None))
    )
    return old != new and (wanted.becomes is None or new == wanted.becomes)
