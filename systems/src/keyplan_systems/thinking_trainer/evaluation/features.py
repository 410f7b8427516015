"""Measurements of a submission: its words, distinct sentences, numbers, and overlap with the task.

A repeated sentence is counted only once. Two words are treated as the same word if their first six letters agree, which
approximates stemming.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from .evaluator import Submission
from .lexicon import STOP_WORDS

STEM_LETTERS = 6
SHARED_RUN_WORDS = 3

_WORD = re.compile(r"[^\W_]+(?:[.,'-][^\W_]+)*%?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
# The multiplication and division signs are written as escapes, because they look like letters.
_SUM = re.compile("\\d ?%? ?[x*/+=\u00d7\u00f7] ?[$\u20ac\u00a3]? ?\\d")
_LIST_LINE = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]+\S", re.MULTILINE)


def words_of(text: str) -> tuple[str, ...]:
    """Return the case-folded words and numbers in a text. Curly apostrophes and dashes are treated as straight
    apostrophes and hyphens.
    """
    return tuple(_WORD.findall(_straighten(text).casefold()))


def sentences_of(text: str) -> tuple[str, ...]:
    """Return the sentences of a text in order, except those without words. A line break also ends a sentence."""
    return tuple(part for part in _SENTENCE_END.split(_straighten(text)) if words_of(part))


def stems_of(text: str) -> frozenset[str]:
    """Return the words of a text that are not stop words, each truncated to six letters."""
    return frozenset(
        word[:STEM_LETTERS] for word in words_of(text) if len(word) > 2 and word not in STOP_WORDS and word[0].isalpha()
    )


def figures_of(text: str) -> tuple[str, ...]:
    """Return the numbers in a text as strings without thousands separators."""
    return tuple(figure.replace(",", "") for figure in _FIGURE.findall(text))


def _straighten(text: str) -> str:
    return text.translate({0x2018: "'", 0x2019: "'", 0x2010: "-", 0x2011: "-"})


@dataclass(frozen=True)
class Features:
    """The measurements of one submission. Each is computed when it is first accessed."""

    submission: Submission

    @cached_property
    def text(self) -> str:
        """All answers as one text."""
        return "\n".join(text for _, text in self.submission.pairs)

    @cached_property
    def sentences(self) -> tuple[tuple[str, ...], ...]:
        """The words of each distinct sentence."""
        return tuple(dict.fromkeys(words_of(sentence) for sentence in sentences_of(self.text)))

    @cached_property
    def _lines(self) -> tuple[str, ...]:
        """The words of each distinct sentence, joined into one string with spaces around each word. Phrases are
        searched in these strings.
        """
        return tuple(f" {' '.join(sentence)} " for sentence in self.sentences)

    @cached_property
    def word_count(self) -> int:
        """The total number of words in all distinct sentences."""
        return sum(len(sentence) for sentence in self.sentences)

    @cached_property
    def words_per_sentence(self) -> float:
        """The mean number of words per sentence, or 0 if the submission has no sentences."""
        return self.word_count / len(self.sentences) if self.sentences else 0.0

    @cached_property
    def longest_sentence(self) -> int:
        """The number of words in the longest sentence, or 0 if the submission has no sentences."""
        return max(map(len, self.sentences), default=0)

    @cached_property
    def has_blocks(self) -> bool:
        """Whether an answer has several paragraphs or a list of at least two lines."""
        texts = [text for _, text in self.submission.pairs]
        return any(_has_blank_line(text) or len(_LIST_LINE.findall(text)) > 1 for text in texts)

    @cached_property
    def figure_count(self) -> int:
        """The count of distinct numbers that the answers contain in digits, such as 12."""
        return len(set(figures_of(self.text)))

    @cached_property
    def has_calculation(self) -> bool:
        """Whether two numbers are joined by an arithmetic operator."""
        return _SUM.search(self.text) is not None

    @cached_property
    def question_overlap(self) -> tuple[float, ...]:
        """For each answer, the proportion of the question's words that the answer contains, from 0 to 1."""
        return tuple(_proportion(stems_of(question.text), stems_of(text)) for question, text in self.submission.pairs)

    @cached_property
    def scenario_words_used(self) -> int:
        """The number of different words in the scenario's description that the answers also contain."""
        return len(stems_of(self.submission.scenario.description) & stems_of(self.text))

    @cached_property
    def target_ratios(self) -> tuple[float, ...]:
        """For each answer, its number of words divided by the requested number of words. The result can be greater than
        1.
        """
        return tuple(len(words_of(text)) / question.target_word_count for question, text in self.submission.pairs)

    @cached_property
    def uses_scenario_fact(self) -> bool:
        """Whether the answers contain a number from the scenario's description, or three consecutive words from it of
        which at least two are not stop words.
        """
        description = self.submission.scenario.description
        if set(figures_of(description)) & set(figures_of(self.text)):
            return True
        return bool(_runs(words_of(description)) & _runs(words_of(self.text)))

    def count_phrases(self, phrases: Iterable[str]) -> int:
        """Return how many of the phrases the answers contain. Each phrase counts once."""
        return sum(any(f" {phrase} " in line for line in self._lines) for phrase in phrases)

    def count_sentences_with(self, phrases: Iterable[str]) -> int:
        """Return the number of distinct sentences that contain at least one of the phrases."""
        padded_phrases = [f" {phrase} " for phrase in phrases]
        return sum(any(phrase in line for phrase in padded_phrases) for line in self._lines)


def _has_blank_line(text: str) -> bool:
    return any(not line.strip() for line in text.strip().splitlines())


def _proportion(question_stems: frozenset[str], answer_stems: frozenset[str]) -> float:
    return len(question_stems & answer_stems) / len(question_stems) if question_stems else 1.0


def _runs(words: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Return all sequences of three consecutive words in which at least two words are not stop words."""
    runs = zip(*(words[start:] for start in range(SHARED_RUN_WORDS)), strict=False)
    return {run for run in runs if sum(word not in STOP_WORDS for word in run) > 1}
