"""The data lake of the to-do system: change events, current state and figures as Parquet, and SQL over them.

    stream records --write--> bronze --refresh--> silver, gold --query--> answers
                                ^ compact, vacuum     ^ rebuild, rebuild_from_items

`lake.Lake` is the way in. What makes all of it hold together under replays, killed writers and several
writers at once is told in `versions`.
"""
