"""The protocol as a pure function: requests as data, answers in the service's form.

Bodies, checksums and texts marked "recorded" are answers of the service from public test suites; the others follow from
the API reference.
"""

from __future__ import annotations

import gzip
import logging
import re
import zlib
from typing import Any

import orjson
import pytest
from tests.server.fake_engine import FakeEngine
from tests.server.plain_http import JSON_1_0, SIGNED, headers_for

from keyplan import errors
from keyplan.engine.engine import Engine
from keyplan.server.hosts import LocalHosts
from keyplan.server.protocol import DynamoDBProtocol
from keyplan.server.wire import Request, Response

SERIALIZATION = {"__type": "com.amazon.coral.service#SerializationException"}
UNKNOWN = {"__type": "com.amazon.coral.service#UnknownOperationException"}
MISSING = {
    "__type": "com.amazon.coral.service#MissingAuthenticationTokenException",
    "message": "Request is missing Authentication Token",
}
LIST_TABLES = {b"x-amz-target": b"DynamoDB_20120810.ListTables"}
JSON = {b"content-type": b"application/json"}


@pytest.fixture
def protocol(engine: FakeEngine) -> DynamoDBProtocol:
    return DynamoDBProtocol(engine)


def ask(
    protocol: DynamoDBProtocol,
    headers: dict[bytes, bytes],
    body: bytes = b"",
    method: bytes = b"POST",
    target: bytes = b"/",
) -> Response:
    response = protocol.answer(Request(method, target, headers, body))
    assert re.fullmatch(rb"[0-9A-Z]{52}", response.request_id)
    assert response.crc32 == zlib.crc32(response.body)
    return response


def call(protocol: DynamoDBProtocol, operation: str, request: Any = None, **more: bytes) -> Response:
    return ask(protocol, headers_for(operation, **more), orjson.dumps(request or {}))


# Recorded: method, headers, body, then the checksum of the service's own answer.
NO_PAGE_CASES = [
    (b"OPTIONS", {}, b""),
    (b"PUT", {}, b""),
    (b"DELETE", {}, b""),
    (b"POST", {}, b"hi"),
    (b"POST", {b"content-type": b"whatever"}, b"hi"),
    (b"POST", {b"content-type": b"application/x-amz-json-1.1"}, b"hi"),
    (b"POST", {b"content-type": b"application/jsonasdf"}, b"hi"),
]


@pytest.mark.parametrize(("method", "headers", "body"), NO_PAGE_CASES)
def test_unknown_requests_return_404(
    protocol: DynamoDBProtocol, method: bytes, headers: dict[bytes, bytes], body: bytes
) -> None:
    response = ask(protocol, headers, body, method)
    assert response.status == 404
    assert response.body == b"<UnknownOperationException/>\n"
    assert response.crc32 == 3552371480


@pytest.mark.parametrize(
    ("headers", "body", "crc32", "expected"),
    [
        (JSON, b"hi", 3948637019, SERIALIZATION),
        ({b"content-type": b"application/json;"}, b"hi", 3948637019, SERIALIZATION),
        ({b"content-type": b"  application/json  ;   asfd"}, b"hi", 3948637019, SERIALIZATION),
        ({b"content-type": b"application/x-amz-json-1.0"}, b"hi", 3948637019, SERIALIZATION),
        ({b"content-type": b"application/x-amz-json-1.0;x"}, b"hi", 3948637019, SERIALIZATION),
        ({}, b"", 1368724161, UNKNOWN),
        (JSON, b"{}", 1368724161, UNKNOWN),
        ({b"content-type": b"application/x-amz-json-1.0"}, b"{}", 1368724161, UNKNOWN),
        ({b"x-amz-target": b"whatever"}, b"", 1368724161, UNKNOWN),
        ({b"x-amz-target": b"DynamoDB_20120810.ListTable"}, b"", 1368724161, UNKNOWN),
        ({b"x-amz-target": b"DynamoDB_20120810.ListStreams"}, b"", 1368724161, UNKNOWN),
        ({b"x-amz-target": b"DynamoDBStreams_20120810.PutItem"}, b"", 1368724161, UNKNOWN),
        ({b"x-amz-target": b"DynamoDB_20111205.PutItem"}, b"", 1368724161, UNKNOWN),
        (LIST_TABLES, b"", 2088342776, MISSING),
        ({**LIST_TABLES, b"authorization": b"AWS4"}, b"", 2088342776, MISSING),
    ],
)
def test_recorded_errors_are_reproduced(
    protocol: DynamoDBProtocol,
    headers: dict[bytes, bytes],
    body: bytes,
    crc32: int,
    expected: dict[str, str],
) -> None:
    response = ask(protocol, headers, body)
    assert response.status == 400
    assert orjson.loads(response.body) == expected
    assert response.crc32 == crc32
    sent_1_0 = headers.get(b"content-type", b"").startswith(JSON_1_0)
    assert response.content_type == (JSON_1_0 if sent_1_0 else b"application/json")


