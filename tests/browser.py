"""Servers and Chromium for tests of pages. A window fails its test on script errors and on requests to other hosts.

    from tests.browser import browser, serve, windows  # in a conftest.py

    def test_a_task_is_added(windows: Windows, site: Site) -> None:
        ada = windows.open(site.url, width=390)
        ada.sign_in("todo", "ada")
        ada.goto("/todo/app/")
        ada.page.get_by_label("New task").fill("Buy milk")

Playwright's synchronous API keeps an event loop of this thread, so a browser lives as long as one test module only.
Tests are skipped where no Chromium is installed, unless KEYPLAN_REQUIRE_BROWSER is set: then they fail.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import quote, urlsplit

import pytest
import uvicorn.server
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Error, Page, Playwright, expect, sync_playwright

from keyplan_systems.web.server import Running
from keyplan_systems.web.tour import chromium_path

REQUIRED_VARIABLE: Final = "KEYPLAN_REQUIRE_BROWSER"
SCREENSHOTS_VARIABLE: Final = "KEYPLAN_SCREENSHOTS"
"""Environment variable of a folder in which tests leave their screenshots; without it they take none."""
PHONE, DESKTOP = 390, 1280
_TIMEOUT_MS: Final = 60_000  # generous for busy machines
_START_TIMEOUT_MS: Final = 240_000  # a browser that does not start in time would skip all tests of a file
expect.set_options(timeout=_TIMEOUT_MS)
_ARGUMENTS: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@dataclass
class Window:
    """One person's browser window, with its own cookies."""

    context: BrowserContext
    page: Page
    url: str
    """Server's URL, to which `goto` adds a path."""
    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Parts of error messages that the test expects, such as "403" for a refused request."""

    def goto(self, path: str) -> Page:
        """Open a path of the server and return the page."""
        self.page.goto(f"{self.url}{path}")
        return self.page

    def sign_in(self, system: str, subject: str, path: str | None = None) -> Page:
        """Sign in as a sample person with the form of the sign-in page, and continue at the path."""
        target = path or f"/{system}/app/"
        page = self.goto(f"/sign-in?next={quote(target, safe='')}")
        form = page.locator(
            f'form:has(input[name="system"][value="{system}"]):has(input[name="subject"][value="{subject}"])'
        )
        form.get_by_role("button").click()
        page.wait_for_url(f"{self.url}{target}")
        return page

    def check_accessibility(self) -> None:
        """Fail on violations that axe finds in the page: WCAG 2.1 A and AA, contrast included."""
        results = Axe().run(self.page, options={"resultTypes": ["violations"]})
        assert results.violations_count == 0, results.generate_report()

    def check_layout(self) -> None:
        """Fail if the page scrolls sideways, or if a button, link or field that stands alone is under 44 px high."""
        overflow = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, f"the page is {overflow} px wider than the window"
        small = self.page.evaluate(_SMALL_TARGETS)
        assert not small, f"targets under 44 px: {small}"
        clipped = self.page.evaluate(_CLIPPED_TEXTS)
        assert not clipped, f"texts wider than their element: {clipped}"

    def screenshot(self, name: str, *, full_page: bool = True) -> None:
        """Save a picture of the whole page, or of what the window shows, in the folder of KEYPLAN_SCREENSHOTS."""
        folder = os.environ.get(SCREENSHOTS_VARIABLE)
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            if full_page:
                self.page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=full_page)

    def weight(self) -> dict[str, float]:
        """Return first contentful paint in ms, and bytes transferred for scripts and styles."""
        weights: dict[str, float] = self.page.evaluate(_WEIGHT)
        return weights

    def close(self) -> None:
        """Close the window. Fails on script errors and requests to other hosts."""
        before = len(self.errors)
        self.context.close()  # interrupts the loads of a service worker, which the browser logs as failed
        interrupted = [error for error in self.errors[before:] if error.endswith("net::ERR_FAILED")]
        ignored = [*self.expected, *interrupted]
        errors = [error for error in self.errors if not any(part in error for part in ignored)]
        assert not errors, "\n".join(errors)


# Links inside running text are exempt, as in WCAG 2.5.8.
_SMALL_TARGETS: Final = """() => [...document.querySelectorAll("button, a, select, summary, input:not([type=hidden])")]
  .filter((e) => e.checkVisibility({visibilityProperty: true}))
  .filter((e) => !e.closest("p, td, li > span, .skip, label, [data-inline]"))
  .filter((e) => { const r = e.getBoundingClientRect(); return r.width > 1 && r.height > 1 && r.height < 43.5; })
  .map((e) => e.outerHTML.slice(0, 120))"""
_CLIPPED_TEXTS: Final = """() => [...document.querySelectorAll("button, .button, .segments > *, .tag, nav a")]
  .filter((e) => e.checkVisibility({visibilityProperty: true}))
  .filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
  .map((e) => e.outerHTML.slice(0, 120))"""
_WEIGHT: Final = """() => ({
  paint_ms: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
  bytes: performance.getEntriesByType("resource").filter((e) => /\\.(js|css)/.test(e.name))
    .reduce((sum, e) => sum + e.encodedBodySize, 0),
})"""


class Windows:
    """Windows of one test; all of them are closed, and checked, at its end."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._open: list[Window] = []

    def open(
        self, url: str, *, width: int = DESKTOP, dark: bool = False, scripts: bool = True, **options: Any
    ) -> Window:
        """Open a window of a new person at a server, such as `width=PHONE, scripts=False` for JavaScript off."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 844 if width == PHONE else 800},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            reduced_motion="reduce",
            has_touch=width == PHONE,
            **{"locale": "en-GB", **options},
        )
        context.set_default_timeout(_TIMEOUT_MS)
        window = Window(context, context.new_page(), url)
        context.on("page", lambda page: _watch(page, window))
        _watch(window.page, window)
        self._open.append(window)
        return window

    def close(self) -> None:
        """Close all windows. Fails on script errors and requests to other hosts in any of them."""
        with ExitStack() as stack:
            for window in self._open:
                stack.callback(window.close)


def _watch(page: Page, window: Window) -> None:
    """Collect the page's errors, and requests to hosts that are not on this machine."""

    def on_request(request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in ("127.0.0.1", "localhost"):
            window.errors.append(f"request to another host: {request.url}")

    page.on("request", on_request)
    page.on("pageerror", lambda error: window.errors.append(f"script error: {error}"))
    page.on("console", lambda line: window.errors.append(f"console: {line.text}") if line.type == "error" else None)


def launched(playwright: Playwright, *, whole: bool = False) -> Browser:
    """Return a Chromium without windows: its headless shell if installed, or else, or if `whole`, the whole browser.

    Raises playwright.sync_api.Error where none is installed.
    """
    arguments = [*_ARGUMENTS, *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])]
    path = chromium_path(headless=not whole)
    channel = "chromium" if whole and path is None else None  # otherwise Playwright starts its own headless shell
    return playwright.chromium.launch(executable_path=path, channel=channel, args=arguments, timeout=_START_TIMEOUT_MS)


