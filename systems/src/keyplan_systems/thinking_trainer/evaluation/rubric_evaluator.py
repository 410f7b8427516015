"""The deterministic evaluator, which grades answers with thirty-two fixed checks, four per dimension.

It needs no model and no network, and the same answers always get the same scores. Its criteria are:

* clarity: the mean and maximum length of sentences, definitions, and signposts or paragraphs;
* relevance: words from each question and from the situation, and the length compared with the requested length;
* logic: reasons, conclusions, conditions, and the number of sentences that are linked by a connective;
* evidence: words for data, facts from the situation, questions about the quality of evidence, and examples;
* assumptions: words for assumptions, the number of sentences that contain such words, what arguments depend on, and
  ways to test them;
* alternatives: words for other explanations, the number of sentences that contain such words, objections, and words for
  weighing;
* quantitative-reasoning: numbers, three different figures, rates and estimates, and a calculation;
* humility-uncertainty: hedges in several sentences, unknowns, confidence, and no more sweeping words than hedges.

`checks.py` contains the thresholds, `lexicon.py` the words, and `features.py` the measurements of text. A repeated
sentence counts once. The evaluator detects traces of careful thinking in English text, but not whether the thinking is
right. A user who knows the words can get a high score without such thinking. To prevent this, configure a model.
"""

from __future__ import annotations

from ..domain.recommendations import RECOMMENDATIONS
from ..domain.rubric import DIMENSIONS, Assessment, Dimension, DimensionScore
from .checks import CHECKS
from .evaluator import Submission
from .features import Features

MODEL_ID = "keyplan-rubric-1"
"""Model ID in each evaluation by the rubric. The number in the ID is incremented when a check, a threshold or a word
list changes.
"""


class RubricEvaluator:
    """Evaluator that uses only the fixed checks of the rubric."""

    def evaluate(self, submission: Submission) -> Assessment:
        """Return the assessment of a submission. Each score contains the reasons why points were given or withheld.

        The evaluation never fails.
        """
        features = Features(submission)
        scores = tuple(_score(dimension, features) for dimension in DIMENSIONS)
        return Assessment(dimensions=scores, feedback=_feedback(submission, scores), model_id=MODEL_ID)


def _score(dimension: Dimension, features: Features) -> DimensionScore:
    results = [(check, check.is_met(features)) for check in CHECKS if check.dimension is dimension]
    return DimensionScore(
        name=dimension,
        score=sum(is_met for _, is_met in results),
        rationale=tuple(check.text_if_met if is_met else check.text_if_unmet for check, is_met in results),
    )


def _feedback(submission: Submission, scores: tuple[DimensionScore, ...]) -> str:
    """Return feedback that names the strongest dimension, and gives advice on the weakest of the dimensions on which
    the questions focus.
    """
    best = max(scores, key=lambda score: score.score)
    requested = {area for question, _ in submission.pairs for area in question.focus_areas}
    lowest = min((score for score in scores if score.name in requested), key=lambda score: score.score)
    praise = (
        f"Strongest: {best.name.value} ({best.score} of 4)."
        if best.score
        else "The answers meet none of the checks yet."
    )
    if lowest.score == 4:
        return f"{praise} The answers contain everything that the questions asked for."
    return f"{praise} To work on: {lowest.name.value} ({lowest.score} of 4). {RECOMMENDATIONS[lowest.name]}"
