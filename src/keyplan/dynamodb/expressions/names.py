"""Names in expressions: placeholders, reserved words, and document paths with their overlaps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from keyplan import limits
from keyplan.dynamodb.expressions.nodes import Path
from keyplan.dynamodb.java import hash_order
from keyplan.dynamodb.messages import expressions as messages
from keyplan.dynamodb.values.attribute import check_attribute_names
from keyplan.dynamodb.values.types import Values
from keyplan.errors import ValidationError

ResolvedPath: TypeAlias = tuple[str | int, ...]
"""A document path without placeholders: strings are attribute names and map keys, and integers are list indexes."""

_CACHED_KEYS = 1024
_PLACEHOLDER = re.compile(r"[#:][A-Za-z0-9_]+\Z").match


class Names:
    """The ExpressionAttributeNames of an expression, and the placeholders that the expression uses."""

    __slots__ = ("_names", "used")

    def __init__(self, names: Mapping[str, str] | None) -> None:
        self._names = names or {}
        self.used: set[str] = set()

    def undefined(self, path: Path) -> str | None:
        """Return the first undefined placeholder in a path, or None if all are defined."""
        for part in path.parts:
            if isinstance(part, str) and part.startswith("#") and part not in self._names:
                return part
        return None

    def resolve(self, path: Path) -> ResolvedPath:
        """Return a path with its placeholders replaced by attribute names. Every placeholder must be defined."""
        parts: list[str | int] = []
        for part in path.parts:
            if isinstance(part, str) and part.startswith("#"):
                self.used.add(part)
                parts.append(self._names[part])
            else:
                parts.append(part)
        return tuple(parts)


def path_text(path: ResolvedPath) -> str:
    """Format a path as in DynamoDB's messages, for example [a, [3], b]."""
    return f"[{', '.join(f'[{part}]' if isinstance(part, int) else part for part in path)}]"


def check_names(names: Mapping[str, str] | None) -> None:
    """Raise ValidationError if ExpressionAttributeNames is invalid. Call this function before parsing expressions."""
    if names is None:
        return
    if not names:
        raise ValidationError(messages.NAMES_EMPTY)
    for key, name in names.items():
        _check_key("ExpressionAttributeNames", key, "#")
        if not name:
            raise ValidationError(messages.placeholder_name_empty(key))
    check_attribute_names(names.values())


def check_values(values: Values | None) -> None:
    """Raise ValidationError if a key of ExpressionAttributeValues is invalid. Call this function before checking the
    values.
    """
    if values is None:
        return
    if not values:
        raise ValidationError(messages.VALUES_EMPTY)
    _check_value_keys(tuple(values))


@lru_cache(maxsize=_CACHED_KEYS)
def _check_value_keys(keys: tuple[str, ...]) -> None:
    for key in keys:
        _check_key("ExpressionAttributeValues", key, ":")


def _check_key(parameter: str, key: str, sign: str) -> None:
    if len(key) <= limits.EXPRESSION_PLACEHOLDER_BYTES and key[:1] == sign and _PLACEHOLDER(key):
        return
    size_bytes = len(key.encode("utf-8", "surrogatepass"))
    if size_bytes > limits.EXPRESSION_PLACEHOLDER_BYTES:
        raise ValidationError(messages.placeholder_too_long(parameter, size_bytes))
    raise ValidationError(messages.placeholder_syntax(parameter, key))


def check_placeholders(
    names: Mapping[str, str] | None,
    values: Values | None,
    used_names: AbstractSet[str],
    used_values: AbstractSet[str],
) -> None:
    """Raise ValidationError if the request defines names or values that none of its expressions uses."""
    if names and not names.keys() <= used_names:
        raise _unused("ExpressionAttributeNames", names, used_names)
    if values and not values.keys() <= used_values:
        raise _unused("ExpressionAttributeValues", values, used_values)


def _unused(parameter: str, placeholders: Mapping[str, object], used_keys: AbstractSet[str]) -> ValidationError:
    unused = [key for key in placeholders if key not in used_keys]
    return ValidationError(messages.unused(parameter, hash_order(unused, hidden_count=len(placeholders) - len(unused))))


