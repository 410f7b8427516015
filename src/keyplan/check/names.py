"""What the name of a field says of it: an identifier that programs make, a moment, a tenant, who has a thing."""

from __future__ import annotations

import re

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IDENTIFIER = re.compile(r"(^|_)(ids?|uuid|guid|ulid|hash|token|key|sha\d*|digest|fingerprint)$")
_MOMENT = re.compile(r"(^|_)(at|date|time|timestamp|datetime|day|moment|since|until|deadline|expiry)$")
_TENANT = re.compile(r"^(tenant|org|organi[sz]ation|workspace)(_id)?$")
_TAKER = re.compile(
    r"(^|_)((worker|runner|holder|owner|assignee|driver|courier|buyer)(_id)?"
    r"|(held|taken|claimed|locked|leased|reserved|booked|assigned)_(by|to))$"
)


def words_of(name: str) -> str:
    """The name in words joined by underscores: attemptId is attempt_id."""
    return _HUMP.sub("_", name).lower()


def is_identifier(name: str) -> bool:
    """Whether programs make the values: ids, hashes and tokens, which are neither empty nor free text."""
    return _IDENTIFIER.search(words_of(name)) is not None


def is_moment(name: str) -> bool:
    """Whether the values are moments or days."""
    return _MOMENT.search(words_of(name)) is not None


def is_tenant(name: str) -> bool:
    """Whether the values are the customers whose data must be kept apart."""
    return _TENANT.search(words_of(name)) is not None


def is_taker(name: str) -> bool:
    """Whether the value is the one of several that has a thing: a job's worker, a seat's holder."""
    return _TAKER.search(words_of(name)) is not None
