"""The design language: declarations of tables, entities, keys, access patterns, stream consumers and the
expected load.
"""
