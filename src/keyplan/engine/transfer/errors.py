"""Errors that end the processing of an export or import."""

from __future__ import annotations


class StoppedError(Exception):
    """Raised if the engine is being closed."""


class LostError(Exception):
    """Raised if the job has ended or another runner has claimed it."""


class TransferError(Exception):
    """Raised if an export or import fails. DescribeExport and DescribeImport report the code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
