"""Reads a full table export. DynamoDB writes the export to S3, and this module reads a local copy of the export's
folder.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

_FORMAT = "DYNAMODB_JSON"


class ExportError(Exception):
    """Raised if an export is unreadable. The message contains the reason."""


def time_of_export(folder: Path) -> datetime:
    """Return the point in time whose table state the export contains. Raises ExportError if the summary file of the
    export is missing or invalid.
    """
    summary = _summary(folder)
    try:
        return datetime.fromisoformat(summary["exportTime"])
    except (KeyError, TypeError, ValueError) as error:
        raise ExportError(f"{folder / 'manifest-summary.json'} has no exportTime") from error


def items_of_export(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield every item of the export as a dict of attribute values.

    Raises ExportError if a file is damaged. If files are missing, ExportError is raised after the last item.
    """
    summary, count = _summary(folder), 0
    for path in sorted((folder / "data").glob("*.json.gz")):
        try:
            with gzip.open(path) as lines:
                for line in lines:
                    yield orjson.loads(line)["Item"]
                    count += 1
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            raise ExportError(f"{path} is damaged: {error}") from error
    expected_count = summary.get("itemCount", count)
    if count != expected_count:
        raise ExportError(f"{folder} contains {count} items, but its summary lists {expected_count}: files are missing")


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / "manifest-summary.json"
    try:
        summary: dict[str, Any] = orjson.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ExportError(f"{path} cannot be read: {error}") from error
    if summary.get("outputFormat", _FORMAT) != _FORMAT:
        raise ExportError(f"{path} describes an export in format {summary['outputFormat']}: export in format {_FORMAT}")
    return summary
