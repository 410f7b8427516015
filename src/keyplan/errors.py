"""The exception tree: everything keyplan raises on purpose.

    KeyplanError
    ├── StorageError                       the database file, not the request
    │   ├── DatabaseLockedError            another process holds the write lock for too long
    │   ├── DatabaseFullError              the disk has no room
    │   ├── DatabaseReadOnlyError          the file or its folder cannot be written
    │   ├── DatabaseCorruptError           the file is damaged, or no keyplan database
    │   └── DatabaseVersionError           written by a newer keyplan
    ├── EngineClosedError                  called after close()
    └── ServiceError                       what the service answers: code, status, message
        ├── ValidationError                and one class for every other code, below

A ServiceError is what goes over the wire: `code` is the short name that SDKs see, `namespace` the
prefix of `__type`, `status` the HTTP status, `retryable` whether SDKs try again, `members` what the
answer holds beside the message.

Source: "Error handling with DynamoDB" in the developer guide, and the prefixes that the service
sends on the wire.
"""

from __future__ import annotations

from typing import Any, ClassVar

CORAL_SERVICE = "com.amazon.coral.service"
CORAL_VALIDATE = "com.amazon.coral.validate"
DYNAMODB = "com.amazonaws.dynamodb.v20120810"


class KeyplanError(Exception):
    """Root of everything keyplan raises on purpose."""


class StorageError(KeyplanError):
    """The database file could not be used; nothing of the request was applied."""


class DatabaseLockedError(StorageError):
    """Another process kept the write lock longer than the engine waits."""


class DatabaseFullError(StorageError):
    """The disk is full; the write was rolled back."""


class DatabaseReadOnlyError(StorageError):
    """The database file, or the folder it lies in, cannot be written."""


class DatabaseCorruptError(StorageError):
    """The file is damaged or is not a keyplan database."""


class DatabaseVersionError(StorageError):
    """The file was written by a newer keyplan than this one."""


class EngineClosedError(KeyplanError):
    """The engine was closed before the call."""


class ServiceError(KeyplanError):
    """An answer of the service that is not success."""

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
        """The `__type` of the answer: namespace, a hash sign, code."""
        return f"{self.namespace}#{self.code}"


class ValidationError(ServiceError):
    """The request breaks a rule; sending it again cannot help."""

    code = "ValidationException"
    namespace = CORAL_VALIDATE


class SerializationError(ServiceError):
    """The body is not JSON of the expected types."""

    code = "SerializationException"
    namespace = CORAL_SERVICE


class UnknownOperationError(ServiceError):
    """No such operation, or no target given."""

    code = "UnknownOperationException"
    namespace = CORAL_SERVICE


class AccessDeniedError(ServiceError):
    """The credentials do not allow this."""

    code = "AccessDeniedException"
    namespace = CORAL_SERVICE


class IncompleteSignatureError(ServiceError):
    """The Authorization header lacks a part."""

    code = "IncompleteSignatureException"
    namespace = CORAL_SERVICE


class InvalidSignatureError(ServiceError):
    """The signature does not match the request, or is too old."""

    code = "InvalidSignatureException"
    namespace = CORAL_SERVICE


class MissingAuthenticationTokenError(ServiceError):
    """The request is not signed."""

    code = "MissingAuthenticationTokenException"
    namespace = CORAL_SERVICE


class UnrecognizedClientError(ServiceError):
    """The access key or the session token is not known."""

    code = "UnrecognizedClientException"
    namespace = CORAL_SERVICE


class ResourceNotFoundError(ServiceError):
    """No such table, index, stream or shard, or it is not active."""

    code = "ResourceNotFoundException"


class ResourceInUseError(ServiceError):
    """The table exists already, or is being created, changed or deleted."""

    code = "ResourceInUseException"


class TableNotFoundError(ServiceError):
    """No such source table (backups, exports)."""

    code = "TableNotFoundException"


class TableAlreadyExistsError(ServiceError):
    """The target table of a restore exists."""

    code = "TableAlreadyExistsException"


class TableInUseError(ServiceError):
    """The target table of a restore is being created or deleted."""

    code = "TableInUseException"


class BackupNotFoundError(ServiceError):
    """No backup has this ARN."""

    code = "BackupNotFoundException"


class BackupInUseError(ServiceError):
    """The backup is being created, or restored to a table."""

    code = "BackupInUseException"


class PointInTimeRecoveryUnavailableError(ServiceError):
    """Point-in-time recovery is not enabled for the table."""

    code = "PointInTimeRecoveryUnavailableException"


class InvalidRestoreTimeError(ServiceError):
    """The table cannot be restored as of that moment."""

    code = "InvalidRestoreTimeException"


class InvalidExportTimeError(ServiceError):
    """The time of an export lies outside of what point-in-time recovery knows, or its period is no period."""

    code = "InvalidExportTimeException"


class ExportConflictError(ServiceError):
    """The client token of an export was used with other parameters."""

    code = "ExportConflictException"


class ExportNotFoundError(ServiceError):
    """No such export."""

    code = "ExportNotFoundException"


class ImportConflictError(ServiceError):
    """The client token of an import was used for another table."""

    code = "ImportConflictException"


class ImportNotFoundError(ServiceError):
    """No such import."""

    code = "ImportNotFoundException"


class LimitExceededError(ServiceError):
    """Too many control plane operations or resources at once."""

    code = "LimitExceededException"


class ConditionalCheckFailedError(ServiceError):
    """The condition of a write was false. `members["Item"]`: the item, where it was asked for."""

    code = "ConditionalCheckFailedException"


class TransactionCanceledError(ServiceError):
    """`members["CancellationReasons"]` holds one reason per action, in order."""

    code = "TransactionCanceledException"


class TransactionConflictError(ServiceError):
    """A transaction is at work on the item."""

    code = "TransactionConflictException"
    retryable = True


class TransactionInProgressError(ServiceError):
    """A transaction with this client request token is being worked on."""

    code = "TransactionInProgressException"
    retryable = True


class IdempotentParameterMismatchError(ServiceError):
    """The client request token was used with other parameters."""

    code = "IdempotentParameterMismatchException"


class DuplicateItemError(ServiceError):
    """A PartiQL INSERT met an existing item."""

    code = "DuplicateItemException"


class ProvisionedThroughputExceededError(ServiceError):
    """More than the table, index or partition can take; SDKs back off and retry."""

    code = "ProvisionedThroughputExceededException"
    retryable = True


class RequestLimitExceededError(ServiceError):
    """More than the account's throughput quota."""

    code = "RequestLimitExceeded"
    retryable = True


class ThrottlingError(ServiceError):
    """Throttled: control plane calls too fast, or on-demand traffic over its limit."""

    code = "ThrottlingException"
    retryable = True


class ItemCollectionSizeLimitExceededError(ServiceError):
    """A partition key value of a table with local indexes reached 10 GB."""

    code = "ItemCollectionSizeLimitExceededException"


class TrimmedDataAccessError(ServiceError):
    """The stream records asked for are older than 24 hours."""

    code = "TrimmedDataAccessException"


class ExpiredIteratorError(ServiceError):
    """The shard iterator is older than 15 minutes."""

    code = "ExpiredIteratorException"


class InternalServerError(ServiceError):
    """The service failed; the write may or may not have been applied."""

    code = "InternalServerError"
    status = 500
    retryable = True


class ServiceUnavailableError(ServiceError):
    """The service is briefly unavailable."""

    code = "ServiceUnavailable"
    status = 503
    retryable = True
