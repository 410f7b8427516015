"""The thirty-two checks of the rubric evaluator. Each dimension has four yes-or-no checks, each worth one point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..domain.rubric import Dimension
from . import lexicon
from .features import Features

MIN_WORDS = 40
"""Minimum number of words that a submission needs to meet checks that reward the absence of something, such as long
sentences. Without this minimum, an almost empty submission would meet these checks.
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
        "No sentence is longer than 45 words",
        "A sentence is longer than 45 words, or there are fewer than three sentences",
    ),
    Check(
        Dimension.CLARITY,
        lambda f: f.count_phrases(lexicon.DEFINITIONS) >= 1,
        "Says what a term or a statement means",
        "No term is defined or rephrased",
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
        "Every answer uses words of its question",
        "At least one answer uses no word of its question",
    ),
    Check(
        Dimension.RELEVANCE,
        lambda f: sum(f.question_overlap) / len(f.question_overlap) >= 0.3,
        "On average, the answers use at least three tenths of the words of their questions",
        "On average, the answers use less than three tenths of the words of their questions",
    ),
    Check(
        Dimension.RELEVANCE,
        lambda f: f.scenario_words_used >= 6,
        "Refers to the situation: six or more of its words are used",
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
        "A conclusion is stated explicitly",
        "No conclusion is stated explicitly",
    ),
    Check(
        Dimension.LOGIC,
        lambda f: f.count_sentences_with(lexicon.CONDITIONS) >= 1,
        "Conditions are stated (if, unless)",
        "No conditions are stated (if, unless)",
    ),
    Check(
        Dimension.LOGIC,
        lambda f: len(f.sentences) >= 4 and 3 * f.count_sentences_with(lexicon.CONNECTIVES) >= len(f.sentences),
        "A third or more of the sentences are linked by connectives",
        "Most sentences are not linked by connectives",
    ),
    Check(
        Dimension.EVIDENCE,
        lambda f: f.count_phrases(lexicon.EVIDENCE) >= 2,
        "Mentions evidence, such as data, studies or records, at least twice",
        "Hardly mentions anything that counts as evidence",
    ),
    Check(
        Dimension.EVIDENCE,
        lambda f: f.uses_scenario_fact,
        "Uses a figure or a phrase from the situation",
        "Uses no facts from the situation",
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
        "Mentions an assumption",
        "Mentions no assumptions",
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
        "Proposes a test of an assumption",
        "Proposes no test of an assumption",
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
        "Considers objections",
        "Considers no objections",
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
        "Mentions rates, averages or estimates at least twice",
        "Hardly mentions rates, averages or estimates",
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
