"""A program that writes to a database as fast as it can and says so after each acknowledged write.

Run as `python writer.py FILE DURABILITY SEED`. Each line on standard output is one acknowledged write:

    ready                 the database is open
    put KEY VERSION       item KEY now holds VERSION
    del KEY VERSION       item KEY was deleted, after VERSION
    add KEY COUNT         counter KEY was incremented COUNT times by this process
    ring VERSION          every item of the ring now holds VERSION, by one transaction
    batch VERSION         every item of the batch now holds VERSION
"""

from __future__ import annotations

import os
import random
import sys
import threading
from typing import Any

from keyplan.engine.engine import Engine
from keyplan.errors import ResourceInUseError

TABLE = "crash"
RING = [f"ring{number}" for number in range(4)]
BATCH = [f"batch{number}" for number in range(6)]
WORKERS = 3


def create(engine: Engine) -> None:
    """Create the table with everything that must stay consistent: two kinds of indexes, a stream, time to live."""

    def key(attribute: str, role: str) -> dict[str, str]:
        return {"AttributeName": attribute, "KeyType": role}

    try:
        engine.call(
            "CreateTable",
            {
                "TableName": TABLE,
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": "sk", "AttributeType": "S"},
                    {"AttributeName": "group", "AttributeType": "S"},
                    {"AttributeName": "version", "AttributeType": "N"},
                ],
                "KeySchema": [key("pk", "HASH"), key("sk", "RANGE")],
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "by_group",
                        "KeySchema": [key("group", "HASH"), key("version", "RANGE")],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                ],
                "LocalSecondaryIndexes": [
                    {
                        "IndexName": "by_version",
                        "KeySchema": [key("pk", "HASH"), key("version", "RANGE")],
                        "Projection": {"ProjectionType": "KEYS_ONLY"},
                    }
                ],
                "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            },
        )
        engine.call(
            "UpdateTimeToLive",
            {"TableName": TABLE, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"}},
        )
    except ResourceInUseError:
        pass  # an earlier run made it


def say(line: str) -> None:
    """One line, in one write, so that lines of several threads stay whole."""
    os.write(1, line.encode() + b"\n")


def primary(name: str) -> dict[str, Any]:
    return {"pk": {"S": name[:5]}, "sk": {"S": name}}


def item(name: str, version: int) -> dict[str, Any]:
    return {
        **primary(name),
        "version": {"N": str(version)},
        "group": {"S": f"g{version % 5}"},
        "expires": {"N": str(4_000_000_000 + version)},
        "padding": {"S": "x" * (version * 37 % 700)},
    }


def read_version(engine: Engine, name: str, attribute: str = "version") -> int:
    response = engine.call("GetItem", {"TableName": TABLE, "Key": primary(name), "ConsistentRead": True})
    return int(response["Item"][attribute]["N"]) if "Item" in response else 0


def run_worker(engine: Engine, worker: int, seed: int) -> None:
    generator = random.Random(seed * 1000 + worker)
    names = [f"item{worker}-{number}" for number in range(20)]
    versions = {name: read_version(engine, name) for name in names}
    counter, increments = f"count{worker}", 0
    while True:
        turn = generator.random()
        name = generator.choice(names)
        if turn < 0.5:
            versions[name] += 1
            engine.call("PutItem", {"TableName": TABLE, "Item": item(name, versions[name])})
            say(f"put {name} {versions[name]}")
        elif turn < 0.6:
            engine.call("DeleteItem", {"TableName": TABLE, "Key": primary(name)})
            say(f"del {name} {versions[name]}")
        else:
            engine.call(
                "UpdateItem",
                {
                    "TableName": TABLE,
                    "Key": primary(counter),
                    "UpdateExpression": "ADD hits :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                },
            )
            increments += 1
            say(f"add {counter} {increments}")


def run_ring_writer(engine: Engine) -> None:
    version = max(read_version(engine, name) for name in (*RING, *BATCH))
    while True:
        version += 1
        puts = [{"Put": {"TableName": TABLE, "Item": item(name, version)}} for name in RING]
        engine.call("TransactWriteItems", {"TransactItems": puts})
        say(f"ring {version}")
        requests = [{"PutRequest": {"Item": item(name, version)}} for name in BATCH]
        engine.call("BatchWriteItem", {"RequestItems": {TABLE: requests}})
        say(f"batch {version}")


def main() -> None:
    durability: Any
    path, durability, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    engine = Engine.open(path, durability=durability)
    create(engine)
    say("ready")
    threads = [threading.Thread(target=run_worker, args=(engine, worker, seed)) for worker in range(WORKERS)]
    threads.append(threading.Thread(target=run_ring_writer, args=(engine,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
