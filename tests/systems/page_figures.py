"""First contentful paint and weight of each system's main pages on a slow phone.

    python -m tests.systems.page_figures

The profile is that of Lighthouse for phones: 1.6 Mbit/s, 150 ms round trip, the processor slowed down four times.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.table import Table
from tests.browser import PHONE, Window, Windows, launched

from keyplan_systems.up import registry
from keyplan_systems.up.launch import Settings, prepare
from keyplan_systems.web.server import Running

_BYTES_PER_S = 1_600_000 / 8
_LATENCY_MS = 150
_CPU = 4
_PATHS = {
    "ask_a_human": ("", "leaderboard", "you", "agents"),
    "venue_booking": ("", "request", "bookings"),
    "forum": ("", "others", "threads/11/1001"),
    "thinking_trainer": ("", "scenarios/late-bus", "profile"),
    "todo": ("", "?view=all", "dashboard"),
}
"""Pages below each system's app/, seen by its first sample person."""


def main() -> None:
    table = Table("page", "first contentful paint, ms", "scripts and styles, compressed KB")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        host = prepare(Settings(folder), stack, lambda _line: None)
        url = stack.enter_context(Running(host)).url
        stack.callback(host.workers.stop)
        browser = stack.enter_context(launched(stack.enter_context(sync_playwright())))
        for name in registry.NAMES:
            system = registry.load(name)
            for path in _PATHS[name]:
                windows = Windows(browser)
                warm_window, window = windows.open(url, width=PHONE), windows.open(url, width=PHONE)
                for each_window in (warm_window, window):
                    if system.people:
                        each_window.sign_in(name, system.people[0].subject)
                warm_window.goto(f"/{name}/app/{path}")  # the server has read its templates, the other browser nothing
                paint_ms, size = measure_page(window, f"/{name}/app/{path}", is_slow=True)
                for each_window in (warm_window, window):
                    each_window.context.close()
                table.add_row(f"/{name}/app/{path}", f"{paint_ms:,.0f}", f"{size / 1000:.1f}")
    Console().print(table)


def measure_page(window: Window, path: str, *, is_slow: bool) -> tuple[float, float]:
    """Return first contentful paint in ms and bytes of a page with an empty cache, on a slow phone if `is_slow`."""
    page = window.context.new_page()
    session = window.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.clearBrowserCache")
    if is_slow:
        session.send(
            "Network.emulateNetworkConditions",
            {
                "offline": False,
                "latency": _LATENCY_MS,
                "downloadThroughput": _BYTES_PER_S,
                "uploadThroughput": _BYTES_PER_S / 2,
            },
        )
        session.send("Emulation.setCPUThrottlingRate", {"rate": _CPU})
    window.page = page
    window.goto(path)
    while not (figures := window.weight())["paint_ms"]:
        page.wait_for_timeout(20)
    page.close()
    return figures["paint_ms"], figures["bytes"]


if __name__ == "__main__":
    main()
