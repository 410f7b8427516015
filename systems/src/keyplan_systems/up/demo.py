"""Implementation of `keyplan demo`: a scripted scenario on the running systems, over HTTP and websockets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from keyplan_systems.up import registry
from keyplan_systems.up.launch import AUDIENCE, Settings, UpError, key_of, prepare
from keyplan_systems.web.development import issue_development_token
from keyplan_systems.web.server import Running
from keyplan_systems.web.system import DemoStage, System

Say = Callable[[str], None]


def demo(url: str | None, folder: Path | None, names: Sequence[str], say: Say) -> None:
    """Play every system's part. Without a URL, run the systems in a temporary folder for the duration.

    Raises UpError if no server answers, or if it answers differently than expected.
    """
    stays = url is not None
    with ExitStack() as stack:
        kept = None if url is None else folder  # a temporary folder is deleted after the demo
        if url is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="keyplan-demo-")))
            host = prepare(Settings(folder, systems=tuple(names)), stack, lambda _line: None)
            url = stack.enter_context(Running(host)).url
            stack.callback(host.workers.stop)
        elif folder is None:
            raise UpError("name the folder of the running `keyplan up` too: its key signs the tokens")
        for system in _playing(url, names):
            assert system.demo is not None, "_playing returns only systems with a demo"
            say(f"-- {system.title}")
            try:
                system.demo(DemoStage(f"{url}/{system.name}", _tokens(folder), lambda line: say(f"   {line}"), kept))
            except httpx.HTTPError as error:
                raise UpError(f"{system.title} failed, or {folder} is not its folder: {error}") from error
            if stays and system.start is not None:
                say(f"   look at it: {url}/{system.name}/{system.start}")
    if not stays:
        say("to look at the result in a browser, start keyplan up, then:")
        say("   keyplan demo --url http://127.0.0.1:8000 --folder keyplan-data")


def _playing(url: str, names: Sequence[str]) -> list[System]:
    try:
        running = httpx.get(f"{url}/health", timeout=10).json()["systems"]
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise UpError(f"no `keyplan up` answers at {url}: start it, or leave --url out ({error})") from error
    unknown = [name for name in names if name not in running]
    if unknown:
        raise UpError(f"{', '.join(unknown)} does not run at {url}; available: {', '.join(running)}")
    systems = [registry.load(name) for name in names or running]
    return [system for system in systems if system.demo is not None]


def _tokens(folder: Path) -> Callable[..., str]:
    key = key_of(folder)

    def token(subject: str, *, roles: Sequence[str] = (), **claims: str) -> str:
        return issue_development_token(key, subject, audience=AUDIENCE, roles=tuple(roles), claims=claims)

    return token
