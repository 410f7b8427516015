"""What every system is to the process that runs it: what it is given, what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan.streams import Destination, TableDestination
from keyplan_systems.web.secret import Secret
from keyplan_systems.web.tokens import TokenVerifier


@dataclass(frozen=True)
class Resources:
    """What a system runs on."""

    connection: Connection
    """To DynamoDB, embedded or remote; the tables are there."""
    folder: Path
    """For the system's own files; it exists."""
    clock: Clock
    verifier: TokenVerifier
    """For the tokens of its users."""
    runner: str | None = None
    """Its name among the readers of streams: no other living process has it, but the next one on these files, which
    so takes up at once what this one held. None: a new name each time."""
    secret: Secret | None = None
    """The secret that replicas share. None: keys are generated into the folder, and hold for its processes only."""

    @property
    def dead_letters(self) -> Destination:
        """Where consumers put records that failed permanently: the table keyplan-failures, which replicas share."""
        return TableDestination(self.connection, create=True, clock=self.clock)


class UnfinishedError(ExceptionGroup[Exception]):
    """What a worker could not do beside what it did: its errors, and how much was done all the same."""

    done: int = 0

    @classmethod
    def of(cls, errors: Sequence[Exception], done: int) -> UnfinishedError:
        """The error of these errors, of which there is one at least."""
        made = cls(f"{len(errors)} could not be done; they are tried again", errors)
        made.done = done
        return made


@dataclass(frozen=True)
class Worker:
    """Work in the background that can be done a piece at a time: a sweeper, a stream consumer."""

    name: str
    run_once: Callable[[], int]
    """Do what there is to do; how much it was. Raises what it cannot handle: it is logged and tried again.

    UnfinishedError tells how much was done beside that: more of it is not kept waiting.
    """
    every_s: float = 1.0
    """How long to wait when there was nothing."""


@dataclass(frozen=True)
class Built:
    """A system put together."""

    app: ASGIApp
    """Its API, mounted under its name."""
    workers: tuple[Worker, ...]
    load_sample: Callable[[], None]
    """Load a little data to look at; harmless when repeated."""
    close: Callable[[], None] = lambda: None
    """Let go of what it holds."""


@dataclass(frozen=True)
class Stage:
    """Where a system shows itself in `keyplan demo`: it runs, and is spoken to as by anybody else."""

    url: str
    """The system's own address, without a slash at the end."""
    token: Callable[..., str]
    """token("ada", roles=("administrators",), email="ada@example.org"): a bearer token."""
    say: Callable[[str], None]
    """Tells what happened, one line."""

    def client(self, subject: str, **told: Any) -> httpx.Client:
        """An HTTP client that speaks for a user."""
        headers = {"Authorization": f"Bearer {self.token(subject, **told)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)


def told(answer: httpx.Response) -> Any:
    """The JSON of an answer. Raises httpx.HTTPStatusError for a refusal."""
    return answer.raise_for_status().json()


@dataclass(frozen=True)
class System:
    """A system as it registers itself."""

    name: str
    """Its path and its folder: todo, ask_a_human."""
    title: str
    design: str
    """The module of its design."""
    build: Callable[[Resources], Built]
    page: str = "docs"
    """Under its path: the page that shows its API."""
    demo: Callable[[Stage], None] | None = None
    """Plays a part of a day."""
