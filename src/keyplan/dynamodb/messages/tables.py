"""Messages about tables, their keys, indexes, capacity, tags and time to live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keyplan.dynamodb.messages.items import PARAMETER_INVALID
from keyplan.dynamodb.messages.items import PARAMETER_INVALID as _INVALID

NOT_FOUND = "Requested resource not found"
ACCESS_DENIED = "Access is denied"


def table_not_found(name: str) -> str:
    """A table that is not there, said by the table operations."""
    return f"Requested resource not found: Table: {name} not found"


def resource_not_found(arn: str) -> str:
    """A table that is not there, said by the tag operations."""
    return f"Requested resource not found: ResourceArn: {arn} not found"


def index_not_found(index: str, table: str) -> str:
    """An update or removal of an index that the table lacks."""
    return f"Requested resource not found: Index {index} for table {table}"


def no_such_index(name: str) -> str:
    """A query or scan of an index that the table lacks."""
    return f"The table does not have the specified index: {name}"


# States.
IN_USE = "Attempt to change a resource which is still in use"
INDEXES_CHANGING = f"{IN_USE}: Cannot delete table while indexes are being created, updated, or deleted."
STREAM_CHANGING = f"{IN_USE}: Cannot delete table while stream is being enabled/disabled."
ENCRYPTION_CHANGING = f"{IN_USE}: Server-Side Encryption is still being updated"
DELETION_PROTECTED = (
    "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
)


def table_exists(name: str) -> str:
    """A table to be created, imported or restored that is there."""
    return f"Table already exists: {name}"


def being_created(name: str) -> str:
    """DeleteTable or UpdateTable of a table that is being created."""
    return f"{IN_USE}: Table is being created: {name}"


def being_deleted(name: str) -> str:
    """DeleteTable or UpdateTable of a table that is being deleted."""
    return f"{IN_USE}: Table is being deleted: {name}"


def being_updated(name: str) -> str:
    """DeleteTable of a table whose capacity or class is being changed."""
    return f"{IN_USE}: Table: {name} is in the process of being updated."


def expiry_of_new_table(name: str) -> str:
    """UpdateTimeToLive of a table that is being created."""
    return f"{IN_USE}: Table {name} is being created"


def capacity_changing(name: str, wanted: str) -> str:
    """A change refused because the table's capacity or billing mode is being changed; `wanted` as below."""
    if wanted == "capacity":
        return f"{IN_USE}: Table IOPS are currently being updated. Table: {name}"
    if wanted == "on-demand":
        return f"{IN_USE}: OnDemandThroughput cannot be updated while BillingMode update is in progress"
    return f"{IN_USE}: Can't {_WANTED[wanted]} while table IOPS are being updated. Table: {name}"


def stream_changing(name: str, wanted: str, label: str, operation: str) -> str:
    """A change refused because the table's stream is being switched on or off."""
    detail = f"Table: {name} Stream: {label} Operation: {operation}"
    if wanted == "stream":
        return f"{IN_USE}: A stream status change is currently in progress. {detail}"
    if wanted == "on-demand":
        return f"{IN_USE}: OnDemandThroughput cannot be updated while stream status update is in progress"
    return f"{IN_USE}: Can't {_MEANWHILE[wanted]} when stream status is being updated. {detail}"


def class_changing(name: str, wanted: str, table_class: str) -> str:
    """A change refused because the table's class is being changed."""
    detail = f"TableClassUpdateInProgress: {table_class}"
    if wanted == "on-demand":
        return f"{IN_USE}: OnDemandThroughput cannot be updated while TableClass update is in progress. {detail}"
    return f"{IN_USE}: Can't {_MEANWHILE[wanted]} when a table class update is in progress. Table: {name} {detail}"


def index_changing(name: str, wanted: str, indexes: Sequence[str], done: str) -> str:
    """A change refused because an index is being created or deleted (`done`)."""
    listed = f"[{', '.join(indexes)}]"
    if wanted == "on-demand":
        noun = "creation" if done == "created" else "deletion"
        return f"{IN_USE}: OnDemandThroughput cannot be updated while index {noun} is in progress for indexes: {listed}"
    return f"{IN_USE}: Can't {_MEANWHILE[wanted]} when an index is being {done}. Table: {name} Indexes: {listed}"


_WANTED = {
    "capacity": "change table IOPS",
    "stream": "enable or disable stream",
    "class": "update table class",
    "indexes": "create or delete indexes",
}
_MEANWHILE = _WANTED | {"stream": "change stream status", "indexes": "create or delete an index"}
"""What is wanted, where the change under way is of the stream, of the class or of an index."""


