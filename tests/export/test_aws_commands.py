"""Requests as commands of the AWS CLI, read back as a shell and the CLI read them."""

from __future__ import annotations

import json
import shlex
from base64 import b64decode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.export.designs import CREATABLE, loaded

from keyplan.export.examples import ExampleRequest, command, example_request, plain

_JSON = st.recursive(
    st.text(max_size=6) | st.integers() | st.booleans(),
    lambda inner: st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


def read_back(text: str) -> tuple[str, dict[str, Any]]:
    """Return the operation and request of a command, as `aws` parses its arguments."""
    aws, service, operation, *words = shlex.split(text)
    assert (aws, service) == ("aws", "dynamodb")
    request: dict[str, Any] = {}
    while words:
        option = words.pop(0).removeprefix("--")
        if words and not words[0].startswith("--"):
            value = words.pop(0)
            request[_pascal(option)] = json.loads(value) if value[:1] in '{["0123456789' else value
        else:
            request[_pascal(option.removeprefix("no-"))] = not option.startswith("no-")
    return _pascal(operation), request


def _pascal(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def test_options_are_named_and_quoted_for_the_shell() -> None:
    command_text = command(
        "Query",
        {
            "TableName": "notes",
            "KeyConditionExpression": "#o = :o",
            "ExpressionAttributeValues": {":o": {"S": "it's $HOME"}},
            "Limit": 5,
            "ScanIndexForward": False,
            "ConsistentRead": True,
        },
    )
    assert command_text == (
        "aws dynamodb query --table-name notes --key-condition-expression '#o = :o'"
        """ --expression-attribute-values '{":o": {"S": "it'"'"'s $HOME"}}'"""
        " --limit 5 --no-scan-index-forward --consistent-read"
    )


def test_binary_is_base64_in_a_command() -> None:
    plain_item = plain({"B": b"\x00\xff", "BS": [b"a"], "L": [{"B": b""}], "S": "text"})
    assert b64decode(plain_item["B"]) == b"\x00\xff"
    assert plain_item == {"B": "AP8=", "BS": ["YQ=="], "L": [{"B": ""}], "S": "text"}


@given(st.dictionaries(st.text(max_size=5), _JSON, min_size=1, max_size=3))
def test_a_command_can_be_parsed_back_to_its_request(item: dict[str, Any]) -> None:
    request = {"TableName": "notes", "Item": item, "ConsistentRead": True}
    assert read_back(command("PutItem", request)) == ("PutItem", request)


@pytest.mark.parametrize("name", CREATABLE)
def test_requests_of_patterns_can_be_parsed_back(name: str) -> None:
    examples = [example_request(pattern) for pattern in loaded(name).patterns]
    requests = [example for example in examples if isinstance(example, ExampleRequest)]
    assert requests
    for request in requests:
        assert read_back(command(request.operation, request.request)) == (request.operation, plain(request.request))
