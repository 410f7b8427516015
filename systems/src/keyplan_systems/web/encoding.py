r"""Encodes data from callers as JSON, including text that is not valid Unicode.

A JSON string can contain an unpaired surrogate ("\ud800"), which orjson rejects. Such text is encoded as it was
received, so that responses and log lines that contain it do not fail.
"""

from __future__ import annotations

import json

import orjson


def encode_json(value: object) -> bytes:
    """Encode a value as JSON. Values that cannot be represented in JSON are converted to strings."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        return json.dumps(value, default=str, separators=(",", ":")).encode()
