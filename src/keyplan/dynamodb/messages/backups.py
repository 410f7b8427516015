"""Messages about backups, point-in-time recovery and restores.

The messages come from recorded responses of DynamoDB (October 2026), except those marked as keyplan's own.
"""

from __future__ import annotations

from keyplan.dynamodb.messages import Template1, Template2, Template3
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

table_not_found: Template1 = "Table not found: {}".format
backup_not_found: Template1 = "Backup not found: {}".format
backup_being_created: Template1 = "Backup is being created: {}".format  # keyplan's own
backup_restoring: Template1 = "Backup is being used to restore table: {}".format
backup_restoring_another: Template1 = "Backup is being used to restore another table: {}".format
system_backup: Template2 = (
    _INVALID + "User is not allowed to delete the system backup with arn {}. It will automatically expire on {}"
).format


def table_restoring(name: str, arn: str) -> str:
    """Return the message for a table that is still being restored.

    `arn` is the ARN of the backup or of the source table. The message for a source table is keyplan's own.
    """
    kind = "backup" if "/backup/" in arn else "table"
    return f"Table: {name} is already being restored from {kind}: {arn}"


table_creating: Template1 = "Table is being created: {}".format  # keyplan's own
recovery_disabled: Template1 = "Point in time recovery is not enabled for table '{}'".format
time_outside: Template3 = (
    "RestoreDateTime '{}' must be within EarliestRestorableDateTime '{}' and LatestRestorableDateTime '{}'"
).format


def units_on_demand(index: str | None = None) -> str:
    """Return the message for a restore that sets capacity units for a table or index in on-demand mode."""
    return _UNITS_ON_DEMAND if index is None else f"{_UNITS_ON_DEMAND} for index {index}"


index_units_without_mode: Template1 = (UNITS_WITHOUT_MODE + " for index {}").format  # keyplan's own
index_units_missing: Template1 = (_INVALID + "Must specify provisioned throughput for index {}").format


def maximum_provisioned(member: str, index: str | None = None) -> str:
    """Return the message for a restore that sets a maximum on-demand throughput for a provisioned table or index.

    `member` is the request member that sets the maximum. The message for an index is keyplan's own.
    """
    text = f"{_INVALID}Cannot override {member} for OnDemandThroughput unless BillingModeOverride is PAY_PER_REQUEST"
    return text if index is None else f"{text} for index {index}"


def maximum_out_of_range(member: str, index: str | None = None) -> str:
    """Return the message for a maximum on-demand throughput below 1.

    `member` is the request member that sets the maximum. The message for an index is keyplan's own.
    """
    of_index = "" if index is None else f" for index {index}"
    return f"{_INVALID}Requested {member} for OnDemandThroughput{of_index} is outside of valid range"


index_unmatched: Template1 = (
    _INVALID + "Index {} does not match a secondary index that existed in the source table "
    "and cannot be created during the restore operation"
).format
# keyplan's own
index_warm: Template1 = (_INVALID + "WarmThroughput is not supported for index {} during the restore operation").format
