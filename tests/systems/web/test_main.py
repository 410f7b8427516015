"""The command that prints a development token."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from keyplan_systems.web.tokens import TokenRules, TokenSettings, verifier_for


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "keyplan_systems.web", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})


def test_the_printed_token_is_accepted_by_an_application_on_the_same_folder(tmp_path: Path) -> None:
    options = ["--audience", "shop", "--role", "users", "--role", "administrators", "--claim", "email=a@example.org"]
    answer = run(str(tmp_path), "ada", *options)
    assert answer.returncode == 0, answer.stderr
    verifier = verifier_for(TokenSettings(TokenRules("shop"), development_folder=tmp_path))
    principal = verifier.verify(answer.stdout.strip())
    assert principal.subject == "ada"
    assert principal.roles == {"users", "administrators"}
    assert principal.claims["email"] == "a@example.org"


def test_a_folder_that_cannot_be_used_and_a_malformed_claim_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    blocked = run(str(tmp_path / "file"), "ada", "--audience", "shop")
    assert (blocked.returncode, blocked.stdout) == (1, "")
    assert "cannot make or read" in blocked.stderr
    malformed = run(str(tmp_path), "ada", "--audience", "shop", "--claim", "email")
    assert malformed.returncode == 2
    assert "name=value" in malformed.stderr
