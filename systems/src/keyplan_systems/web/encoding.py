"""JSON of whatever callers may have sent: text that is no Unicode does not keep an answer or a log line from going out.

JSON can spell half of a surrogate pair ("\\ud800"), which is no text and which orjson refuses. It is told as it came.
"""

from __future__ import annotations

import json

import orjson


def encoded(value: object) -> bytes:
    """The value as JSON; what JSON has no form for becomes its text."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        return json.dumps(value, default=str, separators=(",", ":")).encode()
