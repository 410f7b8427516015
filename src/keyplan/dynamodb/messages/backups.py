"""What the service says about backups, point-in-time recovery and restores.

As recorded in answers of the service in October 2026 and published by others; what is worded here says so.
"""

from __future__ import annotations

from keyplan.dynamodb.messages.items import PARAMETER_INVALID

_INVALID = "Invalid Request: "

TABLE_NOT_FOUND = "Table not found"
INVALID_BACKUP_ARN = "Invalid Backup ARN"
BACKUP_ARN_NOT_VALID = _INVALID + "BackupArn is not valid"
CURSOR_ELSEWHERE = _INVALID + "The supplied ExclusiveStartBackupArn does not match the region"
TIME_RANGE_INVERTED = PARAMETER_INVALID + "Time range lower bound must be less than or equal to upper bound"
PERIOD_WHILE_DISABLING = _INVALID + "Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery."
SOURCE_AMBIGUOUS = "Must provide exactly one of: sourceTableArn, sourceTableName"
SOURCE_ARN_NOT_VALID = "sourceTableArn is not a valid ARN"
FOREIGN_ACCOUNT = "This action is only supported by accounts that match the resource owner’s account."  # noqa: RUF001
TIME_MISSING = _INVALID + "Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both"
TIME_TWICE = _INVALID + (
    "Both RestoreDateTime and UseLatestRestorableTime cannot be set for point-in-time restore request. "
    "Please specify either RestoreDateTime time or UseLatestRestorableTime"
)
UNITS_WITHOUT_MODE = _INVALID + "Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED"
UNITS_MISSING = _INVALID + "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"
_UNITS_ON_DEMAND = _INVALID + "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST"


def table_not_found(name: str) -> str:
    """The table of a backup, of recovery settings or of an export is not there, or not yet, or not for long."""
    return f"Table not found: {name}"


def backup_not_found(arn: str) -> str:
    """No backup has this ARN."""
    return f"Backup not found: {arn}"


def backup_being_created(arn: str) -> str:
    """The backup is not available yet. Worded here."""
    return f"Backup is being created: {arn}"


def backup_restoring(arn: str) -> str:
    """The backup cannot be deleted now."""
    return f"Backup is being used to restore table: {arn}"


def backup_restoring_another(arn: str) -> str:
    """The backup cannot be restored a second time now."""
    return f"Backup is being used to restore another table: {arn}"


def system_backup(arn: str, expires_at: str) -> str:
    """The service's own backup is not for users to delete."""
    return (
        f"{_INVALID}User is not allowed to delete the system backup with arn {arn}. "
        f"It will automatically expire on {expires_at}"
    )


def table_restoring(name: str, arn: str) -> str:
    """The target of a restore is being restored; `arn`: of the backup or, worded here, of the source table."""
    kind = "backup" if "/backup/" in arn else "table"
    return f"Table: {name} is already being restored from {kind}: {arn}"


def table_creating(name: str) -> str:
    """The target of a restore is being created otherwise. Worded here."""
    return f"Table is being created: {name}"


def recovery_disabled(name: str) -> str:
    """The source of a point-in-time restore or of an export does not have it on."""
    return f"Point in time recovery is not enabled for table '{name}'"


def time_outside(asked: str, earliest: str, latest: str) -> str:
    """The moment cannot be restored."""
    return (
        f"RestoreDateTime '{asked}' must be within EarliestRestorableDateTime '{earliest}' "
        f"and LatestRestorableDateTime '{latest}'"
    )


def units_on_demand(index: str | None = None) -> str:
    """Units for a table that is overridden to be paid by request, or for one of its indexes."""
    return _UNITS_ON_DEMAND if index is None else f"{_UNITS_ON_DEMAND} for index {index}"


def index_units_without_mode(index: str) -> str:
    """Units for an index of a table that is paid by request. Worded here, after the same of a table."""
    return f"{UNITS_WITHOUT_MODE} for index {index}"


def index_units_missing(index: str) -> str:
    """An index of a provisioned table without units."""
    return f"{_INVALID}Must specify provisioned throughput for index {index}"


def maximum_provisioned(member: str, index: str | None = None) -> str:
    """A maximum for a table that is not paid by request, or, worded here, for one of its indexes."""
    told = f"{_INVALID}Cannot override {member} for OnDemandThroughput unless BillingModeOverride is PAY_PER_REQUEST"
    return told if index is None else f"{told} for index {index}"


def maximum_out_of_range(member: str, index: str | None = None) -> str:
    """A maximum below one, of a table or, worded here, of an index."""
    told = f"{_INVALID}Requested {member} for OnDemandThroughput"
    return (
        f"{told} is outside of valid range" if index is None else f"{told} for index {index} is outside of valid range"
    )


def index_unmatched(index: str) -> str:
    """An index that the source does not have."""
    return (
        f"{_INVALID}Index {index} does not match a secondary index that existed in the source table "
        "and cannot be created during the restore operation"
    )


def index_warm(index: str) -> str:
    """Restores take no warm throughput. Worded here."""
    return f"{_INVALID}WarmThroughput is not supported for index {index} during the restore operation"
