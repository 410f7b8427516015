"""Shard iterators: opaque texts that say where in a shard the next records begin.

    <stream ARN>|1|<base64 of: shard, position, issued at, from the horizon or not, check>

The check, a keyed digest over ARN and content, tells a text that was cut or altered from one that the
engine gave out. It is no secret: whoever may read the stream may read all of it.
"""

from __future__ import annotations

import hashlib
import struct
from base64 import b64decode, b64encode
from typing import NamedTuple

from keyplan import limits
from keyplan.dynamodb.messages import streams as messages
from keyplan.errors import ExpiredIteratorError, ValidationError

_LAYOUT = struct.Struct(">IQd?")
_CHECK_BYTES = 8
_VERSION = "1"


class ShardIterator(NamedTuple):
    """A place in a shard."""

    arn: str
    shard: int
    position: int
    """The least sequence that is wanted."""
    issued_at: float
    """Epoch seconds."""
    at_horizon: bool
    """Whether it means the oldest record there is, wherever trimming has moved that."""


def render(iterator: ShardIterator) -> str:
    """The text handed to the client."""
    content = _LAYOUT.pack(iterator.shard, iterator.position, iterator.issued_at, iterator.at_horizon)
    return f"{iterator.arn}|{_VERSION}|{b64encode(content + _check(iterator.arn, content)).decode()}"


def parse(text: str, now: float) -> ShardIterator:
    """The iterator of a client's text. Raises ValidationError and, after 15 minutes, ExpiredIteratorError."""
    arn, _, rest = text.partition("|")
    version, _, encoded = rest.partition("|")
    try:
        packed = b64decode(encoded, validate=True)
    except ValueError:
        raise ValidationError(messages.INVALID_ITERATOR) from None
    content, check = packed[:-_CHECK_BYTES], packed[-_CHECK_BYTES:]
    if version != _VERSION or len(content) != _LAYOUT.size or check != _check(arn, content):
        raise ValidationError(messages.INVALID_ITERATOR)
    iterator = ShardIterator(arn, *_LAYOUT.unpack(content))
    if now - iterator.issued_at > limits.SHARD_ITERATOR_S:
        raise ExpiredIteratorError(messages.ITERATOR_EXPIRED)
    return iterator


def _check(arn: str, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECK_BYTES, key=hashlib.sha256(arn.encode()).digest()).digest()
