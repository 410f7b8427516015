"""Everything the trainer refuses, as one tree.

TrainerError
├── AnswersRejected         answers that do not fit their scenario or the limits
├── AttemptClosed           a completed or abandoned attempt does not change any more
├── AttemptConflict         two different records under one attempt id
├── ItemUnreadable          a stored item no upgrade leads from
├── ScenarioFileInvalid     a seed scenario that breaks the limits
└── EvaluationFailed        no evaluation could be had
    ├── EvaluationRefused       the model service will not answer this request, however often it is asked
    └── EvaluationUnavailable   the model service gave no usable answer in all tries; trying later may help
"""

from __future__ import annotations


class TrainerError(Exception):
    """The root of all refusals of the trainer."""


class AnswersRejected(TrainerError):  # noqa: N818 - named like what happened, as a user reads it
    """Answers that do not fit their scenario or the limits; `problems` names every one of them."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class AttemptClosed(TrainerError):  # noqa: N818
    """A completed or abandoned attempt does not change any more."""

    def __init__(self, attempt_id: str, status: str, verb: str) -> None:
        super().__init__(f"Attempt {attempt_id} is {status}: only an attempt in progress can be {verb}")
        self.attempt_id = attempt_id
        self.status = status


class AttemptConflict(TrainerError):  # noqa: N818
    """Two different records under one attempt id: one of them is not what was stored."""


class ItemUnreadable(TrainerError):  # noqa: N818
    """A stored item no upgrade leads from: a version of a newer program, or a form nobody wrote."""


class ScenarioFileInvalid(TrainerError):  # noqa: N818
    """A seed scenario that breaks the limits; the message names file and field."""


class EvaluationFailed(TrainerError):  # noqa: N818
    """No evaluation could be had."""


class EvaluationRefused(EvaluationFailed):
    """The model service will not answer this request, however often it is asked."""


class EvaluationUnavailable(EvaluationFailed):
    """The model service gave no usable answer in all tries; trying later may help."""