@contextmanager
def installed_browser(*, whole: bool = False) -> Iterator[Browser]:
    """Yield a Chromium. Skips the test, or fails it if a browser is required, where none is installed."""
    with sync_playwright() as playwright:
        try:
            browser = launched(playwright, whole=whole)
        except Error as error:
            reason = f"Chromium cannot start; `make test` installs it: {error}"
            if os.environ.get(REQUIRED_VARIABLE):
                pytest.fail(reason)
            pytest.skip(reason)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a headless Chromium for all tests of a file."""
    with installed_browser() as browser:
        yield browser


@pytest.fixture(scope="session", autouse=True)
def prompt_servers() -> Iterator[None]:
    """Let uvicorn notice sooner that it should stop: it polls every 0.1 s, two or three times for each server."""
    polling = SimpleNamespace(**{**vars(asyncio), "sleep": lambda delay: asyncio.sleep(min(delay, 0.01))})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.server, "asyncio", polling)
        yield


@pytest.fixture
def windows(browser: Browser) -> Iterator[Windows]:
    """Yield windows of this test's people."""
    windows = Windows(browser)
    yield windows
    windows.close()


@dataclass(frozen=True)
class Site:
    """Running `keyplan up`."""

    url: str
    folder: Path
    pages: frozenset[str] = frozenset()
    """Paths of routes below the systems' pages that answer GET, such as /todo/app/tasks/{task_id}."""
    console: str = ""
    """Link that opens the web console; empty without one."""

    def unvisited(self, paths: Iterable[str], parts: Iterable[str] = ()) -> set[str]:
        """Return the routes to which none of these paths leads.

        `parts` names routes that answer with something else than a page, such as a part of one; each must exist.
        """
        unknown = set(parts) - self.pages
        assert not unknown, f"not a route: {unknown}"
        left = set(self.pages) - set(parts)
        for path in paths:
            route = path.partition("?")[0]
            matching = {pattern for pattern in left if re.fullmatch(re.sub(r"{\w+}", "[^/]+", pattern), route)}
            left -= {route} if route in left else matching
        return left


def _routes(app: Any, system: str) -> Iterator[str]:
    """Return the routes of a system's pages that answer GET; FastAPI may keep them in separate routers."""
    for route in app.routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from _routes(inner, system)
        elif "GET" in (getattr(route, "methods", None) or ()) and route.path.startswith("/app/"):
            yield f"/{system}{route.path}"


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Yield a function that runs systems by their names, with their samples, until the module's tests are done.

    Settings are those of `keyplan up`; without a port, a free one is used.
    """
    from keyplan_systems.up.launch import Settings, prepare  # noqa: PLC0415 - only tests with a browser need it

    with ExitStack() as stack:

        def run(*systems: str, **settings: Any) -> Site:
            folder = tmp_path_factory.mktemp("site")
            host = prepare(Settings(folder, systems=systems, **settings), stack, lambda _line: None)
            url = stack.enter_context(Running(host, settings.get("port", 0))).url
            stack.callback(host.workers.stop)
            routes = [path for entry in host.hosted for path in _routes(entry.built.app, entry.system.name)]
            console = "" if host.console is None else host.console.url(url)
            return Site(url, folder, frozenset(routes), console)

        yield run
