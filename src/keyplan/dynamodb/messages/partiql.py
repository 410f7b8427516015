"""What the service says of PartiQL statements."""

from __future__ import annotations

from collections.abc import Sequence

from keyplan.dynamodb.messages.items import PARAMETER_INVALID

# Details of a statement that cannot be read; some faults have none.
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
TOKEN_INVALID = "Invalid NextToken"  # noqa: S105 - what is said of one
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
    """A statement that cannot be read."""
    return f"Statement wasn't well formed, can't be processed: {detail}"


def expected_keyword(word: str) -> str:
    """What a statement lacks where a keyword must stand."""
    return f"Expected keyword {word.upper()}"


def expected_sign(name: str) -> str:
    """What a statement lacks where a sign must stand, by the service's name of it."""
    return f"Expected {name}"


def path_component(place: str) -> str:
    """A call where a path must stand."""
    return f"Unexpected path component at {place}"


def unknown_function(name: str, place: str) -> str:
    """A function that is none, or not there."""
    return f"Unrecognized function: {name} at {place}"


def unsupported_operation(operation: str) -> str:
    """An operation of the language that the service does not have."""
    return f"Unsupported operation: {operation}"


def unsupported_clause(clause: str) -> str:
    """A clause of the language that the service does not have."""
    return f"Unsupported clause: {clause}"


def unsupported_type(name: str) -> str:
    """IS with a type that the service does not have."""
    return (
        f"Unsupported data type for IS operator: {name}. Supported data types are"
        " [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"
    )


def unsupported_value(name: str, place: str, path: str = "root") -> str:
    """Something that is no value where one must stand."""
    return f"Unsupported data type: {name} under key {path} at {place}"


def index_range(index: str, place: str) -> str:
    """A list index under 0 or over 2,147,483,647."""
    return f"List index is not within the allowable range; index: [{index}] at {place}"


def unsupported_in_condition(operator: str) -> str:
    """Arithmetic in a condition."""
    return f"Unsupported operator in Condition Expression. Operator: {operator}"


def unsupported_in_update(operator: str) -> str:
    """An operator in what is set."""
    return f"Unsupported operator in Update Expression. Operator: {operator}"


def too_deep(path: str) -> str:
    """A literal of more than 32 levels, with the place of the first value below them."""
    return under(TOO_DEEP, path)


def equal_numbers(members: Sequence[str], path: str) -> str:
    """A bag with one number written in two ways, which are told as they are written."""
    return under(f"{PARAMETER_INVALID}Input collection [{', '.join(members)}] contains duplicates!", path)


def under(problem: str, path: str) -> str:
    """What is wrong with a literal, with its place inside the value."""
    return f"{problem} under {path}"


def ion_literal(text: str, path: str) -> str:
    """A literal between backquotes."""
    return f"Ion Literals are not supported: {text} under key {path}"


def duplicate_member(name: str, path: str) -> str:
    """A name that a map has twice."""
    return f"Duplicate keys in tuple. Key: {name} under {path}"


def duplicate_projection(name: str) -> str:
    """A name that would be shown twice."""
    return f"Duplicate identifiers in select clause: {name}"


def set_arguments(function: str, place: str) -> str:
    """set_add or set_delete with other than two arguments."""
    return f"{function} must have exactly two arguments at {place}"


def set_target(function: str, place: str) -> str:
    """set_add or set_delete of another attribute than the one that is set."""
    return f"The first argument to {function} must equal the assignment value at {place}"


def set_operand(function: str, place: str) -> str:
    """set_add or set_delete of something that is no set."""
    return f"The second argument to {function} must be a value with type SET at {place}"


def delete_returning(text: str) -> str:
    """A RETURNING clause that DELETE does not have."""
    return f"Invalid returning clause: RETURNING {text}. Only RETURNING ALL OLD * is allowed in DELETE statements."


def several_on_key(name: str) -> str:
    """A write whose key attribute is compared twice."""
    return f"Multiple conditions on same key {name}. Only single item Update/Insert/Delete are supported"


def key_absent(name: str) -> str:
    """An item without one of its key attributes."""
    return f"Key attribute should be present in the item: Key {name}"


def key_type(name: str) -> str:
    """A key attribute of another type than the table's."""
    return f"Key attribute's data type should match its data type in table's schema: Key {name}"


def order_by(name: str) -> str:
    """ORDER BY an attribute that is not of the key."""
    return f"Attribute {name} in ORDER BY clause must be part of the primary key"


def order_operand(kind: str) -> str:
    """ORDER BY something that is no attribute."""
    return f"Argument to ORDER BY must be of type VariableReference. Type: {kind}"


def in_transaction(number: int, problem: str) -> str:
    """What is wrong with one statement of a transaction."""
    return f"Validation failed in TransactStatements[{number}]: {problem}"
