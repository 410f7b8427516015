"""Fuzzer of the HTTP server: mutated requests, each of which must get an answer in the service's form.

python -m tests.server.fuzz_door --count 100000 --seed 1

Every round sends one to three requests, most of them damaged, on one connection and then closes its sending side. Each
answer must be whole, with a right checksum and a known shape; the connection must end; and now and then a good request
must still be answered. The seed repeats a run.
"""

from __future__ import annotations

import argparse
import gzip
import logging
import random
import re
import sys
import zlib
from collections import Counter
from logging.handlers import BufferingHandler
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from tests.server.plain_http import Client, Reply, get, headers_for, put, raw

from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.server.protocol import ServedEngine
from keyplan.server.thread import ThreadedServer

TABLE = {
    "TableName": "tab",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
}
STATUSES = {200, 400, 403, 404, 408, 413, 500, 503}
TYPE = re.compile(r"com\.amazon(aws)?\.[a-z0-9.]+#[A-Za-z]+")

SEEDS: list[bytes] = [
    put("a"),
    get("a"),
    put("a") + get("a"),
    raw(headers_for("ListTables"), b"{}"),
    raw(
        headers_for("Scan"),
        b'{"TableName":"tab","FilterExpression":"p<>:v","ExpressionAttributeValues":{":v":{"S":"a"}}}',
    ),
    raw(headers_for("ExecuteStatement"), b'{"Statement":"SELECT * FROM tab WHERE p=?","Parameters":[{"S":"a"}]}'),
    raw(headers_for("Scan", accept_encoding=b"gzip;q=0.5, *"), b'{"Size":5000}'),
    raw(headers_for("PutItem", content_encoding=b"gzip"), gzip.compress(b'{"Item":{"p":1}}')),
    raw(headers_for("PutItem", content_encoding=b"deflate"), zlib.compress(b'{"Item":{"p":1}}')),
    raw(headers_for("PutItem", transfer_encoding=b"chunked"), b"4\r\n{  }\r\n0\r\n\r\n"),
    raw(headers_for("PutItem", expect=b"100-continue"), b'{"Item":{}}'),
    raw(headers_for("PutItem", upgrade=b"h2c", connection=b"Upgrade"), b'{"Item":{}}'),
    raw({b"origin": b"x", b"access-control-request-method": b"POST"}, method=b"OPTIONS"),
    raw({}, method=b"GET"),
    raw({}, method=b"GET", target=b"/?X-Amz-Algorithm=a&X-Amz-Credential=b"),
]

PIECES: list[bytes] = [
    b"\r\n", b"\n", b"\r\n\r\n", b"\x00", b"\xff", b": ", b",", b"{", b"}", b"[", b"]", b'"',
    b"HTTP/1.0", b"HTTP/2.0", b"Connection: close\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: 0\r\n", b"Content-Encoding: gzip\r\n", b"Expect: 100-continue\r\n",
    b"Upgrade: h2c\r\nConnection: upgrade\r\n", b"Accept-Encoding: *\r\n", b"Origin: x\r\n",
    b"4294967296", b"-1", b"1e400", b"\\ud800", b"\xef\xbb\xbf", b"[" * 2000, b'{"a":' * 2000,
    b"AWS4-HMAC-SHA256 ", b"X-Amz-Algorithm=", b"DynamoDB_20120810.", b"CONNECT", b"POST",
]  # fmt: skip


class FindingError(Exception):
    """An answer that is not allowed."""


def mutated(seed: bytes, generator: random.Random) -> bytes:
    """Return the bytes with a few of them changed, dropped, doubled or replaced."""
    data = bytearray(seed)
    for _ in range(generator.choice((0, 1, 1, 2, 3, 8))):
        position = generator.randrange(len(data) + 1)
        mutation = generator.randrange(6)
        if mutation == 0:
            data[position : position + 1] = bytes((generator.randrange(256),))
        elif mutation == 1:
            del data[position : position + generator.choice((1, 1, 2, 10, 100))]
        elif mutation == 2:
            data[position:position] = generator.choice(PIECES)
        elif mutation == 3:
            data[position:position] = data[position : position + generator.choice((1, 5, 50))]
        elif mutation == 4:
            other = generator.choice(SEEDS)
            data[position:] = other[generator.randrange(len(other)) :]
        elif position < len(data):
            data[position] ^= 1 << generator.randrange(8)
    return bytes(data)


