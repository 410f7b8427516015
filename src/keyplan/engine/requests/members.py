"""Members that several operations' requests share."""

from __future__ import annotations

from keyplan import limits
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import ITEM, LATE_ITEM, VALUE, Boolean, Demanded, List, Map, Shape, String, Structure

NAME_PATTERN = "[a-zA-Z0-9_.-]+"
"""The characters of names of tables, indexes and backups, as messages tell them."""

WHOLE_TABLE_NAME = f"[a-zA-Z0-9_.-]{{{limits.TABLE_NAME_MIN},{limits.TABLE_NAME_MAX}}}"
"""A table's name, characters and length, where it is matched as part of something longer."""

# The data plane asks first for one character, as of an ARN, and then for a table's name.
TABLE_NAME = String(min=1, max=limits.TABLE_NAME_MAX, pattern=NAME_PATTERN, arn=True)
NEW_TABLE_NAME = String(min=limits.TABLE_NAME_MIN, max=limits.TABLE_NAME_MAX, pattern=NAME_PATTERN, arn=True)
DEMANDED_TABLE_NAME = Demanded("TableName", messages.TABLE_NAME_REQUIRED)
DEMANDED_RESOURCE_ARN = Demanded("ResourceArn", messages.ARN_MISSING)
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
# The newer list is the service's, its third word misspelt there.
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
"""KeyConditions, QueryFilter and ScanFilter."""

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
"""Members that PutItem and DeleteItem have besides TableName and Item or Key."""
