"""PartiQL: statements read into trees, and their parts made expressions of the other operations.

    parse(statement)       the tree, or ValidationError with the service's text
    Values(parameters)     literals and parameters made attribute values
    conditions, updates    the same trees as `keyplan.dynamodb.expressions` has

Nothing here knows a table. Source: developer guide, "PartiQL - a SQL-compatible query language for
Amazon DynamoDB"; the texts are the service's, as public conformance suites recorded them.
"""
