"""What the service says of the keys, indexes and capacity that a table request declares.

Most were seen on the service in October 2026.
"""

from __future__ import annotations

from collections.abc import Iterable

from keyplan.dynamodb.messages.values import PARAMETER_INVALID

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
