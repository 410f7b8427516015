"""The interface of evaluators, which grade the answers to a scenario in all eight dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..domain.attempts import Answer
from ..domain.rubric import Assessment
from ..domain.scenarios import Question, Scenario


@dataclass(frozen=True)
class Submission:
    """A scenario and the answers to grade.

    Raises ValueError if `answers` is empty, or if an answer belongs to a question of another scenario.
    """

    scenario: Scenario
    answers: tuple[Answer, ...]

    def __post_init__(self) -> None:
        question_ids = {question.question_id for question in self.scenario.questions}
        unknown_ids = [answer.question_id for answer in self.answers if answer.question_id not in question_ids]
        if unknown_ids or not self.answers:
            problem = f"has no questions {unknown_ids}" if unknown_ids else "at least one answer is required"
            raise ValueError(f"scenario {self.scenario.scenario_id}: {problem}")

    @property
    def pairs(self) -> tuple[tuple[Question, str], ...]:
        """The answered questions, as pairs of a question and its answer."""
        questions = {question.question_id: question for question in self.scenario.questions}
        return tuple((questions[answer.question_id], answer.answer) for answer in self.answers)


class Evaluator(Protocol):
    """Interface for evaluators of submissions."""

    def evaluate(self, submission: Submission) -> Assessment:
        """Return the assessment of a submission: feedback, and a score with reasons for each of the eight dimensions.
        Raises EvaluationFailed if the submission cannot be evaluated.
        """
