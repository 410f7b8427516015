"""Which evaluator grades: a model on Amazon Bedrock when one is configured, the fixed rubric when not."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from keyplan.clock import Clock

from .evaluator import Evaluator
from .rubric_evaluator import RubricEvaluator


@dataclass(frozen=True)
class EvaluatorSettings:
    """How to grade. Without a model id the rest is not looked at."""

    model_id: str | None = None
    region: str = "us-east-1"
    endpoint_url: str | None = None
    timeout_s: float = 60.0


def evaluator_for(settings: EvaluatorSettings, clock: Clock) -> Evaluator:
    """The evaluator these settings ask for; ImportError with the remedy when it needs boto3 and that is missing."""
    if settings.model_id is None:
        return RubricEvaluator()
    try:
        # boto3 is an optional extra: the trainer runs without it as long as no model is configured.
        from .bedrock import BedrockEvaluator, converse_client  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ImportError("a Bedrock model needs boto3: pip install 'keyplan[aws]'") from error
    client = converse_client(settings.region, settings.endpoint_url, settings.timeout_s)
    return BedrockEvaluator(client, settings.model_id, lambda seconds: _pause(clock, seconds))


def _pause(clock: Clock, seconds: float) -> None:
    clock.wait(threading.Event(), seconds)
