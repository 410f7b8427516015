"""The operations, one module each: the shape of the request, the rules between its members, and the work.

Each module has `SHAPE`, the request as a table, and `run(engine, request, form)`. Where rules between members exist,
`check(request)` holds those that come before attribute values and expressions, and `check_late` those that come later:
in GetItem, PutItem and UpdateItem between the values of the key or item and the expressions, elsewhere after both.
`check_action` holds the rules of one action of a transaction. After that come the table and then the item. Where
`SHAPE.layer` is ENVELOPED, errors of rules, values and expressions pass through `answers.enveloped`.
"""
