"""PartiQL statements, which are parsed into trees and translated to expressions.

    parser.parse(statement)     the tree, or ValidationError with the service's message
    values.Values(parameters)   literals and parameters as attribute values
    translate                   conditions and updates as compiled expressions

These modules do not depend on tables. Source: developer guide, "PartiQL - a SQL-compatible query language for Amazon
DynamoDB"; the messages are the service's, recorded by public conformance suites.
"""
