"""Selects the evaluator: a model on Amazon Bedrock if one is configured, or otherwise the fixed rubric."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from keyplan.clock import Clock

from .evaluator import Evaluator
from .rubric_evaluator import RubricEvaluator


@dataclass(frozen=True)
class EvaluatorSettings:
    """The settings of the evaluator. If `model_id` is None, the other settings are ignored."""

    model_id: str | None = None
    region: str = "us-east-1"
    endpoint_url: str | None = None
    timeout_s: float = 60.0


def evaluator_for(settings: EvaluatorSettings, clock: Clock) -> Evaluator:
    """Return the evaluator for these settings.

    Raises ImportError with instructions if boto3 is required but missing.
    """
    if settings.model_id is None:
        return RubricEvaluator()
    try:
        # boto3 is an optional dependency. The trainer does not need it unless a model is configured.
        from .bedrock import BedrockEvaluator, converse_client  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ImportError("a Bedrock model needs boto3: pip install 'keyplan[aws]'") from error
    client = converse_client(settings.region, settings.endpoint_url, settings.timeout_s)
    return BedrockEvaluator(client, settings.model_id, lambda seconds: _pause(clock, seconds))


def _pause(clock: Clock, seconds: float) -> None:
    clock.wait(threading.Event(), seconds)
