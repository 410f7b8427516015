"""Request structures that several operations share."""

from __future__ import annotations

from keyplan import limits
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import (
    ITEM,
    LATE_ITEM,
    VALUE,
    Boolean,
    Integer,
    LeadingMember,
    List,
    Long,
    Map,
    Shape,
    String,
    Structure,
)

NAME_PATTERN = "[a-zA-Z0-9_.-]+"
"""The pattern for names of tables, indexes and backups, as shown in error messages."""

# Item operations first require at least one character, as for an ARN, and then a valid table name.
TABLE_NAME = String(min=1, max=limits.TABLE_NAME_MAX, pattern=NAME_PATTERN, arn=True)
NEW_TABLE_NAME = String(min=limits.TABLE_NAME_MIN, max=limits.TABLE_NAME_MAX, pattern=NAME_PATTERN, arn=True)
LEADING_TABLE_NAME = LeadingMember("TableName", messages.TABLE_NAME_REQUIRED)
LEADING_RESOURCE_ARN = LeadingMember("ResourceArn", messages.ARN_MISSING)
MAP_TABLE_NAME = NEW_TABLE_NAME
LISTED_TABLE_NAME = String(min=limits.TABLE_NAME_MIN, max=limits.TABLE_NAME_MAX, pattern=NAME_PATTERN)
INDEX_NAME = String(min=3, max=255, pattern=NAME_PATTERN, length_first=True)

TEXT = String()
FLAG = Boolean()
NAMES = Map(TEXT)
VALUES = ITEM
KEY = ITEM
ATTRIBUTES_TO_GET = List(TEXT, min=1)

CLIENT_REQUEST_TOKEN = String(min=1, max=36)
RETURN_CONSUMED_CAPACITY = String(enum=("INDEXES", "TOTAL", "NONE"))
RETURN_ITEM_COLLECTION_METRICS = String(enum=("SIZE", "NONE"))
RETURN_ON_CONDITION_FAILURE = String(enum=("ALL_OLD", "NONE"))
# The newer list repeats the service's message, including its misspelling UPDATE_NEW.
RETURN_VALUES = String(
    enum=("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"),
    newer_enum=("ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATE_NEW", "NONE"),
)
CONDITIONAL_OPERATOR = String(enum=("OR", "AND"), newer_enum=("ALL", "OR"))
SELECT = String(enum=("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"))
COMPARISON_OPERATOR = String(
    enum=(
        "IN",
        "NULL",
        "BETWEEN",
        "LT",
        "NOT_CONTAINS",
        "EQ",
        "GT",
        "NOT_NULL",
        "NE",
        "LE",
        "BEGINS_WITH",
        "GE",
        "CONTAINS",
    )
)

CONDITIONS = Map(
    Structure(
        "Condition",
        {"AttributeValueList": List(VALUE), "ComparisonOperator": COMPARISON_OPERATOR},
        required=("ComparisonOperator",),
    )
)
"""The structure of the parameters KeyConditions, QueryFilter and ScanFilter."""

EXPECTED = Map(
    Structure(
        "ExpectedAttributeValue",
        {
            "Value": VALUE,
            "Exists": FLAG,
            "ComparisonOperator": COMPARISON_OPERATOR,
            "AttributeValueList": List(VALUE),
        },
    )
)

REPLACING_WRITE: dict[str, Shape] = {
    "Expected": EXPECTED,
    "ReturnValues": RETURN_VALUES,
    "ReturnConsumedCapacity": RETURN_CONSUMED_CAPACITY,
    "ReturnItemCollectionMetrics": RETURN_ITEM_COLLECTION_METRICS,
    "ConditionalOperator": CONDITIONAL_OPERATOR,
    "ConditionExpression": TEXT,
    "ExpressionAttributeNames": NAMES,
    "ExpressionAttributeValues": LATE_ITEM,
    "ReturnValuesOnConditionCheckFailure": RETURN_ON_CONDITION_FAILURE,
}
"""Parameters that PutItem and DeleteItem share, in addition to TableName and Item or Key."""


_CAPACITY = Long(min=1)
_KEY_NAME = String(min=1, max=255)

KEY_TYPE = String(enum=("HASH", "RANGE"))
_KEY_ELEMENT = Structure(
    "KeySchemaElement", {"AttributeName": _KEY_NAME, "KeyType": KEY_TYPE}, required=("AttributeName", "KeyType")
)
KEY_SCHEMA = List(_KEY_ELEMENT, min=1, max=2)
# A global index may have up to four attributes in each role. A rule with a separate message checks this.
GLOBAL_KEY_SCHEMA = List(_KEY_ELEMENT, min=1)