# Source: developer guide, "Reserved words in DynamoDB" (with the service's spelling mistakes).
_WORDS = """
    ABORT ABSOLUTE ACTION ADD AFTER AGENT AGGREGATE ALL ALLOCATE ALTER ANALYZE AND ANY ARCHIVE ARE
    ARRAY AS ASC ASCII ASENSITIVE ASSERTION ASYMMETRIC AT ATOMIC ATTACH ATTRIBUTE AUTH
    AUTHORIZATION AUTHORIZE AUTO AVG BACK BACKUP BASE BATCH BEFORE BEGIN BETWEEN BIGINT BINARY BIT
    BLOB BLOCK BOOLEAN BOTH BREADTH BUCKET BULK BY BYTE CALL CALLED CALLING CAPACITY CASCADE
    CASCADED CASE CAST CATALOG CHAR CHARACTER CHECK CLASS CLOB CLOSE CLUSTER CLUSTERED CLUSTERING
    CLUSTERS COALESCE COLLATE COLLATION COLLECTION COLUMN COLUMNS COMBINE COMMENT COMMIT COMPACT
    COMPILE COMPRESS CONDITION CONFLICT CONNECT CONNECTION CONSISTENCY CONSISTENT CONSTRAINT
    CONSTRAINTS CONSTRUCTOR CONSUMED CONTINUE CONVERT COPY CORRESPONDING COUNT COUNTER CREATE
    CROSS CUBE CURRENT CURSOR CYCLE DATA DATABASE DATE DATETIME DAY DEALLOCATE DEC DECIMAL DECLARE
    DEFAULT DEFERRABLE DEFERRED DEFINE DEFINED DEFINITION DELETE DELIMITED DEPTH DEREF DESC
    DESCRIBE DESCRIPTOR DETACH DETERMINISTIC DIAGNOSTICS DIRECTORIES DISABLE DISCONNECT DISTINCT
    DISTRIBUTE DO DOMAIN DOUBLE DROP DUMP DURATION DYNAMIC EACH ELEMENT ELSE ELSEIF EMPTY ENABLE
    END EQUAL EQUALS ERROR ESCAPE ESCAPED EVAL EVALUATE EXCEEDED EXCEPT EXCEPTION EXCEPTIONS
    EXCLUSIVE EXEC EXECUTE EXISTS EXIT EXPLAIN EXPLODE EXPORT EXPRESSION EXTENDED EXTERNAL EXTRACT
    FAIL FALSE FAMILY FETCH FIELDS FILE FILTER FILTERING FINAL FINISH FIRST FIXED FLATTERN FLOAT
    FOR FORCE FOREIGN FORMAT FORWARD FOUND FREE FROM FULL FUNCTION FUNCTIONS GENERAL GENERATE GET
    GLOB GLOBAL GO GOTO GRANT GREATER GROUP GROUPING HANDLER HASH HAVE HAVING HEAP HIDDEN HOLD
    HOUR IDENTIFIED IDENTITY IF IGNORE IMMEDIATE IMPORT IN INCLUDING INCLUSIVE INCREMENT
    INCREMENTAL INDEX INDEXED INDEXES INDICATOR INFINITE INITIALLY INLINE INNER INNTER INOUT INPUT
    INSENSITIVE INSERT INSTEAD INT INTEGER INTERSECT INTERVAL INTO INVALIDATE IS ISOLATION ITEM
    ITEMS ITERATE JOIN KEY KEYS LAG LANGUAGE LARGE LAST LATERAL LEAD LEADING LEAVE LEFT LENGTH
    LESS LEVEL LIKE LIMIT LIMITED LINES LIST LOAD LOCAL LOCALTIME LOCALTIMESTAMP LOCATION LOCATOR
    LOCK LOCKS LOG LOGED LONG LOOP LOWER MAP MATCH MATERIALIZED MAX MAXLEN MEMBER MERGE METHOD
    METRICS MIN MINUS MINUTE MISSING MOD MODE MODIFIES MODIFY MODULE MONTH MULTI MULTISET NAME
    NAMES NATIONAL NATURAL NCHAR NCLOB NEW NEXT NO NONE NOT NULL NULLIF NUMBER NUMERIC OBJECT OF
    OFFLINE OFFSET OLD ON ONLINE ONLY OPAQUE OPEN OPERATOR OPTION OR ORDER ORDINALITY OTHER OTHERS
    OUT OUTER OUTPUT OVER OVERLAPS OVERRIDE OWNER PAD PARALLEL PARAMETER PARAMETERS PARTIAL
    PARTITION PARTITIONED PARTITIONS PATH PERCENT PERCENTILE PERMISSION PERMISSIONS PIPE PIPELINED
    PLAN POOL POSITION PRECISION PREPARE PRESERVE PRIMARY PRIOR PRIVATE PRIVILEGES PROCEDURE
    PROCESSED PROJECT PROJECTION PROPERTY PROVISIONING PUBLIC PUT QUERY QUIT QUORUM RAISE RANDOM
    RANGE RANK RAW READ READS REAL REBUILD RECORD RECURSIVE REDUCE REF REFERENCE REFERENCES
    REFERENCING REGEXP REGION REINDEX RELATIVE RELEASE REMAINDER RENAME REPEAT REPLACE REQUEST
    RESET RESIGNAL RESOURCE RESPONSE RESTORE RESTRICT RESULT RETURN RETURNING RETURNS REVERSE
    REVOKE RIGHT ROLE ROLES ROLLBACK ROLLUP ROUTINE ROW ROWS RULE RULES SAMPLE SATISFIES SAVE
    SAVEPOINT SCAN SCHEMA SCOPE SCROLL SEARCH SECOND SECTION SEGMENT SEGMENTS SELECT SELF SEMI
    SENSITIVE SEPARATE SEQUENCE SERIALIZABLE SESSION SET SETS SHARD SHARE SHARED SHORT SHOW SIGNAL
    SIMILAR SIZE SKEWED SMALLINT SNAPSHOT SOME SOURCE SPACE SPACES SPARSE SPECIFIC SPECIFICTYPE
    SPLIT SQL SQLCODE SQLERROR SQLEXCEPTION SQLSTATE SQLWARNING START STATE STATIC STATUS STORAGE
    STORE STORED STREAM STRING STRUCT STYLE SUB SUBMULTISET SUBPARTITION SUBSTRING SUBTYPE SUM
    SUPER SYMMETRIC SYNONYM SYSTEM TABLE TABLESAMPLE TEMP TEMPORARY TERMINATED TEXT THAN THEN
    THROUGHPUT TIME TIMESTAMP TIMEZONE TINYINT TO TOKEN TOTAL TOUCH TRAILING TRANSACTION TRANSFORM
    TRANSLATE TRANSLATION TREAT TRIGGER TRIM TRUE TRUNCATE TTL TUPLE TYPE UNDER UNDO UNION UNIQUE
    UNIT UNKNOWN UNLOGGED UNNEST UNPROCESSED UNSIGNED UNTIL UPDATE UPPER URL USAGE USE USER USERS
    USING UUID VACUUM VALUE VALUED VALUES VARCHAR VARIABLE VARIANCE VARINT VARYING VIEW VIEWS
    VIRTUAL VOID WAIT WHEN WHENEVER WHERE WHILE WINDOW WITH WITHIN WITHOUT WORK WRAPPED WRITE YEAR
    ZONE
"""

