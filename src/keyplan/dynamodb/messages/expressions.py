"""What the service says of expressions, placeholders and the older condition parameters.

Texts of one expression carry no prefix here: `invalid` puts "Invalid FilterExpression: " before
them. Texts as seen on the service; those seen only on its downloadable version are marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
"""In place of a parameter, of conditions and updates that stand in a statement."""


def invalid(parameter: str, problem: str) -> str:
    """A problem found in the expression of a parameter; of a statement it is told alone."""
    return problem if parameter == STATEMENT else f"Invalid {parameter}: {problem}"


def syntax(token: str, near: str) -> str:
    """The token where reading stopped, and the text from the token before to the one after."""
    return f'Syntax error; token: "{token}", near: "{near}"'


def too_long(parameter: str, size_bytes: int) -> str:
    """An expression over 4 KB of UTF-8; of conditions and filters alone the size is told."""
    size = f" expression size: {size_bytes}" if parameter in ("ConditionExpression", "FilterExpression") else ""
    return f"Expression size has exceeded the maximum allowed size;{size}"


def too_many_operators(count: int) -> str:
    """More than 300 operators and functions; the service stops counting there."""
    return f"The expression contains too many operators; operator count: {count}"


def reserved(word: str) -> str:
    """A reserved word used as an attribute name."""
    return f"Attribute name is a reserved keyword; reserved keyword: {word}"


def index_range(index: str) -> str:
    """A list index over 4,294,967,294."""
    return f"List index is not within the allowable range; index: [{index}]"


def too_many_levels(levels: int) -> str:
    """A document path of more than 32 elements (downloadable version)."""
    return f"The document path has too many nesting levels; nesting levels: {levels}"


def function_unknown(name: str) -> str:
    """No such function; names are case-sensitive."""
    return f"Invalid function name; function: {name}"


def function_misused(name: str) -> str:
    """A function where its result cannot be used."""
    return f"The function is not allowed to be used this way in an expression; function: {name}"


def function_not_in_update(name: str) -> str:
    """A condition function in an update expression."""
    return f"The function is not allowed in an update expression; function: {name}"


def function_not_in_condition(name: str) -> str:
    """An update function in a condition."""
    return f"The function is not allowed in a condition expression; function: {name}"


def name_undefined(name: str) -> str:
    """A #name that ExpressionAttributeNames lacks."""
    return f"An expression attribute name used in the document path is not defined; attribute name: {name}"


def value_undefined(name: str) -> str:
    """A :value that ExpressionAttributeValues lacks."""
    return f"An expression attribute value used in expression is not defined; attribute value: {name}"


def operand_count(function: str, count: int) -> str:
    """A function with too many or too few operands."""
    return (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {function}, number of operands: {count}"
    )


def path_required(function: str) -> str:
    """A function whose first operand must be a document path."""
    return f"Operator or function requires a document path; operator or function: {function}"


def operand_type(operator: str, type_code: str) -> str:
    """An operand whose type is known before any item is read, and wrong."""
    return (
        f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {type_code}"
    )


def clause_operand_type(clause: str, type_code: str) -> str:
    """ADD or DELETE with an operand of another type than they take."""
    return (
        f"Incorrect operand type for operator or function; operator: {clause}, "
        f"operand type: {OPERAND_TYPE_NAMES[type_code]}, typeSet: ALLOWED_FOR_{clause}_OPERAND"
    )


def type_name_invalid(parameter: str, name: str) -> str:
    """attribute_type was asked for a type that does not exist; of a statement they were seen in another order."""
    types = "N,BS,L,B,NULL,M,S,SS,NS,BOOL" if parameter == STATEMENT else "B,NULL,SS,BOOL,L,BS,N,NS,S,M"
    return f"Invalid attribute type name found; type: {name}, valid types: {{{types}}}"


def operands_not_distinct(operator: str, first: str) -> str:
    """The same document path on both sides."""
    return (
        "The first operand must be distinct from the remaining operands for this operator or "
        f"function; operator: {operator}, first operand: {first}"
    )


