r"""JSON of data that callers sent: invalid Unicode text does not prevent a response or a log line.

JSON can spell half of a surrogate pair ("\ud800"), which orjson rejects. Such text is returned as it was sent.
"""

from __future__ import annotations

import json

import orjson


def encoded(value: object) -> bytes:
    """Return the value as JSON; values without a JSON form become their text."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        return json.dumps(value, default=str, separators=(",", ":")).encode()
