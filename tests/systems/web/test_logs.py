"""Log lines: JSON, with the request's fields, and without private data."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import orjson
import pytest

from keyplan_systems.web.logs import REDACTED, JsonFormatter, configure_logs, redact
from keyplan_systems.web.request_context import (
    RequestContext,
    add_log_field,
    current_context,
    enter_context,
    leave_context,
    set_user,
)


def formatted(message: str, *values: object, **extra: object) -> dict[str, object]:
    record = logging.makeLogRecord(
        {"msg": message, "args": values, "name": "shop", "levelname": "INFO", "created": 0.25, **extra}
    )
    line: dict[str, object] = json.loads(JsonFormatter().format(record))
    return line


def test_a_line_has_time_level_logger_and_message() -> None:
    assert formatted("sold %d", 3, shop="corner") == {
        "time": "1970-01-01T00:00:00.250+00:00",
        "level": "info",
        "logger": "shop",
        "message": "sold 3",
        "shop": "corner",
    }


def test_a_line_break_in_a_message_does_not_make_a_second_line() -> None:
    record = logging.makeLogRecord({"msg": 'a\n{"forged": true}', "levelname": "INFO"})
    assert "\n" not in JsonFormatter().format(record)


def test_every_line_contains_the_request_and_its_user() -> None:
    token = enter_context(RequestContext("abc"))
    try:
        assert formatted("x")["request_id"] == "abc"
        assert "user_id" not in formatted("x")
        set_user("ada")
        assert formatted("x")["user_id"] == "ada"
    finally:
        leave_context(token)
    assert "request_id" not in formatted("x")


def test_fields_added_outside_a_request_are_ignored() -> None:
    add_log_field("a", 1)
    set_user("ada")
    assert current_context() is None


@pytest.mark.parametrize("name", ["password", "Authorization", "access_token", "Set-Cookie", "api_key", "apiKey"])
def test_secret_fields_are_hidden_by_name(name: str) -> None:
    assert redact(name, "x") == REDACTED
    assert formatted("x", **{name: "hush"})[name] == REDACTED
    assert redact("headers", {"a": {name: "x"}, "b": [1]}) == {"a": {name: REDACTED}, "b": [1]}


def test_tokens_inside_texts_are_hidden() -> None:
    jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.c2ln"
    assert formatted("sent Bearer abc.def to %s", jwt)["message"] == f"sent {REDACTED} to {REDACTED}"
    assert redact("where", [f"/x?t={jwt}"]) == [f"/x?t={REDACTED}"]
    escaped = jwt.replace(".", "%2E")
    assert formatted('"WebSocket /ws?a=1&token=%s&b=2" 403', escaped)["message"] == (
        f'"WebSocket /ws?a=1&token={REDACTED}&b=2" 403'
    )


def test_lone_surrogates_and_large_numbers_are_logged() -> None:
    assert formatted("odd", word="\ud800", number=10**40, keys={1: "\udfff"}) | {"time": ""} == {
        "time": "", "level": "info", "logger": "shop", "message": "odd", "word": "\ud800", "number": 10**40,
        "keys": {"1": "\udfff"},
    }  # fmt: skip


def test_an_exception_is_part_of_its_line() -> None:
    try:
        raise ValueError("no good")
    except ValueError as error:
        line = formatted("failed", exc_info=(type(error), error, error.__traceback__))
    assert "ValueError: no good" in str(line["exception"])


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    loggers = [root, logging.getLogger("httpx"), logging.getLogger("httpcore")]
    handlers, levels = list(root.handlers), [entry.level for entry in loggers]
    yield root
    root.handlers[:] = handlers
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def test_configured_logs_go_only_to_the_stream(root_logger: logging.Logger) -> None:
    stream = io.StringIO()
    handler = configure_logs("INFO", stream)
    assert root_logger.handlers == [handler]
    logging.getLogger("shop").info("open")
    logging.getLogger("shop").debug("unseen")
    logging.getLogger("httpx").info("HTTP Request: GET https://a.example/?key=hush")
    (line,) = stream.getvalue().splitlines()
    assert orjson.loads(line)["message"] == "open"