ATTRIBUTE_DEFINITIONS = List(
    Structure(
        "AttributeDefinition",
        {"AttributeName": _KEY_NAME, "AttributeType": String(enum=("B", "N", "S"))},
        required=("AttributeName", "AttributeType"),
    )
)
PROVISIONED_THROUGHPUT = Structure(
    "ProvisionedThroughput",
    {"ReadCapacityUnits": _CAPACITY, "WriteCapacityUnits": _CAPACITY},
    required=("ReadCapacityUnits", "WriteCapacityUnits"),
)
ON_DEMAND_THROUGHPUT = Structure("OnDemandThroughput", {"MaxReadRequestUnits": Long(), "MaxWriteRequestUnits": Long()})
WARM_THROUGHPUT = Structure("WarmThroughput", {"ReadUnitsPerSecond": Long(), "WriteUnitsPerSecond": Long()})
PROJECTION = Structure(
    "Projection",
    {
        "ProjectionType": String(enum=("ALL", "INCLUDE", "KEYS_ONLY")),
        "NonKeyAttributes": List(String(min=1, max=255), min=1, max=20),
    },
)
BILLING_MODE = String(enum=("PROVISIONED", "PAY_PER_REQUEST"))
TABLE_CLASS = String()
STREAM_SPECIFICATION = Structure(
    "StreamSpecification",
    {
        "StreamEnabled": Boolean(),
        "StreamViewType": String(enum=("OLD_IMAGE", "KEYS_ONLY", "NEW_AND_OLD_IMAGES", "NEW_IMAGE")),
    },
    required=("StreamEnabled",),
)
SSE_SPECIFICATION = Structure(
    "SSESpecification",
    {"Enabled": Boolean(), "SSEType": String(enum=("AES256", "KMS")), "KMSMasterKeyId": String(min=1)},
)
# Tags are validated by a rule with separate messages.
TAGS = List(Structure("Tag", {"Key": String(), "Value": String()}))

_GLOBAL_INDEX: dict[str, Shape] = {
    "IndexName": INDEX_NAME,
    "KeySchema": GLOBAL_KEY_SCHEMA,
    "Projection": PROJECTION,
    "ProvisionedThroughput": PROVISIONED_THROUGHPUT,
    "OnDemandThroughput": ON_DEMAND_THROUGHPUT,
    "WarmThroughput": WARM_THROUGHPUT,
}
_INDEX_REQUIRED = ("IndexName", "KeySchema", "Projection")

LOCAL_INDEXES = List(
    Structure(
        "LocalSecondaryIndex",
        {"IndexName": INDEX_NAME, "KeySchema": KEY_SCHEMA, "Projection": PROJECTION},
        required=_INDEX_REQUIRED,
    )
)
GLOBAL_INDEXES = List(Structure("GlobalSecondaryIndex", _GLOBAL_INDEX, required=_INDEX_REQUIRED))
GLOBAL_INDEX_UPDATES = List(
    Structure(
        "GlobalSecondaryIndexUpdate",
        {
            "Update": Structure(
                "UpdateGlobalSecondaryIndexAction",
                {
                    "IndexName": INDEX_NAME,
                    "ProvisionedThroughput": PROVISIONED_THROUGHPUT,
                    "OnDemandThroughput": ON_DEMAND_THROUGHPUT,
                    "WarmThroughput": WARM_THROUGHPUT,
                },
                required=("IndexName",),
            ),
            "Create": Structure("CreateGlobalSecondaryIndexAction", _GLOBAL_INDEX, required=_INDEX_REQUIRED),
            "Delete": Structure("DeleteGlobalSecondaryIndexAction", {"IndexName": INDEX_NAME}, required=("IndexName",)),
        },
    )
)


BACKUP_NAME = String(min=3, max=255, pattern=NAME_PATTERN)
BACKUP_ARN = String(max=1024)  # no minimum: a short string gets the message for an invalid ARN
TARGET_TABLE_NAME = LISTED_TABLE_NAME

OVERRIDES: dict[str, Shape] = {
    "BillingModeOverride": BILLING_MODE,
    "GlobalSecondaryIndexOverride": GLOBAL_INDEXES,
    "LocalSecondaryIndexOverride": LOCAL_INDEXES,
    "ProvisionedThroughputOverride": PROVISIONED_THROUGHPUT,
    "OnDemandThroughputOverride": ON_DEMAND_THROUGHPUT,
    "SSESpecificationOverride": SSE_SPECIFICATION,
}
"""Parameters that override settings of the source when a table is restored."""


STREAM_ARN = String(min=37, max=1024)
SHARD_ID = String(min=28, max=65)
SEQUENCE_NUMBER = String(min=21, max=40)
LISTING_LIMIT = Integer(min=1, max=limits.SHARD_LISTING)


TABLE_ARN = String(min=1, max=1024)
JOB_ARN = String(min=37, max=1024)
CLIENT_TOKEN = String(pattern=r"^[^\$]+$")
BUCKET = String(max=255, pattern=r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$")
BUCKET_OWNER = String(pattern="[0-9]{12}")
PREFIX = String(min=1, max=1024)
PAGE_SIZE = Integer(min=1, max=25)
