"""Members that the requests of table operations share."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Boolean, List, Long, Shape, String, Structure
from keyplan.engine.requests import members

_CAPACITY = Long(min=1)
_KEY_NAME = String(min=1, max=255)

KEY_TYPE = String(enum=("HASH", "RANGE"))
_KEY_ELEMENT = Structure(
    "KeySchemaElement", {"AttributeName": _KEY_NAME, "KeyType": KEY_TYPE}, required=("AttributeName", "KeyType")
)
KEY_SCHEMA = List(_KEY_ELEMENT, min=1, max=2)
# A global index may have up to four attributes in each role: that is a rule, with a message of its own.
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
# What a tag must be is a rule, with messages of its own.
TAGS = List(Structure("Tag", {"Key": String(), "Value": String()}))

_GLOBAL_INDEX: dict[str, Shape] = {
    "IndexName": members.INDEX_NAME,
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
        {"IndexName": members.INDEX_NAME, "KeySchema": KEY_SCHEMA, "Projection": PROJECTION},
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
                    "IndexName": members.INDEX_NAME,
                    "ProvisionedThroughput": PROVISIONED_THROUGHPUT,
                    "OnDemandThroughput": ON_DEMAND_THROUGHPUT,
                    "WarmThroughput": WARM_THROUGHPUT,
                },
                required=("IndexName",),
            ),
            "Create": Structure("CreateGlobalSecondaryIndexAction", _GLOBAL_INDEX, required=_INDEX_REQUIRED),
            "Delete": Structure(
                "DeleteGlobalSecondaryIndexAction", {"IndexName": members.INDEX_NAME}, required=("IndexName",)
            ),
        },
    )
)
