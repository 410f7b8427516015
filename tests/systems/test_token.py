"""`keyplan token`: the token contains the given claims, and malformed claims are refused."""

from __future__ import annotations

from pathlib import Path

import jwt
import pytest
from typer.testing import CliRunner

from keyplan.cli.main import app


def test_claims_are_in_the_token(tmp_path: Path) -> None:
    result = ["token", "ada", "--folder", str(tmp_path), "--role", "admins", "--claim", "email=a=b@example.org"]
    second_result = CliRunner().invoke(app, [*result, "--claim", "name="])
    assert second_result.exit_code == 0
    claims = jwt.decode(second_result.stdout.strip(), options={"verify_signature": False})
    assert (claims["sub"], claims["email"], claims["name"]) == ("ada", "a=b@example.org", "")


@pytest.mark.parametrize("claim", ["email", "", "=x"])
def test_an_invalid_claim_is_rejected(claim: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["token", "ada", "--folder", str(tmp_path), "--claim", claim])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "keyplan token: --claim expects name=value" in result.stderr
    assert f"not {claim!r}" in result.stderr
    assert not list(tmp_path.iterdir()), "no key is made"


def test_a_key_that_others_can_read_is_a_clear_error(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["token", "ada", "--folder", str(tmp_path)]).exit_code == 0
    (tmp_path / "keys" / "development-key.pem").chmod(0o644)
    result = CliRunner().invoke(app, ["token", "ada", "--folder", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "keyplan token: " in result.stderr
    assert "is readable by other users" in result.stderr
