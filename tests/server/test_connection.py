"""HTTP on a real socket: order, framing, limits, and faulty clients."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
from tests.server.fake_engine import FakeEngine
from tests.server.plain_http import Client, get, headers_for, put, put_body, raw

from keyplan.server.asyncio_server import Server
from keyplan.server.connection import DISCARD_BYTES, HEAD_BYTES, PAUSE_JOBS, RESUME_JOBS, HttpConnection
from keyplan.server.protocol import DynamoDBProtocol, ProtocolCall
from keyplan.server.thread import ThreadedServer
from keyplan.server.wire import Request

MIB = 1024 * 1024


def scan(size: int, **more: bytes) -> bytes:
    return raw(headers_for("Scan", **more), orjson.dumps({"Size": size}))


def test_a_response_has_the_headers_of_the_service(client: Client) -> None:
    reply = client.ask(put("a"))
    assert (reply.status, reply.body) == (200, b"{}")
    reply.check_crc()
    assert list(reply.headers) == [
        "server",
        "date",
        "content-type",
        "content-length",
        "connection",
        "x-amzn-requestid",
        "x-amz-crc32",
    ]
    assert reply.headers["server"] == "Server"
    assert reply.headers["content-type"] == "application/x-amz-json-1.0"
    assert reply.headers["connection"] == "keep-alive"


def test_a_connection_serves_many_requests(client: Client) -> None:
    for number in range(200):
        assert client.ask(put(str(number))).status == 200
        assert client.ask(get(str(number))).json() == {"Item": {"p": {"S": str(number)}}}


def test_pipelined_requests_are_answered_in_order(client: Client) -> None:
    client.send(b"".join(put(str(number)) + get(str(number)) for number in range(100)))
    for number in range(100):
        assert client.read().json() == {}
        assert client.read().json() == {"Item": {"p": {"S": str(number)}}}


class FakeTransport(asyncio.Transport):
    """Transport that counts answers, and records whether the connection reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = True
        self.closing = False
        self.answers = 0

    def write(self, data: object) -> None:
        self.answers += 1

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True


def test_reading_pauses_while_many_requests_wait(engine: FakeEngine) -> None:
    async def run() -> None:
        connection = HttpConnection(Server(DynamoDBProtocol(engine)))
        transport = FakeTransport()
        connection.connection_made(transport)
        connection.data_received(get("a") * PAUSE_JOBS)
        assert transport.reading
        connection.data_received(get("a"))
        assert not transport.reading
        connection.pause_writing()
        await asyncio.sleep(0)
        assert transport.answers == 0
        connection.resume_writing()
        assert not transport.reading
        while connection.jobs:
            await asyncio.sleep(0)
            assert transport.reading or len(connection.jobs) > RESUME_JOBS
        assert transport.answers == PAUSE_JOBS + 1
        assert transport.reading
        connection.drain()
        assert transport.closing
        connection.connection_lost(None)

    asyncio.run(run())


def packed(key: str) -> bytes:
    return raw(headers_for("PutItem", content_encoding=b"gzip"), gzip.compress(put_body(key)))


def test_only_a_few_queued_large_requests_are_parsed(engine: FakeEngine) -> None:
    async def run() -> None:
        connection = HttpConnection(Server(DynamoDBProtocol(engine)))
        transport = FakeTransport()
        connection.connection_made(transport)
        connection.data_received(b"".join(packed(str(number)) for number in range(12)) + get("11"))
        assert not transport.reading
        assert [type(job) for job in connection.jobs] == [ProtocolCall] * 2 + [Request] * 11
        turns = 0
        while connection.jobs:
            before = transport.answers
            await asyncio.sleep(0)
            turns += transport.answers > before
            assert transport.answers - before <= 3
        assert turns > 10, "each of the others has a separate turn"
        assert transport.reading
        assert transport.answers == 13
        connection.connection_lost(None)

    asyncio.run(run())
    assert engine.calls == [*["PutItem"] * 12, "GetItem"]


