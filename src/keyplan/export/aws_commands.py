"""Requests as commands of the AWS CLI.

Sources: AWS CLI command reference, dynamodb; user guide, "Quoting and literals with strings in the AWS CLI" and
"AWS CLI input and output" (binary as base64, booleans as --name and --no-name).
"""

from __future__ import annotations

import json
import re
import shlex
from base64 import b64encode
from collections.abc import Mapping
from typing import Any


def command(operation: str, request: Mapping[str, Any]) -> str:
    """The command that sends a request."""
    options = [_option(name, value) for name, value in request.items()]
    return " ".join(["aws dynamodb", _kebab(operation), *options])


def _kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{_kebab(name)}" if value else f"--no-{_kebab(name)}"
    text = value if isinstance(value, str) else json.dumps(plain(value))
    return f"--{_kebab(name)} {shlex.quote(text)}"


def plain(value: Any) -> Any:
    """A value as JSON holds it: binary as base64."""
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return b64encode(value).decode() if isinstance(value, bytes) else value
