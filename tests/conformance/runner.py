"""Cases as data: tables made, requests sent in order, answers compared; in process or over HTTP.

A case is an object: "name", "source", "tables" (names of those it needs) and "steps". A step is a request
("call", "request") and either members of the "answer" or an "error" with code, message and further members.
"source" says where the expectation comes from: "captured" is an answer of the service that a public conformance
suite recorded or expects, "documented" follows from the service's guide, "inferred" is deduced from those.

Some members of a request or an answer are abbreviated, as an object with one member whose name starts with "$":

    {"$text": ["x", 400]}         that text 400 times, {"$text": ["x", 9, "y"]} with an ending
    {"$join": ["a", {...}]}       texts one after the other
    {"$each": [26, {...}]}        a list of 26, "{i}" in each replaced by its number
    {"$deep": 31}                 a text inside 31 maps
    {"$saved": "name"}            what an earlier step kept: "save": {"name": "path.in.the.answer"}

and in answers:

    {"$has": {...}}               a map with these members and perhaps others
    {"$absent": true}             no such member
    {"$any": true}                any value
    {"$length": 3}                a list or text of that length
    {"$unordered": [...]}         these elements in any order
    {"$matches": "pattern"}       a text that matches the whole of the pattern
    {"$one_of": [...]}            one of several answers, where the service's regions differ
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyplan.clock import ManualClock
from keyplan.engine import fsck
from keyplan.engine.engine import Engine
from keyplan.errors import ServiceError
from keyplan.server.thread import ThreadedServer

FOLDER = Path(__file__).parent
NOW = 1_790_000_000.0  # where the clock of every case stands
SOURCES = {"captured", "documented", "inferred"}
STREAMS = {"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}
SIGNED = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=b",
    "X-Amz-Date": "20260101T000000Z",
}

Ask = Callable[[str, dict[str, Any]], tuple[str | None, dict[str, Any]]]
Tables = dict[str, dict[str, Any]]


def tables_of(file: str) -> Tables:
    """Return the CreateTable requests of a file in this folder, by the names that cases use."""
    tables: Tables = json.loads((FOLDER / file).read_text())
    return tables


def cases_of(folder: str) -> list[Any]:
    """Return the cases of a folder next to this file as parameters of a test, named by file and case."""
    return [
        pytest.param(case, id=f"{path.relative_to(FOLDER / folder).with_suffix('').as_posix()}: {case['name']}")
        for path in sorted((FOLDER / folder).rglob("*.json"))
        if path.name != "tables.json"
        for case in json.loads(path.read_text())
    ]


class InProcess:
    """The engine's wire form: requests as the JSON they would be sent as."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __call__(self, operation: str, request: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
        try:
            response = self._engine.call_wire(operation, copy.deepcopy(request))
        except ServiceError as error:
            return error.code, json.loads(orjson.dumps({"message": error.message, **error.members}))
        return None, json.loads(orjson.dumps(response))


class OverHTTP:
    """The same by POST, as an SDK sends it: over one connection that stays open."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection

    def __call__(self, operation: str, request: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
        prefix = "DynamoDBStreams_20120810" if operation in STREAMS else "DynamoDB_20120810"
        headers = {**SIGNED, "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"{prefix}.{operation}"}
        self._connection.request("POST", "/", orjson.dumps(request), headers)
        response = self._connection.getresponse()
        body: dict[str, Any] = json.loads(response.read() or b"{}")
        if response.status == HTTPStatus.OK:
            return None, body
        code = str(body.pop("__type")).rpartition("#")[2]
        return code, {"message": body.pop("message", body.pop("Message", "")), **body}


def play_in_process(case: dict[str, Any], tables: Tables) -> None:
    """Ask a case of a new engine, which is sound afterwards."""
    with Engine.memory(clock=ManualClock(NOW)) as engine:
        play(case, InProcess(engine), tables)
        assert fsck.check(engine) == []


def play_over_http(case: dict[str, Any], tables: Tables) -> None:
    """Ask a case of a server before a new engine."""
    with (
        Engine.memory(clock=ManualClock(NOW)) as engine,
        ThreadedServer(engine) as server,
        closing(HTTPConnection("127.0.0.1", server.port, timeout=240)) as connection,
    ):
        play(case, OverHTTP(connection), tables)


def play(case: dict[str, Any], ask: Ask, tables: Tables) -> None:
    """Make the tables, then take the steps in order."""
    for name in case.get("tables", ()):
        code, response = ask("CreateTable", tables[name])
        assert code is None, response
    saved: dict[str, Any] = {}
    for number, step in enumerate(case["steps"], start=1):
        code, response = ask(step["call"], expand(step.get("request", {}), saved))
        text = f"step {number}: {step['call']}: {code}: {json.dumps(response)[:2000]}"
        check(step, code, response, saved, text)
        for name, place in step.get("save", {}).items():
            saved[name] = value_at(response, place)


def check(
    step: dict[str, Any], code: str | None, response: dict[str, Any], saved: dict[str, Any], context: str
) -> None:
    error = step.get("error")
    if error is None:
        assert code is None, context
        assert fits({"$has": step.get("answer", {})}, response, saved), context
        return
    assert code == error["code"], context
    if "message" in error:
        assert fits(error["message"], response["message"], saved), context
    for member, expected in error.items():
        if member not in ("code", "message"):
            assert fits(expected, response.get(member), saved), context


def value_at(response: Any, place: str) -> Any:
    """Return a value inside an answer, by its path of names and list positions with dots between."""
    for part in place.split("."):
        response = response[int(part)] if isinstance(response, list) else response[part]
    return response


def short(value: Any) -> tuple[str, Any] | None:
    """Return the name and argument of an abbreviated value."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, argument),) = value.items()
        if name.startswith("$"):
            return name, argument
    return None