def index_state(done: str, table: str, index: str) -> str:
    """An update of an index that is being created, updated or deleted (`done`)."""
    return f"{IN_USE}: Index is being {done}. Table: {table} Index: {index}"


def index_not_filling(table: str, index: str) -> str:
    """An update of an index that has not begun to be filled."""
    return f"{IN_USE}: Index is being created but is not backfilling yet.  Table: {table} Index: {index}"


def index_allocating(table: str, index: str) -> str:
    """A removal of an index that has not begun to be filled."""
    return (
        f"{IN_USE}: Index creation is in resource allocation phase. Retry deletion during backfilling phase or "
        f"when the index is active. Table: {table} Index: {index}"
    )


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


def only_change(what: str) -> str:
    """A change that must be alone in its request: Server-Side Encryption, TableClass, DeletionProtection."""
    return f"{_INVALID}{what} modification must be the only operation in the request"


def encryption_disabled(member: str) -> str:
    """Details of an encryption that is to be off."""
    return f"{_INVALID}{member} can not be specified if Enabled is false"


def throughput_same(index: str | None, current: tuple[int, int], requested: tuple[int, int]) -> str:
    """Provisioned throughput (read, write) that is what it was; of the table if no index is given."""
    what = "the table" if index is None else f"the index {index}"
    of = "the table" if index is None else f"index {index}"
    return (
        f"The provisioned throughput for {what} will not change. The requested value equals the current value. "
        f"Current ReadCapacityUnits provisioned for {of}: {current[0]}. "
        f"Requested ReadCapacityUnits: {requested[0]}. "
        f"Current WriteCapacityUnits provisioned for {of}: {current[1]}. "
        f"Requested WriteCapacityUnits: {requested[1]}. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )


def index_units_needed(indexes: Sequence[str]) -> str:
    """A switch to provisioned capacity that forgets indexes."""
    return f"{_INVALID}ProvisionedThroughput must be specified for index: {','.join(indexes)}"


def new_index_units_needed(index: str) -> str:
    """A new index of a provisioned table without units."""
    return f"{_INVALID}Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {index}"


def new_index_units_unwanted(index: str) -> str:
    """A new index of an on-demand table with units."""
    return (
        f"{_INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {index} "
        "when BillingMode is PAY_PER_REQUEST"
    )


def index_update_on_demand(index: str) -> str:
    """Provisioned throughput for an index of an on-demand table."""
    return (
        f"{_INVALID}The only Updates for index: {index} when TableThroughputMode is PAY_PER_REQUEST "
        "can be to OnDemandThroughput, WarmThroughput"
    )


def not_global(verb: str, index: str) -> str:
    """An update or removal (`verb`: update, delete) of a local index."""
    return f"Cannot {verb} an index that is not a GlobalSecondaryIndex: {index}"


def too_many_indexes(limit: int) -> str:
    """One index more than a table can have, by UpdateTable."""
    return f"Subscriber limit exceeded: Number of global secondary indexes exceeds per-table limit of {limit}"


def attribute_redefined(existing: tuple[str, str, str], new: tuple[str, str, str]) -> str:
    """A key attribute (name, type, role) of a new index that has another type already."""
    return (
        f"{_INVALID}Attributes cannot be redefined. Please check that your attribute has the same type as "
        f"previously defined. Existing schema: Schema:[SchemaElement: key{{{':'.join(existing)}}}] "
        f"New schema: Schema:[SchemaElement: key{{{':'.join(new)}}}]"
    )


def maximum_provisioned(member: str, index: str | None) -> str:
    """A maximum of on-demand throughput for a provisioned table."""
    of_index = "" if index is None else f" for index : {index}"
    return (
        f"{_INVALID}{member} for OnDemandThroughput{of_index} cannot be specified when the table BillingMode "
        "is PROVISIONED"
    )


def maximum_out_of_range(member: str, index: str | None) -> str:
    """A maximum of on-demand throughput that is none."""
    what = "table" if index is None else f"index : {index}"
    return f"{_INVALID}Requested {member} for OnDemandThroughput for {what} is outside of valid range"


def warm_decreased(member: str, index: str | None) -> str:
    """Less warm throughput than there is."""
    return f"{_warm(member, index)} is lower than current WarmThroughput, decreasing WarmThroughput is not supported"


def warm_below_start(member: str, index: str | None) -> str:
    """Less warm throughput for something new than on demand begins with."""
    return (
        f"{_warm(member, index)} is lower than initial throughput for OnDemand. See: "
        "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html"
        "#on-demand-capacity-mode-initial"
    )


def warm_below_units(member: str, index: str | None, units: str) -> str:
    """Less warm throughput for something new than it is provisioned for."""
    return f"{_warm(member, index)} is lower than {units} of ProvisionedThroughput"


def _warm(member: str, index: str | None) -> str:
    what = "table" if index is None else f"index {index}"
    return f"{_INVALID}Requested {member} for WarmThroughput for {what}"


def stream_enabled(name: str) -> str:
    """A stream for a table that has one."""
    return f"Table already has an enabled stream: TableName: {name}"


def stream_disabled(name: str) -> str:
    """No stream for a table that has none."""
    return f"Table has no stream to disable: TableName: {name}"


# Time to live.
EXPIRY_ENABLED = "TimeToLive is already enabled"
EXPIRY_DISABLED = "TimeToLive is already disabled"


def expiry_elsewhere(attribute: str) -> str:
    """Another attribute than the one that time to live goes by."""
    return f"TimeToLive is active on a different AttributeName: current AttributeName is {attribute}"


def expiry_unknown(state: str) -> str:
    """DescribeTimeToLive of a table that is being created or deleted."""
    return f"Cannot describe time to live while table is in {state} state: Current table state is {state}"


# Tags.
TOO_MANY_TAGS = "Number of Tags exceed the current limit for the provided ResourceArn"


def tags_too_large(size: int, limit: int) -> str:
    """Tags that have more bytes together than a resource's may have."""
    return f"Tag set size {size} bytes is above max size limit of {limit} bytes"


def tag_key(key: str | None) -> str:
    """No tag key, one too long, or one with a character that none may have."""
    return f"The Tag Key provided is invalid, Key: {'null' if key is None else key}"


def tag_value(value: str | None) -> str:
    """No tag value, one too long, or one with a character that none may have."""
    return f"The Tag Value provided is invalid, Value: {'null' if value is None else value}"


def tag_reserved(key: str) -> str:
    """A tag key that only the service may use."""
    return f"Tag Key cannot be prefixed with aws:, Key: {key}"


def tag_twice(key: str) -> str:
    """The same key twice."""
    return f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"


def not_supported(operation: str, about: str) -> str:
    """An operation that the service has and this engine has not, and what it is about."""
    return f"keyplan does not support the operation {operation}: it has no {about}"


UPDATE_NOTHING = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
    "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
)
UNITS_MISSING = (
    PARAMETER_INVALID
    + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
)
UNITS_UNWANTED = (
    PARAMETER_INVALID
    + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
)
SWITCH_UNITS_MISSING = PARAMETER_INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
SWITCH_UNITS_UNWANTED = (
    PARAMETER_INVALID + "ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST"
)
TABLE_CLASS_UNKNOWN = (
    "Invalid table-class parameter provided. Please try again with a valid table-class value: "
    "[STANDARD, STANDARD_INFREQUENT_ACCESS]."
)
KEY_UNDEFINED = "Invalid KeySchema: Some index key attribute have no definition"
KEY_NAMES_SAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
FIRST_KEY_NOT_HASH = "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"
SECOND_KEY_NOT_RANGE = "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
KEY_NAMES_REPEATED = "The KeySchema contains multiple key attributes with the same name"
HASH_AFTER_RANGE = PARAMETER_INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema"
DEFINITIONS_COUNT = (
    PARAMETER_INVALID + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
    "AttributeDefinitions"
)
TABLE_WITHOUT_RANGE = (
    PARAMETER_INVALID
    + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
)
PROJECTION_TYPE_MISSING = PARAMETER_INVALID + "Unknown ProjectionType: null"
NON_KEY_ATTRIBUTES_MISSING = PARAMETER_INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"
INDEX_UPDATE_EMPTY = (
    PARAMETER_INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
    "GlobalSecondaryIndexUpdate.Delete must not be null"
)
INDEX_UPDATE_SEVERAL = (
    PARAMETER_INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object"
)
# The service calls the member UpdateViewType here.
NEW_STREAM_VIEW_MISSING = PARAMETER_INVALID + "Table is being created with a stream enabled, UpdateViewType is required"
NEW_STREAM_VIEW_UNWANTED = (
    PARAMETER_INVALID + "Table is being created with a stream disabled, UpdateViewType should not be specified"
)
STREAM_VIEW_MISSING = PARAMETER_INVALID + "If stream is being enabled then UpdateViewType is required"
STREAM_VIEW_UNWANTED = PARAMETER_INVALID + "If stream is being disabled, then UpdateViewType must not be specified"
INDEXES_AT_ONCE = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"

