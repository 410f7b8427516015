"""Messages about PartiQL statements."""

from __future__ import annotations

from collections.abc import Sequence

from keyplan.dynamodb.messages import Template1, Template2
from keyplan.dynamodb.messages.items import PARAMETER_INVALID

# Details for `malformed`; some errors have none.
EXPECTED_STATEMENT = "Expected data manipulation"
EXPECTED_SIMPLE_PATH = "Expected identifier for simple path"
EXPECTED_TYPE = "Expected type name"
LEFT_OVER = "Unexpected token after expression"
MISSING_OPERAND = "Missing right-hand side expression of infix operator"
PATH_DOT = "Invalid path dot component"
UNEXPECTED_KEYWORD = "Unexpected keyword"
UNEXPECTED_OPERATOR = "Unexpected operator"
UNEXPECTED_TERM = "Unexpected term"

ALIASING = "Aliasing is not supported"
BATCH_NEEDS_KEY = "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
CONSISTENT_GLOBAL_READ = "Strongly consistent read is not supported on Global Secondary Indexes"
DUPLICATE_ITEM = "Duplicate primary key exists in table"
EMPTY_BAG = "Empty bags are not supported"
EMPTY_COMPONENT = "Path component cannot be an empty string"
EXISTS_NEEDS_CONDITION = "EXISTS() must contain a single item read with additional condition"
EXISTS_ON_INDEX = "Operations on indices are not supported in transactions"
EXISTS_OUTSIDE = "EXISTS can only be used in ExecuteTransaction write requests."
IN_OPERANDS = (
    "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq"
    " with at least one member"
)
INCOMPLETE_KEY = "Where clause does not contain a mandatory equality on all key attributes"
INSERT_SEVERAL = (
    'Unsupported operation: Inserting multiple items in a single statement is not supported, use "INSERT INTO'
    ' tableName VALUE item" instead'
)
IS_IN_UPDATE = "IS operator is not supported in update expressions"
IS_OPERAND = "The left hand side argument to IS must be a Variable Reference, Literal, or Path"
ITEM_SYNTAX = (
    "Unsupported format in item expression. Please use struct format {...} to express item values for insert statement."
)
LOGICAL_OPERANDS = "The arguments to AND/OR must be Expressions"
MISSING_COMPARED = "MISSING must be compared using IS operator"
MIXED_BATCH = "Read and write requests together in the same batch is not supported."
MIXED_TRANSACTION = "ExecuteTransaction API does not support both read and write operations in the same request."
MULTI_ATTRIBUTE_INDEX = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
)
NO_SUCH_INDEX = "The table does not have the specified index"
NOT_OPERAND = "The argument to NOT must be a Type or Expression"
ON_INDEX = "This operation is not supported on an index"
ORDER_NEEDS_HASH = (
    "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
)
ORDER_NEEDS_KEY = "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
ORDER_NEEDS_WHERE = "Must have WHERE clause in the statement when using ORDER BY clause."
OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
PARAMETER_COUNT = "Number of parameters in request and statement don't match."
PATH_COMPONENTS = "A path may contain at most 2 components in the FROM clause"
RETURNING_IN_INSERT = "RETURNING is not supported in INSERT"
RETURNING_IN_TRANSACTION = "RETURNING clause is not supported in ExecuteTransaction."
RETURNING_SYNTAX = "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause"
SELECT_SEVERAL = "Only select from a single table or index is supported."
SELECT_VALUE = "Select projection doesn't support value or pivot keywords"
SET_MEMBERS = "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
STAR_AND_OTHERS = "Other attributes should not be present in the projection when '*' is used."
TABLE_NAME = "Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'."
TOKEN_INVALID = "Invalid NextToken"  # noqa: S105 - a message
TOKEN_OTHER_REQUEST = "NextToken does not match request"  # noqa: S105
TOO_DEEP = "Nesting Levels have exceeded supported limits"
TOO_MANY_READS = "Too many decomposed read operations for a given query."
TRANSACTION_NEEDS_KEY = "Select statements within ExecuteTransaction must specify the primary key in the where clause."
TRANSACTION_ON_INDEX = "Reads on indices are not supported within transactions."
UNEXPECTED_SOURCE = "Unexpected from source"
UPDATE_CLAUSE = "Only SET and REMOVE are supported in update expressions at this time"
WHERE_OPERAND = "WHERE clause must contain an expression that resolves to a boolean"
WRITE_SOURCE = "FROM clause may only contain a single table name in data manipulation statements"


def malformed(detail: str = "") -> str:
    """Return the message for a statement that cannot be parsed."""
    return f"Statement wasn't well formed, can't be processed: {detail}"


def expected_keyword(word: str) -> str:
    """Return the text for a missing keyword, for use as the detail of `malformed`."""
    return f"Expected keyword {word.upper()}"


expected_sign: Template1 = "Expected {}".format
path_component: Template1 = "Unexpected path component at {}".format
unknown_function: Template2 = "Unrecognized function: {} at {}".format
unsupported_operation: Template1 = "Unsupported operation: {}".format
unsupported_clause: Template1 = "Unsupported clause: {}".format
unsupported_type: Template1 = (
    "Unsupported data type for IS operator: {}. Supported data types are"
    " [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"
).format


def unsupported_value(name: str, place: str, path: str = "root") -> str:
    """Return the message for a term that is not a value, although its position in the statement requires one.

    `name` identifies the term, `place` is its position in the statement, and `path` is the path of the value in the
    item.
    """
    return f"Unsupported data type: {name} under key {path} at {place}"


index_range: Template2 = "List index is not within the allowable range; index: [{}] at {}".format
unsupported_in_condition: Template1 = "Unsupported operator in Condition Expression. Operator: {}".format
unsupported_in_update: Template1 = "Unsupported operator in Update Expression. Operator: {}".format


def equal_numbers(members: Sequence[str], path: str) -> str:
    """Return the message for a set <<...>> that contains the same number in two notations, such as 1 and 1.0."""
    return under(f"{PARAMETER_INVALID}Input collection [{', '.join(members)}] contains duplicates!", path)


too_deep: Template1 = (TOO_DEEP + " under {}").format
under: Template2 = "{} under {}".format
ion_literal: Template2 = "Ion Literals are not supported: {} under key {}".format
duplicate_member: Template2 = "Duplicate keys in tuple. Key: {} under {}".format
duplicate_projection: Template1 = "Duplicate identifiers in select clause: {}".format
set_arguments: Template2 = "{} must have exactly two arguments at {}".format
set_target: Template2 = "The first argument to {} must equal the assignment value at {}".format
set_operand: Template2 = "The second argument to {} must be a value with type SET at {}".format
delete_returning: Template1 = (
    "Invalid returning clause: RETURNING {}. Only RETURNING ALL OLD * is allowed in DELETE statements."
).format
several_on_key: Template1 = (
    "Multiple conditions on same key {}. Only single item Update/Insert/Delete are supported"
).format
key_absent: Template1 = "Key attribute should be present in the item: Key {}".format
key_type: Template1 = "Key attribute's data type should match its data type in table's schema: Key {}".format
order_by: Template1 = "Attribute {} in ORDER BY clause must be part of the primary key".format
order_operand: Template1 = "Argument to ORDER BY must be of type VariableReference. Type: {}".format
in_transaction: Template2 = "Validation failed in TransactStatements[{}]: {}".format
