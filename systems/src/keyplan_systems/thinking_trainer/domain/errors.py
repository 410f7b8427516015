"""Errors of the trainer, as one tree.

TrainerError
├── AnswersRejected         answers that do not fit their scenario or the limits
├── AttemptClosed           a completed or abandoned attempt does not change any more
├── AttemptConflict         two different records under one attempt id
├── ItemUnreadable          a stored item without an upgrade
├── ScenarioFileInvalid     a seed scenario that breaks the limits
└── EvaluationFailed        the evaluation failed
    ├── EvaluationRefused       the model service will not answer this request, however often it is asked
    └── EvaluationUnavailable   the model service gave no usable answer in all tries; trying later may help
"""

from __future__ import annotations


class TrainerError(Exception):
    """Root of all errors of the trainer."""


class AnswersRejected(TrainerError):  # noqa: N818 - named like what happened, as a user reads it
    """Answers that do not fit their scenario or the limits; `problems` lists every problem."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class AttemptClosed(TrainerError):  # noqa: N818
    """Change of a completed or abandoned attempt."""

    def __init__(self, attempt_id: str, status: str, verb: str) -> None:
        super().__init__(f"Attempt {attempt_id} is {status}: only an attempt in progress can be {verb}")
        self.attempt_id = attempt_id
        self.status = status


class AttemptConflict(TrainerError):  # noqa: N818
    """Different record under a known attempt ID, so that one of the two is wrong."""


class ItemUnreadable(TrainerError):  # noqa: N818
    """Stored item without an upgrade: a version of a newer program, or an unknown form."""


class ScenarioFileInvalid(TrainerError):  # noqa: N818
    """Seed scenario that violates the limits; the message names file and field."""


class EvaluationFailed(TrainerError):  # noqa: N818
    """Failure of the evaluation."""


class EvaluationRefused(EvaluationFailed):
    """Permanent refusal of the request by the model service."""


class EvaluationUnavailable(EvaluationFailed):
    """Failure of the model service in all tries; a later attempt may succeed."""
