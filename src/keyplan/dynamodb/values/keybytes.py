"""Key bytes: values encoded so that comparing bytes compares values, and keys laid out for the store.

A stored key is

    hash (4) | length of the partition part (2) | partition part | sort part

The hash, of the partition part alone, spreads partitions evenly and gives Scan a stable order whose
ranges are the parallel segments. Inside a partition, bytes order is sort key order. Keys of an index
end in the key of the table item they stand for, which makes them unique; wherever a part is followed
by another it is escaped and terminated, so no value can run into its neighbour.

Numbers take the form the service itself is known to use: an exponent byte, then base-100 digits, all
complemented below zero.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from functools import lru_cache

try:
    from _md5 import md5  # type: ignore[import-not-found]  # half the price of hashlib's wrapper
except ImportError:  # pragma: no cover - builds without the builtin module
    from hashlib import md5

HASH_BYTES = 4
_PARTITION_AT = HASH_BYTES + 2
HASH_SPACE = 1 << (8 * HASH_BYTES)
_HASH_SALT = b"Outliers"  # the salt the service's own partition hash is known to use
_TERMINATOR = b"\x00\x00"
_ABOVE_TERMINATOR = b"\x00\x01"
_NEGATIVE_END = 102
_LONGEST_MANTISSA = 20


def scalar_key(kind: str, content: str) -> bytes:
    """Order-preserving bytes of a canonical S, N or B value."""
    if kind == "S":
        return content.encode()
    if kind == "N":
        return number_key(content)
    return b64decode(content)


@lru_cache(maxsize=4096)
def number_key(text: str) -> bytes:
    """Order-preserving bytes of a canonical number, 1 to 21 of them."""
    if text == "0":
        return b"\x80"
    negative = text[0] == "-"
    whole, _, fraction = text.lstrip("-").partition(".")
    if whole != "0":
        digits, exponent = whole + fraction, len(whole)
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


def escaped(part: bytes) -> bytes:
    """The part so that it sorts as before with more bytes behind it, and ends where it ends."""
    return part.replace(b"\x00", b"\x00\xff") + _TERMINATOR


def partition_prefix(part: bytes) -> bytes:
    """The bytes every key of one partition starts with."""
    digest: bytes = md5(_HASH_SALT + part).digest()  # noqa: S324 - spreads keys, protects nothing
    return digest[:HASH_BYTES] + len(part).to_bytes(2, "big") + part


def tie_hash(key: bytes) -> bytes:
    """What orders the entries of a global index that have the same index key: a hash of the item's whole key."""
    digest: bytes = md5(_HASH_SALT + key[_PARTITION_AT:]).digest()  # noqa: S324 - spreads keys, protects nothing
    return digest[:HASH_BYTES]


def unescaped(part: bytes) -> bytes:
    """The part that was escaped."""
    return unterminated(part).replace(b"\x00\xff", b"\x00")


def unterminated(part: bytes) -> bytes:
    """What begins the part that was escaped, and every longer one that begins with it."""
    return part[: -len(_TERMINATOR)]


def joined(parts: Iterable[bytes]) -> bytes:
    """Several key attributes as one part, each escaped."""
    return b"".join(map(escaped, parts))


def successor(prefix: bytes) -> bytes:
    """The smallest bytes above everything that starts with the prefix."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1])


def after_value(prefix: bytes) -> bytes:
    """The bound above one escaped value: everything with it lies below, every greater value above.

    `prefix` ends in the terminator that `escaped` wrote.
    """
    return unterminated(prefix) + _ABOVE_TERMINATOR


def hash_of(key: bytes) -> int:
    """Where a stored key lies in the hash space, 0 to HASH_SPACE - 1."""
    return int.from_bytes(key[:HASH_BYTES], "big")


def segment_bounds(segment: int, total: int) -> tuple[bytes, bytes | None]:
    """Lower and upper (exclusive; None: no bound) key of one of `total` scan segments."""
    low = HASH_SPACE * segment // total
    high = HASH_SPACE * (segment + 1) // total
    upper = None if high >= HASH_SPACE else high.to_bytes(HASH_BYTES, "big")
    return low.to_bytes(HASH_BYTES, "big"), upper
