"""Errors of the lake.

KeyplanError
└── LakeError
    ├── BadRecordError         a stream record or exported item that is not what the service sends
    ├── LakeFormatError        files that this version of the lake cannot read
    ├── LakeBusyError          too many concurrent writers, or one that invalidated this call's work
    ├── StaleExportError       an export that is not newer than the one already applied
    └── QueryError             SQL that is refused or fails
        └── QueryTimeoutError  SQL that ran for too long
"""

from __future__ import annotations

from keyplan.errors import KeyplanError


class LakeError(KeyplanError):
    """Root of the lake's errors."""


class BadRecordError(LakeError):
    """Malformed record of a batch; nothing of the batch was written."""

    def __init__(self, reason: str, *, index: int) -> None:
        super().__init__(f"record {index} of the batch: {reason}")
        self.reason = reason
        self.index = index
        """Position in the batch, from 0: what a consumer passes to its failure destination."""


class LakeFormatError(LakeError):
    """Damaged version file, or one that a newer program wrote."""


class LakeBusyError(LakeError):
    """Work that was not done because of other writers; doing it again is safe."""


class StaleExportError(LakeError):
    """Export that shows an earlier time than one that was applied before."""


class QueryError(LakeError):
    """Refused or failed SQL; the text says why."""


class QueryTimeoutError(QueryError):
    """SQL that ran longer than allowed."""
