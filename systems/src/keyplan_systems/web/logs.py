"""Writes structured logs with one JSON object per line. The objects contain the request ID, but not secrets.

    {"time": "...", "level": "info", "logger": "...", "message": "request", "request_id": "...", ...}

Secret fields are recognized by their names, and tokens in strings by their format. Both are redacted.
"""

from __future__ import annotations

import logging
import re
import sys
from datetime import UTC, datetime
from typing import IO, Final

from keyplan_systems.web.encoding import encode_json
from keyplan_systems.web.request_context import current_context

REDACTED: Final = "[redacted]"

# Names of fields whose values must never be logged.
_SECRET_NAME = re.compile(
    r"authorization|cookie|passw|secret|token|api_?key|private_?key|credential|signature|fingerprint", re.IGNORECASE
)
# Formats of secret values: bearer headers, JWTs within longer text, and tokens in query strings (escaped or not), which
# the server logs for every websocket.
_SECRET_TEXT = re.compile(r"(?i:bearer\s+)\S+|(?i:(?<=[?&]token=))[^&\s\"]+|\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*")

_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


def redact(name: str, value: object) -> object:
    """Return the value of a log field, with secrets replaced. Secrets are recognized by the field's name or by the
    format of the value.
    """
    if _SECRET_NAME.search(name):
        return REDACTED
    if isinstance(value, str):
        return _SECRET_TEXT.sub(REDACTED, value)
    if isinstance(value, dict):
        return {str(key): redact(str(key), entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [redact(name, entry) for entry in value]
    return value


class JsonFormatter(logging.Formatter):
    """Formats each log record as one line of JSON. Fields in `extra` become members of the JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the log record as JSON without line breaks."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact("message", record.getMessage()),
        }
        line.update(_request_fields())
        for name, value in vars(record).items():
            if name not in _STANDARD_FIELDS:
                line[name] = redact(name, value)
        if record.exc_info:
            line["exception"] = redact("exception", self.formatException(record.exc_info))
        return encode_json(line).decode()


def _request_fields() -> dict[str, object]:
    context = current_context()
    if context is None:
        return {}
    fields: dict[str, object] = {"request_id": context.request_id}
    if context.user_id is not None:
        fields["user_id"] = context.user_id
    return fields


def configure_logs(level: int | str = logging.INFO, stream: IO[str] | None = None) -> logging.Handler:
    """Write all logs of the process as JSON lines to a stream, by default to standard error. Return the new handler.

    Existing handlers of the root logger are removed.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    for old_handler in list(root.handlers):
        root.removeHandler(old_handler)
    root.addHandler(handler)
    root.setLevel(level)
    # These libraries log every URL they request, with its query string, which may contain keys and tokens.
    for library in ("httpx", "httpcore"):
        logging.getLogger(library).setLevel(logging.WARNING)
    return handler
