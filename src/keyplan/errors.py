"""The exceptions that keyplan raises.

    KeyplanError
    ├── StorageError                       the database file cannot be used
    │   ├── DatabaseLockedError            another process holds the write lock
    │   ├── DatabaseFullError              the disk is full
    │   ├── DatabaseReadOnlyError          the file or its folder cannot be written
    │   ├── DatabaseCorruptError           the file is damaged or not a keyplan database
    │   └── DatabaseVersionError           written by a newer keyplan
    ├── EngineClosedError                  called after close()
    └── ServiceError                       an error response: code, status, message
        ├── ValidationError                and one class for every other code, below

A ServiceError is sent to clients. `code` is the short name that SDKs show, and `namespace` is the prefix of `__type`.
`status` is the HTTP status, and `retryable` tells SDKs whether to retry. `members` contains the other members of the
response.

Source: "Error handling with DynamoDB" in the developer guide, and the prefixes that the service sends on the wire.
"""

from __future__ import annotations

from typing import Any, ClassVar

CORAL_SERVICE = "com.amazon.coral.service"
CORAL_VALIDATE = "com.amazon.coral.validate"
DYNAMODB = "com.amazonaws.dynamodb.v20120810"


class KeyplanError(Exception):
    """Base class of all exceptions that keyplan raises."""


class StorageError(KeyplanError):
    """The database file cannot be used. The request had no effect."""


class DatabaseLockedError(StorageError):
    """Another process has held the write lock for longer than the engine waits."""


class DatabaseFullError(StorageError):
    """The disk is full. The write was rolled back."""


class DatabaseReadOnlyError(StorageError):
    """The database file or its folder cannot be written."""


class DatabaseCorruptError(StorageError):
    """The file is damaged or not a keyplan database."""


class DatabaseVersionError(StorageError):
    """The file was written by a newer version of keyplan."""


class EngineClosedError(KeyplanError):
    """The engine was closed before the call."""


class ServiceError(KeyplanError):
    """An error response of DynamoDB."""

    code: ClassVar[str] = "InternalServerError"
    namespace: ClassVar[str] = DYNAMODB
    status: ClassVar[int] = 400
    retryable: ClassVar[bool] = False

    def __init__(self, message: str = "", **members: Any) -> None:
        super().__init__(message)
        self.message = message
        self.members = members

    @property
    def wire_type(self) -> str:
        """The `__type` member of the response: the namespace, a hash sign, and the code."""
        return f"{self.namespace}#{self.code}"


class ValidationError(ServiceError):
    """The request is invalid. A retry cannot succeed."""

    code = "ValidationException"
    namespace = CORAL_VALIDATE


class SerializationError(ServiceError):
    """The body is not JSON, or a member has a wrong type."""

    code = "SerializationException"
    namespace = CORAL_SERVICE


class UnknownOperationError(ServiceError):
    """The operation is unknown or missing."""

    code = "UnknownOperationException"
    namespace = CORAL_SERVICE


class AccessDeniedError(ServiceError):
    """The credentials do not allow the request."""

    code = "AccessDeniedException"
    namespace = CORAL_SERVICE


class IncompleteSignatureError(ServiceError):
    """A part of the Authorization header is missing."""

    code = "IncompleteSignatureException"
    namespace = CORAL_SERVICE


class InvalidSignatureError(ServiceError):
    """The signature does not match the request, or its timestamp is too old."""

    code = "InvalidSignatureException"
    namespace = CORAL_SERVICE


class MissingAuthenticationTokenError(ServiceError):
    """The request is not signed."""

    code = "MissingAuthenticationTokenException"
    namespace = CORAL_SERVICE


class UnrecognizedClientError(ServiceError):
    """The access key or the session token is unknown."""

    code = "UnrecognizedClientException"
    namespace = CORAL_SERVICE


class ResourceNotFoundError(ServiceError):
    """The table, index, stream or shard does not exist or is not active."""

    code = "ResourceNotFoundException"


