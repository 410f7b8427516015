"""Conversion of calls to the bytes of HTTP requests, and a small loopback client for setting up targets."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any
from urllib.parse import urlsplit

from bench.workload import Call, Request

TARGET_PREFIX = "DynamoDB_20120810"
CALL_TIMEOUT_S = 60
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})

# Well formed but not valid: on loopback, the targets parse a signature but do not verify it.
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Date": "20250101T000000Z",
    "Authorization": (
        "AWS4-HMAC-SHA256 Credential=bench/20250101/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-target, "
        "Signature=0000000000000000000000000000000000000000000000000000000000000000"
    ),
}


class AnswerError(Exception):
    """Raised if the response to a set-up or probe call shows that the requested operation was not run."""


def request_bytes(call: Call, host: str) -> bytes:
    """Return the complete HTTP/1.1 request for a call, ready to be replayed."""
    body = json.dumps(call.request, separators=(",", ":")).encode()
    headers = {
        "Host": host,
        **HEADERS,
        "X-Amz-Target": f"{TARGET_PREFIX}.{call.name}",
        "Content-Length": str(len(body)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST / HTTP/1.1\r\n{head}\r\n".encode() + body


class Endpoint:
    """A keep-alive connection to a DynamoDB endpoint on this machine. It must not be used by several threads
    concurrently.

    Raises ValueError for an address that is not loopback, so that the harness never puts load on other machines.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.hostname not in LOOPBACK_HOSTS:
            raise ValueError(f"{url}: only endpoints on this machine are measured")
        self.url = url
        self.host = parts.hostname
        self.port = parts.port or 80
        self._connection = http.client.HTTPConnection(self.host, self.port, timeout=CALL_TIMEOUT_S)

    def close(self) -> None:
        self._connection.close()

    def send(self, call: Call) -> tuple[int, bytes]:
        """Send a call and return the status and the body of the response."""
        body = json.dumps(call.request, separators=(",", ":")).encode()
        headers = {**HEADERS, "X-Amz-Target": f"{TARGET_PREFIX}.{call.name}"}
        try:
            self._connection.request("POST", "/", body, headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise AnswerError(f"{self.url} did not answer {call.name}: {error}") from error

    def call(self, call: Call) -> Request:
        """Send a call and return the parsed response. Raises AnswerError if the status is not 200."""
        status, body = self.send(call)
        if status != 200:
            raise AnswerError(f"{self.url} answered {call.name} with {status}: {body[:300].decode(errors='replace')}")
        response: dict[str, Any] = json.loads(body)
        return response

    def has_table(self, name: str) -> bool:
        return name in self.call(Call("ListTables", {"ExclusiveStartTableName": name[:-1], "Limit": 1}))["TableNames"]

    def wait_for_table(self, name: str, patience_s: float = 20) -> None:
        """Wait until the table is ACTIVE."""
        deadline_s = time.monotonic() + patience_s
        while self.call(Call("DescribeTable", {"TableName": name}))["Table"]["TableStatus"] != "ACTIVE":
            if time.monotonic() > deadline_s:
                raise AnswerError(f"{self.url}: table {name} was not ACTIVE after {patience_s:g} s")
            time.sleep(0.05)
