"""Request bodies: each range at its last valid and first invalid value, and the text of refusals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import pytest

from keyplan_systems.ask_a_human.domain import requests
from keyplan_systems.ask_a_human.domain.refusals import InvalidRequestError
from keyplan_systems.ask_a_human.domain.requests import (
    AnswerRequest,
    Audience,
    QuestionRequest,
    SubscribeRequest,
    SubscriptionChange,
)

TEXT = {"prompt": "Which label is clearer?", "type": "text"}
CHOICE = {"prompt": "Which label is clearer?", "type": "multiple_choice", "options": ["Send", "Submit"]}


def test_a_question_has_the_documented_defaults() -> None:
    parsed = requests.parse(QuestionRequest, TEXT)
    assert (parsed.audience, parsed.min_responses, parsed.timeout_seconds) == ([Audience.GENERAL], 5, 3600)
    assert parsed.options is None
    assert parsed.idempotency_key is None


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "x" * 10},
        {"prompt": "x" * 2000},
        {"prompt": "\U0001f600" * 2000},
        {"min_responses": 1},
        {"min_responses": 50},
        {"timeout_seconds": 60},
        {"timeout_seconds": 86_400},
        {"audience": ["ethics", "technical", "product", "creative", "general"]},
        {"idempotency_key": "k" * 200},
    ],
)
def test_the_limits_of_each_range_are_accepted(change: Mapping[str, object]) -> None:
    parsed = requests.parse(QuestionRequest, {**TEXT, **change})
    assert {name: value for name, value in parsed.model_dump(mode="json").items() if name in change} == change


@pytest.mark.parametrize("options", [["a", "b"], [str(n) for n in range(10)], ["o" * 200, "p"]])
def test_two_to_ten_options_of_up_to_200_characters_are_accepted(options: list[str]) -> None:
    assert requests.parse(QuestionRequest, {**CHOICE, "options": options}).options == options


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"prompt": "x" * 9}, "prompt"),
        ({"prompt": "x" * 2001}, "prompt"),
        ({"prompt": " " * 20}, "prompt"),
        ({"prompt": None}, "prompt"),
        ({"prompt": 12345678901}, "prompt"),
        ({"type": "essay"}, "type"),
        ({"type": "text"}, "body"),
        ({"options": ["one"]}, "options"),
        ({"options": [str(n) for n in range(11)]}, "options"),
        ({"options": ["a", "o" * 201]}, "options.1"),
        ({"options": ["a", ""]}, "options.1"),
        ({"options": ["a", " "]}, "options.1"),
        ({"options": ["a", "a"]}, "options"),
        ({"options": None}, "body"),
        ({"audience": []}, "audience"),
        ({"audience": ["general", "general"]}, "audience"),
        ({"audience": ["everybody"]}, "audience.0"),
        ({"min_responses": 0}, "min_responses"),
        ({"min_responses": 51}, "min_responses"),
        ({"min_responses": True}, "min_responses"),
        ({"min_responses": 5.0}, "min_responses"),
        ({"min_responses": "5"}, "min_responses"),
        ({"timeout_seconds": 59}, "timeout_seconds"),
        ({"timeout_seconds": 86_401}, "timeout_seconds"),
        ({"idempotency_key": ""}, "idempotency_key"),
        ({"idempotency_key": "k" * 201}, "idempotency_key"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_values_outside_each_range_are_rejected_with_the_field(change: Mapping[str, object], field: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        requests.parse(QuestionRequest, {**CHOICE, **change})
    assert refused.value.details is not None
    assert refused.value.details["field"] == field
    assert refused.value.message.startswith(f"{field}: ")
    assert (refused.value.code, refused.value.status) == ("VALIDATION_ERROR", 400)


@pytest.mark.parametrize("body", [None, [], "text", 5])
def test_a_body_that_is_not_an_object_is_rejected(body: object) -> None:
    with pytest.raises(InvalidRequestError, match=r"^body: "):
        requests.parse(QuestionRequest, body)


def test_a_rejection_names_every_problem() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        requests.parse(QuestionRequest, {"prompt": "short", "type": "essay"})
    details: Any = refused.value.details
    assert [problem["field"] for problem in details["problems"]] == ["prompt", "type"]
    assert refused.value.code == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "body", [{"answer": "x"}, {"answer": "x" * 5000}, {"selected_option": 0}, {"answer": "x", "confidence": 5}]
)
def test_answers_inside_the_ranges_are_accepted(body: Mapping[str, object]) -> None:
    assert requests.parse(AnswerRequest, {"question_id": "q", **body}).question_id == "q"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"answer": ""}, "answer"),
        ({"answer": "\n"}, "answer"),
        ({"answer": "x" * 5001}, "answer"),
        ({"selected_option": -1}, "selected_option"),
        ({"selected_option": "0"}, "selected_option"),
        ({"answer": "x", "confidence": 0}, "confidence"),
        ({"answer": "x", "confidence": 6}, "confidence"),
        ({"answer": "x", "response_time_ms": -1}, "response_time_ms"),
    ],
)
def test_answers_outside_the_ranges_are_rejected(body: Mapping[str, object], field: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"^{field}: "):
        requests.parse(AnswerRequest, {"question_id": "q", **body})


def test_push_intervals_run_from_5_to_1440_minutes_and_default_to_30() -> None:
    assert requests.parse(SubscribeRequest, {"fcm_token": "t"}).min_interval_minutes == 30
    for minutes in (5, 1440):
        parsed = requests.parse(SubscribeRequest, {"fcm_token": "t", "min_interval_minutes": minutes})
        assert parsed.min_interval_minutes == minutes
    for minutes in (4, 1441):
        with pytest.raises(InvalidRequestError, match=r"^min_interval_minutes: "):
            requests.parse(SubscribeRequest, {"fcm_token": "t", "min_interval_minutes": minutes})


def test_an_empty_change_is_rejected() -> None:
    with pytest.raises(InvalidRequestError, match="send fcm_token"):
        requests.parse(SubscriptionChange, {})


def test_the_digest_ignores_only_the_key() -> None:
    request = requests.parse(QuestionRequest, {**TEXT, "idempotency_key": "a"})
    same = requests.parse(QuestionRequest, {**TEXT, "idempotency_key": "b", "min_responses": 5})
    other = requests.parse(QuestionRequest, {**TEXT, "idempotency_key": "a", "min_responses": 6})
    assert request.digest() == same.digest()
    assert request.digest() != other.digest()


def test_the_key_may_be_in_body_or_header_but_not_with_two_values() -> None:
    assert requests.idempotency_key("k", None) == "k"
    assert requests.idempotency_key(None, "k") == "k"
    assert requests.idempotency_key("k", "k") == "k"
    assert requests.idempotency_key(None, None) is None
    with pytest.raises(InvalidRequestError, match="differ"):
        requests.idempotency_key("k", "other")
    with pytest.raises(InvalidRequestError, match="1 to 200"):
        requests.idempotency_key(None, " ")


def test_a_fingerprint_is_stored_only_as_its_hash() -> None:
    assert requests.fingerprint_hash("device-1") == hashlib.sha256(b"device-1").hexdigest()


@pytest.mark.parametrize("header", [None, "", "two words", "é", "x" * 129, "line\n"])
def test_missing_and_invalid_identity_headers_are_rejected(header: str | None) -> None:
    for read in (requests.agent_id, requests.fingerprint_hash):
        with pytest.raises(InvalidRequestError, match="1 to 128 visible ASCII"):
            read(header)
