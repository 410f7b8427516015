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

The server sends a ServiceError to its client. `code` is the short name that SDKs show, and `namespace` is the prefix of
`__type`. `status` is the HTTP status, and `retryable` is True if SDKs should retry the request. `members` contains the
other members of the response.

Source: developer guide, "Error handling with DynamoDB"; the namespaces are those in the service's responses.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

CORAL_SERVICE = "com.amazon.coral.service"
CORAL_VALIDATE = "com.amazon.coral.validate"
DYNAMODB = "com.amazonaws.dynamodb.v20120810"
THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""The error codes that mean that DynamoDB throttled a request."""
CONFLICTS: Final = frozenset({"TransactionConflictException", "TransactionConflict", "TransactionInProgressException"})
"""The error codes that mean that another transaction is using the item."""


class KeyplanError(Exception):
    """Base class of all exceptions that keyplan raises."""


class StorageError(KeyplanError):
    """Raised if the database file cannot be used. The request had no effect."""


class DatabaseLockedError(StorageError):
    """Raised if another process holds the write lock for longer than the engine waits."""


class DatabaseFullError(StorageError):
    """Raised if the disk is full. The write was rolled back."""


class DatabaseReadOnlyError(StorageError):
    """Raised if the database file or its folder cannot be written."""


class DatabaseCorruptError(StorageError):
    """Raised if the file is damaged or is not a keyplan database."""


class DatabaseVersionError(StorageError):
    """Raised if the database file was written by a newer version of keyplan."""


class EngineClosedError(KeyplanError):
    """Raised if the engine was closed before the call."""


class ServiceError(KeyplanError):
    """Base class of the errors that DynamoDB returns in a response."""

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
    """Raised if the request is invalid. A retry cannot succeed."""

    code = "ValidationException"
    namespace = CORAL_VALIDATE


class SerializationError(ServiceError):
    """Raised if the request body is not JSON, or if a member has the wrong type."""

    code = "SerializationException"
    namespace = CORAL_SERVICE


class UnknownOperationError(ServiceError):
    """Raised if the operation is unknown or missing."""

    code = "UnknownOperationException"
    namespace = CORAL_SERVICE


class AccessDeniedError(ServiceError):
    """Raised if the credentials do not allow the request."""

    code = "AccessDeniedException"
    namespace = CORAL_SERVICE


class IncompleteSignatureError(ServiceError):
    """Raised if a part of the signature is missing or malformed."""

    code = "IncompleteSignatureException"
    namespace = CORAL_SERVICE


class InvalidSignatureError(ServiceError):
    """Raised if the signature does not match the request, or if its timestamp is too old."""

    code = "InvalidSignatureException"
    namespace = CORAL_SERVICE


class MissingAuthenticationTokenError(ServiceError):
    """Raised if the request is not signed."""

    code = "MissingAuthenticationTokenException"
    namespace = CORAL_SERVICE


class UnrecognizedClientError(ServiceError):
    """Raised if the access key or the session token is unknown."""

    code = "UnrecognizedClientException"
    namespace = CORAL_SERVICE


class ResourceNotFoundError(ServiceError):
    """Raised if the table, index, stream or shard does not exist or is not active."""

    code = "ResourceNotFoundException"


class ResourceInUseError(ServiceError):
    """Raised if the table already exists, or is being created, changed or deleted."""

    code = "ResourceInUseException"


class TableNotFoundError(ServiceError):
    """Raised if the source table of a backup, restore or export does not exist."""

    code = "TableNotFoundException"


class TableAlreadyExistsError(ServiceError):
    """Raised if the target table of a restore already exists."""

    code = "TableAlreadyExistsException"


class TableInUseError(ServiceError):
    """Raised if the target table of a restore is still being created."""

    code = "TableInUseException"


class BackupNotFoundError(ServiceError):
    """Raised if the backup does not exist."""

    code = "BackupNotFoundException"


class BackupInUseError(ServiceError):
    """Raised if the backup is being created or restored."""

    code = "BackupInUseException"


class PointInTimeRecoveryUnavailableError(ServiceError):
    """Raised if point-in-time recovery is not enabled for the table."""

    code = "PointInTimeRecoveryUnavailableException"


class InvalidRestoreTimeError(ServiceError):
    """Raised if the table cannot be restored to the requested time."""

    code = "InvalidRestoreTimeException"


class InvalidExportTimeError(ServiceError):
    """Raised if the time of an export is outside the point-in-time recovery window, or if its period is invalid."""

    code = "InvalidExportTimeException"


class ExportConflictError(ServiceError):
    """Raised if the client token of an export was already used with different parameters."""

    code = "ExportConflictException"


class ExportNotFoundError(ServiceError):
    """Raised if the export does not exist."""

    code = "ExportNotFoundException"


class ImportConflictError(ServiceError):
    """Raised if the client token of an import was already used for a different table."""

    code = "ImportConflictException"


class ImportNotFoundError(ServiceError):
    """Raised if the import does not exist."""

    code = "ImportNotFoundException"


class LimitExceededError(ServiceError):
    """Raised if too many control plane operations are in progress, or if a limit on the number of resources
    is reached.
    """

    code = "LimitExceededException"


class ConditionalCheckFailedError(ServiceError):
    """Raised if the condition of a write is false. `members["Item"]` contains the stored item if the request asks for
    it.
    """

    code = "ConditionalCheckFailedException"


class TransactionCanceledError(ServiceError):
    """Raised if a transaction was cancelled. `members["CancellationReasons"]` contains a reason for each action, in
    order.
    """

    code = "TransactionCanceledException"


class TransactionConflictError(ServiceError):
    """Raised if another transaction on the same item is in progress."""

    code = "TransactionConflictException"
    retryable = True


class TransactionInProgressError(ServiceError):
    """Raised if a transaction with the same client request token is in progress."""

    code = "TransactionInProgressException"
    retryable = True


class IdempotentParameterMismatchError(ServiceError):
    """Raised if the client request token was already used with different parameters."""

    code = "IdempotentParameterMismatchException"


class DuplicateItemError(ServiceError):
    """Raised if the item of a PartiQL INSERT already exists."""

    code = "DuplicateItemException"


class ProvisionedThroughputExceededError(ServiceError):
    """Raised if the request exceeds the throughput of the table, index or partition. SDKs back off and retry."""

    code = "ProvisionedThroughputExceededException"
    retryable = True


class RequestLimitExceededError(ServiceError):
    """Raised if the request exceeds the throughput quota of the account."""

    code = "RequestLimitExceeded"
    retryable = True


class ThrottlingError(ServiceError):
    """Raised if the request is throttled because of too many control plane calls or too much on-demand traffic."""

    code = "ThrottlingException"
    retryable = True


class ItemCollectionSizeLimitExceededError(ServiceError):
    """Raised if a write would make an item collection in a table with local secondary indexes larger than 10 GB."""

    code = "ItemCollectionSizeLimitExceededException"


class TrimmedDataAccessError(ServiceError):
    """Raised if the requested stream records are older than 24 hours."""

    code = "TrimmedDataAccessException"


class ExpiredIteratorError(ServiceError):
    """Raised if the shard iterator is older than 15 minutes."""

    code = "ExpiredIteratorException"


class InternalServerError(ServiceError):
    """Raised if the service failed. It is unknown whether a write in the request was applied."""

    code = "InternalServerError"
    status = 500
    retryable = True


class ServiceUnavailableError(ServiceError):
    """Raised if the service is temporarily unavailable."""

    code = "ServiceUnavailable"
    status = 503
    retryable = True
