"""The exceptions of the trainer.

TrainerError
├── AnswersRejected         answers are invalid for their scenario or exceed the limits
├── AttemptClosed           a completed or abandoned attempt cannot change
├── AttemptConflict         two different records have the same attempt ID
├── ItemUnreadable          a stored item cannot be upgraded
├── ScenarioFileInvalid     a seed scenario violates the limits
└── EvaluationFailed        the evaluation failed
    ├── EvaluationRefused       the model service permanently rejects this request
    └── EvaluationUnavailable   the model service returned no usable reply; a retry may succeed
"""

from __future__ import annotations


class TrainerError(Exception):
    """Base class of all errors of the trainer."""


class AnswersRejected(TrainerError):  # noqa: N818 - named after the event that a user sees
    """Raised if answers are invalid for their scenario or exceed the limits. `problems` lists all problems."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class AttemptClosed(TrainerError):  # noqa: N818
    """Raised if a caller tries to change a completed or abandoned attempt."""

    def __init__(self, attempt_id: str, status: str, verb: str) -> None:
        super().__init__(f"Attempt {attempt_id} is {status}: only an attempt in progress can be {verb}")
        self.attempt_id = attempt_id
        self.status = status


class AttemptConflict(TrainerError):  # noqa: N818
    """Raised if two different records have the same attempt ID, which means that one of them is wrong."""


class ItemUnreadable(TrainerError):  # noqa: N818
    """Raised if a stored item cannot be upgraded, because it has a newer version or an unknown form."""


class ScenarioFileInvalid(TrainerError):  # noqa: N818
    """Raised if a seed scenario violates the limits. The message contains the name of the file and of the field."""


class EvaluationFailed(TrainerError):  # noqa: N818
    """Raised if an attempt could not be evaluated."""


class EvaluationRefused(EvaluationFailed):
    """Raised if the model service permanently rejects the request."""


class EvaluationUnavailable(EvaluationFailed):
    """Raised if the model service returned no usable reply, or if too many submissions are being graded. A later
    evaluation may succeed.
    """
