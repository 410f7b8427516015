"""Messages about expressions, placeholders and legacy condition parameters.

Messages about one expression have no prefix here, because `invalid` adds a prefix such as "Invalid FilterExpression: ".
The messages are those of DynamoDB. Messages that were recorded only from DynamoDB local are marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keyplan.dynamodb.messages import Template1, Template2
from keyplan.dynamodb.messages.items import PARAMETER_INVALID as _PARAMETERS

EMPTY = "The expression can not be empty;"
REDUNDANT_PARENTHESES = "The expression has redundant parentheses;"

# Raised while an update is applied, without the prefix of the expression.
ATTRIBUTE_MISSING = "The provided expression refers to an attribute that does not exist in the item"
OPERAND_TYPE = "An operand in the update expression has an incorrect data type"
PATH_INVALID = "The document path provided in the update expression is invalid for update"
UPDATE_TYPE_MISMATCH = "Type mismatch for attribute to update"

# Key conditions, without the prefix of the expression.
KEY_CONDITION_NOT_SUPPORTED = "Query key condition not supported"
KEY_CONDITION_COUNT = "Conditions can be of length 1 or 2 only"
_INVALID_KEY_CONDITION = "Invalid KeyConditionExpression: KeyConditionExpressions "
KEY_CONDITION_NESTED_OPERATION = _INVALID_KEY_CONDITION + "cannot contain nested operations"
KEY_CONDITION_NESTED_ATTRIBUTE = _INVALID_KEY_CONDITION + "cannot have conditions on nested attributes"
KEY_CONDITION_TWICE = _INVALID_KEY_CONDITION + "must only contain one condition per key"
NOT_INDEXABLE = "Attempted conditional constraint is not an indexable operation"
_KEY_CONDITION = "Invalid condition in KeyConditionExpression: "
KEY_CONDITION_SEVERAL_NAMES = _KEY_CONDITION + "Multiple attribute names used in one condition"
KEY_CONDITION_NO_KEY = _KEY_CONDITION + "No key attribute specified"

# Older parameters.
VALUE_LIST_TYPES = _PARAMETERS + "AttributeValues inside AttributeValueList must be of same type"
BETWEEN_BOUNDS = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
UPDATE_WITHOUT_VALUE = _PARAMETERS + "Only DELETE action is allowed when no attribute value is specified"
CONDITIONAL_OPERATOR_ALONE = "ConditionalOperator cannot be used without Filter or Expected"
CONDITIONAL_OPERATOR_SINGLE = "ConditionalOperator can only be used when Filter or Expected has two or more elements"

# Placeholder maps.
NAMES_EMPTY = "ExpressionAttributeNames must not be empty"
VALUES_EMPTY = "ExpressionAttributeValues must not be empty"

OPERAND_TYPE_NAMES = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
    "L": "LIST",
    "M": "MAP",
    "SS": "STRING_SET",
    "NS": "NUMBER_SET",
    "BS": "BINARY_SET",
}

STATEMENT = "Statement"
"""The parameter name for conditions and updates that were translated from a PartiQL statement."""


def invalid(parameter: str, problem: str) -> str:
    """Return the message for a problem in an expression. `parameter` is the request parameter that contains the
    expression. For a PartiQL statement, the message has no prefix.
    """
    return problem if parameter == STATEMENT else f"Invalid {parameter}: {problem}"


syntax: Template2 = 'Syntax error; token: "{}", near: "{}"'.format


def too_long(parameter: str, size_bytes: int) -> str:
    """Return the message for an expression longer than 4 KB in UTF-8. Only conditions and filters include the size."""
    size = f" expression size: {size_bytes}" if parameter in ("ConditionExpression", "FilterExpression") else ""
    return f"Expression size has exceeded the maximum allowed size;{size}"


too_many_operators: Template1 = "The expression contains too many operators; operator count: {}".format
reserved: Template1 = "Attribute name is a reserved keyword; reserved keyword: {}".format
index_range: Template1 = "List index is not within the allowable range; index: [{}]".format
too_many_levels: Template1 = "The document path has too many nesting levels; nesting levels: {}".format  # downloadable
function_unknown: Template1 = "Invalid function name; function: {}".format
function_misused: Template1 = "The function is not allowed to be used this way in an expression; function: {}".format
function_not_in_update: Template1 = "The function is not allowed in an update expression; function: {}".format
function_not_in_condition: Template1 = "The function is not allowed in a condition expression; function: {}".format
name_undefined: Template1 = (
    "An expression attribute name used in the document path is not defined; attribute name: {}"
).format
value_undefined: Template1 = (
    "An expression attribute value used in expression is not defined; attribute value: {}"
).format
operand_count: Template2 = (
    "Incorrect number of operands for operator or function; operator or function: {}, number of operands: {}"
).format
path_required: Template1 = "Operator or function requires a document path; operator or function: {}".format
operand_type: Template2 = (
    "Incorrect operand type for operator or function; operator or function: {}, operand type: {}"
).format


def clause_operand_type(clause: str, type_code: str) -> str:
    """Return the message for an ADD or DELETE action whose operand has an unsupported type."""
    return (
        f"Incorrect operand type for operator or function; operator: {clause}, "
        f"operand type: {OPERAND_TYPE_NAMES[type_code]}, typeSet: ALLOWED_FOR_{clause}_OPERAND"
    )


def type_name_invalid(parameter: str, name: str) -> str:
    """Return the message for a call to attribute_type with an unknown type.

    For PartiQL statements, the message lists the types in a different order.
    """
    types = "N,BS,L,B,NULL,M,S,SS,NS,BOOL" if parameter == STATEMENT else "B,NULL,SS,BOOL,L,BS,N,NS,S,M"
    return f"Invalid attribute type name found; type: {name}, valid types: {{{types}}}"


operands_not_distinct: Template2 = (
    "The first operand must be distinct from the remaining operands for this operator or "
    "function; operator: {}, first operand: {}"
).format
between_types: Template2 = (
    "The BETWEEN operator requires same data type for lower and upper bounds; "
    "lower bound operand: AttributeValue: {}, upper bound operand: AttributeValue: {}"
).format
between_order: Template2 = (
    "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
    "lower bound operand: AttributeValue: {}, upper bound operand: AttributeValue: {}"
).format
in_operands: Template1 = "The IN operator is provided with too many operands; number of operands: {}".format
section_repeated: Template1 = 'The "{}" section can only be used once in an update expression;'.format
paths_overlap: Template2 = (
    "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: {}, path two: {}"
).format
paths_conflict: Template2 = (
    "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: {}, path two: {}"
).format


def unused(parameter: str, keys: Iterable[str]) -> str:
    """Return the message for placeholders that no expression uses.

    `parameter` is the name of the request parameter that defines the placeholders.
    """
    return f"Value provided in {parameter} unused in expressions: keys: {{{', '.join(keys)}}}"


placeholder_syntax: Template2 = '{} contains invalid key: Syntax error; key: "{}"'.format


def placeholder_too_long(parameter: str, size_bytes: int) -> str:
    """Return the message for a placeholder longer than 255 bytes. Only the message for attribute names includes the
    size.
    """
    size = f" size of key: {size_bytes}" if parameter == "ExpressionAttributeNames" else ""
    return f"{parameter} contains invalid key: The expression attribute map contains a key that is too long;{size}"


placeholder_name_empty: Template1 = (
    "ExpressionAttributeNames contains invalid value: Empty attribute name for key {}"
).format  # downloadable version
too_many_conditions: Template2 = (
    "The number of query conditions ({}) exceeds the number of key attributes defined in the schema ({})"
).format
key_operator: Template1 = "Invalid operator used in KeyConditionExpression: {}".format
key_first_operand: Template1 = (_KEY_CONDITION + "{} operator must have the key attribute as its first operand").format
key_missing: Template1 = "Query condition missed key schema element: {}".format


def key_unequal(missing: Sequence[str]) -> str:
    """Return the message for a key condition that has no equality condition on some attributes of a multi-attribute
    partition key. `missing` are the names of these attributes.
    """
    return f"HASH key attributes {', '.join(missing)} must have equality conditions specified in the query"


def key_gap(missing: Sequence[str], present: str) -> str:
    """Return the message for a sort key condition on the attribute `present` without an equality condition on the
    earlier attributes `missing`.
    """
    return (
        f"RANGE key attributes {', '.join(missing)} must have equality conditions specified in the "
        f"query because a condition is present on key attribute {present}"
    )


argument_count: Template1 = (_PARAMETERS + "Invalid number of argument(s) for the {} ComparisonOperator").format
argument_type: Template2 = (_PARAMETERS + "ComparisonOperator {} is not valid for {} AttributeValue type").format
expected_value_and_list: Template1 = (
    _PARAMETERS + "Value and AttributeValueList cannot be used together for Attribute: {}"
).format
expected_exists_and_operator: Template1 = (
    _PARAMETERS + "Exists and ComparisonOperator cannot be used together for Attribute: {}"
).format
expected_operator_alone: Template2 = (
    _PARAMETERS + "Value or AttributeValueList must be used with ComparisonOperator: {} for Attribute: {}"
).format
expected_list_alone: Template1 = (
    _PARAMETERS + "AttributeValueList can only be used with a ComparisonOperator for Attribute: {}"
).format
expected_value_missing: Template2 = (_PARAMETERS + "Value must be provided when Exists is {} for Attribute: {}").format
expected_value_present: Template1 = (_PARAMETERS + "Value cannot be used when Exists is false for Attribute: {}").format
update_delete_type: Template1 = (_PARAMETERS + "DELETE action with value is not supported for the type {}").format
update_add_type: Template1 = (_PARAMETERS + "ADD action is not supported for the type {}").format
attribute_twice: Template1 = (_PARAMETERS + "Duplicate value in attribute name: {}").format