class ResourceInUseError(ServiceError):
    """The table already exists, or is being created, changed or deleted."""

    code = "ResourceInUseException"


class TableNotFoundError(ServiceError):
    """The source table of a backup, restore or export does not exist."""

    code = "TableNotFoundException"


class TableAlreadyExistsError(ServiceError):
    """The target table of a restore already exists."""

    code = "TableAlreadyExistsException"


class TableInUseError(ServiceError):
    """The target table of a restore is being created or deleted."""

    code = "TableInUseException"


class BackupNotFoundError(ServiceError):
    """The backup does not exist."""

    code = "BackupNotFoundException"


class BackupInUseError(ServiceError):
    """The backup is being created or restored."""

    code = "BackupInUseException"


class PointInTimeRecoveryUnavailableError(ServiceError):
    """Point-in-time recovery is not enabled for the table."""

    code = "PointInTimeRecoveryUnavailableException"


class InvalidRestoreTimeError(ServiceError):
    """The table cannot be restored to this time."""

    code = "InvalidRestoreTimeException"


class InvalidExportTimeError(ServiceError):
    """The time of an export is outside the point-in-time recovery window, or its period is invalid."""

    code = "InvalidExportTimeException"


class ExportConflictError(ServiceError):
    """The client token of an export was already used with different parameters."""

    code = "ExportConflictException"


class ExportNotFoundError(ServiceError):
    """The export does not exist."""

    code = "ExportNotFoundException"


class ImportConflictError(ServiceError):
    """The client token of an import was already used for a different table."""

    code = "ImportConflictException"


class ImportNotFoundError(ServiceError):
    """The import does not exist."""

    code = "ImportNotFoundException"


class LimitExceededError(ServiceError):
    """Too many control plane operations or resources exist at the same time."""

    code = "LimitExceededException"


class ConditionalCheckFailedError(ServiceError):
    """The condition of a write is false. `members["Item"]` contains the item, if the request asks for it."""

    code = "ConditionalCheckFailedException"


class TransactionCanceledError(ServiceError):
    """The transaction was cancelled. `members["CancellationReasons"]` contains one reason per action, in order."""

    code = "TransactionCanceledException"


class TransactionConflictError(ServiceError):
    """Another transaction is in progress on the item."""

    code = "TransactionConflictException"
    retryable = True


class TransactionInProgressError(ServiceError):
    """A transaction with this client request token is in progress."""

    code = "TransactionInProgressException"
    retryable = True


class IdempotentParameterMismatchError(ServiceError):
    """The client request token was already used with different parameters."""

    code = "IdempotentParameterMismatchException"


class DuplicateItemError(ServiceError):
    """The item of a PartiQL INSERT already exists."""

    code = "DuplicateItemException"


class ProvisionedThroughputExceededError(ServiceError):
    """The request exceeds the throughput of the table, index or partition. SDKs back off and retry."""

    code = "ProvisionedThroughputExceededException"
    retryable = True


class RequestLimitExceededError(ServiceError):
    """The request exceeds the throughput quota of the account."""

    code = "RequestLimitExceeded"
    retryable = True


class ThrottlingError(ServiceError):
    """The request was throttled, because of too many control plane calls or too much on-demand traffic."""

    code = "ThrottlingException"
    retryable = True


class ItemCollectionSizeLimitExceededError(ServiceError):
    """An item collection of a table with local indexes has reached 10 GB."""

    code = "ItemCollectionSizeLimitExceededException"


class TrimmedDataAccessError(ServiceError):
    """The requested stream records are older than 24 hours."""

    code = "TrimmedDataAccessException"


class ExpiredIteratorError(ServiceError):
    """The shard iterator is older than 15 minutes."""

    code = "ExpiredIteratorException"


class InternalServerError(ServiceError):
    """The service failed. The write may or may not have been applied."""

    code = "InternalServerError"
    status = 500
    retryable = True


class ServiceUnavailableError(ServiceError):
    """The service is temporarily unavailable."""

    code = "ServiceUnavailable"
    status = 503
    retryable = True