def test_an_unsupported_operation_is_rejected_by_name(protocol: DynamoDBProtocol) -> None:
    response = ask(protocol, {**JSON, b"x-amz-target": b"DynamoDB_20120810.ListGlobalTables"}, b"{}")
    wording = "keyplan does not support the operation ListGlobalTables: it has no replicas in other regions"
    assert orjson.loads(response.body) == {**UNKNOWN, "message": wording}


@pytest.mark.parametrize("target", [b"/", b"/?a=b", b"/ping"])
def test_the_health_page_is_served(protocol: DynamoDBProtocol, target: bytes) -> None:
    response = ask(protocol, {}, b"", b"GET", target)
    assert response.status == 200
    assert response.body == b"healthy: dynamodb.us-east-1.amazonaws.com "
    assert response.crc32 == 3128867991


def test_the_health_page_names_the_region_of_the_engine(engine: FakeEngine) -> None:
    engine.region = "eu-west-1"
    assert ask(DynamoDBProtocol(engine), {}, b"", b"GET").body == b"healthy: dynamodb.eu-west-1.amazonaws.com "


@pytest.mark.parametrize("target", [b"/abc", b"/-", b"/index.htm", b"/health"])
def test_unknown_pages_return_404(protocol: DynamoDBProtocol, target: bytes) -> None:
    assert ask(protocol, {}, b"", b"GET", target).status == 404


@pytest.mark.parametrize("target", [b"/garbage", b"/garbage?a=b", b"/ping", b"//", b"http://localhost/garbage"])
def test_unknown_paths_return_404(protocol: DynamoDBProtocol, engine: FakeEngine, target: bytes) -> None:
    # ScyllaDB's pull request 23442, a test that also runs against AWS: 404 of a signed POST to /garbage.
    response = ask(protocol, headers_for("PutItem"), b"{}", target=target)
    assert (response.status, response.body) == (404, b"<UnknownOperationException/>\n")
    assert engine.calls == []


@pytest.mark.parametrize("target", [b"/", b"/?a=b", b"http://localhost:8000/", b"http://localhost:8000"])
def test_every_spelling_of_the_root_path_is_served(protocol: DynamoDBProtocol, target: bytes) -> None:
    assert ask(protocol, headers_for("ListTables"), b"{}", target=target).status == 200


def test_the_health_page_names_the_requested_host(protocol: DynamoDBProtocol) -> None:
    # test/alternator/test_health.py of ScyllaDB, which also runs against AWS: the body names host and port of the URL.
    response = ask(protocol, {b"host": b"localhost:8000"}, b"", b"GET")
    assert response.body == b"healthy: localhost:8000 "


@pytest.mark.parametrize("host", [b"localhost:8000", b"[::1]:8000", b"db.example"])
def test_discovery_names_the_requested_host(host: bytes) -> None:
    # test/alternator/test_describe_endpoints.py of ScyllaDB: the address, without a scheme, answers further requests.
    with Engine.memory() as engine:
        response = call(DynamoDBProtocol(engine), "DescribeEndpoints", host=host)
    assert orjson.loads(response.body) == {"Endpoints": [{"Address": host.decode(), "CachePeriodInMinutes": 1440}]}


LOCAL_HOSTS = [b"localhost", b"LocalHost:8000", b"localhost.", b"127.0.0.1:8000", b"127.9.9.9", b"[::1]", b"[::1]:8000"]
FOREIGN_HOSTS = [
    b"evil.example", b"evil.example:8000", b"localhost.evil.example", b"127.0.0.1.evil.example", b"10.0.0.1:8000",
    b"[::2]", b"", b"localhost@evil.example", b"localhost:x", b"localhost,evil.example", b"0.0.0.0:8000",
]  # fmt: skip


@pytest.fixture
def local(engine: FakeEngine) -> DynamoDBProtocol:
    return DynamoDBProtocol(engine, hosts=LocalHosts(["Host.Docker.Internal"]))


