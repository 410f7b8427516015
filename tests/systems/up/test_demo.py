"""`keyplan demo`: links to what it made, and the scenario in a browser."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from tests.browser import REQUIRED_VARIABLE
from tests.systems.up.running_up import PATIENCE_S, get

from keyplan_systems.up import demo as commands_of_demo
from keyplan_systems.up import registry
from keyplan_systems.up.demo import BrowserSettings
from keyplan_systems.up.launch import UpError
from keyplan_systems.web.tour import BrowserMissingError, chromium_path, start_browser


@contextmanager
def demo(*options: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command as a separate process."""
    command = [sys.executable, "-u", "-m", "keyplan", "demo", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_links_lead_to_the_created_items_until_the_demo_is_stopped() -> None:
    lines = []
    with demo("--stay", "--system", "ask_a_human", "--system", "todo") as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if "keep running" in line:
                break
        links = links_in(lines)
        assert [link.rpartition("/app/")[2].partition("/")[0] for link in links] == [
            "questions", "leaderboard", "tasks", "dashboard",
        ]  # fmt: skip
        assert "This question has enough answers" in get(links[0]).text
        assert get(links[2]).headers["location"].endswith(links[2].rpartition("/")[2])
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0


def test_a_demo_whose_systems_stop_prints_no_dead_links() -> None:
    with demo("--no-stay", "--system", "ask_a_human") as process:
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert links_in(output.splitlines()) == []
    assert "add --stay" in output


def links_in(lines: Sequence[str]) -> list[str]:
    """Return the links that the demo printed."""
    return [match[1] for line in lines if (match := re.search(r"see (http://\S+)", line))]


@pytest.mark.slow
def test_every_system_plays_in_a_browser() -> None:
    with demo("--headless", "--pace", "0") as process:
        output, errors = process.communicate(timeout=PATIENCE_S)
    if "Chromium cannot start" in errors and not os.environ.get(REQUIRED_VARIABLE):
        pytest.skip(errors)
    assert process.returncode == 0, errors
    titles = re.findall(r"^-- (.+)$", output, re.MULTILINE)
    assert titles == [registry.load(name).title for name in registry.NAMES]
    for last in ("the question is closed", "no longer be approved", "in both windows", "Her profile", "The dashboard"):
        assert last in output


def test_without_playwright_the_demo_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with (
        pytest.raises(BrowserMissingError, match=r"pip install 'keyplan-systems\[browser\]'"),
        start_browser(headless=True),
    ):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_without_a_display_the_demo_names_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(BrowserMissingError, match=r"--headless|playwright install"), start_browser(headless=False):
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_a_missing_display_is_reported_before_the_systems_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(commands_of_demo, "prepare", lambda *_: pytest.fail("the systems were started"))
    with pytest.raises(UpError, match="--headless"):
        commands_of_demo.demo(None, None, [], print, browser_settings=BrowserSettings(headless=False))


@pytest.mark.parametrize(
    ("installed", "headless", "name"),
    [
        ({"chromium", "chromium-headless-shell"}, True, "chromium-headless-shell"),
        ({"chromium", "chromium-headless-shell"}, False, "chromium"),
        ({"chromium-headless-shell"}, False, None),
        ({"google-chrome"}, True, "google-chrome"),
    ],
)
def test_the_headless_shell_is_preferred_without_a_window(
    monkeypatch: pytest.MonkeyPatch, installed: set[str], headless: bool, name: str | None
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: program if program in installed else None)
    assert chromium_path(headless=headless) == name