def test_large_requests_are_answered_in_order(client: Client) -> None:
    client.send(b"".join(packed(str(number)) + get(str(number)) for number in range(10)))
    for number in range(10):
        assert client.read().json() == {}
        assert client.read().json() == {"Item": {"p": {"S": str(number)}}}


def test_errors_keep_their_place_in_the_pipeline(client: Client) -> None:
    bad = raw(headers_for("PutItem"), b"{")
    client.send(put("a") + bad + get("a") + raw({}, method=b"PUT") + put("b"))
    assert [client.read().status for _ in range(5)] == [200, 400, 200, 404, 200]


def test_a_request_may_arrive_byte_by_byte(client: Client) -> None:
    for byte in put("slow"):
        client.send(bytes((byte,)))
    assert client.read().status == 200
    assert client.ask(get("slow")).json() == {"Item": {"p": {"S": "slow"}}}


@pytest.mark.parametrize("cut", [1, 7, 60, 200, 300])
def test_a_request_may_be_split_anywhere(client: Client, cut: int) -> None:
    data = put("x") + get("x")
    for start in range(0, len(data), cut):
        client.send(data[start : start + cut])
    assert client.read().status == 200
    assert client.read().json() == {"Item": {"p": {"S": "x"}}}


def chunked(body: bytes, size: int, trailer: bytes = b"") -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    headers = headers_for("PutItem", transfer_encoding=b"chunked")
    return raw(headers, framed + b"0\r\n" + trailer + b"\r\n")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_chunked_bodies_are_read(client: Client, size: int) -> None:
    body = orjson.dumps({"Item": {"p": {"S": "chunked" * 20}}})
    assert client.ask(chunked(body, size)).status == 200
    assert client.ask(chunked(body, size, trailer=b"X-Amz-Target: other\r\n")).status == 200
    assert client.ask(get("chunked" * 20)).json()["Item"]


def test_a_client_may_wait_for_100_continue(client: Client) -> None:
    data = put("a", expect=b"100-continue")
    head, _, body = data.partition(b"\r\n\r\n")
    client.send(head + b"\r\n\r\n")
    assert client.read().status == 100
    client.send(body)
    assert client.read().status == 200


def test_a_100_continue_does_not_overtake_earlier_responses(client: Client) -> None:
    head, _, body = put("b", expect=b"100-continue").partition(b"\r\n\r\n")
    client.send(put("a") + head + b"\r\n\r\n")
    assert [client.read().status, client.read().status] == [200, 100]
    client.send(body)
    assert client.read().status == 200


def test_a_client_may_send_the_body_without_waiting_for_100_continue(client: Client) -> None:
    client.send(put("a", expect=b"100-continue"))
    assert [client.read().status, client.read().status] == [100, 200]


def test_head_requests_and_http_1_0_are_supported(client: Client, server: ThreadedServer) -> None:
    reply = client.ask(raw({}, method=b"HEAD"))
    assert (reply.status, reply.headers["content-length"], reply.body) == (200, "19", b"")
    assert client.ask(raw({}, method=b"GET")).status == 200
    with Client(server.port) as old:
        old.send(b"GET / HTTP/1.0\r\n\r\n")
        reply = old.read()
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert old.closed_by_server()


def test_connection_close_is_respected(client: Client) -> None:
    reply = client.ask(put("a", connection=b"close"))
    assert reply.headers["connection"] == "close"
    assert client.closed_by_server()


def test_a_half_closed_client_is_answered(client: Client, engine: FakeEngine) -> None:
    client.send(put("a") + put("b") + b"POST / HT")
    client.socket.shutdown(1)
    assert [client.read().status, client.read().status] == [200, 200]
    assert client.closed_by_server()
    assert len(engine.items) == 2


