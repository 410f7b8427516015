"""Which part of the stored items a change is about, as far as the old design's numbers tell."""

from __future__ import annotations

from collections.abc import Sequence

from keyplan.cost.selectivity import shares_of
from keyplan.design.entities import EntitySpec
from keyplan.design.field_types import plain
from keyplan.design.fields import StoredField
from keyplan.diff.losses import Loss, is_absent


def present_share(spec: EntitySpec, field: str) -> float:
    """Of the items that have a field; all where nothing is declared."""
    return 1.0 if spec.items is None else spec.items.present.get(field, 1.0)


def lacking_share(spec: EntitySpec, old: StoredField, new: StoredField, count: int) -> float:
    """Of the items that lack a field which is needed now, or have it without a part of its maps that is.

    `count`: how many things are lacking; one of them is the field itself, where it may be absent.
    """
    told = None if spec.items is None else spec.items.present.get(old.name)
    lacks = is_absent(old, new)
    if told is None or (lacks and count > 1):
        return 1.0
    return 1 - told if lacks else told


def gone_share(spec: EntitySpec, field: str, lost: Sequence[Loss]) -> float | None:
    """Of the items whose values of a field are gone; None where nothing tells."""
    shares = shares_of(spec, field, None)
    if shares is None or not all(loss.values for loss in lost):
        return None
    gone = {plain(value) for loss in lost for value in loss.values}
    return present_share(spec, field) * sum(shares.get(value, 0.0) for value in gone)