RESERVED_WORDS = frozenset(_WORDS.split())


def is_reserved(name: str) -> bool:
    """Return True if a name is a reserved word, regardless of its case, and therefore requires a placeholder."""
    return name.upper() in RESERVED_WORDS


@dataclass(slots=True)
class _Branch:
    first: int  # the index of the first path through this branch
    ends: int | None = None  # the index of the path that ends here
    branches: dict[str | int, _Branch] = field(default_factory=dict)


def clash(paths: Sequence[ResolvedPath]) -> str | None:
    """Return the error message for the first two paths that overlap or conflict, or None if all paths are disjoint.

    Two paths overlap if one contains the other. They conflict if they use the same attribute both as a map and as a
    list. Overlaps are reported before conflicts. The paths are stored in a tree, so the running time is linear.
    """
    root = _Branch(0)
    conflict: tuple[int, int] | None = None
    for index, path in enumerate(paths):
        branch = root
        for part in path:
            if conflict is None:
                rival = _rival(branch, part)
                conflict = None if rival is None else (rival, index)
            branch = branch.branches.setdefault(part, _Branch(index))
            if branch.ends is not None:
                return messages.paths_overlap(path_text(paths[branch.ends]), path_text(path))
        if branch.branches:
            return messages.paths_overlap(path_text(paths[branch.first]), path_text(path))
        branch.ends = index
    if conflict is None:
        return None
    return messages.paths_conflict(path_text(paths[conflict[0]]), path_text(paths[conflict[1]]))


def _rival(branch: _Branch, part: str | int) -> int | None:
    """Return the index of an earlier path that conflicts with the path element `part`, or None if no path conflicts
    with it.

    A map key conflicts with a list index at the same position, and vice versa.
    """
    for other, below in branch.branches.items():
        # All parts of a branch have one kind until the first conflict.
        return below.first if isinstance(other, int) != isinstance(part, int) else None
    return None