def test_an_upgrade_offer_is_ignored(client: Client) -> None:
    offer = {"upgrade": b"h2c", "connection": b"Upgrade, HTTP2-Settings"}
    client.send((put("a", **offer) + get("a")) * 3)
    for _ in range(3):
        assert client.read().status == 200
        assert client.read().json() == {"Item": {"p": {"S": "a"}}}
    for byte in put("b", **offer):
        client.send(bytes((byte,)))
    assert client.read().status == 200
    get_page = raw({b"upgrade": b"h2c", b"connection": b"Upgrade, close"}, method=b"GET")
    assert client.ask(get_page).status == 200
    assert client.closed_by_server()


def test_connect_requests_are_rejected(client: Client) -> None:
    assert client.ask(b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\nabc").status == 400
    assert client.closed_by_server()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"hello\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nabcde", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nA: b\nC\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nAccept: b\r\nhost: a\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\n" + b"a: " + b"b" * HEAD_BYTES + b"\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\n" + b"a: b\r\n" * HEAD_BYTES, 400),
        (b"POST /" + b"a" * HEAD_BYTES + b" HTTP/1.1\r\n\r\n", 400),
    ],
)
def test_an_invalid_request_is_answered_once(client: Client, engine: FakeEngine, data: bytes, status: int) -> None:
    client.send(put("before") + data)
    assert client.read().status == 200
    reply = client.read()
    assert (reply.status, reply.headers["connection"]) == (status, "close")
    assert reply.json() == {"__type": "com.amazon.coral.service#MalformedHttpRequestException"}
    reply.check_crc()
    assert client.closed_by_server()
    assert engine.calls == ["PutItem"]


def test_endless_headers_are_rejected(client: Client) -> None:
    client.send(b"POST / HTTP/1.1\r\nHost: a\r\nname: ")
    for _ in range(HEAD_BYTES // 1000 + 2):
        client.send(b"x" * 1000)
    assert client.read().status == 400


def test_headers_of_over_16_kb_are_a_bad_request_and_smaller_ones_are_served(
    client: Client, engine: FakeEngine
) -> None:
    # ScyllaDB's issue 23438, found on the service: "400 Bad Request" above 16 KB of headers in total.
    assert client.ask(put("a", x_filler=b"x" * (15 * 1024))).status == 200
    reply = client.ask(put("b", x_filler=b"x" * 8192, x_more=b"x" * 8192))
    assert (reply.status, reply.headers["connection"]) == (400, "close")
    assert engine.calls == ["PutItem"]


def test_a_large_body_does_not_count_toward_the_next_headers(client: Client) -> None:
    client.send(raw(headers_for("PutItem"), padded(60_000)) + get("a")[:-20])
    assert client.read().status == 200
    client.send(get("a")[-20:])
    assert client.read().status == 200


def padded(size: int) -> bytes:
    """Return a PutItem body of exactly this many bytes."""
    body = b'{"Item":{"p":{"S":"big"}}'
    return body + b" " * (size - len(body) - 1) + b"}"


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_request_of_over_16_mb_is_rejected(client: Client, engine: FakeEngine, framing: str) -> None:
    for size, status in ((16 * MIB, 200), (16 * MIB + 1, 413), (10, 400)):
        body = padded(size) if size > 100 else b"{"
        reply = client.ask(raw(headers_for("PutItem"), body) if framing == "length" else chunked(body, MIB))
        assert reply.status == status
        if status == 413:
            assert reply.headers["transfer-encoding"] == "chunked"
            assert "content-length" not in reply.headers
    assert len(engine.calls) == 1


def test_a_body_far_above_the_limit_is_not_read(client: Client) -> None:
    client.send(raw(headers_for("PutItem", content_length=b"%d" % (DISCARD_BYTES + 1))))
    assert client.read().status == 413
    assert client.closed_by_server()


def test_an_announced_oversized_body_is_rejected_before_it_is_sent(client: Client) -> None:
    headers = headers_for("PutItem", content_length=b"17000000", expect=b"100-continue")
    client.send(raw(headers))
    assert client.read().status == 413


def test_large_responses_arrive_complete(client: Client) -> None:
    for size in (1, 4000, 64 * 1024, 65 * 1024, 5 * MIB):
        reply = client.ask(scan(size))
        assert len(reply.json()["Filler"]) == size
        reply.check_crc()


def test_the_checksum_covers_the_compressed_body(client: Client) -> None:
    reply = client.ask(scan(100_000, accept_encoding=b"gzip"))
    reply.check_crc()
    assert reply.headers["content-encoding"] == "gzip"
    assert len(orjson.loads(gzip.decompress(reply.body))["Filler"]) == 100_000


def test_a_client_that_does_not_read_blocks_no_other(client: Client, server: ThreadedServer) -> None:
    rounds = 40
    sender = threading.Thread(target=client.send, args=(scan(MIB) * rounds,))
    sender.start()
    with Client(server.port) as other:
        for number in range(50):
            assert other.ask(put(str(number))).status == 200
    for _ in range(rounds):
        assert len(client.read().body) > MIB
    sender.join()


def test_many_connections_are_served_concurrently(server: ThreadedServer, engine: FakeEngine) -> None:
    def job(number: int) -> None:
        with Client(server.port) as own:
            for turn in range(20):
                key = f"{number}-{turn}"
                assert own.ask(put(key)).status == 200
                assert own.ask(get(key)).json() == {"Item": {"p": {"S": key}}}

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(job, range(32)))
    assert len(engine.items) == 32 * 20


