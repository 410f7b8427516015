"""`keyplan serve`: the hints that it prints after the start."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from keyplan.cli.serve import serve

URL = "http://127.0.0.1:8000"


def hints(monkeypatch: pytest.MonkeyPatch, *options: str, installed: bool = True) -> list[str]:
    """Return the hints of a server that does not start."""

    def launch(**settings: Any) -> None:
        for line in settings["hints"](URL):
            settings["print_line"](line)

    monkeypatch.setattr("keyplan.server.launch.launch", launch)
    for module in ("serve", "console"):
        monkeypatch.setattr(f"keyplan.cli.{module}.is_installed", lambda: installed)
    app = typer.Typer()
    app.command()(serve)
    return CliRunner().invoke(app, options).stdout.splitlines()


def test_a_missing_console_is_reported_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = "keyplan serve: console: not installed; pip install 'keyplan[console]'"
    assert hints(monkeypatch, installed=False) == [expected]
    assert hints(monkeypatch, "--no-console", installed=False) == []
    assert [line.partition("?")[0] for line in hints(monkeypatch)] == [f"keyplan serve: console {URL}/console/"]


def test_sample_commands_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    head, *commands, code = hints(monkeypatch, "--sample", "--no-console")
    assert (
        head == "keyplan serve: the table sample-films contains 10 films. Example commands, with any credentials set:"
    )
    script = shlex.split("\n".join(commands))
    assert script[:3] == ["export", "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any"]
    assert script.count("aws") == 2
    assert '{":g": {"S": "drama"}, ":r": {"N": "7.8"}}' in script
    assert code.startswith("keyplan serve: in Python: boto3.client(")


def test_sample_commands_need_an_access_key_if_signatures_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    head, *commands = hints(monkeypatch, "--sample", "--no-console", "--credentials", "keys")
    assert head.endswith("Example commands, with an access key of the --credentials file set:")
    assert commands[0].startswith("  aws dynamodb list-tables")
