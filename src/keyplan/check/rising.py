"""Keys that only rise: those that begin with the moment at which an item is written, or with its number."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keyplan.check.names import is_moment, words_of
from keyplan.design.entities import EntitySpec
from keyplan.design.fields import StoredField
from keyplan.design.keys import KeyAttribute

_AHEAD = re.compile(r"(^|_)(due|deadline|expir\w*|until|start\w*|end\w*|birth\w*|scheduled|planned|valid|next)(_|$)")
_COUNTED = re.compile(r"(^|_)((seq|sequence|serial)(_(no|nr|number))?|ulid|ksuid)$")


def rises(field: StoredField) -> bool:
    """Whether new items have ever greater values: the moment at which something happened."""
    words = words_of(field.name)
    return is_moment(field.name) and _AHEAD.search(words) is None


def rising_start(parts: Sequence[KeyAttribute], entity: EntitySpec) -> str | None:
    """The field that a sort key begins with, if new items have ever greater ones: a moment, a count, an id by time."""
    name = next(iter(parts[0].fields), None) if parts else None
    if name is None or not (rises(entity.fields[name]) or _COUNTED.search(words_of(name))):
        return None
    return name
