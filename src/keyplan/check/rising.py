"""Keys that only rise: those that begin with the moment at which an item is written, or with its number."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keyplan.check.names import is_moment, words_of
from keyplan.design.entities import EntitySpec
from keyplan.design.fields import StoredField
from keyplan.design.keys import KeyAttribute

_AHEAD = re.compile(r"(^|_)(due|deadline|expir\w*|until|start\w*|end\w*|birth\w*|scheduled|planned|valid|next)(_|$)")
_COUNTED = re.compile(r"(^|_)(seq|sequence|serial)(_(no|nr|number))?$")
_BY_TIME = re.compile(r"(^|_)(ulid|ksuid)$")
_ULID = re.compile(r"A-HJ-?KM-?NP-TV-Z", re.IGNORECASE)
"""The letters of a ULID in a regular expression: Crockford's alphabet, which leaves out I, L, O and U."""
_RISING_VERSIONS = frozenset({6, 7})
"""Versions of UUIDs that begin with the time (RFC 9562)."""


def rises(field: StoredField) -> bool:
    """Whether new items have ever greater values: the moment at which something happened."""
    words = words_of(field.name)
    return is_moment(field.name) and _AHEAD.search(words) is None


def rising_start(parts: Sequence[KeyAttribute], entity: EntitySpec) -> str | None:
    """The field that a sort key begins with, if new items have ever greater ones: a moment, a count, an id by time."""
    name = next(iter(parts[0].fields), None) if parts else None
    if name is None:
        return None
    field = entity.fields[name]
    return name if rises(field) or _COUNTED.search(words_of(name)) or is_made_by_time(field) else None


def is_made_by_time(field: StoredField) -> bool:
    """Whether a field holds ids that begin with the time, so that later ones are greater: by its name or its type."""
    versions = {getattr(mark, "uuid_version", None) for mark in field.info.metadata}
    return (
        _BY_TIME.search(words_of(field.name)) is not None
        or _ULID.search(field.declared.pattern or "") is not None
        or not versions.isdisjoint(_RISING_VERSIONS)
    )
