"""A short run of the server's fuzzer, and arbitrary JSON through the pure protocol."""

from __future__ import annotations

import json

import orjson
from hypothesis import given
from hypothesis import strategies as st
from tests.server.fake_engine import FakeEngine
from tests.server.fuzz_door import fuzz
from tests.server.plain_http import headers_for

from keyplan.engine.commands import OPERATIONS, UNSUPPORTED
from keyplan.server.protocol import DynamoDBProtocol
from keyplan.server.wire import Request

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_mutated_requests_are_answered(engine: FakeEngine) -> None:
    counts = fuzz(engine, count=400, seed=20260101)
    assert {200, 400} <= set(counts)


@given(VALUES, st.sampled_from(sorted({*OPERATIONS, *UNSUPPORTED})))
def test_any_json_is_answered(value: object, operation: str) -> None:
    body = json.dumps(value).encode()
    response = DynamoDBProtocol(FakeEngine()).answer(Request(b"POST", b"/", headers_for(operation), body))
    assert response.status in (200, 400)
    if response.status == 400:
        assert "#" in orjson.loads(response.body)["__type"]


@given(
    st.sampled_from([b"POST", b"GET", b"OPTIONS", b"PUT", b""]),
    st.binary(),
    st.dictionaries(
        st.sampled_from(
            [
                b"accept-encoding",
                b"authorization",
                b"content-encoding",
                b"content-type",
                b"origin",
                b"x-amz-date",
                b"x-amz-target",
            ]
        ),
        st.binary(),
    ),
    st.binary(),
)
def test_any_request_is_answered(method: bytes, target: bytes, headers: dict[bytes, bytes], body: bytes) -> None:
    protocol = DynamoDBProtocol(FakeEngine())
    response = protocol.answer(Request(method, target, headers, body))
    assert response.status in (200, 400, 404, 500)
    complete = protocol.answer(Request(b"POST", target, {**headers_for("GetItem"), **headers}, body))
    assert complete.status in (200, 400, 404, 500)
