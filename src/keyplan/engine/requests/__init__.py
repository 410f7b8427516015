"""What is checked of each operation's request before its table is looked at, one module per operation.

Each module has `SHAPE`, the request as a table, and `check(request)`, the rules between members. The
order is: the shape, `check`, then attribute values and expressions, then `check_late` where a module has
one, then the table, then the item. Where `SHAPE.layer` is ENVELOPED, faults of values and expressions are
passed through `rules.enveloped` as well.
"""
