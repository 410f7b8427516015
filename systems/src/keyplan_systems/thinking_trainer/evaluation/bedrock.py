"""An evaluator that uses a model on Amazon Bedrock through the Converse API of boto3.

Temporary failures (throttling, overload, timeout, lost connection) and unusable replies are retried at most twice,
after pauses of one and two seconds. Permanent rejections (no access, unknown model, blocked content) are not retried.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's

from ..domain.errors import EvaluationRefused, EvaluationUnavailable
from ..domain.rubric import Assessment
from .evaluator import Submission
from .prompt import converse_request
from .reply import ReplyUnusable, assessment_in

RETRY_PAUSES_S = (1.0, 2.0)
"""Pauses before the second and the third (last) attempt, in seconds."""

MAX_CONCURRENT = 20
"""Maximum number of submissions that are graded at the same time.

Each submission occupies one of the server's forty threads, which all requests share, until the model has replied.
"""

TEMPORARY_STATUSES = frozenset({408, 424, 429})
"""HTTP status codes of temporary failures below 500: model timeout, model error, throttled, not ready. Codes of 500 and
above also indicate temporary failures.

Source: the errors of Converse in the Amazon Bedrock API reference.
"""

REFUSAL_STOP_REASONS = frozenset({"guardrail_intervened", "content_filtered"})


class ConverseClient(Protocol):
    """The methods of a boto3 `bedrock-runtime` client that the evaluator uses."""

    def converse(self, **request: Any) -> Mapping[str, Any]:
        """Send one request to a model."""


class BedrockEvaluator:
    """Evaluator that uses a model on Amazon Bedrock. `wait` is a function that pauses for the given number
    of seconds.
    """

    def __init__(self, client: ConverseClient, model_id: str, wait: Callable[[float], None]) -> None:
        self._client = client
        self._model_id = model_id
        self._wait = wait
        self._slots = threading.BoundedSemaphore(MAX_CONCURRENT)

    def evaluate(self, submission: Submission) -> Assessment:
        """Return the model's assessment, after checking that it follows the rubric.

        Raises EvaluationRefused if the request is permanently rejected. Raises EvaluationUnavailable if three attempts
        failed, or immediately while MAX_CONCURRENT other submissions are being graded.
        """
        if not self._slots.acquire(blocking=False):
            raise EvaluationUnavailable(
                f"{self._model_id} is already grading {MAX_CONCURRENT} submissions: try again later"
            )
        try:
            return self._evaluate_with_retries(submission)
        finally:
            self._slots.release()

    def _evaluate_with_retries(self, submission: Submission) -> Assessment:
        previous_error = ""
        for pause in (*RETRY_PAUSES_S, None):
            try:
                return self._request_assessment(submission, previous_error)
            except ReplyUnusable as error:
                previous_error, last_error = str(error), f"the reply could not be used: {error}"
            except (ClientError, ConnectionError, HTTPClientError) as error:
                _raise_if_permanent(error, self._model_id)
                last_error = str(error)
            except BotoCoreError as error:
                raise EvaluationRefused(f"the request to {self._model_id} failed: {error}") from error
            if pause is not None:
                self._wait(pause)
        raise EvaluationUnavailable(
            f"{self._model_id} returned no usable reply in {len(RETRY_PAUSES_S) + 1} attempts: {last_error}"
        )

    def _request_assessment(self, submission: Submission, previous_error: str) -> Assessment:
        reply = self._client.converse(**converse_request(self._model_id, submission, previous_error))
        stop_reason = reply.get("stopReason")
        if stop_reason in REFUSAL_STOP_REASONS:
            raise EvaluationRefused(f"{self._model_id} stopped with stop reason {stop_reason}")
        if stop_reason == "max_tokens":
            raise ReplyUnusable("it was cut off at the length limit; be briefer")
        return assessment_in(_text(reply), self._model_id)


def _text(reply: Mapping[str, Any]) -> str:
    """Return all text in the model's reply. Blocks of other types, such as reasoning and tool use, are ignored."""
    content = reply.get("output", {}).get("message", {}).get("content", [])
    return "\n".join(block["text"] for block in content if "text" in block)


def _raise_if_permanent(error: ClientError | ConnectionError | HTTPClientError, model_id: str) -> None:
    """Raise EvaluationRefused if the error is permanent, which means that a repeated request would also fail."""
    if not isinstance(error, ClientError):
        return
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    code = error.response.get("Error", {}).get("Code", "")
    if status < 500 and status not in TEMPORARY_STATUSES and code != "ThrottlingException":
        raise EvaluationRefused(f"{model_id} refused: {error}") from error


def converse_client(region: str, endpoint_url: str | None = None, timeout_s: float = 60.0) -> ConverseClient:
    """Return a boto3 client that does not retry requests, because the evaluator retries them. boto3 loads the
    credentials from its usual locations.
    """
    config = Config(retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=timeout_s)
    client: ConverseClient = boto3.client(
        "bedrock-runtime", region_name=region, endpoint_url=endpoint_url, config=config
    )
    return client