@pytest.mark.parametrize("host", [*LOCAL_HOSTS, b"host.docker.internal:8000"])
def test_local_hosts_are_served(local: DynamoDBProtocol, host: bytes) -> None:
    for _ in range(2):
        assert call(local, "ListTables", host=host, origin=b"http://" + host).status == 200


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
@pytest.mark.parametrize("method", [b"POST", b"GET", b"OPTIONS", b"PUT"])
def test_a_rebound_host_name_is_rejected(
    local: DynamoDBProtocol, engine: FakeEngine, host: bytes, method: bytes
) -> None:
    for _ in range(2):
        response = ask(local, headers_for("DeleteTable", host=host), b"{", method, b"/garbage")
        assert response.status == 403
        error = orjson.loads(response.body)
        assert error["__type"] == "com.amazon.coral.service#AccessDeniedException"
        assert repr(host.decode()) in error["Message"]
        assert "--allow-host" in error["Message"]
    assert engine.calls == []


@pytest.mark.parametrize(
    "origin", [b"null", b"http://evil.example", b"http://localhost.evil.example:3000", b"file://", b"x"]
)
def test_a_page_of_another_origin_is_rejected(local: DynamoDBProtocol, engine: FakeEngine, origin: bytes) -> None:
    for method in (b"POST", b"OPTIONS"):
        headers = headers_for("ListTables", host=b"localhost:8000", origin=origin)
        response = ask(local, headers, b"{}", method)
        assert (response.status, response.extra) == (403, ())
        assert repr(origin.decode()) in orjson.loads(response.body)["Message"]
    assert engine.calls == []


def test_local_pages_may_call(local: DynamoDBProtocol) -> None:
    response = call(local, "ListTables", host=b"127.0.0.1:8000", origin=b"http://localhost:3000")
    assert response.status == 200
    assert dict(response.extra)[b"Access-Control-Allow-Origin"] == b"*"


def test_the_number_of_cached_hosts_is_bounded(engine: FakeEngine) -> None:
    protocol = DynamoDBProtocol(engine, hosts=LocalHosts())
    for port in range(1000):
        assert call(protocol, "ListTables", host=b"localhost:%d" % port).status == 200
    assert call(protocol, "ListTables", host=b"evil.example").status == 403


def test_preflight_allows_the_requested_method_and_headers(protocol: DynamoDBProtocol) -> None:
    headers = {
        b"origin": b"http://example.com",
        b"access-control-request-headers": b"a, b, c",
        b"access-control-request-method": b"d",
    }
    response = ask(protocol, headers, b"", b"OPTIONS")
    assert (response.status, response.body) == (200, b"")
    extra = dict(response.extra)
    assert extra[b"Access-Control-Allow-Origin"] == b"*"
    assert extra[b"Access-Control-Max-Age"] == b"172800"
    assert extra[b"Access-Control-Allow-Headers"] == b"a, b, c"
    assert extra[b"Access-Control-Allow-Methods"] == b"d"


@pytest.mark.parametrize("method", [b"GET", b"POST", b"PUT"])
def test_cors_headers_are_sent_only_with_an_origin(protocol: DynamoDBProtocol, method: bytes) -> None:
    assert ask(protocol, {}, b"", method).extra == ()
    extra = dict(ask(protocol, {b"origin": b"x"}, b"", method).extra)
    assert extra[b"Access-Control-Allow-Origin"] == b"*"
    assert b"x-amzn-RequestId" in extra[b"Access-Control-Expose-Headers"]
    assert b"Access-Control-Max-Age" not in extra


def test_a_call_reaches_the_engine_and_its_response_is_returned(protocol: DynamoDBProtocol, engine: FakeEngine) -> None:
    item = {"p": {"S": "é"}}
    assert call(protocol, "PutItem", {"Item": item}).body == b"{}"
    response = call(protocol, "GetItem", {"Key": item})
    assert response.status == 200
    assert response.content_type == JSON_1_0
    assert orjson.loads(response.body) == {"Item": item}
    assert engine.calls == ["PutItem", "GetItem"]


def test_streams_have_their_own_prefix(protocol: DynamoDBProtocol, engine: FakeEngine) -> None:
    assert call(protocol, "ListStreams").status == 200
    assert engine.calls == ["ListStreams"]


def test_tagging_returns_an_empty_body(protocol: DynamoDBProtocol) -> None:
    response = call(protocol, "TagResource")
    assert (response.status, response.body, response.crc32) == (200, b"", 0)


