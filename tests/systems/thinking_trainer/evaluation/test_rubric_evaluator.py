"""Fixed rubric: all eight dimensions always, the same scores for the same text, and each check in effect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.thinking_trainer.builders import scenario
from tests.systems.thinking_trainer.evaluation.submissions import BARE, THOROUGH, submission

from keyplan_systems.thinking_trainer.domain.recommendations import RECOMMENDATIONS
from keyplan_systems.thinking_trainer.domain.rubric import DIMENSIONS, Dimension
from keyplan_systems.thinking_trainer.evaluation import lexicon
from keyplan_systems.thinking_trainer.evaluation.checks import CHECKS
from keyplan_systems.thinking_trainer.evaluation.evaluator import Submission
from keyplan_systems.thinking_trainer.evaluation.features import Features, sentences_of, words_of
from keyplan_systems.thinking_trainer.evaluation.rubric_evaluator import MODEL_ID, RubricEvaluator

FILLER = (
    "The ferry crosses the bay from the town to the island with many people and some cars on board. "
    "The crew ties the boat to the quay with ropes and lets the people walk to the square by the church."
)


def scores(*texts: str) -> dict[str, int]:
    assessment = RubricEvaluator().evaluate(submission(*texts))
    return {entry.name.value: entry.score for entry in assessment.dimensions}


def test_a_thorough_answer_scores_high_everywhere_and_a_bare_one_low() -> None:
    assert min(scores(THOROUGH).values()) >= 3
    assert max(scores(BARE).values()) <= 1
    assert sum(scores(BARE).values()) <= 2


@given(st.lists(st.text(max_size=400), min_size=1, max_size=3))
def test_any_text_gets_all_eight_dimensions_with_four_reasons_each(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "ignore").decode() for text in texts]
    assessment = RubricEvaluator().evaluate(submission(*texts))
    assert tuple(entry.name for entry in assessment.dimensions) == DIMENSIONS
    assert all(0 <= entry.score <= 4 and len(entry.rationale) == 4 for entry in assessment.dimensions)
    assert assessment.model_id == MODEL_ID


@given(st.permutations(THOROUGH.split()))
def test_the_same_words_always_get_the_same_scores(words: list[str]) -> None:
    text = " ".join(words)
    assert RubricEvaluator().evaluate(submission(text)) == RubricEvaluator().evaluate(submission(text))


def test_each_score_is_the_number_of_satisfied_checks_with_their_names() -> None:
    given_submission = submission(THOROUGH)
    assessment = RubricEvaluator().evaluate(given_submission)
    for entry in assessment.dimensions:
        checks = [check for check in CHECKS if check.dimension is entry.name]
        assert entry.score == sum(
            reason == check.text_if_met for check, reason in zip(checks, entry.rationale, strict=True)
        )


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_each_dimension_has_four_checks_with_separate_reasons(dimension: Dimension) -> None:
    checks = [check for check in CHECKS if check.dimension is dimension]
    assert len(checks) == 4
    assert len({check.text_if_met for check in checks} | {check.text_if_unmet for check in checks}) == 8


ALIVE = [
    ("clarity", "By this I mean the crossing."),
    ("clarity", "First it waits. Finally it leaves."),
    ("relevance", "What does the harbour master assume about delays?"),
    ("logic", "It waits because it is full. It leaves because it must."),
    ("logic", "Therefore it is late."),
    ("logic", "Nothing moves unless it is full."),
    ("evidence", "The data and the survey were read."),
    ("evidence", "It was late on 12 days."),
    ("evidence", "The sample size was tiny."),
    ("evidence", "For example on Monday."),
    ("assumptions", "He presupposes a tide."),
    ("assumptions", "This rests on the tide."),
    ("alternatives", "Another explanation is fog."),
    ("alternatives", "However, the captain disagrees."),
    ("alternatives", "Fog is more plausible."),
    ("quantitative-reasoning", "There were 7 boats."),
    ("quantitative-reasoning", "On average, roughly so."),
    ("quantitative-reasoning", "It takes 3 x 4 hands."),
    ("quantitative-reasoning", "It takes 3 \N{MULTIPLICATION SIGN} 4 hands."),
    ("humility-uncertainty", "It might rain. It may snow."),
    ("humility-uncertainty", "The cause is unknown."),
    ("humility-uncertainty", "I could be wrong here."),
]


@pytest.mark.parametrize(("dimension", "addition"), ALIVE)
def test_a_sentence_of_the_right_kind_raises_its_dimension(dimension: str, addition: str) -> None:
    assert scores(f"{FILLER}\n{addition}")[dimension] > scores(FILLER)[dimension]


def test_every_check_can_pass_and_fail() -> None:
    texts = [THOROUGH, *(addition for _, addition in ALIVE)]
    measured = [Features(submission(text)) for text in texts]
    assert [check.text_if_met for check in CHECKS if not any(check.is_met(features) for features in measured)] == []
    assert [check.text_if_unmet for check in CHECKS if check.is_met(Features(submission("")))] == []


def test_sweeping_words_cost_a_point() -> None:
    sweeping = f"{FILLER} It is always late. Everyone knows it. Obviously nobody cares."
    assert scores(sweeping)["humility-uncertainty"] == scores(FILLER)["humility-uncertainty"] - 1


def test_a_repeated_sentence_counts_once() -> None:
    once = "It is late because of the tide, which nobody can change."
    assert scores(once * 20) == scores(once)
    assert scores("\n".join([once] * 20))["logic"] == scores(once)["logic"]


def test_a_phrase_matches_whole_words_only() -> None:
    features = Features(submission("The mayor dates a sofa."))
    assert features.count_phrases(("may", "data", "so")) == 0


def test_one_unanswered_question_costs_relevance() -> None:
    assert scores(THOROUGH, "nothing to say")["relevance"] < scores(THOROUGH)["relevance"]


def test_curly_apostrophes_equal_straight_ones() -> None:
    assert words_of("I don\N{RIGHT SINGLE QUOTATION MARK}t know") == ("i", "don't", "know")


def test_decimal_points_and_thousands_do_not_end_sentences() -> None:
    assert len(sentences_of("It cost 3.50 or 1,200 in all. It was late.")) == 2


def test_feedback_names_the_lowest_dimension_of_the_questions() -> None:
    feedback = RubricEvaluator().evaluate(submission(FILLER)).feedback
    assert "To work on: assumptions" in feedback or "To work on: logic" in feedback
    assert any(feedback.endswith(text) for text in RECOMMENDATIONS.values())


def test_feedback_on_an_empty_answer_has_no_praise() -> None:
    assert RubricEvaluator().evaluate(submission("")).feedback.startswith("The answers meet none of the checks yet.")


@pytest.mark.parametrize(
    "text", ["\n" * 10_000, "1" + " " * 9_999, "a." * 5_000, '."' * 5_000, "- \n" * 3_000, "1 x" * 3_000]
)
def test_adversarial_text_is_graded_like_any_other(text: str) -> None:
    assert len(RubricEvaluator().evaluate(submission(text)).dimensions) == 8


@pytest.mark.parametrize(
    "name", [name for name in vars(lexicon) if name.isupper() and isinstance(getattr(lexicon, name), tuple)]
)
def test_every_phrase_is_found_in_a_text_that_contains_it(name: str) -> None:
    for phrase in getattr(lexicon, name):
        assert Features(submission(f"Now {phrase} it.")).count_phrases((phrase,)) == 1, phrase


def test_a_submission_answers_at_least_one_question_of_its_scenario() -> None:
    with pytest.raises(ValueError, match="at least one answer is required"):
        Submission(scenario(), ())
    with pytest.raises(ValueError, match=r"\['q2'\]"):
        Submission(scenario(1), submission("one", "two").answers)
