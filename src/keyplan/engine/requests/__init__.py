"""What is checked of each operation's request before its table is looked at, one module per operation.

Each module has `SHAPE`, the request as a table, and, where there are rules between members, `check(request)`. The
order is: the shape, `check`, then attribute values and expressions, then the table, then the item. The rules
that come later stand in `check_late`: in GetItem, PutItem and UpdateItem between the values of the key or
item and the expressions, elsewhere after both; those of one action of a transaction in `check_action`. Where
`SHAPE.layer` is ENVELOPED, the faults of rules, values and expressions are passed through `rules.enveloped`.
"""
