"""Messages about tables, their keys, indexes, capacity, tags and time to live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keyplan.dynamodb.messages import Template1, Template2, Template3
from keyplan.dynamodb.messages.items import PARAMETER_INVALID as _INVALID

NOT_FOUND = "Requested resource not found"
ACCESS_DENIED = "Access is denied"

table_not_found: Template1 = "Requested resource not found: Table: {} not found".format  # table operations
resource_not_found: Template1 = "Requested resource not found: ResourceArn: {} not found".format  # tag operations
index_not_found: Template2 = "Requested resource not found: Index {} for table {}".format
no_such_index: Template1 = "The table does not have the specified index: {}".format

# States.
IN_USE = "Attempt to change a resource which is still in use"
INDEXES_CHANGING = f"{IN_USE}: Cannot delete table while indexes are being created, updated, or deleted."
STREAM_CHANGING = f"{IN_USE}: Cannot delete table while stream is being enabled/disabled."
ENCRYPTION_CHANGING = f"{IN_USE}: Server-Side Encryption is still being updated"
DELETION_PROTECTED = (
    "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
)

table_exists: Template1 = "Table already exists: {}".format
being_created: Template1 = (IN_USE + ": Table is being created: {}").format
being_deleted: Template1 = (IN_USE + ": Table is being deleted: {}").format
being_updated: Template1 = (IN_USE + ": Table: {} is in the process of being updated.").format
expiry_of_new_table: Template1 = (IN_USE + ": Table {} is being created").format


def capacity_changing(name: str, change: str) -> str:
    """Return the message for a change that is requested while the capacity or billing mode of a table is changing.

    `change` is the requested change, a key of _CAPACITY_PHRASES.
    """
    if change == "capacity":
        return f"{IN_USE}: Table IOPS are currently being updated. Table: {name}"
    if change == "on-demand":
        return f"{IN_USE}: OnDemandThroughput cannot be updated while BillingMode update is in progress"
    return f"{IN_USE}: Can't {_CAPACITY_PHRASES[change]} while table IOPS are being updated. Table: {name}"


def stream_changing(name: str, change: str, label: str, operation: str) -> str:
    """Return the message for a change that is requested while a table's stream is being enabled or disabled.

    `name` is the name of the table, `label` is the label of the stream, and `operation` is the operation that is in
    progress on the stream. `change` is the requested change, a key of _CHANGE_PHRASES.
    """
    detail = f"Table: {name} Stream: {label} Operation: {operation}"
    if change == "stream":
        return f"{IN_USE}: A stream status change is currently in progress. {detail}"
    if change == "on-demand":
        return f"{IN_USE}: OnDemandThroughput cannot be updated while stream status update is in progress"
    return f"{IN_USE}: Can't {_CHANGE_PHRASES[change]} when stream status is being updated. {detail}"


def class_changing(name: str, change: str, table_class: str) -> str:
    """Return the message for a change that is requested while the table class is changing.

    `change` is the requested change, a key of _CHANGE_PHRASES, and `table_class` is the new table class.
    """
    detail = f"TableClassUpdateInProgress: {table_class}"
    if change == "on-demand":
        return f"{IN_USE}: OnDemandThroughput cannot be updated while TableClass update is in progress. {detail}"
    return f"{IN_USE}: Can't {_CHANGE_PHRASES[change]} when a table class update is in progress. Table: {name} {detail}"


def index_changing(name: str, change: str, indexes: Sequence[str], state: str) -> str:
    """Return the message for a change that is requested while an index is being created or deleted.

    `change` is the requested change, a key of _CHANGE_PHRASES. `state` is "created" or "deleted".
    """
    names = f"[{', '.join(indexes)}]"
    if change == "on-demand":
        noun = "creation" if state == "created" else "deletion"
        return f"{IN_USE}: OnDemandThroughput cannot be updated while index {noun} is in progress for indexes: {names}"
    return f"{IN_USE}: Can't {_CHANGE_PHRASES[change]} when an index is being {state}. Table: {name} Indexes: {names}"


_CAPACITY_PHRASES = {
    "capacity": "change table IOPS",
    "stream": "enable or disable stream",
    "class": "update table class",
    "indexes": "create or delete indexes",
}
_CHANGE_PHRASES = _CAPACITY_PHRASES | {"stream": "change stream status", "indexes": "create or delete an index"}
"""The wording of each requested change in messages about a stream, table class or index that is being changed."""

index_state: Template3 = (IN_USE + ": Index is being {}. Table: {} Index: {}").format
index_not_filling: Template2 = (
    IN_USE + ": Index is being created but is not backfilling yet.  Table: {} Index: {}"
).format
index_allocating: Template2 = (
    IN_USE + ": Index creation is in resource allocation phase. Retry deletion during backfilling phase or "
    "when the index is active. Table: {} Index: {}"
).format

# UpdateTable.
INDEX_EXISTS = "Attempting to create an index which already exists"
ALREADY_ENCRYPTED = _INVALID + (
    "Table is already encrypted with given KMSMasterKeyId. Use KMSMasterKeyId parameter if you want to change "
    "Master Key"
)
ENCRYPTED_BY_DEFAULT = _INVALID + "Table is already encrypted by default"
KEY_WITHOUT_TYPE = _INVALID + "SSEType KMS is required if KMSMasterKeyId is specified"
AES_UNSUPPORTED = _INVALID + "SSEType AES256 is not supported"
STREAM_WITH_CAPACITY = _INVALID + "You cannot modify stream status while updating table IOPS"
INDEX_WITH_CAPACITY = _INVALID + "You cannot create or delete index while updating table IOPS"
INDEX_WITH_STREAM = _INVALID + "You cannot create or delete index while changing stream status"
INDEX_WITH_WARM = _INVALID + "Create global secondary index cannot be specified when updating WarmThroughput"
WARM_ALONE = _INVALID + "WarmThroughput must be the only operation in the request"
ON_DEMAND_WITH_OTHERS = _INVALID + (
    "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"
)
INDEX_UPDATES_EMPTY = _INVALID + "List of GlobalSecondaryIndexUpdates is empty"

only_change: Template1 = (_INVALID + "{} modification must be the only operation in the request").format
encryption_disabled: Template1 = (_INVALID + "{} can not be specified if Enabled is false").format


def throughput_same(index: str | None, current: tuple[int, int], requested: tuple[int, int]) -> str:
    """Return the message for a requested throughput that equals the current throughput. Both are pairs of read and
    write capacity units.
    """
    subject = "the table" if index is None else f"the index {index}"
    owner = "the table" if index is None else f"index {index}"
    return (
        f"The provisioned throughput for {subject} will not change. The requested value equals the current value. "
        f"Current ReadCapacityUnits provisioned for {owner}: {current[0]}. "
        f"Requested ReadCapacityUnits: {requested[0]}. "
        f"Current WriteCapacityUnits provisioned for {owner}: {current[1]}. "
        f"Requested WriteCapacityUnits: {requested[1]}. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )


def index_units_needed(indexes: Sequence[str]) -> str:
    """Return the message for a switch to provisioned mode that does not specify the capacity units of these indexes."""
    return f"{_INVALID}ProvisionedThroughput must be specified for index: {','.join(indexes)}"


new_index_units_needed: Template1 = (
    _INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {}"
).format
new_index_units_unwanted: Template1 = (
    _INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {} "
    "when BillingMode is PAY_PER_REQUEST"
).format
index_update_on_demand: Template1 = (
    _INVALID + "The only Updates for index: {} when TableThroughputMode is PAY_PER_REQUEST "
    "can be to OnDemandThroughput, WarmThroughput"
).format
not_global: Template2 = "Cannot {} an index that is not a GlobalSecondaryIndex: {}".format
too_many_indexes: Template1 = (
    "Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of {}"
).format


def attribute_redefined(existing: tuple[str, str, str], new: tuple[str, str, str]) -> str:
    """Return the message for a new key attribute that is already defined with another type.

    Each attribute is a tuple of its name, type and role.
    """
    return (
        f"{_INVALID}Attributes cannot be redefined. Please check that your attribute has the same type as "
        f"previously defined. Existing schema: Schema:[SchemaElement: key{{{':'.join(existing)}}}] "
        f"New schema: Schema:[SchemaElement: key{{{':'.join(new)}}}]"
    )


def maximum_provisioned(member: str, index: str | None) -> str:
    """Return the message for a maximum on-demand throughput on a table with provisioned capacity.

    `member` is the request member that sets the maximum.
    """
    of_index = "" if index is None else f" for index : {index}"
    return (
        f"{_INVALID}{member} for OnDemandThroughput{of_index} cannot be specified when the table BillingMode "
        "is PROVISIONED"
    )


def maximum_out_of_range(member: str, index: str | None) -> str:
    """Return the message for a maximum on-demand throughput below 1. `member` is the request member that sets the
    maximum.
    """
    subject = "table" if index is None else f"index : {index}"
    return f"{_INVALID}Requested {member} for OnDemandThroughput for {subject} is outside of valid range"


def warm_decreased(member: str, index: str | None) -> str:
    """Return the message for a decrease of warm throughput. `member` is the member of WarmThroughput that
    is decreased.
    """
    return f"{_warm(member, index)} is lower than current WarmThroughput, decreasing WarmThroughput is not supported"


def warm_below_start(member: str, index: str | None) -> str:
    """Return the message for a new table or index whose warm throughput is below the initial throughput of on-demand
    tables.
    """
    return (
        f"{_warm(member, index)} is lower than initial throughput for OnDemand. See: "
        "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html"
        "#on-demand-capacity-mode-initial"
    )


def warm_below_units(member: str, index: str | None, units: str) -> str:
    """Return the message for a new table or index whose warm throughput is below its provisioned throughput.

    `member` is the member of WarmThroughput, and `units` is the corresponding member of ProvisionedThroughput.
    """
    return f"{_warm(member, index)} is lower than {units} of ProvisionedThroughput"


def _warm(member: str, index: str | None) -> str:
    subject = "table" if index is None else f"index {index}"
    return f"{_INVALID}Requested {member} for WarmThroughput for {subject}"


stream_enabled: Template1 = "Table already has an enabled stream: TableName: {}".format
stream_disabled: Template1 = "Table has no stream to disable: TableName: {}".format

# Time to live.
EXPIRY_ENABLED = "TimeToLive is already enabled"
EXPIRY_DISABLED = "TimeToLive is already disabled"

expiry_elsewhere: Template1 = "TimeToLive is active on a different AttributeName: current AttributeName is {}".format
expiry_unknown: Template1 = (
    "Cannot describe time to live while table is in {0} state: Current table state is {0}"
).format

# Tags.
TOO_MANY_TAGS = "Number of Tags exceed the current limit for the provided ResourceArn"

tags_too_large: Template2 = "Tag set size {} bytes is above max size limit of {} bytes".format


def tag_key(key: str | None) -> str:
    """Return the message for a tag key that is missing, too long, or contains an invalid character."""
    return f"The Tag Key provided is invalid, Key: {'null' if key is None else key}"


def tag_value(value: str | None) -> str:
    """Return the message for a tag value that is missing, too long, or contains an invalid character."""
    return f"The Tag Value provided is invalid, Value: {'null' if value is None else value}"


tag_reserved: Template1 = "Tag Key cannot be prefixed with aws:, Key: {}".format
tag_twice: Template1 = "Duplicate Tag Keys provided as input: Duplicate Tag Key found {}".format
not_supported: Template2 = "keyplan does not support the operation {}: it has no {}".format  # keyplan's own

# Keys, indexes and capacity of a table request.
UPDATE_NOTHING = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
    "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
)
UNITS_MISSING = (
    _INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
)
UNITS_UNWANTED = (
    _INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
)
SWITCH_UNITS_MISSING = _INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
SWITCH_UNITS_UNWANTED = _INVALID + "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST"
TABLE_CLASS_UNKNOWN = (
    "Invalid table-class parameter provided. Please try again with a valid table-class value: "
    "[STANDARD, STANDARD_INFREQUENT_ACCESS]."
)
KEY_UNDEFINED = "Invalid KeySchema: Some index key attribute have no definition"
KEY_NAMES_SAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
FIRST_KEY_NOT_HASH = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
SECOND_KEY_NOT_RANGE = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
KEY_NAMES_REPEATED = "The KeySchema contains multiple key attributes with the same name"
HASH_AFTER_RANGE = _INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema"
DEFINITIONS_COUNT = (
    _INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
    "AttributeDefinitions"
)
TABLE_WITHOUT_RANGE = (
    _INVALID + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
)
PROJECTION_TYPE_MISSING = _INVALID + "Unknown ProjectionType: null"
NON_KEY_ATTRIBUTES_MISSING = _INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
INDEX_UPDATE_EMPTY = (
    _INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
    "GlobalSecondaryIndexUpdate.Delete must not be null"
)
INDEX_UPDATE_SEVERAL = (
    _INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"
)
# The service calls the member UpdateViewType here.
NEW_STREAM_VIEW_MISSING = _INVALID + "Table is being created with a stream enabled, UpdateViewType is required"
NEW_STREAM_VIEW_UNWANTED = (
    _INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified"
)
STREAM_VIEW_MISSING = _INVALID + "If stream is being enabled then UpdateViewType is required"
STREAM_VIEW_UNWANTED = _INVALID + "If stream is being disabled, then UpdateViewType must not be specified"
INDEXES_AT_ONCE = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"

INDEX_UPDATE_BLOCKED = (
    "This operation cannot be performed with given input values. "
    "Please contact DynamoDB service team for more info: Action Blocked: IndexUpdate"
)


def out_of_bounds(units: int, member: str, index: str | None = None) -> str:
    """Return the message for a number of capacity units that exceeds the maximum for any account.

    `member` is the request member that contains the number.
    """
    of_index = "" if index is None else f" for index {index}"
    return f"Given value {units} for {member} is out of bounds{of_index}"


index_units_missing: Template1 = (_INVALID + "ProvisionedThroughput is not specified for index: {}").format
index_units_unwanted: Template1 = (
    _INVALID + "ProvisionedThroughput should not be specified for index: {} when BillingMode is PAY_PER_REQUEST"
).format


def maximum_unwanted(member: str, index: str | None = None) -> str:
    """Return the message for a maximum on-demand throughput in a request that creates a table in provisioned mode.

    `index` is the name of the index with the maximum, or None for the table.
    """
    of_index = "" if index is None else f" for index: {index}"
    return (
        f"{_INVALID}{member} for OnDemandThroughput{of_index} cannot be specified when table BillingMode "
        "is PROVISIONED."
    )


index_warm_empty: Template1 = (
    _INVALID + "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond "
    "specified for index: {}"
).format
definitions_missing: Template1 = (_INVALID + "AttributeDefinitions is not specified for index: {}").format


def keys_undefined(keys: Iterable[str], definitions: Iterable[str]) -> str:
    """Return the message for key attributes without an attribute definition."""
    return (
        f"{_INVALID}Some index key attributes are not defined in AttributeDefinitions. "
        f"Keys: [{', '.join(keys)}], AttributeDefinitions: [{', '.join(definitions)}]"
    )


def definitions_unused(definitions: Iterable[str], key_names: Iterable[str]) -> str:
    """Return the message for attribute definitions that no key uses."""
    return (
        f"{_INVALID}Some AttributeDefinitions are not used. "
        f"AttributeDefinitions: [{', '.join(definitions)}], keys used: [{', '.join(key_names)}]"
    )


definition_twice: Template1 = "Attribute Name is duplicated: {}".format
index_list_empty: Template1 = (_INVALID + "List of {} is empty").format
local_index_without_range: Template1 = (_INVALID + "Index KeySchema does not have a range key for index: {}").format
local_index_other_hash: Template3 = (
    _INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: "
    "{}. index hash key: {}, table hash key: {}"
).format
too_many_key_attributes: Template1 = (
    _INVALID + "The KeySchema exceeds the maximum allowed number of {} key attributes"
).format
non_key_attributes_unwanted: Template1 = (_INVALID + "ProjectionType is {}, but NonKeyAttributes is specified").format
projected_twice: Template1 = (_INVALID + "Duplicate element in NonKeyAttributes: {}").format
too_many_projected: Template1 = (
    _INVALID + "Number of attributes in NonKeyAttributes summed over all indexes exceeds the limit of {}"
).format
duplicate_index: Template1 = (_INVALID + "Duplicate index name: {}").format
too_many_local_indexes: Template1 = (_INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of {}").format
too_many_global_indexes: Template1 = (_INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of {}").format
index_updated_twice: Template1 = (
    _INVALID + "Only one global secondary index update per index is allowed simultaneously. Index: {}"
).format
