"""The functions of expressions, by where they may stand, with how many operands each has."""

from __future__ import annotations

CONDITION_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}
OPERAND_FUNCTIONS = {"size": 1}
UPDATE_FUNCTIONS = {"if_not_exists": 2, "list_append": 2}
OPERAND_COUNTS = CONDITION_FUNCTIONS | OPERAND_FUNCTIONS | UPDATE_FUNCTIONS
