"""Sends a meter's counts to a web console at regular intervals while a program runs.

meter = Meter()
with connect("aws://eu-west-1", meter=meter) as db, reporting(meter, console_url, program="orders"):
    ...
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import parse_qs, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from keyplan.client.requests import Meter, Usage

_TIMEOUT_S: Final = 5.0
_log = logging.getLogger("keyplan.reporting")


@contextmanager
def reporting(meter: Meter, console_url: str, *, program: str, every_s: float = 5.0) -> Iterator[None]:
    """Report a meter's counts every `every_s` seconds in a separate thread, and once at the end of the block.

    `console_url` is the link that the console printed, including its token. `program` is the name that the console
    shows. If a report fails, a warning is logged. No counts are lost, because the next report contains the new totals.
    Do not call `meter.take()` in the block, because it resets the totals. Raises ValueError for a URL without a token.
    """
    url, token = _endpoint(console_url)
    run = secrets.token_hex(8)
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(every_s):
            _send(url, token, document(meter.read(), program, run))

    thread = threading.Thread(target=repeat, name="keyplan-reporting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _send(url, token, document(meter.read(), program, run))


def document(usage: dict[str, Usage], program: str, run: str) -> dict[str, Any]:
    """Return a report of the usage of each pattern, in the format that the console accepts.

    `program` is the name that the console shows, and `run` is an ID that is different for each run of the program.
    """
    return {
        "program": program,
        "run": run,
        "usage": {
            name: {
                "requests": pattern_usage.requests,
                "throttled": pattern_usage.throttled,
                "failed": pattern_usage.failed,
                "elapsed_s": pattern_usage.elapsed_s,
                "read": dict(pattern_usage.consumed.read),
                "write": dict(pattern_usage.consumed.write),
            }
            for name, pattern_usage in usage.items()
        },
    }


def _endpoint(console_url: str) -> tuple[str, str]:
    url = urlsplit(console_url)
    token = parse_qs(url.query).get("token", [""])[-1]
    if url.scheme not in {"http", "https"} or not url.netloc or not token:
        raise ValueError("expected the console's link with its token, such as http://127.0.0.1:8001/console/?token=...")
    return f"{url.scheme}://{url.netloc}{url.path.rstrip('/')}/load/reports", token


class _NoRedirects(HTTPRedirectHandler):
    """A URL handler that refuses redirects, because they could send the token to another address."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


def _send(url: str, token: str, report: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = Request(url, json.dumps(report).encode(), headers, method="POST")  # noqa: S310 - _endpoint checks it
    try:
        with build_opener(_NoRedirects).open(request, timeout=_TIMEOUT_S):
            pass
    except (URLError, OSError) as error:  # includes HTTPError
        _log.warning("the console did not accept the report: %s", error)
