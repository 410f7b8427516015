"""First contentful paint and weight of each system's first pages on a slow phone.

    python -m tests.systems.page_figures

The profile is that of Lighthouse for phones: 1.6 Mbit/s, 150 ms round trip, the processor slowed down four times.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.table import Table
from tests.browser import PHONE, Windows, launched

from keyplan_systems.up import registry
from keyplan_systems.up.launch import Settings, prepare
from keyplan_systems.web.server import Running

_BYTES_PER_S = 1_600_000 / 8
_LATENCY_MS = 150
_CPU = 4


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
            if system.start is not None:
                subject = system.people[0].subject if system.people else None
                paint_ms, size = measured(browser, url, name, subject)
                table.add_row(f"/{name}/{system.start}", f"{paint_ms:,.0f}", f"{size / 1000:.1f}")
    Console().print(table)


def measured(browser: Browser, url: str, system: str, subject: str | None) -> tuple[float, float]:
    """Return first contentful paint and bytes of a system's first page, with an empty cache."""
    windows = Windows(browser)
    window = windows.open(url, width=PHONE)
    if subject is not None:
        window.sign_in(system, subject)
    page = window.context.new_page()
    session = window.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.clearBrowserCache")
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
    window.goto(f"/{system}/app/")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length > 0")
    figures = window.weight()
    window.context.close()
    return figures["paint_ms"], figures["bytes"]


if __name__ == "__main__":
    main()
