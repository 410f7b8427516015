"""The coding of answers: the cases were recorded on the service by a public test suite."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyplan.server import compression


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        (b"gzip", b"gzip"),
        (b"deflate", b"deflate"),
        (b"identity", None),
        (b"", None),
        (b"br", None),
        (b"zstd", None),
        (b"compress", None),
        (b"x-gzip", None),
        (b"gzip, deflate", b"gzip"),
        (b"br, identity, deflate, gzip", b"deflate"),
        (b"GZIP, identity", b"gzip"),
        (b"dog, gzip ,, cat", b"gzip"),
        (b"gzip;q=0.8, deflate;q=0.5", b"gzip"),
        (b"br, gzip;q=0, deflate; q = 0.5 , identity;q=0", b"deflate"),
        (b"*", b"gzip"),
        (b"*, deflate;q=0.5", b"gzip"),
        (b"*, deflate", b"deflate"),
        (b"*, identity", b"gzip"),
        (b"*, gzip;q=0.5", b"deflate"),
        (b"gzip ;q=0", None),
        (b"identity;q=0", None),
        (b"*;q=0", None),
        (b"*;q=0.5,identity", b"gzip"),
        (b"gzip;q=0.5,identity;q=0.8", b"gzip"),
        (b"br;q=0.8,identity;q=0.5,*;q=0", None),
        (b'"gzip"', None),
        (b"gzip br", None),
        (b"gzip:q=1", None),
        (b"deflate;q=0.5, gzip;q=31", b"gzip"),
        (b"gzip;q=31,deflate;q=51", b"gzip"),
        (b"deflate;q=0.5, gzip;q=0.2", b"deflate"),
        (b"deflate;q=0.5, gzip;q=1;q=0.2", b"gzip"),
        (b"deflate;q=0.5,gzip;q=0.", b"deflate"),
        (b"deflate;q=0.5,gzip;q=0.x", b"gzip"),
        (b"deflate;q=-0.5,gzip;q=0.2", b"gzip"),
        (b"gzip;nq=1;q=0 ", None),
        (b"gzip;q= 0;q=1", None),
        (b"gzip;q =0;q=1", b"gzip"),
        (b"gzip; q=0;q=1", None),
        (b"gzip;nq=0;q=1", None),
        (b"deflate;q=0.5,gzip;q=0. x", b"gzip"),
        (b"gzip;;q=0", None),
        (b"gzip;q=0, gzip;q=1, gzip;q=0", b"gzip"),
        (b"br,identity;q=0.5,gzip;q=0.0001", b"gzip"),
    ],
)
def test_the_encoding_is_negotiated(accept: bytes, coding: bytes | None) -> None:
    assert compression.negotiate(accept) == coding


@given(st.binary(max_size=60))
def test_any_header_selects_a_supported_encoding_or_none(accept: bytes) -> None:
    assert compression.negotiate(accept) in (b"gzip", b"deflate", None)


@given(st.lists(st.binary(max_size=300), max_size=5), st.sampled_from([b"gzip", b"deflate"]))
def test_a_compressed_body_is_inflated_to_the_same_bytes(pieces: list[bytes], coding: bytes) -> None:
    body = b"".join(pieces)
    packed = compression.compress(body, coding)
    assert compression.inflate(packed, coding, len(body)) == body


@given(st.binary(min_size=1, max_size=3000))
def test_the_limit_is_exact(body: bytes) -> None:
    packed = compression.compress(body, b"gzip")
    with pytest.raises(compression.TooLargeError):
        compression.inflate(packed, b"gzip", len(body) - 1)


@given(st.binary(max_size=300), st.sampled_from([b"gzip", b"deflate"]))
def test_any_bytes_are_inflated_or_rejected(body: bytes, coding: bytes) -> None:
    try:
        compression.inflate(body, coding, 1000)
    except (compression.BadEncodingError, compression.TooLargeError):
        return
    assert zlib.decompress(body, 47) or body


def test_a_decompression_bomb_is_rejected_early() -> None:
    bomb = compression.compress(bytes(200_000_000), b"gzip")
    with pytest.raises(compression.TooLargeError):
        compression.inflate(bomb, b"gzip", 1_000_000)


def test_a_quality_that_is_not_a_number_is_ignored() -> None:
    assert compression.negotiate(b"deflate;q=0.5,gzip;q=nan") == b"gzip"
    assert compression.negotiate(b"gzip;q=0.5,deflate;q=nan") == b"deflate"
