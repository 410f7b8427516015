"""Real SMTP server on a free port of this machine: plain, STARTTLS or TLS, with optional passwords and refusals."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST = "127.0.0.1"


class Inbox:
    """Received letters; `answers` maps a recipient, or DATA, to an answer in place of acceptance."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.answers: dict[str, str] = {}
        self.encrypted: list[bool] = []

    async def handle_RCPT(self, server: Any, session: Any, envelope: Envelope, address: str, options: Any) -> str:  # noqa: N802 - the server calls it so
        """Accept a recipient, or give the scripted answer."""
        if address in self.answers:
            return self.answers[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:  # noqa: N802 - the server calls it so
        """Accept a letter, or give the scripted answer."""
        if "DATA" in self.answers:
            return self.answers["DATA"]
        self.envelopes.append(envelope)
        self.encrypted.append(server.transport.get_extra_info("ssl_object") is not None)
        return "250 taken"


@contextmanager
def smtp_server(inbox: Inbox, *, over_tls: ssl.SSLContext | None = None, **options: Any) -> Iterator[int]:
    """Run the server in a thread; yield its port."""
    loop = asyncio.new_event_loop()

    def protocol() -> SMTP:
        return SMTP(inbox, loop=loop, hostname="mail.test", **options)

    server = loop.run_until_complete(loop.create_server(protocol, HOST, 0, ssl=over_tls))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await server.wait_closed()


def knows_ada(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
    """Accept the user ada with the password lovelace."""
    good = (data.login, data.password) == (b"ada", b"lovelace")
    return AuthResult(success=good, handled=False)


def certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Return a server context with a certificate for this machine's address, and the file of its authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail.test")])
    now = datetime.now(UTC)
    new_certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority, private = folder / "ca.pem", folder / "key.pem"
    authority.write_bytes(new_certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, private)
    return context, authority
