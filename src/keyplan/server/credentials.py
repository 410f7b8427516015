"""Files of access keys, in the form that AWS tools keep them.

    [default]
    aws_access_key_id = AKIDEXAMPLE
    aws_secret_access_key = secret
    aws_session_token = optional

Every section is one key; its name does not matter.
"""

from __future__ import annotations

import configparser
from pathlib import Path

from keyplan.server.sigv4 import Key


class BadCredentialsError(Exception):
    """The file cannot be read, or holds no key; the text says where and why."""


def read_credentials(path: str) -> dict[str, Key]:
    """The keys of a file by access key. Raises BadCredentialsError."""
    parser = configparser.RawConfigParser()
    try:
        with Path(path).open(encoding="utf-8") as file:
            parser.read_file(file, source=path)
    except OSError as error:
        raise BadCredentialsError(f"cannot read the credentials file {path}: {error.strerror}") from error
    except (configparser.Error, UnicodeDecodeError) as error:
        raise BadCredentialsError(f"{path} is no credentials file: {error}") from error
    keys: dict[str, Key] = {}
    for section in parser.sections():
        _add(keys, path, section, dict(parser.items(section)))
    if not keys:
        raise BadCredentialsError(
            f"{path} holds no keys: a [section] with aws_access_key_id and aws_secret_access_key is needed"
        )
    return keys


def _add(keys: dict[str, Key], path: str, section: str, entries: dict[str, str]) -> None:
    access_key = entries.get("aws_access_key_id", "")
    secret = entries.get("aws_secret_access_key", "")
    if not access_key and not secret:
        return  # a profile that takes its keys elsewhere
    if not access_key or not secret:
        lacking = "aws_secret_access_key" if access_key else "aws_access_key_id"
        raise BadCredentialsError(f"{path}: [{section}] has no {lacking}")
    if access_key in keys:
        raise BadCredentialsError(f"{path}: [{section}] repeats the access key {access_key}")
    keys[access_key] = Key(secret, entries.get("aws_session_token") or None)
