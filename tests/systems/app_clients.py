"""Clients with tokens of an application on a real socket: the shared part of the systems' stages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import httpx
from fastapi import FastAPI

from keyplan.clock import Clock
from keyplan_systems.web.development import DevelopmentKey, issue_development_token
from keyplan_systems.web.server import Running
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys

PATIENCE_S = 240
"""Timeout of a request, generous for busy machines."""


async def passing_check() -> object:
    """Pass as a check of an application's health."""
    return None


@dataclass(kw_only=True)
class AppClients:
    """Address of an application, and the key that signs its users' tokens."""

    clock: Clock
    key: DevelopmentKey
    audience: str
    url: str = ""
    clients: list[httpx.Client] = field(default_factory=list)

    @property
    def verifier(self) -> TokenVerifier:
        """Verifier of the tokens."""
        return TokenVerifier(TokenRules(self.audience), development_keys(self.key), self.clock)

    def token(self, subject: str, /, *roles: str, **claims: Any) -> str:
        """Return a valid token."""
        return issue_development_token(
            self.key, subject, audience=self.audience, roles=roles, claims=claims, clock=self.clock, lifetime_s=10**8
        )

    def client(self, token: str | None = None, path: str = "") -> httpx.Client:
        """Return a client, with a token or without, for a path prefix."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        client = httpx.Client(base_url=f"{self.url}{path}", headers=headers, timeout=PATIENCE_S, trust_env=False)
        self.clients.append(client)
        return client

    @contextmanager
    def serve(self, app: FastAPI) -> Iterator[Self]:
        """Serve the application on a socket; close all clients afterwards."""
        with Running(app) as server:
            self.url = server.url
            try:
                yield self
            finally:
                for client in self.clients:
                    client.close()
