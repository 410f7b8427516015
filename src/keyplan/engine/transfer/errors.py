"""Errors that end the work on an export or import."""

from __future__ import annotations


class StoppedError(Exception):
    """The engine is being closed."""


class LostError(Exception):
    """The job has ended, or another runner has it."""


class TransferError(Exception):
    """An export or import failed; DescribeExport or DescribeImport reports the code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
