"""The interface between an example system and the process in which it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from starlette.requests import Request
from starlette.types import ASGIApp

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan.pages import Wording
from keyplan.streams import Destination, TableDestination
from keyplan_systems.web.secret import Secret
from keyplan_systems.web.tokens import TokenVerifier
from keyplan_systems.web.tour import Tour


@dataclass(frozen=True)
class Resources:
    """The resources that the process provides to an example system."""

    connection: Connection
    """Connection to DynamoDB or to the embedded engine. The system's tables exist."""
    folder: Path
    """Folder for the system's own files. It exists."""
    clock: Clock
    verifier: TokenVerifier
    """Verifier for the tokens of users."""
    runner: str | None = None
    """Name of this process as a reader of streams. It is unique among running processes.

    After a restart, the process gets the same name, so that it can immediately continue to read the stream shards that
    it has leased. If None, each reader generates a new name.
    """
    secret: Secret | None = None
    """Secret that replicas share. If None, keys are generated in the folder and shared only by processes that use this
    folder.
    """

    @property
    def dead_letters(self) -> Destination:
        """The dead-letter destination for stream records that could not be processed: the table keyplan-failures, which
        replicas share.
        """
        return TableDestination(self.connection, create=True, clock=self.clock)


class UnfinishedError(ExceptionGroup[Exception]):
    """Raised if some tasks of a worker failed. It contains the errors and the number of completed tasks (`done`)."""

    done: int = 0

    @classmethod
    def of(cls, errors: Sequence[Exception], done: int) -> UnfinishedError:
        """Return the exception for a non-empty list of errors and a number of completed tasks."""
        error = cls(f"{len(errors)} steps failed; they are tried again", errors)
        error.done = done
        return error


@dataclass(frozen=True)
class Worker:
    """A background worker that processes small tasks, such as a sweeper or a stream consumer."""

    name: str
    run_once: Callable[[], int]
    """Function that executes the pending tasks and returns their number.

    If it raises an exception, the caller logs the exception and calls it again later. UnfinishedError contains the
    number of tasks that were completed despite the errors; if it is not 0, the caller continues without a pause.
    """
    every_s: float = 1.0
    """Pause in seconds after a call that found no pending tasks."""


@dataclass(frozen=True)
class Built:
    """A system that is ready to run."""

    app: ASGIApp
    """The system's API and pages, which are mounted under the system's name."""
    workers: tuple[Worker, ...]
    load_sample: Callable[[], None]
    """Function that loads the sample data. Repeated calls change nothing."""
    close: Callable[[], None] = lambda: None
    """Function that releases the system's resources."""


@dataclass(frozen=True)
class DemoStage:
    """The environment in which a system runs its part of `keyplan demo`, using its public API."""

    url: str
    """URL of the system, without a trailing slash."""
    token: Callable[..., str]
    """Function that returns a bearer token: `token("ada", roles=("administrators",), email="ada@example.org")`."""
    say: Callable[[str], None]
    """Function that prints a line of text about a step of the demo."""
    folder: Path | None = None
    """Data folder of the running systems. None if it is deleted after the demo."""
    has_links: bool = True
    """False if the systems stop at the end of the demo, so that links to them would not work."""

    def client(self, subject: str, **claims: Any) -> httpx.Client:
        """Return an HTTP client that sends requests as a user."""
        headers = {"Authorization": f"Bearer {self.token(subject, **claims)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)

    def link(self, path: str, person: str = "") -> None:
        """Print the URL of a page that shows the result, and the name of a sample user who may view it."""
        if self.has_links:
            self.say(f"see {self.url}/app/{path}{f' as {person}' if person else ''}")


def json_of(response: httpx.Response) -> Any:
    """Return the parsed JSON body of a response. Raises httpx.HTTPStatusError for an error status."""
    return response.raise_for_status().json()


@dataclass(frozen=True)
class SamplePerson:
    """A sample user. On a development server, one click signs in as this user."""

    subject: str
    """User ID, which is the subject of the user's tokens."""
    name: str
    about: str
    """What the user does in the sample data, in one sentence."""
    roles: tuple[str, ...] = ()
    claims: Mapping[str, Any] = field(default_factory=dict)
    """Additional claims in the user's tokens, such as the email address."""


@dataclass(frozen=True)
class System:
    """The description of an example system, which `keyplan up` uses to run the system."""

    name: str
    """Name of the system, such as todo or ask_a_human. It is also used in URL paths and for the system's folder."""
    title: str
    design: str
    """Module that contains the system's design."""
    build: Callable[[Resources], Built]
    page: str = "docs"
    """Path of the API's documentation page, relative to the system's path."""
    demo: Callable[[DemoStage], None] | None = None
    """Function that runs the system's part of the demo."""
    tour: Callable[[Tour], None] | None = None
    """Function that runs the system's part of the demo in a browser."""
    people: tuple[SamplePerson, ...] = ()
    """Sample users, for the sign-in page of a development server."""
    start: str | None = None
    """Path of the first web page, relative to the system's path. None if the system has no pages."""
    wording: Callable[[Request], Wording] | None = None
    """Function that returns the language and texts of the sign-in page, for users who come from the system's pages. If
    None, English is used.
    """
