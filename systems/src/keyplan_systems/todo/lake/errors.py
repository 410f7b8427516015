"""What the lake raises on purpose.

KeyplanError
└── LakeError
    ├── BadRecordError         a stream record or exported item that is not what the service sends
    ├── LakeFormatError        files that this version of the lake cannot read
    ├── LakeBusyError          other writers kept winning, or undid what this call was doing
    ├── StaleExportError       an export that is not newer than the one already applied
    └── QueryError             SQL that is refused or fails
        └── QueryTimeoutError  SQL that ran for too long
"""

from __future__ import annotations

from keyplan.errors import KeyplanError


class LakeError(KeyplanError):
    """Root of the lake's errors."""


class BadRecordError(LakeError):
    """A record of the batch is malformed; nothing of the batch was written."""

    def __init__(self, reason: str, *, index: int) -> None:
        super().__init__(f"record {index} of the batch: {reason}")
        self.reason = reason
        self.index = index
        """Place in the batch, from 0: what a consumer hands to its failure destination."""


class LakeFormatError(LakeError):
    """A version file is damaged, or was written by a newer program."""


class LakeBusyError(LakeError):
    """The work was not done because of other writers; doing it again is safe."""


class StaleExportError(LakeError):
    """The export shows an earlier moment than one that was applied before."""


class QueryError(LakeError):
    """The SQL was refused or failed; the text says why."""


class QueryTimeoutError(QueryError):
    """The SQL ran longer than it may."""