def expand(value: Any, saved: dict[str, Any]) -> Any:
    """Return a request, or an expected value, with all abbreviations expanded."""
    match short(value):
        case ("$text", [text, times, *ending]):
            return text * times + "".join(ending)
        case ("$join", parts):
            return "".join(expand(part, saved) for part in parts)
        case ("$each", [count, element]):
            return [numbered(expand(element, saved), number) for number in range(count)]
        case ("$deep", levels):
            leaf: dict[str, Any] = {"S": "leaf"}
            for _ in range(levels):
                leaf = {"M": {"n": leaf}}
            return leaf
        case ("$saved", name):
            return saved[name]
    if isinstance(value, dict):
        return {name: expand(member, saved) for name, member in value.items()}
    if isinstance(value, list):
        return [expand(member, saved) for member in value]
    return value


def numbered(value: Any, number: int) -> Any:
    """Return the element of a list with its number filled in."""
    if isinstance(value, str):
        return value.replace("{i}", str(number))
    if isinstance(value, dict):
        return {numbered(name, number): numbered(member, number) for name, member in value.items()}
    if isinstance(value, list):
        return [numbered(member, number) for member in value]
    return value


def fits(expected: Any, actual: Any, saved: dict[str, Any]) -> bool:
    """Whether an answer is what a case expects."""
    shortened = short(expected)
    if shortened is not None:
        name, argument = shortened
        rule = RULES.get(name)
        return bool(expand(expected, saved) == actual) if rule is None else rule(argument, actual, saved)
    if isinstance(expected, dict):
        return fits_map(expected, actual, saved)
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(expected) == len(actual)
            and all(fits(first, second, saved) for first, second in zip(expected, actual, strict=True))
        )
    return bool(expected == actual)


def fits_map(expected: dict[str, Any], actual: Any, saved: dict[str, Any]) -> bool:
    """Whether a map has these members and no others."""
    present = {name for name, member in expected.items() if short(member) != ("$absent", True)}
    return (
        isinstance(actual, dict)
        and present == actual.keys()
        and all(fits(expected[name], actual[name], saved) for name in present)
    )


def fits_members(members: dict[str, Any], actual: Any, saved: dict[str, Any]) -> bool:
    """Whether a map has these members, and perhaps others."""
    return isinstance(actual, dict) and all(fits(member, actual.get(name), saved) for name, member in members.items())


def fits_unordered(elements: list[Any], actual: list[Any], saved: dict[str, Any]) -> bool:
    """Whether a list has these elements in any order."""
    remaining = list(actual)
    for element in elements:
        place = next((at for at, other in enumerate(remaining) if fits(element, other, saved)), None)
        if place is None:
            return False
        del remaining[place]
    return not remaining


RULES: dict[str, Callable[[Any, Any, dict[str, Any]], bool]] = {
    "$has": fits_members,
    "$absent": lambda _, actual, __: actual is None,
    "$any": lambda _, actual, __: actual is not None,
    "$length": lambda length, actual, _: len(actual) == length,
    "$unordered": fits_unordered,
    "$matches": lambda pattern, actual, _: re.fullmatch(pattern, actual, re.DOTALL) is not None,
    "$one_of": lambda patterns, actual, saved: any(fits(pattern, actual, saved) for pattern in patterns),
}
