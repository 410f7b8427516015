"""The data lake of the to-do system: change events, current state and statistics in Parquet, queried with SQL.

    stream records --write--> bronze --refresh--> silver, gold --query--> answers
                                ^ compact, vacuum     ^ rebuild, rebuild_from_items

`lake.Lake` is the entry point. `versions` explains how the lake remains consistent if events are repeated, writers are
killed, or several writers run concurrently.
"""
