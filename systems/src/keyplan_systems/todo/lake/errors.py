"""The exceptions of the lake.

KeyplanError
└── LakeError
    ├── BadRecordError         a stream record or exported item is invalid
    ├── LakeFormatError        a version file is damaged or has a newer format
    ├── LakeBusyError          other writers prevented this call from committing
    ├── StaleExportError       an export is not newer than the applied one
    └── QueryError             SQL is rejected or fails
        └── QueryTimeoutError  SQL ran for too long
"""

from __future__ import annotations

from keyplan.errors import KeyplanError


class LakeError(KeyplanError):
    """Base class of the lake's errors."""


class BadRecordError(LakeError):
    """Raised if a record in a batch is malformed. In this case, no record of the batch is written."""

    def __init__(self, reason: str, *, index: int) -> None:
        super().__init__(f"record {index} of the batch: {reason}")
        self.reason = reason
        self.index = index
        """Position of the record in the batch, starting at 0. A consumer passes this record to its failure
        destination."""


class LakeFormatError(LakeError):
    """Raised if a version file is damaged or was written by a newer version of the program."""


class LakeBusyError(LakeError):
    """Raised if a call failed because of other writers or a concurrent vacuum. The call can safely be retried."""


class StaleExportError(LakeError):
    """Raised if an export is not newer than the last export that was applied to the lake. Applying the same export
    again is not an error.
    """


class QueryError(LakeError):
    """Raised if an SQL statement is rejected or fails. The message contains the reason."""


class QueryTimeoutError(QueryError):
    """Raised if an SQL statement exceeds the time limit."""
