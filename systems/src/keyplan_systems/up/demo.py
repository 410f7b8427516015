"""The implementation of `keyplan demo`, which runs a scripted scenario through the APIs or in a browser."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import httpx

from keyplan_systems.up import registry
from keyplan_systems.up.launch import AUDIENCE, Settings, UpError, key_of, prepare
from keyplan_systems.web.development import issue_development_token
from keyplan_systems.web.server import Running
from keyplan_systems.web.system import DemoStage, System
from keyplan_systems.web.tour import BrowserMissingError, Tour, check_browser, start_browser

Say = Callable[[str], None]


@dataclass(frozen=True)
class BrowserSettings:
    """Settings for running the demo in a browser."""

    pace_s: float = 1.0
    """Duration of a step of the demo in seconds. If it is 0, the demo runs as fast as the browser can."""
    headless: bool = False


def demo(
    url: str | None,
    folder: Path | None,
    names: Sequence[str],
    say: Say,
    *,
    keep_running: bool = False,
    browser_settings: BrowserSettings | None = None,
) -> None:
    """Run the demo of the systems with the given names, or of all systems if `names` is empty. If `url` is None, start
    the systems first, with a temporary data folder.

    If `keep_running` is True, the systems that this function started keep running until Ctrl-C. If `browser_settings`
    is given, the demo runs in a browser instead of through the APIs. Raises UpError if the server does not respond, if
    a response is unexpected, or if no browser can be shown.
    """
    if browser_settings is not None:
        try:
            check_browser(headless=browser_settings.headless)
        except BrowserMissingError as error:
            raise UpError(str(error)) from error
    with ExitStack() as stack:
        persistent_folder = None if url is None else folder  # a temporary folder is deleted after the demo
        is_own = url is None
        if url is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="keyplan-demo-")))
            host = prepare(Settings(folder, systems=tuple(names)), stack, lambda _line: None)
            url = stack.enter_context(Running(host)).url
            stack.callback(host.workers.stop)
        elif folder is None and browser_settings is None:
            raise UpError(
                "--url requires --folder: pass the data folder of the running `keyplan up`, whose key signs the tokens"
            )
        systems = _running_systems(url, names)
        if browser_settings is not None:
            _play_in_browser(browser_settings, url, systems, say)
            return
        assert folder is not None, "given, or temporary"
        for system in systems:
            if system.demo is not None:
                stage = DemoStage(
                    f"{url}/{system.name}",
                    _tokens(folder),
                    lambda line: say(f"   {line}"),
                    persistent_folder,
                    has_links=keep_running or not is_own,
                )
                _play(system, stage, folder, say)
        if is_own and keep_running:
            say(f"the systems keep running at {url}; sign in with one click; stop with Ctrl-C")
            with suppress(KeyboardInterrupt):
                Event().wait()
        elif is_own:
            say("add --stay to view the result in a browser, or --browser to watch the demo in a browser")


def _play(system: System, stage: DemoStage, folder: Path, say: Say) -> None:
    assert system.demo is not None, "called for systems with a demo"
    say(f"-- {system.title}")
    try:
        system.demo(stage)
    except httpx.HTTPError as error:
        raise UpError(f"{system.title} failed, or {folder} is not the server's data folder: {error}") from error


def _play_in_browser(browser_settings: BrowserSettings, url: str, systems: Sequence[System], say: Say) -> None:
    """Run the demo of each system in a browser. Raises UpError if a demo fails.

    If the browser shows windows, the windows of the last system stay open until the user closes them.
    """
    try:
        with start_browser(headless=browser_settings.headless) as browser:
            from playwright.sync_api import Error  # noqa: PLC0415 - `start_browser` has checked that it is installed

            tour = None
            try:
                for system in [system for system in systems if system.tour is not None]:
                    if tour is not None:
                        tour.close()
                    say(f"-- {system.title}")
                    tour = Tour(
                        browser,
                        url,
                        system.name,
                        lambda line: say(f"   {line}"),
                        browser_settings.pace_s,
                        has_windows=not browser_settings.headless,
                    )
                    assert system.tour is not None, "of those with a tour"
                    system.tour(tour)
                if tour is not None and not browser_settings.headless:
                    say("close the windows to end the demo")
                    tour.wait_until_closed()
            except Error as error:
                if "closed" not in error.message:
                    raise UpError(f"the demo stopped: {error.message.splitlines()[0]}") from error
                say("a window was closed: the demo ends")
            except KeyboardInterrupt:
                logging.getLogger("asyncio").disabled = True  # Ctrl-C also ends Playwright's driver, which asyncio logs
                say("the demo ends")
    except BrowserMissingError as error:
        raise UpError(str(error)) from error


def _running_systems(url: str, names: Sequence[str]) -> list[System]:
    try:
        running_names = httpx.get(f"{url}/health", timeout=10).json()["systems"]
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise UpError(f"no `keyplan up` responds at {url}: start it, or omit --url ({error})") from error
    unknown = [name for name in names if name not in running_names]
    if unknown:
        raise UpError(f"{', '.join(unknown)} is not running at {url}; available: {', '.join(running_names)}")
    return [registry.load(name) for name in names or running_names]


def _tokens(folder: Path) -> Callable[..., str]:
    key = key_of(folder)

    def token(subject: str, *, roles: Sequence[str] = (), **claims: str) -> str:
        return issue_development_token(key, subject, audience=AUDIENCE, roles=tuple(roles), claims=claims)

    return token