def check(reply: Reply) -> None:
    """Assert that the service could have given the answer."""
    if reply.status == 100:
        return
    if reply.status not in STATUSES:
        raise FindingError(f"status {reply.status}")
    if not re.fullmatch("[0-9A-Z]{52}", reply.headers.get("x-amzn-requestid", "")):
        raise FindingError("no request id")
    if reply.body or reply.status == 200:
        check_body(reply)


def check_body(reply: Reply) -> None:
    """Assert that the checksum is right, and that an error has its type."""
    if reply.body and int(reply.headers["x-amz-crc32"]) != zlib.crc32(reply.body):
        raise FindingError("wrong checksum")
    if reply.status not in (200, 404):
        packed = "content-encoding" in reply.headers
        error: Any = orjson.loads(zlib.decompress(reply.body, 47) if packed else reply.body)
        if not TYPE.fullmatch(error["__type"]):
            raise FindingError(f"not an error of the service: {error}")


def responses_to(client: Client, data: bytes) -> list[Reply]:
    """Return all answers to the bytes, until the connection ends."""
    heads = data.count(b"HEAD")
    replies: list[Reply] = []
    try:
        client.send(data)
        client.socket.shutdown(1)
    except OSError:
        pass  # the server closed the connection: its answers can still be read
    while True:
        try:
            reply = client.read(bodiless=bool(heads) and not replies)
        except (EOFError, ConnectionResetError):
            return replies
        check(reply)
        replies.append(reply)


def one_round(port: int, generator: random.Random, counts: Counter[int]) -> None:
    """Send one to three requests, damaged or not, and check every answer."""
    parts = [mutated(generator.choice(SEEDS), generator) for _ in range(generator.randrange(1, 4))]
    data = b"".join(parts)
    if b"HEAD" in data:
        return  # answers without bodies cannot be distinguished once requests are damaged
    try:
        with Client(port) as client:
            counts.update(reply.status for reply in responses_to(client, data))
    except (FindingError, ValueError, KeyError, TimeoutError) as error:
        raise FindingError(f"{error!r} after sending {data!r}") from error


def still_serves(port: int) -> None:
    """Assert that a good request gets an answer: success, or a missing table."""
    with Client(port) as client:
        if client.ask(put("good")).status not in (200, 400):
            raise FindingError("a good request failed")


def fuzz(engine: ServedEngine, count: int, seed: int) -> Counter[int]:
    """Run the rounds with an engine that has a table "tab".

    Return the number of answers by status. Raises FindingError.
    """
    generator = random.Random(seed)
    counts: Counter[int] = Counter()
    with ThreadedServer(engine) as server:
        for number in range(count):
            one_round(server.port, generator, counts)
            if number % 100 == 0:
                still_serves(server.port)
        still_serves(server.port)
    return counts


def main() -> None:
    """Read the command line and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # Keeps the server's log, which contains unexpected exceptions.
    listener = BufferingHandler(capacity=sys.maxsize)
    listener.setLevel(logging.ERROR)
    logging.getLogger("keyplan").addHandler(listener)
    with TemporaryDirectory() as folder, Engine.open(Path(folder) / "data.db", durability="full") as engine:
        engine.call("CreateTable", TABLE)
        counts = fuzz(engine, options.count, options.seed)
        problems = [listener.format(record) for record in listener.buffer] + [
            str(problem) for problem in fsck.check(engine)
        ]
    print(f"{options.count} rounds, answers by status: {dict(sorted(counts.items()))}")
    if problems:
        raise FindingError("\n".join(problems))


if __name__ == "__main__":
    main()
