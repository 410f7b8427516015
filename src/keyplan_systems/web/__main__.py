"""`python -m keyplan_systems.web FOLDER SUBJECT --audience NAME`: a token of the development key, for local work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keyplan_systems.web.development import (
    DEFAULT_ISSUER,
    DevelopmentKeyError,
    development_key,
    issue_development_token,
)


def token(
    folder: Annotated[Path, typer.Argument(help="Where the application keeps its development key.")],
    subject: Annotated[str, typer.Argument(help="The user id that the token speaks for.")],
    *,
    audience: Annotated[str, typer.Option(help="The application that the token is for.")],
    role: Annotated[list[str] | None, typer.Option(help="A role; may be given several times.")] = None,
    lifetime: Annotated[int, typer.Option(min=1, help="Seconds until the token expires.")] = 3600,
    issuer: Annotated[str, typer.Option(help="Who the token says it comes from.")] = DEFAULT_ISSUER,
    claim: Annotated[list[str] | None, typer.Option(help="A further claim as name=value.")] = None,
) -> None:
    """Print a signed token; the key is made if the folder has none yet."""
    claims = dict(_pair(text) for text in claim or ())
    try:
        key = development_key(folder)
    except DevelopmentKeyError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    made = issue_development_token(
        key, subject, audience=audience, issuer=issuer, roles=role or (), lifetime_s=lifetime, claims=claims
    )
    typer.echo(made)


def _pair(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise typer.BadParameter(f"{text!r} is not of the form name=value", param_hint="--claim")
    return name, value


if __name__ == "__main__":
    typer.run(token)
