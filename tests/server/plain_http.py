"""An HTTP client that sends exactly the given bytes, and the requests of the tests."""

from __future__ import annotations

import socket
import zlib
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import orjson

AUTHORIZATION = (
    b"AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/dynamodb/aws4_request, "
    b"SignedHeaders=host;x-amz-date, Signature=0123456789abcdef"
)
SIGNED = {b"authorization": AUTHORIZATION, b"x-amz-date": b"20260101T000000Z"}
JSON_1_0 = b"application/x-amz-json-1.0"


def headers_for(operation: str, **more: bytes) -> dict[bytes, bytes]:
    """Return an SDK's headers for an operation; further headers by keyword."""
    prefix = b"DynamoDBStreams" if operation.endswith("Streams") else b"DynamoDB"
    headers = {
        b"content-type": JSON_1_0,
        b"x-amz-target": prefix + b"_20120810." + operation.encode(),
        **SIGNED,
    }
    headers.update({name.replace("_", "-").encode(): value for name, value in more.items()})
    return headers


def raw(headers: dict[bytes, bytes], body: bytes = b"", method: bytes = b"POST", target: bytes = b"/") -> bytes:
    """Return the bytes of a request; Host and Content-Length are added."""
    lines = [method + b" " + target + b" HTTP/1.1", b"Host: localhost"]
    lines += [name + b": " + value for name, value in headers.items()]
    if b"transfer-encoding" not in headers and b"content-length" not in headers:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def put_body(key: str) -> bytes:
    """Return the body of a PutItem of the key."""
    return orjson.dumps({"TableName": "tab", "Item": {"p": {"S": key}}})


def put(key: str, **more: bytes) -> bytes:
    """Return the bytes of a PutItem of the key."""
    return raw(headers_for("PutItem", **more), put_body(key))


def get(key: str) -> bytes:
    """Return the bytes of a GetItem of the key."""
    return raw(headers_for("GetItem"), orjson.dumps({"TableName": "tab", "Key": {"p": {"S": key}}}))


@dataclass
class Reply:
    """An answer as received."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON."""
        return orjson.loads(self.body)

    def check_crc(self) -> None:
        """Assert that the checksum is that of the body as sent."""
        assert int(self.headers["x-amz-crc32"]) == zlib.crc32(self.body)


class Client:
    """One connection."""

    def __init__(self, port: int, host: str = "127.0.0.1", timeout_s: float = 240.0) -> None:
        self.socket = socket.create_connection((host, port), timeout=timeout_s)
        self.file = self.socket.makefile("rb")

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send these bytes."""
        self.socket.sendall(data)

    def ask(self, data: bytes) -> Reply:
        """Send a request and read its answer."""
        self.send(data)
        return self.read(bodiless=data.startswith(b"HEAD"))

    def read(self, bodiless: bool = False) -> Reply:
        """Read one answer. Raises EOFError without one."""
        status_line = self.file.readline()
        if not status_line:
            raise EOFError
        headers: dict[str, str] = {}
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        status = int(status_line.split()[1])
        if bodiless or status == 100:
            body = b""
        elif "content-length" in headers:
            body = self.file.read(int(headers["content-length"]))
        else:
            body = self._chunked()
        return Reply(status, headers, body)

    def _chunked(self) -> bytes:
        body = b""
        while size := int(self.file.readline(), 16):
            body += self.file.read(size)
            self.file.readline()
        self.file.readline()
        return body

    def closed_by_server(self) -> bool:
        """Wait until the server closes. Return True if it sent nothing before."""
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True
