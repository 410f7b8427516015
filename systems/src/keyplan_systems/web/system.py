"""The interface between a system and the process that runs it."""

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
    """The resources that a system uses."""

    connection: Connection
    """Connection to DynamoDB, embedded or remote; the tables exist."""
    folder: Path
    """Folder for the system's own files; it exists."""
    clock: Clock
    verifier: TokenVerifier
    """Verifier of its users' tokens."""
    runner: str | None = None
    """Name of this process as a reader of streams, which no other running process has. The next process on these files
    gets the same name, so that it continues the leases of this process immediately. If None, each reader generates a
    new name."""
    secret: Secret | None = None
    """Secret that replicas share. If None, keys are generated in the folder, and are shared only by processes that use
    this folder."""

    @property
    def dead_letters(self) -> Destination:
        """The destination for records that failed permanently, the table keyplan-failures, which replicas share."""
        return TableDestination(self.connection, create=True, clock=self.clock)


class UnfinishedError(ExceptionGroup[Exception]):
    """Raised if a worker partially failed. It contains the errors and the number of completed units."""

    done: int = 0

    @classmethod
    def of(cls, errors: Sequence[Exception], done: int) -> UnfinishedError:
        """Return the exception for a list of errors, which must not be empty."""
        error = cls(f"{len(errors)} steps failed; they are tried again", errors)
        error.done = done
        return error


@dataclass(frozen=True)
class Worker:
    """Background work in small units, such as a sweeper or a stream consumer."""

    name: str
    run_once: Callable[[], int]
    """Process the pending work and return the number of units. Raises errors that it cannot handle.

    The caller logs them and tries again. UnfinishedError reports the units completed despite failures, so that
    more work follows without a pause.
    """
    every_s: float = 1.0
    """Seconds to wait when no work was pending."""


@dataclass(frozen=True)
class Built:
    """A system that has been assembled."""

    app: ASGIApp
    """API, mounted under the system's name."""
    workers: tuple[Worker, ...]
    load_sample: Callable[[], None]
    """Load the small sample data set. Repeated calls change nothing."""
    close: Callable[[], None] = lambda: None
    """Release the system's resources."""


@dataclass(frozen=True)
class DemoStage:
    """The environment in which a system runs its part of `keyplan demo`, using its public API."""

    url: str
    """System's URL, without a trailing slash."""
    token: Callable[..., str]
    """token("ada", roles=("administrators",), email="ada@example.org"): a bearer token."""
    say: Callable[[str], None]
    """Prints one line about an event."""
    folder: Path | None = None
    """Folder of the running systems; None if it is deleted after the demo."""
    has_links: bool = True
    """False if the systems stop with the demo, so that links would not work."""

    def client(self, subject: str, **claims: Any) -> httpx.Client:
        """Return an HTTP client that authenticates as a user."""
        headers = {"Authorization": f"Bearer {self.token(subject, **claims)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)

    def link(self, path: str, person: str = "") -> None:
        """Print the URL of a page with the result, and the sample user who may view it."""
        if self.has_links:
            self.say(f"see {self.url}/app/{path}{f' as {person}' if person else ''}")


def json_of(answer: httpx.Response) -> Any:
    """Return the JSON of a response. Raises httpx.HTTPStatusError for an error status."""
    return answer.raise_for_status().json()


@dataclass(frozen=True)
class SamplePerson:
    """A sample user as whom a developer can sign in with one click."""

    subject: str
    """User ID: the subject of the person's tokens."""
    name: str
    about: str
    """What the person does in the sample data, in one sentence."""
    roles: tuple[str, ...] = ()
    claims: Mapping[str, Any] = field(default_factory=dict)
    """Further claims, such as the e-mail address."""


@dataclass(frozen=True)
class System:
    """The registration of a system."""

    name: str
    """Name of its URL path and its folder, such as todo or ask_a_human."""
    title: str
    design: str
    """Module of its design."""
    build: Callable[[Resources], Built]
    page: str = "docs"
    """Path of the page that documents its API, relative to the system's path."""
    demo: Callable[[DemoStage], None] | None = None
    """Plays the system's part of the demo."""
    tour: Callable[[Tour], None] | None = None
    """Plays the system's part of the demo in a browser."""
    people: tuple[SamplePerson, ...] = ()
    """Sample people, for the sign-in page of a development server."""
    start: str | None = None
    """Path of its first web page, relative to the system's path. None if it has no pages."""
    wording: Callable[[Request], Wording] | None = None
    """Language of the sign-in page for users who come from the system's pages. English if None."""
