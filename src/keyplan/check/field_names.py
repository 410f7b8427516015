"""Classifies fields by type and name: identifiers, times, tenants, assignees and increasing values.

Types and `Attribute(kind=...)` are reliable. Names are only hints, which rules use to omit a finding or to report it
with the severity advice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from uuid import UUID

from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import Kind, attribute_of
from keyplan.design.fields.stored import StoredField
from keyplan.design.keys.encodings import PERIODS_S
from keyplan.design.keys.entity_keys import BoundKeyAttribute

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IDENTIFIER = re.compile(r"(^|_)(ids?|uuid|guid|ulid|hash|token|key|sha\d*|digest|fingerprint)$")
_TIME = re.compile(r"(^|_)(at|date|time|timestamp|datetime|day|moment|since|until|deadline|expiry)$")
_TENANT = re.compile(r"^(tenant|org|organi[sz]ation|workspace)(_id)?$")
_ASSIGNEE = re.compile(
    r"(^|_)((worker|runner|holder|owner|assignee|driver|courier|buyer)(_id)?"
    r"|(held|taken|claimed|locked|leased|reserved|booked|assigned)_(by|to))$"
)
_STATE = re.compile(r"(^|_)(state|status|stage|phase)$")
_REST = re.compile(r"(^|_)(balance|stock|inventory|available|remaining|left|free|credits?|funds|allowance)$")
_FUTURE = re.compile(r"(^|_)(due|deadline|expir\w*|until|start\w*|end\w*|birth\w*|scheduled|planned|valid|next)(_|$)")
_SEQUENCE = re.compile(r"(^|_)(seq|sequence|serial)(_(no|nr|number))?$")
_TIME_ORDERED_ID = re.compile(r"(^|_)(ulid|ksuid)$")
_ULID_ALPHABET = re.compile(r"A-HJ-?KM-?NP-TV-Z", re.IGNORECASE)
"""A regular expression that finds the alphabet of ULIDs in the text of another regular expression. This is Crockford's
alphabet, without I, L, O and U.
"""
_TIME_ORDERED_UUIDS = frozenset({6, 7})
"""UUID versions that start with the time (RFC 9562)."""


def kind_of(field: StoredField) -> Kind | None:
    """Return the meaning of a field: "id", "timestamp", "tenant" or "holder". It is declared with `Attribute(kind=...)`
    or follows from the field's type. Return None if neither determines it.
    """
    mark = attribute_of(field.info).kind
    if mark is not None:
        return mark
    if field.write_time is not None or field.annotation is datetime:
        return "timestamp"
    return "id" if field.annotation is UUID else None


def is_identifier(field: StoredField) -> bool:
    """Return True if a field contains generated IDs, according to its type, its `Attribute(kind=...)` or its name."""
    kind = kind_of(field)
    return kind == "id" or (kind is None and is_identifier_name(field.name))


def words_of(name: str) -> str:
    """Convert a name to lowercase words joined by underscores, such as attempt_id for attemptId."""
    return _WORD_START.sub("_", name).lower()


def is_identifier_name(name: str) -> bool:
    """Return True if a name suggests IDs, hashes, tokens or other generated values."""
    return _IDENTIFIER.search(words_of(name)) is not None


def is_time_name(name: str) -> bool:
    """Return True if a name suggests timestamps or dates."""
    return _TIME.search(words_of(name)) is not None


def is_tenant_name(name: str) -> bool:
    """Return True if a name suggests a tenant, which is a customer whose data must be isolated."""
    return _TENANT.search(words_of(name)) is not None


def is_state_name(name: str) -> bool:
    """Return True if a name suggests a state that determines which steps are allowed next, such as a status."""
    return _STATE.search(words_of(name)) is not None


def is_assignee_name(name: str) -> bool:
    """Return True if a name suggests the current holder of an item, such as the worker of a job."""
    return _ASSIGNEE.search(words_of(name)) is not None


def is_remaining_amount_name(name: str) -> bool:
    """Return True if a name suggests a remaining amount, such as a balance, a stock or free seats."""
    return _REST.search(words_of(name)) is not None


def increases_with_time(field: StoredField) -> bool:
    """Return True if a field's name or declaration suggests that it contains the time of the write."""
    return field.write_time is not None or (is_time_name(field.name) and _FUTURE.search(words_of(field.name)) is None)


def monotonic_start(parts: Sequence[BoundKeyAttribute], entity: EntitySpec) -> str | None:
    """Return the first field of a sort key if its values increase with each new item, such as a time or a ULID.
    Otherwise, return None.
    """
    name = next(iter(parts[0].fields), None) if parts else None
    if name is None:
        return None
    field = entity.fields[name]
    is_monotonic = increases_with_time(field) or _SEQUENCE.search(words_of(name)) or is_time_ordered_id(field)
    return name if is_monotonic else None


def id_outside_key(entity: EntitySpec) -> StoredField | None:
    """Return the required field that is named `id` or after the entity, such as `task_id`, if it is not part of the
    primary key. Otherwise, return None.
    """
    noun = words_of(entity.name).rpartition("_")[2]
    for name, field in entity.fields.items():
        if words_of(name) in {"id", f"{noun}_id"} and name not in entity.key.fields and not field.optional:
            return field
    return None


def is_key_of_period(entity: EntitySpec) -> bool:
    """Return True if every field in an entity's sort key is a date, month or other period."""
    placeholders = [
        placeholder
        for part in entity.key.sort
        if part.template is not None
        for placeholder in part.template.placeholders
    ]
    plain_fields = [part.field for part in entity.key.sort if part.template is None and part.field is not None]
    are_periods = all(placeholder.spec in PERIODS_S or placeholder.field.type is date for placeholder in placeholders)
    return (
        bool(placeholders or plain_fields) and are_periods and all(field.annotation is date for field in plain_fields)
    )


def is_time_by_type(field: StoredField) -> bool:
    """Return True if a field's type is a date or datetime, or if `Attribute(kind=...)` declares timestamps."""
    by_type = isinstance(field.annotation, type) and issubclass(field.annotation, date)
    return by_type or kind_of(field) == "timestamp"


def is_time_ordered_id(field: StoredField) -> bool:
    """Return True if a field contains time-ordered IDs, according to its type, its regular expression or its name."""
    return has_time_ordered_type(field) or _TIME_ORDERED_ID.search(words_of(field.name)) is not None


def has_time_ordered_type(field: StoredField) -> bool:
    """Return True if a field's type or regular expression accepts only time-ordered IDs, such as ULIDs."""
    versions = {getattr(mark, "uuid_version", None) for mark in field.info.metadata}
    return _ULID_ALPHABET.search(field.declared.pattern or "") is not None or not versions.isdisjoint(
        _TIME_ORDERED_UUIDS
    )