INDEX_UPDATE_BLOCKED = (
    "This operation cannot be performed with given input values. "
    "Please contact DynamoDB service team for more info: Action Blocked: IndexUpdate"
)


def out_of_bounds(units: int, member: str, index: str | None = None) -> str:
    """More capacity than any table can have."""
    of_index = "" if index is None else f" for index {index}"
    return f"Given value {units} for {member} is out of bounds{of_index}"


def index_units_missing(index: str) -> str:
    """An index of a table with provisioned capacity that has none of its own."""
    return f"{PARAMETER_INVALID}ProvisionedThroughput is not specified for index: {index}"


def index_units_unwanted(index: str) -> str:
    """An index with provisioned capacity on a table that is paid by request."""
    return (
        f"{PARAMETER_INVALID}ProvisionedThroughput should not be specified for index: {index} "
        "when BillingMode is PAY_PER_REQUEST"
    )


def maximum_unwanted(member: str, index: str | None = None) -> str:
    """A maximum of on-demand throughput for a new table that has provisioned capacity, or for its index."""
    of_index = "" if index is None else f" for index: {index}"
    return (
        f"{PARAMETER_INVALID}{member} for OnDemandThroughput{of_index} cannot be specified when table BillingMode "
        "is PROVISIONED."
    )


def index_warm_empty(index: str) -> str:
    """An update of an index's warm throughput to nothing."""
    return (
        f"{PARAMETER_INVALID}WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond "
        f"specified for index: {index}"
    )


