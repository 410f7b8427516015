"""Encoding of key values to bytes that sort in the same order as the values, and the layout of stored keys.

A stored key consists of these parts (in parentheses: number of bytes):

    hash (4) | length of the partition part (2) | partition part | sort part

The hash of the partition part distributes partitions evenly. It also gives Scan a stable order. Each segment of a
parallel scan is a range of this order. Within a partition, the order of bytes is the order of sort keys. The key of an
index entry ends with the key of the table item, which makes it unique. Every part except the last is escaped and
terminated, so that a part cannot be mistaken for the start of a longer one.

Numbers are encoded in the format that DynamoDB itself is known to use: an exponent byte and base-100 digits, all of
which are complemented for negative numbers.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from functools import lru_cache

try:
    from _md5 import md5  # type: ignore[import-not-found]  # half the time of hashlib's wrapper
except ImportError:  # pragma: no cover - builds without the builtin module
    from hashlib import md5

HASH_BYTES = 4
_PARTITION_AT = HASH_BYTES + 2
HASH_SPACE = 1 << (8 * HASH_BYTES)
_HASH_SALT = b"Outliers"  # the salt that the service's partition hash is known to use
_TERMINATOR = b"\x00\x00"
_ABOVE_TERMINATOR = b"\x00\x01"
_NEGATIVE_END = 102
_LONGEST_MANTISSA = 20


def scalar_key(kind: str, content: str) -> bytes:
    """Return bytes for a canonical value of type S, N or B. For values of the same type, the bytes sort in the same
    order as the values.
    """
    if kind == "S":
        return content.encode()
    if kind == "N":
        return number_key(content)
    return b64decode(content)


@lru_cache(maxsize=4096)
def number_key(text: str) -> bytes:
    """Return 1 to 21 bytes for a canonical number. The bytes sort in the same order as the numbers."""
    if text == "0":
        return b"\x80"
    negative = text[0] == "-"
    integer, _, fraction = text.lstrip("-").partition(".")
    if integer != "0":
        digits, exponent = integer + fraction, len(integer)
    else:
        digits = fraction.lstrip("0")
        exponent = len(digits) - len(fraction)
    digits = digits.rstrip("0")
    odd = exponent % 2
    if odd:
        digits = "0" + digits
    if len(digits) % 2:
        digits += "0"
    first = (exponent + odd) // 2 - 64
    pairs = [int(digits[at : at + 2]) for at in range(0, len(digits), 2)]
    if not negative:
        return bytes([first & 0xFF, *(pair + 1 for pair in pairs)])
    end = [_NEGATIVE_END] if len(pairs) < _LONGEST_MANTISSA else []
    return bytes([~first & 0xFF, *(101 - pair for pair in pairs), *end])


def escape(part: bytes) -> bytes:
    """Escape and terminate a part of a key, so that keys sort correctly when more bytes follow the part."""
    return part.replace(b"\x00", b"\x00\xff") + _TERMINATOR


def partition_prefix(part: bytes) -> bytes:
    """Return the common prefix of all stored keys in a partition. `part` is the partition part of these keys."""
    digest: bytes = md5(_HASH_SALT + part).digest()  # noqa: S324 - distributes keys, not for security
    return digest[:HASH_BYTES] + len(part).to_bytes(2, "big") + part


def tie_hash(key: bytes) -> bytes:
    """Return the hash of an item's stored key. Entries of a global index that have the same index key are sorted by
    this hash.
    """
    digest: bytes = md5(_HASH_SALT + key[_PARTITION_AT:]).digest()  # noqa: S324 - distributes keys, not for security
    return digest[:HASH_BYTES]


def unescape(part: bytes) -> bytes:
    """Return the original bytes of an escaped part."""
    return strip_terminator(part).replace(b"\x00\xff", b"\x00")


def strip_terminator(part: bytes) -> bytes:
    """Return an escaped part without its terminator. The result is a prefix of all escaped parts that start with the
    same value.
    """
    return part[: -len(_TERMINATOR)]


def join_parts(parts: Iterable[bytes]) -> bytes:
    """Join the encoded values of several key attributes to a single part of a key, in which each value is escaped."""
    return b"".join(map(escape, parts))


def successor(prefix: bytes) -> bytes:
    """Return the smallest byte string that sorts after every byte string with this prefix."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1])


def after_value(prefix: bytes) -> bytes:
    """Return a bound that sorts after all keys with a given value, and before all keys with a greater value.

    `prefix` is a key prefix that ends with the escaped value.
    """
    return strip_terminator(prefix) + _ABOVE_TERMINATOR


def hash_of(key: bytes) -> int:
    """Return the hash of a stored key, from 0 to HASH_SPACE - 1."""
    return int.from_bytes(key[:HASH_BYTES], "big")


def segment_bounds(segment: int, total: int) -> tuple[bytes, bytes | None]:
    """Return the lower bound (inclusive) and the upper bound (exclusive) of the keys in a scan segment, given the
    segment number and the total number of segments.

    The upper bound of the last segment is None.
    """
    low = HASH_SPACE * segment // total
    high = HASH_SPACE * (segment + 1) // total
    upper = None if high >= HASH_SPACE else high.to_bytes(HASH_BYTES, "big")
    return low.to_bytes(HASH_BYTES, "big"), upper
