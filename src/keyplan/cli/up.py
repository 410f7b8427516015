"""`keyplan up`: the five systems in one process; `keyplan token`: a development token for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from keyplan.cli.designs import refusal


def up(  # noqa: PLR0917 - one parameter per option, given by name
    folder: Annotated[Path, typer.Option("--folder", help="Where database, keys and files are kept.")] = Path(
        "keyplan-data"
    ),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; beyond this machine without DynamoDB.")
    ] = "127.0.0.1",
    system: Annotated[list[str] | None, typer.Option("--system", help="Only this system; may be repeated.")] = None,
    endpoint: Annotated[str | None, typer.Option("--endpoint", help="Another DynamoDB: http://host:port.")] = None,
    aws: Annotated[str | None, typer.Option("--aws", help="Amazon DynamoDB in this region.")] = None,
    sample: Annotated[bool, typer.Option("--sample/--no-sample", help="Load a little data to look at.")] = True,
    log_level: Annotated[
        Literal["info", "warning"], typer.Option("--log-level", help="Info has a line for each request.")
    ] = "warning",
    issuer: Annotated[
        str | None,
        typer.Option(
            "--issuer",
            help="Whose tokens are accepted, instead of those of `keyplan token`. There is no DynamoDB endpoint then;"
            " with a --host beyond this machine, home page, API docs and health details need a token.",
        ),
    ] = None,
    audience: Annotated[str | None, typer.Option("--audience", help="What the issuer's tokens must be for.")] = None,
    keys: Annotated[
        str | None, typer.Option("--keys", help="The issuer's public keys, a JWKS: an address or a file.")
    ] = None,
) -> None:
    """Run the systems: APIs, sweepers, stream consumers and the DynamoDB endpoint on one port."""
    try:
        from keyplan_systems.up.launch import Settings, UpError  # noqa: PLC0415 - `keyplan --help` needs no systems
        from keyplan_systems.up.launch import up as run  # noqa: PLC0415
    except ImportError as error:
        raise refusal(f"keyplan up: {error}; pip install 'keyplan[systems]'", code=1) from None
    if endpoint is not None and aws is not None:
        raise refusal("keyplan up: give --endpoint or --aws, not both")
    url = endpoint if endpoint is not None else f"aws://{aws}" if aws is not None else None
    settings = Settings(
        folder, host, port, tuple(system or ()), url, sample, log_level, issuer=issuer, audience=audience, keys=keys
    )
    try:
        run(settings, lambda line: typer.echo(f"keyplan up: {line}"))
    except UpError as error:
        raise refusal(f"keyplan up: {error}", code=1) from None


def token(
    subject: Annotated[str, typer.Argument(help="Who the token is for: the user's id.")],
    folder: Annotated[Path, typer.Option("--folder", help="The folder of `keyplan up`.")] = Path("keyplan-data"),
    role: Annotated[list[str] | None, typer.Option("--role", help="A role, such as administrators.")] = None,
    claim: Annotated[list[str] | None, typer.Option("--claim", help="A claim: email=ada@example.org.")] = None,
) -> None:
    """Make a development token for the systems of `keyplan up`, valid for an hour."""
    try:
        from keyplan_systems.up.launch import AUDIENCE, UpError, key_of  # noqa: PLC0415 - see above
        from keyplan_systems.web.development import issue_development_token  # noqa: PLC0415
    except ImportError as error:
        raise refusal(f"keyplan token: {error}; pip install 'keyplan[systems]'", code=1) from None

    pairs = [one.partition("=") for one in claim or ()]
    for name, sign, value in pairs:
        if not (name and sign):
            wrong = f"{name}{sign}{value}"
            raise refusal(f"keyplan token: {wrong!r} is no claim: write it as email=ada@example.org")
    try:
        key = key_of(folder)
    except UpError as error:
        raise refusal(f"keyplan token: {error}", code=1) from None
    claims = {name: value for name, _, value in pairs}
    typer.echo(issue_development_token(key, subject, audience=AUDIENCE, roles=tuple(role or ()), claims=claims))


def demo(
    url: Annotated[
        str | None, typer.Option("--url", help="A running `keyplan up`; one of its own if left out.")
    ] = None,
    folder: Annotated[Path | None, typer.Option("--folder", help="The folder of the running `keyplan up`.")] = None,
    system: Annotated[list[str] | None, typer.Option("--system", help="Only this system; may be repeated.")] = None,
) -> None:
    """Play a short day through the systems, and tell what happened."""
    try:
        from keyplan_systems.up.demo import demo as play  # noqa: PLC0415 - see above
        from keyplan_systems.up.launch import UpError  # noqa: PLC0415
    except ImportError as error:
        raise refusal(f"keyplan demo: {error}; pip install 'keyplan[systems]'", code=1) from None
    try:
        play(url, folder, system or [], typer.echo)
    except UpError as error:
        raise refusal(f"keyplan demo: {error}", code=1) from None
