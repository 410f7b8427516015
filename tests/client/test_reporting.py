"""Reports of a meter to a console."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import orjson
import pytest

from keyplan.client.reporting import reporting
from keyplan.client.requests import Meter, Usage, Wait
from keyplan.cost.units import ConsumedUnits


class Receiver(ThreadingHTTPServer):
    """Console that keeps the reports it gets, and answers with a status."""

    status = 204
    reports: list[tuple[str, str | None, dict[str, Any]]]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.reports.append((self.path, self.headers["Authorization"], orjson.loads(body)))
        self.send_response(self.server.status)
        if self.server.status == 307:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        self.end_headers()

    def log_message(self, *_args: Any) -> None:
        """Log nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver(("127.0.0.1", 0), _Handler)
    server.reports = []
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def meter() -> Meter:
    meter = Meter()
    program = meter.measured("tasks", iter_once())
    for _ in program:
        pass
    return meter


def iter_once() -> Any:
    yield Wait(0)


def link(receiver: Receiver) -> str:
    return f"http://127.0.0.1:{receiver.server_port}/console/?token=secret"


def test_the_last_report_is_sent_at_the_end_of_the_block(receiver: Receiver, meter: Meter) -> None:
    with reporting(meter, link(receiver), program="orders", every_s=1000):
        pass
    ((path, authorization, report),) = receiver.reports
    assert (path, authorization) == ("/console/load/reports", "Bearer secret")
    assert report["program"] == "orders"
    assert report["usage"]["tasks"]["requests"] == 0


def test_a_rejecting_console_is_logged_as_a_warning(
    receiver: Receiver, meter: Meter, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.status = 401
    with caplog.at_level(logging.WARNING), reporting(meter, link(receiver), program="orders", every_s=1000):
        pass
    assert "the console did not accept the report: HTTP Error 401" in caplog.text


def test_the_token_follows_no_redirect(receiver: Receiver, meter: Meter) -> None:
    receiver.status = 307
    with reporting(meter, link(receiver), program="orders", every_s=1000):
        pass
    assert [path for path, _, _ in receiver.reports] == ["/console/load/reports"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:8001/console/", "console?token=x", "file:///etc/passwd?token=x"])
def test_a_link_without_a_token_is_rejected(meter: Meter, url: str) -> None:
    with pytest.raises(ValueError, match="link with its token"), reporting(meter, url, program="orders"):
        pass


def test_usage_adds_failed_requests_and_durations() -> None:
    total = Usage(1, 2, 0, ConsumedUnits(), failed=1, elapsed_s=0.5) + Usage(1, 1, 1, ConsumedUnits(), elapsed_s=0.25)
    assert (total.requests, total.throttled, total.failed, total.elapsed_s) == (3, 1, 1, 0.75)
