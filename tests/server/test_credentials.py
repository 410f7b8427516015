"""Files of access keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyplan.server.sigv4 import AccessKey, BadCredentialsError, read_credentials

GOOD = """
[default]
aws_access_key_id = AKID
aws_secret_access_key = a/b+c=%d
region = eu-west-1

[temporary]
aws_access_key_id=ASIA
aws_secret_access_key=s
aws_session_token=t

[elsewhere]
role_arn = arn:aws:iam::123456789012:role/r
"""


def test_keys_are_read_by_access_key(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(GOOD)
    assert read_credentials(str(file)) == {
        "AKID": AccessKey("a/b+c=%d"),
        "ASIA": AccessKey("s", token="t"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "contains no access keys"),
        (b"[a]\nregion = x", "contains no access keys"),
        (b"no section", "is not a credentials file"),
        (b"\xff\xfe", "is not a credentials file"),
        (b"[a]\naws_access_key_id = x", "[a] has no aws_secret_access_key"),
        (b"[a]\naws_secret_access_key = x", "[a] has no aws_access_key_id"),
        (
            b"[a]\naws_access_key_id=x\naws_secret_access_key=y\n[b]\naws_access_key_id=x\naws_secret_access_key=z",
            "[b] repeats the access key x",
        ),
    ],
)
def test_an_invalid_file_is_rejected_with_the_reason(tmp_path: Path, text: bytes, message: str) -> None:
    file = tmp_path / "keys"
    file.write_bytes(text)
    with pytest.raises(BadCredentialsError) as caught:
        read_credentials(str(file))
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadCredentialsError, match="cannot read the credentials file"):
        read_credentials(str(tmp_path / "none"))
