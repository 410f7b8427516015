"""PartiQL statements, which are parsed into syntax trees and translated to expressions.

    parser.parse(statement)     the syntax tree, or ValidationError
    values.Values(parameters)   literals and parameters as attribute values
    translate                   conditions and updates as compiled expressions

These modules do not depend on tables. Source: developer guide, "PartiQL - a SQL-compatible query language for Amazon
DynamoDB". The messages are those of DynamoDB, recorded by public conformance suites.
"""
