"""The data lake of the to-do system: change events, current state and statistics in Parquet, queried by SQL.

    stream records --write--> bronze --refresh--> silver, gold --query--> answers
                                ^ compact, vacuum     ^ rebuild, rebuild_from_items

`lake.Lake` is the entry point. `versions` explains how the lake stays consistent under replays, killed writers and
concurrent writers.
"""
