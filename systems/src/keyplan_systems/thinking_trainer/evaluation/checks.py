"""The thirty-two checks of the rubric evaluator. Each dimension has four yes-or-no checks, each worth one point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..domain.rubric import Dimension
from . import lexicon
from .features import Features

MIN_WORDS = 40
"""Minimum number of words in a submission for checks that reward the absence of something, such as long sentences.
Without this minimum, an almost empty submission would meet these checks.
"""


@dataclass(frozen=True)
class Check:
    """A check of a submission. The score is explained with the text `text_if_met` if the check is met, and with
    `text_if_unmet` if it is not.
    """

    dimension: Dimension
    is_met: Callable[[Features], bool]
    text_if_met: str
    text_if_unmet: str


CHECKS: tuple[Check, ...] = (
    Check(
        Dimension.CLARITY,
        lambda f: f.word_count >= MIN_WORDS and 6 <= f.words_per_sentence <= 28,
        "Sentences are on average 6 to 28 words long",
        "Sentences are too short or too long on average (6 to 28 words read well), or there is too little text",
    ),
    Check(
        Dimension.CLARITY,
        lambda f: len(f.sentences) >= 3 and f.longest_sentence <= 45,
        "No sentence runs beyond 45 words",
        "A sentence runs beyond 45 words, or there are fewer than three sentences",
    ),
    Check(
        Dimension.CLARITY,
        lambda f: f.count_phrases(lexicon.DEFINITIONS) >= 1,
        "Says what a term or a statement means",
        "No term is defined or put in other words",
    ),
    Check(
        Dimension.CLARITY,
        lambda f: f.has_blocks or f.count_phrases(lexicon.SIGNPOSTS) >= 2,
        "The text is ordered by signposts, paragraphs or a list",
        "Nothing shows the order of the thoughts: no signposts, paragraphs or list",
    ),
    Check(
        Dimension.RELEVANCE,
        lambda f: min(f.question_overlap) > 0,
        "Every answer takes up words of its question",
        "At least one answer takes up no word of its question",
    ),
    Check(
        Dimension.RELEVANCE,
        lambda f: sum(f.question_overlap) / len(f.question_overlap) >= 0.3,
        "On average three tenths or more of a question's words are taken up",
        "On average less than three tenths of a question's words are taken up",
    ),
    Check(
        Dimension.RELEVANCE,
        lambda f: f.scenario_words_used >= 6,
        "Works with the situation: six or more of its words are used",
        "Hardly refers to the situation that was described",
    ),
    Check(
        Dimension.RELEVANCE,
        lambda f: min(f.target_ratios) >= 0.5,
        "Every answer has at least half the length asked for",
        "At least one answer has less than half the length asked for",
    ),
    Check(
        Dimension.LOGIC,
        lambda f: f.count_sentences_with(lexicon.REASONS) >= 2,
        "Reasons are given in two or more sentences",
        "Fewer than two sentences give a reason",
    ),
    Check(
        Dimension.LOGIC,
        lambda f: f.count_phrases(lexicon.CONCLUSIONS) >= 1,
        "A conclusion is drawn in so many words",
        "No conclusion is marked as following from what was said",
    ),
    Check(
        Dimension.LOGIC,
        lambda f: f.count_sentences_with(lexicon.CONDITIONS) >= 1,
        "Conditions are spelled out (if, unless)",
        "Nothing is put under a condition",
    ),
    Check(
        Dimension.LOGIC,
        lambda f: len(f.sentences) >= 4 and 3 * f.count_sentences_with(lexicon.CONNECTIVES) >= len(f.sentences),
        "A third or more of the sentences are linked by connectives",
        "Sentences mostly stand side by side without a connective",
    ),
    Check(
        Dimension.EVIDENCE,
        lambda f: f.count_phrases(lexicon.EVIDENCE) >= 2,
        "Speaks of data, studies, records or the like in two ways or more",
        "Hardly speaks of what would count as evidence",
    ),
    Check(
        Dimension.EVIDENCE,
        lambda f: f.uses_scenario_fact,
        "Uses a figure or a phrase the situation gives",
        "Uses none of the facts the situation gives",
    ),
    Check(
        Dimension.EVIDENCE,
        lambda f: f.count_phrases(lexicon.EVIDENCE_QUALITY) >= 1,
        "Asks how good the evidence is (source, sample, bias)",
        "Does not ask how good the evidence is",
    ),
    Check(
        Dimension.EVIDENCE,
        lambda f: f.count_phrases(lexicon.ATTRIBUTIONS) >= 1,
        "Gives an example or says where a statement comes from",
        "Gives no example and names no source",
    ),
    Check(
        Dimension.ASSUMPTIONS,
        lambda f: f.count_phrases(lexicon.ASSUMPTIONS) >= 1,
        "Speaks of what is assumed",
        "Does not name anything as an assumption",
    ),
    Check(
        Dimension.ASSUMPTIONS,
        lambda f: f.count_sentences_with(lexicon.ASSUMPTIONS) >= 2,
        "Two or more sentences deal with assumptions",
        "Fewer than two sentences deal with assumptions",
    ),
    Check(
        Dimension.ASSUMPTIONS,
        lambda f: f.count_phrases(lexicon.DEPENDENCIES) >= 1,
        "Says what an argument rests on or where it stops holding",
        "Does not say what an argument rests on or where it stops holding",
    ),
    Check(
        Dimension.ASSUMPTIONS,
        lambda f: f.count_phrases(lexicon.ASSUMPTIONS) >= 1 and f.count_phrases(lexicon.TESTS) >= 1,
        "Proposes to test or check what is assumed",
        "Proposes no test of what is assumed",
    ),
    Check(
        Dimension.ALTERNATIVES,
        lambda f: f.count_phrases(lexicon.ALTERNATIVES) >= 1,
        "Names another explanation or option",
        "Names no other explanation or option",
    ),
    Check(
        Dimension.ALTERNATIVES,
        lambda f: f.count_sentences_with(lexicon.ALTERNATIVES) >= 2,
        "Two or more sentences deal with alternatives",
        "Fewer than two sentences deal with alternatives",
    ),
    Check(
        Dimension.ALTERNATIVES,
        lambda f: f.count_phrases(lexicon.OBJECTIONS) >= 1,
        "Lets the other side speak",
        "Lets no objection speak",
    ),
    Check(
        Dimension.ALTERNATIVES,
        lambda f: f.count_phrases(lexicon.WEIGHING) >= 1,
        "Weighs one possibility against another",
        "Does not weigh one possibility against another",
    ),
    Check(
        Dimension.QUANTITATIVE,
        lambda f: f.figure_count >= 1 or f.count_phrases(lexicon.NUMBER_WORDS) >= 1,
        "Uses numbers",
        "Uses no numbers",
    ),
    Check(
        Dimension.QUANTITATIVE,
        lambda f: f.figure_count >= 3,
        "Works with three or more different figures",
        "Works with fewer than three different figures",
    ),
    Check(
        Dimension.QUANTITATIVE,
        lambda f: f.count_phrases(lexicon.ESTIMATES) >= 2,
        "Speaks of rates, averages or estimates in two ways or more",
        "Hardly speaks of rates, averages or estimates",
    ),
    Check(
        Dimension.QUANTITATIVE,
        lambda f: f.has_calculation or f.count_phrases(lexicon.ARITHMETIC) >= 1,
        "Calculates something",
        "Calculates nothing",
    ),
    Check(
        Dimension.HUMILITY,
        lambda f: f.count_sentences_with(lexicon.HEDGES) >= 2,
        "Two or more sentences leave room for doubt",
        "Fewer than two sentences leave room for doubt",
    ),
    Check(
        Dimension.HUMILITY,
        lambda f: f.count_phrases(lexicon.UNKNOWNS) >= 1,
        "Says what is not known",
        "Does not say what is not known",
    ),
    Check(
        Dimension.HUMILITY,
        lambda f: f.count_phrases(lexicon.CALIBRATION) >= 1,
        "Says how sure the answer is, or what would change it",
        "Does not say how sure the answer is, or what would change it",
    ),
    Check(
        Dimension.HUMILITY,
        lambda f: (
            f.word_count >= MIN_WORDS
            and f.count_sentences_with(lexicon.SWEEPING) <= f.count_sentences_with(lexicon.HEDGES)
        ),
        "Sweeping words (always, obviously, proves) do not outnumber the careful ones",
        "Sweeping words (always, obviously, proves) outnumber the careful ones, or there is too little text",
    ),
)
"""All checks, grouped by dimension. The score of a dimension is the number of its checks that a submission meets."""
