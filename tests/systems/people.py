"""People with tokens before an application on a real socket: what the stages of the systems have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import httpx
from fastapi import FastAPI

from keyplan.clock import Clock
from keyplan_systems.web.development import DevelopmentKey, issue_development_token
from keyplan_systems.web.serving import Running
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys

PATIENCE_S = 240
"""How long an answer is waited for: a busy machine is no reason to fail."""


async def well() -> object:
    """A check of an application's health that finds nothing."""
    return None


@dataclass(kw_only=True)
class People:
    """An application's address, and the key that signs the tokens of who asks it."""

    clock: Clock
    key: DevelopmentKey
    audience: str
    url: str = ""
    clients: list[httpx.Client] = field(default_factory=list)

    @property
    def verifier(self) -> TokenVerifier:
        """What tells good tokens from others."""
        return TokenVerifier(TokenRules(self.audience), development_keys(self.key), self.clock)

    def token(self, subject: str, /, *roles: str, **claims: Any) -> str:
        """A good token."""
        return issue_development_token(
            self.key, subject, audience=self.audience, roles=roles, claims=claims, clock=self.clock, lifetime_s=10**8
        )

    def client(self, token: str | None = None, path: str = "") -> httpx.Client:
        """A client, with a token or without, for what is under a path."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        client = httpx.Client(base_url=f"{self.url}{path}", headers=headers, timeout=PATIENCE_S, trust_env=False)
        self.clients.append(client)
        return client

    @contextmanager
    def serve(self, app: FastAPI) -> Iterator[Self]:
        """Put the application on a socket; afterwards all clients are closed."""
        with Running(app) as server:
            self.url = server.url
            try:
                yield self
            finally:
                for client in self.clients:
                    client.close()
