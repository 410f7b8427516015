"""The operations, each in its own module with the structure of its request, its checks and its implementation.

Each module defines `SHAPE`, the structure of the request, and a function `run(database, request, form)`. If parameters
of an operation depend on each other, its module also defines checks. `check(request)` checks the constraints that
DynamoDB checks before attribute values and expressions, and `check_late` checks the later constraints. In GetItem,
PutItem and UpdateItem, the later constraints are checked after the values of the key or item and before the
expressions. In Query and Scan, they are checked after the start key, and in UpdateTable, after the table has been
found. `check_action` checks the constraints on one action of a transaction. The constraints that depend on the table or
the item are checked last. If `SHAPE.layer` is ENVELOPED, `answers.prefix_errors` adds a prefix to the messages of
errors in parameters, values and expressions.
"""