@pytest.mark.parametrize("operation", ["CreateGlobalTable", "PutResourcePolicy"])
def test_unsupported_operations_are_rejected_by_name(protocol: DynamoDBProtocol, operation: str) -> None:
    response = call(protocol, operation)
    assert response.status == 400
    error = orjson.loads(response.body)
    assert error["__type"] == UNKNOWN["__type"]
    assert operation in error["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"}}}", b"}{", b"habababa", b"124463gwe", b"><#", b'"""', b'{""}', b"{7}", b'{"2":{}',
        b",", b"{,}", b"{{}}", b'"a": "b"', b"{" * 10000 + b"}" * 10000, b"[" * 5000 + b"]" * 5000,
        b'{"a":' * 3000 + b"1" + b"}" * 3000, b'{"a":"\xff"}', b"\xef\xbb\xbf{}", b"\x00",
        b'{"a":"\\ud800"}', b'{"a":NaN}', b'{"a":01}', b"{'a':1}", b'{"a":"\x01"}', b"null", b"",
    ],
)  # fmt: skip
def test_a_body_that_is_not_a_json_object_is_a_serialization_error(
    protocol: DynamoDBProtocol, engine: FakeEngine, body: bytes
) -> None:
    response = ask(protocol, headers_for("PutItem"), body)
    assert response.status == 400
    assert orjson.loads(response.body) == SERIALIZATION
    assert engine.calls == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"7", "Unexpected value type in payload"),
        (b'"x"', "Unexpected value type in payload"),
        (b"true", "Unexpected value type in payload"),
        (
            b"[]",
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.PutItemInput",
        ),
    ],
)
def test_other_json_is_rejected_with_a_capitalized_message(
    protocol: DynamoDBProtocol, body: bytes, message: str
) -> None:
    response = ask(protocol, headers_for("PutItem"), body)
    assert orjson.loads(response.body) == {**SERIALIZATION, "Message": message}


def test_the_last_of_two_equal_members_counts(protocol: DynamoDBProtocol, engine: FakeEngine) -> None:
    ask(protocol, headers_for("PutItem"), b'{"Item":{"p":{"S":"a"}},"Item":{"p":{"S":"b"}}}')
    assert list(engine.items.values()) == [{"p": {"S": "b"}}]


def test_nesting_allowed_by_json_reaches_the_engine(protocol: DynamoDBProtocol, engine: FakeEngine) -> None:
    body = b'{"Item":' + b'{"M":' * 1000 + b"{}" + b"}" * 1000 + b"}"
    assert ask(protocol, headers_for("UpdateItem"), body).status == 200


@pytest.mark.parametrize(
    ("error", "status", "expected"),
    [
        (
            errors.ValidationError("bad"),
            400,
            {"__type": "com.amazon.coral.validate#ValidationException", "message": "bad"},
        ),
        (
            errors.ConditionalCheckFailedError("no", Item={"p": {"S": "x"}}),
            400,
            {
                "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
                "Item": {"p": {"S": "x"}},
                "message": "no",
            },
        ),
        (
            errors.TransactionCanceledError("cancelled", CancellationReasons=[{"Code": "None"}]),
            400,
            {
                "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
                "CancellationReasons": [{"Code": "None"}],
                "Message": "cancelled",
            },
        ),
        (
            errors.SerializationError("odd"),
            400,
            {"__type": "com.amazon.coral.service#SerializationException", "Message": "odd"},
        ),
        (
            errors.InternalServerError("oh"),
            500,
            {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "oh"},
        ),
        (
            errors.DatabaseFullError("disk full"),
            500,
            {
                "__type": "com.amazonaws.dynamodb.v20120810#InternalServerError",
                "message": "The database could not be used: disk full",
            },
        ),
        (
            errors.EngineClosedError("closed"),
            503,
            {
                "__type": "com.amazonaws.dynamodb.v20120810#ServiceUnavailable",
                "message": "The service is unavailable. Please try again shortly.",
            },
        ),
    ],
)
def test_errors_have_the_status_and_body_of_the_service(
    protocol: DynamoDBProtocol,
    engine: FakeEngine,
    error: Exception,
    status: int,
    expected: dict[str, Any],
) -> None:
    engine.raises["PutItem"] = error
    response = call(protocol, "PutItem")
    assert response.status == status
    assert orjson.loads(response.body) == expected