def test_a_client_that_disconnects_early_does_not_affect_others(server: ThreadedServer) -> None:
    for cut in (1, 50, 400, -1, None):
        with Client(server.port) as hasty:
            hasty.send(put("a")[:cut])
    with Client(server.port) as client:
        assert client.ask(put("b")).status == 200


def test_idle_connections_are_closed(engine: FakeEngine) -> None:
    with ThreadedServer(engine, idle_s=0.05) as server, Client(server.port) as silent:
        assert silent.closed_by_server()


def test_the_idle_time_starts_with_the_last_response(engine: FakeEngine) -> None:
    async def run() -> None:
        connection = HttpConnection(Server(DynamoDBProtocol(engine)))
        transport = FakeTransport()
        connection.connection_made(transport)
        connection.data_received(get("a"))
        connection.check_time_limits(connection.stage_start_s + 100, idle_s=10, request_s=10)
        assert not transport.closing  # the request is queued
        while not transport.answers:
            await asyncio.sleep(0)
        connection.check_time_limits(connection.stage_start_s + 9, idle_s=10, request_s=1)
        assert not transport.closing
        connection.check_time_limits(connection.stage_start_s + 11, idle_s=10, request_s=1)
        assert transport.closing
        connection.connection_lost(None)

    asyncio.run(run())


@pytest.fixture
def impatient(engine: FakeEngine) -> Iterator[ThreadedServer]:
    """Yield a server that waits long for a request, but not for its remaining bytes."""
    with ThreadedServer(engine, request_s=0.05) as running:
        yield running


@pytest.mark.parametrize("part", [b"P", put("a")[:-1], put("a") + put("b")[:100]])
def test_incomplete_requests_are_rejected_after_a_timeout(impatient: ThreadedServer, part: bytes) -> None:
    with Client(impatient.port) as slow:
        slow.send(part)
        reply = slow.read()
        if reply.status == 200:
            reply = slow.read()
        assert reply.status == 408


def test_clients_that_never_read_are_disconnected(impatient: ThreadedServer) -> None:
    with Client(impatient.port) as deaf, pytest.raises((BrokenPipeError, ConnectionResetError)):
        send_for_ever(deaf, scan(MIB))


def send_for_ever(client: Client, data: bytes) -> None:
    while True:
        client.send(data)
