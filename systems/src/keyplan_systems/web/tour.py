"""Controls the browser windows of `keyplan demo --browser`. They show a scenario at a pace that viewers can follow.

    ada = tour.open("ada")                               # signed in, in a window at the left
    tour.say(ada, "Ada adds a task")
    ada.write(ada.page.get_by_label("New task"), "Buy milk tomorrow")
    ada.click(ada.page.get_by_role("button", name="Add"))

Playwright is imported only when a browser is started, because it is an optional dependency.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

_CHARACTERS_PER_STEP: Final = 25
"""Number of characters of a caption that a viewer can read during one step of the demo."""
_TYPED_CHARACTERS: Final = 60
"""Maximum number of characters of a text that are typed one by one. The rest of a longer text appears immediately."""
_TIMEOUT_MS: Final = 60_000
_NO_DISPLAY: Final = "no display is available for a browser: run the command on a desktop, or add --headless"
_NO_ROOT_SANDBOX: Final = "--no-sandbox"
# Styles are set by script, because the pages' policy allows no style attributes in HTML.
_CAPTION: Final = """(text) => {
  document.getElementById("tour")?.remove();
  const caption = document.createElement("p");
  caption.id = "tour";
  caption.textContent = text;
  Object.assign(caption.style, {
    position: "fixed", insetInline: "0", bottom: "0", margin: "0", padding: "1rem 1.5rem", zIndex: "99",
    font: "600 1.125rem/1.4 system-ui, sans-serif", color: "#fff", background: "#1e1b4b", pointerEvents: "none",
  });
  document.body.append(caption);
}"""
_NO_CAPTION: Final = """() => document.getElementById("tour")?.remove()"""
_OUTLINE: Final = """(element) => {
  const {outline, outlineOffset} = element.style;
  Object.assign(element.style, {outline: "3px solid #f59e0b", outlineOffset: "2px"});
  setTimeout(() => Object.assign(element.style, {outline, outlineOffset}), 1500);
}"""


class BrowserMissingError(Exception):
    """Raised if Playwright, a browser or a display is missing. The message describes how to fix the problem."""


@dataclass
class Actor:
    """A user of the demo, with the browser window in which the user acts."""

    page: Page
    pace_s: float

    def click(self, target: Locator) -> None:
        """Highlight an element and click it."""
        self._point(target)
        target.click()
        self.pause()

    def write(self, target: Locator, text: str) -> None:
        """Highlight a field and type text into it."""
        self._point(target)
        target.fill("")
        target.press_sequentially(text[:_TYPED_CHARACTERS], delay=self.pace_s * 40)
        if len(text) > _TYPED_CHARACTERS:
            target.fill(text)
        self.pause()

    def see(self, target: Locator) -> None:
        """Wait until an element is visible, and highlight it."""
        target.wait_for()
        self._point(target)

    def pause(self, steps: float = 1) -> None:
        """Wait for the duration of `steps` steps of the demo (see `Tour.pace_s`)."""
        self.page.wait_for_timeout(steps * self.pace_s * 1000)

    def _point(self, target: Locator) -> None:
        target.scroll_into_view_if_needed()
        if self.pace_s:
            target.evaluate(_OUTLINE)
        self.pause()


@dataclass
class Tour:
    """The browser windows in which one system runs its part of the demo."""

    browser: Browser
    url: str
    """URL of the server, without a trailing slash."""
    system: str
    report: Callable[[str], None]
    """Function that prints a line of text about a step of the demo."""
    pace_s: float = 1.0
    """Duration of a step of the demo in seconds. If it is 0, the demo runs as fast as the browser can."""
    has_windows: bool = True
    """Whether the browser shows windows. False for a headless browser."""
    actors: list[Actor] = field(default_factory=list)

    def open(self, person: str = "", path: str = "app/") -> Actor:
        """Open a window that shows a page of the system. `path` is relative to the system's path. If `person` is the
        name of a sample user, sign in as this user.

        Windows are placed side by side, starting on the left.
        """
        # A visible window has the size of its part of the screen, and a headless window the size of a desktop.
        context = self.browser.new_context(no_viewport=True if self.has_windows else None, locale="en-GB")
        context.set_default_timeout(_TIMEOUT_MS)
        page = context.new_page()
        page.on("dialog", lambda dialog: dialog.accept())
        actor = Actor(page, self.pace_s)
        self.actors.append(actor)
        if self.has_windows:
            self._place_window(page)
        target = f"/{self.system}/{path}"
        if person:
            page.goto(f"{self.url}/sign-in?next={quote(target, safe='')}")
            form = page.locator(
                f'form:has(input[name="system"][value="{self.system}"]):has(input[name="subject"][value="{person}"])'
            )
            actor.click(form.get_by_role("button"))
            page.wait_for_url(f"{self.url}{target}")
        else:
            page.goto(f"{self.url}{target}")
        return actor

    def say(self, actor: Actor, text: str) -> None:
        """Print a line of text, show it as a caption in the actor's window, and wait for as long as a viewer needs to
        read it.
        """
        self.report(text)
        for other in self.actors:
            if other is not actor:
                other.page.evaluate(_NO_CAPTION)
        actor.page.bring_to_front()
        actor.page.evaluate(_CAPTION, text)
        actor.pause(max(1.0, len(text) / _CHARACTERS_PER_STEP))

    def close(self) -> None:
        """Close all windows."""
        for actor in self.actors:
            actor.page.context.close()

    def wait_until_closed(self) -> None:
        """Wait until the user has closed all windows."""
        for actor in self.actors:
            if not actor.page.is_closed():
                actor.page.wait_for_event("close", timeout=0)

    def _place_window(self, page: Page) -> None:
        """Move the window of a page to the left or right half of the screen."""
        width, height = page.evaluate("[screen.availWidth, screen.availHeight]")
        session = page.context.new_cdp_session(page)
        window = session.send("Browser.getWindowForTarget")["windowId"]
        left = width // 2 * ((len(self.actors) - 1) % 2)
        bounds = {"left": left, "top": 0, "width": width // 2, "height": height}
        session.send("Browser.setWindowBounds", {"windowId": window, "bounds": bounds})
        session.detach()


def check_browser(*, headless: bool) -> None:
    """Raise BrowserMissingError if Playwright is not installed, or if windows are needed and no display exists."""
    try:
        import playwright.sync_api  # noqa: F401, PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise BrowserMissingError("Playwright is not installed: pip install 'keyplan-systems[browser]'") from error
    has_display = sys.platform != "linux" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if not headless and not has_display:
        raise BrowserMissingError(_NO_DISPLAY)


@contextmanager
def start_browser(*, headless: bool) -> Iterator[Browser]:
    """Start Chromium and yield the browser. An installed Chromium is preferred to the one that Playwright provides. The
    browser is closed at the end of the `with` block.

    Raises BrowserMissingError if Playwright, a browser or a display is missing.
    """
    check_browser(headless=headless)
    from playwright.sync_api import Error, sync_playwright  # noqa: PLC0415 - an extra

    with sync_playwright() as playwright:
        is_root = hasattr(os, "geteuid") and os.geteuid() == 0
        options = [_NO_ROOT_SANDBOX] if is_root else []
        try:
            browser = playwright.chromium.launch(
                headless=headless,
                executable_path=chromium_path(headless=headless),
                args=["--no-first-run", "--disable-sync", *options],
            )
        except Error as error:
            if "XServer" in error.message or "DISPLAY" in error.message:
                message = _NO_DISPLAY
            else:
                message = f"Chromium cannot start: playwright install chromium ({error.message.splitlines()[0]})"
            raise BrowserMissingError(message) from error
        try:
            yield browser
        finally:
            if browser.is_connected():
                browser.close()


def chromium_path(*, headless: bool = True) -> str | None:
    """Return the path of the Chromium or Chrome that is installed on this machine, or None to use Playwright's own
    browser.

    If `headless` is True, Chromium's headless shell is preferred, because it uses less than half of the processor time.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names if headless else names[1:])), None)
