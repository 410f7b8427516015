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
    """Connection to DynamoDB or to the embedded engine. The system's tables already exist."""
    folder: Path
    """Folder for the system's own files. The folder already exists."""
    clock: Clock
    verifier: TokenVerifier
    """Verifier for the bearer tokens of users."""
    runner: str | None = None
    """Name that identifies this process as a reader of streams. It is unique among the running processes.

    After a restart, the process gets the same name, so that it can immediately continue to read the stream shards that
    it has leased. If None, each reader generates a new name.
    """
    secret: Secret | None = None
    """Secret that replicas share. If it is None, keys are generated and stored in the folder, and only processes that
    use the same folder share these keys.
    """

    @property
    def dead_letters(self) -> Destination:
        """The destination for stream records that could not be processed: the table keyplan-failures, which all
        replicas share.
        """
        return TableDestination(self.connection, create=True, clock=self.clock)


class UnfinishedError(ExceptionGroup[Exception]):
    """Raised if some tasks of a worker failed. It contains the errors and the number of completed tasks."""

    completed: int = 0

    @classmethod
    def from_errors(cls, errors: Sequence[Exception], completed: int) -> UnfinishedError:
        """Return an exception that contains the given errors and the number of completed tasks. `errors` must not be
        empty.
        """
        error = cls(f"{len(errors)} steps failed; retrying them later", errors)
        error.completed = completed
        return error


@dataclass(frozen=True)
class Worker:
    """A background worker that repeatedly executes pending tasks, such as a sweeper or a stream consumer."""

    name: str
    run_once: Callable[[], int]
    """Function that executes the pending tasks and returns their number.

    If the function raises an exception, the caller logs the exception and calls the function again later.
    UnfinishedError contains the number of tasks that were completed despite the errors. If this number is not 0, the
    caller calls the function again without a pause.
    """
    every_s: float = 1.0
    """Pause in seconds after a call to `run_once` that found no pending tasks."""


@dataclass(frozen=True)
class BuiltSystem:
    """A system that is ready to run, with its application and its workers."""

    app: ASGIApp
    """The application that serves the system's API and pages. It is mounted under the system's name."""
    workers: tuple[Worker, ...]
    load_sample: Callable[[], None]
    """Function that loads the sample data. Calling it again changes nothing."""
    close: Callable[[], None] = lambda: None
    """Function that releases the system's resources."""


@dataclass(frozen=True)
class DemoStage:
    """The environment in which a system runs its part of `keyplan demo`. The system is used through its public API."""

    url: str
    """URL of the system, without a trailing slash."""
    token: Callable[..., str]
    """Function that returns a bearer token for a user. Example: `token("ada", roles=("administrators",),
    email="ada@example.org")`.
    """
    say: Callable[[str], None]
    """Function that prints a line of text about a step of the demo."""
    folder: Path | None = None
    """Data folder of the running systems, or None if the folder is deleted after the demo."""
    has_links: bool = True
    """Whether the systems keep running after the demo. If False, links to them are not printed."""

    def client(self, subject: str, **claims: Any) -> httpx.Client:
        """Return an HTTP client that sends requests as the user `subject`. `claims` are passed to `token`."""
        headers = {"Authorization": f"Bearer {self.token(subject, **claims)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)

    def link(self, path: str, person: str = "") -> None:
        """Print the URL of a page that shows the result. `person` is the name of a sample user who is permitted to view
        the page.
        """
        if self.has_links:
            self.say(f"see {self.url}/app/{path}{f' as {person}' if person else ''}")


def json_of(response: httpx.Response) -> Any:
    """Return the parsed JSON body of a response. Raises httpx.HTTPStatusError for an error status."""
    return response.raise_for_status().json()


@dataclass(frozen=True)
class SamplePerson:
    """A sample user. On a development server, visitors can sign in as this user with one click."""

    subject: str
    """User ID, which is the subject of the user's tokens."""
    name: str
    description: str
    """Description of the user's role in the sample data, in one sentence."""
    roles: tuple[str, ...] = ()
    claims: Mapping[str, Any] = field(default_factory=dict)
    """Additional claims in the user's tokens, such as the email address."""


@dataclass(frozen=True)
class System:
    """The description of an example system. `keyplan up` uses it to run the system."""

    name: str
    """Name of the system, such as todo or ask_a_human. The name is also used in URL paths and as the name of the
    system's folder.
    """
    title: str
    design: str
    """Name of the Python module that contains the system's design."""
    build: Callable[[Resources], BuiltSystem]
    page: str = "docs"
    """Path of the API's documentation page, relative to the system's path."""
    demo: Callable[[DemoStage], None] | None = None
    """Function that runs the system's part of the demo."""
    tour: Callable[[Tour], None] | None = None
    """Function that runs the system's part of the demo in a browser."""
    people: tuple[SamplePerson, ...] = ()
    """Sample users that are shown on the sign-in page of a development server."""
    start: str | None = None
    """Path of the first web page, relative to the system's path, or None if the system does not have web pages."""
    wording: Callable[[Request], Wording] | None = None
    """Function that returns the language and the texts of the sign-in page for users who come from this system's pages.
    If it is None, the texts are in English.
    """
