"""Checks of Host and Origin headers, for servers on a loopback address that accept any credentials.

A web page can reach such a server by DNS rebinding: the page's host name is changed to resolve to 127.0.0.1, and the
browser then treats the server as part of the same site. However, the Host header still contains this host name, as does
the Origin header of a cross-origin request.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache

from keyplan.dynamodb.messages.protocol import host_not_local, origin_not_local

_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/\s]+?)\.?(?::[0-9]*)?", re.ASCII)
_MAX_REMEMBERED = 256


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Return True if the name or address is a loopback address, which only programs on this machine can reach."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class LocalHosts:
    """Checks Host and Origin headers. Loopback names, loopback addresses and the additional `names` are accepted."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._accepted: set[bytes] = set()  # authorities as sent, because nearly all requests have the same one

    def refusal(self, headers: dict[bytes, bytes]) -> str | None:
        """Return the reason to reject a request with these headers, or None to accept the request.

        A request without a Host header is accepted, because it cannot come from a browser.
        """
        host = headers.get(b"host")
        if host is not None and host not in self._accepted and not self._accepts(host):
            return host_not_local(host.decode("latin-1"))
        if b"origin" in headers:
            origin = headers[b"origin"]
            authority = origin.partition(b"://")[2]
            if authority not in self._accepted and not self._accepts(authority):
                return origin_not_local(origin.decode("latin-1"))
        return None

    def _accepts(self, authority: bytes) -> bool:
        match = _AUTHORITY.fullmatch(authority.decode("latin-1").lower())
        if match is None or not (match[1] in self._names or is_loopback(match[1])):
            return False
        if len(self._accepted) < _MAX_REMEMBERED:
            self._accepted.add(authority)
        return True
