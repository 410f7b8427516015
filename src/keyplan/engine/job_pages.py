"""Exports and imports as their operations tell of them: one found by its ARN, many by the page."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import exports as messages
from keyplan.engine import jobs
from keyplan.engine.jobs import Document
from keyplan.engine.operations.shapes import DEFAULT_PAGE
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

_DIGEST_BYTES = 8
_GROUP_BYTES = 8
_LEAST_BYTES = 56  # a token has at least 112 hexadecimal digits, and a multiple of 16

Order = Callable[[str], Any]
"""What jobs are sorted by, from their ARN; listed from the last to the first."""


def looked_at(engine: Engine, kind: str) -> list[Document]:
    """The jobs of one kind that are still listed; those that rest are gone on with."""
    found = jobs.stored(engine.store.view(), kind)
    if any(jobs.status_of(document) == jobs.IN_PROGRESS for document in found):
        engine.jobs.wake()
    since = engine.clock.now() - limits.JOB_KEPT_S
    return [document for document in found if document["description"]["StartTime"] > since]


def find(engine: Engine, kind: str, arn: str) -> Document | None:
    """The job of an ARN, if it is still there."""
    document = jobs.find(engine.store.view(), kind, arn)
    if document is not None and jobs.status_of(document) == jobs.IN_PROGRESS:
        engine.jobs.wake()
    return document


def page(
    documents: list[Document], kind: str, order: Order, *, size: int | None, token: str | None
) -> tuple[list[Document], str | None]:
    """A page of jobs, from the last to the first, and the token of the next. Raises ValidationError."""
    ordered = sorted(documents, key=lambda document: order(jobs.arn_of(document)), reverse=True)
    if token is not None:
        after = order(_arn_of_token(kind, token))
        ordered = [document for document in ordered if order(jobs.arn_of(document)) < after]
    size = size or DEFAULT_PAGE
    more = _token(kind, jobs.arn_of(ordered[size - 1])) if len(ordered) > size else None
    return ordered[:size], more


def _token(kind: str, arn: str) -> str:
    content = arn.encode()
    content += b"\x00" * max(-len(content) % _GROUP_BYTES, _LEAST_BYTES - _DIGEST_BYTES - len(content))
    return (_digest(kind, content) + content).hex()


def _arn_of_token(kind: str, token: str) -> str:
    try:
        read = bytes.fromhex(token)
        digest, content = read[:_DIGEST_BYTES], read[_DIGEST_BYTES:]
        if digest == _digest(kind, content):
            return content.rstrip(b"\x00").decode()
    except ValueError:
        pass
    raise ValidationError(messages.token_invalid(token))


def _digest(kind: str, content: bytes) -> bytes:
    return blake2b(kind.encode() + content, digest_size=_DIGEST_BYTES).digest()
