"""Cursors: where a page ended, as opaque text that only its own pattern, arguments and connection key accept.

A cursor holds the key of the last item that was returned, of each partition that is walked, and a keyed
digest (BLAKE2b) of that together with the table, the pattern, the direction and the partitions. It is
signed, not secret: it shows keys to who decodes it.
"""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from keyplan.client.errors import CursorError
from keyplan.design.field_types import AttributeValue

Key = Mapping[str, AttributeValue]
Position = Key | None
"""The last key returned; None at the beginning."""
DONE: Key = {}
"""The position of a partition of which everything was returned."""
_DIGEST_BYTES = 16


def write(key: bytes, bound_to: Sequence[Any], positions: Sequence[Position]) -> str:
    """The cursor of a page."""
    told = {str(number): _plain(position) for number, position in enumerate(positions) if position is not None}
    payload = json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()
    return urlsafe_b64encode(_digest(key, bound_to, payload) + payload).rstrip(b"=").decode()


def read(key: bytes, bound_to: Sequence[Any], cursor: str, partitions: int) -> list[Position]:
    """The positions that a cursor holds. Raises CursorError."""
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except (ValueError, AttributeError) as error:
        raise CursorError("this is no cursor") from error
    digest, payload = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
    if not hmac.compare_digest(digest, _digest(key, bound_to, payload)):
        raise CursorError(
            "the cursor is damaged, or was made by another pattern, for other arguments, or by a connection with"
            " another cursor key: hand it to the same pattern with the same arguments, and give all processes the"
            " same cursor_key"
        )
    told = json.loads(payload)
    return [_stored(told[str(number)]) if str(number) in told else None for number in range(partitions)]


def _digest(key: bytes, bound_to: Sequence[Any], payload: bytes) -> bytes:
    # The length parts what the cursor is bound to from what it holds.
    bound = repr(bound_to).encode()
    return blake2b(b"%d:" % len(bound) + bound + payload, key=key, digest_size=_DIGEST_BYTES).digest()


def _plain(position: Key) -> dict[str, list[str]]:
    plain = {}
    for name, value in position.items():
        ((code, content),) = value.items()
        plain[name] = [code, b64encode(content).decode() if code == "B" else content]
    return plain


def _stored(plain: Mapping[str, Sequence[str]]) -> Key:
    return {name: {code: b64decode(content) if code == "B" else content} for name, (code, content) in plain.items()}
