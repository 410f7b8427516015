"""The operations, each in its own module with the shape of the request, its rules and its implementation.

Each module defines `SHAPE`, the request as a table, and `run(engine, request, form)`. If there are rules between
members, `check(request)` checks the rules that precede attribute values and expressions, and `check_late` checks the
later rules. In GetItem, PutItem and UpdateItem, the later rules come between the values of the key or item and the
expressions. In other operations, they come after both. `check_action` checks the rules of one action of a transaction.
The table and the item are checked last. If `SHAPE.layer` is ENVELOPED, errors of rules, values and expressions pass
through `answers.enveloped`.
"""
