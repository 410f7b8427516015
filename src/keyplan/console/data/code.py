"""Functions that show a request as boto3 code, as an AWS CLI command, and as DynamoDB JSON."""

from __future__ import annotations

import json
import pprint
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from keyplan.client.transports import snake
from keyplan.console.data.documents import typed_text
from keyplan.console.source import Source

_WIDTH: Final = 96


@dataclass(frozen=True)
class RequestCode:
    """A request in three forms: boto3 code, an AWS CLI command, and JSON."""

    operation: str
    boto3: str
    cli: str
    request: str


def code_of(source: Source, operation: str, request: Mapping[str, Any]) -> RequestCode:
    """Return a request to the console's database as boto3 code, as an AWS CLI command, and as JSON."""
    return RequestCode(
        operation, _boto3(source, operation, request), _cli(source, operation, request), typed_text(request)
    )


def _boto3(source: Source, operation: str, request: Mapping[str, Any]) -> str:
    arguments = [f'region_name="{source.region or "us-east-1"}"']
    if source.reachable_url:
        arguments.append(f"endpoint_url={json.dumps(source.reachable_url)}")
    lines = [
        "import boto3",
        "",
        f'client = boto3.client("dynamodb", {", ".join(arguments)})',
        f"response = client.{snake(operation)}(",
    ]
    for name, value in request.items():
        text = pprint.pformat(value, width=_WIDTH - len(name), sort_dicts=False)
        lines.append(f"    {name}=" + text.replace("\n", "\n" + " " * (len(name) + 5)) + ",")
    return "\n".join([*lines, ")"])


def _cli(source: Source, operation: str, request: Mapping[str, Any]) -> str:
    """Return a command for version 2 of the AWS CLI, which accepts binary values as base64."""
    parts = [f"aws dynamodb {snake(operation).replace('_', '-')}"]
    for name, value in request.items():
        option = "--" + snake(name).replace("_", "-")
        if isinstance(value, bool):
            parts.append(option if value else "--no-" + option[2:])
        elif isinstance(value, (dict, list)):
            parts.append(f"{option} {shlex.quote(typed_text(value, None))}")
        else:
            parts.append(f"{option} {shlex.quote(str(value))}")
    parts.append(source.cli_options.strip())
    return " \\\n  ".join(parts)
