"""Commands that reviewers use to list flags, read users' answers, and decide on flags.

Run them with `python -m keyplan_systems.ask_a_human.reviews`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeAlias

import typer

import keyplan
from keyplan.client.errors import NotFoundError
from keyplan.clock import SystemClock
from keyplan.errors import KeyplanError
from keyplan_systems.ask_a_human import design_responses
from keyplan_systems.ask_a_human.base import Base
from keyplan_systems.ask_a_human.domain.abuse import Action
from keyplan_systems.ask_a_human.domain.timestamps import iso
from keyplan_systems.ask_a_human.entities import Flag, Response

app = typer.Typer(help="Review flagged answers. Prints one JSON object per line.", no_args_is_help=True)
Url: TypeAlias = Annotated[str, typer.Option(help="The database: a file path, http://host:port or aws://region.")]
LimitOption: TypeAlias = Annotated[int, typer.Option(min=1, help="Maximum number of lines to print.")]


class Reviews:
    """The operations of reviewers. They are available as commands, but not in the API."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def list_unreviewed(self, limit: int) -> list[Flag]:
        """Return up to `limit` flags on suspicious answers that have not been reviewed, oldest first."""
        return list(self._connection.run(design_responses.unreviewed_flags(), limit=limit))

    def recent_answers(self, person: str, limit: int) -> list[Response]:
        """Return up to `limit` answers of a user, newest first. The list is eventually consistent, so an answer that
        was just stored may be missing.
        """
        return list(self._connection.run(design_responses.recent_answers(person), limit=limit))

    def decide(self, flag_id: str, action: Action) -> Flag | None:
        """Store a reviewer's decision on a flag, replacing an earlier decision, and return the flag. Returns None if
        the flag no longer exists.
        """
        try:
            return self._connection.run(design_responses.review_flag(flag_id, action, iso(self._base.now_ms)))
        except NotFoundError:
            return None


@app.command()
def waiting(url: Url, most: LimitOption = 100) -> None:
    """Print the flags on suspicious answers that have not been reviewed, oldest first."""
    with _open_reviews(url) as reviews:
        _print(*reviews.list_unreviewed(most))


@app.command()
def answers(
    person: Annotated[str, typer.Argument(help="ID of the user, as shown in a flag.")],
    url: Url,
    most: LimitOption = 100,
) -> None:
    """Print a user's answers, newest first."""
    with _open_reviews(url) as reviews:
        _print(*reviews.recent_answers(person, most))


@app.command()
def decide(flag: Annotated[str, typer.Argument(help="ID of the flag.")], action: Action, url: Url) -> None:
    """Store a reviewer's decision on a flag, replacing an earlier decision, and print the flag."""
    with _open_reviews(url) as reviews:
        decided_flag = reviews.decide(flag, action)
        if decided_flag is None:
            raise ValueError(f"flag {flag} does not exist, or was removed")
        _print(decided_flag)


@contextmanager
def _open_reviews(url: str) -> Iterator[Reviews]:
    clock = SystemClock()
    try:
        with keyplan.connect(url, clock=clock) as connection:
            yield Reviews(Base(connection, clock))
    except (KeyplanError, OSError, ValueError, ImportError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


def _print(*records: Flag | Response) -> None:
    for record in records:
        typer.echo(record.model_dump_json(exclude={"ttl"}))


if __name__ == "__main__":
    app()