@pytest.mark.parametrize("error", [KeyError("secret"), RecursionError("secret"), MemoryError()])
def test_unexpected_errors_are_logged_and_returned_without_details(
    protocol: DynamoDBProtocol,
    engine: FakeEngine,
    error: Exception,
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine.raises["PutItem"] = error
    with caplog.at_level(logging.ERROR, "keyplan.server"):
        response = call(protocol, "PutItem")
    assert response.status == 500
    assert orjson.loads(response.body)["__type"].endswith("#InternalServerError")
    assert b"secret" not in response.body
    assert b"Traceback" not in response.body
    assert type(error).__name__ in caplog.text


@pytest.mark.parametrize(
    "response", [{"odd": object()}, {"odd": {1, 2}}, {"odd": b"bytes"}], ids=["object", "set", "bytes"]
)
def test_a_response_that_is_not_json_is_an_internal_error(
    protocol: DynamoDBProtocol, monkeypatch: pytest.MonkeyPatch, response: Any
) -> None:
    monkeypatch.setattr(protocol, "_call", lambda operation, request: response)
    assert call(protocol, "GetItem").status == 500


def test_unserializable_members_of_an_error_are_an_internal_error(
    protocol: DynamoDBProtocol, engine: FakeEngine
) -> None:
    engine.raises["PutItem"] = errors.ConditionalCheckFailedError("no", Item=object())
    assert call(protocol, "PutItem").status == 500


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        (b"gzip", gzip.compress),
        (b"GZIP", gzip.compress),
        (b"deflate", zlib.compress),
        (b"identity", bytes),
        (b"", bytes),
        (b"gzip", lambda body: gzip.compress(body[:10]) + gzip.compress(body[10:])),
        (b"gzip", lambda body: gzip.compress(body) + b"junk"),
        (b"gzip", lambda body: gzip.compress(body) + b"\x00"),
    ],
)
def test_compressed_requests_are_accepted(
    protocol: DynamoDBProtocol, engine: FakeEngine, encoding: bytes, pack: Any
) -> None:
    body = pack(b'{"Item":{"p":{"S":"' + b"x" * 100_000 + b'"}}}')
    headers = headers_for("PutItem", content_encoding=encoding)
    assert ask(protocol, headers, body).status == 200
    assert len(engine.items) == 1


PACKED = gzip.compress(b'{"Item":{"p":{"S":"x"}}}', mtime=0)  # parallel workers must name their cases alike


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        (b"garbage", b"{}"),
        (b"gzip", b"{}"),
        (b"gzip", b""),
        (b"deflate", b""),
        (b"deflate", b"{}"),
        (b"gzip", PACKED[:-1]),
        (b"gzip", PACKED + PACKED[:-1]),
        (b"gzip", gzip.compress(b"", mtime=0) * 1001),
        (b"deflate", zlib.compress(b"{") + zlib.compress(b"}")),
        (b"gzip, gzip", PACKED),
    ],
)
def test_invalid_encodings_are_internal_errors_as_on_the_service(
    protocol: DynamoDBProtocol, engine: FakeEngine, encoding: bytes, body: bytes
) -> None:
    response = ask(protocol, headers_for("PutItem", content_encoding=encoding), body)
    assert response.status == 500
    assert orjson.loads(response.body)["__type"].endswith("#InternalServerError")
    assert engine.calls == []


@pytest.mark.parametrize(("encoding", "pack"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress)])
def test_a_small_body_that_inflates_beyond_the_limit_returns_413(
    protocol: DynamoDBProtocol, engine: FakeEngine, encoding: bytes, pack: Any
) -> None:
    body = pack(b'{"a":1' + b" " * (16 * 1024 * 1024) + b"}")
    assert len(body) < 100_000
    response = ask(protocol, headers_for("PutItem", content_encoding=encoding), body)
    assert (response.status, response.unsized) == (413, True)
    assert engine.calls == []


def test_large_responses_are_compressed_on_request(protocol: DynamoDBProtocol) -> None:
    request = {"Size": 5000}
    plain = call(protocol, "Scan", request)
    packed = call(protocol, "Scan", request, accept_encoding=b"gzip")
    deflated = call(protocol, "Scan", request, accept_encoding=b"deflate")
    small = call(protocol, "Scan", {"Size": 10}, accept_encoding=b"gzip")
    assert plain.extra == small.extra == ()
    assert dict(packed.extra)[b"Content-Encoding"] == b"gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert zlib.decompress(deflated.body) == plain.body
    assert len(packed.body) * 30 < len(plain.body)


def test_responses_are_compressed_from_4_kb(protocol: DynamoDBProtocol) -> None:
    overhead = len(b'{"Filler":""}')
    for size, packed in ((4095 - overhead, False), (4096 - overhead, True)):
        response = call(protocol, "Scan", {"Size": size}, accept_encoding=b"gzip")
        assert bool(response.extra) is packed


def test_signatures_are_checked_before_the_body_is_validated(protocol: DynamoDBProtocol) -> None:
    unsigned = {name: value for name, value in headers_for("PutItem").items() if name not in SIGNED}
    assert orjson.loads(ask(protocol, unsigned, b"7").body) == MISSING
    assert orjson.loads(ask(protocol, unsigned, b"{").body) == SERIALIZATION


def test_request_ids_differ(protocol: DynamoDBProtocol) -> None:
    assert len({call(protocol, "PutItem").request_id for _ in range(1000)}) == 1000