def between_types(lower: str, upper: str) -> str:
    """BETWEEN bounds of different types."""
    return (
        "The BETWEEN operator requires same data type for lower and upper bounds; "
        f"lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )


def between_order(lower: str, upper: str) -> str:
    """BETWEEN bounds the wrong way round."""
    return (
        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        f"lower bound operand: AttributeValue: {lower}, upper bound operand: AttributeValue: {upper}"
    )


def in_operands(count: int) -> str:
    """IN with more than 100 operands."""
    return f"The IN operator is provided with too many operands; number of operands: {count}"


def section_repeated(clause: str) -> str:
    """SET, REMOVE, ADD or DELETE a second time."""
    return f'The "{clause}" section can only be used once in an update expression;'


def paths_overlap(first: str, second: str) -> str:
    """Two paths, of which one holds the other."""
    return (
        "Two document paths overlap with each other; must remove or rewrite one of these paths; "
        f"path one: {first}, path two: {second}"
    )


def paths_conflict(first: str, second: str) -> str:
    """Two paths that use one attribute as a map and as a list."""
    return (
        "Two document paths conflict with each other; must remove or rewrite one of these paths; "
        f"path one: {first}, path two: {second}"
    )


def unused(parameter: str, keys: Iterable[str]) -> str:
    """Placeholders that no expression uses; `parameter` is the map's name."""
    return f"Value provided in {parameter} unused in expressions: keys: {{{', '.join(keys)}}}"


def placeholder_syntax(parameter: str, key: str) -> str:
    """A placeholder that is no # or : and a word."""
    return f'{parameter} contains invalid key: Syntax error; key: "{key}"'


def placeholder_too_long(parameter: str, size_bytes: int) -> str:
    """A placeholder over 255 bytes; of a value's the service does not tell the size."""
    size = f" size of key: {size_bytes}" if parameter == "ExpressionAttributeNames" else ""
    return f"{parameter} contains invalid key: The expression attribute map contains a key that is too long;{size}"


def placeholder_name_empty(key: str) -> str:
    """An empty attribute name behind a placeholder (downloadable version)."""
    return f"ExpressionAttributeNames contains invalid value: Empty attribute name for key {key}"


def too_many_conditions(given: int, defined: int) -> str:
    """Conditions on more attributes than the key has."""
    return (
        f"The number of query conditions ({given}) exceeds the number of key attributes defined in the schema "
        f"({defined})"
    )


def key_operator(operator: str) -> str:
    """An operator or function that key conditions do not take."""
    return f"Invalid operator used in KeyConditionExpression: {operator}"


def key_first_operand(operator: str) -> str:
    """BETWEEN or begins_with whose first operand is no key attribute."""
    return f"{_KEY_CONDITION}{operator} operator must have the key attribute as its first operand"


def key_missing(attribute: str) -> str:
    """No condition on a key attribute that needs one."""
    return f"Query condition missed key schema element: {attribute}"


def key_unequal(missing: Sequence[str]) -> str:
    """A partition key of several attributes of which some have no equality."""
    return f"HASH key attributes {', '.join(missing)} must have equality conditions specified in the query"


def key_gap(missing: Sequence[str], present: str) -> str:
    """A sort key attribute has a condition while earlier ones have no equality."""
    return (
        f"RANGE key attributes {', '.join(missing)} must have equality conditions specified in the "
        f"query because a condition is present on key attribute {present}"
    )


def argument_count(operator: str) -> str:
    """A comparison operator of the older parameters with the wrong number of values."""
    return f"{_PARAMETERS}Invalid number of argument(s) for the {operator} ComparisonOperator"


def argument_type(operator: str, type_code: str) -> str:
    """A comparison operator of the older parameters with a value it does not take."""
    return f"{_PARAMETERS}ComparisonOperator {operator} is not valid for {type_code} AttributeValue type"


def expected_value_and_list(attribute: str) -> str:
    """Expected with both Value and AttributeValueList."""
    return f"{_PARAMETERS}Value and AttributeValueList cannot be used together for Attribute: {attribute}"


def expected_exists_and_operator(attribute: str) -> str:
    """Expected with both Exists and ComparisonOperator."""
    return f"{_PARAMETERS}Exists and ComparisonOperator cannot be used together for Attribute: {attribute}"


def expected_operator_alone(operator: str, attribute: str) -> str:
    """Expected with a ComparisonOperator but no value."""
    return (
        f"{_PARAMETERS}Value or AttributeValueList must be used with ComparisonOperator: {operator} "
        f"for Attribute: {attribute}"
    )


def expected_list_alone(attribute: str) -> str:
    """Expected with an AttributeValueList but no ComparisonOperator."""
    return f"{_PARAMETERS}AttributeValueList can only be used with a ComparisonOperator for Attribute: {attribute}"


def expected_value_missing(exists: str, attribute: str) -> str:
    """Expected without a value; `exists` is "true" or "null"."""
    return f"{_PARAMETERS}Value must be provided when Exists is {exists} for Attribute: {attribute}"


def expected_value_present(attribute: str) -> str:
    """Expected that an attribute is missing, and yet has a value."""
    return f"{_PARAMETERS}Value cannot be used when Exists is false for Attribute: {attribute}"


def update_delete_type(type_code: str) -> str:
    """AttributeUpdates DELETE with a value that is no set."""
    return f"{_PARAMETERS}DELETE action with value is not supported for the type {type_code}"


def update_add_type(type_code: str) -> str:
    """AttributeUpdates ADD with a value that cannot be added."""
    return f"{_PARAMETERS}ADD action is not supported for the type {type_code}"


def attribute_twice(attribute: str) -> str:
    """AttributesToGet with the same name twice."""
    return f"{_PARAMETERS}Duplicate value in attribute name: {attribute}"
