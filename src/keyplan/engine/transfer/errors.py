"""Exceptions that end a running export or import."""

from __future__ import annotations


class StoppedError(Exception):
    """Raised if the engine is being closed during an export or import."""


class ClaimLostError(Exception):
    """Raised if an export or import has already ended, or if another process has taken it over."""


class TransferError(Exception):
    """Raised if an export or import fails. DescribeExport and DescribeImport return the code and message of
    this error.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
