"""Firebase Cloud Messaging and its token service as a small local HTTP server with scripted answers."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

PROJECT = "ask-a-human-test"
AUDIENCE = "https://oauth2.googleapis.com/token"  # the library signs for this URL, whatever the file's token_uri is
EMAIL = "push@ask-a-human-test.example"


@dataclass
class Scripted:
    """Answer of the send endpoint; a body that is not text is sent as JSON."""

    status: int
    body: object
    headers: dict[str, str] = field(default_factory=dict)


def fault(status: int, general: str, message: str, *details: dict[str, object], **headers: str) -> Scripted:
    """Return an error in the service's form."""
    body = {"error": {"code": status, "message": message, "status": general, "details": list(details)}}
    return Scripted(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def fcm_detail(code: str) -> dict[str, object]:
    """Return the detail with the service's own code."""
    return {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}


def violation(path: str) -> dict[str, object]:
    """Return the detail that names the invalid field."""
    broken = [{"field": path, "description": "not valid"}]
    return {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": broken}


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class FakeFcm:
    """Server on a free port; it checks assertions and access tokens as the real services do."""

    def __init__(self) -> None:
        self._key = _key()
        self.scripted: list[Scripted] = []
        self.sent: list[dict[str, Any]] = []
        self.token_fails: list[Scripted] = []
        self.tokens_given = 0
        self.revoked: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def key_file(self, folder: Path, token_url: str | None = None) -> Path:
        """Write a service account key file for this server, or with another token service."""
        pem = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        account = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "key-1",
            "private_key": pem.decode(),
            "client_email": EMAIL,
            "token_uri": f"{token_url or self.url}/token",
        }
        path = folder / "service-account.json"
        path.write_text(json.dumps(account))
        return path

    def answer_token(self, form: dict[str, list[str]]) -> Scripted:
        """Answer the token endpoint: an access token for a signed assertion with the right scope."""
        if self.token_fails:
            return self.token_fails.pop(0)
        public = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        claims = jwt.decode(form["assertion"][0], certs=public, audience=AUDIENCE)  # type: ignore[no-untyped-call]  # google.auth has no types
        assert claims["iss"] == EMAIL
        assert claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging"
        self.tokens_given += 1
        return Scripted(200, {"access_token": f"access-{self.tokens_given}", "expires_in": 3600})

    def answer_send(self, path: str, authorization: str, message: dict[str, Any]) -> Scripted:
        """Answer the send endpoint."""
        assert path == f"/v1/projects/{PROJECT}/messages:send"
        access = authorization.removeprefix("Bearer ")
        if not access.startswith("access-") or access in self.revoked:
            return fault(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        self.sent.append(message)
        return self.scripted.pop(0) if self.scripted else Scripted(200, {"name": f"messages/{len(self.sent)}"})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/token":
                    response = fake.answer_token(parse_qs(body.decode()))
                else:
                    response = fake.answer_send(self.path, self.headers["Authorization"], json.loads(body))
                content = response.body if isinstance(response.body, str) else json.dumps(response.body)
                self.send_response(response.status)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content.encode())))
                self.end_headers()
                self.wfile.write(content.encode())

            def log_message(self, format: str, *args: object) -> None:
                return

        return Handler
