"""Runs commands of the AWS CLI in this process. In separate processes, each would import it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from typing import Any


def run(commands: Iterable[str], url: str) -> Iterator[tuple[int, str]]:
    """Run `aws ...` commands at an endpoint, and yield the exit code and the error message of each."""
    for command in commands:
        errors = StringIO()
        with redirect_stdout(StringIO()), redirect_stderr(errors):
            code = _driver().main([*shlex.split(command)[1:], "--endpoint-url", url])
        yield code, " ".join(errors.getvalue().split())


@cache
def _driver() -> Any:
    from awscli.clidriver import create_clidriver  # noqa: PLC0415 - takes long, and every worker collects this file

    return create_clidriver()
