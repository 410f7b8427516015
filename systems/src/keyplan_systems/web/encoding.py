r"""JSON encoding of data from callers, which also supports invalid Unicode text.

JSON can contain half of a surrogate pair ("\ud800"), which orjson rejects. Such text is returned as it was sent, so
that responses and log lines that contain it do not fail.
"""

from __future__ import annotations

import json

import orjson


def encoded(value: object) -> bytes:
    """Return a value as JSON. Values without a JSON representation are converted to strings."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        return json.dumps(value, default=str, separators=(",", ":")).encode()