def definitions_missing(index: str) -> str:
    """A new index in an UpdateTable without AttributeDefinitions."""
    return f"{PARAMETER_INVALID}AttributeDefinitions is not specified for index: {index}"


def keys_undefined(keys: Iterable[str], definitions: Iterable[str]) -> str:
    """Key attributes without a definition."""
    return (
        f"{PARAMETER_INVALID}Some index key attributes are not defined in AttributeDefinitions. "
        f"Keys: [{', '.join(keys)}], AttributeDefinitions: [{', '.join(definitions)}]"
    )


def definitions_unused(definitions: Iterable[str], used: Iterable[str]) -> str:
    """Definitions of attributes that no key has."""
    return (
        f"{PARAMETER_INVALID}Some AttributeDefinitions are not used. "
        f"AttributeDefinitions: [{', '.join(definitions)}], keys used: [{', '.join(used)}]"
    )


def definition_twice(name: str) -> str:
    """Two definitions of one attribute."""
    return f"Attribute Name is duplicated: {name}"


def index_list_empty(parameter: str) -> str:
    """A list of indexes without any."""
    return f"{PARAMETER_INVALID}List of {parameter} is empty"


def local_index_without_range(index: str) -> str:
    """A local index without a sort key of its own."""
    return f"{PARAMETER_INVALID}Index KeySchema does not have a range key for index: {index}"


def local_index_other_hash(index: str, own: str, table: str) -> str:
    """A local index by another partition key than its table's."""
    return (
        f"{PARAMETER_INVALID}Index KeySchema does not have the same leading hash key as table KeySchema for index: "
        f"{index}. index hash key: {own}, table hash key: {table}"
    )


def too_many_key_attributes(role: str) -> str:
    """More than four attributes in one role of a global index's key."""
    return f"{PARAMETER_INVALID}The KeySchema exceeds the maximum allowed number of {role} key attributes"


def non_key_attributes_unwanted(projection: str) -> str:
    """Attributes named for a projection that takes none."""
    return f"{PARAMETER_INVALID}ProjectionType is {projection}, but NonKeyAttributes is specified"


def projected_twice(name: str) -> str:
    """One attribute twice in a projection."""
    return f"{PARAMETER_INVALID}Duplicate element in NonKeyAttributes: {name}"


def too_many_projected(limit: int) -> str:
    """More projected attributes than a table may have, summed over its indexes."""
    return (
        f"{PARAMETER_INVALID}Number of attributes in NonKeyAttributes summed over all indexes "
        f"exceeds the limit of {limit}"
    )


def duplicate_index(index: str) -> str:
    """Two indexes of one name."""
    return f"{PARAMETER_INVALID}Duplicate index name: {index}"


def too_many_local_indexes(limit: int) -> str:
    """More local indexes than a table may have."""
    return f"{PARAMETER_INVALID}Number of LocalSecondaryIndexes exceeds per-table limit of {limit}"


def too_many_global_indexes(limit: int) -> str:
    """More global indexes than a table may have."""
    return f"{PARAMETER_INVALID}GlobalSecondaryIndex count exceeds the per-table limit of {limit}"


def index_updated_twice(index: str) -> str:
    """Two changes of one index in one request."""
    return (
        f"{PARAMETER_INVALID}Only one global secondary index update per index is allowed simultaneously. Index: {index}"
    )
